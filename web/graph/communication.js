// Which calls of other ranks a communication call meets, as the program found it.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";

const marks = { send: "→", receive: "←", send_receive: "⇄" };

// A Map from node to [{ type, rank, index, name }]; `blocks` is { node: what it meets }, where a batch of
// operations meets a list.
export function communications_of(blocks) {
    return new Map(Object.entries(blocks).map(([node, met]) => [Number(node), [met].flat().flatMap((one) =>
        Object.entries(one.nodes_info).map(([rank, [index, name]]) => ({ type: one.communications_type, rank: Number(rank), index, name })))]));
}

function type_of(met) {
    const types = [...new Set(met.map(({ type }) => type))];
    return types.length === 1 ? types[0] : "send_receive";
}

// The mark of a call: what it does.
export function marks_of(met) {
    return marks[type_of(met)];
}

export function communication_mark(met) {
    return element("span", { class: "communicates", title: words(`communication.${type_of(met)}`) }, marks_of(met));
}

// The part of the detail with a link for each partner.
export function communication_part(met, on_rank) {
    return element("div", { class: "detail-part communication" }, element("h3", {}, words("communication")),
        element("ul", { class: "partners" }, met.map(({ type, rank, index, name }) => element("li", {},
            element("span", { class: "fact", title: words(`communication.${type}`) }, marks[type] ?? "", ` ${words("rank")} ${rank}`),
            element("button", { class: "link", type: "button", onclick: () => on_rank(rank, name) }, name),
            index === "Nan" ? null : element("span", { class: "quiet", title: words("index") }, Number.isNaN(Number(index)) ? index : Number(index).toPrecision(3).replace(/\.?0+$/, ""))))));
}
