/* The inner loops: every variant gives the bits of the portable one, and that one agrees
 * with definitions and with the conversions of core/. */
#include <float.h>

#include "case_builder.h"
#include "generators/lanes.h"
#include "generators/philox.h"

enum { N = 1000 };

static const enum dtype floats[] = { DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2 };
static const enum dtype whole[] = { DT_I64, DT_I32, DT_I16, DT_I8, DT_U8, DT_BOOL };

static const double ranges[][2] = {
    { -1, 1 },
    { 0, 1 },
    { 2.5, 2.5 },
    { -DBL_MAX, DBL_MAX },
    { 0x1p-1074, 0x1p-1070 },
    { -0x1p-1074, 0 },
    { -3e38, 2e38 },
    { 1e-300, 1e300 },
    { -65504, 65504 },
    { 0, 0 },
    { -3 * 0x1p-1074, 3 * 0x1p-1074 }, /* whose halves round away from zero */
    { 3 * 0x1p-1074, 3 * 0x1p-1074 },
};

/* All loops of all variants, with lengths that leave remainders, into memory that shows a
 * store beyond the end. */
START_TEST(variants_give_the_same_bits)
{
    static uint32_t words[2 * N];
    static double want[N], got[N + 1];
    static unsigned char want_bytes[8 * N], got_bytes[8 * N + 8];
    const struct lanes *portable = lanes_variant(0);

    philox_blocks(words, 99, 0, 0, 2 * N / 4);
    ck_assert_str_eq(portable->name, "portable");
    for (size_t v = 1; lanes_variant(v); v++) {
        const struct lanes *lanes = lanes_variant(v);
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            struct interval interval = interval_between(ranges[r][0], ranges[r][1]);
            for (size_t n = 0; n <= N; n += n < 40 ? 1 : 137) {
                got[n] = 12345;
                portable->reals(want, words, n, &interval);
                lanes->reals(got, words, n, &interval);
                ck_assert_mem_eq(got, want, n * sizeof *want);
                portable->fine_reals(want, words, n, &interval);
                lanes->fine_reals(got, words, n, &interval);
                ck_assert_mem_eq(got, want, n * sizeof *want);
                ck_assert_double_eq(got[n], 12345);
            }
        }
        for (size_t d = 0; d < sizeof floats / sizeof *floats; d++) {
            double limit = dtype_info(floats[d])->largest;
            struct interval interval = interval_between(-limit, limit);
            size_t bytes = dtype_info(floats[d])->bytes;
            for (size_t n = 0; n <= N; n += n < 40 ? 1 : 137) {
                portable->fine_reals(want, words, n, &interval);
                portable->encode(want_bytes, floats[d], want, n);
                got_bytes[n * bytes] = 0x5a;
                lanes->encode(got_bytes, floats[d], want, n);
                ck_assert_mem_eq(got_bytes, want_bytes, n * bytes);
                ck_assert_uint_eq(got_bytes[n * bytes], 0x5a);
            }
        }
        for (size_t d = 0; d < sizeof whole / sizeof *whole; d++) {
            static const uint64_t lasts[] = { 0, 1, 100, 0xffffffffu };
            size_t bytes = dtype_info(whole[d])->bytes;
            for (size_t k = 0; k < 4; k++) {
                struct integer_interval interval = { -3, lasts[k] };
                for (size_t n = 0; n <= N; n += n < 40 ? 1 : 137) {
                    portable->integers(want_bytes, whole[d], words, n, &interval);
                    got_bytes[n * bytes] = 0x5a;
                    lanes->integers(got_bytes, whole[d], words, n, &interval);
                    ck_assert_mem_eq(got_bytes, want_bytes, n * bytes);
                    ck_assert_uint_eq(got_bytes[n * bytes], 0x5a);
                }
            }
        }
    }
}
END_TEST

/* encode is dtype_from_double for finite values in range: on every code of the small types,
 * on the midpoint to the next one and on the doubles beside it, and on random doubles of
 * every exponent. */
static void check_encode(enum dtype dtype, double x)
{
    unsigned char want[8] = { 0 }, got[8] = { 0 };
    dtype_from_double(want, dtype, &x, 1);
    /* Plain tests: an assertion of Check costs a write to a pipe. */
    for (size_t v = 0; lanes_variant(v); v++) {
        lanes_variant(v)->encode(got, dtype, &x, 1);
        if (memcmp(got, want, sizeof got))
            ck_abort_msg("%s: %s of %a", lanes_variant(v)->name, dtype_info(dtype)->name, x);
    }
}

START_TEST(encode_rounds_as_core_does)
{
    enum dtype dtype = floats[_i];
    size_t bytes = dtype_info(dtype)->bytes;
    double largest = dtype_info(dtype)->largest, previous = 0;

    for (unsigned code = 0; bytes <= 2 && code < 1u << (8 * bytes - 1); code++) {
        uint16_t wide = (uint16_t)code;
        double x;
        dtype_to_double(&x, &wide, dtype, 1);
        if (!isfinite(x)) continue;
        double middle = previous + (x - previous) / 2;
        const double tries[] = { x, middle, nextafter(middle, x), nextafter(middle, previous) };
        for (int k = 0; k < 4; k++) {
            check_encode(dtype, tries[k]);
            check_encode(dtype, -tries[k]);
        }
        previous = x;
    }
    struct philox draws = philox_open(3, 1);
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = (uint64_t)philox_next(&draws) << 32;
        bits |= philox_next(&draws);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x) && fabs(x) <= largest) check_encode(dtype, x);
        x = ldexp(1 + (double)(bits & 0xfffffffffffff) * 0x1p-52, (int)(bits >> 59) - 20);
        if (fabs(x) <= largest) check_encode(dtype, x);
    }
}
END_TEST

/* Cell k of 2^32 has its center (k + 1/2) / 2^32 of the way up, for ranges where that is
 * exact. */
START_TEST(reals_are_centers_of_cells)
{
    const uint32_t words[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
    struct interval interval = interval_between(0, 1);
    for (size_t v = 0; lanes_variant(v); v++) {
        double got[5];
        lanes_variant(v)->reals(got, words, 5, &interval);
        for (int i = 0; i < 5; i++) ck_assert_double_eq(got[i], (words[i] + 0.5) * 0x1p-32);
    }
}
END_TEST

/* The outermost words stay inside intervals whose center and half width are rounded. */
START_TEST(reals_do_not_leave_the_interval)
{
    const uint32_t words[] = { 0, 0, 0xffffffff, 0xffffffff };
    struct philox draws = philox_open(21, 0);
    int below = 0;

    for (int k = 0; k < 20000; k++) {
        /* A few units in the last place wide. */
        double lo = 1 + (double)philox_below(&draws, (uint64_t)1 << 52) * 0x1p-52;
        double hi = lo + (double)philox_below(&draws, 7) * 0x1p-52;
        struct interval interval = interval_between(lo, hi);
        below += interval.center - interval.half_width < lo;
        for (size_t v = 0; lanes_variant(v); v++) {
            double got[4];
            lanes_variant(v)->reals(got, words, 4, &interval);
            for (int i = 0; i < 4; i++)
                if (got[i] < lo || got[i] > hi) ck_abort_msg("%a in [%a, %a]", got[i], lo, hi);
            lanes_variant(v)->fine_reals(got, words, 2, &interval);
            for (int i = 0; i < 2; i++)
                if (got[i] < lo || got[i] > hi) ck_abort_msg("%a in [%a, %a]", got[i], lo, hi);
        }
    }
    ck_assert_int_gt(below, 10); /* so the test can fail */
}
END_TEST

/* Of a range that is a few units of the smallest subnormal wide, center and half width are off by up to
 * half their size; numbers stay inside nevertheless, for all words. */
START_TEST(subnormal_ranges_are_not_left)
{
    const double unit = 0x1p-1074;
    const uint32_t words[] = { 0, 0, 0xffffffff, 0xffffffff, 0x7fffffff, 0x80000000 };
    int above = 0;

    for (int lo = -5; lo <= 5; lo++)
        for (int hi = lo; hi <= 5; hi++) {
            struct interval interval = interval_between(lo * unit, hi * unit);
            above += interval.center > interval.hi;
            for (size_t v = 0; lanes_variant(v); v++) {
                double got[6];
                lanes_variant(v)->reals(got, words, 6, &interval);
                for (int i = 0; i < 6; i++) ck_assert(got[i] >= lo * unit && got[i] <= hi * unit);
                lanes_variant(v)->fine_reals(got, words, 3, &interval);
                for (int i = 0; i < 3; i++) ck_assert(got[i] >= lo * unit && got[i] <= hi * unit);
            }
        }
    ck_assert_int_gt(above, 0); /* so the test can fail */
}
END_TEST

/* 52 bits: the lowest cell starts at lo, the highest ends at hi. */
START_TEST(fine_reals_reach_both_ends)
{
    const uint32_t words[] = { 0, 0, 0xffffffff, 0xffffffff, 0, 0x80000000 };
    struct interval interval = interval_between(-1, 1);
    for (size_t v = 0; lanes_variant(v); v++) {
        double got[3];
        lanes_variant(v)->fine_reals(got, words, 3, &interval);
        ck_assert_double_eq(got[0], -1);
        ck_assert_double_eq(got[1], 1 - 0x1p-51);
        ck_assert_double_eq(got[2], 0);
    }
}
END_TEST

/* word w gives lo + floor(w (last + 1) / 2^32). */
START_TEST(integers_divide_the_words_evenly)
{
    static uint32_t words[N];
    int64_t got[N];
    philox_blocks(words, 1, 0, 0, N / 4);
    words[0] = 0;
    words[1] = 0xffffffff;
    const uint64_t lasts[] = { 0, 1, 2, 99, 0x80000000u, 0xffffffffu };
    for (int k = 0; k < 6; k++) {
        struct integer_interval interval = { -7, lasts[k] };
        for (size_t v = 0; lanes_variant(v); v++) {
            lanes_variant(v)->integers(got, DT_I64, words, N, &interval);
            for (int i = 0; i < N; i++) {
                unsigned __int128 scaled = (unsigned __int128)words[i] * (lasts[k] + 1);
                ck_assert_int_eq(got[i], -7 + (int64_t)(uint64_t)(scaled >> 32));
            }
        }
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("lanes");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, variants_give_the_same_bits);
    tcase_add_loop_test(tests, encode_rounds_as_core_does, 0, 6);
    tcase_add_test(tests, reals_are_centers_of_cells);
    tcase_add_test(tests, reals_do_not_leave_the_interval);
    tcase_add_test(tests, subnormal_ranges_are_not_left);
    tcase_add_test(tests, fine_reals_reach_both_ends);
    tcase_add_test(tests, integers_divide_the_words_evenly);
    return run_tests("lanes", tests);
}
