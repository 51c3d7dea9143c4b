// The state of the page as its address, so that a link shows what was seen: #rows?q=...&row=12

import { empty_query } from "./query.js";

const views = ["overview", "rows", "apis"];

export function route_text({ view, query, sort, row }) {
    const wanted = new URLSearchParams(), plain = empty_query();
    for (const key of Object.keys(plain)) {
        const value = query[key];
        if (key === "ranges") for (const range of value) wanted.append("range", `${range.id}:${range.from ?? ""}:${range.to ?? ""}`);
        else if (Array.isArray(value)) value.forEach((item) => wanted.append(key, item));
        else if (value !== plain[key]) wanted.set(key, String(value));
    }
    if (sort) wanted.set("sort", `${sort.direction < 0 ? "-" : ""}${sort.id}`);
    if (row >= 0) wanted.set("row", String(row));
    const text = wanted.toString();
    return `#${view}${text ? `?${text}` : ""}`;
}

function range_of_text(text) {
    const [id, from, to] = text.split(":");
    const bound = (part) => part === "" || part === undefined || Number.isNaN(Number(part)) ? null : Number(part);
    return { id, from: bound(from), to: bound(to) };
}

export function route_of_text(text, rows) {
    const [view, rest = ""] = text.replace(/^#/, "").split(/\?(.*)/s);
    const wanted = new URLSearchParams(rest), query = empty_query();
    for (const key of ["search", "api", "dtype", "standard", "direction", "message", "call"]) query[key] = wanted.get(key) ?? "";
    query.regular = wanted.get("regular") === "true";
    query.changed = wanted.get("changed") === "true";
    query.verdicts = wanted.getAll("verdicts");
    query.ranges = wanted.getAll("range").map(range_of_text);
    const input = Number(wanted.get("input") ?? -1), row = Number(wanted.get("row") ?? -1);
    query.input = Number.isInteger(input) ? input : -1;
    const sort_text = wanted.get("sort") ?? "";
    const sort = sort_text ? { id: sort_text.replace(/^-/, ""), direction: sort_text.startsWith("-") ? -1 : 1 } : null;
    return { view: views.includes(view) ? view : "overview", query, sort, row: Number.isInteger(row) && row >= 0 && row < rows ? row : -1 };
}
