// What the reader looks for, the nodes that were found, and steps from one to the next.

import { find_nodes, keep_metric } from "./find.js";

export class Finder {
    // kind: what is looked for at first; on_found() when there is another list
    constructor(bands, { kind, on_found }) {
        this.bands = bands;
        this.on_found = on_found;
        this.wanted = { text: "", kind, type: "", dtype: "", shape: "", from: null, to: null, metric: "" };
        this.found = [];
        this.of_other_kinds = 0; // nodes of the text that another kind hides, where nothing was found
        this.busy = false; // rows are being read
        this.fault = "";
    }

    is_idle() {
        const { text, kind, type, dtype, shape, from, to } = this.wanted;
        return !text && kind === "any" && !type && !dtype && !shape && from === null && to === null;
    }

    // `found` is null when the text is no expression; `fault` says what is wrong with the page.
    async search(side = this.side) {
        const turn = this.turn = {};
        this.side = side;
        this.fault = "";
        let found = [];
        try {
            found = this.is_idle() ? [] : await this.look(turn);
        } catch (error) {
            this.fault = error.message;
        }
        if (this.turn !== turn) return;
        this.found = found;
        this.of_other_kinds = this.count_other_kinds();
        this.busy = false;
        this.on_found();
    }

    // Some of what is wanted is in the rows, which have to be read.
    async look(turn) {
        const { side, wanted } = this, { dtype, shape, metric, from, to } = wanted, in_rows = metric && (from !== null || to !== null);
        this.busy = Boolean(dtype || shape || in_rows);
        if (this.busy) this.on_found();
        const found = find_nodes(side, wanted, this.bands, dtype || shape ? await side.facts() : null);
        return found && in_rows ? keep_metric(side, found, { metric, from, to }, () => this.turn !== turn) : found;
    }

    count_other_kinds() {
        const { text, kind } = this.wanted, hidden = text && kind !== "any" && this.found?.length === 0;
        return hidden ? find_nodes(this.side, { text, kind: "any" }, this.bands)?.length ?? 0 : 0;
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
