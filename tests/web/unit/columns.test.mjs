import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";
import { inflate } from "../../../web/common/blocks.js";
import { Columns, doubles_of_bits, join_planes } from "../../../web/common/columns.js";

test("planes join to numbers, the highest bytes first", () => {
    assert.deepEqual([...join_planes(Uint8Array.of(0x3f, 0xff, 0xf0, 0xff, 0x00, 0xff, 0x00, 0xff), 2, 4)], [0x3ff00000, 0xffffffff]);
    assert.deepEqual([...join_planes(Uint8Array.of(0, 1, 2, 3), 2, 2)], [2, 259]);
});

test("high halves are doubles", () => {
    assert.deepEqual([...doubles_of_bits(Uint32Array.of(0x3ff00000, 0xc0000000, 0x7ff00000))], [1, -2, Infinity]);
    assert.ok(Number.isNaN(doubles_of_bits(Uint32Array.of(0xffffffff))[0]));
});

test("a zlib stream inflates", async () => {
    assert.equal(new TextDecoder().decode(await inflate(deflateSync("hello"))), "hello");
});

function columns() {
    const blocks = { 0: [0, 1, 2, 0], 1: "a\0\0c\0", 2: "d\0" };
    let loads = 0;
    const made = new Columns({
        c: { kind: "codes", texts: ["", "x", "y"], blocks: [[0, 1, 2]] },
        t: { kind: "texts", blocks: [[1, 0, 3], [2, 4, 1]] },
        n: { kind: "numbers", blocks: [] },
    }, 5, async (block) => { loads++; return typeof blocks[block] === "string" ? new TextEncoder().encode(blocks[block]) : Uint8Array.from(blocks[block]); });
    return { made, loads: () => loads };
}

test("rows outside of all blocks are empty", async () => {
    const { made } = columns();
    assert.deepEqual([...await made.codes("c")], [0, 2, 256, 0, 0]);
    assert.equal(await made.text("t", 1), "");
    assert.equal(await made.text("t", 2), "c");
    assert.equal(await made.text("t", 3), "");
    assert.equal(await made.text("t", 4), "d");
    const numbers = await made.numbers("n");
    assert.ok(made.is_blank(numbers, 0) && Number.isNaN(numbers.values[4]));
    assert.equal(made.has("n"), false);
    assert.equal(made.text_of_code("c", 65535), "…");
});

test("a block is decoded once", async () => {
    const { made, loads } = columns();
    await Promise.all([made.text("t", 0), made.text("t", 1), made.text("t", 2), made.codes("c"), made.codes("c")]);
    assert.equal(loads(), 2);
});
