// Which rows to show, and in which order.

import { Pause } from "../common/pause.js";

export function empty_query() {
    return { search: "", regular: false, verdicts: [], api: "", dtype: "", standard: "", direction: "", input: -1,
        message: "", call: "", changed: false, ranges: [] };
}

export function query_is_empty(query) {
    return JSON.stringify(query) === JSON.stringify(empty_query());
}

// A test of texts: a part in any case, or a regular expression. Throws a SyntaxError.
export function text_test(query) {
    if (!query.search) return null;
    if (query.regular) {
        const expression = new RegExp(query.search, "iu");
        return (text) => expression.test(text);
    }
    const part = query.search.toLowerCase();
    return (text) => text.toLowerCase().includes(part);
}

async function keep_codes(results, keep, id, test) {
    const codes = await results.columns.codes(id);
    const wanted = results.columns.dictionary(id).map(test);
    for (let row = 0; row < keep.length; row++) if (!wanted[codes[row]]) keep[row] = 0;
}

async function keep_range(results, keep, { id, from, to }) {
    const { values } = await results.columns.numbers(id);
    for (let row = 0; row < keep.length; row++) {
        const value = values[row];
        // What is not a number is in no range, unless the range has no ends.
        if ((from !== null && !(value >= from)) || (to !== null && !(value <= to))) keep[row] = 0;
    }
}

// run(row, text) for the flagged rows that have a text, block by block, so that the page stays alive meanwhile.
async function each_text(results, flags, id, run, is_stale) {
    const pause = new Pause();
    const blocks = results.columns.blocks(id);
    for (let index = 0; index < blocks.length; index++) {
        const [, first, rows] = blocks[index];
        const left = flags.indexOf(1, first);
        if (left < 0 || left >= first + rows) continue;
        const texts = await results.columns.text_block(id, index);
        for (let row = left; row < first + rows; row++) if (flags[row]) run(row, texts[row - first]);
        await pause.rest();
        if (is_stale()) return;
    }
}

async function keep_texts(results, keep, id, test, is_stale) {
    const holds = new Uint8Array(keep.length).fill(test("") ? 1 : 0);
    await each_text(results, keep, id, (row, text) => { holds[row] = test(text) ? 1 : 0; }, is_stale);
    for (let row = 0; row < keep.length; row++) keep[row] &= holds[row];
}

// ---- search -------------------------------------------------------------------------------------

const searched_codes = ["verdict", "api", "dtype", "standard", "direction", "decided_by", "reference"];
const searched_texts = ["name", "message", "partner"];

async function mark_codes(results, found, id, test, label) {
    const wanted = results.columns.dictionary(id).map((text) => text !== "" && (test(text) || test(label(id, text))));
    if (!wanted.some(Boolean)) return;
    const codes = await results.columns.codes(id);
    for (let row = 0; row < found.length; row++) if (wanted[codes[row]]) found[row] = 1;
}

// The sentences that say why rows did not pass, of those rows that nothing else has found.
async function mark_sentences(results, found, keep, test, { is_stale, sentence }) {
    const codes = await results.columns.codes("verdict"), told = results.columns.dictionary("verdict").map((text) => text !== "" && text !== "pass");
    const pause = new Pause();
    for (let row = 0; row < found.length; row++) {
        if (!keep[row] || found[row] || !told[codes[row]]) continue;
        if (test(await sentence(row))) found[row] = 1;
        await pause.rest();
        if (is_stale()) return;
    }
}

// Rows of which anything that a reader sees in the table, or the sentence that says why, holds what is searched.
async function keep_search(results, keep, test, options) {
    const found = new Uint8Array(keep.length);
    for (const id of searched_codes) if (results.columns.has(id)) await mark_codes(results, found, id, test, options.label);
    for (const id of searched_texts) await each_text(results, keep, id, (row, text) => { if (text && test(text)) found[row] = 1; }, options.is_stale);
    if (!options.is_stale()) await mark_sentences(results, found, keep, test, options);
    for (let row = 0; row < keep.length; row++) keep[row] &= found[row];
}

function indices_of(keep) {
    let count = 0;
    for (let row = 0; row < keep.length; row++) count += keep[row];
    const rows = new Uint32Array(count);
    for (let row = 0, at = 0; row < keep.length; row++) if (keep[row]) rows[at++] = row;
    return rows;
}

// A promise of the rows that match, ascending; null when is_stale() became true on the way.
//   label(id, text)  what the table shows for a word of a column
//   sentence(row)    a promise of why the row has its verdict
export async function query_rows(results, query, { is_stale = () => false, label = (id, text) => text, sentence = async () => "" } = {}) {
    const test = text_test(query), { columns } = results;
    const keep = new Uint8Array(results.rows).fill(1);
    if (query.input >= 0) {
        const { first, rows } = results.inputs[query.input];
        keep.fill(0, 0, first).fill(0, first + rows);
    }
    if (query.verdicts.length) await keep_codes(results, keep, "verdict", (text) => query.verdicts.includes(text));
    for (const id of ["api", "dtype", "standard", "direction"])
        if (query[id]) await keep_codes(results, keep, id, (text) => text === query[id]);
    for (const range of query.ranges) if (columns.has(range.id)) await keep_range(results, keep, range);
    if (query.changed) {
        const flags = await results.changed();
        for (let row = 0; row < keep.length; row++) keep[row] &= flags[row];
    }
    if (query.message && columns.has("message"))
        await keep_texts(results, keep, "message", (text) => text.startsWith(query.message), is_stale);
    if (query.call) await keep_texts(results, keep, "name", (name) => name === query.call || name.startsWith(`${query.call}.`), is_stale);
    if (test) await keep_search(results, keep, test, { is_stale, label, sentence });
    return is_stale() ? null : indices_of(keep);
}

// ---- order --------------------------------------------------------------------------------------

// High halves of doubles as numbers of the same order: negative ones are turned over.
export function ordinal_of_bits(bits) {
    return bits & 0x80000000 ? (~bits) >>> 0 : (bits | 0x80000000) >>> 0;
}

// Rows by ascending key; equal keys keep the order of rows. Keys are whole numbers below 2^32, so that key
// and row fit into one double and the engine's own sort of doubles does the work.
export function sort_by_keys(rows, keys, descending) {
    const most_rows = 2 ** 21;
    if (rows.length && rows[rows.length - 1] >= most_rows) {
        const turn = descending ? -1 : 1;
        return rows.slice().sort((a, b) => turn * (keys[a] - keys[b]) || a - b);
    }
    const packed = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i++) packed[i] = (descending ? 0xffffffff - keys[rows[i]] : keys[rows[i]]) * most_rows + rows[i];
    packed.sort();
    return Uint32Array.from(packed, (value) => value % most_rows);
}

function keys_of_texts(texts) {
    const order = texts.map((text, i) => i).sort((a, b) => texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : 0);
    const keys = new Uint32Array(texts.length);
    order.forEach((i, rank) => { keys[i] = rank; });
    return keys;
}

async function sort_by_name(results, rows, descending) {
    const names = [];
    for (const row of rows) names.push(results.columns.text("name", row));
    const texts = await Promise.all(names), collator = new Intl.Collator("en", { numeric: true });
    const turn = descending ? -1 : 1;
    const order = Array.from(rows.keys());
    order.sort((a, b) => turn * collator.compare(texts[a], texts[b]) || a - b);
    return Uint32Array.from(order, (i) => rows[i]);
}

const severity = ["error", "warning", "pass", "SKIP", ""];

// A promise of the rows by `sort` = { id, direction }; rows whose cell is empty or NaN come last.
export async function sort_rows(results, rows, sort) {
    if (!sort) return rows;
    const { columns } = results, descending = sort.direction < 0;
    if (sort.id === "name") return sort_by_name(results, rows, descending);
    if (sort.id === "input") return descending ? rows.slice().sort((a, b) => results.input_of(b) - results.input_of(a) || a - b) : rows;
    const kind = columns.kind(sort.id);
    if (kind === "codes") {
        const codes = await columns.codes(sort.id), texts = columns.dictionary(sort.id);
        const ranks = sort.id === "verdict" ? texts.map((text) => severity.indexOf(text)) : keys_of_texts(texts);
        return sort_by_keys(rows, Uint32Array.from(codes, (code) => ranks[code] ?? texts.length), descending);
    }
    const { bits, values } = await columns.numbers(sort.id);
    const last = descending ? 0 : 0xffffffff;
    return sort_by_keys(rows, Uint32Array.from(bits, (b, row) => Number.isNaN(values[row]) ? last : ordinal_of_bits(b)), descending);
}
