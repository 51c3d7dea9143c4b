// The numbers of the run: verdicts, and how well the checker keeps up.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text, number_text, seconds_text } from "../common/numbers.js";
import { verdict_badge, verdict_bar, verdict_class, verdict_order } from "../common/verdicts.js";
import { bytes_text } from "./model.js";

const shown = ["error", "warning", "pass", "SKIP"];

export function verdict_tiles(facts) {
    const total = facts.calls.reduce((sum, count) => sum + count, 0);
    return element("section", { class: "panel" },
        element("h2", {}, words("calls"), element("span", { class: "hint" }, count_text(total))),
        element("div", { class: "tiles verdict-tiles" }, shown.map((verdict) => {
            const count = facts.calls[verdict_order.indexOf(verdict)];
            return element("div", { class: `tile ${count ? verdict_class(verdict) : "zero"}`, "data-verdict": verdict },
                verdict_badge(verdict), element("span", { class: "tile-count" }, count_text(count)));
        })),
        total ? verdict_bar(facts.calls) : element("p", { class: "quiet waiting" }, words("nothing yet")));
}

function gauge(key, value, { title = "", bad = false } = {}) {
    return element("div", { class: bad ? "gauge bad-gauge" : "gauge", "data-gauge": key, title: title || null },
        element("span", { class: "gauge-value" }, value), element("span", { class: "gauge-name" }, words(key)));
}

export function gauges(live) {
    const { facts } = live;
    const waiting = facts.waiting + live.queued(), dropped = live.dropped();
    return element("section", { class: "panel gauges" },
        gauge("rate", number_text(facts.rate, 3)),
        gauge("latency", facts.mean_s ? seconds_text(facts.mean_s) : "–", { title: words("latency.title", { worst: seconds_text(facts.worst_s) }) }),
        gauge("lag", facts.waiting ? seconds_text(facts.lag_s) : "–", { title: words("lag.title"), bad: facts.lag_s > 60 }),
        gauge("queue", count_text(waiting), { title: words("queue.title", { bytes: bytes_text(facts.waiting_bytes) }) }),
        facts.arrived_bytes ? gauge("received", bytes_text(facts.arrived_bytes), { title: words("received.title", { bytes: bytes_text(facts.spool_bytes) }) }) : null,
        gauge("dropped", count_text(dropped), { title: words("dropped.title"), bad: dropped > 0 }),
        gauge("refused", count_text(facts.refused), { title: words("refused.title"), bad: facts.refused > 0 }),
        gauge("connections", count_text(facts.connections)));
}
