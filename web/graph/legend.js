// What the colours mean, and which ones: a palette of three, and for statistics the errors that count.

import { remember, remembered } from "../common/choices.js";
import { element } from "../common/elements.js";
import { words } from "../common/language.js";
import { statistics } from "./by_hand.js";

export const palettes = ["safe", "file", "own"];

export function palette_start(bands) {
    const palette = remembered("palette");
    if (palettes.includes(palette)) bands.palette = palette;
}

function band_row(bands, i, { on_colours, on_band }) {
    const band = bands.bands[i], colour = bands.colour(band.low), text = band.low === band.high ? String(band.low) : `${band.low} – ${band.high}`;
    const swatch = bands.palette === "own" ? element("input", { class: "swatch", type: "color", value: colour, "aria-label": text, onchange: (event) => {
        bands.own = bands.bands.map((other, at) => at === i ? event.target.value : bands.own[at] ?? other.hex);
        on_colours();
    } }) : element("span", { class: "swatch", style: colour ? { "background-color": colour } : {} });
    const title = [band.description, words("legend.find")].filter(Boolean).join("\n");
    return element("div", { class: "legend-row" }, swatch, element("button", { class: "link", type: "button", title, onclick: () => on_band(band) }, text));
}

// errors: null, or which of the four count; on_colours(), on_band(band), on_errors(errors)
export function legend(bands, errors, { on_colours, on_band, on_errors }) {
    const palette = element("select", { id: "palette", onchange: (event) => {
        bands.palette = event.target.value;
        remember("palette", bands.palette);
        on_colours();
    } }, palettes.map((name) => element("option", { value: name, selected: name === bands.palette }, words(`palette.${name}`))));
    const error_box = (name, i) => element("label", { class: "choice" }, element("input", { type: "checkbox", checked: errors[i], onchange: (event) =>
        on_errors(errors.map((counts, at) => at === i ? event.target.checked : counts)) }), name);
    const menu = element("details", { class: "menu legend" }, element("summary", { class: "small" }, words("legend")), element("div", { class: "menu-box legend-box" },
        bands.bands.map((_, i) => band_row(bands, i, { on_colours, on_band })),
        element("div", { class: "legend-row" }, element("span", { class: "swatch rolled-swatch" }), words("legend.rolled")),
        element("div", { class: "legend-row" }, element("span", { class: "swatch unmatched-swatch" }), words("unmatched")),
        element("label", { class: "choice" }, words("palette"), palette),
        errors ? element("fieldset", { class: "errors" }, element("legend", {}, words("errors that count")), statistics.map(error_box)) : null));
    return menu;
}
