// What can be done with a node, at the pointer: the menu of the other mouse button.

import { copy_text } from "../common/clipboard.js";
import { element, replace } from "../common/elements.js";
import { words } from "../common/language.js";

export class NodeMenu {
    constructor() {
        this.node = element("div", { class: "node-menu", role: "menu", hidden: true });
        addEventListener("pointerdown", (event) => { if (!this.node.contains(event.target)) this.close(); }, true);
        addEventListener("blur", () => this.close());
        this.node.addEventListener("keydown", (event) => this.key(event));
    }

    // items: [[text, run]]
    open(x, y, items) {
        this.before = document.activeElement;
        replace(this.node, items.map(([text, run]) => element("button", { type: "button", role: "menuitem", onclick: () => { this.close(); run(); } }, text)));
        this.node.hidden = false;
        this.node.style.setProperty("left", `${Math.min(x, innerWidth - this.node.offsetWidth - 8)}px`);
        this.node.style.setProperty("top", `${Math.min(y, innerHeight - this.node.offsetHeight - 8)}px`);
        this.node.querySelector("button")?.focus();
    }

    close() {
        if (this.node.hidden) return;
        this.node.hidden = true;
        this.before?.focus?.();
    }

    key(event) {
        const items = [...this.node.querySelectorAll("button")], at = items.indexOf(document.activeElement);
        const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
        if (to !== undefined) items.at(to % items.length).focus();
        else if (event.key === "Escape" || event.key === "Tab") this.close();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }
}

// page: see main.js
export function node_items(page, key, node) {
    const side = page.graph[key], other_key = key === "npu" ? "bench" : "npu", other = page.graph[other_key], items = [];
    const partner = other ? side.partner[node] : -1;
    if (partner >= 0) items.push([words("menu.partner"), () => page.go(other_key, partner)]);
    for (const { rank, name } of side.communications.get(node) ?? []) items.push([words("menu.rank", { rank, name }), () => page.go_to_rank(key, rank, name)]);
    if (side.has_children(node)) {
        const unfolded = Boolean(page.trees[key].unfolded[node]);
        items.push([words(unfolded ? "menu.fold" : "menu.unfold"), () => page.fold(key, node)], [words("menu.unfold below"), () => page.unfold_below(key, node)]);
    }
    if (other && node && partner < 0) items.push([words("by hand.match"), () => page.flow.start(key, node)]);
    if (other && node && partner >= 0) items.push([words("by hand.unmatch"), () => page.flow.unmatch(key, node, false)]);
    items.push([words("menu.copy"), () => copy_text(side.name(node))], [words("menu.link"), () => { page.go(key, node); copy_text(location.href); }]);
    return items;
}
