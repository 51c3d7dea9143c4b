// Names of modules and calls in the parts that people look for.

import { node_collection } from "./side.js";

const directions = new Set(["forward", "backward"]);

// { type, path, kind, call }: "Module.h.0.attn.GPTAttn.forward.1" is a Module at ["h", "0", "attn"] of kind
// GPTAttn, call "forward 1"; "Functional.softmax.3.backward" is a Functional at ["softmax"], call
// "3 backward".
export function name_parts(name) {
    const parts = name.split(".");
    const last = parts.length - 1;
    if (parts.length > 3 && directions.has(parts[last - 1]))
        return { type: parts[0], path: parts.slice(1, last - 2), kind: parts[last - 2], call: `${parts[last - 1]} ${parts[last]}` };
    if (parts.length > 3 && directions.has(parts[last]))
        return { type: parts[0], path: parts.slice(1, last - 1), kind: "", call: `${parts[last - 1]} ${parts[last]}` };
    return { type: parts.length > 1 ? parts[0] : "", path: parts.length > 1 ? parts.slice(1) : parts, kind: "", call: "" };
}

// What is left of a path below its parent's.
export function path_below(path, parent_path) {
    let shared = 0;
    while (shared < path.length - 1 && shared < parent_path.length && path[shared] === parent_path[shared]) shared++;
    return path.slice(shared);
}

// What a node is called where its parent is in sight: { title, kind, call, type }.
export function label_parts(side, node) {
    const name = side.name(node), parts = name_parts(name), up = side.parent[node];
    const around = up > 0 ? name_parts(side.name(up)) : null;
    const path = around && parts.type === around.type ? path_below(parts.path, around.path) : parts.path;
    const title = side.type[node] === node_collection ? name.replaceAll("_", " ").replace(".", " ") : path.join(".") || name;
    return { title, kind: parts.kind, call: parts.call, type: parts.type };
}
