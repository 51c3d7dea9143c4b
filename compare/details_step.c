/* The join in step. Of the GPU's file only the calls are kept that the NPU's file has not come to.
 *
 * What is taken for granted is checked as the rows come: rows of a call stand together, the numbers of the
 * calls of an API grow, a call has few rows, and no side is far ahead of the other. Where that does not hold
 * the files are not in step, and the table has to do it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compare/details_calls.h"
#include "compare/details_join.h"
#include "compare/details_pair.h"
#include "compare/kept_text.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"

/* Calls read ahead of the other file cost a kilobyte each; where rows are missing on one side there are as many as
 * until the next call of their API. */
enum { AHEAD_MAX = 16384 };

/* How far the files have come with the calls of an API. */
struct api_progress {
    uint64_t npu_next, gpu_next;       /* number of the last call, plus 1 */
    struct details_call *first, *last; /* copies of which the NPU's file has not come to */
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
    struct details_calls *npu, *gpu;
    bool gpu_ended;

    struct text_table apis;
    struct api_progress *progress; /* by number in `apis` */
    size_t progress_capacity, ahead;

    struct details_call *call; /* the GPU's of the name that the NPU's file is at, or NULL */
    struct details_call *kept; /* the same, where it is a copy */

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

/* The place of a call's API in `progress`; a name without a number is out of step. */
static struct status find_progress(uint32_t *api, struct step_join *j,
                                   const struct details_call *call)
{
    bool added;

    if (!call->group_length) return out_of_step(j);
    TRY(array_make_room(&j->progress, &j->progress_capacity, j->apis.count, sizeof *j->progress));
    TRY(text_table_add(api, &added, &j->apis, details_call_name(call).bytes, call->group_length));
    if (added) j->progress[*api] = (struct api_progress){ .npu_next = 0 };
    return status_ok();
}

/* ---- the GPU's file --------------------------------------------------------------------- */

/* Put a copy of the GPU's next call with those of its API, as the last one. */
static struct status add_gpu_call(struct step_join *j, const struct details_call *call)
{
    uint32_t api;
    struct details_call *copy;

    TRY(find_progress(&api, j, call));
    if (!j->in_step) return status_ok();
    struct api_progress *progress = &j->progress[api];
    if (call->number < progress->gpu_next || j->ahead == AHEAD_MAX) return out_of_step(j);
    TRY(details_call_copy(&copy, call));
    progress->gpu_next = call->number + 1;
    *(progress->first ? &progress->last->next : &progress->first) = copy;
    progress->last = copy;
    j->ahead++;
    return status_ok();
}

static struct status read_gpu_call(struct step_join *j)
{
    struct details_call *call;

    TRY(details_calls_next(&call, &j->in_step, j->gpu));
    j->gpu_ended = !call;
    return call ? add_gpu_call(j, call) : status_ok();
}

static struct details_call *take_first(struct step_join *j, struct api_progress *progress)
{
    struct details_call *call = progress->first;
    progress->first = call->next;
    j->ahead--;
    return call;
}

/* ---- rows that only the GPU has ---------------------------------------------------------- */

static struct status add_lone_row(struct step_join *j, const struct details_call *call, size_t row,
                                  bool counted)
{
    struct lone_row lone = { .place = call->place + row, .counted = counted };
    TRY(array_make_room(&j->lone_rows, &j->lone_capacity, j->n_lone_rows, sizeof *j->lone_rows));
    TRY(kept_text_add(&lone.name, &j->lone_text, details_call_row_text(call, row)));
    j->lone_rows[j->n_lone_rows++] = lone;
    return status_ok();
}

/* A call that the NPU's file does not have. */
static struct status leave_call(struct step_join *j, struct details_call *call)
{
    struct status status = status_ok();
    for (size_t i = 0; i < call->n_rows && !status.code; i++)
        status = add_lone_row(j, call, i, false);
    details_call_free(call);
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
static struct status add_rest_of_call(struct step_join *j, const struct details_call *call)
{
    bool counted = j->has_result &&
                   csv_texts_equal(terminated(&j->result_name), details_call_name(call));
    for (size_t i = 0; i < call->n_rows; i++) {
        struct three_way_verdict verdict;
        if (call->rows[i].matched) continue;
        TRY(add_lone_row(j, call, i, counted));
        if (!counted) continue;
        const struct row_name name = details_call_row_name(call, i);
        pair_gpu_only_verdict(&verdict);
        TRY(add_to_result(&j->keeper, details_call_row_text(call, i), &name, &verdict,
                          comparison_message(&verdict, NULL)));
    }
    return status_ok();
}

static struct status end_call(struct step_join *j)
{
    struct status status = j->call ? add_rest_of_call(j, j->call) : status_ok();
    details_call_free(j->kept);
    j->call = j->kept = NULL;
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
    if (progress->first && progress->first->number == number)
        j->call = j->kept = take_first(j, progress);
    return status_ok();
}

/* The usual case: the GPU's next call is of the same name, and none of its API waits. Those that were read of it have
 * smaller numbers then, as they went when the NPU's file came to them or past them. */
static struct status take_same_call(struct step_join *j, struct api_progress *progress,
                                    uint64_t number)
{
    assert(number >= progress->gpu_next);
    progress->gpu_next = number + 1;
    return details_calls_next(&j->call, &j->in_step, j->gpu);
}

static struct status begin_call(struct step_join *j, const struct details_call *npu)
{
    uint32_t api;

    TRY(find_progress(&api, j, npu));
    if (!j->in_step) return status_ok();
    struct api_progress *progress = &j->progress[api];
    if (npu->number < progress->npu_next) return out_of_step(j);
    progress->npu_next = npu->number + 1;
    const struct details_call *gpu = details_calls_peek(j->gpu);
    if (!progress->first && gpu && csv_texts_equal(details_call_name(gpu), details_call_name(npu)))
        return take_same_call(j, progress, npu->number);
    return find_gpu_call(j, api, npu->number);
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
static struct status compare_npu_only(struct step_join *j, const struct details_call *npu,
                                      size_t row)
{
    const struct compared_row compared = details_call_row(npu, row);
    const struct row_name name = details_call_row_name(npu, row);
    const struct gpu_row none = { .row = NULL };
    if (has_other_name(j, compared.texts[ROW_NAME], &name)) return out_of_step(j);
    bool met = details_call_find_row(npu, compared.texts[ROW_NAME]) < row;
    return pair_rows(j->out, &j->keeper, &compared, &name, met, &none);
}

/* The row of the GPU's call that has the name; the one at the same place as in the NPU's, if they have the same rows.
 * NULL where there is none. */
static struct kept_row *find_gpu_row(size_t *found, const struct details_call *gpu,
                                     struct csv_text name, size_t place)
{
    if (!gpu) return NULL;
    *found = place;
    if (place >= gpu->n_rows || !csv_texts_equal(details_call_row_text(gpu, place), name))
        *found = details_call_find_row(gpu, name);
    return *found < gpu->n_rows ? &gpu->rows[*found] : NULL;
}

static struct status compare_row(struct step_join *j, const struct details_call *npu, size_t row)
{
    size_t found;
    struct kept_row *kept = find_gpu_row(&found, j->call, details_call_row_text(npu, row), row);
    if (!kept) return compare_npu_only(j, npu, row);
    bool met = kept->matched;
    kept->matched = true;
    const struct compared_row compared = details_call_row(npu, row),
                              other = details_call_row(j->call, found);
    const struct row_name name = details_call_row_name(npu, row);
    const struct gpu_row gpu = { &other, kept->repeated };
    return pair_rows(j->out, &j->keeper, &compared, &name, met, &gpu);
}

static struct status compare_rows_of_call(struct step_join *j, const struct details_call *npu)
{
    TRY(begin_call(j, npu));
    for (size_t row = 0; row < npu->n_rows && j->in_step; row++) TRY(compare_row(j, npu, row));
    return j->in_step ? end_call(j) : status_ok();
}

static struct status read_npu_file(struct step_join *j)
{
    while (j->in_step) {
        struct details_call *npu;
        TRY(details_calls_next(&npu, &j->in_step, j->npu));
        if (!npu) break;
        TRY(compare_rows_of_call(j, npu));
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
    TRY(details_calls_open(&j->gpu, request, SIDE_GPU));
    TRY(details_calls_open(&j->npu, request, SIDE_NPU));
    TRY(read_npu_file(j));
    TRY(read_rest_of_gpu_file(j));
    if (!j->in_step) return status_ok();
    TRY(write_lone_rows(j));
    TRY(write_result(j));
    details_calls_count(&j->out->counts.npu_rows, &j->out->counts.npu_torn, j->npu);
    details_calls_count(&j->out->counts.gpu_rows, &j->out->counts.gpu_torn, j->gpu);
    return status_ok();
}

static void release(struct step_join *j)
{
    for (uint32_t i = 0; i < j->apis.count; i++)
        while (j->progress[i].first) details_call_free(take_first(j, &j->progress[i]));
    details_call_free(j->kept);
    details_calls_close(j->npu);
    details_calls_close(j->gpu);
    text_table_release(&j->apis);
    memory_release(j->progress);
    memory_release(j->lone_rows);
    csv_buffer_release(&j->result_name);
    csv_buffer_release(&j->skipped);
    csv_buffer_release(&j->lone_text);
}

struct status details_join_in_step(bool *in_step, struct comparison_output *out,
                                   const struct framework_names *other_names)
{
    struct step_join j = {
        .keeper.add = add_to_result, .out = out, .other_names = other_names, .in_step = true
    };
    struct status status = join(&j);
    *in_step = j.in_step;
    release(&j);
    return status;
}
