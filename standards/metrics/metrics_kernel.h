/* The vector form of the metrics pass, written once over the primitives of an instruction set.
 *
 * The including file defines LANES_PER_VECTOR, VECTOR_REGISTERS, the types V (doubles), I (64-bit integers,
 * or twice as many words of 32 bits) and M (a mask), and the primitives used below; `kernels` then names
 * its functions by dtype.
 *
 * A chunk is up to 16 rows of 64 elements. It is folded column by column (one vector of lanes, all
 * rows), so that the accumulators of the column stay in registers. The number of instructions sets the
 * pace: on a Zen 5 core, with two pipes that multiply and two that add, a vector takes 28 of their slots (the division
 * five of them), 7 cycles, and 7.6 are measured for eight lanes. Whatever is not needed for every element
 * is therefore left to a second loop over the chunk's errors, which lie in the first-level cache by then
 * (metrics_count.h), and lanes are added up once for many chunks.
 *
 * Whether all elements are usual is asked once for a column: the smallest magnitude of the reference tells
 * of small values and subnormals, the sums of squares of what is not finite. A column with small values is
 * folded again with a look at each vector; one that has what is not finite, overflows, or is nonzero where
 * the reference is zero is folded by pass_fold_element. What was folded of it before is dropped.
 */
#include <math.h>
#include <string.h>

#include "standards/metrics/metrics_pass.h"

enum {
    COLUMNS = PASS_LANES / LANES_PER_VECTOR,
    WORDS_PER_VECTOR = 2 * LANES_PER_VECTOR,
    PAIR = 2 * PASS_LANES, /* elements of two rows, which are folded together */
    LEVELS = 8,            /* powers of two from 1/2 on, between which the histogram is counted */
    LARGEST_LEVEL = 128,
    /* Do the registers hold all sums of a column? Else errors in ulp wait until its other sums are made. */
    ALL_SUMS = VECTOR_REGISTERS >= 32,
    ROWS = PASS_CHUNK / PASS_LANES,
    AT_A_TIME = 4, /* thresholds that one loop over a chunk counts */
    /* Of each threshold: a count under a mask takes two cycles before the next may follow. Other counts take one,
     * but loads and comparisons of few thresholds fill no cycle, so two are under way there too. */
    COUNTERS = LANES_PER_VECTOR == 8 ? 2 : 1,
    MOST_COUNTERS = 2,
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
};

/* Where a chunk is read. */
struct chunk_source {
    const unsigned char *got;
    const double *hi, *lo, *error; /* lo and error may be NULL */
};

/* One vector of lanes while its rows are folded. */
struct column {
    V sum[PASS_FAST_SUMS], max[PASS_FAST_MAXES], bound, small_relative;
    I least,
        least_ulp; /* of the reference and of errors: words, of which only the upper ones are looked at */
    bool unusual;
    uint64_t small, small_failed, small_relative_over;
};

/* A chunk, and what its columns leave. */
struct chunk {
    size_t start, count; /* elements: the first of them, how many; a multiple of PAIR */
    V max[PASS_FAST_MAXES], bound;
    V small_relative; /* relative errors of small elements */
    I least_ulp;
    uint64_t small, small_failed, small_relative_over;
    uint64_t careful; /* elements folded by pass_fold_element, which count themselves */
    bool unusual;     /* the column before had elements that are not usual */
};

static uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

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
    };
    for (int k = 0; k < 3; k++)
        c.threshold[NOT_WITHIN + k] = nextafter(parameters->within[k], -INFINITY);
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
    chunk->unusual = unusual;
    chunk->start = start;
    chunk->count = count;
    for (int m = 0; m < PASS_FAST_MAXES; m++) chunk->max[m] = v_set(0);
    chunk->bound = chunk->small_relative = v_set(0);
    chunk->least_ulp = i_set(UINT64_MAX);
    chunk->small = chunk->small_failed = chunk->small_relative_over = chunk->careful = 0;
}

ALWAYS_INLINE void column_begin(struct column *column)
{
    for (int m = 0; m < PASS_FAST_MAXES; m++) column->max[m] = v_set(0);
    column->bound = column->small_relative = v_set(0);
    column->least = column->least_ulp = i_set(UINT64_MAX);
    column->unusual = false;
    column->small = column->small_failed = column->small_relative_over = 0;
}

/* Fetch the sums from `from` up to `to` of column `number`, and put them back. */
ALWAYS_INLINE void sums_load(struct column *column, const struct pass *pass, size_t number,
                             int from, int to)
{
    for (int s = from; s < to; s++)
        column->sum[s] = v_load(&pass->lanes.sum[s][number * LANES_PER_VECTOR]);
}

ALWAYS_INLINE void sums_store(struct pass *pass, const struct column *column, size_t number,
                              int from, int to)
{
    for (int s = from; s < to; s++)
        v_store(&pass->lanes.sum[s][number * LANES_PER_VECTOR], column->sum[s]);
}

ALWAYS_INLINE void chunk_add(struct chunk *chunk, const struct column *column)
{
    for (int m = 0; m < MAX_ULP; m++) chunk->max[m] = v_max(chunk->max[m], column->max[m]);
    chunk->bound = v_max(chunk->bound, column->bound);
    if (column->small == 0) return;
    chunk->small += column->small;
    chunk->small_failed += column->small_failed;
    chunk->small_relative_over += column->small_relative_over;
    chunk->small_relative = v_max(chunk->small_relative, column->small_relative);
}

ALWAYS_INLINE void chunk_add_ulps(struct chunk *chunk, const struct column *column)
{
    chunk->max[MAX_ULP] = v_max(chunk->max[MAX_ULP], column->max[MAX_ULP]);
    chunk->least_ulp = w_min(chunk->least_ulp, column->least_ulp);
}

#include "standards/metrics/metrics_count.h"

/* A column that pass_fold_element must fold: nothing of it is left for the second loop. */
static void fold_column_carefully(struct pass *pass, struct chunk *chunk, size_t column)
{
    size_t rows = chunk->count / PASS_LANES;
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < LANES_PER_VECTOR; k++)
            pass_fold_element(pass,
                              chunk->start + row * PASS_LANES + column * LANES_PER_VECTOR + k);
    for (size_t row = 0; row < rows; row += 2) {
        i_store(pass->chunk_ulp + keys_at(row, column), w_set(0));
        i_store(pass->chunk_relative + keys_at(row, column), w_set(KEY_OF_NONE));
    }
    chunk->careful += rows * LANES_PER_VECTOR;
}

/* ---- chunks ------------------------------------------------------------------------------- */

/* Where the elements of a chunk are read: in place, or from `room` as doubles for the dtypes that
 * no instruction converts. */
ALWAYS_INLINE const unsigned char *elements_in_place(double *room, const struct pass *pass,
                                                     size_t first, size_t count)
{
    (void)room;
    (void)count;
    return pass->got + first * pass->element_bytes;
}

ALWAYS_INLINE const unsigned char *elements_as_doubles(double *room, const struct pass *pass,
                                                       size_t first, size_t count)
{
    dtype_to_double(room, elements_in_place(room, pass, first, count), pass->dtype, count);
    return (const unsigned char *)room;
}

typedef const unsigned char *find_elements(double *room, const struct pass *pass, size_t first,
                                           size_t count);

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
