// The modules of the graph page that need no browser.
import assert from "node:assert/strict";
import test from "node:test";

import { BoxLayout, box } from "../../../web/graph/box_layout.js";
import { worst_by_line } from "../../../web/graph/box_map.js";
import { Bands, index_text } from "../../../web/graph/bands.js";
import { ByHand, measure_pair, pairs_below, twins } from "../../../web/graph/by_hand.js";
import { communications_of } from "../../../web/graph/communication.js";
import { structure_differences } from "../../../web/graph/difference_view.js";
import { Facts } from "../../../web/graph/facts.js";
import { find_nodes, keep_metric, name_test, node_type, types_of } from "../../../web/graph/find.js";
import { Finder } from "../../../web/graph/finder.js";
import { name_parts, path_below } from "../../../web/graph/names.js";
import { Notes } from "../../../web/graph/notes.js";
import { ReaderWork } from "../../../web/graph/reader_work.js";
import { route_of_text, route_text } from "../../../web/graph/route.js";
import { Side, Texts } from "../../../web/graph/side.js";
import { Tree } from "../../../web/graph/tree.js";
import { tree_key } from "../../../web/graph/tree_keys.js";
import { calls_beside, tensor_name, tensor_values, value_scale } from "../../../web/graph/values.js";

const meta = { task: "summary", generation: 2, colours: {
    "#FFFCF3": { value: [0, 0.2] }, "#FFEDBE": { value: [0.2, 0.4] }, "#FFDC7F": { value: [0.4, 0.6] },
    "#FFC62E": { value: [0.6, 0.8] }, "#FF704D": { value: [0.8, 1] }, "#C7C7C7": { value: [] } } };

const texts = (...items) => new TextEncoder().encode(items.map((item) => `${item}\0`).join(""));

// A side from rows of [name, parent, partner, place, index, type].
function side_of(rows) {
    const n = rows.length, bytes = new Uint8Array(27 * n), view = new DataView(bytes.buffer);
    rows.forEach(([, parent, partner, place, index, type], i) => {
        [parent, partner, place, -1, 0].forEach((value, slot) => view.setInt32(4 * (slot * n + i), value, true));
        view.setFloat32(4 * (5 * n + i), index, true);
        bytes[24 * n + i] = type;
    });
    return new Side({ count: n }, 512, texts(...rows.map(([name]) => name)), bytes);
}

const small = () => side_of([
    ["DefaultModel", -1, 0, 5, NaN, 0],
    ["Module.a.A.forward.0", 0, 1, 2, 0.1, 0],
    ["Torch.x.0.forward", 1, 2, 0, 0.9, 1],
    ["Torch.y.0.forward", 1, -1, 1, NaN, 1],
    ["Module.b.B.forward.0", 0, 3, 4, 0, 0],
    ["Torch.z.0.forward", 4, 4, 3, 0.3, 1],
]);

test("texts are found by their number", () => {
    const some = new Texts(texts("a", "", "误差"), 3);
    assert.deepEqual([some.get(0), some.get(1), some.get(2)], ["a", "", "误差"]);
    assert.throws(() => new Texts(texts("a"), 2), /cut short/);
    assert.deepEqual(["误差", "", "a", "b", "差", "aa"].map((text) => some.find(text)), [2, 1, 0, -1, -1, -1]);
    const side = side_of([["x", -1, -1, 0, NaN, 0], ["y", 0, -1, 1, NaN, 1], ["y", 0, -1, 2, NaN, 1]]);
    for (let time = 0; time < 60; time++) assert.deepEqual([side.find_name("y"), side.find_name("z")], [1, -1]);
});

test("a block of nodes that is cut short is refused", () => {
    assert.throws(() => new Side({ count: 2 }, 512, texts("a", "b"), new Uint8Array(53)), /cut short/);
});

test("descendants are the numbers behind a node", () => {
    const side = small();
    assert.deepEqual([...side.end], [6, 4, 3, 4, 6, 6]);
    assert.deepEqual([...side.depth], [0, 1, 2, 2, 1, 2]);
    assert.deepEqual(side.children(0), [1, 4]);
    assert.deepEqual(side.ancestors(5), [0, 4, 5]);
});

const rows = (output, md5) => ({ inputs: { "x.input.0": { Max: "1", Min: "0", Mean: "0.5", Norm: "2", md5: "a" } }, outputs: { "x.output.0": { Max: output, Min: "0", Mean: "null", Norm: "2", md5 } } });

test("nodes matched by hand have the worst relative error of their outputs", () => {
    const npu = rows("3", "a");
    assert.equal(measure_pair(npu, rows("4", "b"), "summary"), 0.25);
    assert.equal(npu.outputs["x.output.0"].MaxRelativeErr, "25%");
    assert.equal(npu.outputs["x.output.0"].MeanRelativeErr, "N/A");
    assert.equal(measure_pair(rows("9"), rows("4"), "summary"), 1); // at most
    assert.equal(measure_pair(rows("0.5"), rows("0"), "summary"), 0.5); // against 0: the difference itself
    assert.equal(measure_pair(rows("nan"), rows("4"), "summary"), 1);
    assert.equal(measure_pair(rows("4", "a"), rows("4", "a"), "md5"), 1);
    assert.equal(measure_pair(rows("4", "a"), rows("4", "b"), "md5"), 0);
    assert.equal(measure_pair({ ...rows("4"), outputs: {} }, rows("4"), "summary"), null);
    assert.ok(Number.isNaN(measure_pair(rows("4"), rows("4"), "all")));
});

// Two small sides; "y" has no partner on either.
function two_sides() {
    const npu = small(), bench = side_of([["DefaultModel", -1, 0, 5, NaN, 0], ["Module.a.A.forward.0", 0, 1, 1, NaN, 0], ["Torch.x.0.forward", 1, 2, 0, NaN, 1],
        ["Module.b.B.forward.0", 0, 4, 4, NaN, 0], ["Torch.z.0.forward", 3, 5, 2, NaN, 1], ["Torch.other.0.forward", 3, -1, 3, NaN, 1]]);
    npu.partner.set([0, 1, 2, -1, 3, 4]);
    npu.rows = async () => rows("3", "a");
    bench.rows = async () => rows("4", "a");
    return { npu, bench, hand: { npu: new Set(), bench: new Set() } };
}

test("matching by hand is applied, taken back, written and read", async () => {
    const graph = two_sides(), hand = new ByHand(new Bands(meta));
    assert.equal(await hand.fault(graph, 3, 3), "by hand.types");
    assert.equal(await hand.fault(graph, 2, 5), "by hand.taken");
    assert.equal(await hand.fault(graph, 3, 5), null);
    await hand.match(graph, 3, 5, false);
    await hand.apply(graph);
    assert.deepEqual([graph.npu.partner[3], graph.bench.partner[5], graph.npu.index[3]], [5, 3, 0.25]);
    assert.deepEqual(hand.pairs(), [["Torch.y.0.forward", "Torch.other.0.forward"]]);
    assert.deepEqual([[...graph.npu.hand], [...graph.bench.hand]], [[3], [5]]);
    hand.unmatch(graph, 3);
    hand.unmatch(graph, 2); // found by the program
    await hand.apply(graph);
    assert.deepEqual([graph.npu.partner[3], graph.bench.partner[5], graph.npu.partner[2], graph.bench.partner[2]], [-1, -1, -1, -1]);
    assert.ok(Number.isNaN(graph.npu.index[3]) && Number.isNaN(graph.npu.index[2]));
    assert.deepEqual(hand.pairs(), [["Torch.x.0.forward", ""]]);
    assert.equal(graph.npu.hand.size, 0);
    hand.add([["Torch.x.0.forward", "Torch.z.0.forward", false], ["nobody", "Torch.x.0.forward", false]]);
    await hand.apply(graph);
    assert.deepEqual([graph.npu.partner[2], graph.npu.partner[5], graph.bench.partner[4], graph.bench.partner[2]], [4, -1, 2, -1]);
});

test("what the reader did goes out and comes in as a file", () => {
    const work = () => new ReaderWork(new ByHand(new Bands(meta)), new Notes(), new Bands(meta)), one = work(), two = work();
    assert.ok(one.is_empty());
    one.by_hand.add([["a", "b", false], ["c", "", false], ["__proto__", "d", false]]);
    assert.equal(one.text(), '{\n    "a": "b",\n    "c": "",\n    "__proto__": "d"\n}\n'); // what viewers of msprobe read
    one.by_hand.add([["e", "f", true]]);
    one.notes.set("bench", "b", "look <here>");
    one.notes.set("npu", "a", "  ");
    one.bands.own = ["#102030"];
    two.read(one.text());
    assert.equal(two.text(), one.text());
    assert.deepEqual(two.by_hand.pairs().at(-1), ["e", { node: "f", below: true }]);
    assert.deepEqual([two.notes.get("bench", "b"), two.notes.size, two.bands.palette], ["look <here>", 1, "own"]);
    for (const wrong of ["[]", "null", "{", '{"a": 1}', '{"a": {"below": true}}', '{"probe-ut notes and colours": "{"}', '{"probe-ut notes and colours": {}}'])
        assert.throws(() => work().read(wrong), wrong);
    for (const wrong of [{ colours: ["red"] }, { colours: 7 }, { notes: { npu: { a: 1 } } }])
        assert.throws(() => work().read(JSON.stringify({ "probe-ut notes and colours": JSON.stringify(wrong) })), JSON.stringify(wrong));
});

test("a file may match all below two nodes", async () => {
    const graph = two_sides(), hand = new ByHand(new Bands(meta));
    graph.npu.partner.fill(-1);
    graph.bench.partner.fill(-1);
    hand.add([["Module.a.A.forward.0", "Module.a.A.forward.0", true], ["Torch.x.0.forward", "", false]]);
    await hand.apply(graph);
    assert.deepEqual([...graph.npu.partner], [-1, 1, -1, -1, -1, -1]); // the later line wins
    hand.forget("Torch.x.0.forward");
    await hand.apply(graph);
    assert.deepEqual([...graph.npu.partner], [-1, 1, 2, -1, -1, -1]);
});

test("below two nodes the k-th of a place goes with the k-th", () => {
    const names = (module, kind, x, extra) => [["DefaultModel", -1, -1, 9, NaN, 0], [`Module.${module}.0.${kind}.forward.0`, 0, -1, 8, NaN, 0],
        [`Module.${module}.0.ln.LayerNorm.forward.0`, 1, -1, 1, NaN, 0], [`Functional.layer_norm.${x}.forward`, 2, -1, 0, NaN, 1],
        [`Functional.gelu.${x}.forward`, 1, -1, 2, NaN, 1], [`Functional.gelu.${x + 1}.forward`, 1, -1, 3, NaN, 1], ...extra];
    const npu = side_of(names("h", "Block", 3, [["Torch.only.0.forward", 1, -1, 4, NaN, 1]])), bench = side_of(names("layers", "Layer", 7, []));
    npu.partner.fill(-1);
    bench.partner.fill(-1);
    assert.deepEqual(pairs_below({ npu, bench }, 1, 1), [[2, 2], [4, 4], [5, 5], [3, 3]]);
    npu.partner[4] = bench.partner[4] = 4; // these stay together
    assert.deepEqual(pairs_below({ npu, bench }, 1, 1), [[2, 2], [5, 5], [3, 3]]);
});

test("the calls of the other direction are matched with them", () => {
    const both = (name) => side_of([["DefaultModel", -1, -1, 9, NaN, 0], [`Module.${name}.forward.0`, 0, -1, 1, NaN, 0], [`Module.${name}.backward.0`, 0, -1, 2, NaN, 0], ["Torch.x.0.forward", 0, -1, 3, NaN, 1]]);
    const npu = both("a.A"), bench = both("b.B");
    assert.deepEqual(twins({ npu, bench }, 1, 1), [2, 2]);
    assert.deepEqual(twins({ npu, bench }, 2, 2), [1, 1]);
    assert.equal(twins({ npu, bench }, 3, 3), null);
});

test("the reader chooses the errors that count", async () => {
    const graph = two_sides(), hand = new ByHand(new Bands(meta)), facts = new Facts(6);
    for (let i = 0; i < 6; i++) facts.add(i, { inputs: {}, outputs: { y: { MaxRelativeErr: "90%", NormRelativeErr: "10%" } } });
    graph.npu.facts = async () => facts;
    hand.errors = [false, true, true, true];
    await hand.apply(graph);
    assert.ok(Math.abs(graph.npu.index[2] - 0.1) < 1e-6 && Number.isNaN(graph.npu.index[3]));
    hand.errors = null;
    await hand.apply(graph);
    assert.ok(Math.abs(graph.npu.index[2] - 0.9) < 1e-6);
});

test("values along the execution are of the calls beside a node, in their order", async () => {
    const side = small();
    assert.deepEqual(calls_beside(side, 0), [2, 3, 5]);
    side.place[2] = 9;
    assert.deepEqual(calls_beside(side, 3), [3, 5, 2]); // too few in its own module
    const modules = [["root", -1, -1, 99, NaN, 0], ["a", 0, -1, 98, NaN, 0], ...Array.from({ length: 8 }, (_, i) => [`x${i}`, 1, -1, i, NaN, 1]), ["y", 0, -1, 9, NaN, 1]];
    assert.deepEqual(calls_beside(side_of(modules), 4), [2, 3, 4, 5, 6, 7, 8, 9]);
    const names = Array.from({ length: 1001 }, (_, i) => [`c${i}`, i ? 0 : -1, -1, i ? i - 1 : 1000, NaN, i ? 1 : 0]), long = side_of(names);
    assert.deepEqual([calls_beside(long, 0).length, calls_beside(long, 0)[0], calls_beside(long, 1000).at(-1), calls_beside(long, 500)[150]], [300, 1, 1000, 500]);
    side.rows = async () => rows("3");
    assert.deepEqual(await tensor_values(side, 2, ""), [3, 0, null, 2]);
    assert.deepEqual(await tensor_values(side, 2, "input.0"), [1, 0, 0.5, 2]);
    assert.deepEqual(await tensor_values(side, 2, "input.7"), [null, null, null, null]);
    assert.deepEqual(await tensor_values(side, -1, ""), [null, null, null, null]);
    assert.equal(tensor_name("Module.h.0.GPTBlock.forward.0.parameters.weight"), "parameters.weight");
});

test("values of very different sizes get a logarithmic scale, which can be read back", () => {
    const plain = value_scale([1, -2, null, 0, 30]);
    assert.deepEqual([plain.to(-2), plain.to(null), plain.from(7)], [-2, null, 7]);
    const wide = value_scale([1, 2, 3, -3.4e38, null]);
    assert.ok(wide.to(-3.4e38) > -40 && wide.to(-3.4e38) < wide.to(1) && wide.to(1) < wide.to(2));
    assert.equal(wide.to(null), null);
    for (const value of [1, 2, 3, -3.4e38, 0]) assert.ok(Math.abs(wide.from(wide.to(value)) - value) <= 1e-9 * Math.abs(value));
    assert.equal(value_scale([]).to(5), 5);
});

test("a batch of operations meets every one of its partners", () => {
    const one = { communications_type: "send", nodes_info: { 1: ["0.5", "a"], 2: ["Nan", "b"] } };
    const met = communications_of({ 4: one, 7: [one, { communications_type: "receive", nodes_info: { 3: ["1", "c"] } }] });
    assert.deepEqual(met.get(4), [{ type: "send", rank: 1, index: "0.5", name: "a" }, { type: "send", rank: 2, index: "Nan", name: "b" }]);
    assert.deepEqual(met.get(7).map(({ type, rank }) => `${type} ${rank}`), ["send 1", "send 2", "receive 3"]);
});

test("the worst below a node is known while it is folded", () => {
    const side = small();
    side.roll_up(new Bands(meta));
    assert.ok(Math.abs(side.worst[1] - 0.9) < 1e-6 && Math.abs(side.worst[0] - 0.9) < 1e-6);
    assert.deepEqual([...side.suspicious], [1, 1, 1, 0, 0, 0]);
});

test("folded subtrees are out of sight", () => {
    const tree = new Tree(small());
    assert.deepEqual([...tree.visible], [0, 1, 4]);
    tree.toggle(4);
    assert.deepEqual([...tree.visible], [0, 1, 4, 5]);
    tree.fold_all();
    tree.reveal(3);
    assert.deepEqual([...tree.visible], [0, 1, 2, 3, 4]);
    assert.equal(tree.position(4), 4);
    assert.equal(tree.position(5), -1);
});

test("trees unfold to a depth, and to what is suspicious on either side", () => {
    const side = small(), tree = new Tree(side);
    side.roll_up(new Bands(meta));
    tree.unfold_all();
    tree.unfold_to(1);
    assert.deepEqual([...tree.visible], [0, 1, 4]);
    tree.unfold_to(2);
    assert.deepEqual([...tree.visible], [0, 1, 2, 3, 4, 5]);
    tree.unfold_suspicious(side, null);
    assert.deepEqual([...tree.visible], [0, 1, 2, 3, 4]);
    const { bench } = two_sides(), other = new Tree(bench);
    other.unfold_suspicious(side, Int32Array.from([0, 1, 2, 4, 5, -1]));
    assert.deepEqual([...other.visible], [0, 1, 2, 3]);
});

test("keys fold, unfold and walk", () => {
    const side = small(), tree = new Tree(side), at = (selected) => ({ side, tree, selected });
    assert.deepEqual(tree_key("ArrowRight", at(1)), { fold: 1 });
    tree.toggle(1);
    assert.deepEqual(tree_key("ArrowRight", at(1)), { go: 2 });
    assert.deepEqual(tree_key("ArrowLeft", at(1)), { fold: 1 });
    assert.deepEqual(tree_key("ArrowLeft", at(2)), { go: 1 });
    assert.equal(tree_key("ArrowRight", at(2)), null);
    assert.equal(tree_key("ArrowLeft", at(-1)), null);
});

// Every box lies in the one around it and no two of a box touch; what is in sight is found, and hit.
test("boxes lie in boxes", () => {
    const modules = [["root", -1, -1, 0, NaN, 0]];
    for (let m = 0; m < 3; m++) {
        const module = modules.push([`m${m}`, 0, -1, 0, NaN, 0]) - 1;
        for (let k = 0; k < 7; k++) modules.push([`c${m}.${k}`, module, -1, 0, NaN, 1]);
    }
    const side = side_of(modules), tree = new Tree(side);
    tree.unfold_all();
    const layout = new BoxLayout(tree), { left, top, width, height, up } = layout;
    assert.equal(layout.count, 25);
    for (let a = 1; a < 25; a++) {
        assert.equal(up[a], side.parent[a]);
        assert.ok(left[a] > left[up[a]] && left[a] + width[a] < left[up[a]] + width[up[a]]);
        assert.ok(top[a] >= top[up[a]] + box.head && top[a] + height[a] < top[up[a]] + height[up[a]]);
        for (let b = a + 1; b < 25; b++) if (up[a] === up[b])
            assert.ok(left[a] + width[a] < left[b] || top[a] + height[a] < top[b], `${a} and ${b}`);
        assert.equal(layout.hit(left[a] + 3, top[a] + 3), a);
    }
    assert.equal(layout.hit(-1, 5), -1);
    assert.equal(layout.hit(left[1] + 1, top[1] + height[1] - 1), 1); // below the last of its boxes
    assert.deepEqual([2, 6, 7, 8].map((at) => [top[at] === top[2], layout.is_beside(at)]), [[true, false], [true, true], [false, false], [false, true]]);
    assert.deepEqual(layout.in_sight({ x: -100, y: -100, width: 1e6, height: 1e6 }), [...Array(25).keys()]);
    for (let y = 0; y < height[0]; y += 7) {
        const wide = layout.in_sight({ x: -9, y, width: 1e6, height: 20 }), seen = new Set(wide);
        for (let at = 0; at < 25; at++) if (top[at] < y + 20 && top[at] + height[at] >= y) assert.ok(seen.has(at), `${at} at ${y}`);
        assert.ok(wide.every((at) => top[at] + height[at] >= y - box.head && top[at] < y + 20));
        assert.deepEqual(wide, wide.toSorted((a, b) => a - b));
        for (const at of layout.in_sight({ x: 300, y, width: 5, height: 20 })) assert.ok(left[at] < 305 && left[at] + width[at] > 300);
    }
    // Inside of a module all that is around it is hidden.
    assert.equal(layout.in_sight({ x: left[1] + 2, y: top[1] + 40, width: 3, height: 1 })[0], 1);
});

test("a deep chain is laid out without recursion", () => {
    const deep = 50000, tree = new Tree(side_of(Array.from({ length: deep }, (_, i) => [`m${i}`, i - 1, -1, deep - i, NaN, 0])));
    tree.unfold_all();
    const layout = new BoxLayout(tree);
    assert.equal(layout.count, deep);
    assert.equal(layout.up[deep - 1], deep - 2);
    assert.ok(layout.height[0] > layout.height[1] && layout.top[deep - 1] > layout.top[deep - 2]);
    const last = deep - 1, sight = { x: layout.left[last] - 400, y: layout.top[last] - 300, width: 800, height: 600 };
    assert.ok(layout.in_sight(sight).length < 100 && layout.in_sight(sight).includes(last));
});

test("the map has the worst node of each line, what is folded with all below it", () => {
    const side = small(), bands = new Bands(meta), tree = new Tree(side);
    side.roll_up(bands);
    const { worst, value } = worst_by_line(new BoxLayout(tree), { side, bands }, 3);
    assert.ok([...worst].includes(1));
    assert.ok(Math.abs(value(1) - 0.9) < 1e-6);
    tree.toggle(1);
    const open = worst_by_line(new BoxLayout(tree), { side, bands }, 1);
    assert.deepEqual([...open.worst], [2]);
});

test("nodes are found in the order of execution", () => {
    const side = small(), bands = new Bands(meta);
    assert.deepEqual(find_nodes(side, { text: "", kind: "calls" }, bands), [2, 3, 5]);
    assert.deepEqual(find_nodes(side, { text: "", kind: "unmatched" }, bands), [3]);
    assert.deepEqual(find_nodes(side, { text: "", kind: "suspicious" }, bands), [2]);
    assert.deepEqual(find_nodes(side, { text: "TORCH", kind: "any" }, bands), [2, 3, 5]);
    assert.deepEqual(find_nodes(side, { text: "/^Module\\.[ab]/", kind: "any" }, bands), [1, 4]);
    assert.equal(find_nodes(side, { text: "/(/", kind: "any" }, bands), null);
});

test("nodes are found by type, dtype, shape and index", () => {
    const side = small(), bands = new Bands(meta), facts = new Facts(side.count), any = { text: "", kind: "any" };
    for (let i = 0; i < side.count; i++) facts.add(i, { inputs: { x: { dtype: i === 2 ? "torch.float16" : "torch.float32", shape: "[2, 3]" } }, outputs: { y: { dtype: "torch.float32", shape: i === 5 ? "[7]" : "[]", MaxRelativeErr: "12.5%", MinRelativeErr: "N/A" } } });
    assert.deepEqual(find_nodes(side, { ...any, dtype: "torch.float16" }, bands, facts), [2]);
    assert.deepEqual(find_nodes(side, { ...any, dtype: "torch.float32", shape: "[7" }, bands, facts), [5]);
    assert.deepEqual(find_nodes(side, { ...any, dtype: "torch.float16", shape: "[7" }, bands, facts), []);
    assert.deepEqual(find_nodes(side, { ...any, shape: "2,3", kind: "calls" }, bands, facts), [2, 3, 5]);
    assert.deepEqual(find_nodes(side, { ...any, from: 0.3 - 1e-6, to: 0.5 }, bands), [5]);
    assert.deepEqual(find_nodes(side, { ...any, from: 0.3 - 1e-6 }, bands), [2, 5]);
    assert.deepEqual(find_nodes(side, { ...any, type: "Torch.z" }, bands), [5]);
    assert.deepEqual([facts.errors[0][1], facts.errors[1][1]], [0.125, 0]);
    assert.deepEqual(["Functional.softmax.3.forward", "Module.h.0.attn.GPTAttn.forward.0", "DefaultModel"].map(node_type), ["Functional.softmax", "GPTAttn", ""]);
    assert.deepEqual(types_of(side), [["A", 1], ["B", 1], ["Torch.x", 1], ["Torch.y", 1], ["Torch.z", 1]]);
});

test("nodes are found by the range of a metric", async () => {
    const side = small(), cells = ["1%", "50%", "N/A", "-3%", "7e-3%", ""];
    side.rows = async (i) => ({ inputs: { x: { MaxRelativeErr: "N/A" } }, outputs: { y: { MaxRelativeErr: cells[i] } } });
    const within = (from, to) => keep_metric(side, [0, 1, 2, 3, 4, 5], { metric: "MaxRelativeErr", from, to }, () => false);
    assert.deepEqual(await within(1, null), [0, 1]);
    assert.deepEqual(await within(null, 0.5), [3, 4]);
    assert.deepEqual(await within(0, 40), [0, 4]);
    assert.equal(await keep_metric(side, [0], { metric: "MaxRelativeErr", from: 1, to: null }, () => true), null);
});

test("steps go from what is found to what is found, round and round", async () => {
    const finder = new Finder(new Bands(meta), { kind: "suspicious", on_found: () => {} });
    finder.wanted.kind = "calls";
    await finder.search(small());
    assert.deepEqual([finder.step(-1, 1), finder.step(2, 1), finder.step(5, 1), finder.step(2, -1), finder.step(1, 1), finder.step(1, -1), finder.step(0, 1)], [2, 3, 2, 5, 5, 3, 2]);
    finder.wanted.text = "/(/";
    await finder.search();
    assert.equal(finder.found, null);
    assert.equal(finder.step(2, 1), -1);
});

test("a plain search takes no character for more than it is", () => {
    assert.ok(name_test("a.b")("xa.by"));
    assert.ok(!name_test("a.b")("aXb"));
});

test("bands: lower ends belong to them, the last one is closed", () => {
    const bands = new Bands(meta);
    assert.deepEqual([0, 0.2, 0.39, 0.8, 1].map((value) => bands.band(value)), [0, 1, 1, 4, 4]);
    assert.equal(bands.band(NaN), -1);
    const md5 = new Bands({ task: "md5", generation: 2, colours: { "#FFFCF3": { value: [1, 1] }, "#FF704D": { value: [0, 0] } } });
    assert.ok(md5.worse(0, 1) && !md5.worse(1, 0) && md5.is_suspicious(0) && !md5.is_suspicious(1));
    assert.notEqual(md5.colour(0), md5.colour(1));
});

test("indices are short", () => {
    assert.deepEqual([0, 1, 0.5, 0.0123, 0.00004, NaN].map(index_text), ["0", "1", "0.50", "0.012", "4e-5", ""]);
});

test("names in their parts", () => {
    assert.deepEqual(name_parts("Module.h.0.attn.GPTAttn.forward.1"), { type: "Module", path: ["h", "0", "attn"], kind: "GPTAttn", call: "forward 1" });
    assert.deepEqual(name_parts("Functional.softmax.3.backward"), { type: "Functional", path: ["softmax"], kind: "", call: "3 backward" });
    assert.deepEqual(name_parts("DefaultModel").path, ["DefaultModel"]);
    assert.deepEqual(path_below(["h", "0", "attn"], ["h", "0"]), ["attn"]);
    assert.deepEqual(path_below(["h", "0"], ["h", "0"]), ["0"]);
});

test("addresses come back as they were", () => {
    const state = { view: "graph", form: "boxes", step: 1, rank: 3, side: "bench", node: "Module.a&b=c#.A.forward.0" };
    assert.deepEqual(route_of_text(route_text(state)), state);
    assert.deepEqual(route_of_text("#view=nonsense&step=x"), { view: "graph", form: "", step: null, rank: null, side: "npu", node: "" });
});

test("structures: what only one side has, without what lies below it", () => {
    const npu = small(), bench = side_of([["DefaultModel", -1, 0, 2, NaN, 0], ["Module.new.N.forward.0", 0, -1, 1, NaN, 0],
        ["Torch.w.0.forward", 1, -1, 0, NaN, 1], ["Torch.y.0.forward", 0, -1, 1, NaN, 1]]);
    const found = structure_differences({ npu, bench });
    assert.deepEqual(found["only npu"], []);
    assert.deepEqual(found["only bench"], [1]);
    assert.deepEqual(found.moved, [3]); // below another parent
    assert.deepEqual(found["unmatched pairs"], []);
    bench.parent[3] = 1;
    npu.parent[3] = 0;
    assert.deepEqual(structure_differences({ npu, bench }).moved, [3]);
    bench.parent[3] = 0;
    assert.deepEqual(structure_differences({ npu, bench })["unmatched pairs"], [3]);
});
