// The page: the tree of a model, or of two beside each other, as rows or as boxes, with a strip of the execution
// order above and the selected node below.

import { remember, remembered } from "../common/choices.js";
import { element, replace } from "../common/elements.js";
import { keyboard_start, keyboard_table } from "../common/keyboard.js";
import { language_start, language_toggle, on_language, words } from "../common/language.js";
import { count_text } from "../common/numbers.js";
import { on_theme, theme_start, theme_toggle } from "../common/theme.js";
import { Boxes } from "./boxes.js";
import { ByHand } from "./by_hand.js";
import { ByHandFlow } from "./by_hand_flow.js";
import { Detail } from "./detail.js";
import { difference_view } from "./difference_view.js";
import { find_nodes } from "./find.js";
import { Finder } from "./finder.js";
import { FoundList } from "./found_list.js";
import { legend, palette_start } from "./legend.js";
import { matrix_view } from "./matrix_view.js";
import { Graphs } from "./model.js";
import { NodeMenu, node_items } from "./node_menu.js";
import { Notes } from "./notes.js";
import { Outline } from "./outline.js";
import { ReaderWork } from "./reader_work.js";
import { reader_panels } from "./reader_view.js";
import { forms, route_of_text, route_text, views } from "./route.js";
import { Splitter } from "./splitter.js";
import { Strip } from "./strip.js";
import { Toolbar } from "./toolbar.js";
import { Tree } from "./tree.js";
import { graph_words } from "./words.js";

class GraphPage {
    constructor(graphs, root) {
        this.graphs = graphs;
        this.compared = graphs.compared;
        this.view = "graph";
        this.form = forms.includes(remembered("form")) ? remembered("form") : "rows";
        this.number = 0;
        this.follow = true;
        this.list_open = false;
        this.head = element("header", { class: "page-head" });
        this.body = element("main", { class: "page-body" });
        this.help = element("dialog", { class: "help" });
        this.splitter = new Splitter(() => this.body);
        this.menu = new NodeMenu();
        this.panes_box = element("div", { class: "panes" });
        this.strip = new Strip((node) => this.go("npu", node));
        this.finder = new Finder(graphs.bands, { kind: graphs.judged ? "suspicious" : this.compared ? "unmatched" : "any", on_found: () => this.found_changed() });
        this.list = new FoundList({ bands: graphs.bands, on_go: (node) => this.go("npu", node) });
        this.toolbar = new Toolbar(this);
        this.by_hand = new ByHand(graphs.bands);
        this.notes = new Notes();
        this.work = new ReaderWork(this.by_hand, this.notes, graphs.bands);
        this.work.restore();
        this.flow = new ByHandFlow(this.by_hand, { graph: () => this.graph, on_change: (node) => this.matches_changed(node) });
        this.detail = new Detail({ bands: graphs.bands, tips: graphs.meta.tips ?? {}, notes: this.notes, on_note: () => this.notes_changed(), on_go: (key, node) => this.go(key, node),
            on_rank: (key, rank, name) => this.go_to_rank(key, rank, name),
            on_match: (key, node) => this.flow.start(key, node), on_unmatch: (key, node, below) => this.flow.unmatch(key, node, below) });
        replace(root, this.head, this.toolbar.node, this.flow.node, this.body, this.help, this.menu.node);
    }

    // ---- graphs -------------------------------------------------------------------------------

    async open(number) {
        this.number = number;
        this.graph = await this.graphs.open_graph(number);
        await this.by_hand.apply(this.graph);
        this.flow.end();
        this.trees = Object.fromEntries(this.sides().map((key) => [key, new Tree(this.graph[key])]));
        this.unfold_start();
        this.selection = null;
        this.make_panes();
        this.detail.clear();
        this.draw();
        await this.finder.search(this.graph.npu);
        this.strip.select(-1);
        this.strip.show(this.graph.npu, this.graphs.bands, this.compared);
    }

    sides() {
        return this.graph.bench ? ["npu", "bench"] : ["npu"];
    }

    make_panes() {
        const Pane = this.form === "boxes" ? Boxes : Outline;
        this.panes = Object.fromEntries(this.sides().map((key) => [key, new Pane(this.graph[key], { tree: this.trees[key], bands: this.graphs.bands, compared: this.compared,
            key: this.compared ? key : "model", on_select: (node) => this.selected(key, node), on_fold: (node) => this.fold(key, node), on_menu: (node, event) => this.open_menu(key, node, event),
            note_of: (node) => this.notes.size ? this.notes.get(key, this.graph[key].name(node)) : "" })]));
        replace(this.panes_box, this.list.node, this.sides().map((key) => this.panes[key].node));
        this.list.node.hidden = !this.list_open;
    }

    each_pane(run) {
        for (const key of this.sides()) run(this.panes[key], this.trees[key], key);
    }

    // A tree of one branch is no view: unfold until there is something to choose from.
    unfold_start() {
        for (const key of this.sides()) {
            const side = this.graph[key], tree = this.trees[key];
            for (let at = 0; at + 1 < side.count && side.end[at + 1] === side.end[at] && side.has_children(at + 1); at++) tree.unfolded[at + 1] = 1;
            tree.update();
        }
    }

    async choose_graph(step, rank) {
        const number = this.graphs.find(step, rank), wanted = this.selection;
        if (number < 0) return;
        const name = wanted ? this.graph[wanted.key].name(wanted.node) : "";
        await this.open(number);
        if (name) this.go_by_name(wanted.key, name);
    }

    micro_steps() {
        return this.graphs.graphs[this.number].micro_steps;
    }

    micro_step() {
        return this.trees.npu.page;
    }

    choose_page(page) {
        this.each_pane((pane, tree) => { tree.set_page(page); pane.refresh(); });
    }

    // ---- selection ----------------------------------------------------------------------------

    selected(key, node) {
        if (this.flow.takes(key, node)) return;
        this.selection = { key, node };
        const other_key = key === "npu" ? "bench" : "npu", other = this.panes[other_key];
        const partner = other ? this.graph[key].partner[node] : -1;
        if (other && partner >= 0 && this.follow) other.show_node(partner);
        else if (other) other.clear();
        this.strip.select(key === "npu" ? node : partner);
        this.detail.show(this.graph, key, node);
        this.mark_found();
        this.write_address();
    }

    go(key, node) {
        if (this.view !== "graph") this.show("graph");
        this.panes[key].show_node(node);
        this.selected(key, node);
    }

    go_by_name(key, name) {
        const node = this.graph[key]?.find_name(name) ?? -1;
        if (node >= 0) this.go(key, node);
    }

    // A call of another rank of the same step.
    async go_to_rank(key, rank, name) {
        const number = this.graphs.find(this.graphs.graphs[this.number].step, rank);
        if (number < 0) return;
        await this.open(number);
        this.go_by_name(key, name);
    }

    to_partner() {
        if (!this.selection || !this.graph.bench) return;
        const { key, node } = this.selection, partner = this.graph[key].partner[node];
        if (partner >= 0) this.go(key === "npu" ? "bench" : "npu", partner);
    }

    async matches_changed(node) {
        if (node >= 0 && this.selection) this.selection = { key: "npu", node };
        this.work.keep();
        await this.by_hand.apply(this.graph);
        await this.finder.search();
        this.redraw();
        if (this.selection) this.selected(this.selection.key, this.selection.node);
    }

    notes_changed() {
        this.work.keep();
        this.each_pane((pane) => pane.relabel());
    }

    async count_errors(errors) {
        this.by_hand.errors = errors.every(Boolean) ? null : errors;
        await this.matches_changed(-1);
    }

    // ---- folding ------------------------------------------------------------------------------

    // The partner folds along when the reader follows it.
    fold(key, node) {
        this.trees[key].toggle(node);
        this.panes[key].refresh(node);
        const other_key = key === "npu" ? "bench" : "npu", other = this.graph[other_key], partner = other && this.follow ? this.graph[key].partner[node] : -1;
        if (partner < 0 || !other.has_children(partner)) return;
        this.trees[other_key].set_unfolded(partner, Boolean(this.trees[key].unfolded[node]));
        this.panes[other_key].refresh(partner);
    }

    unfold_below(key, node) {
        const other_key = key === "npu" ? "bench" : "npu", partner = this.graph.bench && this.follow ? this.graph[key].partner[node] : -1;
        for (const [at, top] of [[key, node], [other_key, partner]]) {
            if (top < 0) continue;
            this.trees[at].unfold_below(top);
            this.panes[at].refresh(top);
        }
    }

    open_menu(key, node, event) {
        event.preventDefault();
        this.menu.open(event.clientX, event.clientY, node_items(this, key, node));
    }

    // "none", "all", "suspicious" or a depth
    unfold(wanted) {
        this.each_pane((pane, tree, key) => {
            if (wanted === "none") tree.fold_all();
            else if (wanted === "all") tree.unfold_all();
            else if (wanted === "suspicious") tree.unfold_suspicious(this.graph.npu, key === "npu" ? null : this.graph.bench.partner);
            else tree.unfold_to(Number(wanted));
            pane.refresh();
        });
    }

    set_form(form) {
        if (form === this.form) return;
        this.form = form;
        remember("form", form);
        this.make_panes();
        this.draw();
        if (this.selection) this.go(this.selection.key, this.selection.node);
        else this.write_address();
    }

    // ---- finding ------------------------------------------------------------------------------

    found_at() {
        return this.selection?.key === "npu" ? this.finder.at(this.selection.node) : -1;
    }

    found_changed() {
        this.toolbar.draw_found();
        this.list.show(this.graph.npu, this.finder);
        this.mark_found();
    }

    mark_found() {
        this.toolbar.draw_found();
        if (this.list_open) this.list.mark(this.selection?.key === "npu" ? this.selection.node : -1);
    }

    step_found(by) {
        const node = this.finder.step(this.selection?.key === "npu" ? this.selection.node : -1, by);
        if (node >= 0) this.go("npu", node);
    }

    first_suspicious() {
        const found = find_nodes(this.graph.npu, { text: "", kind: "suspicious" }, this.graphs.bands);
        if (found.length) this.go("npu", found[0]);
    }

    set_list(open) {
        this.list_open = open;
        this.list.node.hidden = !open;
        this.toolbar.draw();
        this.mark_found();
    }

    find_band({ low, high }) {
        Object.assign(this.finder.wanted, { kind: "any", from: low, to: high, metric: "" });
        this.toolbar.filters_open = true;
        this.toolbar.draw();
        this.finder.search();
        this.set_list(true);
    }

    // ---- drawing ------------------------------------------------------------------------------

    draw() {
        this.draw_head();
        this.toolbar.draw();
        this.toolbar.node.hidden = this.view !== "graph";
        this.draw_body();
    }

    draw_head() {
        const { graphs } = this, meta = graphs.graphs[this.number];
        document.title = words("title");
        const tool = (key, text, run) => element("button", { class: "tool", type: "button", title: words(key), "aria-label": words(key), onclick: run }, text);
        const shown = this.shown_views();
        const chooser = (key) => {
            const values = graphs.distinct(key);
            return values.length < 2 ? null : element("label", { class: "choice" }, words(key), element("select", { id: `choose-${key}`,
                onchange: (event) => this.choose_graph(key === "step" ? Number(event.target.value) : meta.step, key === "rank" ? Number(event.target.value) : meta.rank) },
            values.map((value) => element("option", { value, selected: value === meta[key] }, value))));
        };
        replace(this.head, element("div", { class: "brand" }, element("span", { class: "logo", "aria-hidden": "true" }, "±"), element("h1", {}, words("title")), chooser("step"), chooser("rank"),
            element("span", { class: "quiet clip summary", title: this.summary() }, this.summary())),
            shown.length > 1 ? element("nav", { class: "tabs", role: "tablist" }, shown.map((view) => element("button", { role: "tab", type: "button", id: `tab-${view}`,
                "aria-selected": String(view === this.view), onclick: () => this.show(view) }, words(view === "differences" && !this.compared ? "notes" : `tab.${view}`)))) : null,
            element("div", { class: "tools" }, tool("switch language", words("switch language"), language_toggle), tool("switch theme", "◐", theme_toggle),
                tool("keys", "?", () => this.show_help())));
    }

    // In the order of their tabs and keys.
    shown_views() {
        return views.filter((view) => view !== "ranks" || this.graphs.graphs.length > 1);
    }

    // What the graph in sight is, in one line.
    summary() {
        const { npu, bench } = this.graph, parts = [words("nodes", { count: count_text(npu.count) })];
        if (this.by_hand.matches.size) parts.push(words("count by hand", { count: count_text(this.by_hand.matches.size) }));
        if (this.compared && !this.graphs.judged) parts.push(words("count unmatched", { count: count_text(npu.partner.reduce((sum, partner) => sum + (partner < 0), 0)) }));
        if (this.graphs.judged) parts.push(words(npu.suspicious[0] ? "suspicious nodes" : "no suspicious", { count: count_text(npu.suspicious[0]) }));
        const folder = npu.meta.folder;
        if (folder) parts.push(bench ? words("folders", { npu: folder, bench: bench.meta.folder }) : folder);
        return parts.join(words("comma"));
    }

    legend() {
        const { bands } = this.graphs, chosen = bands.task === "summary" && !bands.levels ? this.by_hand.errors ?? [true, true, true, true] : null;
        return legend(bands, chosen, { on_colours: () => { this.work.keep(); this.redraw(); }, on_band: (band) => this.find_band(band), on_errors: (errors) => this.count_errors(errors) });
    }

    draw_body() {
        const tops = this.sides().map((key) => this.panes[key].node.scrollTop); // lost when they leave the document
        if (this.view === "ranks") replace(this.body, matrix_view(this.graphs, this.by_hand, async (number) => { await this.open(number); this.show("graph"); this.first_suspicious(); }));
        else if (this.view === "differences") replace(this.body, reader_panels(this.work, this.compared, { on_go: (key, name) => this.go_by_name(key, name),
            on_change: () => this.matches_changed(-1), on_fault: (text) => this.flow.say(text) }), this.compared ? difference_view(this.graph, (key, node) => this.go(key, node)) : null);
        else if (this.panes_box.parentNode !== this.body) {
            replace(this.body, this.strip.node, this.panes_box, this.splitter.node, this.detail.node);
            this.sides().forEach((key, i) => { this.panes[key].node.scrollTop = tops[i]; });
        }
        this.body.dataset.view = this.view;
    }

    redraw() {
        this.each_pane((pane) => pane.relabel());
        this.list.relabel();
        this.splitter.relabel();
        this.strip.show(this.graph.npu, this.graphs.bands, this.compared);
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

    // ---- address and keys ---------------------------------------------------------------------

    write_address() {
        const meta = this.graphs.graphs[this.number], { selection } = this;
        history.replaceState(null, "", route_text({ view: this.view, form: this.form, step: meta.step, rank: meta.rank, side: selection?.key ?? "npu",
            node: selection ? this.graph[selection.key].name(selection.node) : "" }));
    }

    async follow_address() {
        const wanted = route_of_text(location.hash), first = this.graphs.graphs[0];
        const number = this.graphs.find(wanted.step ?? first.step, wanted.rank ?? first.rank);
        if (wanted.form) this.form = wanted.form;
        this.view = wanted.view;
        await this.open(Math.max(0, number));
        if (wanted.node) this.go_by_name(wanted.side, wanted.node);
    }

    show_help() {
        const names = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };
        const lines = [...keyboard_table().map(({ key, label }) => [names[key] ?? key, label]), ["↑ ↓", "key.move"], ["←", "key.fold"], ["→", "key.unfold"]], seen = new Map();
        for (const [key, label] of lines) seen.set(label, [...(seen.get(label) ?? []), key]);
        replace(this.help, element("h2", {}, words("keys")),
            element("dl", {}, [...seen].map(([label, keys]) => element("div", {}, element("dt", {}, keys.map((key) => element("kbd", {}, key))), element("dd", {}, words(label))))),
            element("button", { class: "more", type: "button", onclick: () => this.help.close() }, words("close")));
        if (!this.help.open) this.help.showModal();
    }

    // Zoom or move the boxes of both sides; rows have neither.
    in_boxes(run) {
        return () => this.form === "boxes" && this.view === "graph" ? this.each_pane(run) : false;
    }

    escape(event) {
        if (event.target instanceof HTMLElement && event.target.matches("input")) event.target.blur();
        else if (!this.flow.first) return false;
        else this.flow.end();
    }

    start_keys() {
        keyboard_start([
            { key: "/", label: "key.search", run: () => this.toolbar.search.focus() },
            { key: "n", label: "key.next", run: () => this.step_found(1) },
            { key: "p", label: "key.previous", run: () => this.step_found(-1) },
            { key: "f", label: "key.first", run: () => this.first_suspicious() },
            { key: "m", label: "key.other", run: () => this.to_partner() },
            { key: "b", label: "key.form", run: () => this.set_form(this.form === "boxes" ? "rows" : "boxes") },
            { key: "w", label: "key.zoom", run: this.in_boxes((pane) => pane.zoom_by(1.25)) },
            { key: "s", label: "key.zoom", run: this.in_boxes((pane) => pane.zoom_by(0.8)) },
            { key: "a", label: "key.sideways", run: this.in_boxes((pane) => pane.move_by(-80, 0)) },
            { key: "d", label: "key.sideways", run: this.in_boxes((pane) => pane.move_by(80, 0)) },
            { key: "0", label: "key.fit", run: this.in_boxes((pane) => pane.fit()) },
            ...this.shown_views().map((view, i) => ({ key: String(i + 1), label: "key.tabs", run: () => this.show(view) })),
            { key: "t", label: "key.theme", run: theme_toggle },
            { key: "l", label: "key.language", run: language_toggle },
            { key: "?", label: "key.help", run: () => this.show_help() },
            { key: "Escape", label: "key.close", run: (event) => this.escape(event) },
        ]);
    }
}

async function start() {
    const root = document.getElementById("page");
    language_start(graph_words);
    theme_start();
    replace(root, element("p", { class: "page-message" }, words("loading")));
    if (typeof DecompressionStream !== "function") throw new Error(words("old browser"));
    const graphs = await Graphs.open();
    palette_start(graphs.bands);
    const page = new GraphPage(graphs, root);
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
