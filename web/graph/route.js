// The state of the page as its address: #view=graph&form=boxes&step=0&rank=1&side=npu&node=Module.h.0.…

export const views = ["graph", "ranks", "differences"];
export const forms = ["rows", "boxes"];

export function route_text({ view, form, step, rank, side, node }) {
    const wanted = new URLSearchParams({ view, form, step, rank });
    if (node) {
        wanted.set("side", side);
        wanted.set("node", node);
    }
    return `#${wanted}`;
}

export function route_of_text(text) {
    const wanted = new URLSearchParams(text.replace(/^#/, "")), number = (key) => {
        const value = Number(wanted.get(key) ?? NaN);
        return Number.isInteger(value) && value >= 0 ? value : null;
    };
    const view = wanted.get("view"), form = wanted.get("form");
    return { view: views.includes(view) ? view : "graph", form: forms.includes(form) ? form : "", step: number("step"), rank: number("rank"),
        side: wanted.get("side") === "bench" ? "bench" : "npu", node: wanted.get("node") ?? "" };
}
