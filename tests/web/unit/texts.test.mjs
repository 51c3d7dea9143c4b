import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { count_text, number_of_text, number_text, seconds_text, share_text } from "../../../web/common/numbers.js";
import { graph_words } from "../../../web/graph/words.js";
import { live_words } from "../../../web/live/words.js";
import { report_words } from "../../../web/report/words.js";

globalThis.document = { documentElement: {} };
if (!globalThis.navigator) globalThis.navigator = { language: "en" };
const { language_start, words } = await import("../../../web/common/language.js");
const { why_sentence } = await import("../../../web/report/why.js");
const { histogram_bins } = await import("../../../web/report/detail_view.js");
const { order_points, tick_text } = await import("../../../web/report/order_chart.js");
const { stack_lines } = await import("../../../web/report/model.js");
const { metric_ids, telling_numbers } = await import("../../../web/report/metrics.js");
language_start(report_words);

test("what is beyond an edge of the chart of errors is drawn on it and told as it is", () => {
    const points = order_points([0, 0.5, Infinity, NaN], [0, 0, 0, 0], ["pass"], 0, 4).get("pass");
    assert.deepEqual(points, [{ x: 0, y: 1e-6, value: 0 }, { x: 1, y: 0.5, value: 0.5 }, { x: 2, y: 1e6, value: Infinity }]);
    assert.deepEqual([1e-6, 0.001, 0.002, 1e6].map(tick_text), ["≤ 1e-6", "0.001", "", `≥ ${number_text(1e6)}`]);
});

test("the numbers that say most", () => {
    const told = (numbers) => telling_numbers(new Map(Object.entries(numbers))).map(({ metric, value }) => [metric, value]);
    assert.deepEqual(told({}), []);
    // tensors are judged by cosine and largest error
    assert.deepEqual(told({ max_relative_error: 4.5e15, max_abs_error: 1, cosine: 0.97 }), [["cosine", 0.97], ["max_abs_error", 1]]);
    assert.deepEqual(told({ max_relative_error: 0.1, max_abs_error: 0.5 }), [["max_relative_error", 0.1]]);
    assert.deepEqual(told({ cosine: 0.5 }), [["cosine", 0.5]]);
    // of statistics the one that is off
    assert.deepEqual(told({ max_relative_error: 0.01, min_relative_error: 0, mean_relative_error: 0.8, norm_relative_error: 0.02 }),
        [["mean_relative_error", 0.8]]);
    assert.deepEqual(told({ norm_relative_error: 0.02, max_abs_error: 3 }), [["norm_relative_error", 0.02]]);
});

test("a stack that a comparison wrote", () => {
    assert.equal(stack_lines("['File a.py, line 1, in f, \\n g(x)', \"File b.py, line 2, in <module>, \\n f('a', 'b')\"]"),
        "File a.py, line 1, in f\n    g(x)\nFile b.py, line 2, in <module>\n    f('a', 'b')");
    assert.equal(stack_lines("somewhere"), "somewhere");
});

test("numbers as people read them", () => {
    assert.equal(number_text(0), "0");
    assert.equal(number_text(0.001), "0.001");
    assert.equal(number_text(1.23456789), "1.235");
    assert.equal(number_text(36180.3), "36\u202f180");
    assert.equal(number_text(-1234.56, 6), "-1234.56");
    assert.equal(number_text(1.5e-9), "1.5e-9");
    assert.equal(number_text(1e20), "1e20");
    assert.equal(number_text(1234567), "1\u202f234\u202f567");
    assert.equal(number_text("inf"), "∞");
    assert.equal(number_text("nan"), "NaN");
    assert.equal(number_text({}), "NaN");
    assert.equal(count_text(1000000), "1\u202f000\u202f000");
    assert.equal(seconds_text(0.0005), "500 µs");
    assert.equal(share_text(1, 3000), "< 0.1 %");
    assert.equal(share_text(29999, 30000), "99.9 %");
    assert.equal(number_of_text(" 1e-3 "), 0.001);
    assert.equal(number_of_text("inf"), Infinity);
    assert.ok(Number.isNaN(number_of_text("x")) && Number.isNaN(number_of_text(" ")));
});

test("every word is there in both languages, with the same places", () => {
    const places = (text) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort().join();
    for (const [key, entry] of [...Object.entries(report_words), ...Object.entries(graph_words), ...Object.entries(live_words)]) {
        assert.equal(entry.length, 2, key);
        assert.equal(places(entry[0]), places(entry[1]), key);
    }
    for (const id of metric_ids) assert.ok(`metric.${id}` in report_words, id);
    const profile = JSON.parse(readFileSync(new URL("../../../config/profile_strict.json", import.meta.url)));
    const judged = Object.keys(profile.limits).filter((id) => /^model_(?!fallback)/.test(id));
    assert.ok(judged.length > 10);
    for (const id of [...judged, "budget"]) assert.ok(`metric.${id}` in report_words, id);
});

test("words of the data that look like members of objects are only words", () => {
    for (const text of ["constructor", "__proto__", "toString", "{x}"]) assert.equal(words(text), text);
});

test("why, in one sentence", () => {
    const limit = (metric, value, bound, used) => ({ "decided by": metric, limits: [{ metric, value, limit: bound, holds: false, used }] });
    assert.equal(why_sentence({ evidence: limit("rmse", 8, 2, 4), message: "", decided: null }), "Root mean square error is 8; at most 2 is allowed (4 × the limit).");
    assert.equal(why_sentence({ evidence: limit("cosine", 0.5, 0.99, 50), message: "", decided: null }), "Cosine similarity is 0.5; at least 0.99 is asked for.");
    assert.equal(why_sentence({ evidence: limit("model_staged", 0.25, 0.55, 1), message: "", decided: null }),
        "Correlation with roundings between the steps is 0.25; at least 0.55 is asked for.");
    assert.equal(why_sentence({ evidence: limit("binary_mismatch", 0.25, 0, "inf"), message: "", decided: null }), "Share of unequal elements is 0.25; none is allowed.");
    assert.equal(why_sentence({ evidence: limit("shape", 1, 0, "inf"), message: "", decided: null }), "The shape is not that of the reference.");
    assert.match(why_sentence({ evidence: { ...limit("rmse", "nan", 2, "inf"), kinds: { "want finite, got nan": 3 } }, message: "", decided: null }), /is NaN\. 3 elements are nan where finite is right\.$/);
    assert.equal(why_sentence({ evidence: { limits: [] }, message: "the kernel\n crashed ", decided: null }), "the kernel crashed");
    assert.equal(why_sentence({ evidence: null, message: "", decided: { metric: "rmse_quotient", value: 3 } }), "Rms error, NPU/GPU is beyond its limit (3).");
    assert.equal(why_sentence({ evidence: null, message: "", decided: null }), "The files do not say why.");
    assert.equal(why_sentence({ evidence: null, message: "", decided: null, checksums: { got: "f4dbdf21", want: "8d1db23b" } }),
        "The checksums differ: f4dbdf21 instead of 8d1db23b.");
    assert.equal(why_sentence({ evidence: null, message: "", decided: null, checksums: { got: "f4dbdf21", want: "f4dbdf21" } }), "The files do not say why.");
    assert.equal(why_sentence({ evidence: null, message: "look", decided: null, telling: [{ metric: "max_relative_error", value: 0.5 }] }), "look Max relative error is 0.5.");
    // Evidence of another form is no reason to fail.
    assert.equal(why_sentence({ evidence: { limits: 7, kinds: 3, "worst relative": 9 }, message: "m", decided: null }), "m");
    assert.equal(why_sentence({ evidence: { limits: [null, { holds: false, metric: {} }] }, message: "", decided: null }).length > 0, true);
});

test("histograms of evidence", () => {
    const bins = histogram_bins({ "0": 2, "<= 0.5": 3, "<= 4": 1, more: 1, "<= x": 5, other: 1, "<= 1e99": 3 });
    assert.deepEqual(bins.map((bin) => bin.count), [2, 3, 0, 0, 1, 1]);
    assert.deepEqual(bins.map((bin) => bin.title), ["0", "≤ 0.5", "≤ 1", "≤ 2", "≤ 4", "more"]);
});
