// The NPU's errors beside the GPU's: for a page with two runs, and for a three-way comparison whose two
// runs are in the page too. A point is a row that both runs have.

import { chart_box } from "../common/charts.js";
import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { number_text } from "../common/numbers.js";
import { theme_color } from "../common/theme.js";
import { panel } from "./pieces.js";

const most_points = 4000, floor = 1e-12, ceiling = 1e6;

// The two runs to compare: those that have a largest relative error.
export function beside_runs(results) {
    const runs = results.inputs.map((input, at) => at).filter((at) => results.inputs[at].kind === "run");
    return runs.length === 2 ? runs : null;
}

// Pairs of rows with equal name hashes, as points of { x, y, row }; rows with the largest quotients when there are too many.
export function beside_points(bits, values, left, right) {
    const place = new Map(), points = [];
    const inside = (value) => Math.min(ceiling, Math.max(floor, value));
    for (let row = right.first; row < right.first + right.rows; row++) if (!place.has(bits[row])) place.set(bits[row], row);
    for (let row = left.first; row < left.first + left.rows; row++) {
        const other = place.get(bits[row]);
        if (other === undefined || Number.isNaN(values[row]) || Number.isNaN(values[other])) continue;
        points.push({ x: inside(values[other]), y: inside(values[row]), row });
    }
    points.sort((a, b) => b.y / b.x - a.y / a.x);
    return points.slice(0, most_points);
}

function beside_configuration(points, labels, open_row) {
    const ends = [floor, ceiling];
    const tick = (value) => Number.isInteger(Math.log10(value)) ? number_text(value, 2) : "";
    const axis = (input) => ({ type: "logarithmic", title: { display: true, text: words("beside axes", { input }) }, ticks: { callback: tick, maxTicksLimit: 8 } });
    const used = points.flatMap((point) => [point.x, point.y]);
    ends[0] = Math.min(...used);
    ends[1] = Math.max(...used);
    return {
        type: "scatter",
        data: { datasets: [
            { data: points, clip: false, backgroundColor: theme_color("accent"), pointRadius: 3, pointHoverRadius: 6 },
            { type: "line", data: ends.map((end) => ({ x: end, y: end })), borderColor: theme_color("quiet"), borderDash: [4, 4], borderWidth: 1, pointRadius: 0, pointHitRadius: 0 },
        ] },
        options: {
            onClick: (event, hit) => { if (hit.length && hit[0].datasetIndex === 0) open_row(points[hit[0].index].row); },
            scales: { x: axis(labels[1]), y: axis(labels[0]) },
            plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => `${number_text(item.raw.y)} / ${number_text(item.raw.x)}` } } },
        },
    };
}

export function beside_chart(results, actions) {
    const runs = beside_runs(results);
    if (!runs || !results.columns.has("max_relative_error")) return null;
    const [left, right] = runs.map((at) => results.inputs[at]), holder = element("div", {});
    Promise.all([results.columns.numbers("name_hash"), results.columns.numbers("max_relative_error")]).then(([{ bits }, { values }]) => {
        const points = beside_points(bits, values, left, right);
        holder.append(points.length ? chart_box(() => beside_configuration(points, [left.label, right.label], actions.open_row), { height: 340, label: words("beside chart", { left: left.label, right: right.label }) })
            : element("p", { class: "quiet" }, words("order empty")));
    });
    return panel(words("beside chart", { left: left.label, right: right.label }), words("beside hint", { left: left.label }), holder);
}
