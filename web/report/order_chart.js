// Errors along the order of execution: of each row the share of the limit that it used, or, where the
// files do not have it, the largest relative error. More rows than pixels are drawn by the largest of
// each stretch, failures before others.

import { chart_box } from "../common/charts.js";
import { append, element } from "../common/elements.js";
import { words } from "../common/language.js";
import { number_text } from "../common/numbers.js";
import { theme_color } from "../common/theme.js";
import { metric_words } from "./metrics.js";
import { panel } from "./pieces.js";
import { verdict_class, verdict_shown } from "../common/verdicts.js";

const stretches = 900, most_inputs = 8, least = 1e-6, most = 1e6;

// Points { x: row of the input, y, value } by verdict, at most one per stretch and verdict. `values` may have NaN and
// infinities, which are drawn at the upper edge; what is next to nothing is drawn at the lower one.
export function order_points(values, codes, verdicts, first, rows) {
    const length = Math.max(1, Math.ceil(rows / stretches));
    const points = new Map(verdicts.map((verdict) => [verdict, []]));
    for (let from = first; from < first + rows; from += length) {
        const best = new Map();
        for (let row = from; row < Math.min(from + length, first + rows); row++) {
            if (Number.isNaN(values[row])) continue;
            const held = best.get(codes[row]);
            if (held === undefined || values[row] > values[held]) best.set(codes[row], row);
        }
        for (const [code, row] of best)
            points.get(verdicts[code]).push({ x: row - first, y: Math.min(most, Math.max(least, Math.abs(values[row]))), value: values[row] });
    }
    return points;
}

// What is beyond an edge is drawn on it.
export function tick_text(value) {
    const edge = value === least ? "≤ " : value === most ? "≥ " : "";
    return Number.isInteger(Math.log10(value)) ? edge + number_text(value, 2) : "";
}

function order_configuration(points, line, open_row, axis) {
    const datasets = verdict_shown.filter((verdict) => points.get(verdict)?.length).map((verdict, at) => ({
        label: words(`verdict.${verdict}`), data: points.get(verdict), order: at, clip: false,
        pointRadius: verdict === "error" || verdict === "warning" ? 4 : 2.5, pointHoverRadius: 6, pointHitRadius: 6,
        pointStyle: verdict === "error" ? "crossRot" : verdict === "warning" ? "triangle" : "circle",
        borderWidth: verdict === "error" ? 2 : 1,
        borderColor: theme_color(verdict_class(verdict)), backgroundColor: theme_color(verdict_class(verdict)),
    }));
    const drawn = datasets.flatMap((set) => set.data.map((point) => point.x));
    const ends = [Math.min(...drawn), Math.max(...drawn)];
    if (line) datasets.push({ type: "line", label: "limit", data: [{ x: ends[0], y: 1 }, { x: ends[1], y: 1 }], borderColor: theme_color("text"),
        borderDash: [4, 4], borderWidth: 1, pointRadius: 0, pointHitRadius: 0, order: 99 });
    return {
        type: "scatter", data: { datasets },
        options: {
            onClick: (event, hit) => { if (hit.length) open_row(datasets[hit[0].datasetIndex].data[hit[0].index].x); },
            scales: {
                x: { type: "linear", min: ends[0], max: Math.max(ends[1], ends[0] + 1), title: { display: true, text: words("order axis") }, grid: { display: false }, ticks: { precision: 0, maxTicksLimit: 12 } },
                y: { type: "logarithmic", min: least, suggestedMax: 1e-3, title: { display: true, text: axis }, ticks: { maxTicksLimit: 7, callback: tick_text } },
            },
            plugins: {
                legend: { position: "bottom", labels: { usePointStyle: true, boxWidth: 8, boxHeight: 8, filter: (item) => item.text !== "limit" } },
                tooltip: { callbacks: { label: (item) => `${item.dataset.label} · ${item.raw.x + 1} · ${number_text(item.raw.value)}` } },
            },
        },
    };
}

// What is drawn of an input: the first of these columns in which it has a number.
const drawn_columns = ["allowance", "max_relative_error", "max_relative_quotient", "norm_relative_error", "max_difference"];

export async function drawn_column(results, input) {
    for (const id of drawn_columns) {
        if (!results.columns.has(id)) continue;
        const { values } = await results.columns.numbers(id);
        for (let row = input.first; row < input.first + input.rows; row++) if (!Number.isNaN(values[row])) return { id, values };
    }
    return null;
}

async function draw_input(holder, results, input, actions) {
    const drawn = await drawn_column(results, input);
    if (!drawn) return;
    const codes = await results.columns.codes("verdict");
    const points = order_points(drawn.values, codes, results.columns.dictionary("verdict"), input.first, input.rows);
    const has_limit = drawn.id === "allowance", several = results.inputs.length > 1;
    if (several) append(holder, [element("h3", {}, input.label)]);
    append(holder, [chart_box(() => order_configuration(points, has_limit, (place) => actions.open_row(input.first + place), metric_words(drawn.id)),
        { height: several ? 180 : 260, label: `${words("order")}: ${input.label}` }),
        has_limit ? element("p", { class: "quiet small-print" }, words("order hint")) : null]);
}

export function order_chart(results, actions) {
    const holder = element("div", {});
    Promise.all(results.inputs.slice(0, most_inputs).map((input) => {
        const part = element("div", {});
        holder.append(part);
        return draw_input(part, results, input, actions);
    })).then(() => { if (!holder.textContent && !holder.querySelector(".chart")) holder.append(element("p", { class: "quiet" }, words("order empty"))); });
    return panel(words("order"), null, holder);
}
