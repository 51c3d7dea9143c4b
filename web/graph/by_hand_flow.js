// Matching by hand, step by step: a node of one side, then the one of the other side that it stands against.
// A line above the panes says what comes next and what is wrong.

import { element, replace } from "../common/elements.js";
import { words } from "../common/language.js";

export class ByHandFlow {
    // graph(): the one in sight; on_change(npu node) when matches changed, -1 for many nodes
    constructor(by_hand, { graph, on_change }) {
        Object.assign(this, { by_hand, graph, on_change });
        this.first = null; // { key, node } while the second one is awaited
        this.below = true;
        this.node = element("div", { class: "notice", role: "status", hidden: true });
    }

    start(key, node) {
        this.first = { key, node };
        this.say(words("by hand.choose", { name: this.graph()[key].name(node), side: words(key === "npu" ? "bench" : "npu") }));
    }

    end() {
        this.first = null;
        this.node.hidden = true;
    }

    say(text) {
        const below = element("input", { type: "checkbox", id: "match-below", checked: this.below, onchange: (event) => { this.below = event.target.checked; } });
        replace(this.node, element("span", {}, text),
            this.first ? element("label", { class: "choice" }, below, words("by hand.below")) : null,
            element("button", { class: "small", type: "button", onclick: () => this.end() }, words(this.first ? "cancel" : "close")));
        this.node.hidden = false;
    }

    // Is this the node that was awaited? Then it is matched.
    takes(key, node) {
        if (!this.first || this.first.key === key) return false;
        this.finish(key, node);
        return true;
    }

    async finish(key, node) {
        const graph = this.graph(), npu = key === "npu" ? node : this.first.node, bench = key === "npu" ? this.first.node : node;
        const fault = await this.by_hand.fault(graph, npu, bench);
        if (fault) return this.say(words(fault));
        await this.by_hand.match(graph, npu, bench, this.below);
        this.end();
        await this.on_change(npu);
    }

    async unmatch(key, node, below) {
        const graph = this.graph(), npu = key === "npu" ? node : graph.bench.partner[node];
        this.by_hand.unmatch(graph, npu, below);
        await this.on_change(npu);
    }
}
