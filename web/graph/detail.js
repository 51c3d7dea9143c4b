// The panel of a node: where it is, what went in and came out on both sides, and where it was called.

import { remember, remembered } from "../common/choices.js";
import { copy_button } from "../common/clipboard.js";
import { append, breakable, element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { index_text } from "./bands.js";
import { measure_pair, statistics } from "./by_hand.js";
import { communication_part } from "./communication.js";
import { described_keys } from "./facts.js";
import { label_parts } from "./names.js";
import { tensor_name, values_part } from "./values.js";

const facts_first = ["dtype", "shape", ...statistics, "md5", "requires_grad", "data_name"];
const hidden_first = ["requires_grad", "data_name"], most_crumbs = 24;

export class Detail {
    // tips: { metric: explanation }; on_go(side, node); on_rank(side, rank, name) for a call of another rank;
    // notes: what the reader wrote; on_note() when that changed; on_match(side, node) and on_unmatch(side, node, with all below) to change the partner by hand
    constructor({ bands, tips, notes, on_note, on_go, on_rank, on_match, on_unmatch }) {
        Object.assign(this, { bands, tips, notes, on_note, on_go, on_rank, on_match, on_unmatch });
        this.values = { open: false, which: 0, tensor: "" };
        this.hidden = new Set((remembered("hidden columns") ?? hidden_first.join()).split(","));
        this.node = element("section", { class: "detail", "aria-live": "polite", tabindex: "-1" });
        this.clear();
    }

    clear() {
        this.turn = null;
        this.node.classList.add("empty");
        replace(this.node, element("p", { class: "quiet detail-empty" }, words("select a node")));
    }

    async show(graph, key, node) {
        this.node.classList.remove("empty");
        try {
            await this.read_and_draw(graph, key, node);
        } catch (error) {
            replace(this.node, element("p", { class: "detail-fault", role: "alert" }, words("node broken", { name: graph[key].name(node), reason: error.message })));
        }
    }

    async read_and_draw(graph, key, node) {
        const side = graph[key], other = key === "npu" ? graph.bench : graph.npu, turn = this.turn = {};
        const partner = other ? side.partner[node] : -1;
        const [rows, partner_rows, frames, merges] = await Promise.all([side.rows(node), partner >= 0 ? other.rows(partner) : null, side.frames(node), side.merges(node)]);
        if (this.turn !== turn) return;
        const npu_rows = key === "npu" ? rows : partner_rows, bench_rows = key === "npu" ? partner_rows : rows;
        this.measure_by_hand(graph, key === "npu" ? node : partner, npu_rows, bench_rows);
        const draw = () => replace(this.node, this.head(side, key, node, other, partner),
            side.communications.has(node) ? communication_part(side.communications.get(node), (rank, name) => this.on_rank(key, rank, name)) : null,
            this.tables(npu_rows, bench_rows, Boolean(other), draw), this.merged(merges),
            values_part(graph, key, node, this.values, (call) => this.on_go(key, call)), this.stack(frames));
        draw();
        this.node.scrollTop = 0;
    }

    // The metrics that the program wrote are against the partner that it found.
    measure_by_hand(graph, node, npu_rows, bench_rows) {
        if (!graph.found || !npu_rows || graph.npu.partner[node] === graph.found.npu[node]) return;
        for (const row of [npu_rows.inputs, npu_rows.outputs].flatMap(Object.values))
            for (const key of Object.keys(row)) if (!described_keys.includes(key)) delete row[key];
        if (bench_rows) measure_pair(npu_rows, bench_rows, this.bands.task);
    }

    // ---- head ---------------------------------------------------------------------------------

    // The way from the root to a node; of a very deep one its two ends.
    crumbs(side, key, node) {
        const way = side.ancestors(node), shown = way.length > most_crumbs ? [...way.slice(0, 3), -1, ...way.slice(3 - most_crumbs)] : way;
        const crumbs = shown.map((at) => {
            if (at < 0) return element("span", { class: "quiet" }, "…");
            return element("button", { class: "crumb", type: "button", title: side.name(at), onclick: () => this.on_go(key, at) }, label_parts(side, at).title);
        });
        return element("nav", { class: "crumbs", "aria-label": words("crumbs") }, crumbs.flatMap((crumb, i) => i ? [element("span", { class: "quiet" }, "›"), crumb] : [crumb]));
    }

    head(side, key, node, other, partner) {
        const value = side.index[node];
        const chip = Number.isNaN(value) ? null : element("span", { class: "chip index", title: words("index") }, `${words("index")} ${index_text(value)}`);
        const colour = this.bands.colour(value);
        if (chip && colour) chip.style.setProperty("background-color", colour);
        else if (chip) chip.classList.add("plain-index");
        return element("div", { class: "detail-head" },
            this.crumbs(side, key, node),
            element("h2", { class: "mono" }, breakable(side.name(node)), copy_button(side.name(node))),
            element("p", { class: "facts" }, other ? element("span", { class: "fact" }, words(key)) : null, chip,
                side.overflow[node] ? element("span", { class: "fact overflow-fact" }, `${"▲".repeat(side.overflow[node])} ${words(`overflow.${side.overflow[node]}`)}`) : null,
                side.repair[node] ? element("span", { class: "fact" }, words(`repair.${side.repair[node]}`)) : null,
                side.has_children(node) ? element("span", { class: "fact" }, words("children", { count: side.end[node] - node - 1 })) : null,
                side.has_children(node) && side.suspicious[node] ? element("span", { class: "count-bad" }, words("suspicious nodes", { count: side.suspicious[node] })) : null,
                side.hand.has(node) ? element("span", { class: "fact" }, words("by hand")) : null,
                other ? this.partner_link(key, side, node, other, partner) : null, this.note_button(key, side.name(node))),
            this.note_box(key, side.name(node)));
    }

    note_button(key, name) {
        return this.notes.get(key, name) ? null : element("button", { class: "small", type: "button", id: "add-note", onclick: (event) => {
            event.target.remove();
            const box = this.node.querySelector(".note-box");
            box.hidden = false;
            box.focus();
        } }, words("add note"));
    }

    note_box(key, name) {
        const text = this.notes.get(key, name);
        return element("textarea", { class: "note-box", rows: 2, hidden: !text, placeholder: words("note hint"), "aria-label": words("note hint"), onchange: (event) => {
            this.notes.set(key, name, event.target.value);
            this.on_note();
        } }, text);
    }

    partner_link(key, side, node, other, partner) {
        const button = (id, text, run) => node ? element("button", { class: "small", type: "button", id, onclick: run }, words(text)) : null;
        if (partner < 0) return [element("span", { class: "fact" }, words("no partner")), button("match", "by hand.match", () => this.on_match(key, node))];
        const [npu, at] = key === "npu" ? [side, node] : [other, partner];
        return [element("button", { class: "link", type: "button", onclick: () => this.on_go(key === "npu" ? "bench" : "npu", partner) }, `${words("partner")} ${other.name(partner)}`),
            button("unmatch", "by hand.unmatch", () => this.on_unmatch(key, node, false)),
            npu.has_children(at) ? button("unmatch-below", "by hand.unmatch below", () => this.on_unmatch(key, node, true)) : null];
    }

    // ---- rows ---------------------------------------------------------------------------------

    // Inputs and outputs, with the same choice of columns. draw() after others were chosen.
    tables(npu, bench, compared, draw) {
        const titles = ["inputs", "outputs"], rows = [npu, bench].flatMap((side) => titles.flatMap((title) => Object.values(side?.[title] ?? {})));
        const metrics = new Set(rows.flatMap((row) => Object.keys(row)).filter((key) => !described_keys.includes(key)));
        const all = [...facts_first, ...metrics].filter((key) => rows.some((row) => key in row));
        return titles.map((title, i) => this.table(title, npu?.[title], bench?.[title], all.filter((key) => !this.hidden.has(key)), compared, i || !all.length ? null : this.column_menu(all, draw)));
    }

    // Rows of both sides by position; what only one side has stands alone.
    table(title, npu, bench, shown, compared, menu) {
        const left = Object.entries(npu ?? {}), right = Object.entries(bench ?? {}), count = Math.max(left.length, right.length);
        const part = element("div", { class: "detail-part" }, element("h3", {}, words(title), menu));
        if (!count) return append(part, [element("p", { class: "quiet" }, words("nothing recorded"))]);
        const pairs = Array.from({ length: count }, (_, i) => [left[i], right[i]]);
        const used = shown.filter((key) => pairs.some((pair) => pair.some((row) => row && key in row[1])));
        const columns = used.filter((key) => described_keys.includes(key)), metrics = used.filter((key) => !described_keys.includes(key));
        return append(part, [element("div", { class: "scroll-box" }, element("table", { class: "plain rows" },
            element("thead", {}, element("tr", {}, element("th", {}, words("name")), compared ? element("th", {}) : null,
                columns.map((key) => element("th", { class: statistics.includes(key) ? "numeric" : "" }, key)),
                metrics.map((key) => element("th", { class: "numeric metric", title: this.tips[key] ?? null }, key)))),
            element("tbody", {}, pairs.map((pair) => this.pair(pair, columns, metrics, compared)))))]);
    }

    column_menu(all, draw) {
        const box = (key, at) => element("label", {}, element("input", { type: "checkbox", checked: !this.hidden.has(key), onchange: (event) => {
            if (event.target.checked) this.hidden.delete(key);
            else this.hidden.add(key);
            remember("hidden columns", [...this.hidden].join(","));
            draw();
            const menu = this.node.querySelector(".columns-menu");
            menu.open = true;
            menu.querySelectorAll("input")[at].focus();
        } }), key);
        return element("details", { class: "menu columns-menu" }, element("summary", { class: "small" }, words("columns")), element("div", { class: "menu-box" }, all.map(box)));
    }

    pair([npu, bench], columns, metrics, compared) {
        const name = (npu ?? bench)[0], sides = [["npu", npu?.[1]], ["bench", bench?.[1]]].filter(([key]) => compared || key === "npu");
        return sides.map(([key, row], i) => element("tr", { class: i ? "lower" : sides.length > 1 ? "upper" : "" },
            i ? null : element("td", { class: "mono", rowspan: sides.length, title: name }, tensor_name(name)),
            compared ? element("td", { class: "quiet" }, words(key)) : null,
            columns.map((column) => this.cell(column, row, key === "bench" ? npu?.[1] : bench?.[1])),
            i ? null : metrics.map((metric) => element("td", { class: "numeric mono metric", rowspan: sides.length }, row?.[metric] ?? ""))));
    }

    cell(column, row, other) {
        const text = row ? row[column] ?? (column === "Max" ? row.value : undefined) ?? "" : "–";
        const differs = row && other && other[column] !== undefined && other[column] !== row[column];
        return element("td", { class: `mono${statistics.includes(column) ? " numeric" : ""}${differs ? " differs" : ""}` }, text);
    }

    merged(remarks) {
        return remarks.length ? element("div", { class: "detail-part" }, element("h3", {}, words("merged")),
            element("ul", { class: "frames mono merges" }, remarks.map((remark) => element("li", {}, String(remark))))) : null;
    }

    stack(frames) {
        const part = element("div", { class: "detail-part" }, element("h3", {}, words("stack"), frames.length ? copy_button(frames.join("\n")) : null));
        if (!frames.length) part.append(element("p", { class: "quiet" }, words("no stack")));
        else part.append(element("ol", { class: "frames mono" }, frames.map((frame) => element("li", {}, frame.replace(/\s*\n\s*/g, "  ")))));
        return part;
    }
}
