/* The order of the reductions, and what is said and written at the end. */
#include "shrink/shrink.h"

#include <stdio.h>
#include <string.h>

#include "formats/dump_write.h"
#include "results/coordinates.h"
#include "shrink/dimensions.h"
#include "shrink/reductions.h"
#include "shrink/search.h"

/* A round after which nothing has changed is the last; others show nothing new beyond this many. */
enum { ROUNDS_MOST = 4 };

/* ---- the search ------------------------------------------------------------------------- */

/* Arguments may only go in a later round because something else has become simpler. */
static struct status reduce_arguments_again(bool *changed, struct search *search,
                                            struct dimensions *dimensions)
{
    bool altered = false;
    dimensions_update(dimensions, &search->best);
    TRY(reduce_arguments(&altered, search));
    *changed |= altered;
    return altered ? dimensions_renew(dimensions, &search->best) : status_ok();
}

/* What makes later steps cheaper comes first. */
static struct status reduce(struct search *search, struct dimensions *dimensions)
{
    bool changed = true;
    TRY(reduce_arguments(&changed, search));
    TRY(dimensions_list(dimensions, &search->best));
    for (int round = 0; changed && round < ROUNDS_MOST; round++) {
        changed = false;
        if (round) TRY(reduce_arguments_again(&changed, search, dimensions));
        TRY(reduce_dtypes(&changed, search));
        TRY(reduce_dimensions(&changed, search));
        TRY(reduce_values(&changed, search));
    }
    return status_ok();
}

/* ---- sentences -------------------------------------------------------------------------- */

static struct status say(struct shrink_result *out, const char *line)
{
    if (!line) return status_no_memory(0);
    char *tidy = arena_copy_string(&out->arena, line);
    if (!tidy) return status_no_memory(0);
    text_tidy(tidy); /* names come from the dump */
    if (out->count < SHRINK_LINES) out->lines[out->count++] = tidy;
    return status_ok();
}

/* "input (1, 129) float32, all 1": an argument of the smallest call. */
static const char *tensor_text(struct arena *arena, const struct tensor *tensor)
{
    char shape[160];
    size_t n = tensor_elements(tensor), width = dtype_info(tensor->dtype)->bytes;
    const unsigned char *data = tensor->data;
    double first = 0;
    bool same = n > 0 && !dtype_is_complex(tensor->dtype);
    shape_format(shape, sizeof shape, tensor->rank, tensor->shape);
    for (size_t i = 1; same && i < n; i++) same = !memcmp(data, data + i * width, width);
    if (same) dtype_to_double(&first, data, tensor->dtype, 1);
    const char *dtype = dtype_short_name(tensor->dtype);
    if (!same) return arena_format(arena, "%s %s", shape, dtype);
    return arena_format(arena, n == 1 ? "%s %s, %.9g" : "%s %s, all %.9g", shape, dtype, first);
}

/* The values of an argument in a line, as Python writes them. NULL when there is no memory. */
static const char *value_text(struct arena *arena, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NONE: return "None";
    case VALUE_BOOL: return value->boolean ? "True" : "False";
    case VALUE_INT: return arena_format(arena, "%lld", (long long)value->integer);
    case VALUE_FLOAT: return arena_format(arena, "%.17g", value->real);
    case VALUE_STRING: return arena_format(arena, "'%.60s'", value->string);
    case VALUE_DTYPE: return dtype_info(value->dtype)->name;
    case VALUE_TENSOR:
        return value->tensor.tensor ? tensor_text(arena, value->tensor.tensor) : "None";
    case VALUE_LIST:
    case VALUE_SIZE: break;
    default: return "...";
    }
    const char *text = "[";
    for (size_t i = 0; text && i < value->list.count && i < 8; i++) {
        const char *item = value_text(arena, &value->list.items[i]);
        text = item ? arena_format(arena, "%s%s%s", text, i ? "; " : "", item) : NULL;
    }
    return text ? arena_format(arena, "%s%s]", text, value->list.count > 8 ? "; ..." : "") : NULL;
}

static struct status say_value(struct shrink_result *out, const char *name,
                               const struct value *value)
{
    const char *text = name ? value_text(&out->arena, value) : NULL;
    if (!text) return status_no_memory(0);
    return say(out, arena_format(&out->arena, "  %s: %s", name, text));
}

static struct status say_inputs(struct shrink_result *out, const struct search *search)
{
    const struct api_case *c = &search->best;
    struct arena *arena = &out->arena;
    for (size_t i = 0; i < c->args.list.count; i++)
        TRY(say_value(out, arena_format(arena, "argument %zu", i), &c->args.list.items[i]));
    for (size_t i = 0; i < c->kwargs.list.count; i++)
        TRY(say_value(out, c->kwargs.list.keys[i], &c->kwargs.list.items[i]));
    for (size_t i = 0; i < c->cotangents.list.count; i++)
        TRY(say_value(out, arena_format(arena, "cotangent %zu", i), &c->cotangents.list.items[i]));
    return status_ok();
}

static struct status say_dimensions(struct shrink_result *out, const struct dimensions *dimensions)
{
    for (size_t i = 0; i < dimensions->count; i++) {
        const struct dimension *dimension = &dimensions->items[i];
        if (dimension->from != dimension->to)
            TRY(say(out, arena_format(&out->arena, "  %s: %lld -> %lld", dimension->name,
                                      (long long)dimension->from, (long long)dimension->to)));
        else
            TRY(say(out, arena_format(&out->arena, "  %s: %lld, no smaller one fails",
                                      dimension->name, (long long)dimension->from)));
    }
    for (size_t i = 0; i < dimensions->count; i++) {
        const char *sentence;
        TRY(dimension_sentence(&sentence, &out->arena, &dimensions->items[i]));
        if (sentence) TRY(say(out, sentence));
    }
    return status_ok();
}

static struct status say_element(struct shrink_result *out, const struct wrong_element *wrong)
{
    char place[COORDINATES_BYTES];
    if (!wrong->known) return status_ok();
    coordinates_text(place, wrong->shape, wrong->first, wrong->n);
    return say(out,
               arena_format(&out->arena,
                            "first wrong element %s: want %.9g, got %.9g (%zu of %zu are wrong)",
                            place, wrong->want, wrong->got, wrong->wrong, wrong->n));
}

static struct status say_end(struct shrink_result *out, const struct search *search)
{
    static const char *const ends[] = {
        [SHRINK_CALLS] = "the search ended at --max-calls",
        [SHRINK_TIME] = "the search ended at --time-limit",
        [SHRINK_INTERRUPTED] = "interrupted",
    };
    if (search->end == SHRINK_DONE) return status_ok();
    return say(out, arena_format(&out->arena, "%s, after %zu calls: a smaller call may fail too",
                                 ends[search->end], search->calls));
}

static struct status say_rate(struct shrink_result *out, struct search *search)
{
    size_t runs = search->limits.repeat, failures;
    if (runs < 2 || search->end == SHRINK_INTERRUPTED) return status_ok();
    TRY(search_count(&failures, search, runs));
    return say(out, arena_format(&out->arena, "fails in %zu of %zu runs of the smallest call",
                                 failures, runs));
}

/* ---- the result ------------------------------------------------------------------------- */

/* Lists of a device are flat and in the order of the API's. */
static struct status write_dump(struct search *search, const char *directory)
{
    struct api_case c = search->best;
    struct arena scratch = { 0 };
    TRY(search_keep_results(search));
    if (search->outputs.kind == VALUE_LIST) c.outputs = search->outputs;
    else c.outputs = (struct value){ .kind = VALUE_LIST };
    if (search->gradients.kind == VALUE_LIST) c.gradients = search->gradients;
    TRY(file_make_directories(directory));
    struct dump_writer writer;
    const struct dump_writer_options options = { .with_tensors = true,
                                                 .gradients_of_arguments = true,
                                                 .replace = true };
    struct status status = dump_writer_open(&writer, directory, options);
    if (!status.code) status = dump_writer_add(&writer, &c, &scratch);
    status = dump_writer_end(&writer, status);
    arena_release(&scratch);
    return status;
}

static struct status report(struct shrink_result *out, struct search *search,
                            const struct dimensions *dimensions)
{
    const struct failure *failure = &search->failure;
    out->end = search->end;
    TRY(say(out, arena_format(&out->arena, "%s: %s: %s", failure->row,
                              verdict_name(failure->verdict), failure->sentence)));
    TRY(say(out, arena_format(&out->arena, "the smallest call that fails so:")));
    TRY(say_inputs(out, search));
    TRY(say_dimensions(out, dimensions));
    TRY(say_element(out, &search->best_wrong));
    TRY(say_rate(out, search));
    return say_end(out, search);
}

static struct status say_passes(struct shrink_result *out, const struct search *search,
                                const char *name)
{
    const struct case_outcome *outcome = &search->outcome;
    out->judged = verdict_is_judgement(outcome->forward) || verdict_is_judgement(outcome->backward);
    if (search->failed_once)
        return say(out, arena_format(&out->arena,
                                     "%s failed once and then passed: --repeat N tries every "
                                     "candidate up to N times",
                                     name));
    if (out->judged)
        return say(out, arena_format(&out->arena, "%s passes: there is nothing to shrink", name));
    return say(out, arena_format(&out->arena, "%s is not judged: %s", name,
                                 outcome->n_notes ? outcome->notes[0].sentence : ""));
}

static struct status shrink(struct shrink_result *out, struct search *search, const char *directory)
{
    struct dimensions dimensions;
    out->judged = out->fails = true;
    TRY(reduce(search, &dimensions));
    TRY(dimensions_sample(&dimensions, search));
    TRY(report(out, search, &dimensions));
    TRY(write_dump(search, directory));
    out->calls = search->calls;
    return status_ok();
}

struct status shrink_call(struct shrink_result *out, const struct run_options *options,
                          const char *name, const char *directory,
                          const struct shrink_limits *limits, struct shrink_news news,
                          struct stop stop)
{
    struct one_call call;
    struct search *search = NULL;
    bool fails = false;
    *out = (struct shrink_result){ .count = 0 };
    struct status status = one_call_open(&call, options, name);
    if (!status.code) search = arena_allocate_zeroed(&out->arena, 1, sizeof *search);
    if (!status.code && !search) status = status_no_memory(sizeof *search);
    if (!status.code) status = search_open(search, &fails, &call, name, limits, news, stop);
    if (!status.code && !fails && search->end == SHRINK_INTERRUPTED)
        status = status_error(STATUS_INTERRUPTED, "interrupted before %s had been checked", name);
    if (!status.code)
        status = fails ? shrink(out, search, directory) : say_passes(out, search, name);
    if (search) search_close(search);
    one_call_close(&call);
    return status;
}

void shrink_result_release(struct shrink_result *result) { arena_release(&result->arena); }
