// The processes that stream: who is connected, and what they had to drop.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { count_text } from "../common/numbers.js";
import { bytes_text } from "./model.js";

function client_state(client) {
    if (client.ended) return ["client.ended", "quiet"];
    return client.connected ? ["client.connected", "good"] : ["client.lost", "lost"];
}

function client_row(client) {
    const [state, look] = client_state(client);
    return element("tr", {},
        element("td", { class: "numeric" }, client.rank < 0 ? "–" : String(client.rank)),
        element("td", { title: client.address }, `${client.host} (${client.process})`),
        element("td", {}, element("span", { class: look }, words(state))),
        element("td", { class: "numeric" }, count_text(client.received)),
        element("td", { class: "numeric" }, bytes_text(client.received_bytes)),
        element("td", { class: "numeric" }, count_text(client.queued)),
        element("td", { class: client.dropped ? "numeric lost" : "numeric" }, count_text(client.dropped)));
}

export function client_table(facts) {
    if (!facts.clients.length) return null;
    const heads = [["rank", true], ["host", false], ["state", false], ["records", true], ["bytes", true], ["queue", true], ["dropped", true]];
    return element("section", { class: "panel" }, element("h2", {}, words("clients")),
        element("div", { class: "scroll-box clients" }, element("table", { class: "plain small-table" },
            element("thead", {}, element("tr", {}, heads.map(([key, numeric]) => element("th", { scope: "col", class: numeric ? "numeric" : null }, words(key))))),
            element("tbody", {}, facts.clients.map(client_row)))));
}
