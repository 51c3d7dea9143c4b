/* From a call of any framework to the call of PyTorch that the catalogue has. */
#include <string.h>

#include "bench/bench.h"
#include "bench/binding.h"
#include "bench/lost_dtype.h"
#include "bench/mindspore/translation.h"
#include "bench/registry.h"

static bool is_row_of(const struct translation *row, unsigned group, const char *name)
{
    return row->groups & group &&
           (!strcmp(row->names, "*") || op_name_matches(row->names, name, strlen(name)));
}

/* Does the row's call bind as well as its schema? */
static struct status try_row(struct api_case *out, struct arena *arena,
                             const struct translation *row, const struct api_case *c)
{
    struct call *call = arena_allocate_zeroed(arena, 1, sizeof *call);
    if (!call) return status_no_memory(sizeof *call);
    TRY(translation_apply(out, arena, row, c));
    return call_bind(call, out, arena);
}

struct status bench_translate(struct api_case *out, struct arena *arena, const struct api_case *c)
{
    const struct translation *row;
    struct status why = { .code = STATUS_OK };

    if (!c->framework || c->framework->has_torch_names) {
        *out = *c;
        return lost_dtype_restore(out, arena);
    }
    unsigned group = translation_group(c->type);
    for (size_t i = 0; (row = translation_row(i)); i++) {
        if (!is_row_of(row, group, c->api)) continue;
        struct status status = try_row(out, arena, row, c);
        if (status.code != STATUS_SKIP) return status;
        if (!why.code) why = status;
    }
    if (why.code) return why;
    return status_error(STATUS_SKIP,
                        "there is no bench function for %s.%s of MindSpore, and no function of "
                        "PyTorch that is known to compute the same",
                        c->type, c->api);
}

bool bench_is_mindspore_name(const char *name)
{
    const struct translation *row;
    for (size_t i = 0; (row = translation_row(i)); i++)
        if (op_name_matches(row->names, name, strlen(name))) return true;
    return false;
}

/* ---- one set of tensors ------------------------------------------------------------------- */

static bool share_with(struct value *recorded, void *context)
{
    const struct value *made = context;
    if (recorded->tensor.record == made->tensor.record)
        recorded->tensor.tensor = made->tensor.tensor;
    return true;
}

static bool share_tensor(struct value *made, void *context)
{
    const struct api_case *recorded = context;
    struct value args = recorded->args,
                 kwargs = recorded->kwargs; /* the copies share their items */
    (void)value_each_tensor(&args, share_with, made);
    return value_each_tensor(&kwargs, share_with, made);
}

void bench_share_inputs(const struct api_case *translated)
{
    struct value args = translated->args, kwargs = translated->kwargs;
    if (!translated->recorded) return;
    struct api_case recorded = *translated->recorded;
    (void)value_each_tensor(&args, share_tensor, &recorded);
    (void)value_each_tensor(&kwargs, share_tensor, &recorded);
}
