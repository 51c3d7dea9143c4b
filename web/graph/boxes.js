// One pane: the tree of a side as boxes within boxes on a canvas that is moved and zoomed.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { BoxPainter, box_theme } from "./box_draw.js";
import { BoxLayout, box } from "./box_layout.js";
import { BoxMap } from "./box_map.js";
import { position_in } from "./tree.js";
import { tree_key } from "./tree_keys.js";

const least_zoom = 0.08, most_zoom = 2.5, zoom_step = 1.25, margin = 12, click_way = 4, twisty_width = 26;

export class Boxes {
    // on_select(node) when the reader chose a node, on_fold(node) when one is to be folded or unfolded,
    // on_menu(node, event) when its menu is to open; note_of(node) is what the reader wrote
    constructor(side, { tree, bands, compared, key, on_select, on_fold, on_menu, note_of }) {
        Object.assign(this, { side, tree, bands, compared, key, on_select, on_fold, on_menu, note_of });
        this.selected = -1;
        this.zoom = 0; // until the pane has a size
        this.origin = { x: 0, y: 0 }; // what stands at the left upper corner
        this.canvas = element("canvas", { class: "box-canvas", tabindex: "0", role: "application", "aria-label": this.label() });
        this.map = new BoxMap({ label: words("map"), on_move: (x, y) => this.centre(x, y) });
        this.title = element("span", {});
        this.percent = element("button", { class: "small numeric", type: "button", onclick: () => this.zoom_by(1 / this.zoom) });
        this.tools = element("span", { class: "box-tools" });
        this.node = element("section", { class: "boxes", "data-side": key }, element("div", { class: "boxes-head" }, this.title, element("span", { class: "spring" }), this.tools),
            element("div", { class: "boxes-body" }, this.canvas, this.map.node));
        this.listen();
        new ResizeObserver(() => this.resized()).observe(this.canvas);
        this.relabel();
    }

    label() {
        return `${words(this.key)}: ${words("boxes hint")}`;
    }

    relabel() {
        const tool = (text, key, run) => element("button", { class: "small", type: "button", title: words(key), "aria-label": words(key), onclick: run }, text);
        this.title.textContent = words(this.key);
        this.percent.title = words("zoom.real");
        this.tools.replaceChildren(tool("−", "zoom.out", () => this.zoom_by(1 / zoom_step)), this.percent, tool("+", "zoom.in", () => this.zoom_by(zoom_step)),
            tool("⤢", "zoom.fit", () => this.fit()));
        this.canvas.setAttribute("aria-label", this.label());
        this.theme = box_theme();
        if (!this.layout) this.refresh();
        this.map.show(this.layout, this, this.theme);
        this.schedule();
    }

    // ---- places -------------------------------------------------------------------------------

    // Folding changed: lay out anew, with the box of `anchor` where it was; without one, from the beginning.
    refresh(anchor = this.selected) {
        const old = this.layout;
        if (old?.visible === this.tree.visible) return;
        const before = old && anchor >= 0 ? this.position(anchor) : -1;
        const place = before < 0 ? null : { x: old.left[before] - this.origin.x, y: old.top[before] - this.origin.y };
        this.layout = new BoxLayout(this.tree);
        const at = place ? this.position(anchor) : -1;
        if (at >= 0) this.origin = { x: this.layout.left[at] - place.x, y: this.layout.top[at] - place.y };
        this.map.show(this.layout, this, this.theme);
        if (this.zoom && at < 0) this.fit_width();
        this.keep_in_sight();
    }

    position(node) {
        return position_in(this.layout.visible, node);
    }

    resized() {
        if (!this.canvas.clientWidth) return;
        if (!this.zoom) this.fit_width();
        this.keep_in_sight();
        if (this.selected >= 0) this.reveal(this.selected, false);
    }

    in_sight() {
        return { x: this.origin.x, y: this.origin.y, width: this.canvas.clientWidth / this.zoom, height: this.canvas.clientHeight / this.zoom };
    }

    // A size at which words can be read, and the boxes from their beginning.
    fit_width() {
        const room = this.canvas.clientWidth - 2 * margin;
        this.zoom = Math.max(0.7, Math.min(1, room / this.layout.width[0]));
        this.origin = { x: 0, y: -margin / this.zoom };
        this.centre(this.layout.width[0] / 2, this.canvas.clientHeight / this.zoom / 2 - margin / this.zoom);
    }

    fit() {
        const { layout, canvas } = this;
        this.zoom = Math.max(least_zoom, Math.min(1.5, (canvas.clientWidth - 2 * margin) / layout.width[0], (canvas.clientHeight - 2 * margin) / layout.height[0]));
        this.centre(layout.width[0] / 2, layout.height[0] / 2);
    }

    // Zoom about a point of the canvas, its middle when none is given.
    zoom_by(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
        const zoom = Math.max(least_zoom, Math.min(most_zoom, this.zoom * factor));
        this.origin.x += x / this.zoom - x / zoom;
        this.origin.y += y / this.zoom - y / zoom;
        this.zoom = zoom;
        this.keep_in_sight();
    }

    move_by(x, y) {
        this.origin.x += x / this.zoom;
        this.origin.y += y / this.zoom;
        this.keep_in_sight();
    }

    centre(x, y) {
        const { width, height } = this.in_sight();
        this.origin = { x: x - width / 2, y: y - height / 2 };
        this.keep_in_sight();
    }

    // Boxes cannot be lost: what fits stands in the middle across and at the top, what does not fills the pane.
    keep_in_sight() {
        if (this.zoom) {
            const { width, height } = this.in_sight(), { layout, origin } = this, edge = margin / this.zoom;
            const within = (at, room, size, spare) => room >= size + 2 * edge ? -spare : Math.max(-edge, Math.min(at, size + edge - room));
            origin.x = within(origin.x, width, layout.width[0], (width - layout.width[0]) / 2);
            origin.y = within(origin.y, height, layout.height[0], edge);
        }
        this.schedule();
    }

    // Bring the head of a node into sight: to the middle when it is far off or `always`.
    reveal(node, always) {
        const at = this.position(node);
        if (at < 0 || !this.zoom) return;
        const { layout } = this, sight = this.in_sight(), x = layout.left[at] + Math.min(layout.width[at], box.module_width) / 2, y = layout.top[at] + box.head / 2;
        const near = y >= sight.y + box.head && y <= sight.y + sight.height - box.head && x >= sight.x && x <= sight.x + sight.width;
        if (always || !near) this.centre(x, y);
    }

    // ---- drawing ------------------------------------------------------------------------------

    schedule() {
        if (this.pending) return;
        this.pending = requestAnimationFrame(() => {
            this.pending = 0;
            this.draw();
        });
    }

    draw() {
        const { canvas, zoom, origin, layout } = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
        if (!width || !zoom || !canvas.isConnected) return;
        canvas.width = width * ratio;
        canvas.height = height * ratio;
        const pen = canvas.getContext("2d"), sight = this.in_sight();
        pen.scale(ratio * zoom, ratio * zoom);
        pen.translate(-origin.x, -origin.y);
        const positions = layout.in_sight(sight);
        new BoxPainter(pen, layout, this).draw(positions);
        this.map.draw(sight);
        this.percent.textContent = `${Math.round(100 * zoom)} %`;
        Object.assign(canvas.dataset, { drawn: positions.length, boxes: layout.count });
    }

    // ---- choosing -----------------------------------------------------------------------------

    // Show a node wherever it is, without telling anybody.
    show_node(node) {
        this.selected = node;
        this.tree.reveal(node);
        this.refresh();
        this.reveal(node, false);
    }

    choose(node) {
        this.selected = node;
        this.schedule();
        this.on_select(node);
    }

    clear() {
        this.selected = -1;
        this.schedule();
    }

    hit(event) {
        return this.layout.hit(this.origin.x + event.offsetX / this.zoom, this.origin.y + event.offsetY / this.zoom);
    }

    listen() {
        const { canvas } = this;
        let from = null;
        canvas.addEventListener("pointerdown", (event) => {
            from = { x: event.clientX, y: event.clientY, moved: false };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointermove", (event) => {
            if (!from || !(event.buttons & 1)) return this.hover(event);
            if (!from.moved && Math.hypot(event.clientX - from.x, event.clientY - from.y) < click_way) return;
            from.moved = true;
            this.move_by(from.x - event.clientX, from.y - event.clientY);
            [from.x, from.y] = [event.clientX, event.clientY];
        });
        canvas.addEventListener("pointerup", (event) => {
            if (from && !from.moved && event.button === 0) this.click(event);
            from = null;
        });
        canvas.addEventListener("dblclick", (event) => {
            const at = this.hit(event);
            if (at >= 0 && this.side.has_children(this.layout.visible[at]) && !this.on_twisty(at, event)) this.on_fold(this.layout.visible[at]);
        });
        canvas.addEventListener("contextmenu", (event) => {
            const at = this.hit(event);
            if (at >= 0) this.on_menu(this.layout.visible[at], event);
        });
        canvas.addEventListener("wheel", (event) => {
            event.preventDefault();
            const turn = event.deltaMode ? 30 : 1; // lines or pixels
            if (event.ctrlKey || event.metaKey) this.zoom_by(Math.exp(-event.deltaY * turn / 300), event.offsetX, event.offsetY);
            else if (event.shiftKey) this.move_by(event.deltaY * turn, 0);
            else this.move_by(event.deltaX * turn, event.deltaY * turn);
        }, { passive: false });
        canvas.addEventListener("keydown", (event) => this.key_down(event));
    }

    on_twisty(at, event) {
        const x = this.origin.x + event.offsetX / this.zoom - this.layout.left[at], y = this.origin.y + event.offsetY / this.zoom - this.layout.top[at];
        return x < twisty_width && y < box.head;
    }

    click(event) {
        const at = this.hit(event);
        if (at < 0) return;
        const node = this.layout.visible[at];
        if (this.side.has_children(node) && this.on_twisty(at, event)) this.on_fold(node);
        else this.choose(node);
    }

    hover(event) {
        const at = this.hit(event), node = at < 0 ? -1 : this.layout.visible[at];
        if (node === this.hovered) return;
        this.hovered = node;
        this.canvas.title = node < 0 ? "" : [this.side.name(node), this.note_of(node)].filter(Boolean).join("\n");
        this.canvas.style.cursor = node < 0 ? "grab" : "pointer";
    }

    key_down(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step) {
            const node = this.layout.visible[Math.max(0, Math.min(this.layout.count - 1, this.position(this.selected) + step))];
            this.choose(node);
            this.reveal(node, false);
        } else {
            const done = tree_key(event.key, this);
            if (!done) return;
            if ("fold" in done) this.on_fold(done.fold);
            else this.choose(done.go);
            this.reveal(this.selected, false);
        }
        event.preventDefault();
        event.stopPropagation();
    }
}
