/* A slot is the number of a leaf (variation/leaves.h), so that it means the same in a copy of the call. */
#include "variation/axes.h"

#include <stdio.h>
#include <string.h>

#include "bench/binding.h"
#include "bench/registry.h"
#include "variation/leaves.h"
#include "variation/specimen.h"

/* ---- slots ------------------------------------------------------------------------------ */

static void add_slot(struct slots *slots, struct slot slot)
{
    if (slot.size >= 2 && slots->count < AXIS_SLOTS) slots->items[slots->count++] = slot;
}

void slots_list(struct slots *out, const struct api_case *c)
{
    const struct value *leaf;
    out->count = 0;
    for (size_t k = 0; (leaf = leaf_find(c, LEAF_ARGUMENT, k)); k++) {
        const struct tensor *tensor = leaf->tensor.tensor;
        for (int d = 0; tensor && d < tensor->rank; d++)
            add_slot(out, (struct slot){ .number = k, .dimension = d, .size = tensor->shape[d] });
    }
    for (size_t k = 0; (leaf = leaf_find(c, LEAF_INTEGER, k)); k++)
        add_slot(out, (struct slot){ .integer = true, .number = k, .size = leaf->integer });
}

static struct value *slot_value(const struct api_case *c, const struct slot *slot)
{
    return leaf_find(c, slot->integer ? LEAF_INTEGER : LEAF_ARGUMENT, slot->number);
}

int64_t slot_extent(const struct slot *slot, const struct api_case *c)
{
    const struct value *value = slot_value(c, slot);
    if (!value) return 0;
    if (slot->integer) return value->integer;
    return slot->dimension < value->tensor.tensor->rank
               ? value->tensor.tensor->shape[slot->dimension]
               : 0;
}

/* ---- another size ----------------------------------------------------------------------- */

static struct status slot_size(int64_t *out, const struct axis *axis, const struct slot *slot,
                               int64_t size)
{
    int64_t product;
    if (__builtin_mul_overflow(slot->size, size, &product) || product % axis->size != 0)
        return status_error(STATUS_SKIP, "the extents do not keep their ratio");
    *out = product / axis->size;
    return status_ok();
}

static struct status resize_tensor(struct value *value, size_t number, struct arena *arena,
                                   const struct axis *axis, int64_t size, enum axis_side side)
{
    const struct tensor *tensor = value->tensor.tensor;
    int64_t shape[TENSOR_MAX_RANK], start[TENSOR_MAX_RANK] = { 0 };
    struct tensor resized;
    bool any = false;
    if (!tensor) return status_ok();
    memcpy(shape, tensor->shape, sizeof shape);
    for (size_t i = 0; i < axis->slots.count; i++) {
        const struct slot *slot = &axis->slots.items[i];
        if (slot->integer || slot->number != number) continue;
        int d = slot->dimension;
        TRY(slot_size(&shape[d], axis, slot, size));
        if (side == SIDE_BACK && shape[d] < tensor->shape[d])
            start[d] = tensor->shape[d] - shape[d];
        any = true;
    }
    if (!any) return status_ok();
    TRY(specimen_window(&resized, arena, tensor, shape, start));
    return specimen_set_tensor(value, arena, &resized);
}

struct status axis_resize(struct api_case *c, struct arena *arena, const struct axis *axis,
                          int64_t size, enum axis_side side)
{
    struct value *leaf;
    for (size_t k = 0; (leaf = leaf_find(c, LEAF_ARGUMENT, k)); k++)
        TRY(resize_tensor(leaf, k, arena, axis, size, side));
    for (size_t i = 0; i < axis->slots.count; i++) {
        const struct slot *slot = &axis->slots.items[i];
        if (slot->integer) TRY(slot_size(&slot_value(c, slot)->integer, axis, slot, size));
    }
    return status_ok();
}

static void wrap_tensor(bool *any, const struct tensor *tensor, int64_t before, int64_t size)
{
    size_t n = tensor_elements(tensor), width = dtype_info(tensor->dtype)->bytes;
    if (dtype_info(tensor->dtype)->kind != KIND_INTEGER) return;
    for (size_t i = 0; i < n; i++) {
        unsigned char *at = (unsigned char *)tensor->data + i * width;
        int64_t x;
        dtype_to_int64(&x, at, tensor->dtype, 1);
        if (x < size || x >= before) continue;
        x %= size;
        dtype_from_int64(at, tensor->dtype, &x, 1);
        *any = true;
    }
}

void axis_wrap_indices(bool *any, struct api_case *c, int64_t before, int64_t size)
{
    struct value *leaf;
    *any = false;
    for (size_t k = 0; size > 0 && (leaf = leaf_find(c, LEAF_ARGUMENT, k)); k++)
        if (leaf->tensor.tensor) wrap_tensor(any, leaf->tensor.tensor, before, size);
}

/* ---- ties ------------------------------------------------------------------------------- */

/* A size to try an axis at: not its own, and one that keeps all ratios. 0: there is none. */
static int64_t probing_size(const struct axis *axis, enum axis_probe probe)
{
    int64_t n = axis->size;
    int64_t candidates[] = { probe == PROBE_CUT ? n - 1 : n + 1,
                             probe == PROBE_CUT ? n / 2 : 2 * n };
    for (size_t k = 0; k < 2; k++) {
        bool fits = candidates[k] >= 1 && candidates[k] != n;
        for (size_t i = 0; fits && i < axis->slots.count; i++) {
            int64_t size = 0;
            fits = !slot_size(&size, axis, &axis->slots.items[i], candidates[k]).code && size > 0;
        }
        if (fits) return candidates[k];
    }
    return 0;
}

/* Is the call valid when this axis alone has another size? */
static struct status probe_axis(bool *valid, const struct api_case *c, const struct axis *axis,
                                enum axis_probe probe)
{
    struct arena arena = { 0 };
    struct api_case copy;
    int64_t size = probing_size(axis, probe);
    *valid = false;
    if (!size) return status_ok();
    struct status status = specimen_copy(&copy, &arena, c);
    if (!status.code) status = axis_resize(&copy, &arena, axis, size, SIDE_FRONT);
    if (!status.code) status = specimen_settle(&copy, &arena);
    arena_release(&arena);
    *valid = !status.code;
    return status.code == STATUS_NO_MEMORY || status.code == STATUS_INTERNAL ? status : status_ok();
}

/* How the sizes of slots that may be tied to one of size n are related to it. */
enum relation { RELATION_NONE, RELATION_EQUAL, RELATION_RATIO };

static bool is_related(int64_t n, int64_t size, enum relation relation)
{
    switch (relation) {
    case RELATION_NONE: return false;
    case RELATION_EQUAL: return size == n;
    case RELATION_RATIO: return size % n == 0 || n % size == 0;
    }
    return false;
}

static void related_slots(struct axis *out, const struct slots *all, size_t slot,
                          enum relation relation)
{
    out->size = all->items[slot].size;
    out->slots.items[0] = all->items[slot];
    out->slots.count = 1;
    for (size_t i = 0; i < all->count; i++)
        if (i != slot && is_related(out->size, all->items[i].size, relation))
            out->slots.items[out->slots.count++] = all->items[i];
}

/* Drop the slots that need not be there. */
static struct status drop_loose_slots(struct axis *axis, const struct api_case *c,
                                      enum axis_probe probe)
{
    for (size_t i = axis->slots.count; i-- > 1;) {
        struct axis without = *axis;
        bool valid;
        memmove(&without.slots.items[i], &without.slots.items[i + 1],
                (without.slots.count - i - 1) * sizeof without.slots.items[0]);
        without.slots.count--;
        TRY(probe_axis(&valid, c, &without, probe));
        if (valid) *axis = without;
    }
    return status_ok();
}

/* Where all that may be tied is too much: the slot and one other. */
static struct status find_pair(struct axis *out, bool *found, const struct api_case *c,
                               enum axis_probe probe)
{
    const struct axis all = *out;
    for (size_t i = 1; i < all.slots.count && !*found; i++) {
        out->slots.items[1] = all.slots.items[i];
        out->slots.count = 2;
        TRY(probe_axis(found, c, out, probe));
    }
    return status_ok();
}

struct status axis_find(struct axis *out, bool *found, const struct api_case *c,
                        const struct slots *all, size_t slot, enum axis_probe probe)
{
    static const enum relation relations[] = { RELATION_NONE, RELATION_EQUAL, RELATION_RATIO };
    *found = false;
    if (probe == PROBE_ALL) {
        related_slots(out, all, slot, RELATION_EQUAL);
        return out->slots.count > 1 ? probe_axis(found, c, out, probe) : status_ok();
    }
    for (size_t i = 0; !*found && i < sizeof relations / sizeof *relations; i++) {
        related_slots(out, all, slot, relations[i]);
        if (i && out->slots.count == 1) continue;
        TRY(probe_axis(found, c, out, probe));
    }
    if (!*found) return find_pair(out, found, c, probe);
    return drop_loose_slots(out, c, probe);
}

static bool is_on_one(const struct axis *axes, size_t count, const struct slot *slot)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < axes[i].slots.count; k++)
            if (slot_is_same(&axes[i].slots.items[k], slot)) return true;
    return false;
}

struct status axes_list(struct axis *out, size_t *count, size_t most, const struct api_case *c)
{
    struct slots slots;
    *count = 0;
    slots_list(&slots, c);
    for (size_t s = 0; s < slots.count && *count < most; s++) {
        bool found;
        if (slots.items[s].integer || is_on_one(out, *count, &slots.items[s])) continue;
        TRY(axis_find(&out[*count], &found, c, &slots, s, PROBE_GROW));
        if (found) ++*count;
    }
    return status_ok();
}

/* ---- names ------------------------------------------------------------------------------ */

/* Does a bound argument hold this value: is it, or is it in its list? Bound values are copies, which
 * share their tensors and lists. */
static bool holds(const struct value *bound, const struct value *value)
{
    if (bound->kind == VALUE_TENSOR && value->kind == VALUE_TENSOR)
        return bound->tensor.tensor == value->tensor.tensor;
    if (bound->kind != VALUE_LIST && bound->kind != VALUE_SIZE) return false;
    for (size_t i = 0; i < bound->list.count; i++)
        if (&bound->list.items[i] == value || holds(&bound->list.items[i], value)) return true;
    return false;
}

static void append(char *out, const char *text)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, AXIS_NAME_BYTES - used, "%s", text);
}

/* The keyword that a value is given by, NULL when it is a positional one. */
static const char *keyword_of(const struct api_case *c, const struct value *value)
{
    for (size_t i = 0; i < c->kwargs.list.count; i++)
        if (&c->kwargs.list.items[i] == value) return c->kwargs.list.keys[i];
    return NULL;
}

static void append_slot(char *out, const struct slot *slot, const struct api_case *c,
                        const struct call *call)
{
    const struct value *value = slot_value(c, slot);
    const char *parameter = NULL;
    char text[80];
    for (int i = 0; call && value && i < call->arguments.schema->count; i++)
        if (holds(&call->arguments.bound[i], value))
            parameter = call->arguments.schema->parameters[i].name;
    if (slot->integer && !parameter) parameter = keyword_of(c, value);
    if (slot->integer)
        (void)snprintf(text, sizeof text, "%.40s", parameter ? parameter : "a number");
    else if (parameter)
        (void)snprintf(text, sizeof text, "dimension %d of %.40s", slot->dimension, parameter);
    else
        (void)snprintf(text, sizeof text, "dimension %d of tensor %zu", slot->dimension,
                       slot->number);
    append(out, text);
}

/* The first of the two operands among the tensors: addmm and its like have what is added before it. */
static size_t first_operand(const struct api_case *c)
{
    return strncmp(c->api, "add", 3) != 0 && strncmp(c->api, "badd", 4) != 0 ? 0 : 1;
}

/* M and N belong to one operand, K to two; what belongs to both and to the result is a batch. */
static const char *letter(const struct axis *axis, const struct api_case *c,
                          const struct call *call)
{
    bool in[2] = { false, false }, last_two[2] = { false, false };
    size_t first = first_operand(c);
    if (!call || strcmp(op_family(call->op), "matmul") != 0) return NULL;
    for (size_t i = 0; i < axis->slots.count; i++) {
        const struct slot *slot = &axis->slots.items[i];
        const struct value *value = slot_value(c, slot);
        if (slot->integer || !value) return NULL;
        if (slot->number < first || slot->number > first + 1) continue; /* a bias */
        in[slot->number - first] = true;
        last_two[slot->number - first] = slot->dimension + 2 >= value->tensor.tensor->rank;
    }
    if (in[0] && in[1]) return last_two[0] && last_two[1] ? "K" : "batch";
    if (in[0]) return last_two[0] ? "M" : "batch";
    return in[1] ? last_two[1] ? "N" : "batch" : NULL;
}

void axis_name(char out[AXIS_NAME_BYTES], const struct axis *axis, const struct api_case *c)
{
    struct arena arena = { 0 };
    struct call *call = arena_allocate_zeroed(&arena, 1, sizeof *call);
    if (call && call_bind(call, c, &arena).code) call = NULL;
    const char *name = letter(axis, c, call);
    out[0] = '\0';
    if (name) {
        append(out, name);
        append(out, " (");
    }
    for (size_t i = 0; i < axis->slots.count; i++) {
        if (i) append(out, ", ");
        append_slot(out, &axis->slots.items[i], c, call);
    }
    if (name) append(out, ")");
    arena_release(&arena);
}
