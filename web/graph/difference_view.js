// Where the structures part: nodes that one side lacks, and nodes of equal names that do not match.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";

const most_shown = 500;

// Unmatched nodes whose parents are matched: below them everything is missing anyway.
function tops(side, keep) {
    const found = [];
    for (let i = 1; i < side.count;) {
        if (side.partner[i] < 0 && keep(i)) {
            found.push(i);
            i = side.end[i];
        } else {
            i++;
        }
    }
    return found;
}

export function structure_differences({ npu, bench }) {
    const names = (side) => {
        const set = new Set();
        for (let i = 0; i < side.count; i++) set.add(side.name(i));
        return set;
    };
    const in_npu = names(npu), in_bench = names(bench);
    return {
        "only npu": tops(npu, (i) => !in_bench.has(npu.name(i))),
        "only bench": tops(bench, (i) => !in_npu.has(bench.name(i))),
        "unmatched pairs": tops(npu, (i) => in_bench.has(npu.name(i))),
    };
}

export function difference_view(graph, on_go) {
    const lists = structure_differences(graph);
    const panel = ([key, nodes]) => {
        if (!nodes.length) return null;
        const side = key === "only bench" ? "bench" : "npu";
        return element("section", { class: "panel" }, element("h2", {}, words(key), element("span", { class: "pill quiet" }, nodes.length)),
            element("ul", { class: "difference-list" }, nodes.slice(0, most_shown).map((node) => element("li", {},
                element("button", { class: "link mono", type: "button", onclick: () => on_go(side, node) }, graph[side].name(node)),
                graph[side].has_children(node) ? element("span", { class: "quiet" }, ` ${words("children", { count: graph[side].end[node] - node - 1 })}`) : null))));
    };
    const panels = Object.entries(lists).map(panel).filter(Boolean);
    return element("div", { class: "difference-view" }, panels.length ? panels : element("p", { class: "page-message" }, words("same structure")));
}
