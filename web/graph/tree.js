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
        const { side } = this, visible = [];
        for (let i = 0; i < side.count;) {
            const hidden = this.page >= 0 && side.depth[i] === 1 && side.page[i] !== this.page;
            if (!hidden) visible.push(i);
            i = !hidden && this.unfolded[i] ? i + 1 : side.end[i];
        }
        this.visible = Uint32Array.from(visible);
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

    unfold_all() {
        this.unfolded.fill(1);
        this.update();
    }

    fold_all() {
        this.unfolded.fill(0);
        this.unfolded[0] = 1;
        this.update();
    }

    unfold_suspicious() {
        for (let i = 0; i < this.side.count; i++)
            if (this.side.has_children(i)) this.unfolded[i] = i === 0 || this.side.suspicious[i] > 0 ? 1 : 0;
        this.update();
    }

    // Unfold the ancestors of a node, and show its micro step.
    reveal(i) {
        for (let at = this.side.parent[i]; at >= 0; at = this.side.parent[at]) this.unfolded[at] = 1;
        if (this.page >= 0 && this.side.page[i] !== this.page) this.page = -1;
        this.update();
    }

    // Where a node stands among those in sight; -1 when it is folded away.
    position(i) {
        let low = 0, high = this.visible.length - 1;
        while (low <= high) {
            const middle = (low + high) >> 1;
            if (this.visible[middle] === i) return middle;
            if (this.visible[middle] < i) low = middle + 1;
            else high = middle - 1;
        }
        return -1;
    }
}
