/* A reference: values that carry a proven bound on their own error.
 *
 * For element i:  | (hi[i] + lo[i]) - exact_i | <= reference_bound(r, i), where exact is the
 * real-valued function of the stored inputs. `lo` is NULL (zero) except where the tested dtype
 * is float64. The bound is either an array (`error`) or, when `error` is NULL, the uniform form
 * relative * |hi[i]| + absolute. Infinite and NaN values are exact statements: the mathematical
 * result is that infinity or not a number; their bound is 0.
 *
 * A complex tensor has two components: element i is hi[2i] + i hi[2i+1], and counts, bounds and
 * `error` are per component. An integer or bool tensor is exact and uses `integer` alone.
 */
#ifndef PROBE_CORE_REFERENCE_H
#define PROBE_CORE_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/kernel_modes.h"
#include "core/status.h"
#include "core/tensor.h"

enum reference_state {
    REFERENCE_EXACT,     /* every bound is 0 */
    REFERENCE_CERTIFIED, /* every bound <= 2^-10 ulp of the tested dtype */
    REFERENCE_BOUNDED    /* some bound is larger; it says by how much */
};

/* Formats in which matrix units take the factors of float32 products: fraction bits, or two parts. */
enum short_format {
    SHORT_TF32,   /* 10 */
    SHORT_HF32,   /* 11 */
    SHORT_BF16,   /* 7 */
    SHORT_F16,    /* 10, and float16's exponents */
    SHORT_BF16X2, /* sums of two bfloat16; the product of the lower parts is left out */
    SHORT_FORMAT_COUNT
};

/* Which of the kernels that round to a dtype between their steps. All zeros: every step rounds. */
struct staged_choice {
    bool numbers;            /* the numbers of the call are rounded, too */
    bool composed_functions; /* functions are composed of others, rounded in between */
    bool
        other_formulas; /* where frameworks differ the less usual, say (c p) q for c (p q) in gradients */
    bool stored;        /* gradients start from intermediate results as they were stored */
    bool
        whole; /* steps that frameworks have in one kernel (tape_one_kernel) do not round, but for the last */
    uint64_t kept; /* bit k: step k does not round; of those that are held with `whole`, it does */
};

/* What is done with the values that such a kernel holds before its last rounding; they go afterwards. */
typedef void staged_look(void *context, const double *values);

struct reference {
    enum dtype dtype; /* of the API's result: what a device returns */
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    size_t n; /* components: elements, twice that when complex */

    double *hi;
    double *lo;    /* or NULL */
    double *error; /* or NULL */
    double relative, absolute;
    int64_t *integer; /* integer and bool dtypes; hi, lo and error are NULL then */
    enum reference_state state;
    size_t recomputed; /* components handed to pairs or balls so far */

    /* What the arithmetic of a legitimate kernel explains (profile `strict`), or NULL where the bench has no model.
     *
     * Let v be the value that a legitimate kernel holds just before its last rounding: it
     * computes in the compute dtype (float32 for float32 and narrower outputs, float64 for
     * float64), with unit roundoff u there, by the textbook formula of the op, in any order of
     * summation, fused or not, with library functions good to 4 ulp. Then
     *     |v - exact_i| <= kernel_bound[i],
     * the running error bound to first order: for sums u times the sum of magnitudes of the
     * partial results, worst order (at most (n - 1) u sum|x|); for products k u sum|a||b|; for
     * a library function 3.5 ulp; for a composition each bound times the slope behind it. The
     * last rounding is not in it, so it is 0 for copies, selections, comparisons, and for a
     * single + - * of stored inputs; such outputs must be correctly rounded.
     *
     * kernel_rms[i] is the root mean square of the same error if single rounding errors were
     * independent and uniform in +-u (u / sqrt 3 each), in the order that adds one term after
     * the other: for a sum about u / 3 * sqrt(n) * sum|x| at most. It never exceeds kernel_bound[i].
     * Both are absolute, per component, finite and not negative. */
    double *kernel_bound; /* or NULL */
    double *kernel_rms;   /* or NULL; set only together with `kernel_bound` */
    /* Fewest elements of an intermediate value that is off by more than one rounding: the elements share its errors. 0
     * without a model, and where `kernel_bound` is 0. */
    size_t kernel_draws;
    /* How much of their expected size all errors may have in common, but for chance: 0 as far as nothing is known of it (bench/shared_errors.h). */
    double kernel_common;
    /* Of a call that maps elements one by one, what each element comes from: equal numbers for equal inputs. NULL where that says
     * nothing: of other calls, and where few elements come from equal inputs (bench/equal_inputs.h). */
    const uint64_t *kernel_inputs;
    bool
        kernel_own_bits; /* the last bits of a result are those of a rounding, in any kernel (bench/own_bits.h) */

    /* The same two for a kernel whose intermediate results are tensors of `stage_dtype`, rounded after every
     * step of the op's composition (sums still in the compute dtype), and what those steps are. `stage`
     * sets them when asked; NULL where there is nothing between. They stay NULL when it finds none. The dtype is that of
     * the result, or, of a wider result, the shorter one of other tensors of the call: a gradient toward a
     * float32 weight of a bfloat16 activation was a bfloat16 tensor before it was cast. */
    enum dtype stage_dtype;
    double *staged_bound, *staged_rms;
    const char *staged_steps; /* "softmax, multiply, sum" */
    struct status (*stage)(struct reference *reference);
    void *stage_context;

    /* Compute the call as such a kernel does (sums in double) and look at its values. It sets how many steps before
     * the last one `kept` can name, at most 64, and whether choices about gradients matter. *can is false, and
     * nothing is looked at, where there is no such kernel. NULL when none can be had. */
    struct status (*compute_staged)(struct reference *reference, bool *can,
                                    const struct staged_choice *choice, staged_look *look,
                                    void *look_context);
    int staged_step_count; /* set by it, for these formulas */
    bool staged_gradient;

    /* What a kernel in one of the modes that a user allows returns: `out` is this reference with the values and
     * the errors of such a kernel. With a mode that shortens factors `cut_off` says how. *can is false where
     * there is no such model. NULL when none can be had. */
    struct status (*allow)(struct reference *out, bool *can, struct reference *reference,
                           const struct kernel_modes *modes, bool cut_off);
    void *allow_context;

    /* Of a gradient: `out` is this reference for a kernel that starts from the results as the device stored them
     * (values, bounds and errors). *can is false where they are not known. NULL when there is none. */
    struct status (*from_outputs)(struct reference *out, bool *can, struct reference *reference);
    void *from_outputs_context;

    /* The values that a kernel holds before its last rounding which takes the factors of its products in a
     * format, rounded to nearest; *values is NULL where nothing is multiplied. NULL when none can be had. */
    struct status (*shorten)(double **values, struct reference *reference,
                             enum short_format format);
    void *shorten_context;

    /* Recompute the listed components so that each bound falls below `wanted` times the ulp of
     * `dtype` at its value, as far as the precision cap allows; hi, lo and error are updated
     * (error is an array afterwards). NULL when nothing can be gained. */
    struct status (*refine)(struct reference *reference, size_t count, const size_t *components,
                            double wanted_ulp);
    void *refine_context;
};

/* The bound on component i. */
static inline double reference_bound(const struct reference *r, size_t i)
{
    if (r->integer) return 0;
    if (r->error) return r->error[i];
    return isfinite(r->hi[i]) ? r->relative * fabs(r->hi[i]) + r->absolute : 0;
}

#endif
