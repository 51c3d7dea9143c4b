/* Recorded statistics -> ranges: bounds a dtype can hold, and what becomes of NaN,
 * infinities and missing numbers. */
#include <float.h>

#include "case_builder.h"
#include "generators/philox.h"
#include "generators/range.h"

static const enum dtype floats[] = { DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2 };

static double through(enum dtype dtype, double x)
{
    unsigned char element[8];
    dtype_from_double(element, dtype, &x, 1);
    dtype_to_double(&x, element, dtype, 1);
    return x;
}

/* The bounds are values of the dtype, lie inside, and no value of the dtype lies between
 * them and what was asked: one ulp (or half one, below a power of two) further out is
 * outside. */
START_TEST(bounds_move_inward_to_the_nearest_value)
{
    enum dtype dtype = floats[_i];
    double largest = dtype_info(dtype)->largest;
    struct philox draws = philox_open(1, (uint64_t)_i);
    int narrow = 0;

    for (int k = 0; k < 20000; k++) {
        double x = ldexp((double)philox_next(&draws) - 0x1p31, (int)philox_below(&draws, 40) - 50);
        double y = x + ldexp((double)philox_next(&draws), (int)philox_below(&draws, 40) - 60);
        if (fabs(x) > largest || fabs(y) > largest) continue;
        struct range range = range_of_reals(dtype, x, y);
        ck_assert_double_eq(through(dtype, range.lo), range.lo);
        ck_assert_double_eq(through(dtype, range.hi), range.hi);
        ck_assert_double_le(range.lo, range.hi);
        if (range.lo < x || range.hi > y) {
            /* Nothing between: then the nearest value on either side is all there is. */
            ck_assert_double_eq(range.lo, range.hi);
            narrow++;
            continue;
        }
        double below =
            through(dtype, nextafter(range.lo, -INFINITY) - 0.5 * dtype_ulp(dtype, range.lo));
        ck_assert_msg(below < x || below == range.lo, "%s %a %a", dtype_info(dtype)->name, x,
                      range.lo);
        double above =
            through(dtype, nextafter(range.hi, INFINITY) + 0.5 * dtype_ulp(dtype, range.hi));
        ck_assert(above > y || above == range.hi || isnan(above));
    }
    ck_assert_int_eq(narrow > 0, dtype != DT_F64);
}
END_TEST

START_TEST(bounds_stay_within_the_dtype)
{
    enum dtype dtype = floats[_i];
    struct range range = range_of_reals(dtype, -INFINITY, INFINITY);
    ck_assert_double_eq(range.lo, dtype_info(dtype)->lowest);
    ck_assert_double_eq(range.hi, dtype_info(dtype)->largest);
    range = range_of_reals(dtype, 3, -2); /* swapped */
    ck_assert_double_eq(range.lo, -2);
    ck_assert_double_eq(range.hi, 3);
}
END_TEST

static struct range recorded(enum dtype dtype, double lo, double hi, size_t n)
{
    struct tensor_record record = { .dtype = dtype, .min = number(lo), .max = number(hi) };
    struct range range;
    struct status status = range_of_record(&range, &record, dtype, n);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return range;
}

/* Statistics that went through float32: 2^63 for the largest int64, 2^31 for int32. */
START_TEST(integer_bounds_are_clamped)
{
    struct range range = recorded(DT_I64, -0x1p63, 0x1p63, 5);
    ck_assert_int_eq(range.integer_lo, INT64_MIN);
    ck_assert_int_eq(range.integer_hi, INT64_MAX);
    range = recorded(DT_I32, -0x1p31, 0x1p31, 5);
    ck_assert_int_eq(range.integer_lo, INT32_MIN);
    ck_assert_int_eq(range.integer_hi, INT32_MAX);
    range = recorded(DT_U8, -5, 1e9, 5);
    ck_assert_int_eq(range.integer_lo, 0);
    ck_assert_int_eq(range.integer_hi, 255);
    range = recorded(DT_I64, -INFINITY, INFINITY, 5);
    ck_assert_int_eq(range.integer_lo, INT64_MIN);
    ck_assert_int_eq(range.integer_hi, INT64_MAX);
    range = recorded(DT_I16, -2.9, 2.9, 5);
    ck_assert_int_eq(range.integer_lo, -2);
    ck_assert_int_eq(range.integer_hi, 2);
}
END_TEST

START_TEST(bool_bounds)
{
    struct range range = recorded(DT_BOOL, 0, 1, 4);
    ck_assert_int_eq(range.integer_lo, 0);
    ck_assert_int_eq(range.integer_hi, 1);
    range = recorded(DT_BOOL, 1, 1, 4);
    ck_assert_int_eq(range.integer_lo, 1);
    range = recorded(DT_BOOL, 0, 0, 4);
    ck_assert_int_eq(range.integer_hi, 0);
}
END_TEST

/* The finite bound is one end, max(1, 2 |bound|) is the distance of the other. */
START_TEST(one_infinity_is_placed_once)
{
    struct range range = recorded(DT_F32, -INFINITY, 2, 6);
    ck_assert(!range.constant && range.guessed);
    ck_assert_double_eq(range.lo, -2);
    ck_assert_double_eq(range.hi, 2);
    ck_assert(range.has_first && !range.has_second && !range.has_last);
    ck_assert_double_eq(range.first, -INFINITY);

    range = recorded(DT_F32, -INFINITY, 0, 6); /* an attention mask */
    ck_assert_double_eq(range.lo, -1);
    ck_assert_double_eq(range.hi, 0);

    range = recorded(DT_F16, 3, INFINITY, 6);
    ck_assert_double_eq(range.lo, 3);
    ck_assert_double_eq(range.hi, 9);
    ck_assert(range.has_last && !range.has_first);
    ck_assert_double_eq(range.last, INFINITY);

    range = recorded(DT_F16, 65504, INFINITY, 6); /* no room above */
    ck_assert_double_eq(range.lo, 65504);
    ck_assert_double_eq(range.hi, 65504);

    range = recorded(DT_F32, -INFINITY, INFINITY, 6);
    ck_assert_double_eq(range.lo, -1);
    ck_assert_double_eq(range.hi, 1);
    ck_assert(range.has_first && range.has_last);
}
END_TEST

START_TEST(nan_is_placed_once)
{
    struct range range = recorded(DT_F32, NAN, NAN, 5);
    ck_assert(!range.constant && range.has_second && isnan(range.second) && !range.has_first);
    ck_assert_double_eq(range.lo, -1);
    ck_assert_double_eq(range.hi, 1);
    range = recorded(DT_F32, NAN, NAN, 2);
    ck_assert(range.has_first && isnan(range.first) && !range.has_second);
}
END_TEST

/* A tensor that was all one infinity, or one NaN, stays that. */
START_TEST(constant_tensors_stay_constant)
{
    struct range range = recorded(DT_BF16, -INFINITY, -INFINITY, 9);
    ck_assert(range.constant && range.constant_value == -INFINITY);
    range = recorded(DT_F32, INFINITY, INFINITY, 9);
    ck_assert(range.constant && range.constant_value == INFINITY);
    range = recorded(DT_F32, NAN, NAN, 1);
    ck_assert(range.constant && isnan(range.constant_value));
    range = recorded(DT_F64, -INFINITY, -INFINITY, 1);
    ck_assert(range.constant && range.constant_value == -INFINITY);
    /* One element cannot have two extremes: the infinite one counts, where there are infinities. */
    range = recorded(DT_F32, -INFINITY, 5, 1);
    ck_assert(range.constant && range.constant_value == -INFINITY);
    range = recorded(DT_F32, 5, INFINITY, 1);
    ck_assert(range.constant && range.constant_value == INFINITY);
    range = recorded(DT_F8E4M3, -INFINITY, 5, 1);
    ck_assert(!range.constant && !range.has_first);
    ck_assert(range.lo <= 5 && range.hi <= 5);
}
END_TEST

/* Old dumps say what the finite extremes were. */
START_TEST(old_dumps_give_the_finite_range)
{
    struct tensor_record record = { .dtype = DT_F32,
                                    .min = number(NAN),
                                    .max = number(NAN),
                                    .min_finite = number(-4),
                                    .max_finite = number(7) };
    struct range range;
    ck_assert_int_eq(range_of_record(&range, &record, DT_F32, 5).code, STATUS_OK);
    ck_assert(!range.guessed && range.has_second);
    ck_assert_double_eq(range.lo, -4);
    ck_assert_double_eq(range.hi, 7);

    record.min = number(-4);
    record.max = number(INFINITY);
    record.min_finite.kind = STATISTIC_ABSENT;
    ck_assert_int_eq(range_of_record(&range, &record, DT_F32, 5).code, STATUS_OK);
    ck_assert(!range.guessed && range.has_last && !range.has_first);
    ck_assert_double_eq(range.lo, -4);
    ck_assert_double_eq(range.hi, 7);
}
END_TEST

/* With no finite bound at all, Norm and Mean: 4 elements of norm 4 have root mean square 2.
 */
START_TEST(norm_gives_a_range)
{
    struct tensor_record record = { .dtype = DT_F64,
                                    .min = number(-INFINITY),
                                    .max = number(INFINITY),
                                    .norm = number(4),
                                    .mean = number(10) };
    struct range range;
    ck_assert_int_eq(range_of_record(&range, &record, DT_F64, 4).code, STATUS_OK);
    ck_assert_double_eq_tol(range.lo, 10 - 2 * sqrt(3), 1e-14);
    ck_assert_double_eq_tol(range.hi, 10 + 2 * sqrt(3), 1e-14);
    record.mean = number(NAN); /* as it is where an infinity meets its opposite */
    ck_assert_int_eq(range_of_record(&range, &record, DT_F64, 4).code, STATUS_OK);
    ck_assert_double_eq_tol(range.lo, -2 * sqrt(3), 1e-14);
    ck_assert_double_eq_tol(range.hi, 2 * sqrt(3), 1e-14);
}
END_TEST

/* float8_e4m3 has no infinity: nothing to place. */
START_TEST(no_infinity_where_the_dtype_has_none)
{
    struct range range = recorded(DT_F8E4M3, -INFINITY, 3, 5);
    ck_assert(!range.has_first && !range.constant);
    range = recorded(DT_F8E5M2, -INFINITY, 3, 5);
    ck_assert(range.has_first);
}
END_TEST

START_TEST(missing_statistics_are_a_reason_to_skip)
{
    struct tensor_record record = { .dtype = DT_F32 };
    struct range range;
    struct status status = range_of_record(&range, &record, DT_F32, 3);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "Max and Min"));
    record.max = number(1);
    status = range_of_record(&range, &record, DT_F32, 3);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "no Min"));
    ck_assert_int_eq(range_of_record(&range, &record, DT_F32, 0).code, STATUS_OK);
    record.min = number(NAN);
    status = range_of_record(&range, &record, DT_I32, 3);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    record.min = number(0);
    record.max = number(NAN);
    status = range_of_record(&range, &record, DT_BOOL, 3);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_str_eq(status.text, "the dump gives NaN as Max or Min of a tensor of torch.bool");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("range");
    tcase_add_loop_test(tests, bounds_move_inward_to_the_nearest_value, 0, 6);
    tcase_add_loop_test(tests, bounds_stay_within_the_dtype, 0, 6);
    tcase_add_test(tests, integer_bounds_are_clamped);
    tcase_add_test(tests, bool_bounds);
    tcase_add_test(tests, one_infinity_is_placed_once);
    tcase_add_test(tests, nan_is_placed_once);
    tcase_add_test(tests, constant_tensors_stay_constant);
    tcase_add_test(tests, old_dumps_give_the_finite_range);
    tcase_add_test(tests, norm_gives_a_range);
    tcase_add_test(tests, no_infinity_where_the_dtype_has_none);
    tcase_add_test(tests, missing_statistics_are_a_reason_to_skip);
    return run_tests("range", tests);
}
