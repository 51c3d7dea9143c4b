// Verdicts: a sign besides the colour, so that nobody needs to tell colours apart.

import { element } from "./elements.js";
import { words } from "./language.js";

// In the order of the counts in the page's data.
export const verdict_order = ["", "pass", "warning", "error", "SKIP"];
// In the order of interest.
export const verdict_shown = ["error", "warning", "pass", "SKIP", ""];

const signs = { error: "✕", warning: "!", pass: "✓", SKIP: "–", "": "·" };
const classes = { error: "error", warning: "warning", pass: "pass", SKIP: "skip", "": "none" };

export function verdict_class(verdict) {
    return classes[verdict] ?? "none";
}

export function verdict_failed(verdict) {
    return verdict === "error" || verdict === "warning";
}

export function verdict_words(verdict) {
    return words(`verdict.${verdict}`);
}

// The sign alone, with its word for those who do not see it.
export function verdict_sign(verdict) {
    return element("span", { class: `badge ${verdict_class(verdict)}`, role: "img", "aria-label": verdict_words(verdict) },
        element("span", { class: "sign" }, signs[verdict] ?? "·"));
}

export function verdict_badge(verdict) {
    return element("span", { class: `badge ${verdict_class(verdict)}` },
        element("span", { class: "sign", "aria-hidden": "true" }, signs[verdict] ?? "·"), verdict_words(verdict));
}

// Counts as one bar whose parts are as wide as they are many.
export function verdict_bar(counts) {
    const bar = element("div", { class: "verdict-bar", "aria-hidden": "true" });
    for (const verdict of verdict_shown) {
        const count = counts[verdict_order.indexOf(verdict)];
        if (count) bar.append(element("span", { class: verdict_class(verdict), style: { "flex-grow": String(count) } }));
    }
    return bar;
}
