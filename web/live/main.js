// The page: drawn anew with every answer of the server.

import { charts_redraw } from "../common/charts.js";
import { element, replace } from "../common/elements.js";
import { keyboard_start } from "../common/keyboard.js";
import { language_start, language_toggle, on_language, words } from "../common/language.js";
import { on_theme, theme_start, theme_toggle } from "../common/theme.js";
import { bad_calls } from "./calls.js";
import { client_table } from "./clients.js";
import { rank_grid } from "./grid.js";
import { history_panel } from "./history.js";
import { Live, span_text } from "./model.js";
import { scroll_back, scroll_positions } from "./scroll.js";
import { gauges, verdict_tiles } from "./tiles.js";
import { live_words } from "./words.js";

class LivePage {
    constructor(root) {
        this.live = new Live();
        this.head = element("header", { class: "page-head" });
        this.body = element("main", { class: "page-body" });
        this.parts = element("div", { class: "overview" });
        this.chart = element("div", {});
        replace(root, this.head, this.body);
        replace(this.body, this.parts);
        this.live.on_change(() => this.draw());
    }

    draw_head() {
        const { facts } = this.live, state = this.live.state();
        const tool = (key, text, run) => element("button", { class: "tool", type: "button", title: words(key), "aria-label": words(key), onclick: run }, text);
        document.title = `${words(`state.${state}`)} – ${words("title")}`;
        replace(this.head,
            element("div", { class: "brand" }, element("span", { class: "logo", "aria-hidden": "true" }, "±"), element("h1", {}, words("title")),
                element("span", { class: `state ${state}`, role: "status" }, words(`state.${state}`)),
                facts ? element("span", { class: "quiet" }, words("since", { time: span_text(facts.running_s) })) : null,
                facts ? element("span", { class: "quiet clip place", title: facts.place }, facts.place) : null),
            element("div", { class: "tools" },
                element("a", { class: "tool", href: "report", target: "_blank", rel: "noopener" }, words("report")),
                tool("switch language", words("switch language"), language_toggle), tool("switch theme", "◐", theme_toggle)));
    }

    // What is wrong with the run itself, if anything.
    notice() {
        const silence = this.live.facts.over ? 0 : this.live.silence();
        const text = silence ? words("lost since", { time: span_text(silence) }) : this.live.facts.trouble;
        return text ? element("p", { class: "panel notice", role: "alert" }, text) : null;
    }

    draw() {
        this.draw_head();
        if (!this.live.facts) {
            replace(this.parts, element("p", { class: "page-message" }, words("loading")));
            return;
        }
        // The chart keeps its canvas; everything else is small.
        const { facts } = this.live, positions = scroll_positions(this.parts);
        this.draw_chart();
        replace(this.parts, this.notice(),
            element("div", { class: "columns" }, verdict_tiles(facts), bad_calls(facts)),
            gauges(this.live), facts.ranks.length ? rank_grid(facts) : null, this.chart, client_table(facts));
        scroll_back(this.parts, positions);
        document.documentElement.dataset.answers = String(Number(document.documentElement.dataset.answers ?? 0) + 1);
    }

    draw_chart(anew = false) {
        if (anew || !this.chart.childNodes.length) replace(this.chart, history_panel(this.live));
        else charts_redraw();
    }

    redraw() {
        replace(this.chart);
        this.draw();
    }
}

function start() {
    const root = document.getElementById("page");
    language_start(live_words);
    theme_start();
    const page = new LivePage(root);
    page.draw();
    page.live.poll();
    keyboard_start([{ key: "t", label: "switch theme", run: theme_toggle }, { key: "l", label: "switch language", run: language_toggle }]);
    on_language(() => page.redraw());
    on_theme(charts_redraw);
    document.documentElement.dataset.ready = "true";
}

start();
