/* A ring of batches between the thread that reads and the one that compares, so that they meet once for some dozens of
 * calls. Where no thread can be had, whoever asks for a batch reads it. */
#include "compare/gpu_calls.h"
#include "core/growing.h"
#include "core/memory.h"

#include <pthread.h>

/* A call takes a kilobyte. */
enum { BATCH_CALLS = 64, BATCHES = 8 };

struct batch {
    struct gpu_call *calls[BATCH_CALLS];
    size_t count;
    struct status status; /* behind the calls */
    bool out_of_step;     /* behind the calls */
    bool is_last;
};

struct gpu_calls {
    const struct compare_request *request;

    /* Of the one who reads. */
    struct details_file file;
    struct details_row row; /* not yet taken, where there is one */
    struct row_name name;
    bool has_started, has_row, out_of_step;
    struct gpu_call *unused;

    /* Between both. */
    pthread_t thread;
    bool is_threaded;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct batch batches[BATCHES];
    size_t made, taken; /* batches; those between are full */
    struct gpu_call *returned;
    bool is_closing;

    /* Of the one who compares. */
    struct batch *batch; /* that it is at, or NULL */
    size_t at;           /* calls taken of it */
    struct gpu_call *given_back;
};

/* ---- calls ------------------------------------------------------------------------------ */

struct kept_row *gpu_call_find_row(struct gpu_call *call, struct csv_text name)
{
    for (size_t i = 0; i < call->n_rows; i++)
        if (csv_texts_equal(kept_text_at(&call->text, call->rows[i].name), name))
            return &call->rows[i];
    return NULL;
}

void gpu_calls_drop(struct gpu_call *calls)
{
    while (calls) {
        struct gpu_call *next = calls->next;
        memory_release(calls->rows);
        csv_buffer_release(&calls->text);
        memory_release(calls);
        calls = next;
    }
}

/* An empty call: one that is done with, if there is one. */
static struct status new_call(struct gpu_call **out, struct gpu_calls *c)
{
    struct gpu_call *call = c->unused;
    if (call) c->unused = call->next;
    else call = memory_allocate_zeroed(1, sizeof *call);
    if (!call) return status_no_memory(sizeof *call);
    call->next = NULL;
    call->n_rows = 0;
    csv_buffer_clear(&call->text);
    *out = call;
    return status_ok();
}

/* ---- reading ---------------------------------------------------------------------------- */

static struct status next_row(struct gpu_calls *c)
{
    TRY(details_file_next(&c->file, &c->row, &c->has_row));
    c->out_of_step = c->has_row && !row_name_split(&c->name, c->row.cells[COLUMN_NAME]);
    return status_ok();
}

/* Take the row into its call. */
static struct status take_row(struct gpu_call *call, const struct gpu_calls *c)
{
    struct kept_row *row = gpu_call_find_row(call, c->row.cells[COLUMN_NAME]);
    struct gpu_row gpu;

    if (row) {
        row->repeated = true;
        return status_ok();
    }
    TRY(array_make_room(&call->rows, &call->row_capacity, call->n_rows, sizeof *call->rows));
    row = &call->rows[call->n_rows];
    gpu_row_read(&gpu, &c->row, c->request);
    *row = (struct kept_row){ .side = gpu.side };
    TRY(kept_text_add(&row->name, &call->text, gpu.name));
    TRY(kept_text_add(&row->message, &call->text, gpu.message));
    TRY(kept_text_add(&row->shape, &call->text, gpu.shape));
    call->n_rows++;
    return status_ok();
}

/* Read a call's rows; the first of them is there. */
static struct status fill_call(struct gpu_call *call, struct gpu_calls *c)
{
    TRY(kept_text_add(&call->name, &call->text, c->name.full_name));
    call->place = c->row.number;
    do {
        c->out_of_step = call->n_rows == GPU_CALL_ROWS;
        if (c->out_of_step) return status_ok();
        TRY(take_row(call, c));
        TRY(next_row(c));
    } while (!c->out_of_step && c->has_row &&
             csv_texts_equal(c->name.full_name, kept_text_at(&call->text, call->name)));
    return status_ok();
}

static struct status add_call(struct batch *batch, struct gpu_calls *c)
{
    struct gpu_call *call = NULL;
    TRY(new_call(&call, c));
    struct status status = fill_call(call, c);
    if (status.code || c->out_of_step) gpu_calls_drop(call);
    else batch->calls[batch->count++] = call;
    return status;
}

static void fill_batch(struct batch *batch, struct gpu_calls *c)
{
    struct status status = status_ok();
    batch->count = 0;
    if (!c->has_started) status = next_row(c);
    c->has_started = true;
    while (!status.code && c->has_row && !c->out_of_step && batch->count < BATCH_CALLS)
        status = add_call(batch, c);
    batch->status = status;
    batch->out_of_step = c->out_of_step;
    batch->is_last = status.code || c->out_of_step || !c->has_row;
}

/* ---- the thread ------------------------------------------------------------------------- */

/* Have calls that came back be filled again. */
static void reuse_returned(struct gpu_calls *c)
{
    if (c->unused) return;
    c->unused = c->returned;
    c->returned = NULL;
}

/* A batch to fill, and the calls that came back meanwhile; NULL when nobody wants more. */
static struct batch *wait_for_empty(struct gpu_calls *c)
{
    pthread_mutex_lock(&c->mutex);
    while (!c->is_closing && c->made - c->taken == BATCHES)
        pthread_cond_wait(&c->changed, &c->mutex);
    struct batch *batch = c->is_closing ? NULL : &c->batches[c->made % BATCHES];
    reuse_returned(c);
    pthread_mutex_unlock(&c->mutex);
    return batch;
}

static void *read_ahead(void *context)
{
    struct gpu_calls *c = context;
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

struct status gpu_calls_open(struct gpu_calls **out, const struct compare_request *request)
{
    struct gpu_calls *c = memory_allocate_zeroed(1, sizeof *c);
    if (!c) return status_no_memory(sizeof *c);
    c->request = request;
    c->file = DETAILS_FILE_NONE;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    *out = c;
    TRY(details_open(&c->file, request, request->gpu_path));
    c->is_threaded = pthread_create(&c->thread, NULL, read_ahead, c) == 0;
    return status_ok();
}

/* ---- the calls, one by one -------------------------------------------------------------- */

/* Leave the batch, with the calls that came back since. */
static void leave_batch(struct gpu_calls *c)
{
    struct gpu_call **end = &c->given_back;
    while (*end) end = &(*end)->next;
    *end = c->returned;
    c->returned = c->given_back;
    c->given_back = NULL;
    c->taken++;
    pthread_cond_signal(&c->changed);
}

static void next_batch(struct gpu_calls *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->batch) leave_batch(c);
    while (c->is_threaded && c->made == c->taken) pthread_cond_wait(&c->changed, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
    c->batch = &c->batches[c->taken % BATCHES];
    c->at = 0;
    if (c->is_threaded) return;
    reuse_returned(c);
    fill_batch(c->batch, c);
}

struct status gpu_calls_next(struct gpu_call **out, bool *in_step, struct gpu_calls *calls)
{
    *out = NULL;
    if (!calls->batch || (calls->at == calls->batch->count && !calls->batch->is_last))
        next_batch(calls);
    struct batch *batch = calls->batch;
    if (calls->at < batch->count) {
        *out = batch->calls[calls->at++];
        return status_ok();
    }
    if (batch->out_of_step) *in_step = false;
    return batch->status;
}

void gpu_calls_give_back(struct gpu_calls *calls, struct gpu_call *call)
{
    call->next = calls->given_back;
    calls->given_back = call;
}

void gpu_calls_count(uint64_t *rows, bool *torn, const struct gpu_calls *calls)
{
    *rows = calls->file.rows;
    *torn = calls->file.torn;
}

void gpu_calls_close(struct gpu_calls *calls)
{
    if (!calls) return;
    if (calls->is_threaded) {
        pthread_mutex_lock(&calls->mutex);
        calls->is_closing = true;
        pthread_cond_signal(&calls->changed);
        pthread_mutex_unlock(&calls->mutex);
        pthread_join(calls->thread, NULL);
    } else if (calls->batch) {
        calls->made = calls->taken + 1;
    }
    for (size_t i = calls->taken; i < calls->made; i++) {
        struct batch *batch = &calls->batches[i % BATCHES];
        for (size_t k = batch == calls->batch ? calls->at : 0; k < batch->count; k++)
            gpu_calls_drop(batch->calls[k]);
    }
    gpu_calls_drop(calls->unused);
    gpu_calls_drop(calls->returned);
    gpu_calls_drop(calls->given_back);
    details_file_close(&calls->file);
    pthread_cond_destroy(&calls->changed);
    pthread_mutex_destroy(&calls->mutex);
    memory_release(calls);
}
