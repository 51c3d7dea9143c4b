/* The sequence of the comparison: calls, names, groups, data, tables. */
#include "compare/api_dumps/api_flow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/api_dumps/call_match.h"
#include "compare/api_dumps/data_pairs.h"
#include "core/memory.h"
#include "formats/tensor_file.h"

const char *const flow_table_names[FLOW_TABLES] = { "ts_api_mapping", "ts_api_forward_compare",
                                                    "ts_api_backward_compare" };

struct status api_flow_open(struct api_flow *out, const struct api_flow_request *request)
{
    *out = (struct api_flow){ .request = request };
    TRY(api_vocabulary_create(&out->vocabulary));
    TRY(api_calls_read(&out->origin, &out->vocabulary, request->origin, request->policy));
    TRY(api_calls_read(&out->target, &out->vocabulary, request->target, request->policy));
    size_t ignored = out->origin.ignored + out->target.ignored;
    if (ignored) warn(request->warnings, "%zu lines whose name is not that of a call", ignored);
    size_t a = out->origin.n_steps, b = out->target.n_steps;
    if (!a || !b)
        return status_error(STATUS_BAD_INPUT, "%s has no forward call",
                            file_shown(a ? request->target : request->origin).text);
    out->n_steps = a < b ? a : b;
    if (a != b)
        warn(request->warnings, "%s has %zu steps, %s has %zu: the first %zu are compared",
             request->origin, a, request->target, b, out->n_steps);
    if (!out->origin.data_folder || !out->target.data_folder)
        warn(request->warnings, "%s has no .npy files: only recorded statistics are compared",
             out->origin.data_folder ? request->target : request->origin);
    return status_ok();
}

void api_flow_close(struct api_flow *flow)
{
    api_calls_release(&flow->origin);
    api_calls_release(&flow->target);
    api_vocabulary_release(&flow->vocabulary);
}

/* ---- texts of cells --------------------------------------------------------------------- */

/* Cut to `decimals` decimals, as the reference shows numbers: 0.99999 is not 1. */
static double cut(double value, int decimals)
{
    double scale = pow(10, decimals);
    return isfinite(value) ? trunc(value * scale) / scale : isnan(value) ? fabs(value) : value;
}

/* "[2, 3]" as a list, "(2, 3)" or "(3,)" as a tuple. */
static const char *shape_list(struct arena *arena, const struct api_data *data)
{
    char text[400];
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < data->rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld", i ? ", " : "",
                               (long long)data->shape[i]);
    text[at++] = ']';
    return arena_copy_bytes(arena, text, at);
}

static const char *shape_tuple(struct arena *arena, const struct tensor *tensor)
{
    char text[400];
    shape_format(text, sizeof text, tensor->rank, tensor->shape);
    return arena_copy_string(arena, text);
}

/* ---- the map of calls ------------------------------------------------------------------- */

/* The names of a group, one a line. */
static const char *group_names(struct arena *arena, const struct api_call *calls, size_t count)
{
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++) bytes += strlen(calls[i].shown) + 1;
    char *text = arena_allocate(arena, bytes), *at = text;
    if (!text) return NULL;
    *at = '\0';
    for (size_t i = 0; i < count; i++) {
        if (i) *at++ = '\n';
        at = stpcpy(at, calls[i].shown);
    }
    return text;
}

static struct status add_group(struct api_flow_step *out, const struct call_group *group,
                               const struct api_step *origin, const struct api_step *target)
{
    const char *cells[2] = {
        group_names(&out->arena, origin->calls + group->origin, group->n_origin),
        group_names(&out->arena, target->calls + group->target, group->n_target),
    };
    if (!cells[0] || !cells[1]) return status_no_memory(0);
    return flow_table_add(&out->tables[FLOW_MAPPING], cells);
}

/* ---- pairs of values -------------------------------------------------------------------- */

/* One side of a pair. */
struct value {
    const struct api_data *data;
    bool is_loaded;
    struct file_map map;
    struct tensor tensor; /* dense */
};

struct comparing {
    const struct api_flow *flow;
    struct api_flow_step *out;
    struct file folders[2]; /* of the .npy files; FILE_NONE when statistics are compared */
    struct arena arena;     /* of one pair */
    size_t unreadable;
};

/* Read and close: the map stays. */
static struct status read_tensor(struct value *value, struct arena *arena,
                                 const struct file *folder, const char *name,
                                 struct file_policy policy)
{
    struct file file = FILE_NONE;
    struct tensor strided;

    TRY(file_open_read_in(&file, folder, name, policy));
    struct status status = file_map(&value->map, &file);
    if (!status.code)
        status = tensor_file_parse(&strided, arena, value->map.data, value->map.bytes, name);
    if (!status.code) status = tensor_densify(&value->tensor, arena, &strided);
    (void)file_close(&file);
    return status;
}

/* Load a value; one that cannot be read counts as missing, and the first of them is told. */
static struct status load(struct value *value, struct comparing *comparing, int side)
{
    const struct api_flow_request *request = comparing->flow->request;
    if (!value->data) return status_ok();
    const char *name = arena_format(&comparing->arena, "%s.npy", value->data->name);
    if (!name) return status_no_memory(0);
    struct status status =
        read_tensor(value, &comparing->arena, &comparing->folders[side], name, request->policy);
    value->is_loaded = !status.code;
    if (status.code != STATUS_BAD_INPUT && status.code != STATUS_IO) return status;
    if (!comparing->unreadable++) warn(request->warnings, "%s", status.text);
    return status_ok();
}

static void unload(struct value *value)
{
    if (value->map.data) file_unmap(&value->map);
}

/* The four last cells. */
static struct status describe_closeness(const char **cells, struct comparing *comparing,
                                        const struct value *origin, const struct value *target)
{
    struct arena *arena = &comparing->out->arena;
    struct closeness closeness = { .cosine = NAN, .mean_difference = NAN, .max_difference = NAN };
    bool both = origin->is_loaded && target->is_loaded;
    bool comparable = both && tensor_same_shape(&origin->tensor, &target->tensor);

    if (comparable)
        closeness_measure(&closeness, &origin->tensor, &target->tensor,
                          comparing->flow->request->tolerance);
    double ratio = !comparable   ? 0
                   : closeness.n ? (double)closeness.close / (double)closeness.n
                                 : 1;
    if (origin->data && target->data && !(comparable && closeness.all_close))
        comparing->out->not_close++;
    cells[4] = both && !comparable                 ? "Shape is inconsistent"
               : comparable && closeness.all_close ? "True"
                                                   : "False";
    cells[5] = arena_format(arena, "%.2f%%", 100 * cut(ratio, 4));
    cells[6] = arena_format(arena, "%.5f", cut(closeness.cosine, 5));
    cells[7] = arena_format(arena, "%.5f, %.5f", cut(closeness.mean_difference, 5),
                            cut(closeness.max_difference, 5));
    return cells[5] && cells[6] && cells[7] ? status_ok() : status_no_memory(0);
}

static struct status add_values(struct flow_table *table, struct comparing *comparing,
                                const struct data_pair *pair)
{
    struct value values[2] = { { .data = pair->origin }, { .data = pair->target } };
    const char *cells[FLOW_COLUMNS] = { NULL };
    struct status status = status_ok();

    for (int side = 0; side < 2 && !status.code; side++) {
        cells[side] = values[side].data ? values[side].data->name : NULL;
        status = load(&values[side], comparing, side);
        if (status.code || !values[side].is_loaded) continue;
        cells[2 + side] = shape_tuple(&comparing->out->arena, &values[side].tensor);
        if (!cells[2 + side]) status = status_no_memory(0);
    }
    if (!status.code) status = describe_closeness(cells, comparing, &values[0], &values[1]);
    unload(&values[0]);
    unload(&values[1]);
    arena_reset(&comparing->arena);
    return status.code ? status : flow_table_add(table, cells);
}

static bool is_near(double a, double b, struct tolerance tolerance)
{
    if (isnan(a) && isnan(b)) return true; /* not recorded, mostly */
    return a == b || fabs(a - b) <= tolerance.atol + tolerance.rtol * fabs(b);
}

/* Differences of the recorded maximum, minimum and mean. */
static struct status add_statistics(struct flow_table *table, struct comparing *comparing,
                                    const struct data_pair *pair)
{
    struct arena *arena = &comparing->out->arena;
    const struct api_data *a = pair->origin, *b = pair->target;
    const char *cells[FLOW_COLUMNS] = { a ? a->name : NULL, b ? b->name : NULL };

    cells[2] = a ? shape_list(arena, a) : NULL;
    cells[3] = b ? shape_list(arena, b) : NULL;
    cells[4] = a && b ? arena_format(arena, "%.5f, %.5f, %.5f", cut(fabs(a->max - b->max), 5),
                                     cut(fabs(a->min - b->min), 5), cut(fabs(a->mean - b->mean), 5))
                      : "nan, nan, nan";
    if ((a && !cells[2]) || (b && !cells[3]) || !cells[4]) return status_no_memory(0);
    const struct tolerance tolerance = comparing->flow->request->tolerance;
    if (a && b &&
        !(is_near(a->max, b->max, tolerance) && is_near(a->min, b->min, tolerance) &&
          is_near(a->mean, b->mean, tolerance)))
        comparing->out->not_close++;
    return flow_table_add(table, cells);
}

static struct status compare_direction(struct comparing *comparing, struct flow_table *table,
                                       const struct call_groups *groups, size_t step, bool backward)
{
    const struct api_flow *flow = comparing->flow;
    struct data_pair_options options = { flow->request->ignore_unmatched, backward };
    bool by_values = comparing->folders[0].fd >= 0;
    struct data_pairs pairs;

    struct status status = data_pairs_make(&pairs, groups, &flow->origin.steps[step],
                                           &flow->target.steps[step], options);
    for (size_t i = 0; i < pairs.count && !status.code; i++) {
        status = (by_values ? add_values : add_statistics)(table, comparing, &pairs.items[i]);
        if (!status.code) status = stop_check(flow->request->stop);
    }
    memory_release(pairs.items);
    return status;
}

/* ---- a step ----------------------------------------------------------------------------- */

static struct status make_headers(struct api_flow_step *out, const struct api_flow *flow,
                                  size_t step, bool by_values)
{
    static const char *const titles[FLOW_TABLES] = {
        "The APIs mapping results of the two frameworks", "The forward comparison results",
        "The backward comparison results"
    };
    static const char *const of_values[] = { "shape of orig",      "shape of target",
                                             "result of allclose", "ratio of allclose",
                                             "cosine similarity",  "mean & max diffs" };
    struct arena *arena = &out->arena;
    const char *origin =
        arena_format(arena, "ORIGIN NET (%s)", api_framework_names[flow->origin.framework]);
    const char *target =
        arena_format(arena, "TARGET NET (%s)", api_framework_names[flow->target.framework]);

    for (int t = 0; t < FLOW_TABLES; t++) {
        struct flow_table *table = &out->tables[t];
        table->title = flow->n_steps > 1 ? arena_format(arena, "%s (step %zu)", titles[t], step)
                                         : titles[t];
        table->headers[0] = origin;
        table->headers[1] = target;
        table->n_columns = t == FLOW_MAPPING ? 2 : by_values ? 8 : 5;
        memcpy(table->headers + 2, of_values, sizeof of_values);
        if (!by_values) table->headers[4] = "max, min, mean diffs";
        if (!table->title) return status_no_memory(0);
    }
    return origin && target ? status_ok() : status_no_memory(0);
}

static struct status open_folders(struct comparing *comparing)
{
    const struct api_flow *flow = comparing->flow;
    if (!flow->origin.data_folder || !flow->target.data_folder) return status_ok();
    TRY(file_open_directory(&comparing->folders[0], flow->origin.data_folder,
                            flow->request->policy));
    return file_open_directory(&comparing->folders[1], flow->target.data_folder,
                               flow->request->policy);
}

static struct status compare_step(struct comparing *comparing, size_t step)
{
    const struct api_flow *flow = comparing->flow;
    struct api_flow_step *out = comparing->out;
    const struct api_step *origin = &flow->origin.steps[step], *target = &flow->target.steps[step];
    struct call_groups groups;

    TRY(open_folders(comparing));
    TRY(make_headers(out, flow, step, comparing->folders[0].fd >= 0));
    TRY(call_match(&groups, &out->arena, origin, target, flow->vocabulary.no_shapes));
    for (size_t i = 0; i < groups.count; i++) TRY(add_group(out, &groups.items[i], origin, target));
    TRY(compare_direction(comparing, &out->tables[FLOW_FORWARD], &groups, step, false));
    if (flow->request->ignore_backward) return status_ok();
    return compare_direction(comparing, &out->tables[FLOW_BACKWARD], &groups, step, true);
}

struct status api_flow_compare(struct api_flow_step *out, const struct api_flow *flow, size_t step)
{
    struct comparing comparing = { .flow = flow, .out = out, .folders = { FILE_NONE, FILE_NONE } };

    *out = (struct api_flow_step){ 0 };
    struct status status = compare_step(&comparing, step);
    if (comparing.unreadable > 1)
        warn(flow->request->warnings, "%zu files could not be read", comparing.unreadable);
    (void)file_close(&comparing.folders[0]);
    (void)file_close(&comparing.folders[1]);
    arena_release(&comparing.arena);
    return status;
}

void api_flow_step_release(struct api_flow_step *step)
{
    for (int t = 0; t < FLOW_TABLES; t++) memory_release(step->tables[t].rows);
    arena_release(&step->arena);
    *step = (struct api_flow_step){ 0 };
}
