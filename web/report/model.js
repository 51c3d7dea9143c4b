// The results in the page: inputs one behind the other, their rows in columns.

import { block_bytes, block_meta } from "../common/blocks.js";
import { Columns } from "../common/columns.js";
import { telling_metrics, telling_numbers } from "./metrics.js";
import { verdict_failed } from "../common/verdicts.js";

function entry_of(name) {
    return /^.*?\.(forward|backward)(\.\d+)?(?=\.|$)/.exec(name)?.[0] ?? name;
}

// The frames of a stack, one below the other. A comparison writes them as a list of texts in Python.
export function stack_lines(stack) {
    const texts = stack.startsWith("[") ? [...stack.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/gs)].map(([, single, double]) => single ?? double) : [];
    const escapes = { n: "\n", t: "\t" };
    return (texts.length ? texts : [stack]).map((text) => text.replace(/\\(.)/gs, (_, letter) => escapes[letter] ?? letter)
        .replace(/,?\s*\n\s*/g, "\n    ").trim()).join("\n");
}

export class Results {
    constructor(meta, load) {
        this.meta = meta;
        this.inputs = meta.inputs;
        this.rows = meta.rows;
        this.columns = new Columns(meta.columns, meta.rows, load);
    }

    static async open() {
        return new Results(await block_meta(), block_bytes);
    }

    // Index of the input that has the row.
    input_of(row) {
        let low = 0, high = this.inputs.length - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.inputs[middle].first <= row) low = middle;
            else high = middle - 1;
        }
        return low;
    }

    async code_text(id, row) {
        return this.columns.text_of_code(id, (await this.columns.codes(id))[row]);
    }

    async verdict(row) {
        return this.code_text("verdict", row);
    }

    // A flag per code of the verdict column: is it a failure?
    failed_codes() {
        return this.columns.dictionary("verdict").map(verdict_failed);
    }

    // The evidence of a row: an object, null where there is none, or { unreadable: true }.
    async evidence(row) {
        const text = await this.columns.text("evidence", row);
        if (!text) return null;
        try {
            const evidence = JSON.parse(text);
            return evidence && typeof evidence === "object" ? evidence : { unreadable: true };
        } catch {
            return { unreadable: true };
        }
    }

    // Numbers of a row by column, without the empty ones; NaN stays.
    async numbers(row, ids) {
        const found = new Map();
        for (const id of ids) {
            if (!this.columns.has(id)) continue;
            const numbers = await this.columns.numbers(id);
            if (!this.columns.is_blank(numbers, row)) found.set(id, numbers.values[row]);
        }
        return found;
    }

    // Where the call was made: comparisons say it in the first row of an entry, which others of it look up.
    async stack(row) {
        const farthest = 200, entry = entry_of(await this.columns.text("name", row)), first = this.inputs[this.input_of(row)].first;
        if (!this.columns.has("stack")) return "";
        for (let at = row; at >= first && at > row - farthest; at--) {
            if (entry_of(await this.columns.text("name", at)) !== entry) break;
            const stack = await this.columns.text("stack", at);
            if (stack && stack !== "N/A" && stack !== "None") return stack;
        }
        return "";
    }

    // Everything that "why" is told from.
    async reason(row) {
        const [evidence, message, metric, got, want] = await Promise.all([
            this.evidence(row), this.columns.text("message", row), this.code_text("decided_by", row),
            this.columns.text("checksum", row), this.columns.text("bench_checksum", row)]);
        const decided = metric && this.columns.has(metric) ? { metric, value: (await this.numbers(row, [metric])).get(metric) ?? NaN } : null;
        const numbers = evidence || decided ? new Map() : await this.numbers(row, telling_metrics);
        return { evidence, message, decided, checksums: { got, want }, telling: telling_numbers(numbers) };
    }

    // Rows of the other inputs with the same name, by input; the k-th of equal names goes with the k-th.
    async namesakes(row) {
        const found = new Map(), mine = this.input_of(row);
        if (this.inputs.length < 2) return found;
        const { bits } = await this.columns.numbers("name_hash");
        const name = await this.columns.text("name", row);
        const first = this.inputs[mine].first;
        let turn = 0;
        for (let at = bits.indexOf(bits[row], first); at >= 0 && at < row; at = bits.indexOf(bits[row], at + 1)) turn++;
        for (let input = 0; input < this.inputs.length; input++) {
            if (input === mine) continue;
            const end = this.inputs[input].first + this.inputs[input].rows;
            let left = turn;
            for (let at = bits.indexOf(bits[row], this.inputs[input].first); at >= 0 && at < end; at = bits.indexOf(bits[row], at + 1))
                if (await this.columns.text("name", at) === name && left-- === 0) {
                    found.set(input, at);
                    break;
                }
        }
        return found;
    }

    // The inputs whose verdicts can be compared: those of the first kind of which there are several, with
    // the first of them as `base`, which is -1 when there are none.
    compared_inputs() {
        for (const [at, { kind }] of this.inputs.entries()) {
            const others = this.inputs.map((input, index) => index).filter((index) => index > at && this.inputs[index].kind === kind);
            if (others.length) return { base: at, others };
        }
        return { base: -1, others: [] };
    }

    // A flag per row: does the row of its name in the base have another verdict? Rows that only one side
    // has do not count.
    async changed() {
        const { base, others } = this.compared_inputs(), flags = new Uint8Array(this.rows), place = new Map();
        if (base < 0) return flags;
        const { bits } = await this.columns.numbers("name_hash");
        const verdicts = await this.columns.codes("verdict");
        const ends = (input) => [this.inputs[input].first, this.inputs[input].first + this.inputs[input].rows];
        for (let [row, end] = ends(base); row < end; row++) if (!place.has(bits[row])) place.set(bits[row], row);
        for (const input of others)
            for (let [row, end] = ends(input); row < end; row++) {
                const other = place.get(bits[row]);
                if (other !== undefined && verdicts[other] !== verdicts[row]) flags[row] = flags[other] = 1;
            }
        return flags;
    }
}
