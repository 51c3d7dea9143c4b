// Errors as small multiples, one per API and one per dtype: their distribution in ulp or, of comparisons, which
// have none, their size along the order of execution. One shared scale, so that shapes compare at a glance. Drawn as plain elements; fifty charts of a library would
// take longer than the rest of the page.

import { breakable, element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text, number_text } from "../common/numbers.js";
import { plain_number } from "./why.js";
import { panel } from "./pieces.js";
import { spark_height, sparklines } from "./sparklines.js";
import { verdict_bar, verdict_class, verdict_order } from "../common/verdicts.js";

const shown_at_once = 48;
const half_ulp_bin = 1; // bins are 0, <= 0.5, <= 1, <= 2, ...

export function bin_title(bin, bins = 64) {
    return bin === 0 ? "0" : bin === bins - 1 ? words("more") : `≤ ${number_text(2 ** (bin - 2))}`;
}

// Groups of the same name in several inputs become one.
export function merge_groups(inputs, key) {
    const groups = new Map();
    for (const input of inputs)
        for (const group of input[key]) {
            const held = groups.get(group.name);
            const allowance = group.allowance === null ? NaN : plain_number(group.allowance);
            if (!held) {
                groups.set(group.name, { ...group, allowance, counts: [...group.counts], histogram: [...group.histogram] });
                continue;
            }
            held.rows += group.rows;
            group.counts.forEach((count, at) => { held.counts[at] += count; });
            group.histogram.forEach((count, at) => { held.histogram[at] = (held.histogram[at] ?? 0) + count; });
            if (!(held.allowance >= allowance) && !Number.isNaN(allowance)) Object.assign(held, { allowance, worst: group.worst });
        }
    return [...groups.values()];
}

const failed_count = (group) => 1e9 * group.counts[verdict_order.indexOf("error")] + group.counts[verdict_order.indexOf("warning")];

const orders = {
    severity: (a, b) => Math.sign(failed_count(b)) - Math.sign(failed_count(a)) || (b.allowance || 0) - (a.allowance || 0) || failed_count(b) - failed_count(a) || b.rows - a.rows,
    rows: (a, b) => b.rows - a.rows,
    name: (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
};

function histogram_bars(group, bins) {
    const most = Math.max(1, ...group.histogram), node = element("div", { class: "multiple-bars" });
    for (let bin = 0; bin < bins; bin++) {
        const count = group.histogram[bin] ?? 0;
        // By the logarithm: one element out of a million must be seen.
        const height = count ? Math.max(4, 100 * Math.log1p(count) / Math.log1p(most)) : 0;
        node.append(element("span", { class: bin === half_ulp_bin ? "bin half" : bin > half_ulp_bin + 1 ? "bin far" : "bin", title: `${bin_title(bin)}: ${count_text(count)}` },
            element("span", { class: "fill", style: { height: `${height}%` } })));
    }
    return node;
}

function spark_bars(bars) {
    return element("div", { class: "multiple-bars" }, bars.map(({ error, verdict }) => element("span", { class: `bin ${verdict_class(verdict)}`, title: error ? number_text(error, 3) : "" },
        element("span", { class: "fill", style: { height: `${spark_height(error)}%` } }))));
}

// Bars that come when their numbers have been read.
function spark_holder(group, sparks) {
    const holder = element("div", { class: "multiple-bars empty" });
    sparks.then((of) => { if (of.has(group.name)) holder.replaceWith(spark_bars(of.get(group.name))); });
    return holder;
}

function bars_of(group, bins, sparks) {
    if (sparks) return spark_holder(group, sparks);
    return group.histogram.length ? histogram_bars(group, bins) : element("div", { class: "multiple-bars empty" });
}

function multiple(group, key, bins, sparks, actions) {
    return element("button", { class: "multiple", type: "button", onclick: () => actions.show_rows({ [key]: group.name }, { id: "allowance", direction: -1 }) },
        element("span", { class: "multiple-name mono" }, breakable(group.name)),
        bars_of(group, bins, sparks),
        verdict_bar(group.counts),
        element("span", { class: "quiet multiple-foot" }, element("span", {}, words("rows count", { count: count_text(group.rows) })),
            Number.isNaN(group.allowance) ? null : element("span", {}, words("of limit", { n: group.allowance > 0 && group.allowance < 1e-3 ? "< 0.001" : number_text(group.allowance, 2) }))));
}

function multiples_panel(results, actions, { key, column, title, bins }) {
    const sparks = bins ? null : sparklines(results, column);
    const all = merge_groups(results.inputs, key), grid = element("div", { class: "multiples" });
    if (!all.length) return null;
    const state = { order: "severity", part: "", most: shown_at_once };
    const more = element("div", {});
    const draw = () => {
        const found = all.filter((group) => group.name.toLowerCase().includes(state.part.toLowerCase())).sort(orders[state.order]);
        replace(grid, found.slice(0, state.most).map((group) => multiple(group, column, bins, sparks, actions)));
        replace(more, found.length > state.most ? element("button", { class: "more", type: "button", onclick: () => { state.most += 2 * shown_at_once; draw(); } },
            words("show more", { count: count_text(Math.min(2 * shown_at_once, found.length - state.most)) })) : null);
    };
    const order = element("select", { "aria-label": words("sort by"), onchange: (event) => { state.order = event.target.value; draw(); } },
        Object.keys(orders).map((name) => element("option", { value: name }, words(`sort.${name}`))));
    const filter = element("input", { type: "search", placeholder: words("filter apis"), "aria-label": words("filter apis"), oninput: (event) => { state.part = event.target.value; draw(); } });
    draw();
    return panel(title, words(bins ? "distributions hint" : "sparks hint"), all.length > 12 ? element("div", { class: "toolbar" }, filter, order) : null, grid, more);
}

// How many bins of ulp are drawn; 0 when nothing was measured in ulp.
function bins_of(results) {
    const most = Math.max(0, ...results.inputs.flatMap((input) => [...input.apis, ...input.dtypes].map((group) => Math.min(group.histogram.length, 40))));
    return most && Math.min(64, 2 + Math.max(4, most));
}

export function groups_view(results, actions) {
    const bins = bins_of(results);
    return element("div", { class: "overview" },
        multiples_panel(results, actions, { key: "dtypes", column: "dtype", title: words(bins ? "distributions by dtype" : "sparks by dtype"), bins }),
        multiples_panel(results, actions, { key: "apis", column: "api", title: words(bins ? "distributions" : "sparks"), bins }));
}
