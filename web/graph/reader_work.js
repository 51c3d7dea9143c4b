// What the reader did to a page, as a file: the matches by hand, as viewers of msprobe and `graph --match` take them,
// and under a name that no node has, and which they pass over therefore, notes and colours: a text, which holds JSON.
// The browser keeps the same for the next time that the page is opened.

import { remember, remembered } from "../common/choices.js";

const extras = "probe-ut notes and colours";

function read_pairs(matches) {
    return Object.entries(matches).map(([name, value]) => {
        const partner = typeof value === "object" && value !== null ? value.node : value ?? "";
        if (typeof partner !== "string") throw new Error("no names");
        return [name, partner, value?.below === true];
    });
}

function read_colours(colours) {
    if (!Array.isArray(colours) || !colours.every((colour) => /^#[0-9a-f]{6}$/i.test(colour))) throw new Error("no colours");
    return colours;
}

export class ReaderWork {
    constructor(by_hand, notes, bands) {
        Object.assign(this, { by_hand, notes, bands });
    }

    is_empty() {
        return !this.by_hand.matches.size && !this.notes.size && !this.bands.own.length;
    }

    text() {
        const { by_hand, notes, bands } = this;
        const more = { ...(notes.size ? { notes: notes.value() } : {}), ...(bands.own.length ? { colours: bands.own } : {}) };
        return `${JSON.stringify({ ...Object.fromEntries(by_hand.pairs()), ...(Object.keys(more).length ? { [extras]: JSON.stringify(more) } : {}) }, null, 4)}\n`;
    }

    // Add what a file says; throws when it is no such file, and then nothing is added.
    read(text) {
        const read = JSON.parse(text);
        if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error("no object");
        const { [extras]: inner = "{}", ...matches } = read, more = JSON.parse(inner);
        const pairs = read_pairs(matches), colours = read_colours(more?.colours ?? []);
        this.notes.read(more?.notes ?? {});
        this.by_hand.add(pairs);
        if (!colours.length) return;
        this.bands.own = colours;
        this.bands.palette = "own";
    }

    // Pages are told apart by their addresses, whose names hold the time at which they were made.
    keep() {
        remember(`page ${location.pathname}`, this.text());
    }

    restore() {
        try {
            this.read(remembered(`page ${location.pathname}`) ?? "{}");
        } catch {
            // Another program's, or an older one's: as if there were none.
        }
    }
}
