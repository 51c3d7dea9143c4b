// Nodes that the reader matches or unmatches by hand. They are kept by name, so that they hold for every rank
// and can be given to the program (graph --match FILE): { NPU node: Bench node, or "" for none }.

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

export class ByHand {
    constructor(bands) {
        this.bands = bands;
        this.matches = new Map(); // NPU name -> Bench name, "" for none
    }

    // Why two nodes cannot be matched, as a key of the words; null when they can.
    async fault({ npu, bench }, node, partner) {
        if (npu.type[node] !== bench.type[partner]) return "by hand.types";
        if (!node || !partner || npu.partner[node] >= 0 || bench.partner[partner] >= 0) return "by hand.taken";
        return measure_pair(await npu.rows(node), await bench.rows(partner), this.bands.task) === null ? "by hand.rows" : null;
    }

    match({ npu, bench }, node, partner) {
        this.matches.set(npu.name(node), bench.name(partner));
    }

    // Back to what the program found, or to no partner when that is what there is.
    unmatch({ npu }, node) {
        const name = npu.name(node);
        if (this.matches.get(name)) this.matches.delete(name);
        else this.matches.set(name, "");
    }

    // Bring a graph to what the program found and all matches by hand. `graph.by_hand` has the indices of the
    // pairs, by NPU node.
    async apply(graph) {
        const { npu, bench } = graph;
        if (!bench || (!this.matches.size && !graph.by_hand?.size && !graph.found)) return;
        graph.found ??= { npu: npu.partner.slice(), bench: bench.partner.slice(), index: npu.index.slice() };
        npu.partner.set(graph.found.npu);
        bench.partner.set(graph.found.bench);
        npu.index.set(graph.found.index);
        graph.by_hand = new Map();
        for (const [name, partner] of this.matches) await this.apply_pair(graph, name, partner);
        npu.roll_up(this.bands);
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
        graph.by_hand.set(node, npu.index[node]);
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
