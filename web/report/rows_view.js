// All rows: filters, the table, the pane of the row that is open.

import { breakable, element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text, number_of_text, number_text } from "../common/numbers.js";
import { remember, remembered } from "../common/choices.js";
import { VirtualTable } from "../common/virtual_table.js";
import { metric_ids, metric_words, standard_words } from "./metrics.js";
import { detail_draw } from "./detail_view.js";
import { empty_query, text_test, query_is_empty, query_rows, sort_rows } from "./query.js";
import { row_story } from "./why.js";
import { verdict_badge, verdict_class, verdict_failed, verdict_order, verdict_shown, verdict_words } from "../common/verdicts.js";

const typing_pause_ms = 180;
const code_columns = ["decided_by", "dtype", "shape", "direction", "standard", "reference", "api", "bench_dtype", "bench_shape"];
const text_columns = ["partner"];
const widths = { verdict: 104, name: 330, input: 150, dtype: 124, shape: 128, direction: 96, standard: 118, decided_by: 170, reference: 100,
    api: 150, bench_dtype: 124, bench_shape: 150, partner: 260 };
const first_metrics = ["allowance", "worst_ulp", "max_abs_error", "max_relative_error", "cosine", "rmse_quotient",
    "max_relative_quotient", "mean_relative_quotient", "binary_mismatch", "max_difference", "norm_relative_error"];

// What the table shows for a word of a column.
function code_label(id, text) {
    if (id === "verdict") return verdict_words(text);
    if (id === "standard") return standard_words(text);
    if (id === "decided_by") return metric_words(text);
    if (id === "direction") return words(text);
    return id.endsWith("dtype") ? text.replace(/^torch\./, "") : text;
}

export class RowsView {
    // on_state(): the query, the order or the open row changed
    constructor(results, on_state) {
        this.results = results;
        this.on_state = on_state;
        this.query = empty_query();
        this.sort = null;
        this.order = new Uint32Array(0);
        this.open = -1;
        this.shown_columns = this.default_columns();
        this.make_nodes();
    }

    // ---- columns ------------------------------------------------------------------------------

    available_columns() {
        const { columns, inputs } = this.results;
        const leading = metric_ids.slice(0, 2), others = metric_ids.slice(2);
        return ["verdict", "name", ...(inputs.length > 1 ? ["input"] : []),
            ...[...leading, ...code_columns, ...text_columns, ...others].filter((id) => columns.has(id))];
    }

    default_columns() {
        const available = this.available_columns();
        const metrics = first_metrics.filter((id) => available.includes(id)).slice(0, 5);
        const wanted = new Set(["verdict", "name", "input", "decided_by", "dtype", "shape", "standard", ...metrics]);
        const kept = (remembered("columns") ?? "").split(",").filter((id) => available.includes(id));
        return kept.length > 1 ? kept : available.filter((id) => wanted.has(id));
    }

    table_columns() {
        return this.shown_columns.map((id) => {
            const is_metric = metric_ids.includes(id);
            const title = is_metric ? metric_words(id) : words(`column.${id}`);
            return { id, title, width: widths[id] ?? Math.min(190, Math.max(104, 7.5 * title.length + 34)), numeric: is_metric, grow: id === "name", sortable: !text_columns.includes(id) };
        });
    }

    // ---- nodes ------------------------------------------------------------------------------------

    make_nodes() {
        this.table = new VirtualTable({
            columns: this.table_columns(), label: words("table"),
            draw: (cell, column, row) => this.draw_cell(cell, column, row),
            prepare: (rows) => this.prepare(rows),
            on_open: (row) => this.open_row(row),
            on_move: (row) => { if (this.open >= 0) this.open_row(row); },
            on_sort: (id) => this.toggle_sort(id),
            row_class: (row) => verdict_class(this.results.columns.text_of_code("verdict", this.ready.get("verdict")[row])),
            empty: () => words(this.results.rows ? "no rows match" : "no rows"),
        });
        this.ready = new Map();
        this.texts = new Map();
        this.bar = element("div", { class: "filters" });
        this.applied = Promise.resolve();
        this.pane = element("aside", { class: "detail", hidden: true, role: "dialog", "aria-labelledby": "detail-name" });
        this.node = element("div", { class: "rows-view" }, this.bar, element("div", { class: "rows-body" }, this.table.node, this.pane));
    }

    // Words, colours or columns changed: everything is drawn anew.
    refresh() {
        this.draw_bar();
        this.table.set_columns(this.table_columns());
        if (this.open >= 0) this.draw_detail();
    }

    async prepare(rows) {
        const { columns } = this.results;
        const jobs = [];
        for (const { id } of [{ id: "verdict" }, ...this.table.columns]) {
            const kind = columns.kind(id);
            if (kind === "numbers" && !this.ready.has(id)) jobs.push(columns.numbers(id).then((numbers) => this.ready.set(id, numbers)));
            if (kind === "codes" && !this.ready.has(id)) jobs.push(columns.codes(id).then((codes) => this.ready.set(id, codes)));
            if (kind === "texts") for (const row of rows) jobs.push(columns.text(id, row).then((text) => this.texts.set(`${id}/${row}`, text)));
        }
        if (this.texts.size > 4000) this.texts.clear();
        await Promise.all(jobs);
    }

    draw_cell(cell, { id }, row) {
        const { columns, inputs } = this.results;
        const kind = columns.kind(id);
        if (id === "input") {
            cell.append(inputs[this.results.input_of(row)].label);
        } else if (kind === "numbers") {
            const numbers = this.ready.get(id);
            if (!columns.is_blank(numbers, row)) cell.append(number_text(numbers.values[row]));
            if (id === "allowance" && numbers.values[row] > 1) cell.classList.add("beyond");
        } else if (kind === "codes") {
            const text = columns.text_of_code(id, this.ready.get(id)[row]);
            cell.append(id === "verdict" ? verdict_badge(text) : code_label(id, text));
            cell.title = text;
        } else {
            const text = this.texts.get(`${id}/${row}`) ?? "";
            cell.classList.add("mono");
            cell.append(text);
            cell.title = text;
        }
    }

    // ---- filters --------------------------------------------------------------------------------------

    draw_bar() {
        const { query, results } = this;
        const counts = verdict_order.map((verdict, at) => results.inputs.reduce((sum, input, index) =>
            query.input >= 0 && query.input !== index ? sum : sum + input.row_counts[0][at] + input.row_counts[1][at], 0));
        this.search = element("input", { type: "search", class: "search", placeholder: words("search"), "aria-label": words("search"), value: query.search, spellcheck: "false",
            oninput: (event) => { query.search = event.target.value; this.later(); } });
        const regular = element("button", { class: "toggle", type: "button", title: words("regular expression"), "aria-label": words("regular expression"),
            "aria-pressed": String(query.regular), onclick: () => { query.regular = !query.regular; regular.setAttribute("aria-pressed", String(query.regular)); this.apply(); } }, ".*");
        const chips = verdict_shown.filter((verdict) => counts[verdict_order.indexOf(verdict)]).map((verdict) => {
            const chip = element("button", { class: `chip ${verdict_class(verdict)}`, type: "button", "aria-pressed": String(query.verdicts.includes(verdict)) },
                verdict_badge(verdict), element("span", { class: "quiet" }, count_text(counts[verdict_order.indexOf(verdict)])));
            chip.addEventListener("click", () => {
                const on = !query.verdicts.includes(verdict);
                query.verdicts = on ? [...query.verdicts, verdict] : query.verdicts.filter((other) => other !== verdict);
                chip.setAttribute("aria-pressed", String(on));
                this.apply();
            });
            return chip;
        });
        this.status = element("span", { class: "status", role: "status", "aria-live": "polite" });
        this.fault = element("p", { class: "fault", role: "alert", hidden: true });
        replace(this.bar,
            element("div", { class: "filter-line" }, element("span", { class: "search-box" }, this.search, regular), chips, this.status),
            element("div", { class: "filter-line" }, this.input_select(), this.code_select("api", "any api"), this.code_select("dtype", "any dtype"),
                this.code_select("standard", "any standard"), this.code_select("direction", "any direction"),
                query.ranges.map((range) => this.range_box(range)), this.range_adder(), this.extra_chips(),
                this.clear = element("button", { class: "link", type: "button", hidden: query_is_empty(query), onclick: () => this.set_query({}) }, words("clear")),
                this.column_chooser()),
            this.fault);
        this.draw_status();
    }

    input_select() {
        if (this.results.inputs.length < 2) return null;
        return this.select(words("all inputs"), this.results.inputs.map((input, at) => [String(at), input.label]), this.query.input < 0 ? "" : String(this.query.input),
            (value) => { this.query.input = value === "" ? -1 : Number(value); this.draw_bar(); });
    }

    code_select(id, any) {
        const texts = this.results.columns.dictionary(id).filter((text) => text).sort();
        if (texts.length < 2) return null;
        return this.select(words(any), texts.map((text) => [text, id === "standard" ? standard_words(text) : id === "direction" ? words(text) : text]), this.query[id],
            (value) => { this.query[id] = value; });
    }

    select(any, options, value, change) {
        const node = element("select", { "aria-label": any, class: value ? "set" : "" }, element("option", { value: "" }, any),
            options.map(([key, text]) => element("option", { value: key }, text)));
        node.value = value;
        node.addEventListener("change", () => { node.classList.toggle("set", node.value !== ""); change(node.value); this.apply(); });
        return node;
    }

    range_box(range) {
        const bound = (key) => element("input", { class: "bound", type: "text", inputmode: "decimal", placeholder: words(key), "aria-label": `${metric_words(range.id)} ${words(key)}`,
            value: range[key] === null ? "" : String(range[key]), oninput: (event) => {
                const number = number_of_text(event.target.value);
                event.target.classList.toggle("bad", Number.isNaN(number) && event.target.value.trim() !== "");
                range[key] = Number.isNaN(number) ? null : number;
                this.later();
            } });
        return element("span", { class: "range" }, metric_words(range.id), bound("from"), bound("to"),
            element("button", { class: "small", type: "button", title: words("remove"), "aria-label": words("remove"),
                onclick: () => { this.query.ranges = this.query.ranges.filter((other) => other !== range); this.draw_bar(); this.apply(); } }, "✕"));
    }

    range_adder() {
        const ids = metric_ids.filter((id) => this.results.columns.has(id) && !this.query.ranges.some((range) => range.id === id));
        if (!ids.length) return null;
        const node = element("select", { "aria-label": words("add condition") }, element("option", { value: "" }, `+ ${words("add condition")}`),
            ids.map((id) => element("option", { value: id }, metric_words(id))));
        node.addEventListener("change", () => {
            this.query.ranges = [...this.query.ranges, { id: node.value, from: null, to: null }];
            this.draw_bar();
            this.bar.querySelector(".range:last-of-type .bound").focus();
        });
        return node;
    }

    extra_chips() {
        const { query } = this, chips = [];
        const chip = (text, clear) => element("span", { class: "range" }, element("span", { class: "clip", title: text }, text), element("button", { class: "small", type: "button", title: words("remove"), "aria-label": words("remove"),
            onclick: () => { clear(); this.draw_bar(); this.apply(); } }, "✕"));
        if (query.message) chips.push(chip(words("message is", { text: query.message }), () => { query.message = ""; }));
        if (query.call) chips.push(chip(query.call, () => { query.call = ""; }));
        if (query.changed) chips.push(chip(words("changed only"), () => { query.changed = false; }));
        return chips;
    }

    column_chooser() {
        const boxes = this.available_columns().map((id) => {
            const box = element("input", { type: "checkbox", checked: this.shown_columns.includes(id), disabled: id === "name" });
            box.addEventListener("change", () => {
                const wanted = new Set(this.shown_columns);
                if (box.checked) wanted.add(id);
                else wanted.delete(id);
                this.shown_columns = this.available_columns().filter((other) => wanted.has(other));
                remember("columns", this.shown_columns.join(","));
                this.table.set_columns(this.table_columns());
            });
            return element("label", {}, box, metric_ids.includes(id) ? metric_words(id) : words(`column.${id}`));
        });
        const menu = element("details", { class: "menu columns-menu" }, element("summary", {}, words("columns")), element("div", { class: "menu-list", tabindex: "-1" }, boxes));
        menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
        return menu;
    }

    // ---- applying -----------------------------------------------------------------------------------------

    later() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.apply(), typing_pause_ms);
    }

    set_query(query, sort = this.sort) {
        this.query = { ...empty_query(), ...query };
        this.sort = sort;
        this.draw_bar();
        return this.apply();
    }

    toggle_sort(id) {
        const same = this.sort && this.sort.id === id;
        const first = metric_ids.includes(id) ? -1 : 1;
        this.sort = !same ? { id, direction: first } : this.sort.direction === first ? { id, direction: -first } : null;
        this.apply();
    }

    apply() {
        this.applied = this.apply_query();
        return this.applied;
    }

    async apply_query() {
        const turn = this.turn = {};
        this.clear.hidden = query_is_empty(this.query);
        const is_stale = () => this.turn !== turn;
        this.fault.hidden = true;
        try {
            text_test(this.query);
        } catch (error) {
            this.fault.hidden = false;
            this.fault.textContent = words("bad expression", { reason: error.message.replace(/^Invalid regular expression: /, "") });
            return;
        }
        this.status.textContent = words("searching");
        const found = await query_rows(this.results, this.query, { is_stale, label: code_label, sentence: (row) => row_story(this.results, row) });
        if (!found || is_stale()) return;
        const order = await sort_rows(this.results, found, this.sort);
        if (is_stale()) return;
        this.order = order;
        this.table.show(order, this.sort);
        this.draw_status();
        const at = this.order.indexOf(this.open);
        if (at >= 0) this.table.select(at);
        this.on_state();
    }

    draw_status() {
        this.status.textContent = words("rows shown", { count: count_text(this.order.length), rows: count_text(this.results.rows) });
    }

    // ---- the open row ----------------------------------------------------------------------------------------

    open_row(row) {
        this.open = row;
        this.pane.hidden = false;
        this.node.classList.add("with-detail");
        this.draw_detail();
        this.on_state();
    }

    draw_detail() {
        detail_draw(this.pane, this.results, this.open, {
            open_row: (row) => this.open_row(row), close: () => this.close_row(), step: (direction) => this.step(direction),
            show_rows: (query) => this.set_query(query),
        });
    }

    close_row() {
        if (this.open < 0) return false;
        this.open = -1;
        this.pane.hidden = true;
        this.node.classList.remove("with-detail");
        this.table.node.focus();
        this.on_state();
        return true;
    }

    step(direction) {
        const at = this.order.indexOf(this.open);
        this.open_at(Math.max(0, Math.min(this.order.length - 1, at + direction)));
    }

    open_at(position) {
        if (!this.order.length) return;
        this.table.select(position);
        this.open_row(this.order[position]);
    }

    // The next row in the table's order that failed, from the open or selected one on.
    async step_failed(direction) {
        await this.applied;
        const codes = await this.results.columns.codes("verdict");
        const failed = this.results.columns.dictionary("verdict").map(verdict_failed);
        const start = this.open >= 0 ? this.order.indexOf(this.open) : this.table.selected;
        for (let at = start + direction; at >= 0 && at < this.order.length; at += direction)
            if (failed[codes[this.order[at]]]) return this.open_at(at);
    }

    focus_search() {
        this.search.focus();
        this.search.select();
    }
}
