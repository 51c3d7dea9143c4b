// The mini map of a pane of boxes: all of it at a glance, the worst node of every line of pixels in its
// colour, and the part that is in sight as a frame to drag.

import { element } from "../common/elements.js";

const map_width = 72, inset = 6, smallest_outline = 4;

// The position of the worst box that begins in each line of pixels; -1 where none does.
export function worst_by_line(layout, { side, bands }, lines) {
    const worst = new Int32Array(lines).fill(-1), scale = lines / layout.height[0];
    const value = (at) => layout.is_open(at) ? side.index[layout.visible[at]] : side.worst[layout.visible[at]];
    for (let at = 0; at < layout.count; at++) {
        const line = Math.min(lines - 1, Math.floor(layout.top[at] * scale));
        if (worst[line] < 0 || bands.worse(value(at), value(worst[line]))) worst[line] = at;
    }
    return { worst, value };
}

export class BoxMap {
    // on_move(x, y): the middle of what is to be in sight
    constructor({ label, on_move }) {
        this.on_move = on_move;
        this.node = element("canvas", { class: "box-map", role: "img", "aria-label": label, title: label });
        this.node.addEventListener("pointerdown", (event) => {
            this.node.setPointerCapture(event.pointerId);
            this.drag(event);
        });
        this.node.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.drag(event); });
    }

    // The map is as high as the pane, or less when the boxes are few.
    scales() {
        const { layout } = this, x = (map_width - 2 * inset) / layout.width[0];
        return { x, y: Math.min(x, (this.node.clientHeight - 2 * inset) / layout.height[0]) };
    }

    drag(event) {
        if (!this.layout?.count) return;
        const scale = this.scales();
        this.on_move((event.offsetX - inset) / scale.x, (event.offsetY - inset) / scale.y);
    }

    // The picture without the frame is kept until the boxes, the colours or the size change.
    show(layout, colouring, theme) {
        Object.assign(this, { layout, colouring, theme, picture: null });
    }

    draw_picture(ratio, height) {
        const { layout, colouring, theme } = this, scale = this.scales(), picture = document.createElement("canvas");
        picture.width = map_width * ratio;
        picture.height = height * ratio;
        const pen = picture.getContext("2d"), lines = Math.max(1, Math.floor(layout.height[0] * scale.y));
        pen.scale(ratio, ratio);
        pen.translate(inset, inset);
        pen.strokeStyle = theme.line;
        for (let at = 0; at < layout.count;) {
            const high = layout.height[at] * scale.y;
            if (high >= smallest_outline) pen.strokeRect(layout.left[at] * scale.x, layout.top[at] * scale.y, layout.width[at] * scale.x, high);
            at = high >= smallest_outline ? at + 1 : layout.after[at];
        }
        const { worst, value } = worst_by_line(layout, colouring, lines);
        worst.forEach((at, line) => {
            const colour = at < 0 ? null : colouring.bands.colour(value(at));
            if (!colour) return;
            pen.fillStyle = colour;
            pen.fillRect(layout.left[at] * scale.x, line, Math.max(3, layout.width[at] * scale.x), Math.max(2, Math.min(layout.is_open(at) ? 2 : 8, layout.height[at] * scale.y)));
        });
        return picture;
    }

    // frame: what is in sight, { x, y, width, height } in the places of boxes
    draw(frame) {
        const { node, theme } = this, height = node.clientHeight, ratio = devicePixelRatio || 1;
        if (!this.layout?.count || height < 2 * inset) return;
        if (!this.picture || this.picture.height !== height * ratio) this.picture = this.draw_picture(ratio, height);
        node.width = map_width * ratio;
        node.height = height * ratio;
        const pen = node.getContext("2d"), scale = this.scales();
        pen.drawImage(this.picture, 0, 0);
        pen.scale(ratio, ratio);
        pen.strokeStyle = pen.fillStyle = theme.accent;
        const left = Math.max(1, inset + frame.x * scale.x), top = Math.max(1, inset + frame.y * scale.y);
        const wide = Math.min(map_width - 1, inset + (frame.x + frame.width) * scale.x) - left, high = Math.min(height - 1, inset + (frame.y + frame.height) * scale.y) - top;
        pen.beginPath();
        pen.roundRect(left, top, Math.max(2, wide), Math.max(3, high), 3);
        pen.globalAlpha = 0.12;
        pen.fill();
        pen.globalAlpha = 1;
        pen.stroke();
    }
}
