// The first screen: what was checked, the verdicts, what went wrong and why, errors along the order of
// execution, what was skipped and why, where the time went. All but the sentences comes from the
// description of the data, so that it stands at once however many rows there are.

import { breakable, element } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text, seconds_text, share_text } from "../common/numbers.js";
import { limit_bar, panel } from "./pieces.js";
import { order_chart } from "./order_chart.js";
import { beside_chart } from "./beside_chart.js";
import { verdict_badge, verdict_bar, verdict_class, verdict_order, verdict_shown, verdict_words } from "../common/verdicts.js";
import { deciding_limit, why_sentence } from "./why.js";

const worst_shown = 8, reasons_shown = 8, apis_shown = 10;

// ---- what was checked -----------------------------------------------------------------------------

function input_facts(input) {
    const run = input.run && typeof input.run === "object" ? input.run : {};
    const facts = [words(`kind.${input.kind}`)];
    if (input.npu) facts.push(words("sides", { npu: input.npu, bench: input.bench }));
    if (run.backend) facts.push(words("backend", { name: run.backend }));
    if (run.profile) facts.push(words("profile", { name: run.profile }));
    if (run.seed !== undefined) facts.push(words("seed", { name: run.seed }));
    if (run.blas_core) facts.push(words("blas", { name: run.blas_core }));
    const about = run.about && typeof run.about === "object" ? run.about : {};
    if (about.device) facts.push(words("device name", { name: about.device }));
    if (about.host) facts.push(words("host", { name: about.host }));
    if (about.dump) facts.push(words("dump", { name: about.dump }));
    if (run.dump_digest) facts.push(words("dump digest", { name: run.dump_digest }));
    if (run.version) facts.push(words("made by", { name: `probe-ut ${run.version}` }));
    return facts;
}

// The time in the names of the files, 20261120192933.
export function input_time(input) {
    const stamp = /(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec((input.files[0] ?? "").split("/").pop());
    return stamp ? `${stamp[1]}-${stamp[2]}-${stamp[3]} ${stamp[4]}:${stamp[5]}:${stamp[6]}` : "";
}

function failed_count_of(results) {
    return results.inputs.reduce((sum, input) => sum + count_of(input, "error") + count_of(input, "warning"), 0);
}

// How many outputs failed, and where it began.
function outcome_line(results, actions) {
    const failed = failed_count_of(results);
    if (!failed) return element("p", { class: "good" }, words("all passed"));
    const first = results.inputs.find((input) => input.first_failed !== undefined).first_failed;
    const link = element("button", { class: "link mono", type: "button", onclick: () => actions.open_row(first) });
    results.columns.text("name", first).then((name) => link.append(breakable(name)));
    return element("p", { class: "outcome" }, words("some failed", { count: count_text(failed) }), " ", link);
}

// Of a comparison of two dumps: the output to look at first.
function has_origin(input) {
    return input.origin !== undefined && count_of(input, "error") + count_of(input, "warning") > 0;
}

function origin_link(results, input, actions) {
    const link = element("button", { class: "link mono", type: "button", onclick: () => actions.open_row(input.origin) });
    results.columns.text("name", input.origin).then((name) => link.append(breakable(name)));
    return link;
}

function origin_line(results, input, actions) {
    if (!has_origin(input)) return null;
    return element("p", { class: "outcome" }, input.origin === null ? words("no origin") : [words("origin"), " ", origin_link(results, input, actions)]);
}

function origin_cell(results, input, actions) {
    if (!has_origin(input)) return element("td", {});
    return element("td", { title: words(input.origin === null ? "no origin" : "origin") },
        input.origin === null ? element("span", { class: "quiet" }, words("through inputs")) : origin_link(results, input, actions));
}

// What somebody chose not to keep stands in small print; the other notes have a panel.
const evidence_notes = ["no evidence", "failing evidence"];

function missing_evidence(results) {
    return evidence_notes.map((wanted) => {
        const inputs = results.inputs.filter((input) => input.notes.some(([kind]) => kind === wanted));
        const number = inputs.flatMap((input) => input.notes).filter(([kind]) => kind === wanted).reduce((sum, note) => sum + note[1], 0);
        return inputs.length ? element("p", { class: "quiet small-print" },
            words(`note.${wanted}`, { input: inputs.map((input) => input.label).join(", "), number: count_text(number) })) : null;
    });
}

function checked_panel(results, actions) {
    const single = results.inputs.length === 1;
    const calls = results.inputs.reduce((sum, input) => sum + input.calls, 0);
    const runs_only = results.inputs.every((input) => input.kind === "run" || input.kind === "three-way");
    const lead = element("p", { class: "lead" }, words(runs_only ? "outputs of calls" : "rows of calls", { rows: count_text(results.rows), calls: count_text(calls) }));
    if (single) {
        const input = results.inputs[0];
        return panel(words("what was checked"), null, lead, outcome_line(results, actions), origin_line(results, input, actions),
            element("p", { class: "facts" }, [input_time(input), ...input_facts(input)].filter(Boolean).map((fact) => element("span", { class: "fact" }, fact))),
            element("details", { class: "files" }, element("summary", {}, words("files")),
                element("ul", {}, input.files.map((file) => element("li", { class: "mono" }, breakable(file))))), missing_evidence(results));
    }
    return panel(words("what was checked"), null, lead, outcome_line(results, actions), missing_evidence(results));
}

function inputs_panel(results, actions) {
    return results.inputs.length > 1 ? panel(words("inputs"), null, inputs_table(results, actions)) : null;
}

function inputs_table(results, actions) {
    const shown = verdict_shown.filter((verdict) => results.inputs.some((input) => count_of(input, verdict)));
    const origins = results.inputs.some(has_origin);
    return element("div", { class: "scroll-box inputs-box" }, element("table", { class: "plain inputs" },
        element("thead", {}, element("tr", {}, element("th", {}, words("input")), element("th", {}, words("details of")), origins ? element("th", {}, words("arises at")) : null,
            shown.map((verdict) => element("th", { class: "numeric" }, verdict_words(verdict))), element("th", {}))),
        element("tbody", {}, results.inputs.map((input, at) => element("tr", {},
            element("td", {}, element("button", { class: "link", type: "button", onclick: () => actions.show_rows({ input: at }) }, breakable(input.label))),
            element("td", { class: "quiet" }, [input_time(input), ...input_facts(input).slice(0, 3)].filter(Boolean).join(" · ")),
            origins ? origin_cell(results, input, actions) : null,
            shown.map((verdict) => element("td", { class: "numeric" }, count_button(count_of(input, verdict), verdict,
                () => actions.show_rows({ input: at, verdicts: [verdict] })))),
            element("td", { class: "bar-cell" }, verdict_bar(both_directions(input))))))));
}

// ---- verdicts ----------------------------------------------------------------------------------------

function count_of(input, verdict) {
    const at = verdict_order.indexOf(verdict);
    return input.row_counts[0][at] + input.row_counts[1][at];
}

function both_directions(input) {
    return verdict_order.map((verdict) => count_of(input, verdict));
}

function count_button(count, verdict, open) {
    if (!count) return element("span", { class: "quiet" }, "0");
    return element("button", { class: `link count ${verdict_class(verdict)}`, type: "button", onclick: open }, count_text(count));
}

function sum_counts(results, key) {
    const sum = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]];
    for (const input of results.inputs)
        for (const direction of [0, 1]) input[key][direction].forEach((count, at) => { sum[direction][at] += count; });
    return sum;
}

function verdicts_panel(results, actions) {
    const rows = sum_counts(results, "row_counts"), calls = sum_counts(results, "call_counts");
    const all = verdict_order.map((verdict, at) => rows[0][at] + rows[1][at]);
    const tiles = verdict_shown.filter((verdict) => verdict || all[0]).map((verdict) => {
        const count = all[verdict_order.indexOf(verdict)];
        return element("button", { class: `tile ${verdict_class(verdict)}`, type: "button", disabled: !count,
            onclick: () => actions.show_rows({ verdicts: [verdict] }) },
            element("span", { class: "tile-count" }, count_text(count)), verdict_badge(verdict),
            element("span", { class: "quiet" }, share_text(count, results.rows)));
    });
    const line = (label, counts) => element("tr", {}, element("th", { scope: "row" }, label),
        verdict_shown.map((verdict) => element("td", { class: "numeric" }, count_text(counts[verdict_order.indexOf(verdict)]))));
    const counted = results.inputs.some(({ kind }) => kind === "dumps") ? "by input and output" : "by output";
    return panel(words("verdicts"), words(counted), element("div", { class: "tiles" }, tiles), verdict_bar(all),
        element("table", { class: "plain small-table" },
            element("thead", {}, element("tr", {}, element("th", {}), verdict_shown.map((verdict) => element("th", { class: "numeric" }, verdict_words(verdict))))),
            element("tbody", {}, line(words("calls forward"), calls[0]), line(words("calls backward"), calls[1]))));
}

// ---- what went wrong -----------------------------------------------------------------------------------

// The worst rows of all inputs, taken in turns, so that no input hides another.
export function worst_rows(results, most) {
    const rows = [];
    for (let turn = 0; rows.length < most; turn++) {
        const next = results.inputs.map((input) => input.worst[turn]).filter((row) => row !== undefined);
        if (!next.length) break;
        rows.push(...next);
    }
    return rows.slice(0, most);
}

async function worst_item(results, row, actions, is_first) {
    const [name, verdict, reason] = await Promise.all([results.columns.text("name", row), results.verdict(row), results.reason(row)]);
    const limit = reason.evidence ? deciding_limit(reason.evidence) : null;
    return element("li", {}, element("button", { class: "worst", type: "button", onclick: () => actions.open_row(row) },
        element("span", { class: "worst-head" }, verdict_badge(verdict), element("span", { class: "mono name" }, breakable(name)),
            is_first ? element("span", { class: "pill" }, words("first failed")) : null,
            results.inputs.length > 1 ? element("span", { class: "pill quiet" }, results.inputs[results.input_of(row)].label) : null),
        element("span", { class: "why" }, why_sentence(reason)),
        limit ? limit_bar(limit) : null));
}

function worst_panel(results, actions) {
    const list = element("ol", { class: "worst-list" });
    const failed = failed_count_of(results);
    if (!failed) return results.columns.has("allowance") ? element("section", { class: "panel strip" },
        element("button", { class: "more", type: "button", onclick: () => actions.show_rows({}, { id: "allowance", direction: -1 }) }, words("show closest"))) : null;
    const firsts = results.inputs.map((input) => input.first_failed).filter((row) => row !== undefined);
    const rows = worst_rows(results, worst_shown);
    if (results.inputs.length === 1 && !rows.includes(firsts[0])) rows.splice(-1, 1, firsts[0]);
    rows.forEach(async (row) => {
        const holder = element("li", {});
        list.append(holder);
        holder.replaceWith(await worst_item(results, row, actions, firsts.includes(row)));
    });
    return panel(words("worst"), words("worst hint"), list, failed > rows.length ?
        element("button", { class: "more", type: "button", onclick: () => actions.show_rows({ verdicts: ["error", "warning"] }, { id: "allowance", direction: -1 }) },
            words("show all failed", { count: count_text(failed) })) : null);
}

// ---- skipped, time ---------------------------------------------------------------------------------------

function skipped_panel(results, actions) {
    const reasons = new Map();
    let otherwise = 0;
    for (const input of results.inputs) {
        otherwise += input.skipped_otherwise;
        for (const [count, text] of input.skipped) reasons.set(text, (reasons.get(text) ?? 0) + count);
    }
    const sorted = [...reasons].sort((a, b) => b[1] - a[1]);
    for (const [, count] of sorted.splice(reasons_shown)) otherwise += count;
    if (!sorted.length) return panel(words("skipped"), null, element("p", { class: "good" }, words("nothing skipped")));
    return panel(words("skipped"), null, element("table", { class: "plain reasons" }, element("tbody", {},
        sorted.map(([text, count]) => element("tr", {}, element("td", { class: "numeric" }, count_text(count)),
            element("td", {}, element("button", { class: "link", type: "button", onclick: () => actions.show_rows({ verdicts: ["SKIP"], message: text }) },
                text || words("no reason"))))),
        otherwise ? element("tr", {}, element("td", { class: "numeric" }, count_text(otherwise)), element("td", { class: "quiet" }, words("other reasons"))) : null)));
}

const phases = ["reference", "device", "comparison"];

function time_bar(seconds, most) {
    return element("span", { class: "time-bar", title: phases.map((phase, at) => `${words(phase)} ${seconds_text(seconds[at])}`).join(" · ") },
        phases.map((phase, at) => element("span", { class: phase, style: { width: `${100 * seconds[at] / most}%` } })));
}

const sum = (list) => list.reduce((total, value) => total + value, 0);

function time_panel(results, actions) {
    const timed = results.inputs.filter((input) => input.time.calls);
    if (!results.inputs.some((input) => input.kind === "run")) return null;
    if (!timed.length) return panel(words("time"), null, element("p", { class: "quiet" }, words("no time")));
    const total = [0, 0, 0], apis = new Map();
    let calls = 0;
    for (const { time } of timed) {
        calls += time.calls;
        time.seconds.forEach((seconds, at) => { total[at] += seconds; });
        for (const [name, count, seconds] of time.apis) {
            const entry = apis.get(name) ?? { count: 0, seconds: [0, 0, 0] };
            entry.count += count;
            seconds.forEach((part, at) => { entry.seconds[at] += part; });
            apis.set(name, entry);
        }
    }
    const slow = [...apis].sort((a, b) => sum(b[1].seconds) - sum(a[1].seconds)).slice(0, apis_shown);
    const most = Math.max(...slow.map(([, entry]) => sum(entry.seconds)));
    const slowest = timed.flatMap((input) => input.time.slowest).sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, 3);
    return panel(words("time"), null,
        element("p", {}, words("time of", { calls: count_text(calls), seconds: seconds_text(sum(total)), reference: share_text(total[0], sum(total)),
            device: share_text(total[1], sum(total)), comparison: share_text(total[2], sum(total)) })),
        element("p", { class: "legend" }, phases.map((phase) => element("span", { class: `swatch ${phase}` }, words(phase)))),
        element("table", { class: "plain times" }, element("tbody", {}, slow.map(([name, entry]) => element("tr", {},
            element("td", {}, element("button", { class: "link mono", type: "button", onclick: () => actions.show_rows({ api: name }, { id: "call_seconds", direction: -1 }) }, breakable(name))),
            element("td", { class: "quiet numeric" }, words("calls count", { count: count_text(entry.count) })),
            element("td", { class: "numeric" }, seconds_text(sum(entry.seconds))),
            element("td", { class: "bar-cell" }, time_bar(entry.seconds, most)))))),
        element("p", { class: "quiet" }, words("slowest"), ": ", slowest.map(([name, seconds], at) => [at ? ", " : "",
            element("button", { class: "link mono", type: "button", onclick: () => actions.show_rows({ call: name }) }, breakable(name)), ` ${seconds_text(sum(seconds))}`])));
}

// ---- about the files ---------------------------------------------------------------------------------------

function notes_panel(results) {
    const lines = results.inputs.flatMap((input) => input.notes.filter(([kind]) => !evidence_notes.includes(kind)).map(([kind, number, text]) =>
        words(`note.${kind}`, { input: input.label, number: count_text(number), text })));
    if (!lines.length) return null;
    return element("section", { class: "panel notes", role: "note" }, element("h2", {}, words("notes")),
        element("ul", {}, lines.map((line) => element("li", {}, line))));
}

function changes_panel(results, actions) {
    const { base } = results.compared_inputs();
    if (base < 0) return null;
    const holder = element("div", {});
    results.changed().then((flags) => {
        const { first, rows } = results.inputs[base];
        const count = flags.reduce((total, flag, row) => row >= first && row < first + rows ? total : total + flag, 0);
        if (!count) return;
        holder.append(element("section", { class: "panel strip" }, element("p", {}, words("differ", { count: count_text(count), first: results.inputs[base].label }), " ",
            element("button", { class: "more", type: "button", onclick: () => actions.show_rows({ changed: true }) }, words("show them")))));
    });
    return holder;
}

// actions: { show_rows(query, sort), open_row(row) }
export function overview_view(results, actions) {
    if (!results.rows) return element("div", { class: "overview" }, notes_panel(results), checked_panel(results, actions),
        element("p", { class: "quiet empty" }, words("no rows")));
    return element("div", { class: "overview" },
        notes_panel(results),
        element("div", { class: "columns top" }, checked_panel(results, actions), verdicts_panel(results, actions)),
        inputs_panel(results, actions),
        changes_panel(results, actions),
        worst_panel(results, actions),
        order_chart(results, actions),
        beside_chart(results, actions),
        element("div", { class: "columns" }, skipped_panel(results, actions), time_panel(results, actions)),
        element("p", { class: "quiet foot" }, results.meta.program));
}
