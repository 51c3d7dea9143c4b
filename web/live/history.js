// How fast it goes, and how far behind, since the page was opened.

import { chart_box } from "../common/charts.js";
import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { theme_color } from "../common/theme.js";
import { span_text } from "./model.js";

function configuration(history) {
    const line = (key, color, axis, fill) => ({ label: words(`series.${key}`), data: history.map((point) => ({ x: point.at, y: point[key] })), yAxisID: axis,
        borderColor: theme_color(color), backgroundColor: theme_color(`${color}-soft`), borderWidth: 1.5, pointRadius: 0, fill, tension: 0.2 });
    const axis = (position, grid) => ({ position, beginAtZero: true, grid: { drawOnChartArea: grid }, ticks: { maxTicksLimit: 5 }, suggestedMax: 1 });
    return {
        type: "line",
        data: { datasets: [line("rate", "accent", "y", true), line("lag", "warning", "lag", false)] },
        options: {
            parsing: false,
            interaction: { mode: "index", intersect: false },
            plugins: { legend: { position: "bottom", labels: { boxWidth: 12, boxHeight: 2 } },
                tooltip: { callbacks: { title: ([item]) => span_text(item.parsed.x) } } },
            scales: { x: { type: "linear", grid: { display: false }, ticks: { maxTicksLimit: 8, callback: (at) => span_text(at) },
                min: history[0]?.at, max: Math.max(history.at(-1)?.at ?? 0, (history[0]?.at ?? 0) + 10) },
            y: axis("left", true), lag: axis("right", false) },
        },
    };
}

export function history_panel(live) {
    return element("section", { class: "panel" },
        element("h2", {}, words("history"), element("span", { class: "hint" }, words("history.hint"))),
        chart_box(() => configuration(live.history), { height: 220, label: words("history") }));
}
