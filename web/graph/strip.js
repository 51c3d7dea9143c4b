// The heat strip: every call along the order of execution, the worst of those that share a pixel. A click
// goes to the worst call there.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { theme_color } from "../common/theme.js";
import { node_call } from "./side.js";

const strip_height = 40;

export class Strip {
    constructor(on_select) {
        this.on_select = on_select;
        this.canvas = element("canvas", { class: "strip-canvas", role: "img", height: strip_height });
        this.node = element("div", { class: "strip-box" }, this.canvas);
        this.canvas.addEventListener("click", (event) => this.click(event));
        new ResizeObserver(() => this.draw()).observe(this.node);
    }

    show(side, bands, compared) {
        Object.assign(this, { side, bands, compared });
        const label = words(compared ? "execution order" : "execution order plain");
        this.canvas.setAttribute("aria-label", label);
        this.canvas.title = label;
        this.calls = [];
        for (let i = 0; i < side.count; i++) if (side.type[i] === node_call || !side.has_children(i)) this.calls.push(i);
        this.calls.sort((a, b) => side.place[a] - side.place[b]);
        this.draw();
    }

    select(node) {
        this.selected = node;
        this.draw();
    }

    // The worst call of each pixel.
    bins(width) {
        const worst = new Int32Array(width).fill(-1), { calls, side, bands } = this;
        calls.forEach((node, k) => {
            const x = Math.min(width - 1, Math.floor(k * width / calls.length));
            const old = worst[x];
            const worse = old < 0 || bands.worse(side.index[node], side.index[old]) || side.overflow[node] > side.overflow[old];
            if (worse) worst[x] = node;
        });
        return worst;
    }

    draw() {
        const width = Math.floor(this.node.clientWidth);
        if (!this.side || width < 2) return;
        const ratio = devicePixelRatio || 1, pen = this.canvas.getContext("2d");
        this.canvas.width = width * ratio;
        this.canvas.height = strip_height * ratio;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${strip_height}px`;
        pen.scale(ratio, ratio);
        this.worst = this.bins(width);
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
        pen.fillRect(x, strip_height - 4 - height, Math.max(1, each - (each > 3 ? 1 : 0)), height);
        if (bands.is_suspicious(value)) {
            pen.fillStyle = theme_color("error");
            pen.fillRect(x, strip_height - 3, Math.max(1, each - (each > 3 ? 1 : 0)), 3);
        }
        if (side.overflow[node]) {
            pen.fillStyle = theme_color("comparison");
            pen.fillRect(x, 0, Math.max(2, each - 1), 4);
        }
    }

    draw_selection(pen, width) {
        const at = this.selected >= 0 ? this.calls.findIndex((node) => this.side.place[node] >= this.side.place[this.selected]) : -1;
        if (at < 0) return;
        pen.fillStyle = theme_color("accent");
        pen.fillRect(Math.floor(at * width / this.calls.length), 0, 2, strip_height);
    }

    click(event) {
        if (!this.worst) return;
        let x = Math.floor(event.offsetX);
        while (x > 0 && this.worst[x] < 0) x--;
        if (this.worst[x] >= 0) this.on_select(this.worst[x]);
    }
}
