/* The join in step. Of the GPU's file only the calls are kept that the NPU's file has not come to.
 *
 * What is taken for granted is checked as the rows come: rows of a call stand together, the numbers of the
 * calls of an API grow, a call has few rows, and no side is far ahead of the other. Where that does not hold
 * the files are not in step, and the table has to do it.
 */
#include <stdlib.h>
#include <string.h>

#include "compare/details_join.h"
#include "compare/details_pair.h"
#include "compare/gpu_calls.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"

/* Calls read ahead of the other file cost a kilobyte each; where rows are missing on one side there are as many as
 * until the next call of their API. */
enum { AHEAD_MAX = 16384, NUMBER_DIGITS = 18 };

/* How far the files have come with the calls of an API. */
struct api_progress {
    uint64_t npu_next, gpu_next;   /* number of the last call, plus 1 */
    struct gpu_call *first, *last; /* which the NPU's file has not come to */
};

/* A row that only the GPU has. */
struct lone_row {
    uint64_t place;
    struct kept_text name;
    bool counted; /* in the result of its call */
};

struct step_join {
    struct pair_keeper keeper;
    struct comparison_output *out;
    const struct framework_names *other_names;
    bool in_step;
    struct details_file npu;
    struct gpu_calls *gpu;
    bool gpu_ended;

    struct text_table apis;
    struct api_progress *progress; /* by number in `apis` */
    size_t progress_capacity, ahead;

    /* The call that the NPU's file is at. */
    struct csv_buffer call_name;
    struct gpu_call *call;      /* its rows of the GPU, or NULL */
    struct csv_buffer npu_only; /* names of its rows that the GPU lacks, a NUL behind each */

    /* The result that is being made. */
    bool has_result, has_skipped;
    struct call_verdicts verdicts;
    struct csv_buffer result_name, skipped; /* NUL-terminated */

    struct lone_row *lone_rows;
    size_t n_lone_rows, lone_capacity;
    struct csv_buffer lone_text;
};

/* ---- texts and arrays ------------------------------------------------------------------- */

/* One text, NUL-terminated. */
static struct status set_text(struct csv_buffer *buffer, struct csv_text text)
{
    csv_buffer_clear(buffer);
    TRY(csv_append_bytes(buffer, text.bytes, text.length));
    return csv_append_bytes(buffer, "", 1);
}

static struct csv_text terminated(const struct csv_buffer *buffer)
{
    return (struct csv_text){ buffer->data, buffer->length ? buffer->length - 1 : 0 };
}

static struct status out_of_step(struct step_join *j)
{
    j->in_step = false;
    return status_ok();
}

/* ---- calls ------------------------------------------------------------------------------ */

/* "Torch.add" and 7 of "Torch.add.7"; false for other texts, and numbers spelled otherwise. */
static bool split_call(struct csv_text *api, uint64_t *number, struct csv_text name)
{
    size_t digits = 0;
    while (digits < name.length && name.bytes[name.length - 1 - digits] != '.') digits++;
    const char *at = name.bytes + name.length - digits;
    if (!digits || digits > NUMBER_DIGITS || digits + 1 >= name.length) return false;
    if (digits > 1 && *at == '0') return false;
    *number = 0;
    for (size_t i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(at[i] - '0');
    }
    *api = (struct csv_text){ name.bytes, name.length - digits - 1 };
    return true;
}

/* The number of a call, and the place of its API in `progress`; a name without a number is out of step. */
static struct status find_progress(uint32_t *api, uint64_t *number, struct step_join *j,
                                   struct csv_text call)
{
    struct csv_text name;
    bool added;

    if (!split_call(&name, number, call)) return out_of_step(j);
    TRY(array_make_room(&j->progress, &j->progress_capacity, j->apis.count, sizeof *j->progress));
    TRY(text_table_add(api, &added, &j->apis, name.bytes, name.length));
    if (added) j->progress[*api] = (struct api_progress){ .npu_next = 0 };
    return status_ok();
}

/* ---- the GPU's file --------------------------------------------------------------------- */

/* Put the GPU's next call with those of its API, as the last one. */
static struct status add_gpu_call(struct step_join *j, struct gpu_call *call)
{
    uint32_t api;

    TRY(find_progress(&api, &call->number, j, kept_text_at(&call->text, call->name)));
    if (!j->in_step) return status_ok();
    struct api_progress *progress = &j->progress[api];
    if (call->number < progress->gpu_next || j->ahead == AHEAD_MAX) return out_of_step(j);
    progress->gpu_next = call->number + 1;
    *(progress->first ? &progress->last->next : &progress->first) = call;
    progress->last = call;
    j->ahead++;
    return status_ok();
}

static struct status read_gpu_call(struct step_join *j)
{
    struct gpu_call *call;

    TRY(gpu_calls_next(&call, &j->in_step, j->gpu));
    j->gpu_ended = !call;
    if (!call) return status_ok();
    struct status status = add_gpu_call(j, call);
    if (status.code || !j->in_step) gpu_calls_give_back(j->gpu, call);
    return status;
}

static struct gpu_call *take_first(struct step_join *j, struct api_progress *progress)
{
    struct gpu_call *call = progress->first;
    progress->first = call->next;
    j->ahead--;
    return call;
}

/* ---- rows that only the GPU has ---------------------------------------------------------- */

static struct status add_lone_row(struct step_join *j, const struct gpu_call *call, size_t row,
                                  bool counted)
{
    struct lone_row lone = { .place = call->place + row, .counted = counted };
    TRY(array_make_room(&j->lone_rows, &j->lone_capacity, j->n_lone_rows, sizeof *j->lone_rows));
    TRY(kept_text_add(&lone.name, &j->lone_text, kept_text_at(&call->text, call->rows[row].name)));
    j->lone_rows[j->n_lone_rows++] = lone;
    return status_ok();
}

/* A call that the NPU's file does not have. */
static struct status leave_call(struct step_join *j, struct gpu_call *call)
{
    struct status status = status_ok();
    for (size_t i = 0; i < call->n_rows && !status.code; i++)
        status = add_lone_row(j, call, i, false);
    gpu_calls_give_back(j->gpu, call);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct lone_row *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static struct status write_lone_rows(struct step_join *j)
{
    if (j->n_lone_rows) qsort(j->lone_rows, j->n_lone_rows, sizeof *j->lone_rows, by_place);
    for (size_t i = 0; i < j->n_lone_rows; i++) {
        struct row_name name;
        struct csv_text text = kept_text_at(&j->lone_text, j->lone_rows[i].name);
        (void)row_name_split(&name, text); /* as it did when it was read */
        TRY(pair_gpu_only(j->out, j->lone_rows[i].counted ? NULL : &j->keeper, text, &name));
    }
    return status_ok();
}

/* ---- results ---------------------------------------------------------------------------- */

static struct status write_result(struct step_join *j)
{
    if (!j->has_result) return status_ok();
    j->has_result = false;
    const struct compare_result result = call_verdicts_result(
        &j->verdicts, j->result_name.data, j->has_skipped ? j->skipped.data : NULL);
    return comparison_output_result(j->out, &result);
}

/* A row that is a result of its own. The peer writes it at once, and the row of an API when the next one
 * begins. */
static struct status write_row_by_itself(struct step_join *j, struct csv_text name,
                                         struct csv_text message)
{
    struct csv_buffer texts[2] = { { 0 }, { 0 } };
    struct status status = set_text(&texts[0], name);
    if (!status.code) status = set_text(&texts[1], message);
    const struct compare_result result = { .name = texts[0].data,
                                           .forward = VERDICT_SKIP,
                                           .backward = VERDICT_SKIP,
                                           .message = texts[1].data };
    if (!status.code) status = comparison_output_result(j->out, &result);
    csv_buffer_release(&texts[0]);
    csv_buffer_release(&texts[1]);
    return status;
}

static struct status begin_result(struct step_join *j, const struct row_name *name)
{
    TRY(write_result(j));
    TRY(set_text(&j->result_name, name->full_name));
    j->verdicts = (struct call_verdicts){ .is_topk = csv_text_equal(name->api, "topk") };
    j->has_skipped = false;
    j->has_result = true;
    return status_ok();
}

static struct status add_to_result(struct pair_keeper *keeper, struct csv_text row_name,
                                   const struct row_name *name,
                                   const struct three_way_verdict *verdict, struct csv_text message)
{
    struct step_join *j = (struct step_join *)keeper;

    if (verdict->exception) return write_row_by_itself(j, row_name, message);
    if (!j->has_result || !csv_texts_equal(terminated(&j->result_name), name->full_name))
        TRY(begin_result(j, name));
    if (!call_verdicts_add(&j->verdicts, name, verdict)) return status_ok();
    j->has_skipped = true;
    return set_text(&j->skipped, message);
}

/* ---- the NPU's file --------------------------------------------------------------------- */

/* The GPU's rows that the NPU's call does not have: they are written at the end, and belong to its result. */
static struct status add_rest_of_call(struct step_join *j, const struct gpu_call *call)
{
    bool counted = j->has_result && csv_texts_equal(terminated(&j->result_name),
                                                    kept_text_at(&call->text, call->name));
    for (size_t i = 0; i < call->n_rows; i++) {
        const struct kept_row *row = &call->rows[i];
        struct three_way_verdict verdict;
        struct row_name name;
        if (row->matched) continue;
        TRY(add_lone_row(j, call, i, counted));
        if (!counted) continue;
        (void)row_name_split(&name, kept_text_at(&call->text, row->name));
        pair_gpu_only_verdict(&verdict);
        TRY(add_to_result(&j->keeper, kept_text_at(&call->text, row->name), &name, &verdict,
                          comparison_message(&verdict, NULL)));
    }
    return status_ok();
}

static struct status end_call(struct step_join *j)
{
    struct gpu_call *call = j->call;
    csv_buffer_clear(&j->npu_only);
    j->call = NULL;
    if (!call) return status_ok();
    struct status status = add_rest_of_call(j, call);
    gpu_calls_give_back(j->gpu, call);
    return status;
}

/* Read on in the GPU's file until it is past call `number` of an API. */
static struct status find_gpu_call(struct step_join *j, uint32_t api, uint64_t number)
{
    while (j->in_step && !j->gpu_ended && j->progress[api].gpu_next <= number)
        TRY(read_gpu_call(j));
    struct api_progress *progress = &j->progress[api];
    while (progress->first && progress->first->number < number)
        TRY(leave_call(j, take_first(j, progress)));
    if (progress->first && progress->first->number == number) j->call = take_first(j, progress);
    return status_ok();
}

static struct status begin_call(struct step_join *j, struct csv_text name)
{
    uint32_t api;
    uint64_t number;

    TRY(end_call(j));
    TRY(set_text(&j->call_name, name));
    TRY(find_progress(&api, &number, j, name));
    if (!j->in_step) return status_ok();
    struct api_progress *progress = &j->progress[api];
    if (number < progress->npu_next) return out_of_step(j);
    progress->npu_next = number + 1;
    return find_gpu_call(j, api, number);
}

/* Has the call had a row of this name that the GPU lacks? If not, it has now. */
static struct status meet_npu_only(bool *met, struct step_join *j, struct csv_text name)
{
    size_t n = 0;
    *met = false;
    for (size_t at = 0, length; at < j->npu_only.length && !*met; at += length + 1, n++) {
        const char *other = j->npu_only.data + at;
        length = strlen(other);
        *met = csv_texts_equal((struct csv_text){ other, length }, name);
    }
    if (*met) return status_ok();
    if (n == GPU_CALL_ROWS || memchr(name.bytes, '\0', name.length)) return out_of_step(j);
    TRY(csv_append_bytes(&j->npu_only, name.bytes, name.length));
    return csv_append_bytes(&j->npu_only, "", 1);
}

static struct gpu_row gpu_row_of(const struct gpu_call *call, const struct kept_row *row)
{
    return (struct gpu_row){ .found = true,
                             .repeated = row->repeated,
                             .side = row->side,
                             .name = kept_text_at(&call->text, row->name),
                             .message = kept_text_at(&call->text, row->message),
                             .shape = kept_text_at(&call->text, row->shape) };
}

/* May a row of another framework's name be of the same output? */
static bool has_other_name(const struct step_join *j, struct csv_text row_name,
                           const struct row_name *name)
{
    char mapped[256];
    size_t length;
    for (int choice = 0; (length = framework_names_map(mapped, sizeof mapped, j->other_names,
                                                       row_name, name, choice));
         choice++)
        if (!csv_texts_equal((struct csv_text){ mapped, length }, row_name)) return true;
    return false;
}

/* A row that the GPU lacks. One that goes by another name there needs the table. */
static struct status compare_npu_only(struct step_join *j, const struct details_row *row,
                                      const struct row_name *name)
{
    const struct gpu_row none = { .found = false };
    bool met;
    if (has_other_name(j, row->cells[COLUMN_NAME], name)) return out_of_step(j);
    TRY(meet_npu_only(&met, j, row->cells[COLUMN_NAME]));
    if (!j->in_step) return status_ok();
    return pair_rows(j->out, &j->keeper, row, name, met, &none);
}

static struct status compare_row(struct step_join *j, const struct details_row *row)
{
    struct row_name name;
    if (!row_name_split(&name, row->cells[COLUMN_NAME])) return out_of_step(j);
    if (!csv_texts_equal(terminated(&j->call_name), name.full_name))
        TRY(begin_call(j, name.full_name));
    if (!j->in_step) return status_ok();
    struct kept_row *kept = j->call ? gpu_call_find_row(j->call, row->cells[COLUMN_NAME]) : NULL;
    if (!kept) return compare_npu_only(j, row, &name);
    bool met = kept->matched;
    kept->matched = true;
    const struct gpu_row gpu = gpu_row_of(j->call, kept);
    return pair_rows(j->out, &j->keeper, row, &name, met, &gpu);
}

static struct status read_npu_file(struct step_join *j)
{
    struct details_row row;
    bool more = true;
    while (j->in_step) {
        TRY(details_file_next(&j->npu, &row, &more));
        if (!more) return end_call(j);
        TRY(compare_row(j, &row));
    }
    return status_ok();
}

/* What the NPU's file did not come to. */
static struct status read_rest_of_gpu_file(struct step_join *j)
{
    do {
        for (uint32_t i = 0; i < j->apis.count; i++)
            while (j->progress[i].first) TRY(leave_call(j, take_first(j, &j->progress[i])));
        while (j->in_step && !j->gpu_ended && j->ahead < AHEAD_MAX) TRY(read_gpu_call(j));
    } while (j->in_step && j->ahead);
    return status_ok();
}

static struct status join(struct step_join *j)
{
    const struct compare_request *request = j->out->request;
    TRY(text_table_create(&j->apis));
    TRY(gpu_calls_open(&j->gpu, request));
    TRY(details_open(&j->npu, request, request->npu_path));
    TRY(read_npu_file(j));
    TRY(read_rest_of_gpu_file(j));
    if (!j->in_step) return status_ok();
    TRY(write_lone_rows(j));
    TRY(write_result(j));
    j->out->counts.npu_rows = j->npu.rows;
    j->out->counts.npu_torn = j->npu.torn;
    gpu_calls_count(&j->out->counts.gpu_rows, &j->out->counts.gpu_torn, j->gpu);
    return status_ok();
}

static void release(struct step_join *j)
{
    for (uint32_t i = 0; i < j->apis.count; i++) gpu_calls_drop(j->progress[i].first);
    gpu_calls_drop(j->call);
    details_file_close(&j->npu);
    gpu_calls_close(j->gpu);
    text_table_release(&j->apis);
    memory_release(j->progress);
    memory_release(j->lone_rows);
    csv_buffer_release(&j->call_name);
    csv_buffer_release(&j->npu_only);
    csv_buffer_release(&j->result_name);
    csv_buffer_release(&j->skipped);
    csv_buffer_release(&j->lone_text);
}

struct status details_join_in_step(bool *in_step, struct comparison_output *out,
                                   const struct framework_names *other_names)
{
    struct step_join j = { .keeper.add = add_to_result,
                           .out = out,
                           .other_names = other_names,
                           .in_step = true,
                           .npu = DETAILS_FILE_NONE };
    struct status status = join(&j);
    *in_step = j.in_step;
    release(&j);
    return status;
}
