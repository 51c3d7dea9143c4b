import assert from "node:assert/strict";
import test from "node:test";
import { verdict_shown } from "../../../web/common/verdicts.js";
import { spark_add, spark_bins, spark_height } from "../../../web/report/sparklines.js";

test("the height of an error", () => {
    assert.equal(spark_height(0), 0);
    assert.equal(spark_height(NaN), 0);
    assert.equal(spark_height(1e-9), 4); // seen, however small
    assert.ok(Math.abs(spark_height(1e-3) - 50) < 1e-9);
    assert.equal(spark_height(1), 100);
    assert.equal(spark_height(Infinity), 100);
});

test("the bars of a group", () => {
    // two groups in turn; in the last stretch an error of the second, in the first a row without a number
    const rows = 2 * spark_bins, ranks = ["pass", "error"].map((verdict) => verdict_shown.indexOf(verdict)), sparks = new Map();
    const values = Float64Array.from({ length: rows + 1 }, (_, i) => i === 1 ? NaN : i === rows ? -7 : 0.5);
    const groups = Array.from({ length: rows + 1 }, (_, i) => i && (i - 1) % 2), verdicts = values.map((value) => Number(value === -7));
    spark_add(sparks, { values, groups, verdicts, ranks, first: 1, rows });
    assert.deepEqual([...sparks.keys()].sort(), [0, 1]);
    assert.equal(sparks.get(0)[0].error, 0);
    assert.equal(sparks.get(0)[1].error, 0.5);
    assert.deepEqual(sparks.get(1).at(-1), { error: 7, rank: 0 });
    assert.equal(verdict_shown[sparks.get(1)[0].rank], "pass");
});
