// Ranks and steps at a glance: a cell for each graph, with its worst index.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { index_text } from "./bands.js";

export function matrix_view(graphs, on_open) {
    const steps = graphs.distinct("step"), ranks = graphs.distinct("rank");
    const cell = (step, rank) => {
        const number = graphs.find(step, rank);
        if (number < 0) return element("td", { class: "quiet" }, "–");
        const box = element("button", { class: "matrix-cell", type: "button", onclick: () => on_open(number) }, element("span", { class: "quiet" }, "…"));
        graphs.open_graph(number).then(({ npu }) => fill(box, npu, graphs));
        return element("td", {}, box);
    };
    return element("div", { class: "matrix-view" }, element("table", { class: "matrix" },
        element("thead", {}, element("tr", {}, element("th", {}), steps.map((step) => element("th", {}, `${words("step")} ${step}`)))),
        element("tbody", {}, ranks.map((rank) => element("tr", {}, element("th", {}, `${words("rank")} ${rank}`), steps.map((step) => cell(step, rank)))))));
}

function fill(box, side, graphs) {
    const worst = side.worst[0], bad = side.suspicious[0];
    box.replaceChildren();
    if (!Number.isNaN(worst)) {
        const colour = graphs.bands.colour(worst);
        if (colour) {
            box.style.backgroundColor = colour;
            box.classList.add("filled");
        }
        box.append(element("b", {}, index_text(worst)), element("span", {}, words(bad ? "suspicious nodes" : "no suspicious", { count: bad })));
    } else {
        box.append(element("b", {}, words("nodes", { count: side.count })));
    }
}
