// Metrics: what they are called, and which of them are good when they are high.

import { has_words, words } from "../common/language.js";

// Columns of numbers in the order in which they are offered.
export const metric_ids = [
    "allowance", "worst_ulp", "bound_ulp", "rounding", "elements", "max_abs_error", "max_relative_error",
    "mean_relative_error", "cosine", "hundredth", "thousandth", "five_thousandths", "ten_thousandth", "rmse", "binary_mismatch",
    "error_balance", "small_value_ratio", "inf_nan_ratio", "relative_error_ratio", "absolute_error_ratio", "max_ulp",
    "mean_ulp", "ulp_proportion", "small_value_quotient", "rmse_quotient", "max_relative_quotient",
    "mean_relative_quotient", "error_balance_quotient", "ulp_proportion_quotient", "euclidean_distance",
    "max_difference", "min_difference", "mean_difference", "norm_difference", "min_relative_error",
    "norm_relative_error", "npu_max", "npu_min", "npu_mean", "npu_norm", "bench_max", "bench_min", "bench_mean",
    "bench_norm", "call_seconds",
];

const reached = new Set(["cosine", "hundredth", "thousandth", "five_thousandths", "ten_thousandth", "model_staged"]);
const yes_or_no = new Set(["shape", "dtype", "type", "structure", "equal"]);

// What may say most about a row where no limit is named, and the relative errors of recorded statistics among them.
export const telling_metrics = [
    "max_relative_error", "min_relative_error", "mean_relative_error", "norm_relative_error", "max_abs_error", "cosine"];
const errors_of_statistics = telling_metrics.slice(0, 4);

// Of the numbers of a row by metric: what tells most, as [{ metric, value }]. Any of the recorded statistics may be the
// one that is off, so the largest of their errors is told; tensors are judged by cosine and largest error; else the
// first number that is there.
export function telling_numbers(numbers) {
    const found = telling_metrics.filter((metric) => numbers.has(metric)).map((metric) => ({ metric, value: numbers.get(metric) }));
    const statistics = found.filter(({ metric }) => errors_of_statistics.includes(metric));
    if (numbers.has("norm_relative_error") || numbers.has("min_relative_error"))
        return [statistics.reduce((most, next) => (next.value > most.value ? next : most))];
    const judged = ["cosine", "max_abs_error"].filter((metric) => numbers.has(metric));
    return judged.length === 2 ? judged.map((metric) => ({ metric, value: numbers.get(metric) })) : found.slice(0, 1);
}

export function metric_is_reached(metric) {
    return reached.has(metric);
}

export function metric_is_yes_or_no(metric) {
    return yes_or_no.has(metric);
}

export function metric_words(metric) {
    return has_words(`metric.${metric}`) ? words(`metric.${metric}`) : String(metric);
}

export function standard_words(standard) {
    return has_words(`standard.${standard}`) ? words(`standard.${standard}`) : standard;
}
