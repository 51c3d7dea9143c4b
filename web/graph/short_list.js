// A list of which so many are shown that a browser stays quick.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";

const most_shown = 500;

export function short_list(items, draw) {
    return [element("ul", { class: "difference-list" }, items.slice(0, most_shown).map(draw)),
        items.length > most_shown ? element("p", { class: "quiet" }, words("more", { count: items.length - most_shown })) : null];
}
