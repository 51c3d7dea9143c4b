// One pane: the tree of a side as an outline, of which only the rows in sight are drawn.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { VirtualTable } from "../common/virtual_table.js";
import { index_chip } from "./bands.js";
import { communication_mark } from "./communication.js";
import { label_parts } from "./names.js";
import { node_call } from "./side.js";
import { tree_key } from "./tree_keys.js";

const overflow_marks = ["", "▲", "▲▲", "▲▲▲"];
const indent = 16;

export class Outline {
    // on_select(node) when the reader chose a node, on_fold(node) when one is to be folded or unfolded,
    // on_menu(node, event) when its menu is to open; note_of(node) is what the reader wrote
    constructor(side, { tree, bands, compared, key, on_select, on_fold, on_menu, note_of }) {
        Object.assign(this, { side, tree, bands, compared, key, on_select, on_fold, on_menu, note_of });
        this.selected = -1;
        this.table = new VirtualTable({
            columns: this.columns(), label: words(key), draw: (cell, column, node) => this.draw_cell(cell, column, node),
            prepare: () => null, on_open: (node) => this.choose(node), on_move: (node) => this.choose(node), on_sort: () => {},
            row_class: (node) => this.row_class(node), empty: () => words("no matches"),
        });
        this.node = this.table.node;
        this.node.dataset.side = key;
        // Left and right fold and unfold, as in every tree.
        this.table.node.addEventListener("keydown", (event) => this.fold_key(event), true);
        // The selection stays in sight when the pane gets another size, as when the detail opens below it.
        new ResizeObserver(() => { if (this.table.selected >= 0) this.table.scroll_to(this.table.selected); }).observe(this.table.node);
        this.refresh();
    }

    columns() {
        const node = { id: "node", title: words(this.key), width: 240, grow: true, sortable: false };
        const index = { id: "index", title: words("index"), width: 150, numeric: true, sortable: false };
        return this.compared && this.key !== "bench" ? [node, index] : [node, { ...index, title: "" }];
    }

    relabel() {
        this.table.set_columns(this.columns());
    }

    refresh() {
        this.table.show(this.tree.visible, null, true);
        this.mark();
    }

    mark() {
        this.table.selected = this.selected < 0 ? -1 : this.tree.position(this.selected);
        this.table.redraw();
    }

    row_class(node) {
        const unmatched = this.compared && node > 0 && this.side.partner[node] < 0;
        return `node type-${this.side.type[node]}${unmatched ? " is-unmatched" : ""}`;
    }

    label(node) {
        const { title, kind, call, type } = label_parts(this.side, node);
        return [element("span", { class: "node-path" }, title), kind ? element("span", { class: "node-kind" }, kind) : null, call ? element("span", { class: "node-call" }, call) : null,
            this.side.type[node] === node_call && type ? element("span", { class: "node-type" }, type) : null];
    }

    draw_cell(cell, column, node) {
        if (column.id === "index") this.draw_index(cell, node);
        else this.draw_node(cell, node);
    }

    draw_node(cell, node) {
        const { side, tree } = this, folds = side.has_children(node);
        cell.title = side.name(node);
        cell.addEventListener("contextmenu", (event) => this.on_menu(node, event));
        cell.style.paddingLeft = `${6 + Math.min(24, side.depth[node]) * indent}px`;
        cell.append(folds ? element("button", { class: "twisty", type: "button", tabindex: "-1", "aria-expanded": String(Boolean(tree.unfolded[node])),
            onclick: (event) => { event.stopPropagation(); this.on_fold(node); } }, tree.unfolded[node] ? "▾" : "▸") : element("span", { class: "twisty" }),
        element("span", { class: "node-label" }, this.label(node)),
        side.communications.has(node) ? communication_mark(side.communications.get(node)) : "",
        side.hand.has(node) ? element("span", { class: "hand", title: words("by hand") }, words("hand")) : "",
        this.note_of(node) ? element("span", { class: "note-mark", title: this.note_of(node) }, "✎") : "",
        side.overflow[node] ? element("span", { class: "overflow", title: words(`overflow.${side.overflow[node]}`) }, overflow_marks[side.overflow[node]]) : "",
        side.repair[node] ? element("span", { class: "repair", title: words(`repair.${side.repair[node]}`) }, "⚒") : "");
    }

    draw_index(cell, node) {
        const { side, bands } = this;
        const folded = side.has_children(node) && !this.tree.unfolded[node];
        if (folded && side.suspicious[node]) cell.append(element("span", { class: "count-bad", title: words("of calls", { bad: side.suspicious[node], count: side.end[node] - node }) }, `${side.suspicious[node]}×`));
        if (folded && bands.worse(side.worst[node], side.index[node])) cell.append(index_chip(bands, side.worst[node], true));
        if (!Number.isNaN(side.index[node])) cell.append(index_chip(bands, side.index[node]));
        else if (this.compared && node > 0 && side.partner[node] < 0) cell.append(element("span", { class: "chip unmatched" }, words("unmatched")));
    }

    choose(node) {
        this.selected = node;
        this.mark();
        this.on_select(node);
    }

    // Show a node wherever it is, without telling anybody.
    show_node(node) {
        this.selected = node;
        this.tree.reveal(node);
        this.refresh();
        if (this.table.selected >= 0) this.table.select(this.table.selected);
    }

    clear() {
        this.selected = -1;
        this.mark();
    }

    fold_key(event) {
        const done = tree_key(event.key, this);
        if (!done) return;
        if ("fold" in done) this.on_fold(done.fold);
        else this.choose(done.go);
        if (this.table.selected >= 0) this.table.select(this.table.selected);
        event.preventDefault();
        event.stopPropagation();
    }
}
