// One row in full, in a pane beside the table.

import { chart_box } from "../common/charts.js";
import { copy_button } from "../common/clipboard.js";
import { breakable, element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text, number_text, share_text } from "../common/numbers.js";
import { theme_color } from "../common/theme.js";
import { metric_ids, metric_is_reached, metric_words, standard_words } from "./metrics.js";
import { stack_lines } from "./model.js";
import { limit_bar } from "./pieces.js";
import { verdict_badge, verdict_sign } from "../common/verdicts.js";
import { findings_of, plain_number, why_sentence } from "./why.js";

// Members of the evidence that have a place of their own; the others are listed as they are.
const placed = new Set(["decided by", "limits", "reference", "recomputed", "elements", "compared", "agreed without comparison",
    "mismatched", "unequal", "above", "below", "reference bound ulp", "kinds", "worst absolute", "worst relative",
    "worst ulp", "ulp histogram", "error over what rounding explains", "inputs", "repeat", "cut", "unreadable", "diagnosis", "reproducer", "where",
    "called from"]);

function part(title, ...content) {
    return element("section", { class: "part" }, element("h3", {}, title), content);
}

function command_box(title, text) {
    return part(title, element("div", { class: "command" }, element("code", { class: "mono" }, text), copy_button(text)));
}

// ---- limits --------------------------------------------------------------------------------------

function missing_evidence_part(input) {
    const failing_only = input.notes.some(([kind]) => kind === "failing evidence");
    return input.kind === "run" ? element("p", { class: "quiet" }, words(failing_only ? "failing evidence" : "no evidence")) : null;
}

function limits_part(evidence) {
    const limits = Array.isArray(evidence.limits) ? evidence.limits.filter((limit) => limit && typeof limit === "object") : [];
    if (!limits.length) return null;
    return part(words("limits"), element("table", { class: "plain limits" }, element("tbody", {}, limits.map((limit) => element("tr", { class: limit.holds ? "" : "broken" },
        element("td", {}, metric_words(String(limit.metric)), limit.metric === evidence["decided by"] ? element("span", { class: "pill" }, words("decided")) : null),
        element("td", { class: "numeric" }, words(metric_is_reached(limit.metric) ? "value least" : "value of limit",
            { value: number_text(plain_number(limit.value)), limit: number_text(plain_number(limit.limit)) })),
        element("td", { class: "bar-cell" }, limit_bar(limit)),
        element("td", { title: words(limit.holds ? "holds" : "broken limit") }, verdict_sign(limit.holds ? "pass" : "error")))))), element("p", { class: "quiet" }, words("limits hint")));
}

// ---- histogram -------------------------------------------------------------------------------------

// Bins from the smallest to the largest that holds something: [{ title, count }].
export function histogram_bins(histogram) {
    const filled = new Map();
    for (const [key, count] of Object.entries(histogram)) {
        const bound = /^<= (.+)$/.exec(key);
        const bin = key === "0" ? 0 : key === "more" ? 63 : bound ? Math.round(Math.log2(Number(bound[1]))) + 2 : NaN;
        if (bin >= 0 && bin < 64 && count > 0) filled.set(bin, count);
    }
    const last = Math.max(2, ...[...filled.keys()].filter((bin) => bin < 63));
    const bins = [];
    for (let bin = 0; bin <= last; bin++) bins.push({ bin, title: bin === 0 ? "0" : `≤ ${number_text(2 ** (bin - 2))}`, count: filled.get(bin) ?? 0 });
    if (filled.has(63)) bins.push({ bin: 63, title: words("more"), count: filled.get(63) });
    return bins;
}

function histogram_part(evidence) {
    const histogram = evidence["ulp histogram"];
    if (!histogram || typeof histogram !== "object" || !Object.keys(histogram).length) return null;
    const bins = histogram_bins(histogram);
    return part(words("histogram"), chart_box(() => ({
        type: "bar",
        data: { labels: bins.map((bin) => bin.title), datasets: [{ data: bins.map((bin) => bin.count || null), minBarLength: 3,
            backgroundColor: bins.map((bin) => theme_color(bin.bin <= 2 ? "accent" : "warning")), categoryPercentage: 0.95, barPercentage: 0.95 }] },
        options: {
            scales: { y: { type: "logarithmic", min: 0.5, title: { display: true, text: words("elements") }, ticks: { callback: (value) => Number.isInteger(Math.log10(value)) ? number_text(value) : "" } },
                x: { grid: { display: false }, title: { display: true, text: "ulp" } } },
            plugins: { legend: { display: false } },
        },
    }), { height: 180, label: words("histogram") }));
}

// ---- worst elements, trust ----------------------------------------------------------------------------

function worst_part(evidence) {
    const rows = ["worst absolute", "worst relative", "worst ulp"].filter((key) => evidence[key] && typeof evidence[key] === "object");
    if (!rows.length) return null;
    return part(words("worst elements"), element("div", { class: "scroll-box" }, element("table", { class: "plain" },
        element("thead", {}, element("tr", {}, element("th", {}, words("by")), ["index", "want", "got", "error value"].map((key) => element("th", { class: "numeric" }, words(key))))),
        element("tbody", {}, rows.map((key) => {
            const worst = evidence[key];
            return element("tr", {}, element("td", {}, words(`worst.${key}`)), element("td", { class: "numeric mono", title: String(worst.index ?? "") }, String(worst.at ?? worst.index ?? "")),
                [worst.want, worst.got].map((value) => element("td", { class: "numeric mono", title: String(value) }, number_text(value, 9))),
                element("td", { class: "numeric mono" }, number_text(worst.error, 6)));
        })))), typeof evidence.where === "string" ? element("p", {}, words("where", { places: evidence.where })) : null);
}

function trust_part(evidence, reference) {
    const lines = [];
    const bound = evidence["reference bound ulp"];
    if (reference) lines.push(words(`reference.${reference}`, { bound: number_text(plain_number(bound), 3) }));
    if (evidence.recomputed > 0) lines.push(words("recomputed", { count: number_text(evidence.recomputed) }));
    if (typeof evidence["error over what rounding explains"] === "number")
        lines.push(words("rounding explains", { times: words("times", { n: number_text(evidence["error over what rounding explains"], 3) }) }));
    if (typeof evidence.elements === "number") lines.push(words("compared", Object.fromEntries(["compared", "elements", "unequal", "above", "below"].map((key) => [key, number_text(evidence[key] ?? 0)]))));
    const kinds = evidence.kinds && typeof evidence.kinds === "object" ? Object.entries(evidence.kinds) : [];
    if (kinds.length > 1 || kinds.some(([kind]) => kind !== "want finite, got finite"))
        lines.push(`${words("kinds")}: ${kinds.map(([kind, count]) => `${kind} ${number_text(count)}`).join(", ")}`);
    return lines.length ? part(words("trust"), element("ul", { class: "lines" }, lines.map((line) => element("li", {}, line)))) : null;
}

// ---- the rest ----------------------------------------------------------------------------------------------

function value_text(value) {
    return typeof value === "string" ? value : typeof value === "number" ? number_text(value, 6) : JSON.stringify(value, null, 1);
}

// Mistakes that would explain the row, each with the share of the error that it explains.
function diagnosis_part(evidence) {
    const findings = findings_of(evidence);
    if (!findings.length) return evidence.diagnosis ? part(words("diagnosis"), element("p", { class: "prose" }, value_text(evidence.diagnosis))) : null;
    const item = (finding) => {
        if (finding.class === "unknown") return element("li", { class: "quiet" }, words("diagnosis.unknown"));
        const numbers = Object.fromEntries(["exact", "close", "elements"].map((key) => [key, number_text(finding[key])]));
        return element("li", { class: "finding" }, element("div", { class: "finding-head" }, element("b", {}, finding.mistake), element("span", { class: "pill quiet" }, finding.class)),
            Number.isNaN(finding.explains) ? null : element("div", { class: "finding-share" }, element("span", { class: "share-bar", "aria-hidden": "true" },
                element("span", { style: { width: `${100 * Math.max(0, Math.min(1, finding.explains))}%` } })), words("diagnosis.explains", { share: share_text(finding.explains, 1) })),
            Number.isNaN(finding.elements) ? null : element("p", { class: "quiet" }, words("diagnosis.elements", numbers)));
    };
    return part(words("diagnosis"), element("ol", { class: "lines findings" }, findings.map(item)));
}

function text_parts(evidence) {
    const parts = [];
    if (evidence.reproducer) parts.push(command_box(words("reproducer"), value_text(evidence.reproducer)));
    if (typeof evidence["called from"] === "string") parts.push(command_box(words("called from"), evidence["called from"]));
    if (Array.isArray(evidence.inputs)) parts.push(part(words("inputs notes"), element("ul", { class: "lines" }, evidence.inputs.map((line) => element("li", {}, value_text(line))))));
    return parts;
}

function metrics_part(numbers, evidence) {
    const rows = [...numbers].map(([id, value]) => [metric_words(id), number_text(value, 6)]);
    for (const [key, value] of Object.entries(evidence ?? {})) if (!placed.has(key)) rows.push([key, value_text(value)]);
    if (!rows.length) return null;
    return part(words("all metrics"), element("table", { class: "plain pairs" }, element("tbody", {},
        rows.map(([name, text]) => element("tr", {}, element("td", {}, name), element("td", { class: "numeric mono" }, text))))));
}

async function beside_part(results, row, actions) {
    const others = await results.namesakes(row);
    if (!others.size) return null;
    const sides = [[results.input_of(row), row], ...others].sort((a, b) => a[0] - b[0]);
    const ids = metric_ids.filter((id) => results.columns.has(id));
    const columns = await Promise.all(sides.map(async ([input, at]) => ({ input, at, verdict: await results.verdict(at), numbers: await results.numbers(at, ids) })));
    const used = ids.filter((id) => columns.some(({ numbers }) => numbers.has(id)));
    return part(words("beside"), element("div", { class: "scroll-box" }, element("table", { class: "plain pairs" },
        element("thead", {}, element("tr", {}, element("th", {}), columns.map(({ input, at }) => element("th", { class: "numeric" },
            at === row ? results.inputs[input].label : element("button", { class: "link", type: "button", onclick: () => actions.open_row(at) }, results.inputs[input].label))))),
        element("tbody", {}, element("tr", {}, element("td", {}, words("column.verdict")), columns.map(({ verdict }) => element("td", { class: "numeric" }, verdict_badge(verdict)))),
            used.map((id) => element("tr", {}, element("td", {}, metric_words(id)), columns.map(({ numbers }) => element("td", { class: "numeric mono" }, numbers.has(id) ? number_text(numbers.get(id)) : ""))))))));
}

async function facts_line(results, row) {
    const facts = [];
    for (const id of ["direction", "dtype", "bench_dtype", "shape", "bench_shape", "standard"]) {
        const text = await results.code_text(id, row);
        if (text) facts.push(element("span", { class: "fact", title: words(`column.${id}`) }, id === "standard" ? standard_words(text) : id === "direction" ? words(text) : text));
    }
    return element("p", { class: "facts" }, facts);
}

// Fill `pane` with the row. actions: { open_row, close, step(direction), show_rows }
export async function detail_draw(pane, results, row, actions) {
    const turn = pane.turn = {};
    const [name, verdict, reason, facts, numbers, beside, reference, stack, partner] = await Promise.all([
        results.columns.text("name", row), results.verdict(row), results.reason(row), facts_line(results, row),
        results.numbers(row, metric_ids), beside_part(results, row, actions), results.code_text("reference", row),
        results.stack(row), results.columns.text("partner", row)]);
    if (pane.turn !== turn) return;
    const evidence = reason.evidence, usable = evidence && !evidence.unreadable ? evidence : null;
    const call = name.replace(/\.(forward|backward)\..*$/, "");
    replace(pane,
        element("header", { class: "detail-head" },
            element("div", { class: "detail-tools" },
                element("span", { class: "quiet" }, words("row number", { row: count_text(row + 1), rows: count_text(results.rows) })),
                element("button", { class: "small", type: "button", onclick: () => actions.step(-1), title: words("previous"), "aria-label": words("previous") }, "↑"),
                element("button", { class: "small", type: "button", onclick: () => actions.step(1), title: words("next"), "aria-label": words("next") }, "↓"),
                element("button", { class: "small", type: "button", onclick: () => actions.close(), title: words("close"), "aria-label": words("close") }, "✕")),
            element("h2", { class: "mono", id: "detail-name" }, breakable(name)),
            element("div", { class: "detail-verdict" }, verdict_badge(verdict),
                results.inputs.length > 1 ? element("span", { class: "pill quiet" }, results.inputs[results.input_of(row)].label) : null,
                element("button", { class: "link", type: "button", onclick: () => actions.show_rows({ call }) }, words("show in table"))),
            verdict === "pass" || verdict === "" ? null : element("p", { class: "why" }, why_sentence({ ...reason, evidence: usable })),
            facts, partner && partner !== name ? element("p", { class: "quiet" }, words("column.partner"), ": ", element("span", { class: "mono" }, breakable(partner))) : null),
        usable ? diagnosis_part(usable) : null,
        usable ? limits_part(usable) : null,
        usable ? histogram_part(usable) : null,
        usable ? worst_part(usable) : null,
        usable ? trust_part(usable, reference) : null,
        usable ? text_parts(usable) : null,
        usable && typeof usable.repeat === "string" ? command_box(words("repeat"), usable.repeat) : null,
        beside,
        reason.message.trim() ? part(words("message"), element("p", { class: "prose" }, reason.message.trim())) : null,
        stack ? command_box(words("stack"), stack_lines(stack)) : null,
        metrics_part(numbers, usable),
        evidence ? evidence.unreadable ? element("p", { class: "quiet" }, words("unreadable evidence")) : evidence.cut ? element("p", { class: "quiet" }, words("cut evidence")) : null
            : missing_evidence_part(results.inputs[results.input_of(row)]));
    pane.scrollTop = 0;
}
