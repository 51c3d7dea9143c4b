// Left and right in a tree: fold, unfold, or go to the parent or the first child.

// What a key does at a node: { fold: node }, { go: node } or null.
export function tree_key(key, { side, tree, selected }) {
    if (selected < 0) return null;
    const unfolded = Boolean(tree.unfolded[selected]), folds = side.has_children(selected);
    if (key === "ArrowRight" && folds) return unfolded ? { go: selected + 1 } : { fold: selected };
    if (key !== "ArrowLeft") return null;
    if (folds && unfolded && selected) return { fold: selected };
    return side.parent[selected] >= 0 ? { go: side.parent[selected] } : null;
}
