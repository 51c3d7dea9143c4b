/* Threads take rows from a counter; each maps the two files of its row and folds them where they are: a
 * map of pages in the cache costs about a third of copying them (ext4 with large folios; with pages of
 * 4 KiB it is the other way round, by a fifth of all). */
#include "compare/dumps/tensor_rows.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/file.h"
#include "core/memory.h"
#include "formats/dump.h"
#include "formats/tensor_file.h"

enum {
    MAP_FROM_BYTES = 256 << 10, /* below, a read costs less than a mapping */
    THREADS_MAX = 64,
    WATCH_MS = 100,
    WINDOW_BYTES = 4 << 20, /* of a side: pages of a map are given back in steps of this */
};

static const char data_folder[] = "dump_tensor_data";

/* Where the data files of a side are. */
struct side {
    const struct dump_rows *dump;
    struct file folder;
    struct status status; /* why there is none */
};

struct work {
    struct comparison *c;
    const struct tensor_rows_request *request;
    struct side side[FIX_SIDES];
    atomic_uint next; /* row to be taken */
    atomic_uint done;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned running;
    struct status failure; /* the first of a thread; under `lock` */
};

/* What a thread needs for a row. */
struct worker {
    struct work *work;
    struct arena arena;
    struct csv_buffer name;
};

/* ---- reading ---------------------------------------------------------------------------- */

static void open_side(struct side *side, const struct dump_rows *dump, const char *path,
                      struct file_policy file_policy)
{
    char folder[4096 + sizeof data_folder];
    const char *slash = strrchr(path, '/');
    int before = slash ? (int)(slash - path + 1) : 0;

    *side = (struct side){ .dump = dump, .folder = FILE_NONE };
    (void)snprintf(folder, sizeof folder, "%.*s%s", before, path, data_folder);
    side->status = file_open_directory(&side->folder, folder, file_policy);
}

/* A tensor of a row and the mapping it lies in, if it does. */
struct loaded {
    struct tensor tensor;
    struct file_map map; /* data is NULL when the elements are in the arena */
};

static struct status read_bytes(const void **bytes, size_t *size, struct loaded *out,
                                struct arena *arena, const struct file *file)
{
    uint64_t total;

    TRY(file_size(&total, file));
    if (total >= MAP_FROM_BYTES) {
        TRY(file_map(&out->map, file));
        *bytes = out->map.data;
        *size = out->map.bytes;
        return status_ok();
    }
    void *copy = arena_allocate(arena, (size_t)total);
    if (!copy) return status_no_memory(total);
    *bytes = copy;
    return file_read_at(size, file, copy, (size_t)total, 0);
}

static void unload(struct loaded *loaded)
{
    if (loaded->map.data) file_unmap(&loaded->map);
    loaded->map.data = NULL;
}

/* The elements of the row's data file, dense. */
static struct status load(struct loaded *out, struct worker *w, enum fix_side which,
                          const struct dump_row *row)
{
    const struct side *side = &w->work->side[which];
    struct file file = FILE_NONE;
    const void *bytes = NULL;
    size_t size = 0;

    *out = (struct loaded){ .map = { .data = NULL } };
    if (side->status.code) return side->status;
    csv_buffer_clear(&w->name);
    TRY(dump_row_append_data_name(&w->name, side->dump, row));
    TRY(csv_append_bytes(&w->name, "", 1));
    const char *name = dump_data_name(w->name.data);
    TRY(file_open_read_in(&file, &side->folder, name, w->work->request->file_policy));
    struct status status = read_bytes(&bytes, &size, out, &w->arena, &file);
    (void)file_close(&file);
    if (!status.code)
        status = tensor_file_parse_unsummed(&out->tensor, &w->arena, bytes, size, name);
    if (!status.code) status = tensor_densify(&out->tensor, &w->arena, &out->tensor);
    if (status.code) unload(out);
    return status;
}

/* ---- cells ------------------------------------------------------------------------------ */

static void set_all(struct tensor_result *r, enum metric_cell cell)
{
    for (int i = 0; i < TENSOR_METRICS; i++) r->cell[i] = (uint8_t)cell;
}

static void set_number(struct tensor_result *r, enum tensor_metric metric, double value,
                       enum row_note note_of_nan)
{
    r->metric[metric] = value;
    r->cell[metric] = isnan(value) ? CELL_IS_NAN : CELL_NUMBER;
    if (isnan(value)) r->notes |= note_bit(note_of_nan);
}

/* "torch.float32" and "Float32" are the same dtype. */
static const char *bare_dtype(const char *name)
{
    return strncmp(name, "torch.", 6) ? name : name + 6;
}

static bool dtypes_differ(const struct comparison *c, const struct dump_row *npu,
                          const struct dump_row *bench)
{
    return strcasecmp(bare_dtype(dump_text(&c->npu, npu->dtype)),
                      bare_dtype(dump_text(&c->bench, bench->dtype))) != 0;
}

/* A value of one element: errors only. */
static void compare_scalars(struct tensor_result *r, const struct tensor *npu,
                            const struct tensor *bench)
{
    double x[2], y[2];

    r->notes |= note_bit(NOTE_ZERO_DIMENSIONS);
    if (tensor_elements(bench) != 1) {
        set_all(r, CELL_SHAPES_DIFFER);
        r->notes = note_bit(NOTE_SHAPES_DIFFER);
        return;
    }
    dtype_to_double(x, npu->data, npu->dtype, 1);
    dtype_to_double(y, bench->data, bench->dtype, 1);
    count_non_finite(&r->npu, x[0]);
    count_non_finite(&r->bench, y[0]);
    r->counted = true;
    r->inf_signs_differ = isinf(x[0]) && isinf(y[0]) && x[0] != y[0];
    set_number(r, METRIC_MAX_ABS_ERROR, round_to_12(fabs(x[0] - y[0])), NOTE_MAX_ABS_NAN);
    set_number(r, METRIC_MAX_RELATIVE_ERROR, round_to_12(element_relative_error(x[0], y[0])),
               NOTE_MAX_RELATIVE_NAN);
}

static double share(uint64_t count, uint64_t n) { return (double)count / (double)n; }

static void set_cells(struct tensor_result *r, const struct tensor_sums *sums, bool one_element)
{
    if (sums->positions_differ) {
        set_all(r, CELL_NOT_APPLICABLE);
        r->notes |= note_bit(NOTE_NON_FINITE_POSITIONS);
        return;
    }
    if (one_element) r->notes |= note_bit(NOTE_ONE_ELEMENT);
    else set_number(r, METRIC_COSINE, tensor_sums_cosine(sums), NOTE_COSINE_NAN);
    set_number(r, METRIC_EUCLIDEAN_DISTANCE, sqrt(sums->difference_squared), NOTE_MAX_ABS_NAN);
    set_number(r, METRIC_MAX_ABS_ERROR, round_to_12(sums->max_abs), NOTE_MAX_ABS_NAN);
    set_number(r, METRIC_MAX_RELATIVE_ERROR, round_to_12(sums->max_relative),
               NOTE_MAX_RELATIVE_NAN);
    set_number(r, METRIC_ONE_THOUSANDTH, round_to_12(share(sums->within_thousandth, sums->n)),
               NOTE_MAX_RELATIVE_NAN);
    set_number(r, METRIC_FIVE_THOUSANDTH,
               round_to_12(share(sums->within_five_thousandths, sums->n)), NOTE_MAX_RELATIVE_NAN);
}

static void set_sums(struct tensor_result *r, const struct tensor_sums *sums, bool one_element)
{
    set_cells(r, sums, one_element);
    r->counted = true;
    r->npu = sums->npu;
    r->bench = sums->bench;
    r->inf_signs_differ = sums->inf_signs_differ;
}

/* ---- limits of a profile ---------------------------------------------------------------- */

/* "Functional.conv2d.3.forward" -> "conv2d"; a module's class. */
static void api_of_entry(char api[128], const char *entry)
{
    const char *first = strchr(entry, '.'), *end = entry + strlen(entry);
    for (int i = 0; i < 2 && end > entry; i++) {
        const char *dot = memrchr(entry, '.', (size_t)(end - entry));
        end = dot ? dot : entry;
    }
    int length = first && first + 1 < end ? (int)(end - first - 1) : 0;
    (void)snprintf(api, 128, "%.*s", length, first ? first + 1 : "");
}

/* The shares that a floating output must keep, in the order in which they are asked: below the first
 * it is an error, below the second a warning. */
struct chain {
    double limit[TENSOR_LIMITS];
    enum dtype dtype;
};

static struct chain chain_of(const struct profile *profile, const char *api, enum dtype dtype)
{
    bool half = dtype == DT_F16 || dtype == DT_BF16;
    return (struct chain){
        .limit = { profile_limit(profile, half ? LIMIT_HUNDREDTH : LIMIT_THOUSANDTH, api, dtype),
                   profile_limit(profile, half ? LIMIT_THOUSANDTH : LIMIT_TEN_THOUSANDTH, api,
                                 dtype) },
        .dtype = dtype,
    };
}

static enum row_level judge_by_profile(const struct profile *profile, const char *api,
                                       const struct chain *chain, const struct tensor_sums *sums)
{
    double cosine = sums->n > 1 ? tensor_sums_cosine(sums) : 1;

    if (sums->positions_differ || sums->inf_signs_differ) return LEVEL_ERROR;
    if (!dtype_is_float(chain->dtype)) return sums->max_abs == 0 ? LEVEL_PASS : LEVEL_ERROR;
    if (!(cosine > profile_limit(profile, LIMIT_COSINE, api, chain->dtype))) return LEVEL_ERROR;
    if (sums->max_abs < profile_limit(profile, LIMIT_MAX_ABS_ERROR, api, chain->dtype))
        return LEVEL_PASS;
    if (share(sums->within[0], sums->n) <= 1 - chain->limit[0]) return LEVEL_ERROR;
    return share(sums->within[1], sums->n) <= 1 - chain->limit[1] ? LEVEL_WARNING : LEVEL_PASS;
}

/* ---- one pair --------------------------------------------------------------------------- */

/* Give back the pages of elements that are done with, where they lie in a map. */
static void forget(const struct loaded *loaded, size_t from, size_t to)
{
    size_t bytes = dtype_info(loaded->tensor.dtype)->bytes;
    const char *map = loaded->map.data, *data = loaded->tensor.data;
    bool in_map = map && data >= map && data < map + loaded->map.bytes;
    if (!in_map) return;
    size_t start = (size_t)(data - map);
    file_map_forget(&loaded->map, start + from * bytes, start + to * bytes);
}

/* One pass over both, window by window: memory does not grow with the tensors. */
static struct tensor_sums fold_windows(const struct loaded *npu, const struct loaded *bench,
                                       const double *limits)
{
    enum dtype npu_dtype = npu->tensor.dtype, bench_dtype = bench->tensor.dtype;
    size_t npu_bytes = dtype_info(npu_dtype)->bytes, bench_bytes = dtype_info(bench_dtype)->bytes;
    size_t total = tensor_elements(&npu->tensor);
    size_t step = WINDOW_BYTES / (npu_bytes > bench_bytes ? npu_bytes : bench_bytes);
    struct tensor_folding folding = tensor_folding_start(npu_dtype, bench_dtype, limits);

    for (size_t from = 0, to; from < total; from = to) {
        to = total - from < step ? total : from + step;
        tensor_folding_add(&folding, (const char *)npu->tensor.data + from * npu_bytes,
                           (const char *)bench->tensor.data + from * bench_bytes, to - from);
        if (to == total) break; /* the rest goes with the map */
        forget(npu, from, to);
        forget(bench, from, to);
    }
    return tensor_folding_finish(&folding);
}

static void compare_arrays(struct tensor_result *r, struct worker *w, const char *entry,
                           enum dtype recorded, const struct loaded *npu,
                           const struct loaded *bench)
{
    const struct profile *profile = w->work->request->profile;
    struct chain chain = { .dtype = DT_NONE };
    char api[128] = "";

    if (profile) {
        api_of_entry(api, entry);
        chain = chain_of(profile, api, recorded == DT_NONE ? npu->tensor.dtype : recorded);
    }
    struct tensor_sums sums = fold_windows(npu, bench, profile ? chain.limit : NULL);
    set_sums(r, &sums, tensor_elements(&npu->tensor) == 1);
    if (profile) r->own_level = (uint8_t)judge_by_profile(profile, api, &chain, &sums);
}

/* The checks before computing, in their order; false when they have said all. */
static bool can_measure(struct tensor_result *r, const struct tensor *npu,
                        const struct tensor *bench)
{
    if (tensor_elements(npu) == 0) {
        r->notes |= note_bit(NOTE_EMPTY);
        r->own_level = tensor_same_shape(npu, bench) ? LEVEL_PASS : LEVEL_ERROR;
    } else if (npu->rank == 0) compare_scalars(r, npu, bench);
    else if (!tensor_same_shape(npu, bench)) {
        set_all(r, CELL_SHAPES_DIFFER);
        r->notes |= note_bit(NOTE_SHAPES_DIFFER);
    } else if (dtype_is_complex(npu->dtype) != dtype_is_complex(bench->dtype)) {
        r->notes |= note_bit(NOTE_UNREADABLE);
    } else {
        return true;
    }
    return false;
}

void tensor_pair_measure(struct tensor_result *r, const struct tensor *npu,
                         const struct tensor *bench)
{
    struct tensor_sums sums;

    *r = (struct tensor_result){ .own_level = LEVEL_NOT_JUDGED };
    if (!can_measure(r, npu, bench)) return;
    tensor_sums_fold(&sums, npu, bench, NULL);
    set_sums(r, &sums, tensor_elements(npu) == 1);
}

static void compare_loaded(struct tensor_result *r, struct worker *w,
                           const struct dump_row *npu_row, const struct dump_row *bench_row,
                           const struct loaded *npu, const struct loaded *bench)
{
    const struct comparison *c = w->work->c;
    uint64_t before = r->notes;

    if (!can_measure(r, &npu->tensor, &bench->tensor)) return;
    compare_arrays(r, w, dump_entry_name(&c->npu, npu_row->entry, NULL),
                   dtype_from_name(dump_text(&c->npu, npu_row->dtype)), npu, bench);
    if (r->notes == before && dtypes_differ(c, npu_row, bench_row))
        r->notes |= note_bit(NOTE_DTYPES_DIFFER);
}

static struct status note_file(struct tensor_result *r, enum row_note note, struct status reason)
{
    if (reason.code == STATUS_NO_MEMORY) return reason;
    r->notes |= note_bit(note);
    r->detail = memory_copy_string(reason.text);
    return r->detail ? status_ok() : status_no_memory(strlen(reason.text));
}

/* ---- corrections ------------------------------------------------------------------------ */

/* The row of an entry whose name ends in ".<key>": a keyword argument. */
static const struct dump_row *find_argument(const struct dump_rows *dump, uint32_t entry,
                                            const char *key)
{
    const struct dump_entry *e = &dump->entries[entry];
    for (uint32_t i = e->first_row; i < e->first_row + e->n_rows; i++) {
        size_t length, bytes = strlen(key);
        const char *suffix = text_table_get(&dump->texts, dump->rows[i].suffix, &length);
        if (length > bytes && suffix[length - bytes - 1] == '.' &&
            !strcmp(suffix + length - bytes, key))
            return &dump->rows[i];
    }
    return NULL;
}

/* Rows of an output beyond the sum of the entry's group sizes were never written. */
static struct status clear_padding(struct tensor_result *r, struct loaded *loaded, struct worker *w,
                                   enum fix_side which, const struct dump_row *row)
{
    const struct dump_rows *dump = w->work->side[which].dump;
    const struct fix_padding *padding =
        tensor_fix_padding(w->work->request->fix, dump_entry_name(dump, row->entry, NULL));
    double valid = 0;
    struct loaded groups;

    if (!padding || !padding->side[which] || row->state != STATE_OUTPUT || !loaded->tensor.rank)
        return status_ok();
    const struct dump_row *argument = find_argument(dump, row->entry, padding->key);
    if (!argument || argument->data_name == TEXT_NONE) return status_ok();
    struct status status = load(&groups, w, which, argument);
    if (status.code) return status.code == STATUS_NO_MEMORY ? status : status_ok();
    for (size_t i = 0; i < tensor_elements(&groups.tensor); i++) {
        int64_t size = 0;
        dtype_to_int64(
            &size, (const char *)groups.tensor.data + i * dtype_info(groups.tensor.dtype)->bytes,
            groups.tensor.dtype, 1);
        valid += (double)size;
    }
    unload(&groups);
    r->notes |= note_bit(NOTE_PADDING_CLEARED);
    return tensor_clear_rows(&loaded->tensor, &w->arena, &loaded->tensor, valid);
}

static struct status calibrate(struct tensor_result *r, struct loaded *loaded, struct worker *w,
                               enum fix_side which, const struct dump_row *row)
{
    csv_buffer_clear(&w->name);
    TRY(dump_row_append_data_name(&w->name, w->work->side[which].dump, row));
    TRY(csv_append_bytes(&w->name, "", 1));
    const struct tensor *matrix = tensor_fix_matrix(w->work->request->fix, which, w->name.data);
    if (!matrix) return status_ok();
    struct status status =
        tensor_multiply_right(&loaded->tensor, &w->arena, &loaded->tensor, matrix);
    if (status.code == STATUS_NO_MEMORY) return status;
    r->notes |= note_bit(status.code ? NOTE_CALIBRATION_FAILED : NOTE_CALIBRATED);
    return status_ok();
}

static struct status correct(struct tensor_result *r, struct loaded *loaded, struct worker *w,
                             enum fix_side which, const struct dump_row *row)
{
    if (!w->work->request->fix) return status_ok();
    TRY(clear_padding(r, loaded, w, which, row));
    return calibrate(r, loaded, w, which, row);
}

/* ---- rows ------------------------------------------------------------------------------- */

static struct status compare_files(struct tensor_result *r, struct worker *w,
                                   const struct dump_row *npu_row, const struct dump_row *bench_row)
{
    struct loaded npu, bench;

    struct status status = load(&npu, w, FIX_NPU, npu_row);
    if (status.code) return note_file(r, NOTE_NPU_FILE, status);
    status = load(&bench, w, FIX_BENCH, bench_row);
    if (status.code) {
        unload(&npu);
        return note_file(r, NOTE_BENCH_FILE, status);
    }
    status = correct(r, &npu, w, FIX_NPU, npu_row);
    if (!status.code) status = correct(r, &bench, w, FIX_BENCH, bench_row);
    if (!status.code) compare_loaded(r, w, npu_row, bench_row, &npu, &bench);
    unload(&npu);
    unload(&bench);
    return status;
}

static struct status compare_row(struct worker *w, uint32_t row)
{
    struct comparison *c = w->work->c;
    const struct dump_row *npu = &c->npu.rows[row], *bench = comparison_bench_row(c, row);
    struct tensor_result *r = &c->tensors[row];

    r->own_level = LEVEL_NOT_JUDGED;
    if (!bench) r->notes |= note_bit(NOTE_BENCH_UNMATCHED);
    else if (npu->data_name == TEXT_NONE) r->notes |= note_bit(NOTE_NPU_HAS_NO_DATA);
    else if (bench->data_name == TEXT_NONE) r->notes |= note_bit(NOTE_BENCH_HAS_NO_DATA);
    else return compare_files(r, w, npu, bench);
    return status_ok();
}

/* ---- threads ---------------------------------------------------------------------------- */

static void *run_thread(void *argument)
{
    struct work *work = argument;
    struct worker w = { .work = work };
    struct status status = status_ok();
    uint32_t n_rows = work->c->npu.n_rows;

    while (!status.code) {
        uint32_t row = atomic_fetch_add(&work->next, 1);
        if (row >= n_rows || atomic_load(&work->stop)) break;
        status = compare_row(&w, row);
        if (status.code) break;
        arena_reset(&w.arena);
        atomic_fetch_add(&work->done, 1);
    }
    arena_release(&w.arena);
    csv_buffer_release(&w.name);
    (void)pthread_mutex_lock(&work->lock);
    if (status.code && !work->failure.code) work->failure = status;
    if (status.code) atomic_store(&work->stop, true);
    work->running--;
    (void)pthread_cond_signal(&work->ended);
    (void)pthread_mutex_unlock(&work->lock);
    return NULL;
}

static bool watch_says_stop(const struct work *work)
{
    const struct comparison_watch *watch = &work->request->watch;
    return watch->go_on &&
           !watch->go_on(watch->context, atomic_load(&work->done), work->c->npu.n_rows);
}

/* Wait for the threads, and ask the watch ten times a second. */
static bool wait_for_threads(struct work *work)
{
    bool interrupted = false;

    (void)pthread_mutex_lock(&work->lock);
    while (work->running) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&work->ended, &work->lock, &until);
        (void)pthread_mutex_unlock(&work->lock);
        if (!interrupted && watch_says_stop(work)) {
            interrupted = true;
            atomic_store(&work->stop, true);
        }
        (void)pthread_mutex_lock(&work->lock);
    }
    (void)pthread_mutex_unlock(&work->lock);
    return interrupted;
}

static struct status run_threads(struct work *work)
{
    pthread_t threads[THREADS_MAX];
    unsigned wanted = work->request->threads < THREADS_MAX ? work->request->threads : THREADS_MAX;
    unsigned started = 0;
    int error = 0;

    work->running = wanted;
    while (started < wanted && !(error = pthread_create(&threads[started], NULL, run_thread, work)))
        started++;
    (void)pthread_mutex_lock(&work->lock);
    work->running -= wanted - started;
    (void)pthread_mutex_unlock(&work->lock);
    bool interrupted = wait_for_threads(work);
    for (unsigned i = 0; i < started; i++) (void)pthread_join(threads[i], NULL);
    if (!started)
        return status_error(STATUS_INTERNAL, "cannot start a thread: %s", strerror(error));
    if (work->failure.code) return work->failure;
    return interrupted ? status_error(STATUS_INTERRUPTED, "interrupted") : status_ok();
}

struct status tensor_rows_compute(struct comparison *c, const struct tensor_rows_request *request)
{
    struct work work = { .c = c, .request = request, .failure = { .code = STATUS_OK } };

    c->tensors = memory_allocate_zeroed((size_t)c->npu.n_rows + 1, sizeof *c->tensors);
    if (!c->tensors) return status_no_memory(c->npu.n_rows * sizeof *c->tensors);
    open_side(&work.side[FIX_NPU], &c->npu, request->npu_path, request->file_policy);
    open_side(&work.side[FIX_BENCH], &c->bench, request->bench_path, request->file_policy);
    (void)pthread_mutex_init(&work.lock, NULL);
    (void)pthread_cond_init(&work.ended, NULL);
    struct status status = run_threads(&work);
    (void)pthread_cond_destroy(&work.ended);
    (void)pthread_mutex_destroy(&work.lock);
    for (int i = 0; i < FIX_SIDES; i++) (void)file_close(&work.side[i].folder);
    return status;
}

void tensor_rows_release(struct comparison *c)
{
    for (uint32_t row = 0; c->tensors && row < c->npu.n_rows; row++)
        memory_release(c->tensors[row].detail);
    memory_release(c->tensors);
    c->tensors = NULL;
}
