// Nodes that the reader matches or unmatches by hand. They are kept by name, so that they hold for every rank
// and can be given to the program (graph --match FILE): { NPU node: Bench node, or "" for none }.

import { name_parts } from "./names.js";
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

// What nodes below two others are paired by: type, direction, and what their parents call them, of numbers the part before
// ("layers.0": layers). graph/match_below.h has the same rule.
function place_below(side, node) {
    const { path, call } = name_parts(side.name(node));
    const short = path.findLast((part) => !/^\d+$/.test(part)) ?? path.at(-1);
    return JSON.stringify([side.type[node], call.includes("backward"), short]);
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
        this.below = new Set(); // names of those that match with all below them, as a file says
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
            if (this.matches.get(name)) this.forget(name);
            else if (npu.partner[at] >= 0) this.matches.set(name, "");
        }
    }

    forget(name) {
        this.matches.delete(name);
        this.below.delete(name);
    }

    // Bring a graph to what the program found, and then to what the reader wants.
    async apply(graph) {
        const { npu, bench } = graph;
        if (!bench || (!this.matches.size && !this.errors && !graph.found)) return;
        graph.found ??= { npu: npu.partner.slice(), bench: bench.partner.slice(), index: npu.index.slice() };
        npu.partner.set(graph.found.npu);
        bench.partner.set(graph.found.bench);
        npu.index.set(graph.found.index);
        npu.hand = new Set(graph.hand.npu);
        bench.hand = new Set(graph.hand.bench);
        if (this.errors) await this.count_errors(graph);
        for (const [name, partner] of this.matches) await this.apply_pair(graph, name, partner);
        npu.roll_up(this.bands);
    }

    // Of the four relative errors only those that the reader wants to count (`errors`, null for all).
    async count_errors({ npu, found }) {
        const { errors } = await npu.facts(), wanted = errors.filter((_, which) => this.errors[which]);
        for (let i = npu.count - 1; i > 0; i--) {
            if (Number.isNaN(found.index[i])) continue;
            if (npu.type[i] === node_collection) npu.index[i] = npu.children(i).reduce((worst, child) => Math.max(worst, npu.index[child] || 0), 0);
            else if (errors.some((one) => one[i] > 0)) npu.index[i] = Math.max(0, ...wanted.map((one) => one[i]));
        }
    }

    async apply_pair(graph, name, partner_name) {
        const { npu, bench } = graph, node = npu.find_name(name), partner = partner_name ? bench.find_name(partner_name) : -1;
        if (node <= 0 || (partner_name && (partner <= 0 || npu.type[node] !== bench.type[partner]))) return;
        this.part(graph, node);
        if (partner < 0) return;
        if (bench.partner[partner] >= 0) this.part(graph, bench.partner[partner]);
        await this.join(graph, node, partner);
        if (this.below.has(name)) for (const [a, b] of pairs_below(graph, node, partner)) await this.join(graph, a, b);
    }

    part({ npu, bench }, node) {
        const partner = npu.partner[node];
        if (partner >= 0) bench.partner[partner] = -1;
        npu.partner[node] = -1;
        npu.index[node] = NaN;
        npu.hand.delete(node);
        bench.hand.delete(partner);
    }

    async join({ npu, bench }, node, partner) {
        npu.partner[node] = partner;
        bench.partner[partner] = node;
        npu.hand.add(node);
        bench.hand.add(partner);
        npu.index[node] = measure_pair(await npu.rows(node), await bench.rows(partner), this.bands.task) ?? NaN;
    }

    // For a file: [NPU node, Bench node], or where all below matches too { node, below }.
    pairs() {
        return [...this.matches].map(([name, partner]) => [name, this.below.has(name) ? { node: partner, below: true } : partner]);
    }

    // Add pairs of a file: [NPU node, Bench node, with all below].
    add(pairs) {
        for (const [name, partner, below] of pairs) {
            this.matches.set(name, partner);
            if (below) this.below.add(name);
        }
    }
}
