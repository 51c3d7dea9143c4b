/* The vector form of the metrics pass, written once over the primitives of an instruction set.
 *
 * The including file defines LANES_PER_VECTOR, the types V (doubles), I (64-bit integers, or twice as many words of
 * 32 bits), M (a mask) and C (a count of words), and the primitives used below; `kernels` then names its functions by dtype.
 *
 * A chunk is up to 16 rows of 64 elements. It is folded column by column (one vector of lanes, all
 * rows), so that the accumulators of the column stay in registers, of which AVX2 has 16. The number of instructions sets
 * the pace: on a Zen 5 core, with two pipes that multiply, two that add and any of the four for integers, a vector takes
 * 23 of their slots (the division two of them), 5.8 cycles, and 6.3 are measured for four lanes. Whatever is not needed
 * for every element, or can be had of two rows at once from the upper halves of their errors, is therefore left to loops
 * over the keys of a chunk, which lie in the first-level cache by then (metrics_count.h): half a slot for the largest
 * and the least of each, one and a half for each threshold that the errors of the chunk lie on both sides of.
 *
 * Whether all elements are usual is asked once for a column: the smallest magnitude of the reference tells
 * of small values and subnormals, the sums of squares of what is not finite. A column with small values is
 * folded again with a look at each vector; one that has what is not finite, overflows, or is nonzero where
 * the reference is zero is folded by pass_fold_elements. What was folded of it before is dropped.
 */
#include <math.h>
#include <string.h>

#include "standards/metrics/metrics_pass.h"

enum {
    COLUMNS = PASS_LANES / LANES_PER_VECTOR,
    WORDS_PER_VECTOR = 2 * LANES_PER_VECTOR,
    PAIR = 2 * PASS_LANES, /* elements of two rows, which are folded together */
    LEVELS = 8,            /* powers of two from 1/2 on, between which the histogram is counted */
    ROWS = PASS_CHUNK / PASS_LANES,
    WIDENED = 8, /* elements of 16 bits that become floats together, where a vector is of fewer */
    WIDENED_COLUMNS = WIDENED / LANES_PER_VECTOR,
    AT_A_TIME = 4, /* thresholds that one loop over a chunk counts */
    COUNTERS = 2,  /* of each: a count or minimum takes two cycles before the next may follow */
};

/* Thresholds of relative errors. */
enum { NOT_WITHIN, OVER_TOLERANCE = NOT_WITHIN + 3, RELATIVE_THRESHOLDS };

/* Broadcast constants of a pass. */
struct constants {
    V epsilon, small_value, atol, rtol, largest_scale, finite_below;
    V squares_below; /* sums of squares of elements that are all finite, unless the sums are larger */
    V relative, absolute;                  /* of the uniform bound */
    I usual_above;                         /* see `usual` */
    double threshold[RELATIVE_THRESHOLDS]; /* what is above is not below `within` */
    uint32_t threshold_key[RELATIVE_THRESHOLDS];
    uint32_t half_key, beyond_key,
        limit_key; /* of errors of 1/2, pass_unit.half and the limit in ulp */
};

/* Where a chunk is read. */
struct chunk_source {
    const unsigned char *got; /* of a column, which advances by `row_bytes` from row to row */
    size_t row_bytes;
    const double *hi, *lo, *error; /* of the chunk; lo and error may be NULL */
};

/* One vector of lanes while its rows are folded. */
struct column {
    V sum[PASS_FAST_SUMS], small_squared, max_abs, bound;
    I least; /* magnitude of the reference: words, of which only the upper ones are looked at */
    bool unusual;
    uint64_t small, small_failed, small_relative_over;
};

/* A chunk, and what its columns leave. */
struct chunk {
    size_t start, count; /* elements: the first of them, how many; a multiple of PAIR */
    V max_abs, bound;
    uint64_t small, small_failed, small_relative_over;
    uint64_t careful;         /* elements folded by pass_fold_elements, which count themselves */
    uint32_t careful_columns; /* a bit for each column of them */
    bool unusual;             /* the column before had elements that are not usual */
};

#include "standards/metrics/metrics_keys.h"

/* The magnitudes that need no look at small values and subnormals, by the upper half of their bits: the
 * smallest of a column is then found without the 64-bit minimum that few instruction sets have. */
static I usual_above(const struct pass *pass)
{
    uint64_t small = bits_of_double(fmax(pass->parameters.small_value, 0)) + 1;
    uint64_t normal = bits_of_double(ldexp(1, pass->unit.exponent_min));
    return i_set((small > normal ? small : normal) | 0xffffffff);
}

ALWAYS_INLINE bool usual(const struct constants *c, I magnitude)
{
    return m_all(m_above(magnitude, c->usual_above));
}

/* The key of an error of `ulp`. */
static uint32_t key_of_ulp(const struct pass *pass, double ulp)
{
    return key_away_from_zero(ulp / pass->unit.ulps_folded);
}

static struct constants make_constants(const struct pass *pass)
{
    const struct metrics_parameters *parameters = &pass->parameters;
    /* Beyond 2^1023, errors overflow. */
    double finite_below = fmin(pass->unit.overflow_at, 0x1p1023);
    struct constants c = {
        .epsilon = v_set(parameters->bench_epsilon),
        .small_value = v_set(parameters->small_value),
        .atol = v_set(parameters->small_value_atol),
        .rtol = v_set(parameters->relative_tolerance),
        .largest_scale = v_set(pass_scale_at(&pass->unit, 0)),
        .finite_below = v_set(finite_below),
        .squares_below = v_set(finite_below * finite_below),
        .relative = v_set(pass->relative),
        .absolute = v_set(pass->absolute),
        .usual_above = usual_above(pass),
        .threshold[OVER_TOLERANCE] = parameters->relative_tolerance,
        .half_key = key_of_ulp(pass, 0.5),
        .beyond_key = key_of_ulp(pass, pass->unit.half),
        .limit_key = key_of_ulp(pass, parameters->ulp_limit),
    };
    for (int k = 0; k < 3; k++)
        c.threshold[NOT_WITHIN + k] = nextafter(parameters->within[k], -INFINITY);
    for (int k = 0; k < RELATIVE_THRESHOLDS; k++)
        c.threshold_key[k] = key_of_relative(pass, c.threshold[k]);
    return c;
}

/* Elements of a chunk. What is read of it, what is asked for of later ones and what is kept for the counts share
 * the first-level cache, so float64, of which twice as much is read, has half as many rows. */
#define CHUNK_SIZE(wide) ((wide) ? PASS_CHUNK / 2 : PASS_CHUNK)

/* Elements of the next chunk when `left` are left: whole pairs of rows. */
static size_t chunk_size(size_t left, size_t most)
{
    return left < most ? left / PAIR * PAIR : most;
}

/* Ask for the lines of `bytes` bytes. A compiler that sees what their addresses have in common keeps each of them in
 * a register of its own, and has none left for what the loops need. */
ALWAYS_INLINE void prefetch_lines(const void *data, size_t bytes)
{
    enum { LINE = 64 };
    const char *line = data;
    __asm__("" : "+r"(line));
    for (size_t byte = 0; byte < bytes; byte += LINE) __builtin_prefetch(line + byte);
}

static void chunk_begin(struct chunk *chunk, size_t start, size_t count, bool unusual)
{
    chunk->start = start;
    chunk->count = count;
    chunk->max_abs = chunk->bound = v_set(0);
    chunk->small = chunk->small_failed = chunk->small_relative_over = chunk->careful = 0;
    chunk->careful_columns = 0;
    chunk->unusual = unusual;
}

ALWAYS_INLINE void column_begin(struct column *column, const struct pass *pass, size_t number)
{
    for (int s = 0; s < PASS_FAST_SUMS; s++)
        column->sum[s] = v_load(&pass->lanes.sum[s][number * LANES_PER_VECTOR]);
    column->small_squared =
        v_load(&pass->lanes.sum[SUM_OTHER_ERROR_SQUARED][number * LANES_PER_VECTOR]);
    column->max_abs = column->bound = v_set(0);
    column->least = i_set(UINT64_MAX);
    column->unusual = false;
    column->small = column->small_failed = column->small_relative_over = 0;
}

/* Put the sums of column `number` back, and the rest into its chunk. */
ALWAYS_INLINE void column_end(const struct column *column, struct pass *pass, struct chunk *chunk,
                              size_t number)
{
    for (int s = 0; s < PASS_FAST_SUMS; s++)
        v_store(&pass->lanes.sum[s][number * LANES_PER_VECTOR], column->sum[s]);
    if (column->small)
        v_store(&pass->lanes.sum[SUM_OTHER_ERROR_SQUARED][number * LANES_PER_VECTOR],
                column->small_squared);
    chunk->max_abs = v_max(chunk->max_abs, column->max_abs);
    chunk->bound = v_max(chunk->bound, column->bound);
    chunk->small += column->small;
    chunk->small_failed += column->small_failed;
    chunk->small_relative_over += column->small_relative_over;
}

#include "standards/metrics/metrics_count.h"

/* A column that pass_fold_elements must fold: nothing of it is left for the loops over keys. */
static void fold_column_carefully(struct pass *pass, struct chunk *chunk, size_t column)
{
    size_t rows = chunk->count / PASS_LANES;
    for (size_t row = 0; row < rows; row++) {
        size_t first = chunk->start + row * PASS_LANES + column * LANES_PER_VECTOR;
        pass_fold_elements(pass, first, first + LANES_PER_VECTOR);
    }
    for (size_t row = 0; row < rows; row += 2) {
        i_store(pass->chunk_ulp + keys_at(row, column), w_set(0));
        i_store(pass->chunk_relative + keys_at(row, column), w_set(KEY_OF_NONE));
    }
    chunk->careful += rows * LANES_PER_VECTOR;
    chunk->careful_columns |= (uint32_t)1 << column;
}

/* ---- chunks ------------------------------------------------------------------------------- */

/* How the elements of a dtype are read: `load` reads a vector of them from where they are, `bytes` each; those
 * that are widened are of two bytes, and it reads floats; those that no instruction converts become doubles. */
struct reading {
    V (*load)(const void *);
    size_t bytes;
    void (*widen)(float *, const void *);
    bool convert;
};

/* The elements of WIDENED_COLUMNS columns as floats, eight to a row: two instructions an eight, which
 * conversions of fewer elements to doubles take each. */
ALWAYS_INLINE void widen_columns(float *floats, const unsigned char *got, size_t rows,
                                 void (*widen)(float *, const void *))
{
    for (size_t row = 0; row < rows; row++)
        widen(floats + row * WIDENED, got + row * PASS_LANES * 2);
}

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
#define DEFINE_KERNEL(NAME, ...)                                                              \
    static size_t NAME(struct pass *pass, size_t start, size_t count)                         \
    {                                                                                         \
        const struct reading reading = { __VA_ARGS__ };                                       \
        if (pass_follows_bound(pass)) return fold_chunks_bounds(pass, start, count, reading); \
        return fold_chunks_plain(pass, start, count, reading);                                \
    }

DEFINE_KERNEL(fold_f32, .load = load_f32, .bytes = 4)
#if LANES_PER_VECTOR == 8
DEFINE_KERNEL(fold_f16, .load = load_f16, .bytes = 2)
DEFINE_KERNEL(fold_bf16, .load = load_bf16, .bytes = 2)
#else
DEFINE_KERNEL(fold_f16, .load = load_f32, .bytes = 4, .widen = floats_from_f16)
DEFINE_KERNEL(fold_bf16, .load = load_f32, .bytes = 4, .widen = floats_from_bf16)
#endif
DEFINE_KERNEL(fold_f8, .load = load_f64, .bytes = 8, .convert = true)

static size_t fold_f64(struct pass *pass, size_t start, size_t count)
{
    const struct reading reading = { .load = load_f64, .bytes = 8 };
    bool bound = pass_follows_bound(pass);
    if (pass->lo && bound) return fold_chunks_wide_lo_bounds(pass, start, count, reading);
    if (pass->lo) return fold_chunks_wide_lo(pass, start, count, reading);
    if (bound) return fold_chunks_wide_bounds(pass, start, count, reading);
    return fold_chunks_wide(pass, start, count, reading);
}

static pass_fold_chunks *const kernels[DT_COUNT] = {
    [DT_F64] = fold_f64,   [DT_F32] = fold_f32,   [DT_F16] = fold_f16,
    [DT_BF16] = fold_bf16, [DT_F8E4M3] = fold_f8, [DT_F8E5M2] = fold_f8,
};
