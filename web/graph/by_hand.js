// Nodes that the reader matches or unmatches by hand. They are kept by name, so that they hold for every rank
// and can be given to the program (graph --match FILE): { NPU node: Bench node, or "" for none }.

import { label_parts } from "./names.js";
import { node_call, node_collection } from "./side.js";

export const statistics = ["Max", "Min", "Mean", "Norm"];

// How far a statistic is off: { absolute, relative }, or null where there is nothing to compare.
function statistic_errors(npu, bench) {
    if (/^-?(nan|inf)/i.test(npu ?? "")) return { absolute: NaN, relative: npu === bench ? 0 : 1 };
    const a = Number.parseFloat(npu), b = Number.parseFloat(bench);
    if (!Number.isFinite(a) || !Number.isFinite(b)) return null;
    return { absolute: Math.abs(a - b), relative: Math.abs(a - b) / (Math.abs(b) || 1) };
}

function measure_row(npu, bench) {
    let worst = 0;
    for (const key of statistics) {
        const errors = statistic_errors(npu[key], bench[key]);
        npu[`${key}AbsErr`] = errors && !Number.isNaN(errors.absolute) ? String(Number(errors.absolute.toPrecision(6))) : "N/A";
        npu[`${key}RelativeErr`] = errors ? `${Number((100 * errors.relative).toFixed(4))}%` : "N/A";
        if (errors) worst = Math.max(worst, errors.relative);
    }
    return worst;
}

const zip = (a, b) => Object.values(a).slice(0, Object.keys(b).length).map((row, i) => [row, Object.values(b)[i]]);

// The index of two nodes from their rows, which get the errors as further keys: with statistics the worst
// relative error of the outputs, at most 1; with checksums 1 when all are equal. NaN for other dumps, null
// when inputs or outputs of either side are missing.
export function measure_pair(npu, bench, task) {
    const inputs = zip(npu.inputs, bench.inputs), outputs = zip(npu.outputs, bench.outputs);
    if (task === "md5") {
        const all = [...inputs, ...outputs];
        for (const [row, other] of all) row.Result = row.md5 === other.md5 ? "pass" : "Different";
        return inputs.length && outputs.length ? Number(all.every(([row]) => row.Result === "pass")) : null;
    }
    if (task !== "summary") return NaN;
    if (!inputs.length || !outputs.length) return null;
    for (const [row, other] of inputs) measure_row(row, other);
    return Math.min(1, Math.max(...outputs.map(([row, other]) => measure_row(row, other))));
}

// What nodes below two others are paired by: where they are below their parents, without the number of a call.
function place_below(side, node) {
    const { title, call, type } = label_parts(side, node);
    return JSON.stringify([side.type[node], type, title, call.replace(/ ?\d+ ?/, "")]);
}

// [node, partner] below two nodes that are matched: among their children the k-th of a place with the k-th, and so
// on below those. Nodes that have a partner keep it.
export function pairs_below({ npu, bench }, node, partner) {
    const pairs = [], todo = [[node, partner]];
    while (todo.length) {
        const [a, b] = todo.pop(), waiting = new Map();
        for (const child of bench.children(b).reverse()) {
            const place = place_below(bench, child);
            if (!waiting.has(place)) waiting.set(place, []);
            waiting.get(place).push(child);
        }
        const here = [];
        for (const child of npu.children(a)) {
            const other = waiting.get(place_below(npu, child))?.pop();
            if (other === undefined) continue;
            if (npu.partner[child] < 0 && bench.partner[other] < 0) pairs.push([child, other]);
            else if (npu.partner[child] !== other) continue;
            here.push([child, other]);
        }
        todo.push(...here.reverse());
    }
    return pairs;
}

// The calls of two nodes in the other direction; null where a side has none.
export function twins({ npu, bench }, node, partner) {
    const turned = (name) => name.replace(/\.(forward|backward)(?=\.|$)/, (_, way) => way === "forward" ? ".backward" : ".forward");
    const [a, b] = [[npu, node], [bench, partner]].map(([side, at]) => {
        const name = side.name(at), other = turned(name);
        return other === name ? -1 : side.find_name(other);
    });
    return a > 0 && b > 0 ? [a, b] : null;
}

export class ByHand {
    constructor(bands) {
        this.bands = bands;
        this.matches = new Map(); // NPU name -> Bench name, "" for none
        this.errors = null; // which of the four relative errors count; null: all
    }

    // Why two nodes cannot be matched, as a key of the words; null when they can. Modules may lack rows: theirs are
    // those of the calls below them.
    async fault({ npu, bench }, node, partner) {
        if (npu.type[node] !== bench.type[partner]) return "by hand.types";
        if (!node || !partner || npu.partner[node] >= 0 || bench.partner[partner] >= 0) return "by hand.taken";
        if (npu.type[node] !== node_call) return null;
        return measure_pair(await npu.rows(node), await bench.rows(partner), this.bands.task) === null ? "by hand.rows" : null;
    }

    // Match two nodes, their calls in the other direction, and on demand all that is below them.
    async match(graph, node, partner, below) {
        const tops = [[node, partner], twins(graph, node, partner)].filter(Boolean);
        for (const [a, b] of tops) {
            if (a !== node && await this.fault(graph, a, b)) continue;
            this.matches.set(graph.npu.name(a), graph.bench.name(b));
            for (const [x, y] of below ? pairs_below(graph, a, b) : [])
                if (!await this.fault(graph, x, y)) this.matches.set(graph.npu.name(x), graph.bench.name(y));
        }
    }

    // Back to what the program found, or to no partner when that is what there is.
    unmatch({ npu }, node, below) {
        for (let at = node; at < (below ? npu.end[node] : node + 1); at++) {
            const name = npu.name(at);
            if (this.matches.get(name)) this.matches.delete(name);
            else if (npu.partner[at] >= 0) this.matches.set(name, "");
        }
    }

    // Bring a graph to what the program found, and then to what the reader wants.
    async apply(graph) {
        const { npu, bench } = graph;
        if (!bench || (!this.matches.size && !this.errors && !graph.found)) return;
        graph.found ??= { npu: npu.partner.slice(), bench: bench.partner.slice(), index: npu.index.slice() };
        npu.partner.set(graph.found.npu);
        bench.partner.set(graph.found.bench);
        npu.index.set(graph.found.index);
        if (this.errors) await this.count_errors(graph);
        for (const [name, partner] of this.matches) await this.apply_pair(graph, name, partner);
        npu.roll_up(this.bands);
    }

    // Of the four relative errors only those that the reader wants to count (`errors`, null for all).
    async count_errors({ npu, found }) {
        const { errors } = await npu.facts(), wanted = errors.filter((_, which) => this.errors[which]), all = errors;
        for (let i = npu.count - 1; i > 0; i--) {
            const known = found.index[i];
            if (npu.type[i] === node_collection) npu.index[i] = Math.max(...npu.children(i).map((child) => npu.index[child]).filter((value) => !Number.isNaN(value)), 0);
            else if (!Number.isNaN(known) && all.some((one) => one[i] > 0)) npu.index[i] = Math.max(0, ...wanted.map((one) => one[i]));
        }
    }

    async apply_pair(graph, name, partner_name) {
        const { npu, bench } = graph, node = npu.find_name(name), partner = partner_name ? bench.find_name(partner_name) : -1;
        if (node <= 0 || (partner_name && (partner <= 0 || npu.type[node] !== bench.type[partner]))) return;
        if (npu.partner[node] >= 0) bench.partner[npu.partner[node]] = -1;
        npu.partner[node] = partner;
        npu.index[node] = NaN;
        if (partner < 0) return;
        const left = bench.partner[partner];
        if (left >= 0) {
            npu.partner[left] = -1;
            npu.index[left] = NaN;
        }
        bench.partner[partner] = node;
        npu.index[node] = measure_pair(await npu.rows(node), await bench.rows(partner), this.bands.task) ?? NaN;
    }

    text() {
        return `${JSON.stringify(Object.fromEntries(this.matches), null, 4)}\n`;
    }

    // Add the matches of a file; throws when it is none.
    read(text) {
        const read = JSON.parse(text);
        if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error("no object");
        const pairs = Object.entries(read);
        if (!pairs.every(([, name]) => name === null || typeof name === "string")) throw new Error("no names");
        for (const [name, partner] of pairs) this.matches.set(name, partner ?? "");
    }
}
