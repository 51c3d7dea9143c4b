// The page: three views under one head, opened by tabs, keys and the address.

import { charts_redraw } from "../common/charts.js";
import { element, replace } from "../common/elements.js";
import { keyboard_start, keyboard_table } from "../common/keyboard.js";
import { language_start, language_toggle, on_language, words } from "../common/language.js";
import { on_theme, theme_start, theme_toggle } from "../common/theme.js";
import { groups_view } from "./groups_view.js";
import { Results } from "./model.js";
import { overview_view } from "./overview_view.js";
import { route_of_text, route_text } from "./route.js";
import { RowsView } from "./rows_view.js";
import { report_words } from "./words.js";

const tabs = ["overview", "rows", "apis"];

class ReportPage {
    constructor(results, root) {
        this.results = results;
        this.rows = new RowsView(results, () => this.write_address());
        this.head = element("header", { class: "page-head" });
        this.body = element("main", { class: "page-body" });
        this.help = element("dialog", { class: "help" });
        this.actions = {
            show_rows: (query, sort = null) => { this.rows.close_row(); this.show("rows"); this.rows.set_query(query, sort); },
            open_row: (row) => this.open_in_rows(row),
        };
        replace(root, this.head, this.body, this.help);
    }

    async open_in_rows(row) {
        this.show("rows");
        await this.rows.applied;
        if (this.rows.order.indexOf(row) < 0) await this.rows.set_query({}, null);
        this.rows.open_at(this.rows.order.indexOf(row));
    }

    title() {
        const { inputs } = this.results;
        return inputs.length === 1 ? inputs[0].label : inputs.map((input) => input.label).slice(0, 3).join(", ") + (inputs.length > 3 ? " …" : "");
    }

    draw_head() {
        document.title = `${this.title()} – ${words("title")}`;
        const tool = (key, text, run) => element("button", { class: "tool", type: "button", title: words(key), "aria-label": words(key), onclick: run }, text);
        replace(this.head,
            element("div", { class: "brand" }, element("span", { class: "logo", "aria-hidden": "true" }, "±"), element("h1", {}, words("title")),
                element("span", { class: "quiet clip", title: this.title() }, this.title())),
            element("nav", { class: "tabs", role: "tablist" }, tabs.map((tab) => element("button", { role: "tab", type: "button", id: `tab-${tab}`,
                "aria-selected": String(tab === this.view), onclick: () => this.show(tab) }, words(tab)))),
            element("div", { class: "tools" }, tool("switch language", words("switch language"), language_toggle), tool("switch theme", "◐", theme_toggle),
                tool("keys", "?", () => this.show_help())));
    }

    draw_body() {
        const top = this.body.scrollTop;
        if (this.view === "overview") replace(this.body, overview_view(this.results, this.actions));
        else if (this.view === "apis") replace(this.body, groups_view(this.results, this.actions));
        else {
            replace(this.body, this.rows.node);
            this.rows.refresh();
        }
        this.body.dataset.view = this.view;
        this.body.scrollTop = top;
    }

    show(view) {
        if (this.view === view) return;
        this.view = view;
        this.draw_head();
        this.draw_body();
        this.body.scrollTop = 0;
        if (view === "rows" && !this.rows_shown) {
            this.rows_shown = true;
            this.rows.apply();
        }
        this.write_address();
    }

    redraw() {
        this.draw_head();
        this.draw_body();
        if (this.help.open) this.show_help();
    }

    write_address() {
        if (!this.view) return;
        const { query, sort, open } = this.rows;
        history.replaceState(null, "", this.view === "rows" ? route_text({ view: "rows", query, sort, row: open }) : `#${this.view}`);
    }

    async follow_address() {
        const { view, query, sort, row } = route_of_text(location.hash, this.results.rows);
        this.rows.query = query;
        this.rows.sort = sort;
        this.rows_shown = view === "rows";
        this.view = undefined;
        this.view = view;
        this.draw_head();
        this.draw_body();
        if (view !== "rows") return;
        await this.rows.apply();
        const at = this.rows.order.indexOf(row);
        if (row >= 0 && at >= 0) this.rows.open_at(at);
        else if (row >= 0) this.rows.open_row(row);
    }

    show_help() {
        const names = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };
        const lines = [...keyboard_table().map(({ key, label }) => [names[key] ?? key, label]), ["↑ ↓", "key.move"], ["Enter", "key.open"]];
        const seen = new Map();
        for (const [key, label] of lines) seen.set(label, [...(seen.get(label) ?? []), key]);
        replace(this.help, element("h2", {}, words("keys")),
            element("dl", {}, [...seen].map(([label, keys]) => element("div", {}, element("dt", {}, keys.map((key) => element("kbd", {}, key))), element("dd", {}, words(label))))),
            element("button", { class: "more", type: "button", onclick: () => this.help.close() }, words("close")));
        if (!this.help.open) this.help.showModal();
    }

    start_keys() {
        const in_rows = (run) => () => { this.show("rows"); run(); };
        keyboard_start([
            { key: "/", label: "key.search", run: in_rows(() => this.rows.focus_search()) },
            { key: "n", label: "key.next failed", run: in_rows(() => this.rows.step_failed(1)) },
            { key: "p", label: "key.previous failed", run: in_rows(() => this.rows.step_failed(-1)) },
            { key: "j", label: "key.move", run: in_rows(() => this.rows.table.move(1)) },
            { key: "k", label: "key.move", run: in_rows(() => this.rows.table.move(-1)) },
            { key: "Enter", label: "key.open", run: () => this.open_selected() },
            { key: "Escape", label: "key.close", run: (event) => this.escape(event) },
            { key: "1", label: "key.tabs", run: () => this.show("overview") },
            { key: "2", label: "key.tabs", run: () => this.show("rows") },
            { key: "3", label: "key.tabs", run: () => this.show("apis") },
            { key: "t", label: "key.theme", run: theme_toggle },
            { key: "l", label: "key.language", run: language_toggle },
            { key: "?", label: "key.help", run: () => this.show_help() },
        ]);
    }

    open_selected() {
        const { table, order } = this.rows, focused = document.activeElement;
        if (this.view !== "rows" || table.selected < 0 || (focused && focused.matches("button, a, summary, input"))) return false;
        this.rows.open_row(order[table.selected]);
    }

    escape(event) {
        if (event.target instanceof HTMLElement && event.target.matches("input")) event.target.blur();
        else if (this.view !== "rows" || !this.rows.close_row()) return false;
    }
}

async function start() {
    const root = document.getElementById("page");
    language_start(report_words);
    theme_start();
    replace(root, element("p", { class: "page-message" }, words("loading")));
    if (typeof DecompressionStream !== "function") throw new Error(words("old browser"));
    const results = await Results.open();
    const page = new ReportPage(results, root);
    await page.follow_address();
    page.start_keys();
    on_language(() => page.redraw());
    on_theme(charts_redraw);
    addEventListener("hashchange", () => page.follow_address());
    document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
    replace(document.getElementById("page"), element("p", { class: "page-message", role: "alert" }, words("broken", { reason: error.message })));
    document.documentElement.dataset.ready = "broken";
});
