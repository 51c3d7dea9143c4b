// A statistic of one input or output of calls, in the order of execution: where it leaves the other side's
// line is where the models part. Shown are the calls below the smallest module around the node that has enough
// of them for a line, of a large one those nearest to the node.

import { chart_box } from "../common/charts.js";
import { element, replace } from "../common/elements.js";
import { words } from "../common/language.js";
import { number_text } from "../common/numbers.js";
import { theme_color } from "../common/theme.js";
import { statistics } from "./by_hand.js";
import { node_call } from "./side.js";

const least_calls = 8, most_calls = 300, largest_plain = 1e4;

function calls_below(side, top) {
    const calls = [];
    for (let i = top; i < side.end[top]; i++) if (side.type[i] === node_call) calls.push(i);
    return calls;
}

// Calls around a node in the order of execution.
export function calls_beside(side, node) {
    let top = node, calls = calls_below(side, top);
    while (calls.length < least_calls && top > 0) calls = calls_below(side, top = side.parent[top]);
    calls.sort((a, b) => side.place[a] - side.place[b]);
    if (calls.length <= most_calls) return calls;
    const behind = calls.findIndex((call) => side.place[call] >= side.place[node]);
    const first = node === top ? 0 : Math.min(calls.length - most_calls, Math.max(0, (behind < 0 ? calls.length : behind) - most_calls / 2));
    return calls.slice(first, first + most_calls);
}

// What a row is called among those of its node: "input.0", "parameters.weight".
export function tensor_name(row_name) {
    return row_name.split(/\.(?=(?:input|output|parameters|kwargs|parameters_grad)\b)/).slice(1).join(".") || row_name;
}

// The tensors of a node: { name: row }, outputs first.
export async function node_tensors(side, node) {
    if (node < 0) return {};
    const { inputs, outputs } = await side.rows(node);
    return Object.fromEntries([...Object.entries(outputs), ...Object.entries(inputs)].map(([name, row]) => [tensor_name(name), row]));
}

// The statistics of a tensor of a node, the first output for "", as numbers; null where there are none.
export async function tensor_values(side, node, tensor) {
    const tensors = await node_tensors(side, node), row = tensor ? tensors[tensor] : Object.values(tensors)[0];
    return statistics.map((key) => {
        const value = Number.parseFloat(row?.[key]);
        return Number.isFinite(value) ? value : null;
    });
}

// Of the calls around a node those that have the tensor on either side: { calls, names, npu, bench }.
async function read_values({ npu, bench }, key, node, tensor) {
    const side = key === "npu" ? npu : bench, other = key === "npu" ? bench : npu, calls = [], own = [], partners = [];
    for (const call of calls_beside(side, node)) {
        const mine = await tensor_values(side, call, tensor), theirs = other ? await tensor_values(other, side.partner[call], tensor) : [];
        if (![...mine, ...theirs].some((value) => value !== null)) continue;
        calls.push(call);
        own.push(mine);
        if (other) partners.push(theirs);
    }
    return { calls, names: calls.map((call) => side.name(call)), npu: key === "npu" ? own : partners, bench: key === "npu" ? partners : own };
}

// How numbers become heights: as they are, or, where some are very much larger than most, on a scale that is
// logarithmic on both sides of zero. { to(value), from(height) }
export function value_scale(values) {
    const sizes = values.filter((value) => value !== null && value !== 0).map(Math.abs).sort((a, b) => a - b);
    const middle = sizes[sizes.length >> 1] ?? 1;
    if (!sizes.length || sizes.at(-1) <= largest_plain * middle) return { to: (value) => value, from: (height) => height };
    return { to: (value) => value === null ? null : Math.sign(value) * Math.log10(1 + Math.abs(value) / middle), from: (height) => Math.sign(height) * middle * (10 ** Math.abs(height) - 1) };
}

function values_chart(values, which, node, on_go) {
    const numbers = (key) => values[key].map((value) => value[which]), scale = value_scale([...numbers("npu"), ...numbers("bench")]);
    const line = (key, colour, dash) => ({ label: words(key), numbers: numbers(key), data: numbers(key).map(scale.to), borderColor: colour, backgroundColor: colour,
        borderDash: dash, borderWidth: 1.5, pointRadius: values.calls.map((call) => call === node ? 5 : 2), spanGaps: true });
    return chart_box(() => ({ type: "line",
        data: { labels: values.names, datasets: [line("npu", theme_color("device")), values.bench.length ? line("bench", theme_color("reference"), [5, 4]) : null].filter(Boolean) },
        options: { interaction: { mode: "index", intersect: false }, scales: { x: { ticks: { display: false }, grid: { display: false } },
            y: { ticks: { maxTicksLimit: 6, callback: (height) => number_text(scale.from(height), 3) } } },
        plugins: { legend: { display: values.bench.length > 0, align: "end", labels: { usePointStyle: true, pointStyle: "line" } },
            tooltip: { callbacks: { label: ({ dataset, dataIndex }) => `${dataset.label}: ${number_text(dataset.numbers[dataIndex], 7)}` } } },
        onClick: (event, points) => { if (points.length) on_go(values.calls[points[0].index]); } } }),
    { height: 190, label: `${statistics[which]}: ${words("values")}` });
}

// A part of the detail that reads its values when it is unfolded. `state` ({ open, which, tensor }) outlives it;
// a tensor that the node lacks gives way to its first output.
export function values_part(graph, key, node, state, on_go) {
    const body = element("div", { class: "values-body" }), tensors = element("select", { id: "tensor", "aria-label": words("tensor") });
    let values = null;
    const draw = () => replace(body, values.calls.length ? values_chart(values, state.which, node, on_go) : element("p", { class: "quiet" }, words("nothing recorded")));
    const fill = async () => {
        const names = Object.keys(await node_tensors(graph[key], node)), shown = names.includes(state.tensor) ? state.tensor : "";
        replace(tensors, element("option", { value: "" }, words("first output")), names.map((name) => element("option", { value: name, selected: name === shown }, name)));
        values = await read_values(graph, key, node, shown);
        draw();
    };
    const which = element("select", { id: "statistic", "aria-label": words("statistic"), onchange: (event) => { state.which = Number(event.target.value); if (values) draw(); } },
        statistics.map((name, i) => element("option", { value: i, selected: i === state.which }, name)));
    tensors.addEventListener("change", () => { state.tensor = tensors.value; fill(); });
    const part = element("details", { class: "detail-part values", open: state.open }, element("summary", {}, words("values")),
        element("div", { class: "values-choice" }, which, tensors), body);
    part.addEventListener("toggle", () => {
        state.open = part.open;
        if (part.open && !values) fill();
    });
    return part;
}
