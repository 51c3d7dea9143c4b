// The nodes that were found, one below the other in the order of execution.

import { element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { VirtualTable } from "../common/virtual_table.js";
import { index_chip } from "./bands.js";

export class FoundList {
    // on_go(node)
    constructor({ bands, on_go }) {
        this.bands = bands;
        this.table = new VirtualTable({
            columns: this.columns(), label: words("found nodes"), draw: (cell, column, node) => this.draw(cell, column, node), prepare: () => null,
            on_open: on_go, on_move: on_go, on_sort: () => {}, row_class: () => "node", empty: () => words("no matches"),
        });
        this.node = this.table.node;
        this.node.classList.add("found-list");
    }

    columns() {
        return [{ id: "name", title: words("found nodes"), width: 160, grow: true, sortable: false }, { id: "index", title: words("index short"), width: 74, numeric: true, sortable: false }];
    }

    relabel() {
        this.table.set_columns(this.columns());
    }

    show(side, finder) {
        Object.assign(this, { side, finder });
        this.table.show(Uint32Array.from(finder.found ?? []), null, true);
    }

    // Mark the node that is selected elsewhere.
    mark(node) {
        const at = this.finder?.at(node) ?? -1;
        this.table.selected = -1;
        if (at >= 0) this.table.select(at);
        else this.table.redraw();
    }

    draw(cell, { id }, node) {
        if (id === "index") {
            if (!Number.isNaN(this.side.index[node])) cell.append(index_chip(this.bands, this.side.index[node]));
            return;
        }
        cell.title = this.side.name(node);
        replace(cell, element("span", { class: "clip mono" }, this.side.name(node)));
    }
}
