// What the reader writes about nodes, by side and name, so that it holds for every rank.

export class Notes {
    constructor() {
        this.texts = { npu: new Map(), bench: new Map() };
    }

    get(key, name) {
        return this.texts[key].get(name) ?? "";
    }

    set(key, name, text) {
        if (text.trim()) this.texts[key].set(name, text);
        else this.texts[key].delete(name);
    }

    get size() {
        return this.texts.npu.size + this.texts.bench.size;
    }

    // [key, name, text]
    all() {
        return Object.entries(this.texts).flatMap(([key, texts]) => [...texts].map(([name, text]) => [key, name, text]));
    }

    // The form of files: { npu: { name: text }, bench: … }
    value() {
        return Object.fromEntries(Object.entries(this.texts).map(([key, texts]) => [key, Object.fromEntries(texts)]));
    }

    // Add what value() gave; throws when it is something else.
    read(value) {
        for (const [key, texts] of Object.entries(this.texts))
            for (const [name, text] of Object.entries(value[key] ?? {})) {
                if (typeof text !== "string") throw new Error("no note");
                texts.set(name, text);
            }
    }
}
