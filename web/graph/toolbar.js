// The bar above the panes: looking for nodes, folding, and how the model is drawn.

import { element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { number_of_text } from "../common/numbers.js";
import { find_kinds, types_of } from "./find.js";

const most_types = 300, deepest_choice = 5, typing_pause_ms = 120;

function press(key, pressed, run, id) {
    return element("button", { class: "toggle", type: "button", id, "aria-pressed": String(pressed), onclick: run }, words(key));
}

// A select that does something and goes back to its title.
function action_select(id, title, options, run) {
    const node = element("select", { id, "aria-label": title }, element("option", { value: "" }, title), options.map(([value, text]) => element("option", { value }, text)));
    node.addEventListener("change", () => {
        if (node.value) run(node.value);
        node.value = "";
    });
    return node;
}

export class Toolbar {
    // page: what it shows and does, see main.js
    constructor(page) {
        this.page = page;
        this.filters_open = false;
        this.node = element("div", { class: "bar" });
    }

    search_later() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.page.finder.search(), typing_pause_ms);
    }

    search_box() {
        const { finder } = this.page;
        return element("input", { type: "search", id: "search", placeholder: words("search"), "aria-label": words("search"), value: finder.wanted.text, spellcheck: "false",
            oninput: (event) => { finder.wanted.text = event.target.value; this.search_later(); },
            onkeydown: async (event) => {
                if (event.key !== "Enter") return;
                clearTimeout(this.timer);
                await finder.search();
                this.page.step_found(event.shiftKey ? -1 : 1);
            } });
    }

    kind_select() {
        const { page } = this, { finder, compared } = page;
        const { judged, meta } = page.graphs, is_there = { suspicious: judged, unmatched: compared, overflow: meta.overflow, critical: meta.overflow, high: meta.overflow, medium: meta.overflow };
        const kinds = find_kinds.filter((kind) => is_there[kind] ?? true);
        return element("select", { id: "find-kind", "aria-label": words("show"), onchange: (event) => { finder.wanted.kind = event.target.value; finder.search(); } },
            kinds.map((kind) => element("option", { value: kind, selected: kind === finder.wanted.kind }, words(`find.${kind}`))));
    }

    unfold_select() {
        const { page } = this;
        const options = [["none", words("fold all")], ...Array.from({ length: deepest_choice }, (_, i) => [String(i + 1), words("unfold depth", { depth: i + 1 })]),
            ...(page.graphs.judged ? [["suspicious", words("unfold suspicious")]] : []), ["all", words("unfold all")]];
        return action_select("unfold", words("unfold"), options, (wanted) => page.unfold(wanted));
    }

    form_choice() {
        const { page } = this;
        return element("span", { class: "segments", role: "group", "aria-label": words("form") }, ["rows", "boxes"].map((form) =>
            element("button", { type: "button", id: `form-${form}`, "aria-pressed": String(form === page.form), title: words(`form.${form}.hint`), onclick: () => page.set_form(form) }, words(`form.${form}`))));
    }

    draw() {
        const { page } = this, { finder } = page, arrow = (id, key, by, text) => element("button", { class: "small", type: "button", id, title: words(key), "aria-label": words(key), onclick: () => page.step_found(by) }, text);
        this.search = this.search_box();
        this.found_note = element("span", { class: "quiet found", role: "status" });
        replace(this.node, element("div", { class: "bar-line" }, element("div", { class: "bar-group searching" },
            this.search, this.kind_select(),
            element("button", { class: "toggle", type: "button", id: "filters", "aria-expanded": String(this.filters_open), "aria-pressed": String(this.filters_open), onclick: () => { this.filters_open = !this.filters_open; this.draw(); } }, words("filters")),
            arrow("find-previous", "previous", -1, "↑"), arrow("find-next", "next", 1, "↓"), this.found_note,
            press("list", page.list_open, () => page.set_list(!page.list_open), "list")), element("div", { class: "bar-group" },
            page.micro_steps() > 1 ? element("label", { class: "choice" }, words("page"), element("select", { id: "choose-page", onchange: (event) => page.choose_page(Number(event.target.value)) },
                [-1, ...Array(page.micro_steps()).keys()].map((number) => element("option", { value: number, selected: number === page.micro_step() }, number < 0 ? words("all") : number)))) : null,
            page.graphs.judged ? element("button", { class: "small", type: "button", id: "first-suspicious", disabled: !page.graph.npu.suspicious[0], onclick: () => page.first_suspicious() }, words("first suspicious")) : null,
            this.unfold_select(),
            page.compared ? press("follow", page.follow, () => { page.follow = !page.follow; this.draw(); }, "follow") : null,
            this.form_choice(),
            page.graphs.judged ? page.legend() : null)),
        this.filters_open ? this.filter_line(finder) : null);
        this.draw_found();
    }

    // ---- filters ------------------------------------------------------------------------------

    filter_line(finder) {
        const { wanted } = finder, { npu } = this.page.graph;
        const types = types_of(npu).slice(0, most_types);
        const change = (key) => (event) => { wanted[key] = event.target.value; event.target.classList.toggle("set", event.target.value !== ""); finder.search(); };
        const dtypes = element("select", { id: "find-dtype", "aria-label": words("any dtype"), class: wanted.dtype ? "set" : "", onchange: change("dtype") }, element("option", { value: "" }, words("any dtype")));
        const metrics = element("select", { id: "find-metric", "aria-label": words("metric"), onchange: change("metric") }, element("option", { value: "" }, words("index")));
        npu.facts().then((facts) => {
            const add = (select, texts, chosen) => select.append(...texts.map((text) => element("option", { value: text, selected: text === chosen }, text)));
            add(dtypes, [...facts.dtypes.texts].sort(), wanted.dtype);
            add(metrics, [...facts.metrics], wanted.metric);
        });
        const bound = (key) => element("input", { class: "bound", id: `find-${key}`, type: "text", inputmode: "decimal", placeholder: words(key), "aria-label": `${words("index")} ${words(key)}`, value: wanted[key] ?? "", oninput: (event) => {
            const value = number_of_text(event.target.value);
            event.target.classList.toggle("bad", Number.isNaN(value) && event.target.value.trim() !== "");
            wanted[key] = Number.isNaN(value) ? null : value;
            this.search_later();
        } });
        return element("div", { class: "bar-line" },
            element("select", { id: "find-type", "aria-label": words("any type"), class: wanted.type ? "set" : "", onchange: change("type") }, element("option", { value: "" }, words("any type")),
                types.map(([type, count]) => element("option", { value: type, selected: type === wanted.type }, `${type} (${count})`))),
            dtypes,
            element("input", { type: "text", id: "find-shape", placeholder: words("shape has"), "aria-label": words("shape has"), value: wanted.shape, oninput: (event) => { wanted.shape = event.target.value; this.search_later(); } }),
            this.page.graphs.judged ? element("span", { class: "choice" }, metrics, bound("from"), "–", bound("to")) : null,
            element("button", { class: "link", type: "button", id: "clear", onclick: () => { Object.assign(wanted, { text: "", kind: "any", type: "", dtype: "", shape: "", from: null, to: null, metric: "" }); this.draw(); finder.search(); } }, words("clear")));
    }

    // Nothing was found; what has the name but is of another kind is one click away.
    nothing_found(finder) {
        if (!finder.of_other_kinds) return words("no matches");
        return element("button", { class: "link", type: "button", id: "find-any", onclick: () => { finder.wanted.kind = "any"; this.draw(); finder.search(); } },
            words("of other kinds", { kind: words(`find.${finder.wanted.kind}`), count: finder.of_other_kinds }));
    }

    draw_found() {
        const { finder } = this.page, at = this.page.found_at();
        this.search.classList.toggle("bad", finder.found === null);
        replace(this.found_note, finder.fault || (finder.busy ? words("searching") : finder.found === null ? words("bad expression") : finder.found.length ? words("matches", { at: at < 0 ? "–" : at + 1, count: finder.found.length })
            : finder.is_idle() ? "" : this.nothing_found(finder)));
    }
}
