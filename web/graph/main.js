// The page: the tree of a model, or of two beside each other, with a strip of the execution order above and
// the selected node below.

import { element, replace } from "../common/elements.js";
import { keyboard_start, keyboard_table } from "../common/keyboard.js";
import { language_start, language_toggle, on_language, words } from "../common/language.js";
import { on_theme, theme_start, theme_toggle } from "../common/theme.js";
import { ByHand } from "./by_hand.js";
import { by_hand_panel } from "./by_hand_view.js";
import { Detail } from "./detail.js";
import { difference_view } from "./difference_view.js";
import { find_kinds, find_nodes } from "./find.js";
import { matrix_view } from "./matrix_view.js";
import { Graphs } from "./model.js";
import { Outline } from "./outline.js";
import { route_of_text, route_text } from "./route.js";
import { Strip } from "./strip.js";
import { graph_words } from "./words.js";

class GraphPage {
    constructor(graphs, root) {
        this.graphs = graphs;
        this.view = "graph";
        this.number = 0;
        this.follow = true;
        this.find = { text: "", kind: graphs.compared ? "suspicious" : "any" };
        this.head = element("header", { class: "page-head" });
        this.bar = element("div", { class: "bar" });
        this.body = element("main", { class: "page-body" });
        this.help = element("dialog", { class: "help" });
        this.strip = new Strip((node) => this.go("npu", node));
        this.detail = new Detail({ bands: graphs.bands, on_go: (key, node) => this.go(key, node),
            on_rank: (key, rank, name) => this.go_to_rank(key, rank, name),
            on_match: (key, node) => this.start_match(key, node), on_unmatch: (key, node) => this.unmatch(key, node) });
        this.by_hand = new ByHand(graphs.bands);
        this.notice = element("div", { class: "notice", role: "status", hidden: true });
        replace(root, this.head, this.bar, this.notice, this.body, this.help);
    }

    // ---- graphs -------------------------------------------------------------------------------

    async open(number) {
        this.number = number;
        this.graph = await this.graphs.open_graph(number);
        await this.by_hand.apply(this.graph);
        this.end_match();
        const outline = (key) => new Outline(this.graph[key], { bands: this.graphs.bands, compared: this.graphs.compared,
            key: this.graphs.compared ? key : "model", on_select: (node) => this.selected(key, node) });
        this.outlines = { npu: outline("npu"), bench: this.graph.bench ? outline("bench") : null };
        this.selection = null;
        this.search();
        this.detail.clear();
        this.draw();
        this.strip.show(this.graph.npu, this.graphs.bands, this.graphs.compared);
        this.unfold_start();
    }

    // A tree of one branch is no view: unfold until there is something to choose from.
    unfold_start() {
        const { npu } = this.graph, { tree } = this.outlines.npu;
        for (let at = 0; npu.children(at).length === 1 && npu.has_children(at + 1); at++) tree.unfolded[at + 1] = 1;
        tree.update();
        this.outlines.npu.refresh();
    }

    async choose_graph(step, rank) {
        const number = this.graphs.find(step, rank), wanted = this.selection;
        if (number < 0) return;
        const name = wanted ? this.graph[wanted.key].name(wanted.node) : "";
        await this.open(number);
        if (name) this.go_by_name(wanted.key, name);
    }

    // ---- selection ----------------------------------------------------------------------------

    selected(key, node) {
        if (this.matching && this.matching.key !== key) return this.match(key, node);
        this.selection = { key, node };
        const other_key = key === "npu" ? "bench" : "npu", other = this.outlines[other_key];
        const partner = other ? this.graph[key].partner[node] : -1;
        if (other && partner >= 0 && this.follow) other.show_node(partner);
        else if (other) other.clear();
        this.strip.select(key === "npu" ? node : partner);
        this.detail.show(this.graph, key, node);
        this.draw_found();
        this.write_address();
    }

    go(key, node) {
        if (this.view !== "graph") this.show("graph");
        this.outlines[key].show_node(node);
        this.selected(key, node);
    }

    go_by_name(key, name) {
        const side = this.graph[key];
        if (!side) return;
        for (let i = 0; i < side.count; i++) if (side.name(i) === name) return this.go(key, i);
    }

    // A call of another rank of the same step.
    async go_to_rank(key, rank, name) {
        const number = this.graphs.find(this.graphs.graphs[this.number].step, rank);
        if (number < 0) return;
        await this.open(number);
        this.go_by_name(key, name);
    }

    // ---- matching by hand ---------------------------------------------------------------------

    // The node is to be matched; the next one that is chosen on the other side is its partner.
    start_match(key, node) {
        this.matching = { key, node };
        this.show_notice(words("by hand.choose", { name: this.graph[key].name(node), side: words(key === "npu" ? "bench" : "npu") }));
    }

    end_match() {
        this.matching = null;
        this.notice.hidden = true;
    }

    show_notice(text) {
        replace(this.notice, element("span", {}, text), element("button", { class: "small", type: "button", onclick: () => this.end_match() }, words("close")));
        this.notice.hidden = false;
    }

    async match(key, node) {
        const first = this.matching, npu = key === "npu" ? node : first.node, bench = key === "npu" ? first.node : node;
        const fault = await this.by_hand.fault(this.graph, npu, bench);
        if (fault) return this.show_notice(words(fault));
        this.by_hand.match(this.graph, npu, bench);
        this.end_match();
        this.selection = { key: "npu", node: npu };
        await this.matches_changed();
    }

    async unmatch(key, node) {
        this.by_hand.unmatch(this.graph, key === "npu" ? node : this.graph.bench.partner[node]);
        await this.matches_changed();
    }

    async matches_changed() {
        await this.by_hand.apply(this.graph);
        this.search();
        this.redraw();
        if (this.selection) this.selected(this.selection.key, this.selection.node);
    }

    // ---- finding ------------------------------------------------------------------------------

    search() {
        const { text, kind } = this.find, side = this.graph.npu;
        this.found = text || kind !== "any" ? find_nodes(side, text, kind, this.graphs.bands) : [];
        this.draw_found();
    }

    found_at() {
        return this.found && this.selection?.key === "npu" ? this.found.indexOf(this.selection.node) : -1;
    }

    step_found(by) {
        if (!this.found?.length) return;
        const at = this.found_at(), { npu } = this.graph;
        if (at >= 0) return this.go("npu", this.found[(at + by + this.found.length) % this.found.length]);
        const place = this.selection?.key === "npu" ? npu.place[this.selection.node] : -1;
        const behind = this.found.findIndex((node) => npu.place[node] > place);
        const next = by > 0 ? (behind < 0 ? 0 : behind) : ((behind < 0 ? this.found.length : behind) - 1 + this.found.length) % this.found.length;
        this.go("npu", this.found[next]);
    }

    first_suspicious() {
        const found = find_nodes(this.graph.npu, "", "suspicious", this.graphs.bands);
        if (found.length) this.go("npu", found[0]);
    }

    draw_found() {
        if (!this.found_note) return;
        const at = this.found_at();
        this.search_box.classList.toggle("bad", this.found === null);
        replace(this.found_note, this.found?.length ? words("matches", { at: at < 0 ? "–" : at + 1, count: this.found.length })
            : this.find.text || this.find.kind !== "any" ? words("no matches") : "");
    }

    // ---- drawing ------------------------------------------------------------------------------

    draw() {
        this.draw_head();
        this.draw_bar();
        this.draw_body();
    }

    draw_head() {
        const { graphs } = this, meta = graphs.graphs[this.number];
        document.title = words("title");
        const tool = (key, text, run) => element("button", { class: "tool", type: "button", title: words(key), "aria-label": words(key), onclick: run }, text);
        const views = ["graph", graphs.graphs.length > 1 ? "ranks" : null, graphs.compared ? "differences" : null].filter(Boolean);
        const chooser = (key) => {
            const values = graphs.distinct(key);
            return values.length < 2 ? null : element("label", { class: "choice" }, words(key), element("select", { id: `choose-${key}`,
                onchange: (event) => this.choose_graph(key === "step" ? Number(event.target.value) : meta.step, key === "rank" ? Number(event.target.value) : meta.rank) },
            values.map((value) => element("option", { value, selected: value === meta[key] }, value))));
        };
        replace(this.head, element("div", { class: "brand" }, element("span", { class: "logo", "aria-hidden": "true" }, "±"), element("h1", {}, words("title")), chooser("step"), chooser("rank")),
            views.length > 1 ? element("nav", { class: "tabs", role: "tablist" }, views.map((view) => element("button", { role: "tab", type: "button", id: `tab-${view}`,
                "aria-selected": String(view === this.view), onclick: () => this.show(view) }, words(`tab.${view}`)))) : null,
            element("div", { class: "tools" }, tool("switch language", words("switch language"), language_toggle), tool("switch theme", "◐", theme_toggle),
                tool("keys", "?", () => this.show_help())));
    }

    draw_bar() {
        const { graphs } = this, button = (key, run, id) => element("button", { class: "small", type: "button", id, onclick: run }, words(key));
        const kinds = find_kinds.filter((kind) => graphs.compared || !["suspicious", "unmatched"].includes(kind));
        this.search_box = element("input", { type: "search", id: "search", placeholder: words("search"), "aria-label": words("search"), value: this.find.text,
            oninput: (event) => { this.find.text = event.target.value; this.search(); }, onkeydown: (event) => { if (event.key === "Enter") this.step_found(event.shiftKey ? -1 : 1); } });
        this.found_note = element("span", { class: "quiet found", role: "status" });
        const pages = graphs.graphs[this.number].micro_steps;
        replace(this.bar, this.search_box,
            element("select", { id: "find-kind", "aria-label": words("show"), onchange: (event) => { this.find.kind = event.target.value; this.search(); } },
                kinds.map((kind) => element("option", { value: kind, selected: kind === this.find.kind }, words(`find.${kind}`)))),
            element("button", { class: "small", type: "button", title: words("previous"), "aria-label": words("previous"), onclick: () => this.step_found(-1) }, "↑"),
            element("button", { class: "small", type: "button", id: "find-next", title: words("next"), "aria-label": words("next"), onclick: () => this.step_found(1) }, "↓"),
            this.found_note, element("span", { class: "spring" }),
            pages > 1 ? element("label", { class: "choice" }, words("page"), element("select", { id: "choose-page", onchange: (event) => this.choose_page(Number(event.target.value)) },
                [-1, ...Array(pages).keys()].map((page) => element("option", { value: page }, page < 0 ? words("all") : page)))) : null,
            graphs.compared ? button("first suspicious", () => this.first_suspicious(), "first-suspicious") : null,
            graphs.compared ? button("unfold suspicious", () => this.each_tree((tree) => tree.unfold_suspicious()), "unfold-suspicious") : null,
            button("unfold all", () => this.each_tree((tree) => tree.unfold_all()), "unfold-all"), button("fold all", () => this.each_tree((tree) => tree.fold_all()), "fold-all"),
            graphs.compared ? element("button", { class: "toggle", type: "button", "aria-pressed": String(this.follow), onclick: (event) => {
                this.follow = !this.follow;
                event.target.setAttribute("aria-pressed", String(this.follow));
            } }, words("follow")) : null,
            graphs.compared ? this.legend() : null);
        this.bar.hidden = this.view !== "graph";
        this.draw_found();
    }

    legend() {
        const { bands } = this.graphs;
        const row = (colour, text) => {
            const swatch = element("span", { class: "swatch" });
            if (colour) swatch.style.backgroundColor = colour;
            return element("div", { class: "legend-row" }, swatch, text);
        };
        return element("details", { class: "legend" }, element("summary", { class: "small" }, words("legend")), element("div", { class: "legend-box" },
            bands.bands.map((band) => row(bands.colour(band.low), band.low === band.high ? String(band.low) : `${band.low} – ${band.high}`)),
            element("p", { class: "quiet" }, words("legend.rolled")),
            element("label", { class: "choice" }, words("palette"), element("select", { id: "palette", onchange: (event) => { bands.palette = event.target.value; this.redraw(); } },
                ["safe", "file"].map((palette) => element("option", { value: palette, selected: palette === bands.palette }, words(`palette.${palette}`)))))));
    }

    draw_body() {
        const tables = [this.outlines.npu, this.outlines.bench].filter(Boolean).map((outline) => outline.table);
        const tops = tables.map((table) => table.node.scrollTop); // lost when they leave the document
        this.draw_view();
        tables.forEach((table, i) => {
            table.node.scrollTop = tops[i];
            if (table.selected >= 0) table.scroll_to(table.selected);
        });
        this.body.dataset.view = this.view;
    }

    draw_view() {
        if (this.view === "ranks") replace(this.body, matrix_view(this.graphs, async (number) => { await this.open(number); this.show("graph"); this.first_suspicious(); }));
        else if (this.view === "differences") replace(this.body, by_hand_panel(this.by_hand, { on_go: (key, name) => this.go_by_name(key, name),
            on_change: () => this.matches_changed(), on_fault: (text) => this.show_notice(text) }), difference_view(this.graph, (key, node) => this.go(key, node)));
        else replace(this.body, this.strip.node, element("div", { class: "panes" }, this.outlines.npu.table.node, this.outlines.bench?.table.node), this.detail.node);
    }

    redraw() {
        for (const outline of [this.outlines.npu, this.outlines.bench]) if (outline) outline.relabel();
        this.strip.show(this.graph.npu, this.graphs.bands, this.graphs.compared);
        if (this.selection) this.detail.show(this.graph, this.selection.key, this.selection.node);
        else this.detail.clear();
        this.draw();
        if (this.help.open) this.show_help();
    }

    show(view) {
        this.view = view;
        this.draw();
        this.write_address();
    }

    each_tree(run) {
        for (const outline of [this.outlines.npu, this.outlines.bench]) {
            if (!outline) continue;
            run(outline.tree);
            outline.refresh();
        }
    }

    choose_page(page) {
        this.each_tree((tree) => tree.set_page(page));
    }

    // ---- address and keys ---------------------------------------------------------------------

    write_address() {
        const meta = this.graphs.graphs[this.number], { selection } = this;
        history.replaceState(null, "", route_text({ view: this.view, step: meta.step, rank: meta.rank, side: selection?.key ?? "npu",
            node: selection ? this.graph[selection.key].name(selection.node) : "" }));
    }

    async follow_address() {
        const wanted = route_of_text(location.hash), first = this.graphs.graphs[0];
        const number = this.graphs.find(wanted.step ?? first.step, wanted.rank ?? first.rank);
        await this.open(Math.max(0, number));
        this.view = wanted.view === "differences" && !this.graphs.compared ? "graph" : wanted.view;
        this.draw();
        if (wanted.node) this.go_by_name(wanted.side, wanted.node);
    }

    show_help() {
        const names = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };
        const lines = [...keyboard_table().map(({ key, label }) => [names[key] ?? key, label]), ["↑ ↓", "key.move"], ["←", "key.fold"], ["→", "key.unfold"]];
        replace(this.help, element("h2", {}, words("keys")),
            element("dl", {}, lines.map(([key, label]) => element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, words(label))))),
            element("button", { class: "more", type: "button", onclick: () => this.help.close() }, words("close")));
        if (!this.help.open) this.help.showModal();
    }

    to_partner() {
        if (!this.selection || !this.graph.bench) return;
        const { key, node } = this.selection, partner = this.graph[key].partner[node];
        if (partner >= 0) this.go(key === "npu" ? "bench" : "npu", partner);
    }

    start_keys() {
        const views = ["graph", "ranks", "differences"];
        keyboard_start([
            { key: "/", label: "key.search", run: () => this.search_box.focus() },
            { key: "n", label: "key.next", run: () => this.step_found(1) },
            { key: "p", label: "key.previous", run: () => this.step_found(-1) },
            { key: "f", label: "key.first", run: () => this.first_suspicious() },
            { key: "m", label: "key.other", run: () => this.to_partner() },
            ...views.map((view, i) => ({ key: String(i + 1), label: "key.tabs", run: () => document.getElementById(`tab-${view}`) ? this.show(view) : false })),
            { key: "t", label: "key.theme", run: theme_toggle },
            { key: "l", label: "key.language", run: language_toggle },
            { key: "?", label: "key.help", run: () => this.show_help() },
            { key: "Escape", label: "key.close", run: (event) => event.target instanceof HTMLElement && event.target.matches("input") ? event.target.blur() : this.matching ? this.end_match() : false },
        ]);
    }
}

async function start() {
    const root = document.getElementById("page");
    language_start(graph_words);
    theme_start();
    replace(root, element("p", { class: "page-message" }, words("loading")));
    if (typeof DecompressionStream !== "function") throw new Error(words("old browser"));
    const page = new GraphPage(await Graphs.open(), root);
    await page.follow_address();
    page.start_keys();
    on_language(() => page.redraw());
    on_theme(() => page.redraw());
    addEventListener("hashchange", () => page.follow_address());
    document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
    replace(document.getElementById("page"), element("p", { class: "page-message", role: "alert" }, words("broken", { reason: error.message })));
    document.documentElement.dataset.ready = "broken";
});
