/* Hand-made cases for the tests of the generator: arguments are added one by one, inputs
 * are generated, elements are read back as numbers. */
#ifndef PROBE_TESTS_GENERATORS_CASE_BUILDER_H
#define PROBE_TESTS_GENERATORS_CASE_BUILDER_H

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generators/generate.h"

#define BUILDER __attribute__((unused)) static

struct built_case {
    struct arena arena;
    struct api_case c;
    struct generate_notes notes;
    struct generate_options options;
    struct value args[20], kwargs[8], cotangents[8], outputs[8];
    const char *keys[8];
};

/* `name` is the full name, "Torch.gather.0". */
BUILDER struct built_case *build_case(const char *name)
{
    struct built_case *b = calloc(1, sizeof *b);
    const char *dot = strchr(name, '.'), *last = strrchr(name, '.');

    b->c.full_name = arena_copy_string(&b->arena, name);
    b->c.type = arena_copy_bytes(&b->arena, name, (size_t)(dot - name));
    b->c.api = arena_copy_bytes(&b->arena, dot + 1, (size_t)(last - dot - 1));
    b->c.args = (struct value){ .kind = VALUE_LIST, .list = { b->args, NULL, 0 } };
    b->c.kwargs = (struct value){ .kind = VALUE_DICT, .list = { b->kwargs, b->keys, 0 } };
    b->c.cotangents = (struct value){ .kind = VALUE_LIST, .list = { b->cotangents, NULL, 0 } };
    b->c.outputs = (struct value){ .kind = VALUE_LIST, .list = { b->outputs, NULL, 0 } };
    b->options.seed = 1234;
    return b;
}

BUILDER void free_case(struct built_case *b)
{
    arena_release(&b->arena);
    free(b);
}

BUILDER struct statistic number(double x) { return (struct statistic){ STATISTIC_NUMBER, x }; }

/* A tensor of at most four dimensions; an extent below 0 ends the shape. */
BUILDER struct value tensor4(struct built_case *b, enum dtype dtype, double lo, double hi,
                             int64_t d0, int64_t d1, int64_t d2, int64_t d3)
{
    struct tensor_record *record = arena_allocate_zeroed(&b->arena, 1, sizeof *record);
    const int64_t dims[4] = { d0, d1, d2, d3 };

    record->dtype = dtype;
    record->dtype_name = dtype_info(dtype)->name;
    while (record->rank < 4 && dims[record->rank] >= 0) {
        record->shape[record->rank] = dims[record->rank];
        record->rank++;
    }
    record->min = number(lo);
    record->max = number(hi);
    struct value value = { .kind = VALUE_TENSOR };
    value.tensor.record = record;
    return value;
}

#define TENSOR0(B, T, LO, HI)                 tensor4(B, T, LO, HI, -1, -1, -1, -1)
#define TENSOR1(B, T, LO, HI, A0)             tensor4(B, T, LO, HI, A0, -1, -1, -1)
#define TENSOR2(B, T, LO, HI, A0, A1)         tensor4(B, T, LO, HI, A0, A1, -1, -1)
#define TENSOR3(B, T, LO, HI, A0, A1, A2)     tensor4(B, T, LO, HI, A0, A1, A2, -1)
#define TENSOR4(B, T, LO, HI, A0, A1, A2, A3) tensor4(B, T, LO, HI, A0, A1, A2, A3)

BUILDER struct value integer(int64_t x)
{
    return (struct value){ .kind = VALUE_INT, .integer = x };
}

BUILDER struct value boolean(bool x) { return (struct value){ .kind = VALUE_BOOL, .boolean = x }; }

BUILDER struct value string(const char *x)
{
    return (struct value){ .kind = VALUE_STRING, .string = x };
}

BUILDER struct value none(void) { return (struct value){ .kind = VALUE_NONE }; }

BUILDER struct value ellipsis(void) { return (struct value){ .kind = VALUE_ELLIPSIS }; }

/* A full slice, `:`. */
BUILDER struct value full_slice(struct built_case *b)
{
    struct value *parts = arena_allocate_zeroed(&b->arena, 3, sizeof *parts);
    return (struct value){ .kind = VALUE_SLICE, .list = { parts, NULL, 3 } };
}

BUILDER struct value list(struct built_case *b, size_t count, const struct value *items)
{
    struct value *copy = arena_allocate_array(&b->arena, count, sizeof *copy);
    for (size_t i = 0; i < count; i++) copy[i] = items[i];
    return (struct value){ .kind = VALUE_LIST, .list = { copy, NULL, count } };
}

BUILDER void add(struct built_case *b, struct value value)
{
    b->args[b->c.args.list.count++] = value;
}

BUILDER void add_keyword(struct built_case *b, const char *key, struct value value)
{
    b->keys[b->c.kwargs.list.count] = key;
    b->kwargs[b->c.kwargs.list.count++] = value;
}

BUILDER void add_output(struct built_case *b, struct value value)
{
    b->outputs[b->c.outputs.list.count++] = value;
}

BUILDER void add_cotangent(struct built_case *b, struct value value)
{
    b->c.has_backward = true;
    b->cotangents[b->c.cotangents.list.count++] = value;
}

BUILDER void generate(struct built_case *b)
{
    struct status status = generate_inputs(&b->c, &b->notes, &b->arena, NULL, &b->options);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

BUILDER size_t elements(const struct value *value)
{
    ck_assert_ptr_nonnull(value->tensor.tensor);
    ck_assert(tensor_is_dense(value->tensor.tensor));
    return tensor_elements(value->tensor.tensor);
}

/* All elements; complex ones take two places. */
BUILDER double *reals(struct built_case *b, const struct value *value)
{
    size_t n = elements(value);
    double *out = arena_allocate_array(&b->arena, 2 * n, sizeof *out);
    dtype_to_double(out, value->tensor.tensor->data, value->tensor.tensor->dtype, n);
    return out;
}

BUILDER int64_t *integers(struct built_case *b, const struct value *value)
{
    size_t n = elements(value);
    int64_t *out = arena_allocate_array(&b->arena, n, sizeof *out);
    ck_assert(dtype_is_integral(value->tensor.tensor->dtype));
    dtype_to_int64(out, value->tensor.tensor->data, value->tensor.tensor->dtype, n);
    return out;
}

BUILDER bool noted(const struct built_case *b, const char *text)
{
    for (size_t i = 0; i < b->notes.count; i++)
        if (strstr(b->notes.lines[i], text)) return true;
    return false;
}

/* FNV-1a over bytes. */
BUILDER uint64_t hash_bytes(const void *bytes, size_t n, uint64_t hash)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

BUILDER uint64_t hash_tensor(const struct tensor *tensor)
{
    return hash_bytes(tensor->data, tensor_elements(tensor) * dtype_info(tensor->dtype)->bytes,
                      0xcbf29ce484222325u);
}

/* Of all tensors inside a value, on top of `hash`. */
BUILDER uint64_t hash_value(const struct value *value, uint64_t hash)
{
    if (value->kind == VALUE_TENSOR) return hash * 31 + hash_tensor(value->tensor.tensor);
    if (!value_is_sequence(value)) return hash;
    for (size_t i = 0; i < value->list.count; i++) hash = hash_value(&value->list.items[i], hash);
    return hash;
}

/* Run the suites of a test program; its exit status. */
BUILDER int run_tests(const char *name, TCase *tests)
{
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

#endif
