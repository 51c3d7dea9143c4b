// Looking for nodes by name, by kind and by what went in and came out.

import { Pause } from "../common/pause.js";
import { node_call } from "./side.js";

const kinds = {
    any: () => true,
    suspicious: (side, i, bands) => side.is_suspicious(i, bands),
    unmatched: (side, i) => i > 0 && side.partner[i] < 0,
    overflow: (side, i) => side.overflow[i] > 0,
    critical: (side, i) => side.overflow[i] === 3,
    high: (side, i) => side.overflow[i] === 2,
    medium: (side, i) => side.overflow[i] === 1,
    repaired: (side, i) => side.repair[i] > 0,
    communicating: (side, i) => side.communications.has(i),
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

// "Functional.softmax.3.forward" is of type "Functional.softmax", "Module.h.0.attn.GPTAttn.forward.0" of type "GPTAttn".
export function node_type(name) {
    const call = /^(\w+\.[^.]+)\.\d+\.(?:forward|backward)$/.exec(name) ?? /\.([^.]+)\.(?:forward|backward)\.\d+$/.exec(name);
    return call ? call[1] : "";
}

function within(value, from, to) {
    return (from === null || value >= from) && (to === null || value <= to);
}

// A promise of those of the nodes with a row whose metric lies between two bounds ("12.5%" is 12.5); null when
// is_stale() became true on the way.
export async function keep_metric(side, found, { metric, from, to }, is_stale) {
    const kept = [], pause = new Pause();
    for (const i of found) {
        const { inputs, outputs } = await side.rows(i), values = [inputs, outputs].flatMap(Object.values).map((row) => Number.parseFloat(row[metric]));
        if (values.some((value) => !Number.isNaN(value) && within(value, from, to))) kept.push(i);
        await pause.rest();
        if (is_stale()) return null;
    }
    return kept;
}

// The nodes that are found, in the order of execution; null when the text is no expression.
//   wanted  { text, kind, type, dtype, shape, from, to, metric }; from and to bound the index, null where they do not,
//           or the metric if one is named: see keep_metric
//   facts   of the side (facts.js) where dtype or shape are wanted
export function find_nodes(side, { text, kind, type = "", dtype = "", shape = "", from = null, to = null, metric = "" }, bands, facts = null) {
    const test = text ? name_test(text) : null, is_kind = kinds[kind], found = [];
    if (text && !test) return null;
    const in_range = metric ? () => true : (value) => within(value, from, to);
    for (let i = 0; i < side.count; i++) {
        if (!is_kind(side, i, bands) || !in_range(side.index[i])) continue;
        if (facts && !facts.has(i, { dtype, shape })) continue;
        if (test && !test(side.name(i))) continue;
        if (!type || node_type(side.name(i)) === type) found.push(i);
    }
    return found.sort((a, b) => side.place[a] - side.place[b]);
}

// The types of the nodes of a side, those with most nodes first: [[type, count]].
export function types_of(side) {
    const counts = new Map();
    for (let i = 1; i < side.count; i++) {
        const type = node_type(side.name(i));
        if (type) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
