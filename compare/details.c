/* The join by name: one table of the GPU's rows, past which the NPU's rows stream. */
#include "compare/details.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "compare/framework_names.h"
#include "core/memory.h"
#include "results/details_file.h"

/* One row name, met in either file. */
struct known_row {
    double metric[THREE_WAY_METRICS]; /* of the GPU row */
    uint32_t message; /* of a GPU row without numbers, in `messages`; TEXT_NONE otherwise */
    uint32_t shape;   /* of the GPU row, in `messages`; TEXT_NONE when it has none */
    uint16_t present; /* bits by three_way_metric */
    uint8_t status;   /* enum verdict, of the GPU row */
    bool in_gpu : 1, in_npu : 1, repeated : 1;
};

/* One API. */
struct api_result {
    uint32_t message;    /* of its last skipped forward row */
    uint8_t verdicts[2]; /* bits 1 << verdict of its rows, [backward] */
    bool unsupported;    /* the last row says so */
    bool is_topk;
};

/* The result file in order. */
struct result_place {
    uint32_t number; /* in `apis`; in `messages` for the name of a row by itself */
    uint32_t message;
    bool row_by_itself;
};

struct compare_table {
    const struct compare_request *request;
    struct compare_counts counts;
    struct text_table names, apis, messages;
    struct framework_names *other_names; /* of MindSpore, in PyTorch's words */
    struct known_row *rows;              /* by number in `names` */
    struct api_result *api_results;      /* by number in `apis` */
    size_t row_capacity, api_capacity;
    struct result_place *places;
    size_t n_places, place_capacity;
    uint32_t current_api; /* of the last row of the NPU file */
    const struct file *details;
    struct csv_buffer text; /* rows not yet written */
};

enum { WRITE_BYTES = 1 << 20 };

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

/* ---- growing arrays --------------------------------------------------------------------- */

/* Room for an item at `index`. New ones are not set, so that memory is touched as it is used. */
static struct status make_room(void *items, size_t *capacity, size_t index, size_t bytes)
{
    if (index < *capacity) return status_ok();
    size_t larger = *capacity ? *capacity * 2 : 1024;
    while (larger <= index) larger *= 2;
    void *block;
    memcpy(&block, items, sizeof block);
    block = memory_resize(block, larger * bytes);
    if (!block) return status_no_memory(larger * bytes);
    memcpy(items, &block, sizeof block);
    *capacity = larger;
    return status_ok();
}

/* The record of a row name, new ones empty. */
static struct status find_row(struct known_row **out, struct compare_table *t, struct csv_text name)
{
    uint32_t number;
    bool added;
    TRY(text_table_add(&number, &added, &t->names, name.bytes, name.length));
    TRY(make_room(&t->rows, &t->row_capacity, number, sizeof *t->rows));
    *out = &t->rows[number];
    if (added) **out = (struct known_row){ .message = TEXT_NONE, .shape = TEXT_NONE };
    return status_ok();
}

static struct status add_place(struct compare_table *t, struct result_place place)
{
    TRY(make_room(&t->places, &t->place_capacity, t->n_places, sizeof *t->places));
    t->places[t->n_places++] = place;
    return status_ok();
}

/* ---- reading numbers -------------------------------------------------------------------- */

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

/* ---- the GPU's file --------------------------------------------------------------------- */

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

static struct status open_details(struct details_file *out, const struct compare_table *t,
                                  const char *path)
{
    return details_file_open(out, path, t->request->file_policy, required_columns,
                             sizeof required_columns / sizeof *required_columns);
}

static struct status keep_gpu_row(struct compare_table *t, const struct details_row *row)
{
    struct known_row *known;
    struct three_way_side side = { 0 };
    bool empty_is_nan = three_way_empty_is_nan(t->request->rules);

    TRY(find_row(&known, t, row->cells[COLUMN_NAME]));
    if (known->in_gpu) {
        known->repeated = true;
        return status_ok();
    }
    for (enum three_way_metric m = 0; m < THREE_WAY_METRICS && !row->overlong; m++)
        read_metric(&side, m, row->cells[metric_columns[m]], empty_is_nan);
    memcpy(known->metric, side.metric, sizeof known->metric);
    known->in_gpu = true;
    known->present = (uint16_t)side.present;
    known->status = (uint8_t)details_verdict(row->cells[COLUMN_STATUS]);
    struct csv_text shape = row->cells[COLUMN_SHAPE];
    if (!is_blank(shape) && !row->overlong)
        TRY(text_table_add(&known->shape, NULL, &t->messages, shape.bytes, shape.length));
    if (side.present || row->cells[COLUMN_MESSAGE].length == 0) return status_ok();
    return text_table_add(&known->message, NULL, &t->messages, row->cells[COLUMN_MESSAGE].bytes,
                          row->cells[COLUMN_MESSAGE].length);
}

static struct status read_gpu_file(struct compare_table *t)
{
    struct details_file gpu;
    struct details_row row;
    bool more = true;

    TRY(open_details(&gpu, t, t->request->gpu_path));
    struct status status = status_ok();
    while (!status.code) {
        status = details_file_next(&gpu, &row, &more);
        if (status.code || !more) break;
        status = keep_gpu_row(t, &row);
    }
    t->counts.gpu_rows = gpu.rows;
    t->counts.gpu_torn = gpu.torn;
    details_file_close(&gpu);
    return status;
}

static void gpu_side(struct three_way_side *out, const struct known_row *known)
{
    *out =
        (struct three_way_side){ .status = (enum verdict)known->status, .present = known->present };
    memcpy(out->metric, known->metric, sizeof out->metric);
}

/* ---- writing details -------------------------------------------------------------------- */

static struct status flush(struct compare_table *t, size_t least)
{
    if (t->text.length < least || !t->text.length) return status_ok();
    TRY(file_write_all(t->details, t->text.data, t->text.length));
    csv_buffer_clear(&t->text);
    return status_ok();
}

static struct status append_string(struct csv_buffer *text, const char *string)
{
    return csv_append_cell(text, string, strlen(string));
}

/* Most cells are blank, in long runs: `count` of them at once. */
static struct status append_blanks(struct csv_buffer *text, size_t count)
{
    static const char blanks[] = " , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , ,";
    _Static_assert(sizeof blanks > 2 * THREE_WAY_COLUMNS, "a row's blanks fit");
    return csv_append_bytes(text, blanks, 2 * count);
}

static struct status append_cell(struct compare_table *t, const struct three_way_cell *cell,
                                 const struct details_row *row)
{
    switch (cell->kind) {
    case CELL_NUMBER: return csv_append_fixed(&t->text, cell->number, t->request->precision);
    case CELL_VERDICT: return append_string(&t->text, verdict_name(cell->verdict));
    case CELL_NPU_TEXT: {
        struct csv_text text = row->cells[metric_columns[cell->metric]];
        return csv_append_cell(&t->text, text.bytes, text.length);
    }
    case CELL_BLANK: break;
    }
    return append_blanks(&t->text, 1);
}

/* The cells between the name and the verdict. */
static struct status append_cells(struct compare_table *t, const struct three_way_verdict *verdict,
                                  const struct details_row *row)
{
    size_t blanks = 0;
    for (size_t column = THREE_WAY_NAME + 1; column < THREE_WAY_STATUS; column++) {
        if (verdict->cells[column].kind == CELL_BLANK) {
            blanks++;
            continue;
        }
        if (blanks) TRY(append_blanks(&t->text, blanks));
        blanks = 0;
        TRY(append_cell(t, &verdict->cells[column], row));
    }
    return append_blanks(&t->text, blanks);
}

static struct csv_text message_of(const struct three_way_verdict *verdict,
                                  const struct details_row *row)
{
    if (verdict->npu_message && row) return row->cells[COLUMN_MESSAGE];
    return (struct csv_text){ verdict->message, verdict->message_length };
}

/* `row` may be NULL for a verdict without cells. */
static struct status append_details(struct compare_table *t, struct csv_text name,
                                    const struct three_way_verdict *verdict,
                                    const struct details_row *row)
{
    struct csv_text message = message_of(verdict, row);

    TRY(csv_append_cell(&t->text, name.bytes, name.length));
    TRY(append_cells(t, verdict, row));
    TRY(append_string(&t->text, verdict_name(verdict->verdict)));
    TRY(append_string(&t->text, verdict->algorithm));
    TRY(csv_append_cell(&t->text, message.bytes, message.length));
    TRY(csv_end_row(&t->text));
    return flush(t, WRITE_BYTES);
}

/* ---- verdicts by API -------------------------------------------------------------------- */

static struct status find_api(struct api_result **out, uint32_t *number, struct compare_table *t,
                              const struct row_name *name)
{
    bool added;
    TRY(text_table_add(number, &added, &t->apis, name->full_name.bytes, name->full_name.length));
    TRY(make_room(&t->api_results, &t->api_capacity, *number, sizeof *t->api_results));
    *out = &t->api_results[*number];
    if (!added) return status_ok();
    **out =
        (struct api_result){ .message = TEXT_NONE, .is_topk = csv_text_equal(name->api, "topk") };
    return add_place(t, (struct result_place){ .number = *number, .message = TEXT_NONE });
}

/* A row that is a result of its own. The peer writes it at once, and the row of an API when the
 * next one begins, so it comes before the API that is current. */
static struct status add_row_by_itself(struct compare_table *t, struct csv_text name,
                                       struct csv_text message)
{
    struct result_place place = { .row_by_itself = true };
    TRY(text_table_add(&place.number, NULL, &t->messages, name.bytes, name.length));
    TRY(text_table_add(&place.message, NULL, &t->messages, message.bytes, message.length));
    TRY(add_place(t, place));
    struct result_place *last = &t->places[t->n_places - 1];
    if (t->n_places > 1 && !last[-1].row_by_itself && last[-1].number == t->current_api) {
        last[0] = last[-1];
        last[-1] = place;
    }
    return status_ok();
}

static struct status add_to_api(struct compare_table *t, struct csv_text row_name,
                                const struct row_name *name,
                                const struct three_way_verdict *verdict, struct csv_text message)
{
    struct api_result *api;

    if (!name || verdict->exception) return add_row_by_itself(t, row_name, message);
    TRY(find_api(&api, &t->current_api, t, name));
    api->unsupported = verdict->unsupported;
    if (verdict->unattributed) return status_ok();
    api->verdicts[name->backward] |= (uint8_t)(1u << verdict->verdict);
    if (name->backward || verdict->verdict != VERDICT_SKIP) return status_ok();
    return text_table_add(&api->message, NULL, &t->messages, message.bytes, message.length);
}

/* The worst of a set of verdicts; SKIP only when there is nothing else. */
static enum verdict combine(unsigned verdicts)
{
    static const enum verdict worst_first[] = { VERDICT_ERROR, VERDICT_WARNING, VERDICT_PASS,
                                                VERDICT_SKIP };
    for (size_t i = 0; i < sizeof worst_first / sizeof *worst_first; i++) {
        if (verdicts & (1u << worst_first[i])) return worst_first[i];
    }
    return VERDICT_BLANK;
}

/* ---- the NPU's file --------------------------------------------------------------------- */

static struct status tell(const struct compare_table *t, const struct details_row *row,
                          struct csv_text row_name, const struct row_name *name,
                          const struct three_way_verdict *verdict)
{
    struct csv_text npu[THREE_WAY_METRICS];
    bool fails = verdict->verdict == VERDICT_ERROR || verdict->verdict == VERDICT_WARNING;
    if (!fails || !t->request->tell) return status_ok();
    for (enum three_way_metric metric = 0; row && metric < THREE_WAY_METRICS; metric++)
        npu[metric] = row->cells[metric_columns[metric]];
    const struct compare_note note = { .row = row_name,
                                       .call = name ? name->full_name : row_name,
                                       .verdict = verdict,
                                       .npu = row ? npu : NULL,
                                       .message = message_of(verdict, row) };
    return t->request->tell(t->request->context, &note);
}

static struct status emit(struct compare_table *t, const struct details_row *row,
                          struct csv_text row_name, const struct row_name *name,
                          const struct three_way_verdict *verdict)
{
    TRY(append_details(t, row_name, verdict, row));
    TRY(tell(t, row, row_name, name, verdict));
    return add_to_api(t, row_name, name, verdict, message_of(verdict, row));
}

static struct status emit_skip(struct compare_table *t, struct csv_text row_name,
                               const struct row_name *name, const char *reason)
{
    struct three_way_verdict verdict;
    three_way_skip(&verdict, reason);
    return emit(t, NULL, row_name, name, &verdict);
}

enum { API_BYTES = 256, MESSAGE_BYTES = 900, SHOWN_BYTES = 501, SHAPE_BYTES = 100 };

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

static struct status emit_invalid(struct compare_table *t, struct csv_text row_name)
{
    char reason[THREE_WAY_MESSAGE_BYTES], shown[SHOWN_BYTES];
    (void)snprintf(reason, sizeof reason, "The API name %s is invalid.",
                   copy_text(shown, sizeof shown, row_name));
    return emit_skip(t, row_name, NULL, reason);
}

static void add_evidence(struct three_way_side *side, const struct compare_evidence *evidence,
                         struct csv_text name)
{
    side->evidence = evidence_table_find(evidence->table, name);
    side->by_model = evidence->by_model || row_evidence_is_of_model(side->evidence);
}

static struct status judge_row(struct compare_table *t, const struct details_row *row,
                               const struct row_name *name, const struct known_row *known)
{
    struct three_way_row request = { 0 };
    struct three_way_side gpu;
    struct three_way_verdict verdict;
    char api[API_BYTES], message[MESSAGE_BYTES];
    const struct csv_text *cells = row->cells;
    bool empty_is_nan = three_way_empty_is_nan(t->request->rules);

    gpu_side(&gpu, known);
    struct csv_text gpu_name;
    gpu_name.bytes = text_table_get(&t->names, (uint32_t)(known - t->rows), &gpu_name.length);
    add_evidence(&gpu, &t->request->gpu_evidence, gpu_name);
    add_evidence(&request.npu, &t->request->npu_evidence, cells[COLUMN_NAME]);
    request.gpu = &gpu;
    request.api = copy_text(api, sizeof api, name->api);
    request.npu_message = copy_text(message, sizeof message, cells[COLUMN_MESSAGE]);
    request.gpu_message =
        known->message == TEXT_NONE ? "" : text_table_get(&t->messages, known->message, NULL);
    request.dtype =
        three_way_dtype(cells[COLUMN_DEVICE_DTYPE].bytes, cells[COLUMN_DEVICE_DTYPE].length);
    request.empty_vector = csv_text_equal(cells[COLUMN_SHAPE], "(0,)");
    request.npu.status = details_verdict(cells[COLUMN_STATUS]);
    for (enum three_way_metric metric = 0; metric < THREE_WAY_METRICS; metric++)
        read_metric(&request.npu, metric, cells[metric_columns[metric]], empty_is_nan);

    three_way_judge(&verdict, t->request->rules, &request);
    if (verdict.assumed_zero) t->counts.assumed_zero++;
    return emit(t, row, cells[COLUMN_NAME], name, &verdict);
}

/* Rows of one name whose shapes differ: a GPU run of another dump, or other arguments. */
static bool is_mispaired(const struct compare_table *t, const struct details_row *row,
                         const struct known_row *known)
{
    size_t length;
    struct csv_text shape = row->cells[COLUMN_SHAPE];
    if (known->shape == TEXT_NONE || is_blank(shape)) return false;
    const char *other = text_table_get(&t->messages, known->shape, &length);
    return length != shape.length || memcmp(other, shape.bytes, length) != 0;
}

static struct status emit_mispaired(struct compare_table *t, const struct details_row *row,
                                    const struct row_name *name, const struct known_row *known)
{
    char reason[THREE_WAY_MESSAGE_BYTES], shape[SHAPE_BYTES], other[SHAPE_BYTES];
    struct csv_text gpu_shape;
    struct three_way_verdict verdict;
    gpu_shape.bytes = text_table_get(&t->messages, known->shape, &gpu_shape.length);
    (void)snprintf(reason, sizeof reason,
                   "The shape is %s in the NPU file and %s in the GPU file: these rows are not of "
                   "the same output.",
                   copy_text(shape, sizeof shape, row->cells[COLUMN_SHAPE]),
                   copy_text(other, sizeof other, gpu_shape));
    three_way_skip(&verdict, reason);
    verdict.verdict = VERDICT_ERROR;
    t->counts.mispaired++;
    return emit(t, NULL, row->cells[COLUMN_NAME], name, &verdict);
}

/* The GPU's row of the PyTorch API that a MindSpore API is mapped to, if no other row has it; `own`
 * otherwise. */
static struct known_row *row_of_other_framework(struct compare_table *t, struct csv_text row_name,
                                                const struct row_name *name, struct known_row *own)
{
    char mapped[API_BYTES];
    size_t length;
    for (int choice = 0; (length = framework_names_map(mapped, sizeof mapped, t->other_names,
                                                       row_name, name, choice));
         choice++) {
        uint32_t number = text_table_find(&t->names, mapped, length);
        if (number == TEXT_NONE || !t->rows[number].in_gpu || t->rows[number].in_npu) continue;
        t->rows[number].in_npu = true;
        return &t->rows[number];
    }
    return own;
}

static struct status compare_row(struct compare_table *t, const struct details_row *row)
{
    struct csv_text row_name = row->cells[COLUMN_NAME];
    struct row_name name;
    struct known_row *known;

    if (!row_name_split(&name, row_name)) return emit_invalid(t, row_name);
    TRY(find_row(&known, t, row_name));
    bool repeated = known->in_npu;
    known->in_npu = true;
    if (!known->in_gpu) known = row_of_other_framework(t, row_name, &name, known);
    if (repeated) {
        t->counts.repeated++;
        return emit_skip(t, row_name, &name,
                         "The NPU file has more than one row of this name; the first one counts.");
    }
    if (!known->in_gpu) {
        t->counts.only_npu++;
        return emit_skip(t, row_name, &name, "The GPU file has no row of this name.");
    }
    if (row->overlong)
        return emit_skip(t, row_name, &name, "The NPU row has more cells than the header.");
    if (is_mispaired(t, row, known)) return emit_mispaired(t, row, &name, known);
    TRY(judge_row(t, row, &name, known));
    if (!known->repeated) return status_ok();
    t->counts.repeated++;
    return emit_skip(t, row_name, &name,
                     "The GPU file has more than one row of this name; the first one counts.");
}

static struct status read_npu_file(struct compare_table *t)
{
    struct details_file npu;
    struct details_row row;
    bool more = true;

    TRY(open_details(&npu, t, t->request->npu_path));
    struct status status = status_ok();
    while (!status.code) {
        status = details_file_next(&npu, &row, &more);
        if (status.code || !more) break;
        status = compare_row(t, &row);
    }
    t->counts.npu_rows = npu.rows;
    t->counts.npu_torn = npu.torn;
    details_file_close(&npu);
    return status;
}

/* Rows that only the GPU has come last, in the order of its file. */
static struct status add_gpu_rows(struct compare_table *t)
{
    for (uint32_t i = 0; i < t->names.count; i++) {
        if (t->rows[i].in_npu || !t->rows[i].in_gpu) continue;
        struct csv_text row_name;
        struct row_name name;
        row_name.bytes = text_table_get(&t->names, i, &row_name.length);
        t->counts.only_gpu++;
        bool valid = row_name_split(&name, row_name);
        TRY(emit_skip(t, row_name, valid ? &name : NULL, "The NPU file has no row of this name."));
    }
    return status_ok();
}

/* ---- the comparison --------------------------------------------------------------------- */

static struct status compare_files(struct compare_table *t)
{
    TRY(text_table_create(&t->names));
    TRY(text_table_create(&t->apis));
    TRY(text_table_create(&t->messages));
    TRY(framework_names_load(&t->other_names));
    TRY(read_gpu_file(t));
    TRY(csv_append_mark(&t->text));
    const char *headers[THREE_WAY_COLUMNS];
    memcpy(headers, three_way_headers, sizeof headers);
    headers_translate(headers, THREE_WAY_COLUMNS, t->request->language);
    TRY(csv_append_row(&t->text, headers, THREE_WAY_COLUMNS));
    TRY(read_npu_file(t));
    TRY(add_gpu_rows(t));
    return flush(t, 0);
}

static void count_verdicts(struct compare_table *t)
{
    t->counts.apis = 0;
    for (size_t i = 0; i < t->n_places; i++) {
        struct compare_result result = compare_result(t, i);
        t->counts.apis++;
        t->counts.verdicts[0][result.forward]++;
        t->counts.verdicts[1][result.backward]++;
        t->counts.judged += verdict_is_judgement(result.forward) ||
                            verdict_is_judgement(result.backward);
    }
}

struct status compare_run(struct compare_table **out, struct compare_counts *counts,
                          const struct file *details, const struct compare_request *request)
{
    struct compare_table *t = memory_allocate_zeroed(1, sizeof *t);
    if (!t) return status_no_memory(sizeof *t);
    t->request = request;
    t->details = details;
    t->current_api = TEXT_NONE;
    struct status status = compare_files(t);
    if (status.code) {
        compare_release(t);
        return status;
    }
    count_verdicts(t);
    *counts = t->counts;
    *out = t;
    return status_ok();
}

void compare_release(struct compare_table *t)
{
    if (!t) return;
    text_table_release(&t->names);
    text_table_release(&t->apis);
    text_table_release(&t->messages);
    framework_names_release(t->other_names);
    memory_release(t->rows);
    memory_release(t->api_results);
    memory_release(t->places);
    csv_buffer_release(&t->text);
    memory_release(t);
}

/* ---- results ---------------------------------------------------------------------------- */

size_t compare_results(const struct compare_table *t) { return t->n_places; }

static const char topk_hint[] = "On the NPU, sorted=False of topk has no effect: its results are "
                                "in order. Compare with sorted=True.";

struct compare_result compare_result(const struct compare_table *t, size_t i)
{
    const struct result_place *place = &t->places[i];
    struct compare_result result = { .forward = VERDICT_SKIP,
                                     .backward = VERDICT_SKIP,
                                     .message = "" };

    if (place->row_by_itself) {
        result.name = text_table_get(&t->messages, place->number, NULL);
        result.message = text_table_get(&t->messages, place->message, NULL);
        return result;
    }
    const struct api_result *api = &t->api_results[place->number];
    result.name = text_table_get(&t->apis, place->number, NULL);
    if (api->unsupported) {
        result.message = three_way_unsupported;
        return result;
    }
    result.forward = combine(api->verdicts[0]);
    result.backward = combine(api->verdicts[1]);
    if (result.forward == VERDICT_ERROR && api->is_topk) result.message = topk_hint;
    /* Where nothing but SKIP rows made the verdict, the last of them has left its message. */
    assert(result.forward != VERDICT_SKIP || api->message != TEXT_NONE);
    if (result.forward == VERDICT_SKIP)
        result.message = text_table_get(&t->messages, api->message, NULL);
    return result;
}

static struct status write_results(struct csv_buffer *text, const struct file *file,
                                   const struct compare_table *t)
{
    static const char *const header[] = { "API Name", "Forward Test Success",
                                          "Backward Test Success", "Message" };
    TRY(csv_append_mark(text));
    TRY(csv_append_row(text, header, 4));
    for (size_t i = 0; i < t->n_places; i++) {
        struct compare_result result = compare_result(t, i);
        const char *const cells[] = { result.name, verdict_name(result.forward),
                                      verdict_name(result.backward), result.message };
        TRY(csv_append_row(text, cells, 4));
        if (text->length < WRITE_BYTES) continue;
        TRY(file_write_all(file, text->data, text->length));
        csv_buffer_clear(text);
    }
    return file_write_all(file, text->data, text->length);
}

struct status compare_write_results(const struct file *result, const struct compare_table *t)
{
    struct csv_buffer text = { 0 };
    struct status status = write_results(&text, result, t);
    csv_buffer_release(&text);
    return status;
}
