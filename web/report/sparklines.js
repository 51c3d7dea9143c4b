// Errors along the order of execution of each API or dtype, for small multiples: bars of one shared scale, each the
// largest error of a stretch of the rows.

import { verdict_shown } from "../common/verdicts.js";
import { drawn_column } from "./order_chart.js";

export const spark_bins = 48;
const spark_least = 1e-6; // of the scale, which ends at 1

// Per cent of the height: the logarithm of the error.
export function spark_height(error) {
    if (!(error > 0)) return 0;
    return Math.max(4, Math.min(100, 100 * (1 - Math.log10(error) / Math.log10(spark_least))));
}

// Add the rows of an input to `sparks`, by code of the group: what of the worst verdict has the largest error, in
// each stretch.
export function spark_add(sparks, { values, groups, verdicts, ranks, first, rows }) {
    for (let row = first; row < first + rows; row++) {
        const error = Math.abs(values[row]);
        if (Number.isNaN(error)) continue;
        if (!sparks.has(groups[row])) sparks.set(groups[row], Array.from({ length: spark_bins }, () => ({ error: 0, rank: Infinity })));
        const spark = sparks.get(groups[row])[Math.floor((row - first) * spark_bins / rows)], rank = ranks[verdicts[row]];
        if (error > spark.error) spark.error = error;
        if (rank < spark.rank) spark.rank = rank;
    }
}

// A promise of the bars by name of the group: [{ error, verdict }].
export async function sparklines(results, column) {
    const groups = await results.columns.codes(column), verdicts = await results.columns.codes("verdict"), sparks = new Map();
    const ranks = results.columns.dictionary("verdict").map((verdict) => verdict_shown.indexOf(verdict));
    for (const { first, rows, ...input } of results.inputs) {
        const drawn = await drawn_column(results, { first, rows, ...input });
        if (drawn) spark_add(sparks, { values: drawn.values, groups, verdicts, ranks, first, rows });
    }
    return new Map([...sparks].map(([code, bars]) => [results.columns.text_of_code(column, code), bars.map(({ error, rank }) => ({ error, verdict: verdict_shown[rank] }))]));
}
