// Bands of the precision index: which colour a value has, which of two is worse, what is suspicious.

import { element } from "../common/elements.js";
import { words } from "../common/language.js";

// Four steps towards bad that keep their order for every kind of colour vision; text on all of
// them is dark. The numbers beside the colours say the same.
const safe_palette = ["", "#cfe1f2", "#f6d9a8", "#f0a35e", "#d55e00"];

export class Bands {
    constructor(meta) {
        this.task = meta.task;
        this.levels = meta.generation === 3;
        this.high_is_bad = meta.task !== "md5" || this.levels;
        this.bands = Object.entries(meta.colours ?? {}).filter(([, band]) => band.value.length)
            .map(([hex, band]) => ({ hex, low: band.value[0], high: band.value[1], description: band.description }));
        if (!this.high_is_bad) this.bands.sort((a, b) => b.low - a.low);
        this.palette = "safe";
        this.own = []; // colours that the reader chose, by band
    }

    band(value) {
        if (Number.isNaN(value)) return -1;
        const last = this.bands.length - 1;
        return this.bands.findIndex((band, i) => value >= band.low && (value < band.high || band.low === band.high ||
            (i === last && value <= band.high)) && (band.low !== band.high || value === band.low));
    }

    colour(value) {
        const band = this.band(value);
        if (band < 0) return null;
        if (this.palette === "file") return this.bands[band].hex;
        if (this.palette === "own") return this.own[band] ?? this.bands[band].hex;
        if (band === 0) return null; // what is good needs no colour
        const steps = Math.max(1, this.bands.length - 1);
        return safe_palette[Math.round(band * (safe_palette.length - 1) / steps)];
    }

    worse(a, b) {
        if (Number.isNaN(a)) return false;
        return Number.isNaN(b) || (this.high_is_bad ? a > b : a < b);
    }

    is_suspicious(value) {
        if (Number.isNaN(value)) return false;
        if (this.levels) return value >= 1;
        if (this.task === "summary") return value > 0.4;
        return this.task === "all" ? value > 0.1 : value < 1;
    }

    // From 0 (good) to 1 (bad), for what is drawn as a height.
    badness(value) {
        if (Number.isNaN(value)) return 0;
        return this.high_is_bad ? Math.min(1, Math.max(0, value)) : 1 - value;
    }
}

export function index_text(value) {
    if (Number.isNaN(value)) return "";
    if (value === 0 || value === 1) return String(value);
    return value >= 0.0995 ? value.toFixed(2) : value >= 0.001 ? value.toFixed(3) : value.toExponential(0);
}

// An index on its colour; "rolled" is the worst below a folded node, which is outlined.
export function index_chip(bands, value, rolled = false) {
    const chip = element("span", { class: `chip index${rolled ? " rolled" : ""}${bands.is_suspicious(value) ? " bad-index" : ""}`, title: words(rolled ? "below" : "index") }, index_text(value));
    const colour = bands.colour(value);
    if (!colour) chip.classList.add("plain-index");
    else chip.style.setProperty(rolled ? "border-color" : "background-color", colour);
    return chip;
}
