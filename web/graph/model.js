// The graphs of the page: one for each step and rank, opened when it is looked at.

import { block_meta } from "../common/blocks.js";
import { Bands } from "./bands.js";
import { Side } from "./side.js";

export class Graphs {
    static async open() {
        return new Graphs(await block_meta());
    }

    constructor(meta) {
        this.meta = meta;
        this.compared = meta.compared;
        this.bands = new Bands(meta);
        this.opened = new Map();
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

    // { npu, bench }: bench is null for a built graph.
    open_graph(number) {
        if (!this.opened.has(number)) this.opened.set(number, this.load(this.graphs[number]));
        return this.opened.get(number);
    }

    async load(graph) {
        const open = async (meta) => {
            const side = await Side.open(meta, this.meta.rows_nodes);
            side.roll_up(this.bands);
            return side;
        };
        const [npu, bench] = await Promise.all([open(graph.npu), graph.bench ? open(graph.bench) : null]);
        return { npu, bench };
    }
}
