import assert from "node:assert/strict";
import test from "node:test";
import { Columns, doubles_of_bits } from "../../../web/common/columns.js";
import { empty_query, text_test, ordinal_of_bits, query_is_empty, query_rows, sort_by_keys, sort_rows } from "../../../web/report/query.js";
import { route_of_text, route_text } from "../../../web/report/route.js";

function high_half(value) {
    return new DataView(new Float64Array([value]).buffer).getUint32(4, true);
}

// Results of given rows, as the page would decode them.
function results_of(rows) {
    const bits = (id) => Uint32Array.from(rows, (row) => row[id] === undefined ? 0xffffffff : high_half(row[id]));
    const planes = (values, count) => Uint8Array.from({ length: count * values.length }, (_, i) => values[i % values.length] >>> (8 * (count - 1 - Math.floor(i / values.length))));
    const meta = {}, blocks = [];
    const add = (id, kind, bytes, texts) => { meta[id] = { kind, texts, blocks: [[blocks.push(bytes) - 1, 0, rows.length]] }; };
    for (const id of ["name", "message"]) if (rows.some((row) => row[id])) add(id, "texts", new TextEncoder().encode(rows.map((row) => `${row[id] ?? ""}\0`).join("")));
    for (const id of ["verdict", "api", "dtype"]) {
        const texts = ["", ...new Set(rows.map((row) => row[id]).filter(Boolean))];
        add(id, "codes", planes(rows.map((row) => texts.indexOf(row[id] ?? "")), 2), texts);
    }
    add("rmse", "numbers", planes(bits("rmse"), 4));
    return { rows: rows.length, inputs: [{ first: 0, rows: 2 }, { first: 2, rows: rows.length - 2 }], input_of: (row) => row < 2 ? 0 : 1,
        columns: new Columns(meta, rows.length, async (block) => blocks[block]) };
}

const sample = () => results_of([
    { name: "Torch.mul.10.forward.output.0", verdict: "pass", api: "mul", rmse: 1e-3 },
    { name: "Torch.mul.9.forward.output.0", verdict: "error", api: "mul", rmse: -2 },
    { name: "Torch.ADD.1.forward.output.0", verdict: "warning", api: "add", dtype: "f16" },
    { name: "Torch.add.2.backward.output.0", verdict: "SKIP", api: "add", rmse: NaN },
    { name: "<b>", verdict: "error", rmse: Infinity },
]);
const found = async (query) => [...await query_rows(sample(), { ...empty_query(), ...query })];

test("filters", async () => {
    assert.deepEqual(await found({}), [0, 1, 2, 3, 4]);
    assert.deepEqual(await found({ verdicts: ["error", "warning"] }), [1, 2, 4]);
    assert.deepEqual(await found({ api: "add" }), [2, 3]);
    assert.deepEqual(await found({ api: "mul", verdicts: ["error"] }), [1]);
    assert.deepEqual(await found({ input: 1 }), [2, 3, 4]);
    assert.deepEqual(await found({ search: "add" }), [2, 3]);
    assert.deepEqual(await found({ search: "mul\\.\\d\\.", regular: true }), [1]);
    assert.deepEqual(await found({ search: "mul\\.\\d\\." }), []);
    assert.deepEqual(await found({ call: "Torch.mul.9" }), [1]);
});

test("a search finds verdicts, labels, messages and sentences", async () => {
    const rows = results_of([
        { name: "Torch.a.0.forward.output.0", verdict: "pass", api: "a", message: "all right" },
        { name: "Torch.b.0.forward.output.0", verdict: "error", api: "b" },
        { name: "Torch.c.0.forward.output.0", verdict: "SKIP", api: "c", dtype: "torch.bfloat16", message: "no kernel" },
    ]);
    const label = (id, text) => id === "verdict" ? { pass: "通过", error: "错误", SKIP: "跳过" }[text] : text;
    const sentence = async (row) => row === 1 ? "Cosine similarity is 0.5" : "";
    const search = async (text, regular = false) => [...await query_rows(rows, { ...empty_query(), search: text, regular }, { label, sentence })];
    assert.deepEqual(await search("ERROR"), [1]);
    assert.deepEqual(await search("跳过"), [2]);
    assert.deepEqual(await search("bfloat"), [2]);
    assert.deepEqual(await search("no kernel"), [2]);
    assert.deepEqual(await search("right"), [0]);
    assert.deepEqual(await search("cosine"), [1]);
    assert.deepEqual(await search("^cosine .* 0\\.5$", true), [1]);
    assert.deepEqual(await search("Torch"), [0, 1, 2]);
    assert.deepEqual(await search("nothing has this"), []);
});

test("ranges take the ends in, and no NaN or empty cell", async () => {
    assert.deepEqual(await found({ ranges: [{ id: "rmse", from: -2, to: 0 }] }), [1]);
    assert.deepEqual(await found({ ranges: [{ id: "rmse", from: 0.0009, to: null }] }), [0, 4]);
    assert.deepEqual(await found({ ranges: [{ id: "rmse", from: null, to: null }] }), [0, 1, 2, 3, 4]);
});

test("an expression that is none throws", () => {
    assert.throws(() => text_test({ search: "(", regular: true }), SyntaxError);
    assert.equal(text_test({ search: "", regular: true }), null);
});

test("a query that became stale gives nothing", async () => {
    assert.equal(await query_rows(sample(), empty_query(), { is_stale: () => true }), null);
});

test("ordinals have the order of numbers", () => {
    const values = [-Infinity, -1e300, -1, -1e-300, 0, 1e-300, 1, 2, Infinity];
    const ordinals = values.map((value) => ordinal_of_bits(high_half(value)));
    assert.deepEqual(ordinals, [...ordinals].sort((a, b) => a - b));
    assert.equal(new Set(ordinals).size, values.length);
    assert.equal(doubles_of_bits(Uint32Array.of(high_half(-1)))[0], -1);
});

test("equal keys keep the order of rows", () => {
    const rows = Uint32Array.of(0, 1, 2, 3, 4), keys = Uint32Array.of(7, 0xffffffff, 7, 0, 7);
    assert.deepEqual([...sort_by_keys(rows, keys, false)], [3, 0, 2, 4, 1]);
    assert.deepEqual([...sort_by_keys(rows, keys, true)], [1, 0, 2, 4, 3]);
    // Rows beyond what fits into a double beside the key.
    const far = Uint32Array.of(1, 2 ** 22), far_keys = new Uint32Array(2 ** 22 + 1);
    far_keys[1] = 5;
    assert.deepEqual([...sort_by_keys(far, far_keys, false)], [2 ** 22, 1]);
});

test("sorting puts what is no number last, both ways", async () => {
    const results = sample(), all = Uint32Array.of(0, 1, 2, 3, 4);
    assert.deepEqual([...await sort_rows(results, all, { id: "rmse", direction: 1 })], [1, 0, 4, 2, 3]);
    assert.deepEqual([...await sort_rows(results, all, { id: "rmse", direction: -1 })], [4, 0, 1, 2, 3]);
    assert.deepEqual([...await sort_rows(results, all, { id: "verdict", direction: 1 })], [1, 4, 2, 0, 3]);
    assert.deepEqual([...await sort_rows(results, all, { id: "name", direction: 1 })], [4, 2, 3, 1, 0]); // 9 before 10
    assert.deepEqual([...await sort_rows(results, all, { id: "input", direction: -1 })], [2, 3, 4, 0, 1]);
});

test("an address leads back to its state", () => {
    const query = { ...empty_query(), search: "a&b=#?", regular: true, verdicts: ["error", "SKIP"], api: "mul", input: 2, changed: true,
        message: "100 %", call: "Torch.mul.1", ranges: [{ id: "rmse", from: 1e-3, to: null }] };
    const state = { view: "rows", query, sort: { id: "rmse", direction: -1 }, row: 7 };
    assert.deepEqual(route_of_text(route_text(state), 10), state);
    assert.equal(route_text({ view: "overview", query: empty_query(), sort: null, row: -1 }), "#overview");
    const wild = route_of_text("#nowhere?row=99&input=x&range=a:b:c", 10);
    assert.equal(wild.view, "overview");
    assert.equal(wild.row, -1);
    assert.equal(wild.query.input, -1);
    assert.deepEqual(wild.query.ranges, [{ id: "a", from: null, to: null }]);
    assert.ok(query_is_empty(route_of_text("", 10).query));
});
