/* Bits are compared, so that -0 is not 0 and one NaN not another; how far apart elements are is said in units of their
 * dtype. */
#include "runner/repeats.h"

#include <math.h>
#include <string.h>

/* ---- copies ---------------------------------------------------------------------------------- */

static struct status copy_tensors(struct value *list, struct arena *arena)
{
    for (size_t i = 0; list->kind == VALUE_LIST && i < list->list.count; i++) {
        struct value *value = &list->list.items[i];
        struct tensor dense, *copy;
        if (value->kind != VALUE_TENSOR || !value->tensor.tensor) continue;
        copy = arena_allocate(arena, sizeof *copy);
        if (!copy) return status_no_memory(sizeof *copy);
        TRY(tensor_densify(&dense, arena, value->tensor.tensor));
        TRY(tensor_create(copy, arena, dense.dtype, dense.rank, dense.shape));
        memcpy(copy->data, dense.data, tensor_elements(&dense) * dtype_info(dense.dtype)->bytes);
        value->tensor.tensor = copy;
    }
    return status_ok();
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Of one element; infinite for numbers of different kinds. */
static double distance(enum dtype dtype, const void *a, const void *b)
{
    enum dtype part = dtype_component(dtype);
    double x, y;
    if (dtype_is_integral(dtype)) return INFINITY;
    dtype_to_double(&x, a, part, 1);
    dtype_to_double(&y, b, part, 1);
    return isfinite(x) && isfinite(y) ? fabs(x - y) / dtype_ulp(part, x) : INFINITY;
}

static void compare_elements(struct run_difference *out, const struct tensor *first,
                             const struct tensor *again, unsigned char *differs)
{
    size_t width = dtype_info(first->dtype)->bytes;
    for (size_t i = 0; i < out->elements; i++) {
        const char *a = (const char *)first->data + i * width,
                   *b = (const char *)again->data + i * width;
        if (!memcmp(a, b, width)) continue;
        out->differing += !differs[i];
        differs[i] = 1;
        out->largest_ulp = fmax(out->largest_ulp, distance(first->dtype, a, b));
    }
}

static bool same_form(const struct tensor *a, const struct tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = a->shape[d] == b->shape[d];
    return same;
}

static struct status compare_lists(struct run_difference *out, unsigned char **differs,
                                   size_t count, struct arena *arena, const struct value *first,
                                   const struct value *again)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *a = &first->list.items[i];
        bool there = again->kind == VALUE_LIST && i < again->list.count;
        const struct value *b = there ? &again->list.items[i] : NULL;
        struct tensor dense;
        if (a->kind != VALUE_TENSOR || !a->tensor.tensor) continue;
        if (!b || b->kind != VALUE_TENSOR || !same_form(a->tensor.tensor, b->tensor.tensor)) {
            out[i].differing = out[i].elements;
            out[i].largest_ulp = INFINITY;
            continue;
        }
        TRY(tensor_densify(&dense, arena, b->tensor.tensor));
        compare_elements(&out[i], a->tensor.tensor, &dense, differs[i]);
    }
    return status_ok();
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct status open_differences(struct run_difference **out, unsigned char ***differs,
                                      size_t *count, struct arena *arena, const struct value *list,
                                      int64_t runs)
{
    *count = list->kind == VALUE_LIST ? list->list.count : 0;
    *out = arena_allocate_zeroed(arena, *count, sizeof **out);
    *differs = arena_allocate_zeroed(arena, *count, sizeof **differs);
    if (!*out || !*differs) return status_no_memory(*count * sizeof **out);
    for (size_t i = 0; i < *count; i++) {
        const struct value *value = &list->list.items[i];
        bool is_tensor = value->kind == VALUE_TENSOR && value->tensor.tensor;
        (*out)[i].runs = (size_t)runs;
        (*out)[i].elements = is_tensor ? tensor_elements(value->tensor.tensor) : 0;
        (*differs)[i] = arena_allocate_zeroed(arena, (*out)[i].elements, 1);
        if (!(*differs)[i]) return status_no_memory((*out)[i].elements);
    }
    return status_ok();
}

struct status repeats_run(struct repeats *out, struct arena *arena, struct device *device,
                          const struct api_case *c, struct device_result *first, int64_t runs)
{
    struct value *lists[2] = { &first->outputs, &first->gradients };
    unsigned char **differs[2];
    *out = (struct repeats){ .count = { 0 } };
    if (runs < 2) return status_ok();
    for (int k = 0; k < 2; k++) {
        TRY(copy_tensors(lists[k], arena));
        TRY(open_differences(&out->of[k], &differs[k], &out->count[k], arena, lists[k], runs));
    }
    for (int64_t run = 1; run < runs; run++) {
        struct device_result again = { .outputs.kind = VALUE_NONE };
        const struct arena_mark before = arena_mark(arena);
        TRY(device->class->run(device, &again, arena, c, c->has_backward));
        const struct value *others[2] = { &again.outputs, &again.gradients };
        for (int k = 0; k < 2; k++)
            TRY(compare_lists(out->of[k], differs[k], out->count[k], arena, lists[k], others[k]));
        arena_rewind(arena, before);
    }
    return status_ok();
}
