// What the reader looks for, the nodes that were found, and steps from one to the next.

import { find_nodes, keep_metric } from "./find.js";

export class Finder {
    // kind: what is looked for at first; on_found() when there is another list
    constructor(bands, { kind, on_found }) {
        this.bands = bands;
        this.on_found = on_found;
        this.wanted = { text: "", kind, type: "", dtype: "", shape: "", from: null, to: null, metric: "" };
        this.found = [];
    }

    is_idle() {
        const { text, kind, type, dtype, shape, from, to } = this.wanted;
        return !text && kind === "any" && !type && !dtype && !shape && from === null && to === null;
    }

    // `found` is null when the text is no expression.
    async search(side = this.side) {
        const turn = this.turn = {};
        this.side = side;
        const { dtype, shape } = this.wanted, facts = dtype || shape ? await side.facts() : null;
        if (this.turn !== turn) return;
        let found = this.is_idle() ? [] : find_nodes(side, this.wanted, this.bands, facts);
        const { metric, from, to } = this.wanted;
        if (found && metric && (from !== null || to !== null)) found = await keep_metric(side, found, { metric, from, to }, () => this.turn !== turn);
        if (this.turn !== turn) return;
        this.found = found;
        this.on_found();
    }

    // Where a node stands among those found; -1 elsewhere.
    at(node) {
        return this.found ? this.found.indexOf(node) : -1;
    }

    // The found node behind (by 1) or before (by -1) a node, which need not be one of them and may be -1.
    step(node, by) {
        const { found, side } = this, count = found?.length ?? 0, at = this.at(node);
        if (!count) return -1;
        if (at >= 0) return found[(at + by + count) % count];
        const place = node >= 0 ? side.place[node] : -1, behind = found.findIndex((other) => side.place[other] > place), first = behind < 0 ? count : behind;
        return found[(by > 0 ? first : first - 1 + count) % count];
    }
}
