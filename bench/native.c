/* BENCH_NATIVE: results and gradients as a device returns them. */
#include "bench/evaluation.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/memory.h"

/* A node's values as dense elements of `dtype`. */
struct converted {
    char *out;
    const struct node *node;
    enum dtype dtype;
};

static void convert_some(void *context, size_t first, size_t n)
{
    enum { BLOCK = 512 };
    const struct converted *c = context;
    double buffer[BLOCK];
    size_t width = dtype_info(c->dtype)->bytes;
    for (size_t start = first; start < first + n; start += BLOCK) {
        size_t count = first + n - start < BLOCK ? first + n - start : BLOCK;
        dtype_from_double(c->out + start * width, c->dtype,
                          node_block(c->node, start, count, buffer), count);
    }
}

static struct status to_elements(void *out, struct tape *tape, struct node *node, enum dtype dtype)
{
    if (node->integer) {
        dtype_from_int64(out, dtype, node->integer, node->n);
        return status_ok();
    }
    if (!dtype_is_complex(dtype)) {
        struct converted converted = { out, node, dtype };
        if (!tape_failed(tape)) parallel_elements(tape->help, node->n, convert_some, &converted);
        return tape->status;
    }
    const double *re = node_values(tape, node);
    const double *im = node->imaginary ? node_values(tape, node->imaginary) : NULL;
    size_t width = dtype_info(dtype)->bytes;
    if (tape_failed(tape)) return tape->status;
    for (size_t i = 0; i < node->n; i++) {
        double pair[2] = { re[i], im ? im[i] : 0 };
        dtype_from_double((char *)out + i * width, dtype, pair, 1);
    }
    return tape->status;
}

/* A tensor in the room for results, where it fits. */
static bool place_tensor(struct tensor *out, struct bench *bench, const struct node *node,
                         enum dtype dtype)
{
    size_t bytes = arena_piece_bytes(node->n * dtype_info(dtype)->bytes);
    if (bytes > bench->room.bytes) return false;
    tensor_wrap(out, bench->room.next, dtype, node->rank, node->shape);
    bench->room.next += bytes;
    bench->room.bytes -= bytes;
    return true;
}

/* The cotangent whose elements a gradient has as they are, or NULL. */
static const struct tensor *passed_on(const struct node *node, enum dtype dtype)
{
    bool unread = node->source && !node->value && !node->deferral && !node->single;
    return unread && node->source->dtype == dtype ? node->source : NULL;
}

/* A node as a tensor of `dtype`. Floats that the tape has made and nobody has asked for as doubles are it themselves. */
static struct status to_tensor(struct value *out, struct bench *bench, struct node *node,
                               enum dtype dtype)
{
    struct tensor *tensor = arena_allocate(bench->own.arena, sizeof *tensor);
    if (!tensor) return status_no_memory(0);
    if (dtype == DT_F32 && node->single && !node->value && !node->source) {
        tensor_wrap(tensor, (void *)(uintptr_t)node->single, dtype, node->rank, node->shape);
    } else {
        if (!place_tensor(tensor, bench, node, dtype))
            TRY(tensor_create(tensor, bench->own.arena, dtype, node->rank, node->shape));
        TRY(to_elements(tensor->data, &bench->own.tape, node, dtype));
    }
    *out = (struct value){ .kind = VALUE_TENSOR };
    out->tensor.record = NULL;
    out->tensor.tensor = tensor;
    return status_ok();
}

/* A gradient that is its cotangent has the elements of that. */
static struct status to_gradient(struct value *out, struct bench *bench, struct node *node,
                                 enum dtype dtype)
{
    const struct tensor *cotangent = passed_on(node, dtype);
    if (!cotangent) return to_tensor(out, bench, node, dtype);
    struct tensor *tensor = arena_allocate(bench->own.arena, sizeof *tensor);
    if (!tensor) return status_no_memory(0);
    tensor_wrap(tensor, cotangent->data, dtype, node->rank, node->shape);
    *out = (struct value){ .kind = VALUE_TENSOR };
    out->tensor.record = NULL;
    out->tensor.tensor = tensor;
    return status_ok();
}

static struct status new_list(struct value *out, size_t count, struct arena *arena)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.keys = NULL;
    out->list.count = count;
    out->list.items = arena_allocate_zeroed(arena, count, sizeof *out->list.items);
    return out->list.items ? status_ok() : status_no_memory(0);
}

struct status bench_native_outputs(struct value *out, struct bench *bench)
{
    TRY(new_list(out, bench->own.call.results.count, bench->own.arena));
    for (size_t i = 0; i < bench->own.call.results.count; i++) {
        const struct result *result = &bench->own.call.results.items[i];
        if (result->kind == BENCH_OUTPUT_VALUE) out->list.items[i] = result->value;
        else if (result->kind != BENCH_OUTPUT_NONE)
            TRY(to_tensor(&out->list.items[i], bench, result->node, result->dtype));
    }
    return status_ok();
}

struct status bench_native_gradients(struct value *out, struct bench *bench,
                                     const struct value *cotangents)
{
    struct evaluation *own = &bench->own;
    TRY(evaluation_backward(own, cotangents));
    TRY(new_list(out, own->call.arguments.leaf_count, own->arena));
    for (size_t i = 0; i < own->call.arguments.leaf_count; i++) {
        struct node *gradient = evaluation_gradient(own, i);
        TRY(own->tape.status);
        if (gradient)
            TRY(to_gradient(&out->list.items[i], bench, gradient,
                            own->call.arguments.leaves[i].value->tensor.tensor->dtype));
    }
    return status_ok();
}

/* ---- results alone -------------------------------------------------------------------------- */

enum { LISTS = 2, WORTH_MOVING = 1 << 20 };

static bool add_recorded(struct value *value, void *context)
{
    const struct tensor_record *record = value->tensor.record;
    size_t *bytes = context, n;
    if (record && shape_elements(&n, record->rank, record->shape) && n < SIZE_MAX / 64)
        *bytes += arena_piece_bytes(n * dtype_info(record->dtype)->bytes);
    return true;
}

/* Gradients have the dtype and the shape of arguments. */
static bool add_argument(struct value *value, void *context)
{
    const struct tensor *tensor = value->tensor.tensor;
    size_t *bytes = context;
    if (tensor && dtype_info(tensor->dtype)->kind >= KIND_FLOAT)
        *bytes += arena_piece_bytes(tensor_elements(tensor) * dtype_info(tensor->dtype)->bytes);
    return true;
}

size_t bench_native_room(const struct api_case *c, bool gradients)
{
    struct value outputs = c->outputs, args = c->args, kwargs = c->kwargs;
    size_t bytes = 0;
    (void)value_each_tensor(&outputs, add_recorded, &bytes);
    if (gradients) (void)value_each_tensor(&args, add_argument, &bytes);
    if (gradients) (void)value_each_tensor(&kwargs, add_argument, &bytes);
    return bytes < WORTH_MOVING ? 0 : bytes;
}

void bench_native_place(struct bench *bench, void *room, size_t bytes)
{
    bench->room.next = room;
    bench->room.bytes = bytes;
}

/* A result that stays, and the list and the place that it is entered in. */
struct kept {
    int list;
    size_t place;
    struct tensor tensor;
    bool is_input; /* its elements are those of an input, which stays where it is */
};

struct input_search {
    const void *data;
    bool found;
};

static bool is_that_input(struct value *value, void *context)
{
    struct input_search *search = context;
    const struct tensor *tensor = value->tensor.tensor;
    search->found = search->found || (tensor && tensor->data == search->data);
    return true;
}

static bool is_input(const struct api_case *c, const void *data)
{
    struct value args = c->args, kwargs = c->kwargs, cotangents = c->cotangents;
    struct input_search search = { data, false };
    (void)value_each_tensor(&args, is_that_input, &search);
    (void)value_each_tensor(&kwargs, is_that_input, &search);
    (void)value_each_tensor(&cotangents, is_that_input, &search);
    return search.found;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct kept *)a)->tensor.data,
              y = (uintptr_t)((const struct kept *)b)->tensor.data;
    return (x > y) - (x < y);
}

static size_t length_of(const struct value *list)
{
    return list->kind == VALUE_LIST ? list->list.count : 0;
}

/* The tensors of the lists in the order of memory, and the elements of those that are no inputs. False when they hold something else
 * that lies in the arena, or when tensors do not lie apart behind `start`. */
static bool find_kept(struct kept *out, size_t *count, struct arena_piece *elements, size_t *pieces,
                      struct value *const *lists, const struct api_case *c, const void *start)
{
    uintptr_t end = (uintptr_t)start;
    *count = *pieces = 0;
    for (int k = 0; k < LISTS; k++)
        for (size_t i = 0; i < length_of(lists[k]); i++) {
            const struct value *item = &lists[k]->list.items[i];
            if (item->kind == VALUE_NONE) continue;
            if (item->kind != VALUE_TENSOR) return false;
            const struct tensor *tensor = item->tensor.tensor;
            out[(*count)++] = (struct kept){ k, i, *tensor, is_input(c, tensor->data) };
        }
    if (*count) qsort(out, *count, sizeof *out, by_address);
    for (size_t i = 0; i < *count; i++) {
        const struct tensor *tensor = &out[i].tensor;
        size_t bytes = tensor_elements(tensor) * dtype_info(tensor->dtype)->bytes;
        if (out[i].is_input) continue;
        if ((uintptr_t)tensor->data < end) return false;
        end = (uintptr_t)tensor->data + bytes;
        elements[(*pieces)++] = (struct arena_piece){ tensor->data, bytes };
    }
    return true;
}

static struct status enter_kept(struct value *const *lists, const size_t *lengths,
                                const struct kept *kept, const struct arena_piece *elements,
                                size_t count, struct arena *arena)
{
    for (int k = 0; k < LISTS; k++) {
        if (lists[k]->kind != VALUE_LIST) continue;
        TRY(new_list(lists[k], lengths[k], arena));
        for (size_t i = 0; i < lengths[k]; i++) lists[k]->list.items[i].kind = VALUE_NONE;
    }
    for (size_t i = 0, piece = 0; i < count; i++) {
        struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
        if (!tensor) return status_no_memory(sizeof *tensor);
        *tensor = kept[i].tensor;
        if (!kept[i].is_input) tensor->data = elements[piece++].data;
        struct value *item = &lists[kept[i].list]->list.items[kept[i].place];
        item->kind = VALUE_TENSOR;
        item->tensor.tensor = tensor;
    }
    return status_ok();
}

/* Bytes that move down a way, in parts. */
struct moving {
    char *to;
    const char *from;
    size_t bytes;
};

enum { MOVED_PART = 1 << 20 };

static struct status move_part(void *context, size_t number, void *scratch)
{
    const struct moving *m = context;
    size_t start = number * MOVED_PART, left = m->bytes - start;
    (void)scratch;
    memcpy(m->to + start, m->from + start, left < MOVED_PART ? left : MOVED_PART);
    return status_ok();
}

/* What is moved no further than the way overlaps nothing of itself: so much at a time. */
static void move_in_parts(void *context, void *to, const void *from, size_t bytes)
{
    size_t way = (size_t)((const char *)from - (char *)to);
    if (way < MOVED_PART) {
        memmove(to, from, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += way) {
        struct moving moving = { (char *)to + done, (const char *)from + done,
                                 bytes - done < way ? bytes - done : way };
        size_t parts = (moving.bytes - 1) / MOVED_PART + 1;
        (void)parallel_run(context, NULL, &(struct parallel){ parts, 0, move_part, &moving });
    }
}

struct status bench_native_keep(struct value *outputs, struct value *gradients, struct arena *arena,
                                struct arena_mark mark, const void *start, const struct api_case *c)
{
    struct value *lists[LISTS] = { outputs, gradients };
    const size_t lengths[LISTS] = { length_of(outputs), length_of(gradients) };
    const size_t most = lengths[0] + lengths[1] + 1;
    size_t count, pieces;
    if (arena->used_bytes - mark.used_bytes < WORTH_MOVING) return status_ok();
    struct kept *kept = memory_allocate_zeroed(most, sizeof *kept);
    struct arena_piece *elements = memory_allocate_zeroed(most, sizeof *elements);
    struct status status = kept && elements ? status_ok() : status_no_memory(0);
    if (!status.code && find_kept(kept, &count, elements, &pieces, lists, c, start) &&
        arena_rewind_keeping(arena, mark, elements, pieces, move_in_parts, c->help))
        status = enter_kept(lists, lengths, kept, elements, count, arena);
    memory_release(kept);
    memory_release(elements);
    return status;
}
