// The list of what was matched by hand, with its file.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";

// "compare_20261122101500.vis.config" for the page "compare_20261122101500.html".
function file_name() {
    const page = decodeURIComponent(location.pathname.split("/").at(-1)).replace(/\.html$/, "");
    return `${page || "graph"}.vis.config`;
}

function export_link(by_hand) {
    const link = element("a", { class: "small", id: "export-matches", download: file_name(), href: "#" }, words("by hand.export"));
    link.addEventListener("click", () => {
        const address = URL.createObjectURL(new Blob([by_hand.text()], { type: "application/json" }));
        link.href = address;
        setTimeout(() => URL.revokeObjectURL(address), 60000);
    });
    return link;
}

// on_change() when matches were added or taken away; on_fault(text)
function import_button(by_hand, on_change, on_fault) {
    const file = element("input", { type: "file", id: "import-matches", accept: ".config,.json,application/json", hidden: true });
    file.addEventListener("change", async () => {
        try {
            by_hand.read(await file.files[0].text());
            on_change();
        } catch {
            on_fault(words("by hand.bad file", { name: file.files[0]?.name ?? "" }));
        }
        file.value = "";
    });
    return [element("button", { class: "small", type: "button", onclick: () => file.click() }, words("by hand.import")), file];
}

export function by_hand_panel(by_hand, { on_go, on_change, on_fault }) {
    const pairs = [...by_hand.matches];
    const link = (key, name) => element("button", { class: "link mono", type: "button", onclick: () => on_go(key, name) }, name);
    return element("section", { class: "panel by-hand" }, element("h2", {}, words("by hand"), element("span", { class: "pill quiet" }, pairs.length),
        element("span", { class: "spring" }), pairs.length ? export_link(by_hand) : null, import_button(by_hand, on_change, on_fault)),
    pairs.length ? element("ul", { class: "difference-list" }, pairs.map(([name, partner]) => element("li", {},
        link("npu", name), element("span", { class: "quiet" }, " ↔ "), partner ? link("bench", partner) : element("span", { class: "quiet" }, words("no partner")), " ",
        element("button", { class: "small", type: "button", title: words("by hand.forget"), "aria-label": words("by hand.forget"),
            onclick: () => { by_hand.matches.delete(name); on_change(); } }, "×"))))
        : element("p", { class: "quiet" }, words("by hand.none")));
}
