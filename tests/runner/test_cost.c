/* Estimates against what defines them: products are counted from shapes by hand, and quotients of estimates
 * from those. How good the figures are is measured (tests/perf/bench_cost.c). */
#include "runner/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/registry.h"
#include "runner/cost_classes.h"
#include "support/suite.h"

enum { MOST_TENSORS = 4 };

/* A call of tensors that have a record and no elements. */
struct made {
    struct api_case c;
    struct tensor_record records[MOST_TENSORS], result;
    struct value args[MOST_TENSORS], outputs[1];
};

static struct tensor_record record_of(enum dtype dtype, const char *shape)
{
    struct tensor_record record = { .dtype = dtype, .dtype_name = "" };
    for (char *end; *shape; shape = *end ? end + 1 : end)
        record.shape[record.rank++] = strtoll(shape, &end, 10);
    return record;
}

/* "4x8,8x3": the shapes of the arguments; of the result, or "" for one that is not recorded. */
static struct api_case *call_of(struct made *made, const char *type, const char *api,
                                enum dtype dtype, const char *shapes, const char *result)
{
    char text[128], *rest = text;
    size_t count = 0;
    *made = (struct made){ .c = { .full_name = "", .type = type, .api = api } };
    strcpy(text, shapes);
    for (char *shape; (shape = strsep(&rest, ","));) {
        made->records[count] = record_of(dtype, shape);
        made->args[count] =
            (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = &made->records[count] } };
        count++;
    }
    made->c.args =
        (struct value){ .kind = VALUE_LIST, .list = { .items = made->args, .count = count } };
    made->c.kwargs.kind = VALUE_DICT;
    made->result = record_of(dtype, result);
    made->outputs[0] =
        (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = &made->result } };
    made->c.outputs = (struct value){ .kind = VALUE_LIST,
                                      .list = { .items = made->outputs, .count = *result != 0 } };
    return &made->c;
}

/* Seconds of one factor. */
static double part_of(enum cost_factor factor, const struct api_case *c)
{
    const struct cost_model model = cost_model_built_in();
    struct cost_estimator estimator;
    ck_assert_int_eq(cost_estimator_open(&estimator, &model).code, STATUS_OK);
    double seconds = cost_of_call(&estimator, c).seconds[factor];
    cost_estimator_close(&estimator);
    return seconds;
}

static double seconds_of(const struct api_case *c)
{
    const struct cost_model model = cost_model_built_in();
    struct cost_estimator estimator;
    ck_assert_int_eq(cost_estimator_open(&estimator, &model).code, STATUS_OK);
    double seconds = cost_call_seconds(&estimator, c);
    cost_estimator_close(&estimator);
    return seconds;
}

static double products(const char *type, const char *api, const char *shapes, const char *result)
{
    struct made made;
    return part_of(COST_PRODUCT, call_of(&made, type, api, DT_F32, shapes, result));
}

static void check_quotient(double got, double of, double want)
{
    ck_assert_double_gt(of, 0);
    ck_assert_double_eq_tol(got / of, want, 1e-9 * want);
}

/* Rows have a class of their family, but for the few of a family that nobody has measured. */
START_TEST(nearly_every_row_has_a_class)
{
    const struct op *op;
    size_t rows, without = 0;
    for (rows = 0; (op = op_row(rows)); rows++) {
        const struct cost_class *class = cost_class_of(op);
        without += !class->family;
        if (class->family) ck_assert_str_eq(class->family, op_family(op));
    }
    ck_assert_uint_gt(rows, 500);
    ck_assert_uint_le(20 * without, rows);
}
END_TEST

/* Rows and columns of a product, and what is summed between them, count alike. */
START_TEST(products_of_matrices_are_counted)
{
    double unit = products("Torch", "matmul", "8x16,16x4", "8x4"); /* 512 */
    check_quotient(products("Torch", "matmul", "80x160,160x40", "80x40"), unit, 1000);
    check_quotient(products("Torch", "bmm", "7x8x16,7x16x4", "7x8x4"), unit, 7);
    check_quotient(products("Torch", "addmm", "8x4,8x16,16x4", "8x4"), unit, 1);
    check_quotient(products("Functional", "linear", "2x4x16,4x16,4", "2x4x4"), unit, 1);
    check_quotient(products("Torch", "mv", "8x16,16", "8"), unit, 0.25);
}
END_TEST

/* 2 images of 5x5 results in 6 channels, each the sum of 3 channels times 3x3 weights. */
START_TEST(products_of_convolutions_are_counted)
{
    double unit = products("Functional", "conv2d", "2x3x7x7,6x3x3x3", "2x6x5x5"); /* 8,100 */
    check_quotient(products("Functional", "conv2d", "2x3x7x7,6x3x3x3", "2x6x10x10"), unit, 4);
    check_quotient(products("Functional", "conv2d", "2x6x7x7,6x1x3x3", "2x6x5x5"), unit, 1. / 3);
    /* Of a transposed one, each argument is spread over 6 channels of 3x3. */
    check_quotient(products("Functional", "conv_transpose2d", "4x3x5x5,3x6x3x3", "4x6x7x7"),
                   products("Functional", "conv_transpose2d", "2x3x5x5,3x6x3x3", "2x6x7x7"), 2);
}
END_TEST

/* A dump without results gives the estimate of one that has them. */
START_TEST(missing_results_are_inferred)
{
    static const struct {
        const char *type, *api, *shapes, *result;
    } calls[] = {
        { "Torch", "matmul", "8x16,16x4", "8x4" },
        { "Torch", "matmul", "5x8x16,5x16x4", "5x8x4" },
        { "Torch", "addmm", "8x4,8x16,16x4", "8x4" },
        { "Functional", "linear", "2x8x16,4x16", "2x8x4" },
        { "Functional", "conv2d", "2x3x7x7,6x3x1x1", "2x6x7x7" },
        { "Functional", "gelu", "5x7", "5x7" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct made with, without;
        call_of(&with, calls[i].type, calls[i].api, DT_F32, calls[i].shapes, calls[i].result);
        call_of(&without, calls[i].type, calls[i].api, DT_F32, calls[i].shapes, "");
        ck_assert_double_eq(seconds_of(&with.c), seconds_of(&without.c));
    }
}
END_TEST

/* Other spellings of an API are that API: in place, as an operator, with the operands exchanged. */
START_TEST(spellings_cost_the_same)
{
    struct made made;
    double plain = seconds_of(call_of(&made, "Tensor", "mul", DT_F32, "64x64,64x64", ""));
    ck_assert_double_gt(plain, 0);
    static const char *const spellings[] = { "mul_", "__mul__", "__rmul__", "__imul__",
                                             "multiply" };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        ck_assert_double_eq(
            seconds_of(call_of(&made, "Tensor", spellings[i], DT_F32, "64x64,64x64", "")), plain);
}
END_TEST

/* A backward, more elements and fewer bits each cost more; a call that cannot be checked costs least. */
START_TEST(more_costs_more)
{
    struct made made;
    struct api_case *c = call_of(&made, "Functional", "gelu", DT_F32, "64x64", "64x64");
    double forward = seconds_of(c);
    c->has_backward = true;
    double both = seconds_of(c);
    ck_assert_double_gt(both, forward);
    call_of(&made, "Functional", "gelu", DT_F32, "128x64", "128x64")->has_backward = true;
    ck_assert_double_gt(seconds_of(&made.c), both);
    call_of(&made, "Functional", "gelu", DT_BF16, "64x64", "64x64")->has_backward = true;
    ck_assert_double_gt(seconds_of(&made.c), both);

    const struct cost_model model = cost_model_built_in();
    double unknown = seconds_of(call_of(&made, "Torch", "no_such_api", DT_F32, "64x64", ""));
    ck_assert_double_eq(unknown, cost_skipped_seconds(&model));
    ck_assert_double_lt(unknown, seconds_of(call_of(&made, "Torch", "neg", DT_F32, "1", "")));
}
END_TEST

/* Dropout that keeps everything draws nothing, and its random numbers are most of its cost. */
START_TEST(idle_dropout_is_cheap)
{
    struct made made;
    struct api_case *c = call_of(&made, "Functional", "dropout", DT_F32, "100x100,1,1", "100x100");
    struct value *p = &made.args[1], *training = &made.args[2];
    *p = (struct value){ .kind = VALUE_FLOAT, .real = 0.1 };
    *training = (struct value){ .kind = VALUE_BOOL, .boolean = true };
    double draws = seconds_of(c);
    training->boolean = false;
    ck_assert_double_lt(10 * seconds_of(c), draws);
    training->boolean = true;
    p->real = 0;
    ck_assert_double_lt(10 * seconds_of(c), draws);
}
END_TEST

/* Whatever a dump claims: a number that can be added. */
START_TEST(any_shape_has_a_finite_cost)
{
    struct made made;
    const char *huge = "9223372036854775807x9223372036854775807x9223372036854775807";
    static const char *const apis[] = { "matmul", "add", "softmax", "svdvals", "cdist", "einsum" };
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        struct api_case *c = call_of(&made, "Torch", apis[i], DT_F32, huge, huge);
        double seconds = seconds_of(c);
        ck_assert(isfinite((float)seconds) && seconds > 0);
        c = call_of(&made, "Torch", apis[i], DT_F32, "0x5", "");
        ck_assert(isfinite(seconds_of(c)) && seconds_of(c) > 0);
        c->args.list.count = 0;
        ck_assert(isfinite(seconds_of(c)) && seconds_of(c) > 0);
    }
}
END_TEST

/* An estimator that has met an API gives the same for it again, and takes any number of names. */
START_TEST(memory_changes_nothing)
{
    const struct cost_model model = { { 2, 3, 5 } };
    struct cost_estimator estimator;
    struct made made;
    char name[32];
    ck_assert_int_eq(cost_estimator_open(&estimator, &model).code, STATUS_OK);
    struct api_case *c = call_of(&made, "Torch", "matmul", DT_F32, "64x64,64x64", "");
    double first = cost_call_seconds(&estimator, c);
    const struct cost_parts parts = cost_of_call(&estimator, c);
    ck_assert_double_eq_tol(first,
                            2 * parts.seconds[COST_CALL] + 3 * parts.seconds[COST_ELEMENT] +
                                5 * parts.seconds[COST_PRODUCT],
                            1e-12 * first);
    for (int i = 0; i < 2000; i++) {
        struct made other;
        snprintf(name, sizeof name, "name_%d", i);
        double seconds =
            cost_call_seconds(&estimator, call_of(&other, "Torch", name, DT_F32, "64x64", ""));
        ck_assert_double_eq(seconds, cost_skipped_seconds(&model));
    }
    ck_assert_double_eq(cost_call_seconds(&estimator, c), first);
    cost_estimator_close(&estimator);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *cases = tcase_create("estimates");
    tcase_add_test(cases, nearly_every_row_has_a_class);
    tcase_add_test(cases, products_of_matrices_are_counted);
    tcase_add_test(cases, products_of_convolutions_are_counted);
    tcase_add_test(cases, missing_results_are_inferred);
    tcase_add_test(cases, spellings_cost_the_same);
    tcase_add_test(cases, more_costs_more);
    tcase_add_test(cases, idle_dropout_is_cheap);
    tcase_add_test(cases, any_shape_has_a_finite_cost);
    tcase_add_test(cases, memory_changes_nothing);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
