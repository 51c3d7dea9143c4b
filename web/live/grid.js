// Ranks down, steps across: a square for the calls of one step on one rank.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text } from "../common/numbers.js";
import { verdict_bar, verdict_class, verdict_order, verdict_words } from "../common/verdicts.js";

const by_weight = ["error", "warning", "pass", "SKIP"];
const count_of = (calls, verdict) => calls[verdict_order.indexOf(verdict)];

// What the square of these counts shows: the verdict that colours it, and its number.
export function square_of(calls) {
    const verdict = by_weight.find((one) => count_of(calls, one)) ?? "";
    const bad = verdict === "error" || verdict === "warning";
    return { verdict, number: bad ? count_of(calls, verdict) : 0 };
}

export function short_count(count) {
    if (count < 1000) return String(count);
    return count < 1e6 ? `${Math.floor(count / 1e3)}k` : `${Math.floor(count / 1e6)}M`;
}

function counts_words(calls) {
    return by_weight.filter((verdict) => count_of(calls, verdict)).map((verdict) => `${count_text(count_of(calls, verdict))} ${verdict_words(verdict)}`).join(", ");
}

function square(rank, step, calls) {
    if (!calls) return element("td", {});
    const { verdict, number } = square_of(calls);
    const label = words("cell", { rank, step, counts: counts_words(calls) });
    return element("td", {}, element("span", { class: `square ${verdict_class(verdict)}`, title: label, role: "img", "aria-label": label }, number ? short_count(number) : ""));
}

// Between steps that do not follow each other there is a gap.
function step_heads(steps) {
    return steps.map((step, i) => element("th", { scope: "col", class: i && step !== steps[i - 1] + 1 ? "step gap" : "step" }, String(step)));
}

export function rank_grid(facts) {
    const cells = new Map(facts.cells.map(([rank, step, ...calls]) => [`${rank}/${step}`, calls]));
    const head = element("tr", {}, element("th", { scope: "col" }, words("rank")), element("th", { scope: "col", class: "all" }, words("all steps")), step_heads(facts.steps));
    const rows = facts.ranks.map(([rank, ...calls]) => element("tr", { "data-rank": String(rank) },
        element("th", { scope: "row" }, String(rank)),
        element("td", { class: "all", title: counts_words(calls) }, verdict_bar(calls)),
        facts.steps.map((step) => square(rank, step, cells.get(`${rank}/${step}`)))));
    return element("section", { class: "panel" },
        element("h2", {}, words("grid"), element("span", { class: "hint" }, words("grid.hint", { count: 24 }))),
        element("div", { class: "grid-box" }, element("table", { class: "grid" }, element("thead", {}, head), element("tbody", {}, rows))),
        element("p", { class: "quiet small-print" }, words("legend")));
}
