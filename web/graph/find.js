// Looking for nodes by name and by kind.

import { node_call } from "./side.js";

const kinds = {
    any: () => true,
    suspicious: (side, i, bands) => side.is_suspicious(i, bands),
    unmatched: (side, i) => i > 0 && side.partner[i] < 0,
    overflow: (side, i) => side.overflow[i] > 0,
    repaired: (side, i) => side.repair[i] > 0,
    calls: (side, i) => side.type[i] === node_call,
    modules: (side, i) => i > 0 && side.type[i] !== node_call,
};
export const find_kinds = Object.keys(kinds);

// A test of names: /…/ is a regular expression, anything else a part of the name whatever its capitals.
// null for an expression that is none.
export function name_test(text) {
    const expression = /^\/(.*)\/?$/.exec(text);
    if (!expression) {
        const wanted = text.toLowerCase();
        return (name) => name.toLowerCase().includes(wanted);
    }
    try {
        const pattern = new RegExp(expression[1].replace(/\/$/, ""), "i");
        return (name) => pattern.test(name);
    } catch {
        return null;
    }
}

// The nodes that are found, in the order of execution.
export function find_nodes(side, text, kind, bands) {
    const test = text ? name_test(text) : null, is_kind = kinds[kind], found = [];
    if (text && !test) return null;
    for (let i = 0; i < side.count; i++)
        if (is_kind(side, i, bands) && (!test || test(side.name(i)))) found.push(i);
    return found.sort((a, b) => side.place[a] - side.place[b]);
}
