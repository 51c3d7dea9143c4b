/* Rules of values: inside the domain of a function, sorted, or naming a class. */
#include "rule_checks.h"

/* ---- classes ------------------------------------------------------------------------ */

/* The four ways a record can show the ignored index: as Min, as Max, not at all, or as all
 * there was. Some targets are ignored, some are not, the rest are classes. */
START_TEST(targets_are_classes_or_ignored)
{
    static const struct {
        const char *api;
        int64_t ignore, lo, hi;
        bool pass_ignore, expect_ignored;
    } calls[] = {
        { "Functional.nll_loss", -100, -100, 6, false, true },
        { "Functional.cross_entropy", -100, -100, 6, false, true },
        { "Functional.cross_entropy", -100, 0, 6, false, false },
        { "Functional.cross_entropy", 255, 0, 255, true, true },
        { "Functional.cross_entropy", 3, 0, 6, true, false }, /* a class like any other */
        { "Functional.cross_entropy", -1, -1, 90, true, true },
        { "Torch.nll_loss", -100, -50, 6, false, false },
        { "Functional.multi_margin_loss", -100, 0, 20, false, false },
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        struct built_case *b = numbered(calls[k].api);
        add(b, TENSOR3(b, DT_F32, -5, 0, 20, 7, 10));
        add(b, TENSOR2(b, DT_I64, (double)calls[k].lo, (double)calls[k].hi, 20, 10));
        if (calls[k].pass_ignore) add_keyword(b, "ignore_index", integer(calls[k].ignore));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        int ignored = 0, highest = 0;
        for (int i = 0; i < 200; i++) {
            bool is_ignored = calls[k].expect_ignored && x[i] == calls[k].ignore;
            ck_assert_msg(is_ignored || (x[i] >= 0 && x[i] < 7), "%s: %lld", calls[k].api,
                          (long long)x[i]);
            ignored += is_ignored;
            highest += x[i] == 6;
        }
        ck_assert_int_gt(highest, 0);
        /* The record's Min or Max was the ignored index: it occurs in that place. */
        if (calls[k].expect_ignored)
            ck_assert_int_eq(x[calls[k].lo == calls[k].ignore ? 0 : 199], calls[k].ignore);
        ck_assert_int_eq(ignored > 0, calls[k].expect_ignored);
        ck_assert_int_lt(ignored, 60);
        free_case(b);
    }
}
END_TEST

/* One sample: classes along dimension 0; probabilities are no classes; a tensor that was
 * all ignored stays so. */
START_TEST(odd_targets)
{
    struct built_case *b = numbered("Functional.cross_entropy");
    add(b, TENSOR1(b, DT_F32, -1, 1, 4));
    add(b, TENSOR0(b, DT_I64, 9, 9));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 1, 0, 3));
    free_case(b);

    b = numbered("Functional.cross_entropy");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
    add(b, TENSOR2(b, DT_F32, 0.1, 0.9, 3, 4));
    generate(b);
    ck_assert_double_eq(reals(b, &b->args[1])[11], (float)0.9 > 0.9 ? nextafterf(0.9f, 0) : 0.9f);
    free_case(b);

    b = numbered("Functional.nll_loss");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
    add(b, TENSOR1(b, DT_I64, -100, -100, 3));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 3, -100, -100));
    free_case(b);
}
END_TEST

START_TEST(labels_are_signs_where_the_record_says_so)
{
    static const char *const apis[] = { "Functional.hinge_embedding_loss",
                                        "Functional.soft_margin_loss" };
    for (int k = 0; k < 2; k++) {
        struct built_case *b = numbered(apis[k]);
        add(b, TENSOR1(b, DT_F32, -1, 1, 100));
        add(b, TENSOR1(b, k ? DT_F32 : DT_I64, -1, 1, 100));
        generate(b);
        const double *x = reals(b, &b->args[1]);
        int positive = 0;
        for (int i = 0; i < 100; i++) {
            ck_assert(x[i] == 1 || x[i] == -1);
            positive += x[i] == 1;
        }
        ck_assert(positive > 25 && positive < 75);
        free_case(b);
    }
    struct built_case *b = numbered("Functional.soft_margin_loss");
    add(b, TENSOR1(b, DT_F32, -1, 1, 100));
    add(b, TENSOR1(b, DT_F32, -1, 0.75, 100));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* ---- domains ------------------------------------------------------------------------ */

START_TEST(values_stay_in_their_domain)
{
    static const struct {
        const char *api;
        size_t place;
        double lo, hi;
    } calls[] = {
        { "Functional.binary_cross_entropy", 0, 0, 1 },
        { "Torch.bernoulli", 0, 0, 1 },
        { "Tensor.bernoulli_", 1, 0, 1 },
        { "Torch.poisson", 0, 0, 3 },
        { "Torch.binomial", 0, 0, 3 },
        { "Torch.binomial", 1, 0, 1 },
        { "Torch.normal", 1, 0, 3 },
        { "Torch.quantile", 1, 0, 1 },
        { "Functional.kl_div", 1, 0, 3 },
        { "Functional.gaussian_nll_loss", 2, 0, 3 },
        { "Functional.batch_norm", 2, 0, 3 },
        { "Torch.batch_norm", 4, 0, 3 },
        { "Torch.multinomial", 0, 0, 3 },
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        /* A range that sticks out on both sides; and one that is unknown because of a NaN.
         */
        for (int unknown = 0; unknown < 2; unknown++) {
            struct built_case *b = numbered(calls[k].api);
            double lo = unknown ? NAN : -2, hi = unknown ? NAN : 3;
            for (int i = 0; i < 5; i++) add(b, TENSOR1(b, DT_F32, lo, hi, 200));
            generate(b);
            const double *x = reals(b, &b->args[calls[k].place]);
            for (int i = 0; i < 200; i++)
                ck_assert_msg(x[i] >= calls[k].lo && x[i] <= calls[k].hi, "%s: %g", calls[k].api,
                              x[i]);
            ck_assert(noted(b, "domain"));
            free_case(b);
        }
    }
}
END_TEST

START_TEST(logarithms_of_densities_may_be_negative)
{
    struct built_case *b = numbered("Functional.kl_div");
    add(b, TENSOR1(b, DT_F32, -2, -1, 20));
    add(b, TENSOR1(b, DT_F32, -3, -1, 20));
    add_keyword(b, "log_target", boolean(true));
    generate(b);
    ck_assert_double_eq(reals(b, &b->args[1])[0], -3);
    free_case(b);
}
END_TEST

START_TEST(every_row_to_draw_from_has_weight)
{
    struct built_case *b = numbered("Torch.multinomial");
    add(b, TENSOR2(b, DT_F32, 0, 0, 5, 4));
    add(b, integer(1));
    generate(b);
    const double *x = reals(b, &b->args[0]);
    for (int row = 0; row < 5; row++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) sum += x[4 * row + i];
        ck_assert_double_gt(sum, 0);
    }
    free_case(b);
}
END_TEST

/* No integer is divided by zero; floats may be, and plain div makes floats. */
START_TEST(integer_divisors_are_not_zero)
{
    static const char *const apis[] = { "Tensor.__floordiv__", "Torch.remainder",    "Torch.fmod",
                                        "Tensor.__mod__",      "Torch.floor_divide", "Torch.div" };
    for (int k = 0; k < 6; k++) {
        for (int range = 0; range < 3; range++) {
            static const double bounds[3][2] = { { -2, 2 }, { 0, 2 }, { -2, 0 } };
            struct built_case *b = numbered(apis[k]);
            add(b, TENSOR1(b, DT_I64, -9, 9, 200));
            add(b, TENSOR1(b, DT_I64, bounds[range][0], bounds[range][1], 200));
            if (k == 5) add_keyword(b, "rounding_mode", string("floor"));
            generate(b);
            const int64_t *x = integers(b, &b->args[1]);
            ck_assert_msg(!contains(x, 200, 0), "%s", apis[k]);
            ck_assert(all_within(x, 200, -2, 2));
            free_case(b);
        }
    }
    struct built_case *b = numbered("Torch.div");
    add(b, TENSOR1(b, DT_I64, -9, 9, 200));
    add(b, TENSOR1(b, DT_I64, -2, 2, 200));
    generate(b);
    ck_assert(contains(integers(b, &b->args[1]), 200, 0));
    free_case(b);

    b = numbered("Torch.remainder");
    add(b, TENSOR1(b, DT_F32, -9, 9, 200));
    add(b, TENSOR1(b, DT_I64, -2, 2, 200));
    generate(b);
    ck_assert(contains(integers(b, &b->args[1]), 200, 0));
    free_case(b);

    b = numbered("Tensor.__rfloordiv__"); /* self is the divisor */
    add(b, TENSOR1(b, DT_I64, -2, 2, 200));
    add(b, integer(7));
    generate(b);
    ck_assert(!contains(integers(b, &b->args[0]), 200, 0));
    free_case(b);
}
END_TEST

START_TEST(shifts_stay_below_the_width)
{
    struct built_case *b = numbered("Tensor.__lshift__");
    add(b, TENSOR1(b, DT_I32, 0, 9, 200));
    add(b, TENSOR1(b, DT_I64, -9, 99, 200));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 200, 0, 31));
    free_case(b);
}
END_TEST

/* ---- order -------------------------------------------------------------------------- */

START_TEST(sequences_are_sorted_by_rows)
{
    static const enum dtype dtypes[] = { DT_F32, DT_BF16, DT_I64, DT_F64 };
    for (int k = 0; k < 4; k++) {
        struct built_case *b = numbered("Torch.searchsorted");
        add(b, TENSOR2(b, dtypes[k], -50, 50, 4, 30));
        add(b, TENSOR2(b, dtypes[k], -50, 50, 4, 3));
        generate(b);
        const double *x = reals(b, &b->args[0]);
        for (int row = 0; row < 4; row++)
            for (int i = 1; i < 30; i++) ck_assert(x[30 * row + i] >= x[30 * row + i - 1]);
        ck_assert_double_lt(x[30], x[29]); /* rows apart */
        free_case(b);
    }
    struct built_case *b = numbered("Torch.bucketize");
    add(b, TENSOR1(b, DT_F32, -1, 1, 5));
    add_keyword(b, "boundaries", TENSOR1(b, DT_F32, -1, 1, 40));
    generate(b);
    const double *x = reals(b, &b->kwargs[0]);
    for (int i = 1; i < 40; i++) ck_assert(x[i] >= x[i - 1]);
    free_case(b);
}
END_TEST

START_TEST(a_sorter_sorts_what_was_drawn)
{
    struct built_case *b = numbered("Torch.searchsorted");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 25));
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 2));
    add_keyword(b, "sorter", TENSOR2(b, DT_I64, 0, 24, 3, 25));
    generate(b);
    const double *x = reals(b, &b->args[0]);
    const int64_t *sorter = integers(b, &b->kwargs[0]);
    bool sorted = true;
    for (int row = 0; row < 3; row++) {
        ck_assert(all_distinct(sorter + 25 * row, 25, 1));
        for (int i = 1; i < 25; i++) {
            ck_assert(x[25 * row + sorter[25 * row + i]] >= x[25 * row + sorter[25 * row + i - 1]]);
            sorted = sorted && x[25 * row + i] >= x[25 * row + i - 1];
        }
    }
    ck_assert(!sorted);
    free_case(b);
}
END_TEST

/* ---- arguments that make no sense --------------------------------------------------- */

/* Boxes of other kinds, shapes and sizes, or without images, are left as drawn. */
START_TEST(regions_that_are_none)
{
    for (int kind = 0; kind < 5; kind++) {
        struct built_case *b = numbered("NPU.npu_roi_align");
        add(b, kind == 4 ? integer(3) : TENSOR4(b, DT_F32, -1, 1, kind == 3 ? 0 : 3, 2, 8, 8));
        add(b, kind == 0   ? TENSOR2(b, DT_I64, 0, 7, 40, 5)
               : kind == 1 ? TENSOR1(b, DT_F32, 0, 7, 40)
               : kind == 2 ? TENSOR2(b, DT_F32, 0, 7, 40, 6)
                           : TENSOR2(b, DT_F32, 0, 7, 40, 5));
        generate(b);
        ck_assert_msg(b->notes.count == 0, "kind %d", kind);
        free_case(b);
    }
}
END_TEST

/* An ignored index at either end of the record, with bounds that are classes and bounds that are none. */
START_TEST(ignored_targets_at_both_ends)
{
    static const struct {
        double lo, hi;
        int64_t ignored, n, first, last; /* what the others may be */
    } rows[] = {
        { -100, 4, -100, 40, 0, 4 },   { -100, 99, -100, 40, 0, 6 }, { 2, 255, 255, 40, 2, 6 },
        { -7, 255, 255, 40, 0, 6 },    { 9, 255, 255, 40, 0, 6 },    { -100, -50, -100, 40, 0, 6 },
        { -100, 4, -100, 1, -100, 4 }, /* one element is what the record says */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Functional.nll_loss");
        add(b, TENSOR2(b, DT_F32, -5, 0, rows[i].n, 7));
        add(b, TENSOR1(b, DT_I64, rows[i].lo, rows[i].hi, rows[i].n));
        add_keyword(b, "ignore_index", integer(rows[i].ignored));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        size_t ignored = 0;
        for (int64_t k = 0; k < rows[i].n; k++) {
            if (x[k] == rows[i].ignored) ignored++;
            else
                ck_assert_msg(x[k] >= rows[i].first && x[k] <= rows[i].last, "row %zu: %lld", i,
                              (long long)x[k]);
        }
        ck_assert_msg(rows[i].n == 1 || (ignored > 0 && ignored < 20), "row %zu: %zu ignored", i,
                      ignored);
        free_case(b);
    }
}
END_TEST

/* A divisor is looked at when div rounds, and only then. */
START_TEST(divisors_of_a_quotient)
{
    const struct value modes[] = { string("floor"), none(), integer(1) };
    for (int k = 0; k < 4; k++) {
        struct built_case *b = numbered("Torch.div");
        add(b, TENSOR1(b, DT_I64, -9, 9, 60));
        add(b, TENSOR1(b, DT_I64, 0, 3, 60));
        if (k < 3) add_keyword(b, "rounding_mode", modes[k]);
        generate(b);
        ck_assert_int_eq(contains(integers(b, &b->args[1]), 60, 0), k != 0);
        free_case(b);
    }
}
END_TEST

/* Sequences without elements, or that have no order, stay; a sorter of another size too. */
START_TEST(sequences_that_are_not_sorted)
{
    for (int kind = 0; kind < 5; kind++) {
        struct built_case *b = numbered("Torch.searchsorted");
        add(b, kind == 0   ? TENSOR1(b, DT_F32, -1, 1, 0)
               : kind == 1 ? TENSOR1(b, DT_C64, 0, 1, 9)
               : kind == 2 ? none()
                           : TENSOR1(b, DT_F32, -1, 1, 9));
        if (kind == 3) add_keyword(b, "sorter", TENSOR1(b, DT_I64, 0, 8, 5));
        if (kind == 4) add_keyword(b, "sorter", integer(3)); /* no tensor: the sequence is sorted */
        generate(b);
        ck_assert_msg(noted(b, "sorted") == (kind == 4), "kind %d", kind);
        ck_assert(!noted(b, "order that sorts"));
        free_case(b);
    }
}
END_TEST

START_TEST(regions_name_their_image)
{
    struct built_case *b = numbered("NPU.npu_roi_align");
    add(b, TENSOR4(b, DT_F32, -1, 1, 3, 2, 8, 8));
    add(b, TENSOR2(b, DT_F32, 0, 7, 40, 5));
    generate(b);
    const double *x = reals(b, &b->args[1]);
    for (int i = 0; i < 40; i++, x += 5) {
        ck_assert(x[0] == 0 || x[0] == 1 || x[0] == 2);
        ck_assert(x[1] <= x[3] && x[2] <= x[4]);
    }
    free_case(b);
}
END_TEST

START_TEST(turned_boxes_have_sides)
{
    struct built_case *b = numbered("NPU.npu_rotated_iou");
    add(b, TENSOR3(b, DT_F32, -9, 9, 2, 20, 5));
    add(b, TENSOR3(b, DT_F32, -9, 9, 2, 30, 5));
    generate(b);
    int turned = 0;
    for (int k = 0; k < 2; k++) {
        const double *x = reals(b, &b->args[k]);
        for (int i = 0; i < (k ? 60 : 40); i++, x += 5) {
            ck_assert(x[2] >= 0 && x[3] >= 0);
            turned += x[4] < 0;
        }
    }
    ck_assert_int_gt(turned, 0);
    free_case(b);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules of values");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, targets_are_classes_or_ignored);
    tcase_add_test(tests, odd_targets);
    tcase_add_test(tests, labels_are_signs_where_the_record_says_so);
    tcase_add_test(tests, values_stay_in_their_domain);
    tcase_add_test(tests, logarithms_of_densities_may_be_negative);
    tcase_add_test(tests, every_row_to_draw_from_has_weight);
    tcase_add_test(tests, integer_divisors_are_not_zero);
    tcase_add_test(tests, shifts_stay_below_the_width);
    tcase_add_test(tests, sequences_are_sorted_by_rows);
    tcase_add_test(tests, a_sorter_sorts_what_was_drawn);
    tcase_add_test(tests, regions_that_are_none);
    tcase_add_test(tests, ignored_targets_at_both_ends);
    tcase_add_test(tests, divisors_of_a_quotient);
    tcase_add_test(tests, sequences_that_are_not_sorted);
    tcase_add_test(tests, regions_name_their_image);
    tcase_add_test(tests, turned_boxes_have_sides);
    return run_tests("rules of values", tests);
}
