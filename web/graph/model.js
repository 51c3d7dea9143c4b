// The graphs of the page: one for each step and rank, opened when it is looked at.

import { block_meta } from "../common/blocks.js";
import { Bands } from "./bands.js";
import { Side } from "./side.js";
import { calls_in_order, strip_bins } from "./strip.js";

const most_opened = 3, summary_bins = 120;

export class Graphs {
    static async open() {
        return new Graphs(await block_meta());
    }

    constructor(meta) {
        this.meta = meta;
        this.compared = meta.compared;
        this.judged = meta.compared && meta.task !== "structure"; // are there indices?
        this.bands = new Bands(meta);
        this.opened = new Map(); // by number, the one used last at the end
    }

    get graphs() {
        return this.meta.graphs;
    }

    distinct(key) {
        return [...new Set(this.graphs.map((graph) => graph[key]))].sort((a, b) => a - b);
    }

    find(step, rank) {
        return this.graphs.findIndex((graph) => graph.step === step && graph.rank === rank);
    }

    // { npu, bench, hand }: bench is null for a built graph; hand has the nodes that were matched by a file (--match).
    open_graph(number) {
        const opened = this.opened.get(number) ?? this.load(this.graphs[number]);
        this.opened.delete(number);
        this.opened.set(number, opened);
        if (this.opened.size > most_opened) this.opened.delete(this.opened.keys().next().value);
        return opened;
    }

    async load(graph) {
        const open = async (meta) => {
            const side = await Side.open(meta, this.meta.rows_nodes);
            side.roll_up(this.bands);
            return side;
        };
        const [npu, bench] = await Promise.all([open(graph.npu), graph.bench ? open(graph.bench) : null]);
        // Nodes of both sides whose partners are from a file.
        npu.hand = new Set(graph.by_hand ?? []);
        if (bench) bench.hand = new Set([...npu.hand].map((node) => npu.partner[node]));
        return { npu, bench, hand: { npu: new Set(npu.hand), bench: new Set(bench?.hand ?? []) } };
    }

    // What is said of a graph beside others, with the matches by hand; the graph itself is not kept.
    async summary(number, by_hand) {
        const graph = await this.open_graph(number);
        await by_hand.apply(graph);
        const { npu } = graph, calls = calls_in_order(npu);
        const bins = strip_bins(npu, this.bands, calls, summary_bins);
        return { count: npu.count, worst: npu.worst[0], suspicious: npu.suspicious[0], overflow: npu.overflow.reduce((sum, level) => sum + (level > 0), 0),
            strip: Array.from(bins, (node) => node < 0 ? NaN : npu.index[node]) };
    }
}
