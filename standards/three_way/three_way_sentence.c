/* The columns that decide come in pairs, a number and its verdict; ratios are to the GPU's number. */
#include "standards/three_way/three_way_sentence.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What a number is. */
enum measure { RATIO, WRONG_SHARE, RIGHT_SHARE };

static const struct {
    enum three_way_column number, verdict;
    const char *name;
    enum measure measure;
} metrics[] = {
    /* clang-format off */
    { THREE_WAY_SMALL_VALUE, THREE_WAY_SMALL_VALUE_STATUS, "share of wrong small values", RATIO },
    { THREE_WAY_RMSE, THREE_WAY_RMSE_STATUS, "root mean square error", RATIO },
    { THREE_WAY_MAX_RELATIVE, THREE_WAY_MAX_RELATIVE_STATUS, "largest relative error", RATIO },
    { THREE_WAY_MEAN_RELATIVE, THREE_WAY_MEAN_RELATIVE_STATUS, "mean relative error", RATIO },
    { THREE_WAY_BALANCE, THREE_WAY_BALANCE_STATUS, "error balance", RATIO },
    { THREE_WAY_INF_NAN, THREE_WAY_INF_NAN_STATUS, "share of wrong infinities and NaNs", WRONG_SHARE },
    { THREE_WAY_RELATIVE, THREE_WAY_RELATIVE_STATUS, "share of wrong values", WRONG_SHARE },
    { THREE_WAY_ABSOLUTE, THREE_WAY_ABSOLUTE_STATUS, "share of wrong small values", WRONG_SHARE },
    { THREE_WAY_BINARY, THREE_WAY_BINARY_STATUS, "share of elements that differ", WRONG_SHARE },
    { THREE_WAY_ULP_RATIO, THREE_WAY_ULP_STATUS, "share of errors above the ULP limit", RATIO },
    { THREE_WAY_THOUSANDTH, THREE_WAY_THOUSANDTH_STATUS, "share within a thousandth", RIGHT_SHARE },
    /* clang-format on */
};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* The number of a column; NaN when it has none. */
static double number_of(const struct three_way_cell *cell, const struct csv_text *npu)
{
    double number = NAN;
    if (cell->kind == CELL_NUMBER) return cell->number;
    if (cell->kind == CELL_NPU_TEXT && npu) (void)csv_read_number(&number, npu[cell->metric]);
    return number;
}

static void append_metric(char out[THREE_WAY_SENTENCE_BYTES], size_t k, double number)
{
    size_t used = strlen(out), room = THREE_WAY_SENTENCE_BYTES - used;
    const char *gap = used ? ", " : "";
    if (isnan(number)) (void)snprintf(out + used, room, "%s%s", gap, metrics[k].name);
    else if (metrics[k].measure == RATIO)
        (void)snprintf(out + used, room, "%s%s %.4g times the GPU's", gap, metrics[k].name, number);
    else (void)snprintf(out + used, room, "%s%s %.4g", gap, metrics[k].name, number);
}

/* Shares lie between 0 and 1, and are told behind ratios. */
static double badness(size_t k, double number)
{
    if (!isfinite(number)) return INFINITY;
    return metrics[k].measure == RIGHT_SHARE ? 1 - number : fabs(number);
}

/* Does the metric have the verdict of the row? */
static bool decides(const struct three_way_verdict *verdict, size_t k)
{
    const struct three_way_cell *cell = &verdict->cells[metrics[k].verdict];
    return cell->kind == CELL_VERDICT && cell->verdict == verdict->verdict;
}

static bool is_judged(const struct three_way_verdict *verdict)
{
    return verdict->verdict == VERDICT_ERROR || verdict->verdict == VERDICT_WARNING;
}

double three_way_excess(const struct three_way_verdict *verdict, const struct csv_text *npu)
{
    double excess = 0;
    bool found = false;
    for (size_t k = 0; is_judged(verdict) && k < METRICS; k++) {
        if (!decides(verdict, k)) continue;
        found = true;
        excess = fmax(excess, badness(k, number_of(&verdict->cells[metrics[k].number], npu)));
    }
    if (found) return excess;
    return verdict->excess > 0 ? verdict->excess : INFINITY;
}

void three_way_sentence(char out[THREE_WAY_SENTENCE_BYTES], const struct three_way_verdict *verdict,
                        const struct csv_text *npu, struct csv_text message)
{
    out[0] = '\0';
    for (size_t k = 0; is_judged(verdict) && k < METRICS; k++)
        if (decides(verdict, k))
            append_metric(out, k, number_of(&verdict->cells[metrics[k].number], npu));
    if (out[0]) return;
    while (message.length && strchr(" \r\n", *message.bytes)) message.bytes++, message.length--;
    size_t line = 0;
    while (line < message.length && !strchr("\r\n", message.bytes[line])) line++;
    (void)snprintf(out, THREE_WAY_SENTENCE_BYTES, "%.*s", (int)line, message.bytes);
    text_tidy(out);
}
