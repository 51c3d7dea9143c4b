// One side of a graph: the tree as typed arrays. Nodes are numbered from the root down, so the
// descendants of node i are the numbers i + 1 to end[i] - 1.

import { block_bytes } from "../common/blocks.js";
import { communications_of } from "./communication.js";
import { read_facts } from "./facts.js";

export const node_call = 1;
export const node_collection = 9;

const decoder = new TextDecoder(), few_lookups = 24;

// The texts of a block, each ended by a NUL, found when somebody asks for one.
export class Texts {
    constructor(bytes, count) {
        this.bytes = bytes;
        this.start = new Uint32Array(count + 1);
        let at = 0;
        for (let i = 0; i < count; i++) {
            this.start[i] = at;
            at = bytes.indexOf(0, at) + 1;
            if (!at) throw new Error("a block of texts is cut short");
        }
        this.start[count] = at;
    }

    get(i) {
        return decoder.decode(this.bytes.subarray(this.start[i], this.start[i + 1] - 1));
    }

    // The first number that has this text; -1 when none does.
    find(text) {
        const wanted = new TextEncoder().encode(text), { bytes, start } = this;
        for (let i = 0; i + 1 < start.length; i++) {
            if (start[i + 1] - start[i] !== wanted.length + 1) continue;
            let at = 0;
            while (at < wanted.length && bytes[start[i] + at] === wanted[at]) at++;
            if (at === wanted.length) return i;
        }
        return -1;
    }
}

export class Side {
    static async open(meta, rows_nodes) {
        const [names, nodes, met] = await Promise.all([block_bytes(meta.names), block_bytes(meta.nodes),
            meta.communications === undefined ? null : block_bytes(meta.communications)]);
        const side = new Side(meta, rows_nodes, names, nodes);
        if (met) side.communications = communications_of(JSON.parse(decoder.decode(met)));
        return side;
    }

    constructor(meta, rows_nodes, names, nodes) {
        const n = this.count = meta.count;
        const numbers = (slot, kind) => new kind(nodes.buffer, nodes.byteOffset + slot * 4 * n, n);
        const bytes = (slot) => nodes.subarray(24 * n + slot * n, 24 * n + (slot + 1) * n);
        if (nodes.length !== 27 * n) throw new Error("a block of nodes is cut short");
        this.meta = meta;
        this.rows_nodes = rows_nodes;
        this.names = new Texts(names, n);
        this.parent = numbers(0, Int32Array);
        this.partner = numbers(1, Int32Array);
        this.place = numbers(2, Uint32Array);
        this.stack = numbers(3, Int32Array);
        this.page = numbers(4, Uint32Array);
        this.index = numbers(5, Float32Array);
        this.type = bytes(0);
        this.repair = bytes(1);
        this.overflow = bytes(2);
        this.row_blocks = new Map();
        this.lookups = 0; // of names
        this.hand = new Set(); // nodes that were matched by hand
        this.communications = new Map(); // by node: the calls of other ranks that it meets
        this.measure();
    }

    // Ends of subtrees and depths, in one walk from the last node to the first.
    measure() {
        this.end = new Uint32Array(this.count);
        this.depth = new Uint16Array(this.count);
        for (let i = 0; i < this.count; i++) {
            this.end[i] = i + 1;
            if (i) this.depth[i] = Math.min(65535, this.depth[this.parent[i]] + 1);
        }
        for (let i = this.count - 1; i > 0; i--)
            if (this.end[i] > this.end[this.parent[i]]) this.end[this.parent[i]] = this.end[i];
    }

    // The worst index of each subtree and how many suspicious nodes it has, itself included.
    roll_up(bands) {
        this.worst = new Float32Array(this.count).fill(NaN);
        this.suspicious = new Uint32Array(this.count);
        for (let i = this.count - 1; i >= 0; i--) {
            const own = this.index[i];
            if (bands.worse(own, this.worst[i])) this.worst[i] = own;
            if (this.is_suspicious(i, bands)) this.suspicious[i]++;
            if (!i) continue;
            const up = this.parent[i];
            if (bands.worse(this.worst[i], this.worst[up])) this.worst[up] = this.worst[i];
            this.suspicious[up] += this.suspicious[i];
        }
    }

    is_suspicious(i, bands) {
        return this.type[i] !== node_collection && bands.is_suspicious(this.index[i]);
    }

    name(i) {
        return this.names.get(i);
    }

    // The first node of a name; -1 when there is none. Many lookups are worth a table, which takes memory.
    find_name(name) {
        this.lookups++;
        if (!this.numbers && this.lookups < few_lookups) return this.names.find(name);
        if (!this.numbers) {
            this.numbers = new Map();
            for (let i = this.count - 1; i >= 0; i--) this.numbers.set(this.name(i), i);
        }
        return this.numbers.get(name) ?? -1;
    }

    has_children(i) {
        return this.end[i] > i + 1;
    }

    children(i) {
        const children = [];
        for (let child = i + 1; child < this.end[i]; child = this.end[child]) children.push(child);
        return children;
    }

    ancestors(i) {
        const path = [];
        for (let at = i; at >= 0; at = this.parent[at]) path.push(at);
        return path.reverse();
    }

    // Inputs and outputs of a node: { row name: { key: text } } each.
    async rows(i) {
        const number = Math.floor(i / this.rows_nodes);
        if (!this.row_blocks.has(number)) {
            const nodes = Math.min(this.rows_nodes, this.count - number * this.rows_nodes);
            this.row_blocks.set(number, block_bytes(this.meta.rows[number]).then((bytes) => new Texts(bytes, 2 * nodes)));
            if (this.row_blocks.size > 8) this.row_blocks.delete(this.row_blocks.keys().next().value);
        }
        const texts = await this.row_blocks.get(number), at = 2 * (i % this.rows_nodes);
        return { inputs: JSON.parse(texts.get(at)), outputs: JSON.parse(texts.get(at + 1)) };
    }

    // A promise of what the rows of all nodes say.
    facts() {
        return this.all_facts ??= read_facts(this);
    }

    // A promise of the remarks on how a node was merged from several ranks; empty for all others.
    async merges(i) {
        if (this.meta.merges === undefined) return [];
        this.all_merges ??= block_bytes(this.meta.merges).then((bytes) => JSON.parse(decoder.decode(bytes)));
        return (await this.all_merges)[i] ?? [];
    }

    async frames(i) {
        if (this.stack[i] < 0) return [];
        if (!this.stack_texts) {
            const bytes = await block_bytes(this.meta.stacks);
            let count = 0;
            for (const byte of bytes) count += byte === 0;
            this.stack_texts = new Texts(bytes, count);
        }
        return JSON.parse(this.stack_texts.get(this.stack[i]));
    }
}
