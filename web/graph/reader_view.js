// What the reader did, as lists: matches by hand and notes, with their file.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { short_list } from "./short_list.js";

// "compare_20261122101500.vis.config" for the page "compare_20261122101500.html".
function file_name() {
    const page = decodeURIComponent(location.pathname.split("/").at(-1)).replace(/\.html$/, "");
    return `${page || "graph"}.vis.config`;
}

function export_link(work) {
    const link = element("a", { class: "small", id: "export-matches", download: file_name(), href: "#" }, words("by hand.export"));
    link.addEventListener("click", () => {
        const address = URL.createObjectURL(new Blob([work.text()], { type: "application/json" }));
        link.href = address;
        setTimeout(() => URL.revokeObjectURL(address), 60000);
    });
    return link;
}

function import_button(work, on_change, on_fault) {
    const file = element("input", { type: "file", id: "import-matches", accept: ".config,.json,application/json", hidden: true });
    file.addEventListener("change", async () => {
        try {
            work.read(await file.files[0].text());
            on_change();
        } catch {
            on_fault(words("by hand.bad file", { name: file.files[0]?.name ?? "" }));
        }
        file.value = "";
    });
    return [element("button", { class: "small", type: "button", onclick: () => file.click() }, words("by hand.import")), file];
}

// compared: has the page two sides? on_go(side, name); on_change() when something was added or taken away; on_fault(text)
export function reader_panels(work, compared, { on_go, on_change, on_fault }) {
    const { by_hand, notes } = work, pairs = [...by_hand.matches];
    const link = (key, name) => element("button", { class: "link mono", type: "button", onclick: () => on_go(key, name) }, name);
    const forget = (run) => element("button", { class: "small", type: "button", title: words("by hand.forget"), "aria-label": words("by hand.forget"), onclick: () => { run(); on_change(); } }, "×");
    const pair_item = ([name, partner]) => element("li", {}, link("npu", name), element("span", { class: "quiet" }, " ↔ "),
        partner ? link("bench", partner) : element("span", { class: "quiet" }, words("no partner")), by_hand.below.has(name) ? element("span", { class: "pill quiet" }, words("by hand.below")) : null, " ", forget(() => by_hand.forget(name)));
    const note_item = ([key, name, text]) => element("li", { class: "noted" }, link(key, name), element("span", { class: "note-text" }, text), forget(() => notes.set(key, name, "")));
    const files = () => [element("span", { class: "spring" }), work.is_empty() ? null : export_link(work), import_button(work, on_change, on_fault)];
    const panel = (title, items, draw, none, more) => element("section", { class: "panel by-hand" }, element("h2", {}, title, element("span", { class: "pill quiet" }, items.length), more),
        items.length ? short_list(items, draw) : element("p", { class: "quiet" }, none));
    return element("div", { class: "reader-view" }, compared ? panel(words("by hand"), pairs, pair_item, words("by hand.none"), files()) : null,
        notes.size || !compared ? panel(words("notes"), notes.all(), note_item, words("notes.none"), compared ? null : files()) : null);
}
