// Where the boxes that scroll by themselves stand, so that drawing them anew does not move them.

// A box that follows its end stays there, with the newest step in sight, until somebody moves it away.
const boxes = [{ selector: ".grid-box", follows_end: true }, { selector: ".clients", follows_end: false }];

function is_at_end(box) {
    return box.scrollLeft + box.clientWidth >= box.scrollWidth - 1;
}

// Of each box under `parts`: its selector, its top and its left; left is null for its end.
export function scroll_positions(parts) {
    return boxes.map(({ selector, follows_end }) => {
        const box = parts.querySelector(selector);
        if (!box) return { selector, top: 0, left: follows_end ? null : 0 };
        return { selector, top: box.scrollTop, left: follows_end && is_at_end(box) ? null : box.scrollLeft };
    });
}

export function scroll_back(parts, positions) {
    for (const { selector, top, left } of positions) {
        const box = parts.querySelector(selector);
        if (!box) continue;
        box.scrollTop = top;
        box.scrollLeft = left ?? box.scrollWidth;
    }
}
