/* Pairs the kernels of a rank and a step and writes one table for them. */
#include "compare/kernels/kernel_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/columns.h"
#include "compare/dumps/judge.h"
#include "compare/kernels/kernel_files.h"
#include "compare/kernels/npy_pair.h"
#include "core/memory.h"
#include "core/shortest.h"

enum { COLUMNS = 26 };

/* What both kinds have, then what each has. */
static const char *const common_headers[] = {
    "NPU Name",           "Bench Name", "NPU Dtype",  "Bench Dtype",  "NPU Tensor Shape",
    "Bench Tensor Shape", "NPU max",    "NPU min",    "NPU mean",     "NPU l2norm",
    "Bench max",          "Bench min",  "Bench mean", "Bench l2norm", "Accuracy Reached or Not",
    "Err_message",
};
static const char *const npy_headers[] = {
    "Cosine",
    "EucDist",
    "MaxAbsErr",
    "MaxRelativeErr",
    "One Thousandth Err Ratio",
    "Five Thousandths Err Ratio",
};
static const char *const statistic_headers[] = {
    "Max diff",       "Min diff",        "Mean diff",       "L2norm diff",  "MaxRelativeErr",
    "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr", "NPU CSV File", "Bench CSV File",
};
enum {
    N_COMMON = sizeof common_headers / sizeof *common_headers,
    N_NPY = sizeof npy_headers / sizeof *npy_headers,
    N_STATISTIC = sizeof statistic_headers / sizeof *statistic_headers
};

/* One rank and step of a side: its folders. */
struct pool {
    const struct kernel_folder *folders;
    size_t n;
};

struct comparing {
    const struct kernel_request *request;
    struct kernel_counts *counts;
    struct table_file *table;
    enum kernel_kind kind;
    struct arena arena; /* of one row */
};

static struct table_cell blank(void) { return (struct table_cell){ .kind = TABLE_EMPTY }; }

static void count_verdict(struct kernel_counts *counts, enum row_verdict verdict)
{
    counts->verdict_no += verdict == VERDICT_NO;
    counts->without_verdict += verdict != VERDICT_NO && verdict != VERDICT_YES;
}

static bool is_accepted(const struct number_filter *filter, int64_t number)
{
    for (size_t i = 0; i < filter->count; i++)
        if (filter->items[i] == number) return true;
    return filter->count == 0;
}

/* ---- rows of .npy files ----------------------------------------------------------------- */

static struct status add_npy_row(struct comparing *comparing, const struct kernel_data *npu,
                                 const struct kernel_data *bench)
{
    const char *paths[NPY_SIDES] = { npu ? npu->path : NULL, bench ? bench->path : NULL };
    const char *names[NPY_SIDES] = { npu ? npu->name : "N/A", bench ? bench->name : "N/A" };
    struct table_cell cells[COLUMNS], *at = cells;
    struct npy_pair pair;

    TRY(npy_pair_measure(&pair, &comparing->arena, paths, comparing->request->policy));
    /* These stop the comparison here; other notes say something about its numbers. */
    const uint64_t stops = note_bit(NOTE_NPU_HAS_NO_DATA) | note_bit(NOTE_BENCH_HAS_NO_DATA) |
                           note_bit(NOTE_NPU_FILE) | note_bit(NOTE_BENCH_FILE) |
                           note_bit(NOTE_EMPTY) | note_bit(NOTE_ZERO_DIMENSIONS) |
                           note_bit(NOTE_SHAPES_DIFFER) | note_bit(NOTE_DTYPES_DIFFER) |
                           note_bit(NOTE_UNREADABLE) | note_bit(NOTE_NON_FINITE_POSITIONS);
    const struct npy_side *sides = pair.side;
    if (sides[0].is_loaded && sides[1].is_loaded && sides[0].dtype != sides[1].dtype)
        pair.result.notes |= note_bit(NOTE_DTYPES_DIFFER);
    bool stopped = (pair.result.notes & stops) != 0;
    enum row_verdict verdict = stopped ? VERDICT_EMPTY : tensor_verdict(&pair.result);

    for (int s = 0; s < NPY_SIDES; s++) *at++ = npy_text_cell(names[s]);
    for (int s = 0; s < NPY_SIDES; s++) TRY(npy_dtype_cell(at++, &comparing->arena, &sides[s]));
    for (int s = 0; s < NPY_SIDES; s++) TRY(npy_shape_cell(at++, &comparing->arena, &sides[s]));
    for (int s = 0; s < NPY_SIDES; s++)
        for (int k = 0; k < ROW_STATISTICS; k++)
            *at++ = npy_statistic_cell(&sides[s], (enum row_statistic)k);
    *at++ = npy_text_cell(row_verdict_text(verdict));
    TRY(npy_notes_cell(at++, &comparing->arena, &pair, pair.result.notes));
    for (int m = 0; m < TENSOR_METRICS; m++)
        *at++ = npy_metric_cell(&pair, (enum tensor_metric)m, stopped);
    count_verdict(comparing->counts, verdict);
    return table_file_add_row(comparing->table, cells, (size_t)(at - cells), TABLE_PLAIN);
}

/* ---- rows of statistics ----------------------------------------------------------------- */

/* Why two rows of statistics are not compared; "" when they are. */
static const char *statistic_problem(const struct kernel_data *npu, const struct kernel_data *bench)
{
    if (!npu) return row_note_text(NOTE_NPU_HAS_NO_DATA);
    if (!bench) return row_note_text(NOTE_BENCH_HAS_NO_DATA);
    if (!*npu->shape || !*bench->shape) return row_note_text(NOTE_EMPTY);
    if (strcmp(npu->shape, bench->shape) != 0) return row_note_text(NOTE_SHAPES_DIFFER);
    if (strcmp(npu->dtype, bench->dtype) != 0) return row_note_text(NOTE_DTYPES_DIFFER);
    return "";
}

static struct table_cell recorded_cell(const struct kernel_data *data, int which)
{
    if (!data) return npy_text_cell("N/A");
    return data->has_statistic[which] ? npy_number_cell(data->statistic[which]) : blank();
}

/* The difference is that of single precision, in which the statistics were computed. */
static double difference(const struct kernel_data *npu, const struct kernel_data *bench, int which)
{
    return (double)((float)npu->statistic[which] - (float)bench->statistic[which]);
}

/* Of the values in single precision, too. */
static struct status relative_cell(struct table_cell *out, struct arena *arena, double numerator,
                                   double bench)
{
    char text[SHORTEST_BYTES];

    if (isnan(numerator)) *out = npy_text_cell("Nan");
    else if (bench == 0) *out = npy_text_cell("N/A");
    else {
        (void)shortest_double(text, fabs(numerator / (double)(float)bench) * 100);
        const char *percent = arena_format(arena, "%s%%", text);
        if (!percent) return status_no_memory(0);
        *out = npy_text_cell(percent);
    }
    return status_ok();
}

/* Yes when the largest values differ by no more than half of the larger magnitude. */
static enum row_verdict statistic_verdict(const struct kernel_data *npu,
                                          const struct kernel_data *bench)
{
    double a = npu->statistic[0], b = bench->statistic[0];
    if (isnan(a) && isnan(b)) return VERDICT_YES;
    double ratio = fabs(difference(npu, bench, 0)) / (fmax(fabs(a), fabs(b)) + 1e-10);
    return ratio <= 0.5 || (isinf(a) && a == b) ? VERDICT_YES : VERDICT_NO;
}

static struct status add_statistic_row(struct comparing *comparing, const struct kernel_data *npu,
                                       const struct kernel_data *bench)
{
    const struct kernel_data *sides[] = { npu, bench };
    const char *problem = statistic_problem(npu, bench);
    bool compared = !*problem;
    enum row_verdict verdict = compared ? statistic_verdict(npu, bench) : VERDICT_EMPTY;
    struct table_cell cells[COLUMNS], *at = cells;

    for (int s = 0; s < 2; s++) *at++ = npy_text_cell(sides[s] ? sides[s]->name : "N/A");
    for (int s = 0; s < 2; s++) *at++ = npy_text_cell(sides[s] ? sides[s]->dtype : "N/A");
    for (int s = 0; s < 2; s++) *at++ = npy_text_cell(sides[s] ? sides[s]->shape : "N/A");
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < KERNEL_STATISTICS; k++) *at++ = recorded_cell(sides[s], k);
    *at++ = npy_text_cell(row_verdict_text(verdict));
    *at++ = npy_text_cell(problem);
    for (int k = 0; k < KERNEL_STATISTICS; k++)
        *at++ = compared ? npy_number_cell(difference(npu, bench, k)) : blank();
    for (int k = 0; k < KERNEL_STATISTICS; k++, at++) {
        *at = blank();
        if (compared)
            TRY(relative_cell(at, &comparing->arena, difference(npu, bench, k),
                              bench->statistic[k]));
    }
    for (int s = 0; s < 2; s++) *at++ = npy_text_cell(sides[s] ? sides[s]->path : "N/A");
    count_verdict(comparing->counts, verdict);
    return table_file_add_row(comparing->table, cells, (size_t)(at - cells), TABLE_PLAIN);
}

/* ---- a rank and step -------------------------------------------------------------------- */

static struct status add_row(struct comparing *comparing, const struct kernel_data *npu,
                             const struct kernel_data *bench)
{
    struct status status = comparing->kind == KERNEL_NPY ? add_npy_row(comparing, npu, bench)
                                                         : add_statistic_row(comparing, npu, bench);
    arena_reset(&comparing->arena);
    comparing->counts->rows++;
    return status.code ? status : stop_check(comparing->request->stop);
}

static int compare_data(const struct kernel_data *a, const struct kernel_data *b)
{
    int order = strcmp(a->key, b->key);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Both lists are in order: what has the same key and number is one row. */
static struct status add_rows(struct comparing *comparing, const struct kernel_list *npu,
                              const struct kernel_list *bench)
{
    for (size_t i = 0, j = 0; i < npu->count || j < bench->count;) {
        int order = i == npu->count     ? 1
                    : j == bench->count ? -1
                                        : compare_data(&npu->items[i], &bench->items[j]);
        TRY(add_row(comparing, order <= 0 ? &npu->items[i] : NULL,
                    order >= 0 ? &bench->items[j] : NULL));
        i += order <= 0;
        j += order >= 0;
    }
    return status_ok();
}

static struct status add_headers(struct comparing *comparing)
{
    bool is_npy = comparing->kind == KERNEL_NPY;
    const char *const *own = is_npy ? npy_headers : statistic_headers;
    size_t n_own = is_npy ? N_NPY : N_STATISTIC;
    struct table_cell cells[COLUMNS];

    for (size_t i = 0; i < N_COMMON; i++) cells[i] = npy_text_cell(common_headers[i]);
    for (size_t i = 0; i < n_own; i++) cells[N_COMMON + i] = npy_text_cell(own[i]);
    return table_file_add_row(comparing->table, cells, N_COMMON + n_own, TABLE_PLAIN);
}

static struct status write_table(struct comparing *comparing, const struct kernel_list lists[2],
                                 const char *path)
{
    TRY(table_file_create(&comparing->table, path, comparing->request->format, 1));
    struct status status = table_file_add_sheet(comparing->table, "Sheet1");
    if (!status.code) status = add_headers(comparing);
    if (!status.code) status = add_rows(comparing, &lists[0], &lists[1]);
    if (!status.code) return table_file_finish(comparing->table);
    table_file_discard(comparing->table);
    return status;
}

static struct status compare_lists(struct comparing *comparing, struct arena *arena,
                                   const struct pool pools[2], struct kernel_list lists[2])
{
    const struct kernel_request *request = comparing->request;
    const struct kernel_folder *folder = &pools[0].folders[0];

    for (int s = 0; s < 2; s++) {
        TRY(kernel_list_read(&lists[s], arena, pools[s].folders, pools[s].n, request->policy));
        if (lists[s].ignored)
            warn(request->warnings, "%zu files below %s have names that say nothing",
                 lists[s].ignored, pools[s].folders[0].path);
    }
    const char *path = arena_format(arena, "%s/compare_result_%lld_%lld_%s.%s", request->output,
                                    (long long)folder->rank, (long long)folder->step,
                                    request->stamp.text, table_format_name(request->format));
    if (!path) return status_no_memory(0);
    TRY(write_table(comparing, lists, path));
    comparing->counts->files++;
    return status_ok();
}

static struct status compare_pools(struct comparing *comparing, const struct pool pools[2])
{
    struct arena arena = { 0 };
    struct kernel_list lists[2] = { { .items = NULL }, { .items = NULL } };
    enum kernel_kind kind = pools[0].folders[0].kind;

    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < pools[s].n; i++)
            if (pools[s].folders[i].kind != kind) {
                warn(comparing->request->warnings,
                     "%s and %s hold different kinds of data (.npy files, statistic.csv); rank "
                     "%lld, "
                     "step %lld is skipped",
                     pools[0].folders[0].path, pools[s].folders[i].path,
                     (long long)pools[0].folders[0].rank, (long long)pools[0].folders[0].step);
                return status_ok();
            }
    comparing->kind = kind;
    struct status status = compare_lists(comparing, &arena, pools, lists);
    for (int s = 0; s < 2; s++) memory_release(lists[s].items);
    arena_release(&arena);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------ */

/* The folders of the rank and step that folder `at` has. */
static struct pool pool_at(const struct kernel_folders *folders, size_t at)
{
    size_t end = at;
    while (end < folders->count && folders->items[end].rank == folders->items[at].rank &&
           folders->items[end].step == folders->items[at].step)
        end++;
    return (struct pool){ &folders->items[at], end - at };
}

static int compare_places(const struct kernel_folder *a, const struct kernel_folder *b)
{
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

static struct status compare_common(struct comparing *comparing, const struct kernel_folders *npu,
                                    const struct kernel_folders *bench)
{
    const struct kernel_request *request = comparing->request;
    for (size_t i = 0, j = 0; i < npu->count && j < bench->count;) {
        struct pool pools[2] = { pool_at(npu, i), pool_at(bench, j) };
        int order = compare_places(pools[0].folders, pools[1].folders);
        bool wanted = is_accepted(request->ranks, pools[0].folders->rank) &&
                      is_accepted(request->steps, pools[0].folders->step);
        if (!order && wanted) TRY(compare_pools(comparing, pools));
        if (order <= 0) i += pools[0].n;
        if (order >= 0) j += pools[1].n;
    }
    if (comparing->counts->files) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s' and '%s' have no rank and step with data in common",
                        file_shown(request->npu_path).text, file_shown(request->bench_path).text);
}

struct status kernels_compare(struct kernel_counts *out, const struct kernel_request *request)
{
    struct comparing comparing = { .request = request, .counts = out };
    struct kernel_folders npu = { .items = NULL }, bench = { .items = NULL };
    struct arena arena = { 0 };

    *out = (struct kernel_counts){ 0 };
    struct status status = kernel_folders_find(&npu, &arena, request->npu_path, request->policy);
    if (!status.code)
        status = kernel_folders_find(&bench, &arena, request->bench_path, request->policy);
    if (!status.code) status = file_make_directories(request->output);
    if (!status.code) status = compare_common(&comparing, &npu, &bench);
    memory_release(npu.items);
    memory_release(bench.items);
    arena_release(&comparing.arena);
    arena_release(&arena);
    return status;
}
