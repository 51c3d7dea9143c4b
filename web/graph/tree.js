// Which nodes of a side are in sight: those whose ancestors are all unfolded. What is folded costs
// nothing, so a tree of millions opens as fast as one of ten.

export class Tree {
    constructor(side) {
        this.side = side;
        this.unfolded = new Uint8Array(side.count);
        this.unfolded[0] = 1;
        this.page = -1; // of micro steps; -1: all
        this.update();
    }

    update() {
        const { side } = this, visible = new Uint32Array(side.count);
        let count = 0;
        for (let i = 0; i < side.count;) {
            const hidden = this.page >= 0 && side.depth[i] === 1 && side.page[i] !== this.page;
            if (!hidden) visible[count++] = i;
            i = !hidden && this.unfolded[i] ? i + 1 : side.end[i];
        }
        this.visible = visible.slice(0, count);
    }

    set_page(page) {
        this.page = page;
        this.update();
    }

    toggle(i) {
        this.unfolded[i] ^= 1;
        this.update();
    }

    set_unfolded(i, unfolded) {
        if (Boolean(this.unfolded[i]) === unfolded) return;
        this.toggle(i);
    }

    unfold_below(i) {
        this.unfolded.fill(1, i, this.side.end[i]);
        this.update();
    }

    unfold_all() {
        this.unfolded.fill(1);
        this.update();
    }

    fold_all() {
        this.unfolded.fill(0);
        this.unfolded[0] = 1;
        this.update();
    }

    // Unfold what is at most so deep; the root has depth 0.
    unfold_to(depth) {
        for (let i = 0; i < this.side.count; i++) this.unfolded[i] = i === 0 || this.side.depth[i] < depth ? 1 : 0;
        this.update();
    }

    // Unfold what has suspicious nodes below. The indices are those of `judged`, this side or the other, whose node
    // `partner` tells for each of this side (null: itself).
    unfold_suspicious(judged, partner) {
        for (let i = 0; i < this.side.count; i++) {
            const node = partner ? partner[i] : i;
            this.unfolded[i] = i === 0 || (node >= 0 && judged.suspicious[node] > 0) ? 1 : 0;
        }
        this.update();
    }

    // Unfold the ancestors of a node, and show its micro step.
    reveal(i) {
        let changed = this.page >= 0 && this.side.page[i] !== this.page;
        if (changed) this.page = -1;
        for (let at = this.side.parent[i]; at >= 0; at = this.side.parent[at]) {
            changed ||= !this.unfolded[at];
            this.unfolded[at] = 1;
        }
        if (changed) this.update();
    }

    // Where a node stands among those in sight; -1 when it is folded away.
    position(i) {
        return position_in(this.visible, i);
    }
}

// Where a number stands among ascending ones; -1 when it is not there.
export function position_in(ascending, wanted) {
    let low = 0, high = ascending.length - 1;
    while (low <= high) {
        const middle = (low + high) >> 1;
        if (ascending[middle] === wanted) return middle;
        if (ascending[middle] < wanted) low = middle + 1;
        else high = middle - 1;
    }
    return -1;
}
