/* The inside of the metrics pass: what its scalar definition and its vector versions share.
 *
 * Sums run in 64 virtual lanes: element i of a block of 65536 goes to lane i mod 64, lanes meet
 * in a fixed binary tree, block results by compensated addition. Each variant keeps this order
 * per lane, so all give the same bits. A lane adds at most 1024 terms and the tree 6 levels:
 * a sum of positive terms is off by less than gamma_1030 < 2^-42 relatively (Higham, chapter 4).
 *
 * pass_fold_elements is the definition: it treats one element after the other, whatever it is. The vector
 * versions take rows of 64 elements in which nothing unusual happens (both sides finite, no
 * nonzero result where the reference is 0), and leave the others to it.
 */
#ifndef PROBE_STANDARDS_METRICS_METRICS_PASS_H
#define PROBE_STANDARDS_METRICS_METRICS_PASS_H

#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "standards/metrics/metrics_terms.h"

enum { PASS_LANES = 64, PASS_BLOCK = 65536, PASS_CHUNK = 1024 };

enum pass_sum {
    SUM_WANT_SQUARED,
    SUM_GOT_SQUARED,
    SUM_ERROR_SQUARED, /* normal elements */
    SUM_RELATIVE,      /* normal elements */
    SUM_ULP, /* compared, want != 0 or got == 0; lanes hold the three of pass_folded_ulp */
    SUM_SIGNED_ULP,
    SUM_ULP_SQUARED,
    PASS_FAST_SUMS,
    /* Elements with want == 0 != got, whose unit differs between the families, and saturated
     * ones, which only the peer counts. */
    SUM_ZERO_ULP = PASS_FAST_SUMS,
    SUM_ZERO_SIGNED_ULP,
    SUM_ZERO_ULP_SQUARED,
    SUM_PEER_ULP,
    SUM_OTHER_ERROR_SQUARED, /* elements of SUM_WANT_SQUARED that are not normal */
    PASS_SUMS
};

enum pass_max {
    MAX_ABS,
    MAX_RELATIVE, /* normal elements */
    MAX_ULP,      /* as SUM_ULP, lanes hold that of pass_folded_ulp */
    PASS_FAST_MAXES,
    MAX_WANT = PASS_FAST_MAXES, /* of the elements that pass_fold_elements took */
    MAX_ZERO_ULP,
    MAX_PEER_ULP,
    MAX_PEER_ABS, /* mismatched elements */
    PASS_MAXES
};

struct pass_lanes {
    alignas(64) double sum[PASS_SUMS][PASS_LANES];
    double max[PASS_MAXES][PASS_LANES];
};

struct pass_counts {
    uint64_t classes[CLASS_COUNT][CLASS_COUNT];
    uint64_t compared, agreed, mismatched, unequal, above, below, differ;
    uint64_t within[3];
    uint64_t small, small_failed, normal, relative_failed;
    uint64_t non_finite, non_finite_failed;
    uint64_t peer_above, peer_below; /* mismatched elements */
    uint64_t ulp_over;               /* for the peer: with its unit at 0 */
    uint64_t ulp_histogram[ULP_BINS];
    uint64_t peer_abs_nan, peer_ulp_nan, cosine_nan; /* elements that make these measures NaN */
};

/* Where the largest value of a measure was met: the first chunk that has it. */
enum measure { MEASURE_ABS, MEASURE_RELATIVE, MEASURE_ULP, MEASURES };
struct peak {
    double value;
    size_t chunk;
};

static inline void peak_raise(struct peak *peak, double value, size_t chunk)
{
    if (value > peak->value) *peak = (struct peak){ value, chunk };
}

/* How one dtype is measured. */
struct pass_unit {
    int significand_bits, exponent_min;
    double overflow_at; /* the smallest double that rounds beyond the largest finite value */
    double largest;
    double half;         /* of the rounding of `above` and `below`, in ulp */
    bool parity_matters; /* a tie at `half` may round away from got */
    bool saturates;
    double peer_zero_scale; /* 1 / the peer's unit at want == 0 */
    double ulps_folded;     /* ulp that make an error of 1 as it is folded */
};

struct pass {
    struct metrics_parameters parameters;
    struct pass_unit unit;
    enum dtype dtype;
    size_t element_bytes;
    const unsigned char *got;
    const double *hi, *lo, *error; /* lo and error may be NULL */
    double relative, absolute;     /* of the uniform bound */
    size_t n;

    /* From here on: what becomes of the elements. */
    struct pass_lanes lanes; /* sums of the current block, maxima of all */
    struct pass_counts counts;
    struct peak peaks[MEASURES]; /* of compared elements; RELATIVE: of normal ones */
    double bound_ulp;
    /* Of the current chunk, keys of errors for the counts that are made after its loop (metrics_count.h). */
    alignas(64) uint32_t chunk_ulp[PASS_CHUNK], chunk_relative[PASS_CHUNK];
};

/* The factor that makes an error at |want| one that is folded: 2^(1 - e) with e the exponent of |want|, or
 * the least of the dtype. It is a normal double, and all bits of it but those of the exponent are 0, so
 * that it is what the exponent of |want| leaves of all its bits. A folded error is 1 / ulps_folded of one in ulp. */
double pass_scale_at(const struct pass_unit *unit, double magnitude);

/* got - want of element i, with all that the reference holds, and an error in ulp at |want|. */
static inline double pass_error(const struct pass *pass, size_t i, double got)
{
    return pass->lo ? (got - pass->hi[i]) - pass->lo[i] : got - pass->hi[i];
}

static inline double pass_folded_ulp(const struct pass *pass, double error, double magnitude)
{
    return error * pass_scale_at(&pass->unit, magnitude);
}

static inline double pass_in_ulp(const struct pass *pass, double error, double magnitude)
{
    return pass_folded_ulp(pass, error, magnitude) * pass->unit.ulps_folded;
}

static inline double pass_relative(const struct pass *pass, double error, double magnitude)
{
    return fabs(error) / (magnitude + pass->parameters.bench_epsilon);
}

/* The signed error in ulp of element i, which is compared, and its relative error. */
double pass_signed_ulp(const struct pass *pass, size_t i);
double pass_relative_error(const struct pass *pass, size_t i);

/* Does element i, whose device value is `got`, agree without comparison? */
bool pass_agrees(const struct pass *pass, size_t i, double got);

/* Fold elements from `first` to before `end`, element i of lane i mod 64, into lanes and counts. Complete: nothing is left
 * for the counting after a chunk. */
void pass_fold_elements(struct pass *pass, size_t first, size_t end);

/* Fold elements from `start` (a multiple of PASS_CHUNK), at most `count` and not beyond the block;
 * returns how many were taken, all but the last few. */
typedef size_t pass_fold_chunks(struct pass *pass, size_t start, size_t count);

/* Does the pass take the largest bound element by element? A purely relative bound is at most
 * relative * 2^significand_bits units anywhere, and needs no look. */
static inline bool pass_follows_bound(const struct pass *pass)
{
    return pass->error || pass->absolute > 0;
}

/* NULL when this build or this machine has no such code, or not for this dtype. */
pass_fold_chunks *pass_avx2(enum dtype dtype);
pass_fold_chunks *pass_avx512(enum dtype dtype);
pass_fold_chunks *pass_neon(enum dtype dtype);

#endif
