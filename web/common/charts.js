// Charts by Chart.js, which the page carries when the program was built with it. Colours follow the
// theme; charts are drawn anew when it changes.

import { element } from "./elements.js";
import { words } from "./language.js";
import { theme_color } from "./theme.js";

const alive = new Set();

export function has_charts() {
    return typeof globalThis.Chart === "function";
}

// A chart in a box of its own. `make()` gives the configuration, with colours asked from theme_color.
export function chart_box(make, { height, label }) {
    const box = element("div", { class: "chart", style: { height: `${height}px` } });
    if (!has_charts()) return element("p", { class: "quiet" }, words("no charts"));
    const canvas = element("canvas", { role: "img", "aria-label": label });
    box.append(canvas);
    const entry = { canvas, make, chart: null };
    alive.add(entry);
    requestAnimationFrame(() => draw_chart(entry));
    return box;
}

function draw_chart(entry) {
    if (entry.chart) entry.chart.destroy();
    entry.chart = null;
    if (!entry.canvas.isConnected) {
        alive.delete(entry);
        return;
    }
    const defaults = globalThis.Chart.defaults;
    defaults.color = theme_color("quiet");
    defaults.borderColor = theme_color("line");
    defaults.font.family = getComputedStyle(document.body).fontFamily;
    defaults.font.size = 11;
    defaults.animation = false;
    defaults.maintainAspectRatio = false;
    entry.chart = new globalThis.Chart(entry.canvas, entry.make());
}

export function charts_redraw() {
    for (const entry of [...alive]) draw_chart(entry);
}
