/* How many checkers a run has, and how the memory that the user grants is divided between them and
 * the calls they work on. */
#include "runner/checkers.h"
#include "runner/api_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "formats/text_out.h"
#include "runner/check_threads.h"
#include "runner/environment.h"

enum {
    BLAS_BUFFER_BYTES = 8 << 20, /* per thread: packed panels, stack */
    SMALLEST_ARENA_KEEP = 1 << 20,
    MOST_AHEAD = 32, /* calls: what a core does while a framework starts, when they are large */
    SHARE_AHEAD = 8, /* of the memory, for what each of these has beside its call */
    MOST_HELPERS_ROOM = 32 << 20, /* for a part of others' work */
    LARGEST_ARENA_KEEP_GB = 4,
};

/* ---- devices ---------------------------------------------------------------------------- */

/* Threads that may compute at a time. */
static size_t computing_threads(const struct run_options *o)
{
    size_t cores = (size_t)environment_cores();
    size_t wanted = o->threads ? (size_t)o->threads : cores;
    if (wanted > cores) wanted = cores;
    return wanted < CHECK_THREADS_MAX ? wanted : CHECK_THREADS_MAX;
}

/* No more than there are calls, nor than the device serves at a time; nor than cores, when nobody waits for
 * another process: each has an arena, and they would only take turns. */
static size_t checker_count(const struct run_options *o, const struct device_class *class,
                            size_t calls)
{
    size_t wanted = class->external && o->threads ? (size_t)o->threads : computing_threads(o);
    size_t ids = o->devices.count ? o->devices.count : 1;
    if (wanted > CHECK_THREADS_MAX) wanted = CHECK_THREADS_MAX;
    if (class->most_per_id && wanted > class->most_per_id * ids) wanted = class->most_per_id * ids;
    return wanted < calls ? wanted : calls ? calls : 1;
}

static struct device_options options_of(const struct run_options *o, const char *backend)
{
    return (struct device_options){
        .backend = backend,
        .device_id = -1,
        .jit_compile = o->jit_compile,
        .case_timeout_s = o->case_timeout_s,
        .in_process = !strcmp(o->isolate, "none"),
        .file_policy = o->file_policy,
        .framework = o->backend && !strcmp(o->backend, backend) ? o->backend_found : NULL,
        .is_api = api_name_is_known,
    };
}

/* Open `wanted` devices. The backend may name the device; otherwise those of -d are dealt round. Those at work come
 * first, so that whoever uses no more has what does the work alone; the others join them. */
static struct status open_each(struct checkers *all, const struct run_options *o, size_t wanted,
                               struct arena *arena)
{
    struct device_options shared = options_of(o, all->backend);
    size_t n_ids = o->devices.count;

    if (all->class->find) TRY(all->class->find(&shared, arena));
    for (; all->count < wanted; all->count++) {
        struct device_options options = shared;
        size_t place = all->count % all->n_working;
        if (all->count > place) options.beside = all->items[place].device;
        if (shared.device_id < 0)
            options.device_id = n_ids ? (int)o->devices.items[place % n_ids] : 0;
        TRY(all->class->open(&all->items[all->count].device, &options));
    }
    return status_ok();
}

static struct status open_devices(struct checkers *all, const struct run_options *o, size_t calls)
{
    const struct device_class *class = all->class = device_find(all->backend);
    struct arena arena = { 0 };

    if (!class) return status_error(STATUS_BAD_ARGUMENT, "there is no backend '%s'", all->backend);
    all->n_working = checker_count(o, class, calls);
    size_t wanted = all->n_working * (class->sharing ? class->sharing : 1);
    if (wanted > calls) wanted = calls ? calls : 1;
    if (wanted > CHECK_THREADS_MAX) wanted = CHECK_THREADS_MAX;
    all->items = memory_allocate_zeroed(wanted + MOST_AHEAD, sizeof *all->items);
    if (!all->items) return status_no_memory(wanted * sizeof *all->items);
    struct status status = open_each(all, o, wanted, &arena);
    arena_release(&arena);
    return status;
}

struct status checkers_ready(struct checkers *checkers)
{
    const struct device_class *class = checkers->class;
    for (size_t i = 0; class->ready && i < checkers->count; i++)
        TRY(class->ready(checkers->items[i].device));
    return status_ok();
}

/* ---- memory ----------------------------------------------------------------------------- */

/* Bytes of memory that the process has now. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own digits */
    if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* How many calls go ahead of the devices, where these take time to start. */
static size_t count_ahead(const struct checkers *all, size_t calls, uint64_t granted)
{
    if (!all->class->ready || calls <= all->count) return 0;
    size_t wanted = calls - all->count < MOST_AHEAD ? calls - all->count : MOST_AHEAD;
    if (wanted > CHECK_THREADS_MAX - all->count) wanted = CHECK_THREADS_MAX - all->count;
    uint64_t most = granted / SHARE_AHEAD / BLAS_BUFFER_BYTES;
    return wanted < most ? wanted : (size_t)most;
}

/* They have the devices of the others. */
static struct status open_ahead(struct checkers *all, size_t limit)
{
    if (!all->n_ahead) return status_ok();
    all->turns = memory_allocate_zeroed(all->count, sizeof(pthread_mutex_t));
    if (!all->turns) return status_no_memory(all->count * sizeof(pthread_mutex_t));
    for (size_t i = 0; i < all->count; i++) pthread_mutex_init(&all->turns[i], NULL);
    for (size_t i = 0; i < all->count + all->n_ahead; i++) {
        struct checker *checker = &all->items[i];
        checker->once = i >= all->count;
        checker->device = all->items[i % all->count].device;
        checker->turn = &all->turns[i % all->count];
        checker->help.team = &all->team;
        if (checker->once) arena_reserve(&checker->arena, limit);
    }
    return status_ok();
}

static void close_turns(struct checkers *all)
{
    for (size_t i = 0; all->turns && i < all->count; i++) pthread_mutex_destroy(&all->turns[i]);
    memory_release(all->turns);
}

/* The budget of the calls is what is left of the memory that the user grants when the process
 * itself, the spare blocks of the arenas and the buffers of BLAS are paid for. Where there are fewer calls than
 * threads the other threads help. */
static struct status open_gates(struct checkers *all, const struct run_options *o, size_t ahead)
{
    uint64_t granted = o->memory_bytes ? o->memory_bytes : memory_available_bytes() / 10 * 6;
    size_t cores = (size_t)environment_cores(), threads = computing_threads(o);
    size_t slots = all->n_working < cores ? all->n_working : cores;
    size_t spares = threads > all->count ? threads - all->count : 0;
    uint64_t keep = granted / 4 / (all->count + spares);
    if (keep < SMALLEST_ARENA_KEEP) keep = SMALLEST_ARENA_KEEP;
    if (keep > (uint64_t)LARGEST_ARENA_KEEP_GB << 30) keep = (uint64_t)LARGEST_ARENA_KEEP_GB << 30;
    uint64_t room = keep < MOST_HELPERS_ROOM ? keep : MOST_HELPERS_ROOM;
    all->n_ahead = count_ahead(all, ahead, granted);
    uint64_t fixed = resident_bytes() + all->count * (keep + BLAS_BUFFER_BYTES) +
                     spares * (room + BLAS_BUFFER_BYTES) + all->n_ahead * BLAS_BUFFER_BYTES;
    uint64_t limit = granted > 2 * fixed ? granted - fixed : granted / 2;

    for (size_t i = 0; i < all->count; i++) {
        all->items[i].arena.keep_bytes = (size_t)keep;
        arena_reserve(&all->items[i].arena, (size_t)limit);
        all->items[i].help.team = &all->team;
    }
    TRY(open_ahead(all, (size_t)limit));
    memory_budget_init(&all->budget, limit);
    if (sem_init(&all->compute_slots, 0, (unsigned)slots)) {
        memory_budget_destroy(&all->budget);
        return status_error(STATUS_IO, "cannot make a semaphore: %s", strerror(errno));
    }
    team_open(&all->team, spares, (size_t)room, environment_leave_thread);
    all->has_gates = true;
    return status_ok();
}

/* ---- all of it -------------------------------------------------------------------------- */

struct status checkers_open(struct checkers *out, const struct run_options *options,
                            const char *backend, size_t calls)
{
    *out = (struct checkers){ .backend = backend };
    TRY(open_devices(out, options, calls));
    TRY(checkers_ready(out));
    return open_gates(out, options, 0);
}

struct status checkers_begin(struct checkers *out, const struct run_options *options,
                             const char *backend, size_t calls)
{
    *out = (struct checkers){ .backend = backend };
    TRY(open_devices(out, options, calls));
    return open_gates(out, options, calls);
}

struct status checkers_accept(const struct checkers *checkers, const struct run_inputs *inputs)
{
    if (strcmp(inputs->backend, checkers->backend) != 0)
        return status_error(STATUS_BAD_INPUT,
                            "the pre-check of this dump tests the backend '%s', that of the others "
                            "'%s'; name one with --backend",
                            inputs->backend, checkers->backend);
    if (checkers->class->needs_stored_outputs &&
        input_source_from_name(inputs->source_name) != INPUTS_RECORDED)
        return status_error(
            STATUS_BAD_INPUT,
            "--backend recorded judges stored outputs, which belong to the recorded inputs: "
            "--inputs %s needs another backend",
            inputs->source_name);
    if (!checkers->class->needs_stored_outputs || dump_header(inputs->dump)->has_data_dir)
        return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "--backend recorded judges the outputs that a dump stores, and this dump "
                        "stores none (task \"tensor\" is needed); use another backend");
}

struct check_setup checkers_setup(struct checkers *checkers, const struct run_options *options,
                                  const struct run_inputs *inputs, const char *repeat)
{
    return (struct check_setup){
        .diagnose_budget_s = options->no_diagnose ? 0 : options->diagnose_budget_s,
        .dump = inputs->dump,
        .framework = inputs->framework,
        .lists = &inputs->lists,
        .style = { .profile = inputs->profile,
                   .precision = inputs->lists.precision,
                   .repeat = repeat,
                   .stacks = inputs->stacks,
                   .evidence = evidence_extent_from_name(options->evidence) },
        .generate = { .seed = (uint64_t)options->seed,
                      .source = input_source_from_name(options->inputs),
                      .keep_recorded = !checkers->class->alter_inputs ||
                                       !inputs->framework->alters_inputs },
        .runs = options->runs,
        /* msprobe's own reference computes with the arguments as they were recorded. */
        .casts_arguments = checkers->class->needs_stored_outputs ||
                           profile_rules(inputs->profile)->error_model,
        .row_budget = inputs->budget,
        .backend = inputs->backend,
        .budget = &checkers->budget,
        .compute_slots = &checkers->compute_slots,
    };
}

void checkers_close(struct checkers *checkers)
{
    if (checkers->has_gates) team_close(&checkers->team);
    for (size_t i = 0; i < checkers->count; i++) {
        checkers->items[i].device->class->close(checkers->items[i].device);
        arena_release(&checkers->items[i].arena);
    }
    for (size_t i = 0; i < checkers->n_ahead; i++)
        arena_release(&checkers->items[checkers->count + i].arena);
    close_turns(checkers);
    memory_release(checkers->items);
    if (!checkers->has_gates) return;
    memory_budget_destroy(&checkers->budget);
    (void)sem_destroy(&checkers->compute_slots);
}

/* ---- what the devices say of themselves ------------------------------------------------- */

/* Is the name one that came before it? */
static bool came_before(const struct checkers *checkers, size_t at, const char *name)
{
    for (size_t i = 0; i < at; i++) {
        const struct device *device = checkers->items[i].device;
        if (!strcmp(device->class->describe(device), name)) return true;
    }
    return false;
}

struct status checkers_describe(struct run_record *record, const struct checkers *checkers)
{
    struct text_out text = { .status.code = STATUS_OK };
    for (size_t i = 0; i < checkers->count; i++) {
        const struct device *device = checkers->items[i].device;
        const char *name = device->class->describe ? device->class->describe(device) : "";
        if (!*name || came_before(checkers, i, name)) continue;
        if (text.text.length) text_out_string(&text, "; ");
        text_out_string(&text, name);
    }
    struct status status = text.status;
    if (text.text.length) text_out_bytes(&text, "", 1);
    if (!text.status.code && text.text.length) {
        text_tidy(text.text.data);
        status = run_record_add_about(record, "device", text.text.data);
    }
    csv_buffer_release(&text.text);
    return status;
}
