// The line between panes and detail, to drag or to move with arrows.

import { remember, remembered } from "../common/choices.js";
import { element } from "../common/elements.js";
import { words } from "../common/language.js";

const least = 15, most = 85, step = 4, first = 42; // percent of the height that the lower part takes

export class Splitter {
    // The share of `body()` below the line goes into its property --below.
    constructor(body) {
        this.body = body;
        this.node = element("div", { class: "splitter", role: "separator", tabindex: "0", "aria-orientation": "horizontal", "aria-valuemin": least, "aria-valuemax": most });
        this.node.addEventListener("pointerdown", (event) => this.node.setPointerCapture(event.pointerId));
        this.node.addEventListener("pointermove", (event) => {
            if (!(event.buttons & 1)) return;
            const { top, bottom } = this.body().getBoundingClientRect();
            this.set(100 * (bottom - event.clientY) / (bottom - top));
        });
        this.node.addEventListener("dblclick", () => this.set(first));
        this.node.addEventListener("keydown", (event) => {
            const by = { ArrowUp: step, ArrowDown: -step }[event.key];
            if (!by) return;
            this.set(this.share + by);
            event.preventDefault();
        });
        this.set(Number.parseFloat(remembered("share below") ?? "") || first);
        this.relabel();
    }

    relabel() {
        this.node.title = words("splitter");
        this.node.setAttribute("aria-label", words("splitter"));
    }

    set(share) {
        this.share = Math.round(Math.max(least, Math.min(most, share)));
        this.body().style.setProperty("--below", `${this.share}%`);
        this.node.setAttribute("aria-valuenow", String(this.share));
        remember("share below", String(this.share));
    }
}
