// Ranks and steps at a glance: a cell for each graph, with its worst index and its execution as a strip.

import { element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { index_text } from "./bands.js";

const strip_width = 120, strip_height = 14;

// graphs, by_hand: what is shown; on_open(number) when a cell is chosen
export function matrix_view(graphs, by_hand, on_open) {
    const steps = graphs.distinct("step"), ranks = graphs.distinct("rank"), boxes = new Map();
    const cell = (step, rank) => {
        const number = graphs.find(step, rank);
        if (number < 0) return element("td", { class: "quiet" }, "–");
        boxes.set(number, element("button", { class: "matrix-cell", type: "button", "aria-label": `${words("step")} ${step} ${words("rank")} ${rank}`, onclick: () => on_open(number) }, element("span", { class: "quiet" }, "…")));
        return element("td", {}, boxes.get(number));
    };
    const view = element("div", { class: "matrix-view" }, element("h2", {}, words("tab.ranks")), element("p", { class: "quiet" }, words("matrix hint")),
        element("div", { class: "scroll-box" }, element("table", { class: "matrix" },
            element("thead", {}, element("tr", {}, element("th", {}), steps.map((step) => element("th", { scope: "col" }, `${words("step")} ${step}`)))),
            element("tbody", {}, ranks.map((rank) => element("tr", {}, element("th", { scope: "row" }, `${words("rank")} ${rank}`), steps.map((step) => cell(step, rank))))))));
    fill_all(view, boxes, graphs, by_hand);
    return view;
}

// One graph after the other, so that few of them are in memory, until the view is left.
async function fill_all(view, boxes, graphs, by_hand) {
    for (const [number, box] of boxes) {
        const summary = await graphs.summary(number, by_hand);
        fill(box, summary, graphs);
        await new Promise((resume) => setTimeout(resume));
        if (!view.isConnected) return;
    }
}

function fill(box, { count, worst, suspicious, overflow, strip }, graphs) {
    const overflows = overflow ? element("span", { class: "overflow-count" }, `▲ ${words("overflow nodes", { count: overflow })}`) : null;
    if (Number.isNaN(worst)) return replace(box, element("b", {}, words("nodes", { count })), overflows);
    const colour = graphs.bands.colour(worst), chip = element("b", { class: "worst" }, index_text(worst));
    if (colour) {
        chip.style.setProperty("background-color", colour);
        chip.classList.add("filled");
    }
    replace(box, element("span", { class: "matrix-line" }, chip, element("span", {}, words(suspicious ? "suspicious nodes" : "no suspicious", { count: suspicious }))), overflows, thumbnail(strip, graphs.bands));
}

// The strip of the execution order, small.
function thumbnail(strip, bands) {
    const canvas = element("canvas", { class: "matrix-strip", width: strip_width, height: strip_height, "aria-hidden": "true" }), pen = canvas.getContext("2d");
    strip.forEach((value, x) => {
        const colour = bands.colour(value);
        if (!colour) return;
        const high = 3 + (strip_height - 3) * bands.badness(value);
        pen.fillStyle = colour;
        pen.fillRect(x * strip_width / strip.length, strip_height - high, Math.max(1, strip_width / strip.length), high);
    });
    return canvas;
}
