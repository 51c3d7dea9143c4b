// The panel of a node: where it is, what went in and came out on both sides, and where it was called.

import { copy_button } from "../common/clipboard.js";
import { breakable, element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { index_text } from "./bands.js";
import { measure_pair, statistics } from "./by_hand.js";
import { communication_part } from "./communication.js";
import { name_parts } from "./names.js";
import { values_part } from "./values.js";

// What has columns of its own; other keys of a row are metrics.
const described = ["type", "dtype", "shape", "Max", "Min", "Mean", "Norm", "md5", "requires_grad", "data_name", "value"];

export class Detail {
    // on_go(side, node); on_rank(side, rank, name) for a call of another rank; on_match(side, node)
    // and on_unmatch(side, node) to change the partner by hand
    constructor({ bands, on_go, on_rank, on_match, on_unmatch }) {
        Object.assign(this, { bands, on_go, on_rank, on_match, on_unmatch });
        this.values = { open: false, which: 0 };
        this.node = element("section", { class: "detail", "aria-live": "polite" });
        this.clear();
    }

    clear() {
        this.turn = null;
        replace(this.node, element("p", { class: "quiet detail-empty" }, words("select a node")));
    }

    async show(graph, key, node) {
        const side = graph[key], other = key === "npu" ? graph.bench : graph.npu, turn = this.turn = {};
        const partner = other ? side.partner[node] : -1;
        const [rows, partner_rows, frames] = await Promise.all([side.rows(node), partner >= 0 ? other.rows(partner) : null, side.frames(node)]);
        if (this.turn !== turn) return;
        const npu_rows = key === "npu" ? rows : partner_rows, bench_rows = key === "npu" ? partner_rows : rows;
        this.measure_by_hand(graph, key === "npu" ? node : partner, npu_rows, bench_rows);
        replace(this.node, this.head(side, key, node, other, partner),
            side.communications.has(node) ? communication_part(side.communications.get(node), (rank, name) => this.on_rank(key, rank, name)) : null,
            this.table("inputs", npu_rows?.inputs, bench_rows?.inputs, Boolean(other)),
            this.table("outputs", npu_rows?.outputs, bench_rows?.outputs, Boolean(other)), values_part(graph, key, node, this.values, (call) => this.on_go(key, call)), this.stack(frames));
        this.node.scrollTop = 0;
    }

    // The metrics that the program wrote are against the partner that it found.
    measure_by_hand(graph, node, npu_rows, bench_rows) {
        if (!graph.found || !npu_rows || graph.npu.partner[node] === graph.found.npu[node]) return;
        for (const row of [npu_rows.inputs, npu_rows.outputs].flatMap(Object.values))
            for (const key of Object.keys(row)) if (!described.includes(key)) delete row[key];
        if (bench_rows) measure_pair(npu_rows, bench_rows, this.bands.task);
    }

    head(side, key, node, other, partner) {
        const crumbs = side.ancestors(node).map((at) => {
            const parts = name_parts(side.name(at)), text = parts.kind || parts.path.at(-1) || side.name(at);
            return element("button", { class: "crumb", type: "button", title: side.name(at), onclick: () => this.on_go(key, at) }, text);
        });
        const value = side.index[node];
        const chip = Number.isNaN(value) ? null : element("span", { class: "chip index", title: words("index") }, `${words("index")} ${index_text(value)}`);
        const colour = this.bands.colour(value);
        if (chip && colour) chip.style.backgroundColor = colour;
        else if (chip) chip.classList.add("plain-index");
        return element("div", { class: "detail-head" },
            element("nav", { class: "crumbs", "aria-label": words("name") }, crumbs.flatMap((crumb, i) => i ? [element("span", { class: "quiet" }, "›"), crumb] : [crumb])),
            element("h2", { class: "mono" }, breakable(side.name(node)), copy_button(side.name(node))),
            element("p", { class: "facts" }, chip,
                side.overflow[node] ? element("span", { class: "fact" }, words(`overflow.${side.overflow[node]}`)) : null,
                side.repair[node] ? element("span", { class: "fact" }, words(`repair.${side.repair[node]}`)) : null,
                side.has_children(node) ? element("span", { class: "fact" }, words("children", { count: side.end[node] - node - 1 })) : null,
                other ? this.partner_link(key, node, other, partner) : null));
    }

    partner_link(key, node, other, partner) {
        const change = (action, run) => node ? element("button", { class: "small", type: "button", id: action, onclick: () => run(key, node) }, words(`by hand.${action}`)) : null;
        if (partner < 0) return [element("span", { class: "fact" }, words("no partner")), change("match", this.on_match)];
        return [element("button", { class: "link", type: "button", onclick: () => this.on_go(key === "npu" ? "bench" : "npu", partner) },
            `${words("partner")} ${other.name(partner)}`), change("unmatch", this.on_unmatch)];
    }

    // Rows of both sides by position; what only one side has stands alone.
    table(title, npu, bench, compared) {
        const left = Object.entries(npu ?? {}), right = Object.entries(bench ?? {}), count = Math.max(left.length, right.length);
        if (!count) return element("div", { class: "detail-part" }, element("h3", {}, words(title)), element("p", { class: "quiet" }, words("nothing recorded")));
        const pairs = Array.from({ length: count }, (_, i) => [left[i], right[i]]);
        const metrics = [...new Set(pairs.flatMap(([one]) => Object.keys(one?.[1] ?? {})).filter((key) => !described.includes(key)))];
        const shows = (key) => pairs.some((pair) => pair.some((row) => row && key in row[1]));
        const columns = ["dtype", "shape", ...statistics, "md5"].filter(shows);
        return element("div", { class: "detail-part" }, element("h3", {}, words(title)),
            element("div", { class: "scroll-box" }, element("table", { class: "plain rows" },
                element("thead", {}, element("tr", {}, element("th", {}, words("name")), compared ? element("th", {}) : null,
                    columns.map((key) => element("th", { class: statistics.includes(key) ? "numeric" : "" }, key)),
                    metrics.map((key) => element("th", { class: "numeric metric" }, key)))),
                element("tbody", {}, pairs.map((pair) => this.pair(pair, columns, metrics, compared))))));
    }

    pair([npu, bench], columns, metrics, compared) {
        const name = (npu ?? bench)[0], sides = [["npu", npu?.[1]], ["bench", bench?.[1]]].filter(([key]) => compared || key === "npu");
        const short = name.split(/\.(?=(?:input|output|parameters|kwargs)\b)/).slice(1).join(".") || name;
        return sides.map(([key, row], i) => element("tr", { class: i ? "lower" : sides.length > 1 ? "upper" : "" },
            i ? null : element("td", { class: "mono", rowspan: sides.length, title: name }, short),
            compared ? element("td", { class: "quiet" }, words(key)) : null,
            columns.map((column) => this.cell(column, row, key === "bench" ? npu?.[1] : bench?.[1])),
            i ? null : metrics.map((metric) => element("td", { class: "numeric mono metric", rowspan: sides.length }, row?.[metric] ?? ""))));
    }

    cell(column, row, other) {
        const text = row ? row[column] ?? (column === "Max" ? row.value : undefined) ?? "" : "–";
        const differs = row && other && other[column] !== undefined && other[column] !== row[column];
        return element("td", { class: `mono${statistics.includes(column) ? " numeric" : ""}${differs ? " differs" : ""}` }, text);
    }

    stack(frames) {
        const part = element("div", { class: "detail-part" }, element("h3", {}, words("stack"), frames.length ? copy_button(frames.join("\n")) : null));
        if (!frames.length) part.append(element("p", { class: "quiet" }, words("no stack")));
        else part.append(element("ol", { class: "frames mono" }, frames.map((frame) => element("li", {}, frame.replace(/\s*\n\s*/g, "  "))))); 
        return part;
    }
}
