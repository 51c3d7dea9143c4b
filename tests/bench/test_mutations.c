/* Wrong arguments: every golden and every written call with its arguments changed at random.
 *
 * Whatever a dump asks for, an op either computes or says why not; it never reads outside
 * its inputs, divides by zero or runs out of a fixed array. Numbers are replaced by small,
 * negative and huge ones, tensors by others of the call, by empty ones and scalars, by ones with
 * a dimension more or less or another extent; arguments are dropped, doubled or made None.
 * What a call then returns is not judged; sanitizers watch.
 *
 * `bench-mutations NAME` runs only calls whose API contains NAME; a second argument is the
 * number of changed calls for each, a third one the seed.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/samples.h"
#include "support/suite.h"

static const char *filter;
static int rounds = 6;
static uint64_t seed;

enum { MOST_BYTES = 64 << 20 };

/* A small linear congruential stream; the seed is printed with a failure. */
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

static const int64_t integers[] = { 0,  1,   -1,   2,    3,       -2,        5,         -7,
                                    17, 100, -100, 4096, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN };
static const double reals[] = { 0, -1, 0.5, 1e300, -1e-300, 3, 1.0 / 0.0, 0.0 / 0.0 };
static const char *const words[] = { "", "mean", "sum", "reflect", "bilinear", "nonsense" };

static struct value tensor_of(enum dtype dtype, int rank, const int64_t *shape, struct arena *arena)
{
    struct value v = { .kind = VALUE_TENSOR };
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    ck_assert_int_eq(tensor_create(tensor, arena, dtype, rank, shape).code, 0);
    memset(tensor->data, 0, tensor_elements(tensor) * dtype_info(dtype)->bytes);
    record->dtype = dtype;
    record->requires_grad = dtype_is_float(dtype);
    record->rank = rank;
    memcpy(record->shape, shape, (size_t)rank * sizeof *shape);
    v.tensor.record = record;
    v.tensor.tensor = tensor;
    return v;
}

/* The same tensor with a dimension more or less, another extent, or as many dimensions as there can be. Integers
 * are one number everywhere, mostly 0, which few ops refuse. */
static struct value another_shape(const struct tensor *old, struct arena *arena)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = old->rank, at = rank ? (int)draw((uint64_t)rank) : 0;
    memcpy(shape, old->shape, sizeof shape);
    switch (rank ? draw(4) : 1) {
    case 0: /* one less */
        memmove(shape + at, shape + at + 1, (size_t)(rank - at - 1) * sizeof *shape);
        rank--;
        break;
    case 1: /* one more */
        if (rank == TENSOR_MAX_RANK) break;
        memmove(shape + at + 1, shape + at, (size_t)(rank - at) * sizeof *shape);
        shape[at] = (int64_t)draw(4);
        rank++;
        break;
    case 2: shape[at] = (int64_t)draw(5); break;
    default:
        rank = TENSOR_MAX_RANK - (int)draw(4);
        for (int d = 0; d < rank; d++) shape[d] = 1;
    }
    struct value v = tensor_of(old->dtype, rank, shape, arena);
    int64_t fill = draw(3)   ? 0
                   : draw(2) ? (int64_t)draw(9) - 4
                             : integers[draw(sizeof integers / sizeof *integers)];
    if (old->dtype == DT_I64)
        for (size_t i = 0; i < tensor_elements(v.tensor.tensor); i++)
            ((int64_t *)v.tensor.tensor->data)[i] = fill;
    return v;
}

static struct value any_value(const struct api_case *c, struct arena *arena)
{
    static const enum dtype dtypes[] = { DT_F32, DT_I64, DT_BOOL, DT_C64, DT_F64, DT_U8 };
    static const int64_t shapes[][4] = { { 0 }, { 1 }, { 2, 3 }, { 0, 2 }, { 2, 1, 3, 1 } };
    static const int ranks[] = { 1, 1, 2, 2, 4 };
    struct value v = { .kind = VALUE_NONE };
    switch (draw(9)) {
    case 0:
        v.kind = VALUE_INT;
        v.integer = integers[draw(sizeof integers / sizeof *integers)];
        break;
    case 1:
        v.kind = VALUE_INT;
        v.integer = (int64_t)draw(9) - 4;
        break;
    case 2:
        v.kind = VALUE_FLOAT;
        v.real = reals[draw(sizeof reals / sizeof *reals)];
        break;
    case 3:
        v.kind = VALUE_BOOL;
        v.boolean = draw(2);
        break;
    case 4:
        v.kind = VALUE_STRING;
        v.string = words[draw(sizeof words / sizeof *words)];
        break;
    case 5: return tensor_of(dtypes[draw(6)], 0, shapes[0], arena);
    case 6: {
        size_t k = draw(5);
        return tensor_of(dtypes[draw(6)], ranks[k], shapes[k], arena);
    }
    case 7:
        if (c->args.list.count) v = c->args.list.items[draw(c->args.list.count)];
        if (value_is_sequence(&v)) v.kind = VALUE_NONE; /* it may hold the value to be changed */
        break;
    default: break;
    }
    return v;
}

static void change_list(struct value *list, const struct api_case *c, struct arena *arena);

static void change_value(struct value *v, const struct api_case *c, struct arena *arena)
{
    if ((v->kind == VALUE_LIST || v->kind == VALUE_SIZE) && v->list.count && draw(2))
        change_list(v, c, arena);
    else if (v->kind == VALUE_TENSOR && v->tensor.tensor && draw(2))
        *v = another_shape(v->tensor.tensor, arena);
    else if (v->kind == VALUE_INT && draw(3))
        v->integer = draw(2) ? (int64_t)draw(9) - 4
                             : integers[draw(sizeof integers / sizeof *integers)];
    else *v = any_value(c, arena);
}

/* Change, drop or double one item of a copy of the list. */
static void change_list(struct value *list, const struct api_case *c, struct arena *arena)
{
    size_t count = list->list.count, at = count ? draw(count) : 0;
    struct value *items = arena_allocate_array(arena, count + 1, sizeof *items);
    memcpy(items, list->list.items, count * sizeof *items);
    list->list.items = items;
    if (!count) {
        items[0] = any_value(c, arena);
        list->list.count = list->kind == VALUE_LIST;
    } else if (list->kind != VALUE_DICT && draw(5) == 0) {
        list->list.count--;
    } else if (list->kind == VALUE_LIST && draw(6) == 0) {
        items[list->list.count++] = items[at];
    } else {
        change_value(&items[at], c, arena);
    }
}

static void run_changed(const struct api_case *c, struct arena *arena)
{
    struct bench *bench;
    struct bench_output *gradients;
    struct value outputs, cotangents;
    size_t count;

    if (!bench_open(&bench, c, arena, BENCH_REFERENCE).code && c->cotangents.kind == VALUE_LIST)
        (void)bench_backward(&gradients, &count, bench, &c->cotangents);
    if (bench_open(&bench, c, arena, BENCH_NATIVE).code) return;
    if (bench_native_outputs(&outputs, bench).code) return;
    /* Cotangents of the new outputs' shapes: the outputs themselves. */
    (void)bench_native_gradients(&cotangents, bench, &outputs);
    if (bench_open(&bench, c, arena, BENCH_REFERENCE).code) return;
    if (!bench_settle(bench, &outputs).code)
        (void)bench_backward(&gradients, &count, bench, &outputs);
}

static void change_sample(void *context, struct sample *sample, struct arena *unused)
{
    size_t *number = context;
    struct value args = sample->c.args, kwargs = sample->c.kwargs;
    struct arena run = { .limit_bytes = MOST_BYTES };
    (void)unused;
    ++*number;
    if (getenv("PROBE_TEST_VERBOSE")) {
        printf("%s: %s.%s\n", sample->place, sample->c.type, sample->c.api);
        fflush(stdout);
    }
    for (int k = 0; k < rounds; k++) {
        state = seed * UINT64_C(1000000007) + *number * 1000 + (uint64_t)k;
        sample->c.args = args;
        sample->c.kwargs = kwargs;
        for (uint64_t changes = draw(3) + 1; changes; changes--)
            change_list(draw(3) || !kwargs.list.count ? &sample->c.args : &sample->c.kwargs,
                        &sample->c, &run);
        run_changed(&sample->c, &run);
        arena_reset(&run);
    }
    arena_release(&run);
}

START_TEST(changed_calls_are_computed_or_refused)
{
    size_t number = 0;
    samples_each(filter, change_sample, &number);
    printf("%zu calls changed %d times each\n", number, rounds);
    ck_assert_uint_gt(number, 0);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    if (count > 2) rounds = atoi(arguments[2]);
    if (count > 3) seed = strtoull(arguments[3], NULL, 10);
    Suite *suite = suite_create("mutations");
    TCase *tests = tcase_create("mutations");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, changed_calls_are_computed_or_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
