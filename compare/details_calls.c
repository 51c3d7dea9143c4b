/* A ring of batches between the thread that reads and the one that compares, so that they meet once for some hundreds of
 * calls. Where no thread can be had, whoever asks for a batch reads it. The rows of a batch lie behind each other, and so
 * do their texts: who compares goes through both from front to back, in memory that is still in the caches.
 */
#include "compare/details_calls.h"

#include <pthread.h>
#include <string.h>

#include "compare/kept_text.h"
#include "core/growing.h"
#include "core/memory.h"

/* A call takes a kilobyte. Fewer in a batch, and the threads wake each other more often than reading is worth; more, and
 * they leave the caches before they are compared. */
enum { BATCH_CALLS = 128, BATCHES = 4, NUMBER_DIGITS = 18 };

struct batch {
    struct details_call calls[BATCH_CALLS];
    size_t count;
    struct kept_row *rows; /* of all calls */
    size_t n_rows, row_capacity;
    struct csv_buffer text;
    struct status status; /* behind the calls */
    bool out_of_step;     /* behind the calls */
    bool is_last;
};

struct details_calls {
    const struct compare_request *request;
    enum compare_side side;

    /* Of the one who reads. */
    struct details_file file;
    struct details_row row; /* not yet taken, where there is one */
    struct row_name name;
    bool has_started, has_row, out_of_step;

    /* Between both. */
    pthread_t thread;
    bool is_threaded;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct batch batches[BATCHES];
    size_t made, taken; /* batches; those between are full */
    bool is_closing;

    /* Of the one who compares. */
    struct batch *batch; /* that it is at, or NULL */
    size_t at;           /* calls taken of it */
};

/* ---- calls ------------------------------------------------------------------------------ */

struct csv_text details_call_name(const struct details_call *call)
{
    return (struct csv_text){ call->text + call->rows->begin, call->name_length };
}

struct csv_text details_call_row_text(const struct details_call *call, size_t row)
{
    const struct kept_row *kept = &call->rows[row];
    return (struct csv_text){ call->text + kept->begin, kept->lengths[ROW_NAME] };
}

struct compared_row details_call_row(const struct details_call *call, size_t row)
{
    const struct kept_row *kept = &call->rows[row];
    const char *text = call->text + kept->begin;
    struct compared_row out = { .side = &kept->side,
                                .dtype = (enum three_way_dtype)kept->dtype,
                                .overlong = kept->overlong };
    for (enum row_text i = 0; i < ROW_TEXTS; text += kept->lengths[i++])
        out.texts[i] = (struct csv_text){ text, kept->lengths[i] };
    return out;
}

struct row_name details_call_row_name(const struct details_call *call, size_t row)
{
    const struct kept_row *kept = &call->rows[row];
    const char *name = call->text + kept->begin, *end = name + kept->lengths[ROW_NAME];
    return (struct row_name){ .full_name = { name, call->name_length },
                              .api = { name + call->api_begin, call->api_length },
                              .backward = kept->backward,
                              .index = { end - kept->index_length, kept->index_length } };
}

size_t details_call_find_row(const struct details_call *call, struct csv_text name)
{
    size_t row = 0;
    while (row < call->n_rows && !csv_texts_equal(details_call_row_text(call, row), name)) row++;
    return row;
}

/* Where the texts of a call end. */
static size_t text_end(const struct details_call *call)
{
    const struct kept_row *last = &call->rows[call->n_rows - 1];
    size_t end = last->begin;
    for (size_t i = 0; i < ROW_TEXTS; i++) end += last->lengths[i];
    return end;
}

/* In one piece: the call, its rows, their texts. */
struct status details_call_copy(struct details_call **out, const struct details_call *call)
{
    size_t begin = call->rows->begin, text_bytes = text_end(call) - begin;
    size_t rows_bytes = call->n_rows * sizeof *call->rows;
    struct details_call *copy = memory_allocate(sizeof *copy + rows_bytes + text_bytes);
    if (!copy) return status_no_memory(sizeof *copy + rows_bytes + text_bytes);
    *copy = *call;
    copy->next = NULL;
    copy->rows = memcpy(copy + 1, call->rows, rows_bytes);
    copy->text = memcpy((char *)(copy + 1) + rows_bytes, call->text + begin, text_bytes);
    for (size_t i = 0; i < copy->n_rows; i++) copy->rows[i].begin -= begin;
    *out = copy;
    return status_ok();
}

void details_call_free(struct details_call *call) { memory_release(call); }

/* ---- reading ---------------------------------------------------------------------------- */

static struct status next_row(struct details_calls *c)
{
    TRY(details_file_next(&c->file, &c->row, &c->has_row));
    c->out_of_step = c->has_row && !row_name_split(&c->name, c->row.cells[COLUMN_NAME]);
    return status_ok();
}

/* The batch's memory may have moved while it grew. */
static void place_call(struct details_call *call, const struct batch *batch)
{
    call->rows = batch->rows + batch->n_rows - call->n_rows;
    call->text = batch->text.data;
}

/* Of the GPU's row less is told. */
static void drop_texts(struct compared_row *row)
{
    const struct csv_text none = { "", 0 };
    row->texts[ROW_BINARY] = row->texts[ROW_THOUSANDTH] = none;
    if (row->side->present) row->texts[ROW_MESSAGE] = none;
}

static struct status keep_texts(struct kept_row *kept, struct csv_buffer *text,
                                const struct compared_row *row)
{
    size_t bytes = 0;
    for (enum row_text i = 0; i < ROW_TEXTS; i++) bytes += row->texts[i].length;
    if (!csv_has_room(text, bytes)) TRY(csv_reserve(text, bytes));
    char *out = text->data + text->length;
    kept->begin = text->length;
    text->length += bytes;
    for (enum row_text i = 0; i < ROW_TEXTS; i++) {
        kept->lengths[i] = (uint32_t)row->texts[i].length;
        if (!kept->lengths[i]) continue;
        memcpy(out, row->texts[i].bytes, kept->lengths[i]);
        out += kept->lengths[i];
    }
    return status_ok();
}

/* Take the row into the call, which is the last one of its batch. */
static struct status take_row(struct details_call *call, struct batch *batch,
                              const struct details_calls *c)
{
    struct compared_row row;

    if (c->side == SIDE_GPU) {
        size_t known = details_call_find_row(call, c->row.cells[COLUMN_NAME]);
        if (known < call->n_rows) call->rows[known].repeated = true;
        if (known < call->n_rows) return status_ok();
    }
    if (batch->n_rows == batch->row_capacity)
        TRY(array_make_room(&batch->rows, &batch->row_capacity, batch->n_rows,
                            sizeof *batch->rows));
    struct kept_row *kept = &batch->rows[batch->n_rows];
    compared_row_read(&row, &kept->side, &c->row, c->request);
    if (c->side == SIDE_GPU) drop_texts(&row);
    TRY(keep_texts(kept, &batch->text, &row));
    kept->index_length = (uint32_t)c->name.index.length;
    kept->dtype = (uint8_t)row.dtype;
    kept->overlong = row.overlong;
    kept->backward = c->name.backward;
    kept->repeated = kept->matched = false;
    batch->n_rows++;
    call->n_rows++;
    place_call(call, batch);
    return status_ok();
}

/* "Torch.add" and 7 of "Torch.add.7"; no length for other texts, and numbers spelled otherwise. */
static void split_call(struct details_call *call, struct csv_text name)
{
    size_t digits = 0;
    while (digits < name.length && name.bytes[name.length - 1 - digits] != '.') digits++;
    const char *at = name.bytes + name.length - digits;
    if (!digits || digits > NUMBER_DIGITS || digits + 1 >= name.length) return;
    if (digits > 1 && *at == '0') return;
    for (size_t i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9') return;
        call->number = call->number * 10 + (uint64_t)(at[i] - '0');
    }
    call->group_length = name.length - digits - 1;
}

/* Read a call's rows; the first of them is there. */
static struct status fill_call(struct details_call *call, struct batch *batch,
                               struct details_calls *c)
{
    *call = (struct details_call){ .place = c->row.number,
                                   .name_length = c->name.full_name.length,
                                   .api_begin = (size_t)(c->name.api.bytes -
                                                         c->row.cells[COLUMN_NAME].bytes),
                                   .api_length = c->name.api.length };
    split_call(call, c->name.full_name);
    do {
        c->out_of_step = call->n_rows == CALL_ROWS_MAX;
        if (c->out_of_step) return status_ok();
        TRY(take_row(call, batch, c));
        TRY(next_row(c));
    } while (!c->out_of_step && c->has_row &&
             csv_texts_equal(c->name.full_name, details_call_name(call)));
    return status_ok();
}

static struct status add_call(struct batch *batch, struct details_calls *c)
{
    struct details_call *call = &batch->calls[batch->count];
    struct status status = fill_call(call, batch, c);
    bool is_whole = !status.code && !c->out_of_step;
    if (is_whole || (c->side == SIDE_NPU && call->n_rows)) batch->count++;
    return status;
}

/* Calls whose rows and texts moved while others were added. */
static void place_calls(struct batch *batch)
{
    struct kept_row *rows = batch->rows;
    for (size_t i = 0; i < batch->count; i++) {
        batch->calls[i].rows = rows;
        batch->calls[i].text = batch->text.data;
        rows += batch->calls[i].n_rows;
    }
}

static void fill_batch(struct batch *batch, struct details_calls *c)
{
    struct status status = status_ok();
    batch->count = batch->n_rows = 0;
    csv_buffer_clear(&batch->text);
    if (!c->has_started) status = next_row(c);
    c->has_started = true;
    while (!status.code && c->has_row && !c->out_of_step && batch->count < BATCH_CALLS)
        status = add_call(batch, c);
    place_calls(batch);
    batch->status = status;
    batch->out_of_step = c->out_of_step;
    batch->is_last = status.code || c->out_of_step || !c->has_row;
}

/* ---- the thread ------------------------------------------------------------------------- */

/* A batch to fill; NULL when nobody wants more. */
static struct batch *wait_for_empty(struct details_calls *c)
{
    pthread_mutex_lock(&c->mutex);
    while (!c->is_closing && c->made - c->taken == BATCHES)
        pthread_cond_wait(&c->changed, &c->mutex);
    struct batch *batch = c->is_closing ? NULL : &c->batches[c->made % BATCHES];
    pthread_mutex_unlock(&c->mutex);
    return batch;
}

static void *read_ahead(void *context)
{
    struct details_calls *c = context;
    bool is_last = false;
    struct batch *batch;
    while (!is_last && (batch = wait_for_empty(c))) {
        fill_batch(batch, c);
        is_last = batch->is_last;
        pthread_mutex_lock(&c->mutex);
        c->made++;
        pthread_cond_signal(&c->changed);
        pthread_mutex_unlock(&c->mutex);
    }
    return NULL;
}

struct status details_calls_open(struct details_calls **out, const struct compare_request *request,
                                 enum compare_side side)
{
    struct details_calls *c = memory_allocate_zeroed(1, sizeof *c);
    if (!c) return status_no_memory(sizeof *c);
    c->request = request;
    c->side = side;
    c->file = DETAILS_FILE_NONE;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    *out = c;
    TRY(details_open(&c->file, request, side));
    c->is_threaded = pthread_create(&c->thread, NULL, read_ahead, c) == 0;
    return status_ok();
}

/* ---- the calls, one by one -------------------------------------------------------------- */

static void next_batch(struct details_calls *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->batch) {
        c->taken++;
        /* A reader that waits is woken for some batches at once. */
        if (c->made - c->taken <= BATCHES / 2) pthread_cond_signal(&c->changed);
    }
    while (c->is_threaded && c->made == c->taken) pthread_cond_wait(&c->changed, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
    c->batch = &c->batches[c->taken % BATCHES];
    c->at = 0;
    if (!c->is_threaded) fill_batch(c->batch, c);
}

const struct details_call *details_calls_peek(struct details_calls *calls)
{
    if (!calls->batch || (calls->at == calls->batch->count && !calls->batch->is_last))
        next_batch(calls);
    return calls->at < calls->batch->count ? &calls->batch->calls[calls->at] : NULL;
}

struct status details_calls_next(struct details_call **out, bool *in_step,
                                 struct details_calls *calls)
{
    *out = NULL;
    if (details_calls_peek(calls)) {
        *out = &calls->batch->calls[calls->at++];
        return status_ok();
    }
    if (calls->batch->out_of_step) *in_step = false;
    return calls->batch->status;
}

void details_calls_count(uint64_t *rows, bool *torn, const struct details_calls *calls)
{
    *rows = calls->file.rows;
    *torn = calls->file.torn;
}

void details_calls_close(struct details_calls *calls)
{
    if (!calls) return;
    if (calls->is_threaded) {
        pthread_mutex_lock(&calls->mutex);
        calls->is_closing = true;
        pthread_cond_signal(&calls->changed);
        pthread_mutex_unlock(&calls->mutex);
        pthread_join(calls->thread, NULL);
    }
    for (size_t i = 0; i < BATCHES; i++) {
        memory_release(calls->batches[i].rows);
        csv_buffer_release(&calls->batches[i].text);
    }
    details_file_close(&calls->file);
    pthread_cond_destroy(&calls->changed);
    pthread_mutex_destroy(&calls->mutex);
    memory_release(calls);
}
