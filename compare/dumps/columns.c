/* A column is a header and a function that makes its cell; the tables below say which columns stand
 * where. Texts of a row are collected in one buffer, which may move while it grows, so cells learn
 * where theirs is when the row is complete.
 */
#include "compare/dumps/columns.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/judge.h"
#include "compare/dumps/python_text.h"
#include "compare/dumps/statistics.h"
#include "core/shortest.h"
#include "formats/stacks.h"

enum side { NPU, BENCH };

/* A row while its cells are made. `npu` or `bench` is NULL where a side is missing. */
struct making {
    const struct comparison *c;
    const struct column_list *list;
    struct csv_buffer *text;
    uint32_t row; /* of the NPU; ROW_NONE for a row of Bench alone */
    const struct dump_row *npu, *bench;
    struct statistic_difference difference[ROW_STATISTICS];
};

typedef struct status make_cell(struct table_cell *out, struct making *m, int which);

/* ---- generations ------------------------------------------------------------------------ */

const char *const *generation_words(void)
{
    static const char *const words[] = {
        [GENERATION_1] = "g1", [GENERATION_2] = "g2", [GENERATION_3] = "g3", NULL
    };
    return words;
}

enum generation generation_of(const char *word)
{
    enum generation generation = GENERATION_1;
    while (strcmp(generation_words()[generation], word) != 0) generation++;
    return generation;
}

/* ---- texts ------------------------------------------------------------------------------ */

/* A cell whose text was appended; its place is found later. */
static struct status text_cell(struct table_cell *out, struct making *m, const char *text,
                               size_t length)
{
    *out = table_text(NULL, 0);
    return csv_append_bytes(m->text, text, length);
}

static struct status string_cell(struct table_cell *out, struct making *m, const char *string)
{
    return text_cell(out, m, string, strlen(string));
}

static struct status not_applicable(struct table_cell *out, struct making *m)
{
    return text_cell(out, m, "N/A", 3);
}

static const struct dump_rows *dump_of(const struct making *m, int side)
{
    return side == NPU ? &m->c->npu : &m->c->bench;
}

static const struct dump_row *row_of(const struct making *m, int side)
{
    return side == NPU ? m->npu : m->bench;
}

/* ---- what was recorded ------------------------------------------------------------------ */

static struct status name_cell(struct table_cell *out, struct making *m, int side)
{
    const struct dump_row *row = row_of(m, side);
    if (!row) return not_applicable(out, m);
    *out = table_text(NULL, 0);
    return dump_row_append_name(m->text, dump_of(m, side), row);
}

static struct status dtype_cell(struct table_cell *out, struct making *m, int side)
{
    const struct dump_row *row = row_of(m, side);
    return row ? string_cell(out, m, dump_text(dump_of(m, side), row->dtype))
               : not_applicable(out, m);
}

static struct status shape_cell(struct table_cell *out, struct making *m, int side)
{
    const struct dump_row *row = row_of(m, side);
    return row ? string_cell(out, m, dump_text(dump_of(m, side), row->shape))
               : not_applicable(out, m);
}

static struct status requires_grad_cell(struct table_cell *out, struct making *m, int side)
{
    const struct dump_row *row = row_of(m, side);
    if (!row || !row->has_requires_grad) return not_applicable(out, m);
    return string_cell(out, m, row->requires_grad ? "True" : "False");
}

/* inf and nan are texts. */
static struct status real_cell(struct table_cell *out, struct making *m, double value)
{
    if (isfinite(value)) {
        *out = (struct table_cell){ .kind = TABLE_NUMBER, .number = value };
        return status_ok();
    }
    if (isnan(value)) return string_cell(out, m, "Nan");
    TRY(string_cell(out, m, m->list->before_inf));
    TRY(string_cell(out, m, value > 0 ? "inf" : "-inf"));
    return string_cell(out, m, m->list->behind_inf);
}

static struct status boolean_cell(struct table_cell *out, struct making *m, bool value)
{
    if (m->list->booleans_are_text) return string_cell(out, m, value ? "True" : "False");
    *out = (struct table_cell){ .kind = TABLE_BOOLEAN, .boolean = value };
    return status_ok();
}

/* `which` is statistic + 4 * side. */
static struct status statistic_cell(struct table_cell *out, struct making *m, int which)
{
    int side = which / ROW_STATISTICS;
    const struct dump_row *row = row_of(m, side);
    if (!row) return not_applicable(out, m);
    struct row_value value = dump_row_statistic(row, (enum row_statistic)(which % ROW_STATISTICS));

    if (value.kind == VALUE_IS_REAL) return real_cell(out, m, value.real);
    if (value.kind == VALUE_IS_BOOLEAN) return boolean_cell(out, m, value.boolean);
    if (value.kind == VALUE_IS_INTEGER) {
        *out = (struct table_cell){ .kind = TABLE_INTEGER, .integer = value.integer };
        return status_ok();
    }
    *out = table_text(NULL, 0);
    return row_value_append(m->text, dump_of(m, side), value);
}

static struct status checksum_cell(struct table_cell *out, struct making *m, int side)
{
    char text[16];
    const struct dump_row *row = row_of(m, side);
    if (!row || row->checksum_kind == CHECKSUM_NONE) return not_applicable(out, m);
    if (row->checksum_kind == CHECKSUM_TEXT)
        return string_cell(out, m, dump_text(dump_of(m, side), row->checksum));
    return text_cell(out, m, text, (size_t)snprintf(text, sizeof text, "%08x", row->checksum));
}

static struct status stack_cell(struct table_cell *out, struct making *m, int which)
{
    const char *none = m->c->generation == GENERATION_1 ? "None" : "N/A";
    struct json frames;
    size_t length;

    (void)which;
    if (m->row == ROW_NONE || m->row != m->c->npu.entries[m->npu->entry].first_row)
        return string_cell(out, m, none);
    const char *entry = dump_entry_name(&m->c->npu, m->npu->entry, &length);
    *out = table_text(NULL, 0);
    if (!stacks_find(&frames, m->c->stacks, entry, length)) return string_cell(out, m, none);
    return python_append_value(m->text, &frames);
}

static struct status append_data_name(struct making *m, int side)
{
    struct csv_buffer name = { 0 };
    const struct dump_row *row = row_of(m, side);

    if (!row) return python_append_quoted(m->text, "N/A", 3);
    if (row->data_name == TEXT_NONE) return python_append_quoted(m->text, "-1", 2);
    struct status status = dump_row_append_data_name(&name, dump_of(m, side), row);
    if (!status.code) status = python_append_quoted(m->text, name.data, name.length);
    csv_buffer_release(&name);
    return status;
}

static struct status data_name_cell(struct table_cell *out, struct making *m, int which)
{
    (void)which;
    *out = table_text(NULL, 0);
    if (m->c->generation == GENERATION_1) {
        if (!m->npu || m->npu->data_name == TEXT_NONE) return string_cell(out, m, "-1");
        return dump_row_append_data_name(m->text, &m->c->npu, m->npu);
    }
    TRY(csv_append_bytes(m->text, "[", 1));
    TRY(append_data_name(m, NPU));
    TRY(csv_append_bytes(m->text, ", ", 2));
    TRY(append_data_name(m, BENCH));
    return csv_append_bytes(m->text, "]", 1);
}

/* ---- what was measured ------------------------------------------------------------------ */

static struct status metric_cell(struct table_cell *out, struct making *m, int metric)
{
    static const char *const words[] = {
        [CELL_UNSUPPORTED] = "unsupported",
        [CELL_IS_NAN] = "Nan",
        [CELL_NOT_APPLICABLE] = "N/A",
        [CELL_SHAPES_DIFFER] = "shape unmatched",
    };
    if (m->row == ROW_NONE) return string_cell(out, m, words[CELL_UNSUPPORTED]);
    const struct tensor_result *r = &m->c->tensors[m->row];
    if (!m->bench && m->c->generation == GENERATION_1) return not_applicable(out, m);
    if (r->cell[metric] == CELL_NUMBER) return real_cell(out, m, r->metric[metric]);
    return string_cell(out, m, words[r->cell[metric]]);
}

static bool is_matched(const struct making *m) { return m->npu && m->bench; }

static struct status difference_cell(struct table_cell *out, struct making *m, int which)
{
    const struct statistic_difference *d = &m->difference[which];
    if (!is_matched(m) || d->difference_cell == STATISTIC_IS_NOT_APPLICABLE)
        return not_applicable(out, m);
    if (d->difference_cell == STATISTIC_IS_NAN) return string_cell(out, m, "Nan");
    return real_cell(out, m, d->difference);
}

static struct status relative_cell(struct table_cell *out, struct making *m, int which)
{
    char text[SHORTEST_BYTES + 1];
    const struct statistic_difference *d = &m->difference[which];
    bool b_is_zero = d->difference_cell == STATISTIC_IS_NUMBER &&
                     d->relative_cell == STATISTIC_IS_NOT_APPLICABLE;

    if (!is_matched(m)) return not_applicable(out, m);
    if (d->relative_cell == STATISTIC_IS_NAN) return string_cell(out, m, "Nan");
    if (b_is_zero && m->c->generation == GENERATION_1) return string_cell(out, m, "Nan");
    if (d->relative_cell == STATISTIC_IS_NOT_APPLICABLE) return not_applicable(out, m);
    size_t length = shortest_double(text, d->relative * 100);
    text[length++] = '%';
    return text_cell(out, m, text, length);
}

static struct status non_finite_cell(struct table_cell *out, struct making *m, int which)
{
    *out = (struct table_cell){ .kind = TABLE_EMPTY };
    if (m->row == ROW_NONE || !m->c->tensors[m->row].counted) return status_ok();
    const struct tensor_result *r = &m->c->tensors[m->row];
    const uint64_t counts[] = { r->npu.nan, r->npu.inf, r->bench.nan, r->bench.inf };
    *out = (struct table_cell){ .kind = TABLE_INTEGER, .integer = (int64_t)counts[which] };
    return status_ok();
}

/* ---- what is said ----------------------------------------------------------------------- */

static struct status consistent_cell(struct table_cell *out, struct making *m, int which)
{
    (void)which;
    if (!is_matched(m)) return not_applicable(out, m);
    return boolean_cell(out, m, requires_grad_consistent(m->npu, m->bench));
}

static const char *const verdicts[ROW_VERDICTS] = {
    [VERDICT_EMPTY] = "",
    [VERDICT_YES] = "Yes",
    [VERDICT_NO] = "No",
    [VERDICT_NONE] = "None",
    [VERDICT_UNMATCHED] = "Unmatched",
    [VERDICT_IS_WARNING] = "Warning",
    [VERDICT_IS_PASS] = "pass",
    [VERDICT_DIFFERENT] = "Different",
    [VERDICT_NOT_APPLICABLE] = "N/A",
};

const char *row_verdict_text(enum row_verdict verdict) { return verdicts[verdict]; }

static struct status verdict_cell(struct table_cell *out, struct making *m, int which)
{
    (void)which;
    if (m->row == ROW_NONE) return not_applicable(out, m);
    if (m->c->generation == GENERATION_3) {
        enum row_level level = m->c->rows[m->row].g3_level;
        return level == LEVEL_UNMATCHED ? not_applicable(out, m)
                                        : string_cell(out, m, row_level_name(level));
    }
    if (!m->bench && m->c->generation == GENERATION_1) return not_applicable(out, m);
    return string_cell(out, m, verdicts[m->c->rows[m->row].verdict]);
}

static struct status message_cell(struct table_cell *out, struct making *m, int which)
{
    (void)which;
    if (m->row == ROW_NONE) return string_cell(out, m, "No NPU data matched.");
    *out = table_text(NULL, 0);
    return (m->c->generation == GENERATION_3 ? notes_append_list : notes_append)(m->text, m->c,
                                                                                 m->row);
}

static struct status level_cell(struct table_cell *out, struct making *m, int which)
{
    (void)which;
    if (m->row == ROW_NONE) return string_cell(out, m, row_level_name(LEVEL_UNMATCHED));
    return string_cell(out, m, row_level_name(m->c->rows[m->row].level));
}

/* ---- tables ----------------------------------------------------------------------------- */

enum column {
    COLUMN_END,
    NPU_NAME,
    BENCH_NAME,
    NPU_DTYPE,
    BENCH_DTYPE,
    NPU_SHAPE,
    BENCH_SHAPE,
    NPU_REQUIRES_GRAD,
    BENCH_REQUIRES_GRAD,
    COSINE,
    EUCLIDEAN,
    MAX_ABS,
    MAX_RELATIVE,
    ONE_THOUSANDTH,
    FIVE_THOUSANDTHS,
    MAX_DIFF,
    MIN_DIFF,
    MEAN_DIFF,
    NORM_DIFF,
    MAX_RELATIVE_ERROR,
    MIN_RELATIVE_ERROR,
    MEAN_RELATIVE_ERROR,
    NORM_RELATIVE_ERROR,
    NPU_MAX,
    NPU_MIN,
    NPU_MEAN,
    NPU_NORM,
    BENCH_MAX,
    BENCH_MIN,
    BENCH_MEAN,
    BENCH_NORM,
    NPU_MD5,
    BENCH_MD5,
    CONSISTENT,
    ACCURACY,
    RESULT,
    MESSAGE,
    STACK,
    DATA_NAME,
    VERDICT,
    NPU_NAN,
    NPU_INF,
    BENCH_NAN,
    BENCH_INF,
};

/* clang-format off */
static const struct {
    const char *header;
    make_cell *make;
    int which;
} columns[] = {
    [NPU_NAME]            = { "NPU Name", name_cell, NPU },
    [BENCH_NAME]          = { "Bench Name", name_cell, BENCH },
    [NPU_DTYPE]           = { "NPU Dtype", dtype_cell, NPU },
    [BENCH_DTYPE]         = { "Bench Dtype", dtype_cell, BENCH },
    [NPU_SHAPE]           = { "NPU Tensor Shape", shape_cell, NPU },
    [BENCH_SHAPE]         = { "Bench Tensor Shape", shape_cell, BENCH },
    [NPU_REQUIRES_GRAD]   = { "NPU Requires_grad", requires_grad_cell, NPU },
    [BENCH_REQUIRES_GRAD] = { "Bench Requires_grad", requires_grad_cell, BENCH },
    [COSINE]              = { "Cosine", metric_cell, METRIC_COSINE },
    [EUCLIDEAN]           = { "EucDist", metric_cell, METRIC_EUCLIDEAN_DISTANCE },
    [MAX_ABS]             = { "MaxAbsErr", metric_cell, METRIC_MAX_ABS_ERROR },
    [MAX_RELATIVE]        = { "MaxRelativeErr", metric_cell, METRIC_MAX_RELATIVE_ERROR },
    [ONE_THOUSANDTH]      = { "One Thousandth Err Ratio", metric_cell, METRIC_ONE_THOUSANDTH },
    [FIVE_THOUSANDTHS]    = { "Five Thousandths Err Ratio", metric_cell, METRIC_FIVE_THOUSANDTH },
    [MAX_DIFF]            = { "Max diff", difference_cell, STATISTIC_MAX },
    [MIN_DIFF]            = { "Min diff", difference_cell, STATISTIC_MIN },
    [MEAN_DIFF]           = { "Mean diff", difference_cell, STATISTIC_MEAN },
    [NORM_DIFF]           = { "L2norm diff", difference_cell, STATISTIC_L2NORM },
    [MAX_RELATIVE_ERROR]  = { "MaxRelativeErr", relative_cell, STATISTIC_MAX },
    [MIN_RELATIVE_ERROR]  = { "MinRelativeErr", relative_cell, STATISTIC_MIN },
    [MEAN_RELATIVE_ERROR] = { "MeanRelativeErr", relative_cell, STATISTIC_MEAN },
    [NORM_RELATIVE_ERROR] = { "NormRelativeErr", relative_cell, STATISTIC_L2NORM },
    [NPU_MAX]             = { "NPU max", statistic_cell, STATISTIC_MAX },
    [NPU_MIN]             = { "NPU min", statistic_cell, STATISTIC_MIN },
    [NPU_MEAN]            = { "NPU mean", statistic_cell, STATISTIC_MEAN },
    [NPU_NORM]            = { "NPU l2norm", statistic_cell, STATISTIC_L2NORM },
    [BENCH_MAX]           = { "Bench max", statistic_cell, ROW_STATISTICS + STATISTIC_MAX },
    [BENCH_MIN]           = { "Bench min", statistic_cell, ROW_STATISTICS + STATISTIC_MIN },
    [BENCH_MEAN]          = { "Bench mean", statistic_cell, ROW_STATISTICS + STATISTIC_MEAN },
    [BENCH_NORM]          = { "Bench l2norm", statistic_cell, ROW_STATISTICS + STATISTIC_L2NORM },
    [NPU_MD5]             = { "NPU MD5", checksum_cell, NPU },
    [BENCH_MD5]           = { "BENCH MD5", checksum_cell, BENCH },
    [CONSISTENT]          = { "Requires_grad Consistent", consistent_cell, 0 },
    [ACCURACY]            = { "Accuracy Reached or Not", verdict_cell, 0 },
    [RESULT]              = { "Result", verdict_cell, 0 },
    [MESSAGE]             = { "Err_message", message_cell, 0 },
    [STACK]               = { "NPU_Stack_Info", stack_cell, 0 },
    [DATA_NAME]           = { "Data_name", data_name_cell, 0 },
    [VERDICT]             = { "Verdict", level_cell, 0 },
    [NPU_NAN]             = { "NPU nan count", non_finite_cell, 0 },
    [NPU_INF]             = { "NPU inf count", non_finite_cell, 1 },
    [BENCH_NAN]           = { "Bench nan count", non_finite_cell, 2 },
    [BENCH_INF]           = { "Bench inf count", non_finite_cell, 3 },
};

/* The second generation; the others leave out or replace. */
static const uint8_t tables[][COLUMNS_MAX] = {
    [DUMP_TENSOR] = {
        NPU_NAME, BENCH_NAME, NPU_DTYPE, BENCH_DTYPE, NPU_SHAPE, BENCH_SHAPE, NPU_REQUIRES_GRAD, BENCH_REQUIRES_GRAD,
        COSINE, EUCLIDEAN, MAX_ABS, MAX_RELATIVE, ONE_THOUSANDTH, FIVE_THOUSANDTHS,
        NPU_MAX, NPU_MIN, NPU_MEAN, NPU_NORM, BENCH_MAX, BENCH_MIN, BENCH_MEAN, BENCH_NORM,
        CONSISTENT, ACCURACY, MESSAGE, STACK, DATA_NAME,
        VERDICT, NPU_NAN, NPU_INF, BENCH_NAN, BENCH_INF },
    [DUMP_STATISTICS] = {
        NPU_NAME, BENCH_NAME, NPU_DTYPE, BENCH_DTYPE, NPU_SHAPE, BENCH_SHAPE, NPU_REQUIRES_GRAD, BENCH_REQUIRES_GRAD,
        MAX_DIFF, MIN_DIFF, MEAN_DIFF, NORM_DIFF,
        MAX_RELATIVE_ERROR, MIN_RELATIVE_ERROR, MEAN_RELATIVE_ERROR, NORM_RELATIVE_ERROR,
        NPU_MAX, NPU_MIN, NPU_MEAN, NPU_NORM, BENCH_MAX, BENCH_MIN, BENCH_MEAN, BENCH_NORM,
        CONSISTENT, RESULT, MESSAGE, STACK, VERDICT },
    [DUMP_MD5] = {
        NPU_NAME, BENCH_NAME, NPU_DTYPE, BENCH_DTYPE, NPU_SHAPE, BENCH_SHAPE, NPU_REQUIRES_GRAD, BENCH_REQUIRES_GRAD,
        NPU_MD5, BENCH_MD5, CONSISTENT, RESULT, STACK, VERDICT },
    [DUMP_STRUCTURE] = { 0 },
};
/* clang-format on */

static bool is_left_out(const struct comparison *c, bool extras, enum column column)
{
    if (column == STACK) return !c->stacks;
    if (column >= VERDICT) return !extras;
    if (c->generation != GENERATION_1) return false;
    return column == NPU_REQUIRES_GRAD || column == BENCH_REQUIRES_GRAD || column == CONSISTENT ||
           column == EUCLIDEAN;
}

static void add_column(struct column_list *list, enum column column)
{
    assert(list->count < COLUMNS_MAX);
    list->column[list->count++] = (uint8_t)column;
}

struct column_list column_list_make(const struct comparison *c, bool extras,
                                    enum table_format format)
{
    bool third = c->generation == GENERATION_3, colors = c->highlighted && format == TABLE_XLSX;
    struct column_list list = { .before_inf = third && format == TABLE_CSV ? " " : "",
                                .behind_inf = colors ? "\t" : "",
                                .booleans_are_text = colors };

    for (const uint8_t *at = tables[c->kind]; *at != COLUMN_END; at++) {
        if (is_left_out(c, extras, *at)) continue;
        add_column(&list, third && *at == ACCURACY ? RESULT : *at);
        if (third && c->kind == DUMP_MD5 && *at == RESULT) add_column(&list, MESSAGE);
    }
    return list;
}

struct column_list column_list_make_metrics(const struct comparison *c)
{
    struct column_list list = { .before_inf = "", .behind_inf = "", .booleans_are_text = true };
    for (const uint8_t *at = tables[c->kind]; *at != COLUMN_END; at++) {
        bool is_metric = *at >= COSINE && *at <= NORM_RELATIVE_ERROR;
        bool is_verdict = *at == CONSISTENT || (*at == RESULT && c->kind == DUMP_MD5);
        if ((is_metric || is_verdict) && !is_left_out(c, false, *at)) add_column(&list, *at);
    }
    return list;
}

const char *column_header(const struct column_list *list, size_t index)
{
    return columns[list->column[index]].header;
}

/* ---- rows ------------------------------------------------------------------------------- */

static struct status make_cells(struct row_cells *out, struct making *m,
                                const struct column_list *list)
{
    csv_buffer_clear(&out->text);
    m->text = &out->text;
    m->list = list;
    if (is_matched(m))
        statistics_compare(m->difference, &m->c->npu, m->npu, &m->c->bench, m->bench, false);
    for (size_t i = 0; i < list->count; i++) {
        out->place[i].start = out->text.length;
        TRY(columns[list->column[i]].make(&out->cell[i], m, columns[list->column[i]].which));
        out->place[i].length = out->text.length - out->place[i].start;
    }
    for (size_t i = 0; i < list->count; i++)
        if (out->cell[i].kind == TABLE_TEXT)
            out->cell[i] = table_text(out->text.data ? out->text.data + out->place[i].start : "",
                                      out->place[i].length);
    return status_ok();
}

struct status row_cells_make(struct row_cells *out, const struct comparison *c,
                             const struct column_list *list, uint32_t row)
{
    struct making m = {
        .c = c, .row = row, .npu = &c->npu.rows[row], .bench = comparison_bench_row(c, row)
    };
    return make_cells(out, &m, list);
}

struct status row_cells_make_bench_only(struct row_cells *out, const struct comparison *c,
                                        const struct column_list *list, uint32_t bench_row)
{
    struct making m = { .c = c, .row = ROW_NONE, .bench = &c->bench.rows[bench_row] };
    return make_cells(out, &m, list);
}

void row_cells_release(struct row_cells *cells) { csv_buffer_release(&cells->text); }
