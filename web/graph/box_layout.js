// Where the boxes of a tree stand: an unfolded module is a box around those of its children, which follow each
// other from top to bottom; nodes without children are small and stand up to five abreast. Only what
// is unfolded has a place. Positions are those in tree.visible, from the root down, so tops never fall from
// one position to the next: what is in sight is found by halving.

export const box = { leaf_width: 128, module_width: 236, leaf_height: 30, head: 32, pad: 10, gap: 16, beside: 10, abreast: 5 };

export class BoxLayout {
    constructor(tree) {
        const { side, visible } = tree, n = visible.length;
        Object.assign(this, { side, visible, count: n });
        this.after = new Uint32Array(n); // position behind the boxes inside
        this.up = new Int32Array(n).fill(-1); // position of the box around
        for (const key of ["left", "top", "width", "height"]) this[key] = new Float64Array(n);
        for (let at = n - 1; at >= 0; at--) this.measure(at);
        for (let at = 0; at < n; at++) this.place(at);
    }

    is_leaf(at) {
        return !this.side.has_children(this.visible[at]);
    }

    is_open(at) {
        return this.after[at] > at + 1;
    }

    // run(first, behind, width, height) for each row of the boxes inside of one.
    rows(at, run) {
        const { after, width, height } = this, end = after[at];
        for (let first = at + 1; first < end;) {
            let behind = after[first], wide = width[first];
            if (this.is_leaf(first))
                for (; behind < end && behind - first < box.abreast && this.is_leaf(behind); behind++) wide += box.beside + width[behind];
            run(first, behind, wide, height[first]);
            first = behind;
        }
    }

    measure(at) {
        const { side, visible, after, width, height } = this, end = side.end[visible[at]];
        let behind = at + 1;
        while (behind < this.count && visible[behind] < end) behind = after[behind];
        after[at] = behind;
        width[at] = this.is_leaf(at) ? box.leaf_width : box.module_width;
        height[at] = this.is_leaf(at) ? box.leaf_height : box.head;
        if (!this.is_open(at)) return;
        this.rows(at, (first, next, wide, high) => {
            width[at] = Math.max(width[at], wide + 2 * box.pad);
            height[at] += high + box.gap;
        });
        height[at] += box.pad - box.gap / 2; // half a gap below the head, a margin below the last row
    }

    place(at) {
        const { left, top, width } = this;
        let y = top[at] + box.head + box.gap / 2;
        if (!this.is_open(at)) return;
        this.rows(at, (first, next, wide, high) => {
            let x = left[at] + (width[at] - wide) / 2;
            for (let inside = first; inside < next; inside = this.after[inside]) {
                [left[inside], top[inside], this.up[inside]] = [x, y, at];
                x += width[inside] + box.beside;
            }
            y += high + box.gap;
        });
    }

    // The first position whose top is not above y.
    first_from(y) {
        let low = 0, high = this.count;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.top[middle] < y) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    // The positions of the boxes of which something is in sight in a rectangle, outer ones before those inside. Of those
    // that cover all of it only the innermost, which hides the others.
    in_sight({ x, y, width, height }) {
        const first = this.first_from(y - box.head), behind = this.first_from(y + height), found = [];
        // What begins above and reaches down to here is the box before, or around it.
        for (let at = first - 1; at >= 0; at = this.up[at]) {
            if (this.top[at] + this.height[at] < y) continue;
            found.push(at);
            const covers = this.left[at] < x && this.left[at] + this.width[at] > x + width && this.top[at] < y && this.top[at] + this.height[at] > y + height;
            if (covers && this.is_open(at)) break;
        }
        found.reverse();
        for (let at = first; at < behind; at++) if (this.left[at] < x + width && this.left[at] + this.width[at] > x) found.push(at);
        return found;
    }

    contains(at, x, y) {
        return x >= this.left[at] && x < this.left[at] + this.width[at] && y >= this.top[at] && y < this.top[at] + this.height[at];
    }

    // Do two neighbours stand in one row?
    is_beside(at) {
        return at > 0 && this.up[at] === this.up[at - 1] && this.top[at] === this.top[at - 1] && this.is_leaf(at - 1);
    }

    // The innermost box at a point; -1 outside of all.
    hit(x, y) {
        let last = this.first_from(y) - 1;
        if (last < 0) return -1;
        for (let at = last; ; at--) {
            if (this.contains(at, x, y)) return at;
            if (!this.is_beside(at)) break;
        }
        for (let at = this.up[last]; at >= 0; at = this.up[at]) if (this.contains(at, x, y)) return at;
        return -1;
    }
}
