/* Ranges and keys -> elements: inside the range after rounding, spread evenly, independent
 * of each other, the same on every host. */
#include <float.h>
#include <stdio.h>

#include "case_builder.h"
#include "generators/fill.h"

static const enum dtype reals_of[] = { DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2 };

static struct tensor filled(struct arena *arena, enum dtype dtype, const struct range *range,
                            uint64_t key, int64_t n)
{
    struct tensor tensor;
    ck_assert_int_eq(tensor_create(&tensor, arena, dtype, 1, &n).code, STATUS_OK);
    fill_tensor(&tensor, range, key, NULL);
    return tensor;
}

static double *as_doubles(struct arena *arena, const struct tensor *tensor)
{
    size_t n = tensor_elements(tensor);
    double *out = arena_allocate_array(arena, 2 * n, sizeof *out);
    dtype_to_double(out, tensor->data, tensor->dtype, n);
    return out;
}

/* The first element is lo, the last hi, all are inside, for wide, narrow, tiny and whole
 * ranges; sizes around the chunk size. */
START_TEST(elements_stay_inside_the_range)
{
    static const double bounds[][2] = {
        { -1, 1 },   { 0.1, 0.30000001 },  { -65504, 65504 }, { -DBL_MAX, DBL_MAX },
        { 0, 1e-7 }, { -3e-8, 2e-8 },      { 7, 7 },          { -1e30, -0.7 },
        { 0, 0 },    { 1 / 3.0, 1 / 3.0 },
    };
    static const int64_t sizes[] = { 1, 2, 3, 1023, 1024, 1025, 5000 };
    enum dtype dtype = reals_of[_i];
    struct arena arena = { 0 };

    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct range range = range_of_reals(dtype, bounds[b][0], bounds[b][1]);
            struct tensor tensor = filled(&arena, dtype, &range, b * 100 + s, sizes[s]);
            const double *x = as_doubles(&arena, &tensor);
            for (int64_t i = 0; i < sizes[s]; i++) {
                ck_assert_msg(x[i] >= range.lo && x[i] <= range.hi, "%s: %a not in [%a, %a]",
                              dtype_info(dtype)->name, x[i], range.lo, range.hi);
            }
            if (sizes[s] > 1) ck_assert_double_eq(x[0], range.lo);
            ck_assert_double_eq(x[sizes[s] - 1], range.hi);
            arena_reset(&arena);
        }
    }
    arena_release(&arena);
}
END_TEST

/* The range of a whole dtype is filled, not collapsed to infinity or one end. */
START_TEST(whole_range_has_both_signs_and_no_infinity)
{
    enum dtype dtype = reals_of[_i];
    struct arena arena = { 0 };
    struct range range = range_of_reals(dtype, -INFINITY, INFINITY);
    struct tensor tensor = filled(&arena, dtype, &range, 8, 1000);
    const double *x = as_doubles(&arena, &tensor);
    int negative = 0, large = 0;

    for (int i = 0; i < 1000; i++) {
        ck_assert(isfinite(x[i]));
        negative += x[i] < 0;
        large += fabs(x[i]) > dtype_info(dtype)->largest / 2;
    }
    ck_assert_int_gt(negative, 400);
    ck_assert_int_lt(negative, 600);
    ck_assert_int_gt(large, 400);
    ck_assert_int_lt(large, 600);
    arena_release(&arena);
}
END_TEST

/* Chi-square over 64 equal parts of [-3, 5]: below the 1 - 1e-9 quantile of 63 degrees of
 * freedom, 148. The last dtypes have fewer values, and their parts are unequal. */
START_TEST(reals_are_uniform)
{
    enum { PARTS = 64, N = 640000 };
    enum dtype dtype = reals_of[_i];
    struct arena arena = { 0 };
    struct range range = range_of_reals(dtype, -3, 5);
    struct tensor tensor = filled(&arena, dtype, &range, 77, N);
    const double *x = as_doubles(&arena, &tensor);
    static int counts[PARTS];
    double chi_square = 0, mean = 0;

    memset(counts, 0, sizeof counts);
    for (int i = 0; i < N; i++) {
        int part = (int)((x[i] + 3) * (PARTS / 8.0));
        counts[part < PARTS ? part : PARTS - 1]++;
        mean += x[i] / N;
    }
    for (int i = 0; i < PARTS; i++) {
        double difference = counts[i] - N / PARTS;
        chi_square += difference * difference / (N / PARTS);
    }
    /* Variance of one draw is 64 / 12: 7 standard deviations of the mean. */
    ck_assert_double_eq_tol(mean, 1, 7 * sqrt(64.0 / 12 / N));
    if (dtype == DT_F64 || dtype == DT_F32) ck_assert_double_lt(chi_square, 148);
    arena_release(&arena);
}
END_TEST

/* A dtype of few values: each gets the share of the range that rounds to it. */
START_TEST(coarse_values_have_their_share)
{
    enum { N = 200000 };
    struct arena arena = { 0 };
    struct range range = range_of_reals(DT_F8E5M2, 0, 4);
    struct tensor tensor = filled(&arena, DT_F8E5M2, &range, 5, N);
    const double *x = as_doubles(&arena, &tensor);
    static const struct {
        double value, share;
    } expected[] = {
        { 4, 0.25 / 4 }, { 3.5, 0.5 / 4 }, { 3, 0.5 / 4 }, { 2, 0.375 / 4 }, { 1, 0.1875 / 4 },
    };
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        int count = 0;
        for (int i = 0; i < N; i++) count += x[i] == expected[k].value;
        double share = expected[k].share;
        ck_assert_double_eq_tol((double)count / N, share, 7 * sqrt(share * (1 - share) / N));
    }
    arena_release(&arena);
}
END_TEST

START_TEST(integers_fill_their_range)
{
    static const enum dtype dtypes[] = { DT_I64, DT_I32, DT_I16, DT_I8, DT_U8 };
    struct arena arena = { 0 };
    for (int d = 0; d < 5; d++) {
        int64_t lo = dtypes[d] == DT_U8 ? 3 : -2;
        struct range range = range_of_integers(dtypes[d], lo, lo + 6);
        struct tensor tensor = filled(&arena, dtypes[d], &range, 9, 70000);
        int64_t *x = arena_allocate_array(&arena, 70000, sizeof *x);
        int counts[7] = { 0 };
        dtype_to_int64(x, tensor.data, tensor.dtype, 70000);
        for (int i = 0; i < 70000; i++) {
            ck_assert(x[i] >= lo && x[i] <= lo + 6);
            counts[x[i] - lo]++;
        }
        for (int k = 0; k < 7; k++) {
            ck_assert_int_gt(counts[k], 9300);
            ck_assert_int_lt(counts[k], 10700);
        }
        ck_assert_int_eq(x[0], lo);
        ck_assert_int_eq(x[69999], lo + 6);
    }
    arena_release(&arena);
}
END_TEST

/* All of int64, and ranges just around 2^32 values, where the draw changes its width. */
START_TEST(wide_integer_ranges)
{
    static const int64_t bounds[][2] = {
        { INT64_MIN, INT64_MAX }, { 0, INT64_MAX },       { -5, 0xfffffffaL },
        { -5, 0xfffffffbL },      { 0, 0x100000000000L }, { INT64_MAX, INT64_MAX },
    };
    struct arena arena = { 0 };
    for (int b = 0; b < 6; b++) {
        struct range range = range_of_integers(DT_I64, bounds[b][0], bounds[b][1]);
        struct tensor tensor = filled(&arena, DT_I64, &range, 10, 3000);
        const int64_t *x = tensor.data;
        int upper = 0;
        for (int i = 0; i < 3000; i++) {
            ck_assert(x[i] >= bounds[b][0] && x[i] <= bounds[b][1]);
            upper += x[i] / 2 > bounds[b][0] / 4 + bounds[b][1] / 4;
        }
        ck_assert_int_eq(x[2999], bounds[b][1]);
        if (bounds[b][0] == bounds[b][1]) continue;
        ck_assert_int_gt(upper, 1300);
        ck_assert_int_lt(upper, 1700);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(bool_is_a_fair_coin_with_both_sides)
{
    struct arena arena = { 0 };
    struct range range = range_of_integers(DT_BOOL, 0, 1);
    struct tensor tensor = filled(&arena, DT_BOOL, &range, 4, 10000);
    const unsigned char *x = tensor.data;
    int count = 0;
    for (int i = 0; i < 10000; i++) {
        ck_assert_uint_le(x[i], 1);
        count += x[i];
    }
    ck_assert_int_gt(count, 4600);
    ck_assert_int_lt(count, 5400);
    tensor = filled(&arena, DT_BOOL, &range, 4, 2);
    ck_assert_uint_eq(((unsigned char *)tensor.data)[0], 0);
    ck_assert_uint_eq(((unsigned char *)tensor.data)[1], 1);
    arena_release(&arena);
}
END_TEST

/* |x| of what is stored, computed in double (exact enough for complex64), is inside; all
 * four quadrants occur; Min and Max occur exactly. */
START_TEST(complex_magnitudes_stay_inside)
{
    enum dtype dtype = _i ? DT_C128 : DT_C64;
    static const double bounds[][2] = {
        { 0.5, 2.25 }, { 0, 3 }, { 1e10, 1e10 }, { 0, 0 }, { 1, 1.0000001192092896 }, { 0, 1e-40 }
    };
    struct arena arena = { 0 };
    for (int b = 0; b < 6; b++) {
        struct range range = range_of_reals(dtype, bounds[b][0], bounds[b][1]);
        struct tensor tensor = filled(&arena, dtype, &range, 12, 4000);
        const double *z = as_doubles(&arena, &tensor);
        int quadrants[4] = { 0 };
        for (int i = 0; i < 4000; i++) {
            long double re = z[2 * i], im = z[2 * i + 1], m = sqrtl(re * re + im * im);
            ck_assert_msg(m >= (long double)range.lo && m <= (long double)range.hi, "%La", m);
            quadrants[(re < 0) + 2 * (im < 0)]++;
        }
        ck_assert_double_eq(fabs(z[0]), range.lo);
        ck_assert_double_eq(fabs(z[2 * 3999]), range.hi);
        for (int q = 0; b < 2 && q < 4; q++) ck_assert_int_gt(quadrants[q], 800);
    }
    arena_release(&arena);
}
END_TEST

/* Directions: the four axes' neighbourhoods of +-22.5 degrees hold about half of all. */
START_TEST(complex_directions_are_spread)
{
    struct arena arena = { 0 };
    struct range range = range_of_reals(DT_C128, 1, 2);
    struct tensor tensor = filled(&arena, DT_C128, &range, 13, 20000);
    const double *z = tensor.data;
    int near_axis = 0;
    for (int i = 0; i < 20000; i++) {
        double a = fabs(z[2 * i]), b = fabs(z[2 * i + 1]);
        near_axis += fmin(a, b) < 0.41421356 * fmax(a, b);
    }
    ck_assert_int_gt(near_axis, 9000);
    ck_assert_int_lt(near_axis, 11000);
    arena_release(&arena);
}
END_TEST

START_TEST(placed_values_are_where_they_belong)
{
    struct arena arena = { 0 };
    struct tensor_record record = { .dtype = DT_F16, .min = number(NAN), .max = number(NAN) };
    struct range range;

    ck_assert_int_eq(range_of_record(&range, &record, DT_F16, 5).code, STATUS_OK);
    struct tensor tensor = filled(&arena, DT_F16, &range, 1, 5);
    const double *x = as_doubles(&arena, &tensor);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(isnan(x[i]) != 0, i == 1);
    ck_assert_double_eq(x[0], -1);
    ck_assert_double_eq(x[4], 1);

    ck_assert_int_eq(range_of_record(&range, &record, DT_F16, 2).code, STATUS_OK);
    tensor = filled(&arena, DT_F16, &range, 1, 2);
    x = as_doubles(&arena, &tensor);
    ck_assert(isnan(x[0]) && x[1] == 1);

    record.min = number(-INFINITY);
    record.max = number(INFINITY);
    ck_assert_int_eq(range_of_record(&range, &record, DT_F16, 9).code, STATUS_OK);
    tensor = filled(&arena, DT_F16, &range, 1, 9);
    x = as_doubles(&arena, &tensor);
    ck_assert_double_eq(x[0], -INFINITY);
    ck_assert_double_eq(x[8], INFINITY);
    for (int i = 1; i < 8; i++) ck_assert(isfinite(x[i]));

    record.max = record.min;
    ck_assert_int_eq(range_of_record(&range, &record, DT_BF16, 9).code, STATUS_OK);
    tensor = filled(&arena, DT_BF16, &range, 1, 9);
    x = as_doubles(&arena, &tensor);
    for (int i = 0; i < 9; i++) ck_assert_double_eq(x[i], -INFINITY);
    arena_release(&arena);
}
END_TEST

static int compare_keys(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Any change of seed, name or path gives another key; no two of many are equal. */
START_TEST(keys_are_distinct)
{
    enum { N = 30000 };
    static uint64_t keys[N];
    char name[64], path[64];
    size_t count = 0;

    ck_assert_uint_ne(fill_key(1, "ab", "c"), fill_key(1, "a", "bc"));
    ck_assert_uint_ne(fill_key(1, "ab", ""), fill_key(1, "", "ab"));
    for (int seed = 0; seed < 10; seed++)
        for (int call = 0; call < 300; call++)
            for (int argument = 0; argument < 10; argument++) {
                snprintf(name, sizeof name, "Functional.softmax.%d", call);
                snprintf(path, sizeof path, "input.%d", argument);
                keys[count++] = fill_key((uint64_t)seed, name, path);
            }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++) ck_assert_uint_ne(keys[i], keys[i - 1]);
}
END_TEST

/* Tensors of equal shape and range: their correlation is that of independent draws
 * (standard deviation 1 / sqrt(n)), for neighbouring arguments, calls, seeds and
 * directions. */
START_TEST(equal_shapes_are_independent)
{
    enum { N = 40000 };
    struct arena arena = { 0 };
    struct range range = range_of_reals(DT_F32, -1, 1);
    const uint64_t keys[] = {
        fill_key(1234, "Torch.add.0", "input.0"),    fill_key(1234, "Torch.add.0", "input.1"),
        fill_key(1234, "Torch.add.1", "input.0"),    fill_key(1235, "Torch.add.0", "input.0"),
        fill_key(1234, "Torch.add.0", "kwargs.out"), fill_key(1234, "Torch.add.0", "cotangent.0"),
    };
    const double *x[6];
    for (int k = 0; k < 6; k++) {
        struct tensor tensor = filled(&arena, DT_F32, &range, keys[k], N);
        x[k] = as_doubles(&arena, &tensor);
    }
    for (int a = 0; a < 6; a++) {
        for (int b = 0; b < a; b++) {
            double sum = 0;
            for (int i = 0; i < N; i++) sum += 3 * x[a][i] * x[b][i] / N;
            ck_assert_double_lt(fabs(sum), 6 / sqrt(N));
        }
        /* Nor do the elements of one tensor follow each other. */
        double lagged = 0;
        for (int i = 1; i < N; i++) lagged += 3 * x[a][i] * x[a][i - 1] / N;
        ck_assert_double_lt(fabs(lagged), 6 / sqrt(N));
    }
    arena_release(&arena);
}
END_TEST

/* A longer tensor starts with the same bits: element i depends on i and not on n. */
START_TEST(elements_do_not_depend_on_the_size)
{
    static const enum dtype dtypes[] = { DT_F64, DT_F32, DT_BF16, DT_I64, DT_I8, DT_C64 };
    struct arena arena = { 0 };
    for (int d = 0; d < 6; d++) {
        struct range range = dtype_is_integral(dtypes[d]) ? range_of_integers(dtypes[d], -9, 90)
                                                          : range_of_reals(dtypes[d], 0.1, 8);
        size_t bytes = dtype_info(dtypes[d])->bytes;
        struct tensor small = filled(&arena, dtypes[d], &range, 3, 1500);
        struct tensor large = filled(&arena, dtypes[d], &range, 3, 9000);
        ck_assert_mem_eq(small.data, large.data, 1499 * bytes);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(shuffles_are_permutations)
{
    static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 16, 17, 64, 65, 1000, 4097 };
    static unsigned char seen[5000];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (uint64_t key = 0; key < 20; key++) {
            struct shuffle shuffle = shuffle_create(key, sizes[s]);
            memset(seen, 0, sizeof seen);
            for (uint64_t i = 0; i < sizes[s]; i++) {
                uint64_t at = shuffle_at(&shuffle, i);
                ck_assert_uint_lt(at, sizes[s]);
                ck_assert(!seen[at]);
                seen[at] = 1;
            }
        }
    }
    struct shuffle huge = shuffle_create(1, UINT64_MAX);
    ck_assert_uint_ne(shuffle_at(&huge, 0), shuffle_at(&huge, 1));
}
END_TEST

/* Over many keys each place is equally likely: chi-square of 7 places, 6 degrees of
 * freedom, 1 - 1e-6 quantile 38. */
START_TEST(shuffles_are_fair)
{
    enum { SIZE = 7, KEYS = 70000 };
    int counts[SIZE] = { 0 };
    double chi_square = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        struct shuffle shuffle = shuffle_create(fill_key_derive(1, key), SIZE);
        counts[shuffle_at(&shuffle, 2)]++;
    }
    for (int i = 0; i < SIZE; i++) {
        double difference = counts[i] - KEYS / SIZE;
        chi_square += difference * difference / (KEYS / SIZE);
    }
    ck_assert_double_lt(chi_square, 38);
}
END_TEST

/* The same bits on every host. Hashes of what an x86-64 host with AVX-512 gave; aarch64,
 * under qemu, gives them too. */
START_TEST(bits_are_the_same_on_every_host)
{
    static const struct {
        enum dtype dtype;
        double lo, hi;
        uint64_t hash;
        /* clang-format off */
    } snapshots[] = {
        { DT_F64, -1.5, 2.25, 0x6e38cdf01bdaa5ac },
        { DT_F32, -1.5, 2.25, 0xc6658980157559ee },
        { DT_F32, 0.001, 70, 0x84a17dbcf440c558 },
        { DT_F16, -65504, 65504, 0xe52c4e8bf160da05 },
        { DT_BF16, -3, 0.5, 0x42d9583039d40d71 },
        { DT_F8E4M3, -2, 3, 0x3972b2f56ac37efe },
        { DT_F8E5M2, -2, 3, 0xccbec0065eedb061 },
        { DT_I64, -0x1p63, 1e+18, 0x9db2a2e1ed40a89f },
        { DT_I32, 0, 50256, 0x7f239d38c2ce5c13 },
        { DT_I16, -3, 300, 0x56e52d5dcc3f4099 },
        { DT_I8, -100, 100, 0xbece40615b0b9d84 },
        { DT_U8, 0, 255, 0x9a53b4a20b99476e },
        { DT_BOOL, 0, 1, 0x4e6c090162b28224 },
        { DT_C128, 0.5, 2, 0x04b7eb6013dc65f6 },
        { DT_C64, 0, 2, 0x8e1af30cfba20756 },
    };
    /* clang-format on */
    struct arena arena = { 0 };
    uint64_t key = fill_key(1234, "Functional.linear.0", "input.1");
    for (size_t s = 0; s < sizeof snapshots / sizeof *snapshots; s++) {
        enum dtype dtype = snapshots[s].dtype;
        struct range range =
            dtype_is_integral(dtype)
                ? range_of_integers(dtype, (int64_t)snapshots[s].lo, (int64_t)snapshots[s].hi)
                : range_of_reals(dtype, snapshots[s].lo, snapshots[s].hi);
        struct tensor tensor = filled(&arena, dtype, &range, key, 3001);
        uint64_t hash = hash_tensor(&tensor);
        ck_assert_msg(hash == snapshots[s].hash, "%s: 0x%016llx", dtype_info(dtype)->name,
                      (unsigned long long)hash);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("fill");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, elements_stay_inside_the_range, 0, 6);
    tcase_add_loop_test(tests, whole_range_has_both_signs_and_no_infinity, 0, 6);
    tcase_add_loop_test(tests, reals_are_uniform, 0, 4);
    tcase_add_test(tests, coarse_values_have_their_share);
    tcase_add_test(tests, integers_fill_their_range);
    tcase_add_test(tests, wide_integer_ranges);
    tcase_add_test(tests, bool_is_a_fair_coin_with_both_sides);
    tcase_add_loop_test(tests, complex_magnitudes_stay_inside, 0, 2);
    tcase_add_test(tests, complex_directions_are_spread);
    tcase_add_test(tests, placed_values_are_where_they_belong);
    tcase_add_test(tests, keys_are_distinct);
    tcase_add_test(tests, equal_shapes_are_independent);
    tcase_add_test(tests, elements_do_not_depend_on_the_size);
    tcase_add_test(tests, shuffles_are_permutations);
    tcase_add_test(tests, shuffles_are_fair);
    tcase_add_test(tests, bits_are_the_same_on_every_host);
    return run_tests("fill", tests);
}
