/* Every vector form of the metrics pass against the scalar definition: the same bits in every
 * field, whatever the data. */
#include "standards/metric_data.h"
#include "support/random_numbers.h"
#include "support/sanitized.h"
#include "support/suite.h"

static const enum dtype dtypes[] = { DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2 };

/* How rare unusual elements are: from none to every second element. */
static const int rarities[] = { 0, 5000, 300, 20, 2 };

struct sample {
    size_t n;
    double *hi, *lo, *error;
    void *got;
};

static double unusual(enum dtype dtype)
{
    double largest = dtype_info(dtype)->largest;
    double smallest = dtype_ulp(dtype, 0);
    const double list[] = { 0.0,       -0.0,         INFINITY,       -INFINITY,
                            NAN,       largest,      -largest,       smallest,
                            -smallest, smallest / 2, smallest * 1.5, largest * (1 + 0x1p-12),
                            0x1p1023,  0x1.8p1023,   5e-324,         1e-6 };
    return list[next_random() % (sizeof list / sizeof list[0])];
}

/* Values over a range of exponents that the dtype can hold, with errors of 0 to a few ulp. */
static void fill(struct sample *s, enum dtype dtype, int rarity, double noise, bool narrow)
{
    size_t bytes = dtype_info(dtype)->bytes;
    int low = dtype_info(dtype)->exponent_min, high = dtype_info(dtype)->exponent_max;

    for (size_t i = 0; i < s->n; i++) {
        int exponent = narrow ? (int)(next_random() % 4) - 3
                              : low - 5 + (int)(next_random() % (uint64_t)(high - low + 4));
        double want = ldexp(1 + uniform(), exponent);
        if (next_random() & 1) want = -want;
        if (noise < 0 || next_random() % 8 == 0)
            dtype_from_double(s->got, dtype, &want, 1),
                dtype_to_double(&want, s->got, dtype, 1); /* representable: exact and tied cases */
        double unit = dtype_ulp(dtype, want);
        double x = want + noise * (2 * uniform() - 1) * unit;
        if (noise > 0 && next_random() % 16 == 0) x = want + unit / 2;
        if (noise < 0) x = want;
        if (rarity && next_random() % (uint64_t)rarity == 0) want = unusual(dtype);
        if (rarity && next_random() % (uint64_t)rarity == 0) x = unusual(dtype);
        else if (rarity && next_random() % (uint64_t)rarity == 0) x = want;
        s->hi[i] = want;
        s->lo[i] = isfinite(want) ? want * 0x1p-55 * uniform() : 0;
        s->error[i] = isfinite(want) ? unit * uniform() * 0x1p-8 : 0;
        dtype_from_double((char *)s->got + i * bytes, dtype, &x, 1);
    }
}

static void compare(const struct sample *s, enum dtype dtype, enum metrics_variant variant, bool lo,
                    int bound)
{
    /* Limits that 32 bits hold and one that they do not; small values below, within and above the
     * range of the dtypes. */
    const double limits[] = { 1, 0.5, 32, 0.7, 0, -1, INFINITY },
                 small[] = { 1e-3, 1e-6, 0, 1e300 };
    const struct metrics_parameters parameters = { .bench_epsilon = 0x1p-23,
                                                   .small_value = small[next_random() % 4],
                                                   .small_value_atol = 1e-5,
                                                   .relative_tolerance = 1e-3,
                                                   .ulp_limit = limits[next_random() % 7],
                                                   .within = { 0.01, 0.001,
                                                               next_random() & 1 ? 0.0001 : 0 } };
    int64_t shape[1] = { (int64_t)s->n };
    struct tensor got;
    struct reference want = {
        .dtype = dtype, .rank = 1, .shape = { (int64_t)s->n }, .n = s->n, .hi = s->hi
    };
    struct metrics scalar, vector;

    tensor_wrap(&got, s->got, dtype, 1, shape);
    if (lo) want.lo = s->lo;
    if (bound == 1) want.error = s->error;
    if (bound == 2) want.absolute = 1e-9, want.relative = 1e-10;
    if (bound == 3) want.relative = 1e-10;
    memset(&scalar, 1, sizeof scalar);
    memset(&vector, 2, sizeof vector);
    metrics_compute(&scalar, &got, &want, &parameters, METRICS_SCALAR, NULL);
    metrics_compute(&vector, &got, &want, &parameters, variant, NULL);
    ck_assert_msg(!memcmp(&scalar, &vector, sizeof scalar), "%s %s n=%zu lo=%d bound=%d",
                  dtype_info(dtype)->name, metrics_variant_name(variant), s->n, lo, bound);
}

START_TEST(variants_give_the_same_bits)
{
    static const size_t sizes[] = { 1,    63,   127,  128,   129,   255,   1023,        1024,
                                    1025, 1152, 4096, 65536, 65537, 70000, 131072 + 700 };
    static const double noises[] = { -1, 0, 0.4, 0.6, 3, 100, 1e5 }; /* -1: exact */
    enum metrics_variant variant = (enum metrics_variant)_i;
    struct sample s;

    if (!metrics_variant_available(variant)) return;
    state = 0x9e3779b97f4a7c15u + (uint64_t)_i;
    s.hi = malloc(140000 * sizeof(double));
    s.lo = malloc(140000 * sizeof(double));
    s.error = malloc(140000 * sizeof(double));
    s.got = malloc(140000 * sizeof(double));
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (size_t k = 0; k < 45; k++) {
            s.n = sizes[k % 15];
            double noise = noises[next_random() % 7];
            int rarity = rarities[next_random() % 5];
            fill(&s, dtypes[d], rarity, noise, next_random() & 1);
            compare(&s, dtypes[d], variant, dtypes[d] == DT_F64 && k % 2, (int)(next_random() % 4));
        }
    free(s.hi);
    free(s.lo);
    free(s.error);
    free(s.got);
}
END_TEST

/* Relative errors a few units of the double on either side of a threshold, which agree with it in half of their bits. */
START_TEST(errors_next_to_a_threshold_are_told_apart)
{
    enum { N = 4099 };
    enum metrics_variant variant = (enum metrics_variant)_i;
    static const double thresholds[] = { 0.01, 0.001, 0.0001 };
    double hi[N], lo[N], error[N], got[N];
    struct sample s = { .n = N, .hi = hi, .lo = lo, .error = error, .got = got };

    if (!metrics_variant_available(variant)) return;
    state = 0x2545f4914f6cdd1du + (uint64_t)_i;
    for (size_t round = 0; round < 8; round++) {
        for (size_t i = 0; i < N; i++) {
            double threshold = thresholds[next_random() % 3];
            hi[i] = 1 + uniform();
            got[i] = hi[i] + threshold * (hi[i] + 0x1p-23) * (1 + (uniform() - 0.5) * 0x1p-30);
            lo[i] = error[i] = 0;
        }
        compare(&s, DT_F64, variant, round % 2, 0);
    }
}
END_TEST

/* A reference for the value x of a pattern: near it or not, on either side, halfway to its neighbour, or any double. */
static double near_pattern(enum dtype dtype, double x)
{
    double unit = dtype_ulp(dtype, x), any;
    uint64_t bits = next_random();
    memcpy(&any, &bits, sizeof any);
    switch (next_random() % 8) {
    case 0: return x;
    case 1: return x + unit / 2;
    case 2: return x - unit / 2;
    case 3: return x + unit * (double)(next_random() % 9) - 4 * unit;
    case 4: return x * (1 + 0x1p-30 * uniform());
    case 5: return x + unit * (uniform() - 0.5) * 0x1p-16;
    case 6: return any;
    default: return x + unit * (uniform() - 0.5);
    }
}

/* All patterns of 16 bits against many references: in order, so that the rows of most columns are finite, and shuffled,
 * and from addresses that are aligned to elements only. `tame`: without unrelated references and what is not finite. */
START_TEST(all_patterns_of_16_bits)
{
    enum { N = 65536, SPARE = 8 };
    static const enum dtype narrow[] = { DT_F16, DT_BF16 };
    enum metrics_variant variant = (enum metrics_variant)_i;
    double *hi = malloc((N + SPARE) * sizeof *hi), *error = malloc((N + SPARE) * sizeof *error);
    uint16_t *got = malloc((N + SPARE) * sizeof *got);

    state = 0xd1342543de82ef95u + (uint64_t)_i;
    for (size_t round = 0; metrics_variant_available(variant) && round < 32; round++) {
        enum dtype dtype = narrow[round % 2];
        bool shuffled = round / 2 % 2, tame = round / 4 % 2;
        size_t off = round % SPARE;
        struct sample s = { N - round % 3 * 63, hi + off, NULL, error + off, got + off };
        for (size_t i = 0; i < s.n; i++) {
            uint16_t pattern = (uint16_t)(shuffled ? next_random() : i);
            double x;
            dtype_to_double(&x, &pattern, dtype, 1);
            if (tame && !isfinite(x)) pattern = 0x3c00, dtype_to_double(&x, &pattern, dtype, 1);
            got[off + i] = pattern;
            s.hi[i] = near_pattern(dtype, x);
            if (tame && !(fabs(s.hi[i]) < dtype_info(dtype)->largest)) s.hi[i] = x;
            if (tame && s.hi[i] == 0) s.hi[i] = x;
            s.error[i] = dtype_ulp(dtype, x) * uniform();
        }
        compare(&s, dtype, variant, false, (int)(next_random() % 4));
    }
    free(hi);
    free(error);
    free(got);
}
END_TEST

/* The largest errors of many chunks have the same upper half and differ in the lower one: growing, shrinking or equal, so that
 * the first of the largest is another chunk's each time. */
START_TEST(maxima_that_share_their_upper_half)
{
    enum { CHUNK = 1024, CHUNKS = 70, N = CHUNK * CHUNKS };
    enum metrics_variant variant = (enum metrics_variant)_i;
    double *hi = malloc(N * sizeof *hi), *error = calloc(N, sizeof *error),
           *got = malloc(N * sizeof *got);

    state = 99 + (uint64_t)_i;
    for (size_t round = 0; metrics_variant_available(variant) && round < 24; round++) {
        enum dtype dtype = dtypes[round % 4];
        int direction = (int)(round / 4 % 3) - 1;
        double unit = dtype_ulp(dtype, 1), largest = round % 8 < 4 ? unit / 4 : unit * 1.25;
        struct sample s = { N, hi, NULL, error, got };
        for (size_t i = 0; i < N; i++) {
            const double one = 1;
            dtype_from_double((char *)got + i * dtype_info(dtype)->bytes, dtype, &one, 1);
            hi[i] = 1 + unit * 0.1 * uniform();
        }
        for (int c = 0; c < CHUNKS; c++)
            hi[c * CHUNK + (int)(next_random() % CHUNK)] = 1 +
                                                           largest * (1 + direction * c * 0x1p-34);
        compare(&s, dtype, variant, false, 0);
    }
    free(hi);
    free(error);
    free(got);
}
END_TEST

/* Errors of element i by their definitions; -1 where it is not compared, or, relative, small. */
static double defined_error(const struct sample *s, enum dtype dtype, int measure, size_t i,
                            bool lo, const struct metrics_parameters *parameters)
{
    size_t bytes = dtype_info(dtype)->bytes;
    double got, rounded, want = s->hi[i];
    unsigned char pattern[8];
    dtype_to_double(&got, (char *)s->got + i * bytes, dtype, 1);
    dtype_from_double(pattern, dtype, &want, 1);
    dtype_to_double(&rounded, pattern, dtype, 1);
    if (!isfinite(got) || !isfinite(rounded)) return -1;
    double error = fabs(lo ? (got - want) - s->lo[i] : got - want);
    if (measure == 0) return error;
    if (measure == 1) return error / dtype_ulp(dtype, want);
    return fabs(want) > parameters->small_value ? error / (fabs(want) + parameters->bench_epsilon)
                                                : -1;
}

/* The worst elements are the first of the largest errors, wherever they lie and whatever else is in the tensor. */
START_TEST(worst_elements_are_the_first_of_the_largest_errors)
{
    enum { MOST = 3000 };
    static const size_t sizes[] = { 1, 2, 63, 65, 1000, 1024, MOST };
    static const double noises[] = { 0, 0.6, 3 };
    const struct metrics_parameters parameters = { .bench_epsilon = 0x1p-23,
                                                   .small_value = 1e-3,
                                                   .ulp_limit = 1 };
    double hi[MOST], low[MOST], error[MOST], got[MOST];
    struct sample s = { .hi = hi, .lo = low, .error = error, .got = got };

    state = 0xa0761d6478bd642fu + (uint64_t)_i;
    for (size_t round = 0; round < 84; round++) {
        enum dtype dtype = dtypes[round % 4];
        bool lo = dtype == DT_F64 && round / 4 % 2;
        s.n = sizes[round % 7];
        fill(&s, dtype, rarities[round % 5], noises[round % 3], round / 3 % 2);
        for (size_t i = 0; i < s.n;
             i++) /* the definition of the unit by dtype_ulp needs its exponents */
            if (dtype == DT_F64 && fabs(hi[i]) < 0x1p-900) hi[i] = 1, low[i] = 0;
        const int64_t shape[1] = { (int64_t)s.n };
        struct tensor tensor;
        struct reference want = { .dtype = dtype, .rank = 1, .n = s.n, .hi = hi };
        struct metrics m;
        tensor_wrap(&tensor, got, dtype, 1, shape);
        want.shape[0] = shape[0];
        want.lo = lo ? low : NULL;
        metrics_compute(&m, &tensor, &want, &parameters, (enum metrics_variant)_i, NULL);
        const struct worst_element *worst[] = { &m.worst_abs, &m.worst_ulp, &m.worst_relative };
        for (int measure = 0; measure < 3; measure++) {
            double largest = 0;
            size_t first = SIZE_MAX;
            for (size_t i = 0; i < s.n; i++) {
                double e = defined_error(&s, dtype, measure, i, lo, &parameters);
                if (e > largest) largest = e, first = i;
            }
            ck_assert_uint_eq(worst[measure]->index, first);
            if (first == SIZE_MAX) continue;
            ck_assert(worst[measure]->value == largest);
            ck_assert(worst[measure]->want == hi[first]);
        }
    }
}
END_TEST

/* Whoever passes over the parts of a large tensor changes no bit, and all of its elements are in one. */
START_TEST(threads_change_no_bit)
{
    static const size_t sizes[] = { 1, 262144, 262145, 1000003, 17 << 20 };
    static const size_t spares[] = { 0, 1, 6, 31 };
    struct sample s = { .n = sizes[_i] };
    const struct metrics_parameters parameters = { .bench_epsilon = 0x1p-23,
                                                   .small_value = 1e-3,
                                                   .small_value_atol = 1e-5,
                                                   .relative_tolerance = 1e-3,
                                                   .ulp_limit = 32,
                                                   .within = { 0.01, 0.001, 0.0001 } };
    const int64_t shape[1] = { (int64_t)s.n };
    struct tensor got;

    s.hi = malloc(s.n * sizeof(double));
    s.lo = malloc(s.n * sizeof(double));
    s.error = malloc(s.n * sizeof(double));
    s.got = malloc(s.n * sizeof(double));
    state = 77;
    fill(&s, DT_F32, 5000, 3, false);
    tensor_wrap(&got, s.got, DT_F32, 1, shape);
    const struct reference want = { .dtype = DT_F32,
                                    .rank = 1,
                                    .shape = { (int64_t)s.n },
                                    .n = s.n,
                                    .hi = s.hi,
                                    .error = s.error };
    struct metrics alone, helped;
    memset(&alone, 1, sizeof alone);
    metrics_compute(&alone, &got, &want, &parameters, METRICS_BEST, NULL);
    ck_assert_uint_eq(alone.compared + alone.agreed + alone.mismatched, s.n);
    for (size_t i = 0; i < sizeof spares / sizeof *spares; i++) {
        struct team team;
        struct help help = { .team = &team };
        team_open(&team, spares[i], 0, NULL);
        memset(&helped, 2, sizeof helped);
        metrics_compute(&helped, &got, &want, &parameters, METRICS_BEST, &help);
        ck_assert_mem_eq(&alone, &helped, sizeof alone);
        team_close(&team);
    }
    free(s.hi);
    free(s.lo);
    free(s.error);
    free(s.got);
}
END_TEST

START_TEST(variants_have_names)
{
    ck_assert_str_eq(metrics_variant_name(METRICS_BEST), "best");
    ck_assert_str_eq(metrics_variant_name(METRICS_AVX512), "avx512");
    ck_assert(metrics_variant_available(METRICS_SCALAR));
    ck_assert(metrics_variant_available(METRICS_BEST));
#if defined(__x86_64__)
    ck_assert(!metrics_variant_available(METRICS_NEON));
#else
    ck_assert(!metrics_variant_available(METRICS_AVX512));
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("variants");
    TCase *tcase = tcase_create("variants");
    tcase_set_timeout(tcase, 120);
    if (!THREAD_SANITIZED) { /* these have one thread */
        tcase_add_loop_test(tcase, variants_give_the_same_bits, METRICS_BEST, METRICS_VARIANTS);
        tcase_add_loop_test(tcase, errors_next_to_a_threshold_are_told_apart, METRICS_BEST,
                            METRICS_VARIANTS);
        tcase_add_loop_test(tcase, all_patterns_of_16_bits, METRICS_BEST, METRICS_VARIANTS);
        tcase_add_loop_test(tcase, maxima_that_share_their_upper_half, METRICS_BEST,
                            METRICS_VARIANTS);
        tcase_add_loop_test(tcase, worst_elements_are_the_first_of_the_largest_errors, METRICS_BEST,
                            METRICS_SCALAR + 1);
    }
    tcase_add_loop_test(tcase, threads_change_no_bit, 0, 5);
    tcase_add_test(tcase, variants_have_names);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
