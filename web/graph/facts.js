// What the rows of all nodes say, read once when somebody asks for it: dtypes and shapes of inputs and outputs,
// the names of metrics, and the relative errors of each statistic. Two hundred thousand nodes take a few seconds.

import { Pause } from "../common/pause.js";

// Keys of a row that describe a tensor; the others are metrics.
export const described_keys = ["type", "dtype", "shape", "Max", "Min", "Mean", "Norm", "md5", "requires_grad", "data_name", "value"];
export const error_keys = ["MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"];

// A number for each of a set of texts.
class Numbered {
    constructor() {
        this.texts = [];
        this.numbers = new Map();
    }

    number(text) {
        if (!this.numbers.has(text)) this.numbers.set(text, this.texts.push(text) - 1);
        return this.numbers.get(text);
    }
}

// "12.5%" as 0.125, at most 1; what is no share counts nothing.
function share(text) {
    const value = Number.parseFloat(text);
    return typeof text === "string" && text.endsWith("%") && Number.isFinite(value) ? Math.min(1, Math.abs(value) / 100) : 0;
}

export class Facts {
    constructor(count) {
        this.dtypes = new Numbered();
        this.shapes = new Numbered();
        this.sets = new Numbered(); // of [dtype, shape] of a node's rows, which many nodes share
        this.members = [];
        this.set = new Uint32Array(count);
        this.metrics = new Set();
        this.errors = error_keys.map(() => new Float32Array(count));
    }

    add(i, { inputs, outputs }) {
        const pairs = new Map(), rows = [inputs, outputs].flatMap(Object.values);
        for (const row of rows) {
            for (const key of Object.keys(row)) if (!described_keys.includes(key)) this.metrics.add(key);
            if (row.dtype) {
                const pair = [this.dtypes.number(row.dtype), this.shapes.number(row.shape ?? "")];
                pairs.set(pair.join(), pair);
            }
        }
        const key = [...pairs.keys()].join(" "), known = this.sets.texts.length;
        this.set[i] = this.sets.number(key);
        if (this.set[i] === known) this.members.push([...pairs.values()]);
        for (const row of Object.values(outputs)) error_keys.forEach((name, which) => { this.errors[which][i] = Math.max(this.errors[which][i], share(row[name])); });
    }

    // Has the node a row of this dtype and with this in its shape? "" is any.
    has(i, { dtype, shape }) {
        const wanted = shape.replace(/\s/g, "");
        return this.members[this.set[i]].some(([a, b]) => (!dtype || this.dtypes.texts[a] === dtype) && (!wanted || this.shapes.texts[b].replace(/\s/g, "").includes(wanted)));
    }
}

// A promise of the facts of a side; the page stays alive meanwhile.
export async function read_facts(side) {
    const facts = new Facts(side.count), pause = new Pause();
    for (let i = 0; i < side.count; i++) {
        facts.add(i, await side.rows(i));
        await pause.rest();
    }
    return facts;
}
