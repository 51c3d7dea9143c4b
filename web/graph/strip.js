// The heat strip: every call along the order of execution, the worst of those that share a pixel. A click
// goes to the worst call there.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { theme_color } from "../common/theme.js";
import { index_text } from "./bands.js";
import { node_call } from "./side.js";

const bar_height = 40;

// The calls of a side in the order of execution; nodes without children count as calls.
export function calls_in_order(side) {
    const calls = [];
    for (let i = 0; i < side.count; i++) if (side.type[i] === node_call || !side.has_children(i)) calls.push(i);
    return Uint32Array.from(calls).sort((a, b) => side.place[a] - side.place[b]);
}

// The worst call of each of `width` equal parts of the execution; -1 where no call begins.
export function strip_bins(side, bands, calls, width) {
    const worst = new Int32Array(width).fill(-1);
    for (let k = 0; k < calls.length; k++) {
        const node = calls[k], x = Math.min(width - 1, Math.floor(k * width / calls.length)), old = worst[x];
        if (old < 0 || bands.worse(side.index[node], side.index[old]) || side.overflow[node] > side.overflow[old]) worst[x] = node;
    }
    return worst;
}

export class Strip {
    constructor(on_select) {
        this.on_select = on_select;
        this.canvas = element("canvas", { class: "strip-canvas", role: "img", height: bar_height });
        this.node = element("div", { class: "strip-box" }, this.canvas);
        this.canvas.addEventListener("click", (event) => { if (this.at(event) >= 0) this.on_select(this.at(event)); });
        this.canvas.addEventListener("pointermove", (event) => this.hover(event));
        new ResizeObserver(() => this.draw()).observe(this.node);
    }

    show(side, bands, compared) {
        Object.assign(this, { side, bands, compared });
        const label = words(compared ? "execution order" : "execution order plain");
        this.canvas.setAttribute("aria-label", label);
        this.label = this.canvas.title = label;
        this.calls = calls_in_order(side);
        this.worst = null;
        this.draw();
    }

    select(node) {
        this.selected = node;
        this.draw();
    }

    draw() {
        const width = Math.floor(this.node.clientWidth);
        if (!this.side || width < 2) return;
        const ratio = devicePixelRatio || 1, pen = this.canvas.getContext("2d");
        this.canvas.width = width * ratio;
        this.canvas.height = bar_height * ratio;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${bar_height}px`;
        pen.scale(ratio, ratio);
        if (this.worst?.length !== width) this.worst = strip_bins(this.side, this.bands, this.calls, width);
        const each = Math.max(1, width / Math.max(1, this.calls.length));
        for (let x = 0; x < width; x++) this.draw_bin(pen, x, each);
        this.draw_selection(pen, width);
    }

    draw_bin(pen, x, each) {
        const node = this.worst[x];
        if (node < 0) return;
        const { side, bands } = this, value = side.index[node];
        pen.fillStyle = bands.colour(value) ?? theme_color("line");
        const height = this.compared ? 6 + 26 * bands.badness(value) : 12;
        pen.fillRect(x, bar_height - 4 - height, Math.max(1, each - (each > 3 ? 1 : 0)), height);
        if (bands.is_suspicious(value)) {
            pen.fillStyle = theme_color("error");
            pen.fillRect(x, bar_height - 3, Math.max(1, each - (each > 3 ? 1 : 0)), 3);
        }
        if (side.overflow[node]) {
            pen.fillStyle = theme_color("comparison");
            pen.fillRect(x, 0, Math.max(2, each - 1), 4);
        }
    }

    // The first call that ends with the node or behind it; the number of calls when there is none.
    place_of(node) {
        const { calls, side } = this;
        let low = 0, high = calls.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (side.place[calls[middle]] < side.place[node]) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    draw_selection(pen, width) {
        const at = this.selected >= 0 ? this.place_of(this.selected) : this.calls.length;
        if (at === this.calls.length) return;
        pen.fillStyle = theme_color("accent");
        pen.fillRect(Math.floor(at * width / this.calls.length), 0, 2, bar_height);
    }

    // The worst call at the pointer; -1 where there is none.
    at(event) {
        if (!this.worst) return -1;
        let x = Math.min(this.worst.length - 1, Math.floor(event.offsetX));
        while (x > 0 && this.worst[x] < 0) x--;
        return this.worst[x] ?? -1;
    }

    hover(event) {
        const node = this.at(event);
        const value = node < 0 || Number.isNaN(this.side.index[node]) ? "" : ` (${words("index")} ${index_text(this.side.index[node])})`;
        this.canvas.title = node < 0 ? this.label : `${this.side.name(node)}${value}\n${this.label}`;
    }
}
