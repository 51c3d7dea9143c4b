/* A list to whose end dumps are added and from whose start they go. */
#include "runner/run_parts.h"

#include "core/memory.h"

struct status run_parts_open(struct run_parts *out, const struct run_options *options,
                             const struct dump_tree *tree)
{
    *out = (struct run_parts){ .options = options, .tree = tree, .total = tree ? tree->count : 1 };
    for (size_t i = 0; tree && i < tree->count; i++) out->total_bytes += tree->items[i].bytes;
    out->endings = memory_allocate_zeroed(out->total, sizeof *out->endings);
    if (!out->endings) return status_no_memory(out->total * sizeof *out->endings);
    return tree && options->filter_api && !options->job ? call_set_create(&out->met) : status_ok();
}

static void release_part(struct run_part *part)
{
    if (part) run_part_close(part);
    memory_release(part);
}

static void release_first(struct run_parts *parts)
{
    struct run_part *part = parts->first;
    parts->first = part->next;
    if (!parts->first) parts->last = NULL;
    release_part(part);
}

static void release_ending(struct part_ending *ending)
{
    for (int file = 0; file < RESULT_FILES; file++) memory_release(ending->paths[file]);
    memory_release(ending->baseline);
    call_seconds_release(&ending->seconds);
}

void run_parts_close(struct run_parts *parts)
{
    release_part(parts->read);
    while (parts->first) release_first(parts);
    for (size_t i = 0; parts->endings && i < parts->total; i++) release_ending(&parts->endings[i]);
    memory_release(parts->endings);
    call_set_release(parts->met);
}

bool run_parts_more(const struct run_parts *parts) { return parts->opened < parts->total; }

/* What is wrong with the options is wrong for all dumps; a shard is done with all of its own. */
static struct status refuse(struct run_parts *parts, struct status why)
{
    if (!parts->tree || parts->options->job || why.code != STATUS_BAD_INPUT) return why;
    parts->endings[parts->read->place].status = why;
    parts->n_refused++;
    release_part(parts->read);
    parts->read = NULL;
    return status_ok();
}

struct status run_parts_read_next(struct run_parts *parts)
{
    const struct dump_place *place = parts->tree ? &parts->tree->items[parts->opened] : NULL;
    struct run_part *part = parts->read = memory_allocate_zeroed(1, sizeof *part);
    if (!part) return status_no_memory(sizeof *part);
    struct status status = run_part_open_inputs(part, parts->options, place, parts->met);
    part->place = parts->opened++;
    if (place) parts->opened_bytes += place->bytes;
    return status.code ? refuse(parts, status) : status;
}

struct status run_parts_admit(struct run_parts *parts, struct checkers *checkers,
                              struct summary *summary)
{
    struct run_part *part = parts->read;
    struct status status = run_part_open_output(part, checkers, summary);
    if (status.code) return refuse(parts, status);
    parts->calls += part->inputs.order.count;
    parts->recorded += dump_count(part->inputs.dump);
    if (parts->last) parts->last->next = part;
    else parts->first = part;
    parts->last = part;
    parts->read = NULL;
    return status_ok();
}

struct status run_parts_finish_first(struct run_parts *parts)
{
    struct run_part *part = parts->first;
    TRY(run_part_finish(part));
    struct part_ending *ending = &parts->endings[part->place];
    result_files_take_paths(ending->paths, &part->output.files);
    ending->baseline = part->baseline;
    ending->seconds = part->seconds;
    part->baseline = NULL;
    part->seconds = (struct call_seconds){ .seconds = NULL };
    release_first(parts);
    return status_ok();
}

size_t run_parts_expected_calls(const struct run_parts *parts)
{
    if (!run_parts_more(parts) || !parts->opened_bytes) return parts->calls;
    double whole = (double)parts->total_bytes / (double)parts->opened_bytes;
    return (size_t)((double)parts->calls * whole + 0.5);
}

/* The first dump is read again as if it were the only one, which may not be left empty. */
struct status run_parts_nothing_selected(const struct run_parts *parts)
{
    struct run_options alone = *parts->options;
    struct run_part part = { 0 };
    bool is_asked = alone.only || alone.skip;
    if (!parts->tree || !parts->tree->count || !is_asked || parts->calls) return status_ok();
    alone.api_info = parts->tree->items[0].path;
    struct status status = run_part_open_inputs(&part, &alone, NULL, NULL);
    run_part_close(&part);
    return status;
}

struct status run_parts_refused(const struct run_parts *parts)
{
    if (!parts->n_refused) return status_ok();
    return status_error(STATUS_BAD_INPUT, "%zu of %zu dumps could not be checked", parts->n_refused,
                        parts->total);
}
