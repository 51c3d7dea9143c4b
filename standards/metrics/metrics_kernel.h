/* The vector form of the metrics pass, written once over the primitives of an instruction set.
 *
 * The including file defines LANES_PER_VECTOR, the types V (doubles), I (64-bit integers) and M
 * (a mask), and the primitives used below; KERNEL_TABLE then names its functions by dtype.
 *
 * A chunk is 8 rows of 64 elements. It is folded column by column (one vector of lanes, all
 * rows), so that the accumulators of the column stay in registers. Division sets the pace (two
 * cycles an element on current x86 cores), so whatever is not needed for every element is left
 * to a second loop over the chunk's errors, which lie in the first-level cache by then, and is
 * done only as far as the chunk's largest error asks for it.
 *
 * A column with anything unusual (not finite, overflowing, nonzero where the reference is zero)
 * is folded by pass_fold_element instead; its sums so far are dropped.
 */
#include <math.h>
#include <string.h>

#include "standards/metrics/metrics_pass.h"

enum { COLUMNS = PASS_LANES / LANES_PER_VECTOR };

/* What a column, and then the chunk, adds to the counts. */
struct chunk_counts {
    uint64_t small, small_failed, small_relative_over;
    uint64_t careful;    /* elements folded by pass_fold_element, which count themselves */
    double max_relative; /* small elements too */
    double peak[MEASURES];
};

/* Broadcast constants of a pass. */
struct constants {
    V epsilon, small_value, atol, rtol, exponent_min, second_scale;
    I scale_minus;
    double finite_below;
};

static inline uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static struct constants make_constants(const struct pass *pass)
{
    bool wide = pass->unit.significand_bits == 53;
    int places = pass->unit.significand_bits - 1;
    /* The exponent field of 1 / unit is this minus that of |want|. From 2^1023 on, the float64
     * form would need a subnormal; pass_fold_element knows how. */
    uint64_t field = 2 * 1023 + (uint64_t)(wide ? 0 : places);
    return (struct constants){
        .epsilon = v_set(pass->parameters.bench_epsilon),
        .small_value = v_set(pass->parameters.small_value),
        .atol = v_set(pass->parameters.small_value_atol),
        .rtol = v_set(pass->parameters.relative_tolerance),
        .exponent_min = v_set(ldexp(1, pass->unit.exponent_min)),
        .second_scale = v_set(wide ? ldexp(1, places) : 1),
        .scale_minus = i_set(field << 52),
        .finite_below = fmin(pass->unit.overflow_at, 0x1p1023),
    };
}

/* A column with something unusual: element by element, leaving nothing for the second loop. */
static void fold_column_carefully(struct pass *pass, struct chunk_counts *chunk, size_t start,
                                  size_t column)
{
    for (size_t row = 0; row < PASS_ROWS; row++)
        for (size_t k = 0; k < LANES_PER_VECTOR; k++) {
            size_t place = row * PASS_LANES + column * LANES_PER_VECTOR + k;
            pass_fold_element(pass, start + place);
            pass->chunk_ulp[place] = 0;
            pass->chunk_relative[place] = INFINITY;
        }
    chunk->careful += PASS_ROWS * LANES_PER_VECTOR;
}

/* ---- the second loop ---------------------------------------------------------------------- */

/* The lanes of a counter, added up. */
static uint64_t counted(I counter)
{
    uint64_t lanes[LANES_PER_VECTOR], count = 0;
    i_store(lanes, counter);
    for (size_t k = 0; k < LANES_PER_VECTOR; k++) count += lanes[k];
    return count;
}

/* How many of the chunk's relative errors are below each of `within`, and how many above `tolerance`: in
 * one loop, because each value read serves all four comparisons. */
static void count_thresholds(uint64_t below[3], uint64_t *above, const double *x,
                             const double within[3], double tolerance)
{
    const V limit[3] = { v_set(within[0]), v_set(within[1]), v_set(within[2]) };
    const V most = v_set(tolerance);
    I counter[3] = { i_set(0), i_set(0), i_set(0) }, over = i_set(0);
    for (size_t i = 0; i < PASS_CHUNK; i += LANES_PER_VECTOR) {
        V value = v_load(x + i);
        for (int k = 0; k < 3; k++) counter[k] = i_count(counter[k], m_gt(limit[k], value));
        over = i_count(over, m_gt(value, most));
    }
    for (int k = 0; k < 3; k++) below[k] = counted(counter[k]);
    *above = counted(over);
}

static uint64_t count_zeros(const double *x)
{
    const V zero = v_set(0);
    I counter = i_set(0);
    for (size_t i = 0; i < PASS_CHUNK; i += LANES_PER_VECTOR)
        counter = i_count(counter, m_eq(v_load(x + i), zero));
    return counted(counter);
}

/* The chunk's errors in ulp: 0, half a unit on either side, beyond `half` on each side. */
struct ulp_counts {
    uint64_t zero, tied, above, below;
};

static struct ulp_counts count_ulp_kinds(const double *x, double half)
{
    const V zero = v_set(0), tie = v_set(0.5), high = v_set(half), low = v_set(-half);
    I zeros = i_set(0), ties = i_set(0), above = i_set(0), below = i_set(0);
    for (size_t i = 0; i < PASS_CHUNK; i += LANES_PER_VECTOR) {
        V value = v_load(x + i);
        zeros = i_count(zeros, m_eq(value, zero));
        ties = i_count(ties, m_eq(v_abs(value), tie));
        above = i_count(above, m_gt(value, high));
        below = i_count(below, m_gt(low, value));
    }
    return (struct ulp_counts){ counted(zeros), counted(ties), counted(above), counted(below) };
}

static uint64_t count_magnitude_above(const double *x, double threshold)
{
    const V limit = v_set(threshold);
    I counter = i_set(0);
    for (size_t i = 0; i < PASS_CHUNK; i += LANES_PER_VECTOR)
        counter = i_count(counter, m_gt(v_abs(v_load(x + i)), limit));
    return counted(counter);
}

static void count_relative(struct pass *pass, const struct chunk_counts *chunk)
{
    const struct metrics_parameters *parameters = &pass->parameters;
    struct pass_counts *counts = &pass->counts;
    uint64_t compared = PASS_CHUNK - chunk->careful, over = chunk->careful;
    uint64_t below[3] = { compared, compared, compared };
    bool all_below = chunk->max_relative < parameters->within[0] &&
                     chunk->max_relative < parameters->within[1] &&
                     chunk->max_relative < parameters->within[2];

    if (!all_below || chunk->max_relative > parameters->relative_tolerance)
        count_thresholds(below, &over, pass->chunk_relative, parameters->within,
                         parameters->relative_tolerance);
    for (int k = 0; k < 3; k++) counts->within[k] += below[k];
    counts->small += chunk->small;
    counts->small_failed += chunk->small_failed;
    counts->normal += compared - chunk->small;
    /* Elements taken carefully stand there as infinite. */
    counts->relative_failed += over - chunk->careful - chunk->small_relative_over;
}

/* Histogram of |x| over the bins (2^(b-3), 2^(b-2)] for b = 2..9, by byte counters: a lane adds
 * 1 << 8 * (bin - 2) to its word; shifts of 64 and more give 0. A lane sees at most 256 / ...
 * 512 / lanes elements of a chunk; NEON's two lanes flush half way, below 256. */
static void count_bins(uint64_t bins[8], const double *x)
{
    const I below_first = i_set((uint64_t)1022 << 52), one = i_set(1), minus_one = i_set(1);
    const I whole_bytes = i_set(~(uint64_t)7);
    enum { PER_FLUSH = 128 * LANES_PER_VECTOR < PASS_CHUNK ? 128 * LANES_PER_VECTOR : PASS_CHUNK };

    for (size_t start = 0; start < PASS_CHUNK; start += PER_FLUSH) {
        I counters = i_set(0);
        for (size_t i = start; i < start + PER_FLUSH; i += LANES_PER_VECTOR) {
            /* One below, so that a power of two ends its bin; then 8 * (exponent - 1022). */
            I bits = i_sub(i_from_bits(v_abs(v_load(x + i))), minus_one);
            I shift = i_and(i_shift_right_49(i_sub(bits, below_first)), whole_bytes);
            counters = i_add(counters, i_shift_left(one, shift));
        }
        uint64_t words[LANES_PER_VECTOR];
        i_store(words, counters);
        for (size_t k = 0; k < LANES_PER_VECTOR; k++)
            for (int b = 0; b < 8; b++) bins[b] += words[k] >> 8 * b & 0xff;
    }
}

/* Of an error above half a unit. */
static int bin_of(double ulp)
{
    int bin = (int)((bits_of_double(ulp) - 1) >> 52) - 1020;
    return bin < ULP_BINS ? bin : ULP_BINS - 1;
}

/* All bins but 0 and 1; returns the number of elements in them. */
static uint64_t count_histogram(struct pass *pass, double max_ulp)
{
    uint64_t bins[8] = { 0 }, total = 0;
    uint64_t *histogram = pass->counts.ulp_histogram;

    if (max_ulp <= 0.5) return 0;
    if (max_ulp <= 128) {
        count_bins(bins, pass->chunk_ulp);
        for (int b = 0; b < 8; b++) {
            histogram[b + 2] += bins[b];
            total += bins[b];
        }
        return total;
    }
    for (size_t i = 0; i < PASS_CHUNK; i++) {
        double ulp = fabs(pass->chunk_ulp[i]);
        if (ulp <= 0.5) continue;
        histogram[bin_of(ulp)]++;
        total++;
    }
    return total;
}

/* Ties: an odd result half a unit away is not what rounding to even gives. */
static uint64_t count_odd_ties(struct pass *pass, size_t start)
{
    uint64_t odd = 0;
    for (size_t i = 0; i < PASS_CHUNK; i++) {
        if (fabs(pass->chunk_ulp[i]) != 0.5 || !(pass->got[(start + i) * pass->element_bytes] & 1))
            continue;
        odd++;
        if (!pass->unit.parity_matters) continue;
        pass->counts.above += pass->chunk_ulp[i] > 0;
        pass->counts.below += pass->chunk_ulp[i] < 0;
    }
    return odd;
}

static void count_ulps(struct pass *pass, const struct chunk_counts *chunk, size_t start)
{
    struct pass_counts *counts = &pass->counts;
    double peak = chunk->peak[MEASURE_ULP];
    uint64_t compared = PASS_CHUNK - chunk->careful;
    struct ulp_counts ulps = { .zero = PASS_CHUNK };

    if (peak >= 0.5 || peak > pass->unit.half)
        ulps = count_ulp_kinds(pass->chunk_ulp, pass->unit.half);
    else if (peak > 0) ulps.zero = count_zeros(pass->chunk_ulp);
    uint64_t zeros = ulps.zero - chunk->careful; /* which stand there as 0 */
    uint64_t beyond = count_histogram(pass, peak);

    counts->differ += compared - zeros;
    counts->ulp_histogram[0] += zeros;
    counts->ulp_histogram[1] += compared - zeros - beyond;
    counts->unequal += beyond;
    if (ulps.tied) counts->unequal += count_odd_ties(pass, start);
    counts->above += ulps.above;
    counts->below += ulps.below;
    if (peak > pass->parameters.ulp_limit)
        counts->ulp_over += count_magnitude_above(pass->chunk_ulp, pass->parameters.ulp_limit);
}

/* ---- chunks ------------------------------------------------------------------------------- */

/* Where the elements of a chunk are read: in place, or from `room` as doubles for the dtypes that
 * no instruction converts. */
ALWAYS_INLINE const unsigned char *elements_in_place(double *room, const struct pass *pass,
                                                     size_t first)
{
    (void)room;
    return pass->got + first * pass->element_bytes;
}

ALWAYS_INLINE const unsigned char *elements_as_doubles(double *room, const struct pass *pass,
                                                       size_t first)
{
    dtype_to_double(room, elements_in_place(room, pass, first), pass->dtype, PASS_CHUNK);
    return (const unsigned char *)room;
}

typedef const unsigned char *find_elements(double *room, const struct pass *pass, size_t first);

#define KIND(NAME) NAME##_plain
#define WIDE       0
#define HAS_LO     0
#define BOUNDS     0
#include "standards/metrics/metrics_chunk.h"

#define KIND(NAME) NAME##_bounds
#define WIDE       0
#define HAS_LO     0
#define BOUNDS     1
#include "standards/metrics/metrics_chunk.h"

#define KIND(NAME) NAME##_wide
#define WIDE       1
#define HAS_LO     0
#define BOUNDS     0
#include "standards/metrics/metrics_chunk.h"

#define KIND(NAME) NAME##_wide_bounds
#define WIDE       1
#define HAS_LO     0
#define BOUNDS     1
#include "standards/metrics/metrics_chunk.h"

#define KIND(NAME) NAME##_wide_lo
#define WIDE       1
#define HAS_LO     1
#define BOUNDS     0
#include "standards/metrics/metrics_chunk.h"

#define KIND(NAME) NAME##_wide_lo_bounds
#define WIDE       1
#define HAS_LO     1
#define BOUNDS     1
#include "standards/metrics/metrics_chunk.h"

/* One function per way of reading the device's elements, with and without bounds to follow. */
#define DEFINE_KERNEL(NAME, LOAD, BYTES, ELEMENTS)                                \
    static size_t NAME(struct pass *pass, size_t start, size_t count)             \
    {                                                                             \
        if (pass_follows_bound(pass))                                             \
            return fold_chunks_bounds(pass, start, count, BYTES, LOAD, ELEMENTS); \
        return fold_chunks_plain(pass, start, count, BYTES, LOAD, ELEMENTS);      \
    }

DEFINE_KERNEL(fold_f32, load_f32, 4, elements_in_place)
DEFINE_KERNEL(fold_f16, load_f16, 2, elements_in_place)
DEFINE_KERNEL(fold_bf16, load_bf16, 2, elements_in_place)
DEFINE_KERNEL(fold_f8, load_f64, 8, elements_as_doubles)

static size_t fold_f64(struct pass *pass, size_t start, size_t count)
{
    bool bound = pass_follows_bound(pass);
    if (pass->lo && bound)
        return fold_chunks_wide_lo_bounds(pass, start, count, 8, load_f64, elements_in_place);
    if (pass->lo) return fold_chunks_wide_lo(pass, start, count, 8, load_f64, elements_in_place);
    if (bound) return fold_chunks_wide_bounds(pass, start, count, 8, load_f64, elements_in_place);
    return fold_chunks_wide(pass, start, count, 8, load_f64, elements_in_place);
}

static pass_fold_chunks *const kernels[DT_COUNT] = {
    [DT_F64] = fold_f64,   [DT_F32] = fold_f32,   [DT_F16] = fold_f16,
    [DT_BF16] = fold_bf16, [DT_F8E4M3] = fold_f8, [DT_F8E5M2] = fold_f8,
};
