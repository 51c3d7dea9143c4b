// Where the structures part: nodes that one side lacks, nodes that stand elsewhere on the other side, and nodes of
// equal names that do not match.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { short_list } from "./short_list.js";

// Unmatched nodes of a kind, without what lies below them: it is missing anyway.
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

function unmatched_names(side) {
    const names = new Map();
    for (let i = 1; i < side.count; i++) if (side.partner[i] < 0) names.set(side.name(i), i);
    return names;
}

export function structure_differences({ npu, bench }) {
    const in_npu = unmatched_names(npu), in_bench = unmatched_names(bench);
    const namesake = (i) => in_bench.get(npu.name(i)) ?? -1;
    const moved = (i) => namesake(i) >= 0 && npu.name(npu.parent[i]) !== bench.name(bench.parent[namesake(i)]);
    return {
        "only npu": tops(npu, (i) => namesake(i) < 0),
        "only bench": tops(bench, (i) => !in_npu.has(bench.name(i))),
        "moved": tops(npu, moved),
        "unmatched pairs": tops(npu, (i) => namesake(i) >= 0 && !moved(i)),
    };
}

export function difference_view(graph, on_go) {
    const lists = structure_differences(graph);
    const parent_of_namesake = (node) => {
        const { bench } = graph, there = bench.find_name(graph.npu.name(node));
        return there > 0 ? element("span", { class: "quiet" }, ` ${words("moved to", { name: bench.name(bench.parent[there]) })}`) : null;
    };
    const panel = ([key, nodes]) => {
        if (!nodes.length) return null;
        const side = graph[key === "only bench" ? "bench" : "npu"];
        const item = (node) => element("li", {}, element("button", { class: "link mono", type: "button", onclick: () => on_go(key === "only bench" ? "bench" : "npu", node) }, side.name(node)),
            side.has_children(node) ? element("span", { class: "quiet" }, ` ${words("children", { count: side.end[node] - node - 1 })}`) : null,
            key === "moved" ? parent_of_namesake(node) : null);
        return element("section", { class: "panel" }, element("h2", {}, words(key), element("span", { class: "pill quiet" }, nodes.length)),
            element("p", { class: "quiet" }, words(`${key}.hint`)), short_list(nodes, item));
    };
    const panels = Object.entries(lists).map(panel).filter(Boolean);
    return element("div", { class: "difference-view" }, panels.length ? panels : element("section", { class: "panel" }, element("h2", {}, words("tab.differences")), element("p", { class: "quiet" }, words("same structure"))));
}
