/* The join by a table: the rows of the GPU's file by their names, some 200 bytes each, past which the NPU's
 * rows stream, and the verdicts of all calls, which are written at the end. */
#include <string.h>

#include "compare/details_join.h"
#include "compare/details_pair.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"

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
    uint32_t message; /* of its last skipped forward row; TEXT_NONE without one */
    struct call_verdicts verdicts;
};

/* The result file in order. */
struct result_place {
    uint32_t number; /* in `apis`; in `messages` for the name of a row by itself */
    uint32_t message;
    bool row_by_itself;
};

struct name_table {
    struct pair_keeper keeper;
    struct comparison_output *out;
    const struct framework_names *other_names; /* of MindSpore, in PyTorch's words */
    struct text_table names, apis, messages;
    struct known_row *rows;         /* by number in `names` */
    struct api_result *api_results; /* by number in `apis` */
    size_t row_capacity, api_capacity;
    struct result_place *places;
    size_t n_places, place_capacity;
    uint32_t current_api; /* of the last row of the NPU file */
};

/* The record of a row name, new ones empty. */
static struct status find_row(struct known_row **out, struct name_table *t, struct csv_text name)
{
    uint32_t number;
    bool added;
    TRY(text_table_add(&number, &added, &t->names, name.bytes, name.length));
    TRY(array_make_room(&t->rows, &t->row_capacity, number, sizeof *t->rows));
    *out = &t->rows[number];
    if (added) **out = (struct known_row){ .message = TEXT_NONE, .shape = TEXT_NONE };
    return status_ok();
}

static struct status add_place(struct name_table *t, struct result_place place)
{
    TRY(array_make_room(&t->places, &t->place_capacity, t->n_places, sizeof *t->places));
    t->places[t->n_places++] = place;
    return status_ok();
}

/* ---- the GPU's file --------------------------------------------------------------------- */

/* The number of a text, TEXT_NONE for an empty one. */
static struct status keep_text(uint32_t *number, struct name_table *t, struct csv_text text)
{
    *number = TEXT_NONE;
    return text.length ? text_table_add(number, NULL, &t->messages, text.bytes, text.length)
                       : status_ok();
}

static struct status keep_gpu_row(struct name_table *t, const struct details_row *row)
{
    struct known_row *known;
    struct compared_row gpu;
    struct three_way_side side;

    TRY(find_row(&known, t, row->cells[COLUMN_NAME]));
    if (known->in_gpu) {
        known->repeated = true;
        return status_ok();
    }
    compared_row_read(&gpu, &side, row, t->out->request);
    memcpy(known->metric, side.metric, sizeof known->metric);
    known->in_gpu = true;
    known->present = (uint16_t)side.present;
    known->status = (uint8_t)side.status;
    TRY(keep_text(&known->shape, t, gpu.texts[ROW_SHAPE]));
    return side.present ? status_ok() : keep_text(&known->message, t, gpu.texts[ROW_MESSAGE]);
}

static struct status read_gpu_file(struct name_table *t)
{
    struct details_file gpu;
    struct details_row row;
    bool more = true;

    TRY(details_open(&gpu, t->out->request, SIDE_GPU));
    struct status status = status_ok();
    while (!status.code) {
        status = details_file_next(&gpu, &row, &more);
        if (status.code || !more) break;
        status = keep_gpu_row(t, &row);
    }
    t->out->counts.gpu_rows = gpu.rows;
    t->out->counts.gpu_torn = gpu.torn;
    details_file_close(&gpu);
    return status;
}

static struct csv_text text_of(const struct text_table *table, uint32_t number)
{
    struct csv_text text = { "", 0 };
    if (number != TEXT_NONE) text.bytes = text_table_get(table, number, &text.length);
    return text;
}

/* A row that the GPU has. */
static void gpu_row_of(struct compared_row *row, struct three_way_side *side,
                       const struct name_table *t, const struct known_row *known)
{
    *side =
        (struct three_way_side){ .status = (enum verdict)known->status, .present = known->present };
    memcpy(side->metric, known->metric, sizeof side->metric);
    *row = (struct compared_row){ .side = side,
                                  .texts = {
                                      [ROW_NAME] = text_of(&t->names, (uint32_t)(known - t->rows)),
                                      [ROW_SHAPE] = text_of(&t->messages, known->shape),
                                      [ROW_MESSAGE] = text_of(&t->messages, known->message) } };
}

/* ---- verdicts by API -------------------------------------------------------------------- */

static struct status find_api(struct api_result **out, uint32_t *number, struct name_table *t,
                              const struct row_name *name)
{
    bool added;
    TRY(text_table_add(number, &added, &t->apis, name->full_name.bytes, name->full_name.length));
    TRY(array_make_room(&t->api_results, &t->api_capacity, *number, sizeof *t->api_results));
    *out = &t->api_results[*number];
    if (!added) return status_ok();
    **out = (struct api_result){ .message = TEXT_NONE,
                                 .verdicts.is_topk = csv_text_equal(name->api, "topk") };
    return add_place(t, (struct result_place){ .number = *number, .message = TEXT_NONE });
}

/* A row that is a result of its own. The peer writes it at once, and the row of an API when the
 * next one begins, so it comes before the API that is current. */
static struct status add_row_by_itself(struct name_table *t, struct csv_text name,
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

static struct status add_to_api(struct pair_keeper *keeper, struct csv_text row_name,
                                const struct row_name *name,
                                const struct three_way_verdict *verdict, struct csv_text message)
{
    struct name_table *t = (struct name_table *)keeper;
    struct api_result *api;

    if (!name || verdict->exception) return add_row_by_itself(t, row_name, message);
    TRY(find_api(&api, &t->current_api, t, name));
    if (!call_verdicts_add(&api->verdicts, name, verdict)) return status_ok();
    return text_table_add(&api->message, NULL, &t->messages, message.bytes, message.length);
}

/* ---- the NPU's file --------------------------------------------------------------------- */

/* The GPU's row of the PyTorch API that a MindSpore API is mapped to, if no other row has it; `own`
 * otherwise. */
static struct known_row *row_of_other_framework(struct name_table *t, struct csv_text row_name,
                                                const struct row_name *name, struct known_row *own)
{
    char mapped[256];
    size_t length;
    if (!t->other_names) return own;
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

static struct status compare_row(struct name_table *t, const struct details_row *row)
{
    struct csv_text row_name = row->cells[COLUMN_NAME];
    struct row_name name;
    struct known_row *known;
    struct three_way_side npu_side, gpu_side;
    struct compared_row npu, other;

    if (!row_name_split(&name, row_name)) return pair_invalid(t->out, &t->keeper, row_name);
    TRY(find_row(&known, t, row_name));
    bool repeated = known->in_npu;
    known->in_npu = true;
    if (!known->in_gpu) known = row_of_other_framework(t, row_name, &name, known);
    const struct gpu_row gpu = { known->in_gpu ? &other : NULL, known->repeated };
    if (known->in_gpu) gpu_row_of(&other, &gpu_side, t, known);
    compared_row_read(&npu, &npu_side, row, t->out->request);
    return pair_rows(t->out, &t->keeper, &npu, &name, repeated, &gpu);
}

static struct status read_npu_file(struct name_table *t)
{
    struct details_file npu;
    struct details_row row;
    bool more = true;

    TRY(details_open(&npu, t->out->request, SIDE_NPU));
    struct status status = status_ok();
    while (!status.code) {
        status = details_file_next(&npu, &row, &more);
        if (status.code || !more) break;
        status = compare_row(t, &row);
    }
    t->out->counts.npu_rows = npu.rows;
    t->out->counts.npu_torn = npu.torn;
    details_file_close(&npu);
    return status;
}

/* Rows that only the GPU has come last, in the order of its file. */
static struct status add_gpu_rows(struct name_table *t)
{
    for (uint32_t i = 0; i < t->names.count; i++) {
        if (t->rows[i].in_npu || !t->rows[i].in_gpu) continue;
        struct row_name name;
        struct csv_text row_name = text_of(&t->names, i);
        bool valid = row_name_split(&name, row_name);
        TRY(pair_gpu_only(t->out, &t->keeper, row_name, valid ? &name : NULL));
    }
    return status_ok();
}

/* ---- the results ------------------------------------------------------------------------ */

static struct compare_result result_at(const struct name_table *t, const struct result_place *place)
{
    if (place->row_by_itself)
        return (
            struct compare_result){ .name = text_table_get(&t->messages, place->number, NULL),
                                    .forward = VERDICT_SKIP,
                                    .backward = VERDICT_SKIP,
                                    .message = text_table_get(&t->messages, place->message, NULL) };
    const struct api_result *api = &t->api_results[place->number];
    const char *skipped =
        api->message == TEXT_NONE ? NULL : text_table_get(&t->messages, api->message, NULL);
    return call_verdicts_result(&api->verdicts, text_table_get(&t->apis, place->number, NULL),
                                skipped);
}

static struct status write_results(const struct name_table *t)
{
    for (size_t i = 0; i < t->n_places; i++) {
        const struct compare_result result = result_at(t, &t->places[i]);
        TRY(comparison_output_result(t->out, &result));
    }
    return status_ok();
}

static struct status join(struct name_table *t)
{
    TRY(text_table_create(&t->names));
    TRY(text_table_create(&t->apis));
    TRY(text_table_create(&t->messages));
    TRY(read_gpu_file(t));
    TRY(read_npu_file(t));
    TRY(add_gpu_rows(t));
    return write_results(t);
}

struct status details_join_by_table(struct comparison_output *out,
                                    const struct framework_names *other_names)
{
    struct name_table t = {
        .keeper.add = add_to_api, .out = out, .other_names = other_names, .current_api = TEXT_NONE
    };
    struct status status = join(&t);
    text_table_release(&t.names);
    text_table_release(&t.apis);
    text_table_release(&t.messages);
    memory_release(t.rows);
    memory_release(t.api_results);
    memory_release(t.places);
    return status;
}
