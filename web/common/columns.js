// Columns of rows, decoded block by block on demand. pages/columns.h has the formats:
// numbers are the high halves of doubles, codes point into a dictionary, texts end with a NUL.

const blank_bits = 0xffffffff;
export const other_code = 65535;
const kept_text_blocks = 96;

// Byte planes, highest first, as one unsigned number per row.
export function join_planes(bytes, rows, planes) {
    const values = new Uint32Array(rows);
    for (let plane = 0; plane < planes; plane++) {
        const from = plane * rows;
        for (let i = 0; i < rows; i++) values[i] = (values[i] << 8) | bytes[from + i];
    }
    return values;
}

// The doubles whose high halves these are; NaN for blank cells too.
export function doubles_of_bits(bits) {
    const halves = new Uint32Array(2 * bits.length);
    const little_endian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
    for (let i = 0, at = little_endian ? 1 : 0; i < bits.length; i++, at += 2) halves[at] = bits[i];
    return new Float64Array(halves.buffer);
}

export class Columns {
    // `meta` describes the columns of `rows` rows; `load` gives the bytes of a block.
    constructor(meta, rows, load) {
        this.meta = meta;
        this.rows = rows;
        this.load = load;
        this.whole = new Map(); // of numbers and codes, by column
        this.text_blocks = new Map(); // by "column/block", the one used last at the end
    }

    has(id) {
        return this.blocks(id).length > 0;
    }

    // Ids may be words of a file, "constructor" for one.
    column(id) {
        return Object.hasOwn(this.meta, id) ? this.meta[id] : null;
    }

    kind(id) {
        return this.column(id)?.kind ?? "";
    }

    blocks(id) {
        return this.column(id)?.blocks ?? [];
    }

    dictionary(id) {
        return this.column(id)?.texts ?? [];
    }

    // The text of a code; "…" for texts that found no place in the dictionary.
    text_of_code(id, code) {
        return code === other_code ? "…" : this.dictionary(id)[code] ?? "";
    }

    async whole_bits(id, blank, planes, type) {
        const bits = new type(this.rows);
        if (blank) bits.fill(blank);
        for (const [block, first, rows] of this.blocks(id))
            bits.set(join_planes(await this.load(block), rows, planes), first);
        return bits;
    }

    cached(id, make) {
        if (!this.whole.has(id)) this.whole.set(id, make());
        return this.whole.get(id);
    }

    // A promise of { bits, values }: values are NaN where bits are blank.
    numbers(id) {
        return this.cached(id, async () => {
            const bits = await this.whole_bits(id, blank_bits, 4, Uint32Array);
            return { bits, values: doubles_of_bits(bits) };
        });
    }

    // A promise of 16-bit codes; 0 is an empty cell.
    codes(id) {
        return this.cached(id, () => this.whole_bits(id, 0, 2, Uint16Array));
    }

    is_blank(numbers, row) {
        return numbers.bits[row] === blank_bits;
    }

    // Index of the text block that has the row, or -1.
    block_of_row(id, row) {
        const blocks = this.blocks(id);
        let low = 0, high = blocks.length - 1;
        while (low <= high) {
            const middle = (low + high) >> 1, [, first, rows] = blocks[middle];
            if (row < first) high = middle - 1;
            else if (row >= first + rows) low = middle + 1;
            else return middle;
        }
        return -1;
    }

    // A promise of the texts of a block, one per row.
    text_block(id, index) {
        const key = `${id}/${index}`;
        let texts = this.text_blocks.get(key);
        this.text_blocks.delete(key);
        if (!texts) texts = this.load(this.blocks(id)[index][0])
            .then((bytes) => new TextDecoder().decode(bytes).split("\0"));
        this.text_blocks.set(key, texts);
        if (this.text_blocks.size > kept_text_blocks)
            this.text_blocks.delete(this.text_blocks.keys().next().value);
        return texts;
    }

    // A promise of the text of a row; "" for an empty cell.
    async text(id, row) {
        const index = this.block_of_row(id, row);
        if (index < 0) return "";
        return (await this.text_block(id, index))[row - this.blocks(id)[index][1]];
    }
}
