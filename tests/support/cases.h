/* Hand-made calls for tests of devices: values, tensors and a struct api_case around them. */
#ifndef PROBE_TESTS_RUNNER_CASES_H
#define PROBE_TESTS_RUNNER_CASES_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/case.h"

static inline struct value int_value(int64_t i)
{
    return (struct value){ .kind = VALUE_INT, .integer = i };
}

static inline struct value float_value(double x)
{
    return (struct value){ .kind = VALUE_FLOAT, .real = x };
}

static inline struct value bool_value(bool b)
{
    return (struct value){ .kind = VALUE_BOOL, .boolean = b };
}

static inline struct value string_value(const char *text)
{
    return (struct value){ .kind = VALUE_STRING, .string = text };
}

static inline struct value dtype_value(enum dtype dtype)
{
    return (struct value){ .kind = VALUE_DTYPE, .dtype = dtype };
}

static inline struct value none_value(void) { return (struct value){ .kind = VALUE_NONE }; }

/* A tensor with a record. Elements are the given doubles (repeated when there are fewer). */
static inline struct value tensor_value(struct arena *arena, enum dtype dtype, bool requires_grad,
                                        int rank, const int64_t *shape, const double *elements,
                                        size_t n_elements)
{
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    if (tensor_create(tensor, arena, dtype, rank, shape).code) abort();
    size_t n = tensor_elements(tensor), width = dtype_info(dtype)->bytes;
    for (size_t i = 0; i < n; i++)
        dtype_from_double((unsigned char *)tensor->data + i * width, dtype,
                          &elements[i % n_elements], 1);
    record->dtype = dtype;
    record->dtype_name = dtype_info(dtype)->name;
    record->rank = rank;
    for (int i = 0; i < rank; i++) record->shape[i] = shape[i];
    record->requires_grad = requires_grad;
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { record, tensor } };
}

/* Elements -1, -0.75, -0.5, ... that a float16 holds exactly. */
static inline struct value ramp_value(struct arena *arena, enum dtype dtype, bool requires_grad,
                                      int rank, const int64_t *shape)
{
    double ramp[37];
    for (int i = 0; i < 37; i++) ramp[i] = (i * 7 % 37) * 0.25 - 4;
    return tensor_value(arena, dtype, requires_grad, rank, shape, ramp, 37);
}

static inline struct value list_value(struct arena *arena, size_t count, ...)
{
    struct value list = { .kind = VALUE_LIST };
    va_list items;
    list.list.items = arena_allocate_zeroed(arena, count ? count : 1, sizeof(struct value));
    list.list.count = count;
    va_start(items, count);
    for (size_t i = 0; i < count; i++) list.list.items[i] = va_arg(items, struct value);
    va_end(items);
    return list;
}

/* key, value, key, value, ... */
static inline struct value dict_value(struct arena *arena, size_t count, ...)
{
    struct value dict = { .kind = VALUE_DICT };
    va_list items;
    dict.list.items = arena_allocate_zeroed(arena, count ? count : 1, sizeof(struct value));
    dict.list.keys = arena_allocate_zeroed(arena, count ? count : 1, sizeof(char *));
    dict.list.count = count;
    va_start(items, count);
    for (size_t i = 0; i < count; i++) {
        dict.list.keys[i] = va_arg(items, const char *);
        dict.list.items[i] = va_arg(items, struct value);
    }
    va_end(items);
    return dict;
}

static inline struct api_case make_case(struct arena *arena, const char *type, const char *api,
                                        struct value args)
{
    struct api_case c;
    memset(&c, 0, sizeof c);
    c.full_name = arena_format(arena, "%s.%s.0", type, api);
    c.type = type;
    c.api = api;
    c.args = args;
    c.kwargs = dict_value(arena, 0);
    c.outputs = list_value(arena, 0);
    c.cotangents = list_value(arena, 0);
    c.gradients = list_value(arena, 0);
    return c;
}

/* Elements of a tensor value as doubles. */
static inline double *doubles_of(struct arena *arena, const struct value *value)
{
    ck_assert_int_eq(value->kind, VALUE_TENSOR);
    const struct tensor *t = value->tensor.tensor;
    size_t n = tensor_elements(t);
    double *out = arena_allocate_array(arena, 2 * n + 1, sizeof *out);
    ck_assert(tensor_is_dense(t));
    dtype_to_double(out, t->data, t->dtype, n);
    return out;
}

#endif
