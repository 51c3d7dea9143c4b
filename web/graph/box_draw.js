// Drawing the boxes of a tree on a canvas: modules with a head, calls small, arrows in the order of execution.

import { words } from "../common/language.js";
import { theme_color } from "../common/theme.js";
import { index_text } from "./bands.js";
import { box } from "./box_layout.js";
import { marks_of } from "./communication.js";
import { label_parts } from "./names.js";
import { node_call, node_collection } from "./side.js";

const round = 7, ink_on_colour = "#16202c", smallest_text = 5; // pixels on the screen

// The colours of the theme, asked for once for all boxes of a picture.
export function box_theme() {
    const style = getComputedStyle(document.body), colours = {};
    for (const name of ["panel", "sunken", "text", "quiet", "line", "accent", "error", "none", "none-soft", "warning", "comparison"]) colours[name] = theme_color(name);
    return { ...colours, font: style.fontFamily };
}

// The longest beginning of a text that fits, with "…" where something is left out.
function fitted(pen, text, width) {
    if (width < 6) return "";
    if (pen.measureText(text).width <= width) return text;
    let low = 0, high = Math.min(text.length, Math.ceil(width / 2));
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
        else high = middle - 1;
    }
    return low ? `${text.slice(0, low)}…` : "";
}

// In a small box only the number, and what is not forward.
function short_call(call) {
    return call.replace(/ ?forward ?/, "").replace("backward", "bwd");
}

export class BoxPainter {
    // tree, side, bands, compared; `selected` is a node
    constructor(pen, layout, { tree, side, bands, compared, selected, zoom, theme, note_of }) {
        Object.assign(this, { pen, layout, tree, side, bands, compared, selected, zoom, theme, note_of });
    }

    // Draw the boxes at these positions, outer ones first.
    draw(positions) {
        for (const at of positions) this.box(at);
    }

    shape(at) {
        const { pen, layout } = this;
        pen.beginPath();
        pen.roundRect(layout.left[at], layout.top[at], layout.width[at], layout.height[at], this.side.type[layout.visible[at]] === node_call ? 5 : round);
    }

    box(at) {
        const { pen, layout, side, theme, bands } = this, node = layout.visible[at];
        const is_open = layout.is_open(at), own = bands.colour(side.index[node]);
        const unmatched = this.compared && node > 0 && side.partner[node] < 0;
        const below = !is_open && side.has_children(node) && bands.worse(side.worst[node], side.index[node]) ? bands.colour(side.worst[node]) : null;
        this.arrow(at);
        this.shape(at);
        pen.fillStyle = is_open ? (side.depth[node] & 1 ? theme.panel : theme.sunken) : own ?? (unmatched ? theme["none-soft"] : theme.panel);
        pen.fill();
        if (is_open && own) this.head(at, own);
        pen.lineWidth = below ? 2.5 : 1;
        pen.strokeStyle = below ?? (unmatched || !is_open ? theme.none : theme.line);
        pen.setLineDash(unmatched || side.type[node] === node_collection ? [4, 3] : []);
        this.shape(at);
        pen.stroke();
        pen.setLineDash([]);
        if (node === this.selected) this.ring(at);
        if (12 * this.zoom >= smallest_text) this.words(at, node, own && ink_on_colour, is_open, unmatched);
    }

    // The head of an unfolded module in the colour of its own index.
    head(at, colour) {
        const { pen, layout } = this;
        pen.fillStyle = colour;
        pen.beginPath();
        pen.roundRect(layout.left[at], layout.top[at], layout.width[at], box.head - 4, [round, round, 0, 0]);
        pen.fill();
    }

    ring(at) {
        const { pen, layout, theme } = this, out = 2.5;
        pen.lineWidth = Math.max(2.5, 2.5 / this.zoom);
        pen.strokeStyle = theme.accent;
        pen.beginPath();
        pen.roundRect(layout.left[at] - out, layout.top[at] - out, layout.width[at] + 2 * out, layout.height[at] + 2 * out, round + out);
        pen.stroke();
    }

    // From the box that is executed before, in the row or above it.
    arrow(at) {
        const { pen, layout, theme } = this, up = layout.up[at];
        if (up < 0 || at === up + 1) return;
        const beside = layout.is_beside(at), size = 3.5;
        const x = beside ? layout.left[at] : layout.left[up] + layout.width[up] / 2;
        const y = beside ? layout.top[at] + layout.height[at] / 2 : layout.top[at];
        pen.strokeStyle = pen.fillStyle = theme.none;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(beside ? x - box.beside : x, beside ? y : y - box.gap);
        pen.lineTo(beside ? x - size : x, beside ? y : y - size);
        pen.stroke();
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(beside ? x - 1.6 * size : x - size, beside ? y - size : y - 1.6 * size);
        pen.lineTo(beside ? x - 1.6 * size : x + size, beside ? y + size : y - 1.6 * size);
        pen.fill();
    }

    words(at, node, ink, is_open, unmatched) {
        const { pen, layout, side, theme } = this, folds = side.has_children(node);
        const height = folds ? box.head - (is_open && ink ? 4 : 0) : box.leaf_height, y = layout.top[at] + height / 2 + 0.5;
        let x = layout.left[at] + (folds ? 8 : 9), end = layout.left[at] + layout.width[at] - 8;
        const write = (text, colour, font) => {
            pen.font = `${font} ${theme.font}`;
            pen.fillStyle = colour;
            const shown = fitted(pen, text, end - x);
            if (shown) pen.fillText(shown, x, y);
            x += pen.measureText(shown).width + 6;
        };
        pen.textBaseline = "middle";
        for (const [text, colour, font] of this.remarks(node, is_open, ink)) {
            pen.font = `${font} ${theme.font}`;
            pen.fillStyle = colour;
            const width = pen.measureText(text).width;
            pen.fillText(text, end - width, y);
            end -= width + 6;
        }
        const label = label_parts(side, node), quiet = ink ?? theme.quiet;
        if (folds) write(this.tree.unfolded[node] ? "▾" : "▸", quiet, "11px");
        write(label.title, ink ?? (unmatched || side.type[node] === node_collection ? theme.quiet : theme.text), folds ? "600 13px" : "12px");
        if (label.kind && end - x > 24) write(label.kind, ink ?? theme.accent, "12px");
        if (label.call && end - x > 8) write(folds ? label.call : short_call(label.call), quiet, "11px");
    }

    // What stands at the right end of a head: [text, colour, font], the last first.
    remarks(node, is_open, ink) {
        const { side, theme, bands } = this, remarks = [];
        if (bands.colour(side.index[node])) remarks.push([index_text(side.index[node]), ink ?? theme.text, "600 12px"]);
        if (!is_open && side.has_children(node) && side.suspicious[node]) remarks.push([`${side.suspicious[node]}×`, ink ?? theme.error, "600 12px"]);
        if (side.communications.has(node)) remarks.push([marks_of(side.communications.get(node)), ink ?? theme.accent, "12px"]);
        if (side.overflow[node]) remarks.push(["▲".repeat(side.overflow[node]), ink ?? theme.comparison, "9px"]);
        if (this.note_of(node)) remarks.push(["✎", ink ?? theme.accent, "12px"]);
        if (side.hand.has(node)) remarks.push([words("hand"), ink ?? theme.quiet, "italic 11px"]);
        if (side.repair[node]) remarks.push(["⚒", ink ?? theme.warning, "12px"]);
        return remarks;
    }
}
