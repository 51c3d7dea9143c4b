// A table that draws only the rows in sight, so that a million of them cost what thirty do.
//
// The scroller holds one tall spacer and the drawn rows on top of it. Browsers limit how tall an
// element can be (33 million pixels in Chromium); beyond that the scroll position is a share of the way.

import { element, replace } from "./elements.js";

const row_height = 30;
const tallest = 24_000_000;
const spare_rows = 6;

export class VirtualTable {
    // columns: [{ id, title, width, numeric, grow, sortable }]
    // draw(cell, column, row): fill the element of a cell; `row` is the index given to `show`
    // prepare(rows): a promise that the rows can be drawn
    // on_open(row, position), on_move(row, position) when keys moved the selection, on_sort(column id)
    constructor({ columns, draw, prepare, on_open, on_move, on_sort, label, row_class, empty }) {
        Object.assign(this, { columns, draw, prepare, on_open, on_move, on_sort, row_class, empty });
        this.order = new Uint32Array(0);
        this.selected = -1;
        this.sort = null;
        this.drawn = new Map();
        this.spacer = element("div", { class: "table-spacer" });
        this.layer = element("div", { class: "table-layer", role: "rowgroup" });
        this.head = element("div", { class: "table-head", role: "row" });
        this.note = element("div", { class: "table-empty", role: "status" });
        this.node = element("div", { class: "table", role: "grid", tabindex: "0", "aria-label": label },
            this.head, this.spacer, this.layer, this.note);
        this.node.addEventListener("scroll", () => this.schedule());
        this.node.addEventListener("keydown", (event) => this.key(event));
        new ResizeObserver(() => this.schedule()).observe(this.node);
        this.set_columns(columns);
    }

    set_columns(columns) {
        this.columns = columns;
        const tracks = columns.map((c) => c.grow ? `minmax(${c.width}px, 1fr)` : `${c.width}px`).join(" ");
        this.node.style.setProperty("--tracks", tracks);
        this.node.style.setProperty("--table-width", `${columns.reduce((sum, c) => sum + c.width, 0)}px`);
        this.draw_head();
        this.redraw();
    }

    draw_head() {
        replace(this.head, this.columns.map((column) => {
            const direction = this.sort && this.sort.id === column.id ? this.sort.direction : 0;
            return element("div", {
                class: `cell${column.numeric ? " numeric" : ""}`, role: "columnheader", title: column.hint ?? column.title,
                "aria-sort": direction ? (direction > 0 ? "ascending" : "descending") : "none",
            }, column.sortable === false ? element("span", {}, column.title) :
                element("button", { type: "button", onclick: () => this.on_sort(column.id) },
                    element("span", { class: "head-text" }, column.title),
                    element("span", { class: "arrow", "aria-hidden": "true" }, direction > 0 ? "▲" : direction < 0 ? "▼" : "")));
        }));
    }

    // Show the rows of `order`, a Uint32Array, from the top.
    show(order, sort, keep_place = false) {
        this.order = order;
        this.sort = sort;
        this.selected = -1;
        this.node.setAttribute("aria-rowcount", String(order.length + 1));
        this.spacer.style.height = `${Math.min(order.length * row_height, tallest)}px`;
        this.draw_head();
        if (!keep_place) this.node.scrollTop = 0;
        this.redraw();
    }

    redraw() {
        this.drawn.clear();
        this.layer.replaceChildren();
        replace(this.note, this.order.length ? "" : this.empty());
        this.note.hidden = this.order.length > 0;
        this.schedule();
    }

    schedule() {
        if (this.pending) return;
        this.pending = requestAnimationFrame(() => {
            this.pending = 0;
            this.draw_visible();
        });
    }

    body_height() {
        return Math.max(0, this.node.clientHeight - this.head.offsetHeight);
    }

    // Position (a fraction of a row counts) of the row at the top.
    first_visible() {
        const rows = this.order.length, full = rows * row_height;
        if (full <= tallest) return this.node.scrollTop / row_height;
        const way = Math.max(1, tallest - this.body_height());
        return this.node.scrollTop / way * Math.max(0, rows - this.body_height() / row_height);
    }

    scroll_to(position) {
        const full = this.order.length * row_height, in_sight = this.body_height() / row_height;
        const first = this.first_visible();
        if (position >= first && position + 1 <= first + in_sight) return;
        // A neighbour moves the table by a row; what is further away comes to the middle.
        const near = position > first - 2 && position < first + in_sight + 1;
        const wanted = !near ? position - in_sight / 2 : position < first ? position : position + 1 - in_sight;
        const top = Math.max(0, Math.min(wanted, this.order.length - in_sight));
        this.node.scrollTop = full <= tallest ? top * row_height
            : top / Math.max(1, this.order.length - in_sight) * (tallest - this.body_height());
    }

    async draw_visible() {
        const first = this.first_visible();
        const from = Math.max(0, Math.floor(first) - spare_rows);
        const to = Math.min(this.order.length, Math.ceil(first + this.body_height() / row_height) + spare_rows);
        const rows = this.order.subarray(from, to), order = this.order, turn = this.turn = {};
        const ready = this.prepare(rows);
        if (ready) await ready;
        if (this.turn !== turn || this.order !== order) return; // something newer is on its way
        for (const [position, node] of this.drawn)
            if (position < from || position >= to) {
                node.remove();
                this.drawn.delete(position);
            }
        const offset = this.node.scrollTop - first * row_height;
        for (let position = from; position < to; position++) {
            let node = this.drawn.get(position);
            if (!node) {
                node = this.make_row(position);
                this.drawn.set(position, node);
                this.layer.append(node);
            }
            node.style.transform = `translateY(${Math.round(offset + position * row_height)}px)`;
        }
    }

    make_row(position) {
        const row = this.order[position];
        const node = element("div", {
            class: `row ${this.row_class ? this.row_class(row) : ""}`, role: "row", "aria-rowindex": position + 2,
            "aria-selected": position === this.selected ? "true" : "false",
            onclick: () => { this.select(position); this.on_open(row, position); },
        });
        for (const column of this.columns) {
            const cell = element("div", { class: `cell${column.numeric ? " numeric" : ""}`, role: "gridcell" });
            this.draw(cell, column, row);
            node.append(cell);
        }
        return node;
    }

    select(position) {
        if (!this.order.length) return;
        this.selected = Math.max(0, Math.min(this.order.length - 1, position));
        for (const [at, node] of this.drawn) node.setAttribute("aria-selected", at === this.selected ? "true" : "false");
        this.scroll_to(this.selected);
        this.schedule();
    }

    // Move the selection by some rows, as keys do.
    move(by) {
        if (!this.order.length) return;
        this.select(this.selected + by);
        this.on_move(this.order[this.selected], this.selected);
    }

    key(event) {
        const page = Math.max(1, Math.floor(this.body_height() / row_height) - 1);
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
        if (event.key in steps) {
            this.move(steps[event.key]);
        } else if (event.key === "Enter" && this.selected >= 0 && event.target === this.node) {
            this.on_open(this.order[this.selected], this.selected);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}
