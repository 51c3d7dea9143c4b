/* The verdict on two rows of one name. */
#include "compare/details_pair.h"

#include <stdio.h>
#include <string.h>

#include "compare/kept_text.h"

/* ---- reading ---------------------------------------------------------------------------- */

static bool is_blank(struct csv_text cell)
{
    for (size_t i = 0; i < cell.length; i++) {
        if (cell.bytes[i] != ' ') return false;
    }
    return true;
}

/* A metric into a side. What is neither blank nor a number counts as absent; the peer reads an
 * empty cell, unlike a blank one, as NaN. */
static void read_metric(struct three_way_side *side, enum three_way_metric metric,
                        struct csv_text cell, bool empty_is_nan)
{
    double value = 0;
    if (cell.length == 0 && empty_is_nan) value = __builtin_nan("");
    else if (is_blank(cell) || !csv_read_number(&value, cell)) return;
    side->present |= 1u << metric;
    side->metric[metric] = value;
}

/* Where the metrics stand in a row. */
static const enum details_column metric_columns[THREE_WAY_METRICS] = {
    [METRIC_SMALL_VALUE] = COLUMN_SMALL_VALUE_RATIO,
    [METRIC_RMSE] = COLUMN_RMSE,
    [METRIC_MAX_RELATIVE] = COLUMN_MAX_RELATIVE_ERROR,
    [METRIC_MEAN_RELATIVE] = COLUMN_MEAN_RELATIVE_ERROR,
    [METRIC_BALANCE] = COLUMN_ERROR_BALANCE,
    [METRIC_BINARY] = COLUMN_BINARY_MISMATCH,
    [METRIC_INF_NAN] = COLUMN_INF_NAN_RATIO,
    [METRIC_RELATIVE] = COLUMN_RELATIVE_ERROR_RATIO,
    [METRIC_ABSOLUTE] = COLUMN_ABSOLUTE_ERROR_RATIO,
    [METRIC_MEAN_ULP] = COLUMN_MEAN_ULP,
    [METRIC_ULP_PROPORTION] = COLUMN_ULP_PROPORTION,
    [METRIC_THOUSANDTH] = COLUMN_THOUSANDTH,
};

static const enum details_column required_columns[] = {
    COLUMN_NAME,
    COLUMN_DEVICE_DTYPE,
    COLUMN_SMALL_VALUE_RATIO,
    COLUMN_RMSE,
    COLUMN_MAX_RELATIVE_ERROR,
    COLUMN_MEAN_RELATIVE_ERROR,
    COLUMN_ERROR_BALANCE,
    COLUMN_BINARY_MISMATCH,
    COLUMN_INF_NAN_RATIO,
    COLUMN_RELATIVE_ERROR_RATIO,
    COLUMN_ABSOLUTE_ERROR_RATIO,
    COLUMN_MEAN_ULP,
    COLUMN_ULP_PROPORTION,
    COLUMN_THOUSANDTH,
};

struct status details_open(struct details_file *out, const struct compare_request *request,
                           enum compare_side side)
{
    size_t count = sizeof required_columns / sizeof *required_columns;
    const char *path = side == SIDE_NPU ? request->npu_path : request->gpu_path;
    const struct csv_text *text = side == SIDE_NPU ? &request->npu_text : &request->gpu_text;
    if (text->bytes)
        return details_file_open_text(out, path, text->bytes, text->length, required_columns,
                                      count);
    return details_file_open(out, path, request->file_policy, required_columns, count);
}

void compared_row_read(struct compared_row *out, struct three_way_side *side,
                       const struct details_row *row, const struct compare_request *request)
{
    const struct csv_text *cells = row->cells, none = { "", 0 };
    bool empty_is_nan = three_way_empty_is_nan(request->rules);

    *side = (struct three_way_side){ .status = details_verdict(cells[COLUMN_STATUS]) };
    for (enum three_way_metric m = 0; m < THREE_WAY_METRICS && !row->overlong; m++) {
        const struct csv_text *cell = &cells[metric_columns[m]];
        if (cell->length == 1 && *cell->bytes == ' ') continue; /* as most are */
        read_metric(side, m, *cell, empty_is_nan);
    }
    out->side = side;
    out->dtype =
        three_way_dtype(cells[COLUMN_DEVICE_DTYPE].bytes, cells[COLUMN_DEVICE_DTYPE].length);
    out->overlong = row->overlong;
    out->texts[ROW_NAME] = cells[COLUMN_NAME];
    out->texts[ROW_SHAPE] = row->overlong || is_blank(cells[COLUMN_SHAPE]) ? none
                                                                           : cells[COLUMN_SHAPE];
    out->texts[ROW_MESSAGE] = cells[COLUMN_MESSAGE];
    out->texts[ROW_BINARY] = side->present & 1u << METRIC_BINARY ? cells[COLUMN_BINARY_MISMATCH]
                                                                 : none;
    out->texts[ROW_THOUSANDTH] = side->present & 1u << METRIC_THOUSANDTH ? cells[COLUMN_THOUSANDTH]
                                                                         : none;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* One comparison of one row: where it is written and who keeps its verdict. */
struct place {
    struct comparison_output *out;
    struct pair_keeper *keeper;
};

static struct status emit(const struct place *place, const struct compared_row *row,
                          struct csv_text row_name, const struct row_name *name,
                          const struct three_way_verdict *verdict)
{
    TRY(comparison_output_row(place->out, row, row_name, name, verdict));
    if (!place->keeper) return status_ok();
    return place->keeper->add(place->keeper, row_name, name, verdict,
                              comparison_message(verdict, row));
}

static struct status emit_skip(const struct place *place, struct csv_text row_name,
                               const struct row_name *name, const char *reason)
{
    struct three_way_verdict verdict;
    three_way_skip(&verdict, reason);
    return emit(place, NULL, row_name, name, &verdict);
}

enum { API_BYTES = 255, MESSAGE_BYTES = 899, SHOWN_BYTES = 501, SHAPE_BYTES = 100 };

/* A NUL-terminated copy, cut to `bytes` behind a whole character. */
static const char *copy_text(char *out, size_t bytes, struct csv_text text)
{
    size_t length = text.length < bytes - 1 ? text.length : bytes - 1;
    while (length < text.length && length && ((unsigned char)text.bytes[length] & 0xc0) == 0x80)
        length--;
    memcpy(out, text.bytes, length);
    out[length] = '\0';
    return out;
}

struct status pair_invalid(struct comparison_output *out, struct pair_keeper *keeper,
                           struct csv_text row_name)
{
    char reason[THREE_WAY_MESSAGE_BYTES], shown[SHOWN_BYTES];
    (void)snprintf(reason, sizeof reason, "The API name %s is invalid.",
                   copy_text(shown, sizeof shown, row_name));
    return emit_skip(&(struct place){ out, keeper }, row_name, NULL, reason);
}

static const char gpu_only[] = "The NPU file has no row of this name.";

void pair_gpu_only_verdict(struct three_way_verdict *verdict) { three_way_skip(verdict, gpu_only); }

struct status pair_gpu_only(struct comparison_output *out, struct pair_keeper *keeper,
                            struct csv_text row_name, const struct row_name *name)
{
    out->counts.only_gpu++;
    return emit_skip(&(struct place){ out, keeper }, row_name, name, gpu_only);
}

/* ---- judging ---------------------------------------------------------------------------- */

static void add_evidence(struct three_way_side *side, const struct compare_evidence *evidence,
                         struct csv_text name)
{
    side->evidence = evidence_table_find(evidence->table, name);
    side->by_model = evidence->by_model || row_evidence_is_of_model(side->evidence);
}

/* As much of a text as a message of ours quotes: up to `bytes`, cut behind a whole character. */
static struct csv_text clip(struct csv_text text, size_t bytes)
{
    size_t length = text.length < bytes ? text.length : bytes;
    while (length < text.length && length && ((unsigned char)text.bytes[length] & 0xc0) == 0x80)
        length--;
    return (struct csv_text){ text.bytes, length };
}

static struct status judge_row(const struct place *place, const struct compared_row *row,
                               const struct row_name *name, const struct compared_row *gpu)
{
    const struct compare_request *request = place->out->request;
    struct three_way_side gpu_side = *gpu->side;
    struct three_way_row pair = { .api = clip(name->api, API_BYTES),
                                  .dtype = row->dtype,
                                  .empty_vector = csv_text_equal(row->texts[ROW_SHAPE], "(0,)"),
                                  .npu = *row->side,
                                  .gpu = &gpu_side,
                                  .npu_message = clip(row->texts[ROW_MESSAGE], MESSAGE_BYTES) };
    struct three_way_verdict verdict;

    if (!gpu_side.present) pair.gpu_message = gpu->texts[ROW_MESSAGE];
    if (request->rules->by_evidence) {
        add_evidence(&gpu_side, &request->gpu_evidence, gpu->texts[ROW_NAME]);
        add_evidence(&pair.npu, &request->npu_evidence, row->texts[ROW_NAME]);
    }
    three_way_judge(&verdict, request->rules, &pair);
    if (verdict.assumed_zero) place->out->counts.assumed_zero++;
    return emit(place, row, row->texts[ROW_NAME], name, &verdict);
}

/* Rows of one name whose shapes differ: a GPU run of another dump, or other arguments. */
static bool is_mispaired(const struct compared_row *row, const struct compared_row *gpu)
{
    struct csv_text shape = row->texts[ROW_SHAPE], other = gpu->texts[ROW_SHAPE];
    return shape.length && other.length && !csv_texts_equal(shape, other);
}

static struct status emit_mispaired(const struct place *place, const struct compared_row *row,
                                    const struct row_name *name, const struct compared_row *gpu)
{
    char reason[THREE_WAY_MESSAGE_BYTES], shape[SHAPE_BYTES], other[SHAPE_BYTES];
    struct three_way_verdict verdict;
    (void)snprintf(reason, sizeof reason,
                   "The shape is %s in the NPU file and %s in the GPU file: these rows are not of "
                   "the same output.",
                   copy_text(shape, sizeof shape, row->texts[ROW_SHAPE]),
                   copy_text(other, sizeof other, gpu->texts[ROW_SHAPE]));
    three_way_skip(&verdict, reason);
    verdict.verdict = VERDICT_ERROR;
    place->out->counts.mispaired++;
    return emit(place, NULL, row->texts[ROW_NAME], name, &verdict);
}

struct status pair_rows(struct comparison_output *out, struct pair_keeper *keeper,
                        const struct compared_row *row, const struct row_name *name,
                        bool npu_repeated, const struct gpu_row *gpu)
{
    const struct place place = { out, keeper };
    struct csv_text row_name = row->texts[ROW_NAME];

    if (npu_repeated) {
        out->counts.repeated++;
        return emit_skip(&place, row_name, name,
                         "The NPU file has more than one row of this name; the first one counts.");
    }
    if (!gpu->row) {
        out->counts.only_npu++;
        return emit_skip(&place, row_name, name, "The GPU file has no row of this name.");
    }
    if (row->overlong)
        return emit_skip(&place, row_name, name, "The NPU row has more cells than the header.");
    if (is_mispaired(row, gpu->row)) return emit_mispaired(&place, row, name, gpu->row);
    TRY(judge_row(&place, row, name, gpu->row));
    if (!gpu->repeated) return status_ok();
    out->counts.repeated++;
    return emit_skip(&place, row_name, name,
                     "The GPU file has more than one row of this name; the first one counts.");
}
