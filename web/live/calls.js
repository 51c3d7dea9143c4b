// The calls to look at: where it began, and where it is worst.

import { breakable, element } from "../common/elements.js";
import { words } from "../common/language.js";
import { number_text } from "../common/numbers.js";
import { verdict_badge } from "../common/verdicts.js";

function call_card(label, call, note = null) {
    // Of what rounding explains; a rule of the documents may ask for more.
    const times = typeof call.excess === "number" && call.excess > 1 ? words("excess", { times: number_text(call.excess, 3) }) : null;
    return element("article", { class: "call" },
        element("div", { class: "call-head" }, element("span", { class: "call-label" }, label), verdict_badge(call.verdict),
            element("span", { class: "quiet" }, words("place of call", call))),
        element("p", { class: "call-name mono" }, breakable(call.name)),
        element("p", { class: "why" }, call.sentence),
        times ? element("p", { class: "quiet" }, times) : null,
        note ? element("p", { class: "quiet" }, note) : null);
}

function is_same(a, b) {
    return a.name === b.name && a.rank === b.rank && a.step === b.step;
}

export function bad_calls(facts) {
    const { first_bad, worst } = facts;
    const same = first_bad && worst && is_same(first_bad, worst);
    return element("section", { class: "panel bad-calls" }, element("h2", {}, words("bad calls")),
        first_bad ? call_card(words("first bad"), first_bad, same ? words("same call") : null)
            : element("p", { class: "good" }, words("no bad calls")),
        worst && !same ? call_card(words("worst"), worst) : null);
}
