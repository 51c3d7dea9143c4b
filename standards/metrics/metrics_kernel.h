/* The vector form of the metrics pass, written once over the primitives of an instruction set.
 *
 * The including file defines LANES_PER_VECTOR, VECTOR_REGISTERS, the types V (doubles), I (64-bit integers,
 * or twice as many words of 32 bits) and M (a mask), and the primitives used below; `kernels` then names
 * its functions by dtype.
 *
 * A chunk is up to 16 rows of 64 elements. It is folded column by column (one vector of lanes, all
 * rows), so that the accumulators of the column stay in registers. The number of instructions sets the
 * pace (about 28 to a vector; division is hidden behind them), so whatever is not needed for every element
 * is left to a second loop over the chunk's errors, which lie in the first-level cache by then
 * (metrics_count.h), and lanes are added up once for many chunks.
 *
 * A column with anything unusual (not finite, overflowing, nonzero where the reference is zero)
 * is folded by pass_fold_element instead; its sums so far are dropped.
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
    /* Rows after whose errors their ulps are folded. Where the registers hold all sums of a column, two;
     * where they do not, all rows: a sum in memory is ready for the next row after ten cycles only. */
    GROUP = VECTOR_REGISTERS < 32 ? PASS_CHUNK / PASS_LANES : 2,
    AT_A_TIME = 4, /* thresholds that one loop over a chunk counts */
    /* Of each threshold: a count under a mask takes two cycles before the next may follow. Other counts take one,
     * but loads and comparisons of few thresholds fill no cycle, so two are under way there too. */
    COUNTERS = LANES_PER_VECTOR == 8 ? 2 : 1,
    MOST_COUNTERS = 2,
};

/* Broadcast constants of a pass. */
struct constants {
    V epsilon, small_value, atol, rtol, exponent_min, second_scale, finite_below;
    V relative, absolute; /* of the uniform bound */
    I scale_minus;
    I usual_first, usual_width; /* of `outside` */
    double not_within[3];       /* what is above is not below the thresholds `within` */
};

/* Where a chunk is read. */
struct chunk_source {
    const unsigned char *got;
    const double *hi, *lo, *error; /* lo and error may be NULL */
};

/* One vector of lanes while its rows are folded. */
struct column {
    V sum[PASS_FAST_SUMS], max[PASS_FAST_MAXES], bound, small_relative;
    uint64_t small, small_failed, small_relative_over;
};

/* A chunk, and what its columns leave. */
struct chunk {
    size_t start, count; /* elements: the first of them, how many; a multiple of PAIR */
    V max[PASS_FAST_MAXES], bound;
    V small_relative; /* relative errors of small elements */
    uint64_t small, small_failed, small_relative_over;
    uint64_t careful; /* elements folded by pass_fold_element, which count themselves */
};

static uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The magnitudes that need no look at small values, subnormals and overflow, as a range of bits: an
 * unsigned comparison, done by a signed one with the sign bit of both sides turned. */
#define TURNED ((uint64_t)1 << 63)

static void set_usual_range(struct constants *c, const struct pass *pass, double finite_below)
{
    double small = fmax(pass->parameters.small_value, 0);
    uint64_t first = bits_of_double(small) + 1, last = bits_of_double(finite_below) - 1;
    uint64_t normal = bits_of_double(ldexp(1, pass->unit.exponent_min));

    if (first < normal) first = normal;
    if (first > last) first = last = UINT64_MAX; /* none is usual */
    c->usual_first = i_set(first + TURNED);
    c->usual_width = i_set((last - first) + TURNED);
}

ALWAYS_INLINE M outside(const struct constants *c, V magnitude)
{
    return m_above(i_sub(i_from_bits(magnitude), c->usual_first), c->usual_width);
}

static struct constants make_constants(const struct pass *pass)
{
    bool wide = pass->unit.significand_bits == 53;
    int places = pass->unit.significand_bits - 1;
    /* The exponent field of 1 / unit is this minus that of |want|. From 2^1023 on, the float64
     * form would need a subnormal; pass_fold_element knows how. */
    uint64_t field = 2 * 1023 + (uint64_t)(wide ? 0 : places);
    const double *within = pass->parameters.within;
    double finite_below = fmin(pass->unit.overflow_at, 0x1p1023);
    struct constants c = {
        .not_within = { nextafter(within[0], -INFINITY), nextafter(within[1], -INFINITY),
                        nextafter(within[2], -INFINITY) },
        .epsilon = v_set(pass->parameters.bench_epsilon),
        .small_value = v_set(pass->parameters.small_value),
        .atol = v_set(pass->parameters.small_value_atol),
        .rtol = v_set(pass->parameters.relative_tolerance),
        .exponent_min = v_set(ldexp(1, pass->unit.exponent_min)),
        .second_scale = v_set(wide ? ldexp(1, places) : 1),
        .scale_minus = i_set(field << 52),
        .finite_below = v_set(finite_below),
        .relative = v_set(pass->relative),
        .absolute = v_set(pass->absolute),
    };
    set_usual_range(&c, pass, finite_below);
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

static void chunk_begin(struct chunk *chunk, size_t start, size_t count)
{
    chunk->start = start;
    chunk->count = count;
    for (int m = 0; m < PASS_FAST_MAXES; m++) chunk->max[m] = v_set(0);
    chunk->bound = chunk->small_relative = v_set(0);
    chunk->small = chunk->small_failed = chunk->small_relative_over = chunk->careful = 0;
}

ALWAYS_INLINE void column_begin(struct column *column)
{
    for (int m = 0; m < PASS_FAST_MAXES; m++) column->max[m] = v_set(0);
    column->bound = column->small_relative = v_set(0);
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
    for (int m = 0; m < PASS_FAST_MAXES; m++) chunk->max[m] = v_max(chunk->max[m], column->max[m]);
    chunk->bound = v_max(chunk->bound, column->bound);
    if (column->small == 0) return;
    chunk->small += column->small;
    chunk->small_failed += column->small_failed;
    chunk->small_relative_over += column->small_relative_over;
    chunk->small_relative = v_max(chunk->small_relative, column->small_relative);
}

#include "standards/metrics/metrics_count.h"

/* A column with something unusual: element by element, leaving nothing for the second loop. */
static void fold_column_carefully(struct pass *pass, struct chunk *chunk, size_t column)
{
    size_t rows = chunk->count / PASS_LANES;
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < LANES_PER_VECTOR; k++) {
            size_t place = row * PASS_LANES + column * LANES_PER_VECTOR + k;
            pass_fold_element(pass, chunk->start + place);
            pass->chunk_relative[place] = -INFINITY; /* above no threshold */
        }
    for (size_t row = 0; row < rows; row += 2)
        i_store(pass->chunk_ulp + keys_at(row, column), i_set(0));
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
