// Why a row has its verdict, in one sentence.

import { number_text } from "../common/numbers.js";
import { words } from "../common/language.js";
import { metric_is_reached, metric_is_yes_or_no, metric_words } from "./metrics.js";

// Limits and worst elements have "inf" and "nan" where JSON has no number.
export function plain_number(value) {
    return value === "inf" ? Infinity : value === "-inf" ? -Infinity : typeof value === "number" ? value : NaN;
}

function capital(text) {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

// The limit that decided: the one that the evidence names, or the first that is broken.
export function deciding_limit(evidence) {
    const limits = Array.isArray(evidence.limits) ? evidence.limits : [];
    const broken = limits.filter((limit) => limit && limit.holds === false);
    return broken.find((limit) => limit.metric === evidence["decided by"]) ?? broken[broken.length - 1];
}

function limit_sentence(limit) {
    const value = plain_number(limit.value), allowed = plain_number(limit.limit);
    const metric = capital(metric_words(limit.metric));
    if (metric_is_yes_or_no(limit.metric)) return words("why.differs", { metric: metric_words(limit.metric) });
    if (Number.isNaN(value)) return words("why.not a number", { metric, value: "NaN" });
    const shown = { metric, value: number_text(value), limit: number_text(allowed) };
    if (metric_is_reached(limit.metric)) return words("why.limit least", shown);
    if (allowed === 0) return words("why.zero", shown);
    return words("why.limit most", { ...shown, times: words("times", { n: number_text(plain_number(limit.used), 3) }) });
}

function worst_sentence(evidence) {
    const kinds = evidence.kinds && typeof evidence.kinds === "object" ? Object.entries(evidence.kinds) : [];
    for (const [kind, count] of kinds) {
        const pair = /^want (.+), got (.+)$/.exec(kind);
        if (pair && pair[1] !== pair[2]) return words("why.kinds", { count: number_text(count), want: pair[1], got: pair[2] });
    }
    const worst = evidence["worst relative"] ?? evidence["worst absolute"];
    if (!worst || typeof worst !== "object") return "";
    return words("why.worst", { index: typeof worst.at === "string" ? worst.at : worst.index, want: number_text(worst.want, 6), got: number_text(worst.got, 6) });
}

function checksums_sentence({ got, want }) {
    return got && want && got !== want ? words("why.checksums", { got, want }) : "";
}

// What the files say, and the numbers that say most where there is no limit to name.
function message_sentence(message, checksums, telling) {
    const text = message.replace(/\s+/g, " ").trim() || checksums_sentence(checksums);
    const numbers = telling.map(({ metric, value }) => words("why.metric", { metric: capital(metric_words(metric)), value: number_text(value) }));
    return [text, ...numbers].filter(Boolean).join(words("sentence gap")) || words("why.unknown");
}

// evidence: of the row, or null; message: of the row; decided: { metric, value } or null; checksums: { got, want }, "" without; telling: a
// list of { metric, value }
export function why_sentence({ evidence, message, decided, checksums = {}, telling = [] }) {
    const limit = evidence ? deciding_limit(evidence) : null;
    if (limit) return [limit_sentence(limit), worst_sentence(evidence)].filter(Boolean).join(words("sentence gap"));
    if (decided) return words("why.decided", { metric: capital(metric_words(decided.metric)), value: number_text(decided.value) });
    return message_sentence(message, checksums, telling);
}

// What a failing row looks like, likeliest first: [{ mistake, class, explains, exact, close, elements }] with NaN for
// numbers that are not there. A mistake that is not known has the class "unknown".
export function findings_of(evidence) {
    const number = (value) => typeof value === "number" ? value : NaN;
    if (!Array.isArray(evidence.diagnosis)) return [];
    return evidence.diagnosis.filter((finding) => finding && typeof finding === "object").map((finding) => ({
        mistake: String(finding.mistake ?? finding.text ?? finding.class ?? ""), class: String(finding.class ?? ""), explains: number(finding.explains),
        exact: number(finding.exact), close: number(finding["within rounding"]), elements: number(finding.elements) }));
}

// All that is told of why a row has its verdict, to search in.
export async function row_story(results, row) {
    const reason = await results.reason(row), evidence = reason.evidence?.unreadable ? null : reason.evidence;
    const more = evidence ? [...findings_of(evidence).flatMap((finding) => [finding.mistake, finding.class]), evidence["called from"], evidence.where] : [];
    return [why_sentence({ ...reason, evidence }), ...more].filter((text) => typeof text === "string").join("\n");
}
