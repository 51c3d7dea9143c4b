// Pieces that several views of the page are made of.

import { element } from "../common/elements.js";
import { plain_number } from "./why.js";

// A titled part of the page; `hint` may be null.
export function panel(title, hint, ...content) {
    return element("section", { class: "panel" },
        element("h2", {}, title, hint ? element("span", { class: "hint" }, hint) : null), content);
}

// The share of a limit that was used. The limit stands at three quarters; beyond it the bar grows with the
// logarithm, and is full at eighteen times the limit.
export function limit_bar(limit) {
    const used = plain_number(limit.used);
    const share = Number.isNaN(used) ? 0 : used <= 1 ? 75 * used : Math.min(100, 75 + 6 * Math.log2(used));
    return element("span", { class: `limit-bar ${limit.holds ? "holds" : "broken"}`, "aria-hidden": "true" },
        element("span", { class: "used", style: { width: `${share}%` } }), element("span", { class: "mark" }));
}
