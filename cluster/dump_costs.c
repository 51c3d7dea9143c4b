/* Threads take the dumps in order. With -f over several dumps what is left out of one depends on those
 * before it, so there is one thread then. */
#include "cluster/dump_costs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/clock.h"
#include "core/memory.h"
#include "report/progress.h"
#include "runner/call_selection.h"
#include "runner/run_inputs.h"
#include "standards/profile.h"

enum { THREADS_MOST = 64, WAIT_MS = 100 };

struct reading {
    const struct dump_costs_request *request;
    struct dump_costs *costs;
    struct call_set *met; /* with -f over several dumps */
    atomic_size_t next, done;
    atomic_bool failed;
};

/* One of the threads. */
struct reader {
    struct reading *all;
    struct cost_estimator estimator;
    struct arena arena; /* of a call */
    struct status status;
    pthread_t id;
};

/* ---- one dump --------------------------------------------------------------------------- */

static struct status estimate_call(float *out, struct reader *reader,
                                   const struct run_inputs *inputs, size_t position)
{
    struct api_case c;
    enum row_cause cause;
    struct status status = dump_read_case(&c, &reader->arena, inputs->dump, position);
    if (status.code && status.code != STATUS_SKIP) return status;
    bool tried = !status.code && !api_lists_admit(&cause, &inputs->lists, &c).code;
    c.framework = inputs->framework;
    *out = (float)(tried ? cost_call_seconds(&reader->estimator, &c)
                         : cost_skipped_seconds(&reader->estimator.model));
    arena_reset(&reader->arena);
    return status_ok();
}

/* Costs of the calls that a run would check. */
static struct status measure_calls(struct dump_costs *costs, struct reader *reader,
                                   struct run_inputs *inputs)
{
    struct call_order *order = &inputs->order;
    costs->calls = dump_count(inputs->dump);
    costs->checked = order->count;
    costs->digest = dump_digest(inputs->dump);
    costs->seconds = memory_allocate(order->count * sizeof *costs->seconds);
    if (!costs->seconds) return status_no_memory(order->count * sizeof *costs->seconds);
    for (size_t i = 0; i < order->count; i++)
        TRY(estimate_call(&costs->seconds[i], reader, inputs, order->positions[i]));
    if (costs->checked == costs->calls) return status_ok();
    costs->positions = order->positions;
    order->positions = NULL;
    order->count = 0;
    return status_ok();
}

/* Those of `all`, the calls without -f, that `kept` has not. Both ascend. Calls of which nobody asks part no
 * range. */
static struct status list_left_out(struct dump_costs *costs, const struct call_order *all,
                                   const struct call_order *kept)
{
    bool joins = false;
    costs->left_out = memory_allocate_zeroed(all->count, sizeof *costs->left_out);
    if (!costs->left_out) return status_no_memory(all->count * sizeof *costs->left_out);
    for (size_t i = 0, k = 0; i < all->count; i++) {
        size_t position = all->positions[i];
        bool is_kept = k < kept->count && kept->positions[k] == position;
        k += is_kept;
        if (!is_kept && !joins)
            costs->left_out[costs->n_left_out++] = (struct position_range){ position, position };
        if (!is_kept) costs->left_out[costs->n_left_out - 1].end = position + 1;
        joins = !is_kept;
    }
    size_t bytes = (costs->n_left_out + 1) * sizeof *costs->left_out;
    struct position_range *fitting = memory_resize(costs->left_out, bytes);
    if (fitting) costs->left_out = fitting;
    return status_ok();
}

/* With -f: which of the calls that would be checked without it are not. */
static struct status note_duplicates(struct dump_costs *costs, const struct run_options *options,
                                     const struct run_inputs *inputs)
{
    const struct call_scope scope = { .framework = inputs->framework,
                                      .listed_only =
                                          profile_rules(inputs->profile)->listed_names_only,
                                      .is_one_of_many = true };
    struct call_order all;
    if (!options->filter_api) return status_ok();
    struct status status = call_selection_make(&all, inputs->dump, inputs->path, &inputs->lists,
                                               &scope, (struct warnings){ NULL, NULL });
    if (!status.code) status = list_left_out(costs, &all, &inputs->order);
    memory_release(all.positions);
    return status;
}

static struct status read_dump(struct reader *reader, size_t place)
{
    const struct dump_costs_request *request = reader->all->request;
    const struct dump_place *at = &request->tree->items[place];
    struct dump_costs *costs = &reader->all->costs[place];
    struct run_options options = *request->options;
    struct run_inputs inputs;
    options.api_info = at->path;
    if (!request->single) options.folder = at->folder;
    struct status status = run_inputs_open(&inputs, &options, reader->all->met);
    if (!status.code) status = note_duplicates(costs, &options, &inputs);
    if (!status.code) status = measure_calls(costs, reader, &inputs);
    run_inputs_close(&inputs);
    return status;
}

/* ---- threads ---------------------------------------------------------------------------- */

/* A dump that cannot be used costs its own calls only, unless there is no other. */
static bool is_refusal(const struct reading *all, struct status status)
{
    return status.code == STATUS_BAD_INPUT && !all->request->single;
}

static void *read_dumps(void *argument)
{
    struct reader *reader = argument;
    struct reading *all = reader->all;
    const size_t count = all->request->tree->count;
    for (size_t place; !all->failed && (place = atomic_fetch_add(&all->next, 1)) < count;) {
        struct dump_costs *costs = &all->costs[place];
        if (costs->same == place) costs->status = read_dump(reader, place);
        if (costs->status.code && !is_refusal(all, costs->status)) {
            reader->status = costs->status;
            all->failed = true;
        }
        atomic_fetch_add(&all->done, 1);
    }
    return NULL;
}

static void show_progress(struct reading *all)
{
    struct progress progress;
    const struct timespec wait = { 0, WAIT_MS * 1000000L };
    size_t dumps = all->request->tree->count;
    progress_start(&progress, stderr, !all->request->options->no_progress, dumps, 0, 0,
                   clock_seconds());
    progress.unit = "dumps";
    progress.unjudged = true;
    while (!all->failed && all->done < dumps) {
        (void)nanosleep(&wait, NULL);
        while (progress.done < all->done) progress_count(&progress, false);
        progress_show(&progress, clock_seconds());
    }
    progress_end(&progress);
}

/* Begin as many as there can be; one at least reads here. */
static struct status run_readers(struct reading *all, struct reader *readers, size_t count)
{
    size_t started = 0;
    while (started < count &&
           !pthread_create(&readers[started].id, NULL, read_dumps, &readers[started]))
        started++;
    if (started) show_progress(all);
    else (void)read_dumps(&readers[0]);
    for (size_t i = 0; i < started; i++) (void)pthread_join(readers[i].id, NULL);
    for (size_t i = 0; i < count; i++) TRY(readers[i].status);
    return status_ok();
}

static struct status read_all(struct reading *all)
{
    const struct dump_costs_request *request = all->request;
    size_t count = all->met ? 1 : request->threads;
    if (count > THREADS_MOST) count = THREADS_MOST;
    if (count > request->tree->count) count = request->tree->count;
    struct reader *readers = memory_allocate_zeroed(count, sizeof *readers);
    if (!readers) return status_no_memory(count * sizeof *readers);
    struct status status = status_ok();
    for (size_t i = 0; i < count && !status.code; i++) {
        readers[i].all = all;
        status = cost_estimator_open(&readers[i].estimator, request->model);
    }
    if (!status.code) status = run_readers(all, readers, count);
    for (size_t i = 0; i < count; i++) {
        cost_estimator_close(&readers[i].estimator);
        arena_release(&readers[i].arena);
    }
    memory_release(readers);
    return status;
}

/* ---- dumps that are one file ------------------------------------------------------------ */

struct file_identity {
    dev_t device;
    ino_t inode;
    size_t place;
};

static int compare_identities(const void *a, const void *b)
{
    const struct file_identity *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static struct status find_same(struct reading *all)
{
    const struct dump_tree *tree = all->request->tree;
    struct file_identity *files = memory_allocate_zeroed(tree->count, sizeof *files);
    size_t n = 0;
    if (!files) return status_no_memory(tree->count * sizeof *files);
    for (size_t i = 0; i < tree->count; i++) {
        struct stat info;
        all->costs[i].same = i;
        if (all->met || stat(tree->items[i].path, &info)) continue;
        files[n++] = (struct file_identity){ info.st_dev, info.st_ino, i };
    }
    if (n) qsort(files, n, sizeof *files, compare_identities);
    for (size_t i = 1; i < n; i++)
        if (files[i].device == files[i - 1].device && files[i].inode == files[i - 1].inode)
            all->costs[files[i].place].same = all->costs[files[i - 1].place].same;
    memory_release(files);
    return status_ok();
}

static void share(struct dump_costs *costs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t same = costs[i].same;
        if (same == i) continue;
        costs[i] = costs[same];
        costs[i].same = same;
    }
}

/* ---- all of it -------------------------------------------------------------------------- */

struct status dump_costs_read(struct dump_costs **out, const struct dump_costs_request *request)
{
    size_t count = request->tree->count;
    struct reading all = { .request = request };
    *out = all.costs = memory_allocate_zeroed(count, sizeof *all.costs);
    if (!all.costs) return status_no_memory(count * sizeof *all.costs);
    struct status status =
        request->options->filter_api && !request->single ? call_set_create(&all.met) : status_ok();
    if (!status.code) status = find_same(&all);
    if (!status.code) status = read_all(&all);
    share(all.costs, count);
    call_set_release(all.met);
    return status;
}

void dump_costs_release(struct dump_costs *costs, size_t count)
{
    for (size_t i = 0; costs && i < count; i++) {
        if (costs[i].same != i) continue;
        memory_release(costs[i].seconds);
        memory_release(costs[i].positions);
        memory_release(costs[i].left_out);
    }
    memory_release(costs);
}
