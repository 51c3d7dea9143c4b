/* The row under diagnosis: what came, what should have come, and the measure by which a hypothesis is
 * compared with that.
 *
 * z_i is the error of element i in units of what honest rounding does to it there: half a unit in the last
 * place of the dtype, three times the root mean square of a legitimate kernel's error, and the bound of the
 * reference. A hypothesis predicts values, which are rounded to the dtype; its own z_i say what it leaves. Two
 * numbers follow:
 *
 *   explains  1 - sum w(z_i of the hypothesis) / sum w(z_i of the reference), with w(z) = min(z, cap)^2 and 0 where
 *             rounding explains the element (z <= 1). `cap`, 4 times the median of the elements that are wrong,
 *             keeps a few huge errors from standing for all others; a NaN or infinity on one side counts
 *             as the cap.
 *   gain      bits by which the description of the tensor becomes shorter: log2(1 + z) per element is
 *             what it takes to write its error down, which elements remain wrong has to be said as well, and a
 *             hypothesis pays for itself and its parameters. By the gain hypotheses are ranked, so that of
 *             two that leave the same the simpler one wins, and one that has as many parameters
 *             as the row has errors explains nothing.
 *
 * A hypothesis may hold for a part of the elements only (a bias missing in the last columns). It then has to say
 * for which, and pays for that: little where they form a shape (standards/error_places.h).
 */
#ifndef PROBE_DIAGNOSIS_SUBJECT_H
#define PROBE_DIAGNOSIS_SUBJECT_H

#include "bench/what_if.h"
#include "diagnosis/diagnosis.h"

/* A hypothesis that fits, as it stands so far. */
struct candidate {
    struct finding finding; /* its sentence is the one below */
    char sentence[FINDING_BYTES];
    double gain;
};

enum { CANDIDATES_MAX = 16 };

struct subject {
    const struct diagnosis_request *request;
    struct arena *arena;
    struct what_result result;
    enum dtype dtype;         /* of a component, */
    struct rounding rounding; /* and to it */
    int rank;                 /* of components: a complex tensor has a last axis of 2 */
    int64_t shape[TENSOR_MAX_RANK];
    size_t n;
    double *got, *want, *scale; /* want rounded to the dtype */
    double *exact_want;         /* and not rounded */
    double *z;                  /* of the reference */
    size_t wrong;               /* elements with z > 1 */
    size_t *probes;             /* some of those, and some others: looked at first */
    size_t n_probes;
    double cap, energy, bits;
    double work;      /* steps that may still be taken */
    double call_work; /* steps of one evaluation of the call */
    /* Room of n for a hypothesis, and for its z. */
    double *guess, *guess_z;
    bool *mask;
    struct candidate candidates[CANDIDATES_MAX]; /* one per class, best first */
    size_t count;
};

/* STATUS_SKIP when there is nothing to compare. */
struct status subject_open(struct subject **out, const struct diagnosis_request *request,
                           struct arena *arena);

/* From here on the arena gives as much as the request allows, whatever was taken before. */
void subject_allow(struct subject *subject);

/* OK for a status that only says that a hypothesis does not fit the call, or not into what is allowed. */
struct status subject_pass_over(const struct subject *subject, struct status status);

/* Take `steps` of the budget; false when it has less. */
bool subject_spend(struct subject *subject, double steps);

/* What a hypothesis may be taken for. */
enum claim_scope { CLAIM_WHOLE, CLAIM_PART, CLAIM_ANY /* of the two */ };

struct claim {
    const char *class;
    double bits; /* of the hypothesis and its parameters */
    enum claim_scope scope;
    char sentence[256]; /* "bias missing" */
};

/* Offer a prediction of all elements, as it is before it is rounded to the dtype. Errors: STATUS_NO_MEMORY. */
struct status subject_offer(struct subject *subject, const struct claim *claim,
                            const double *values);

/* The same for a prediction that can be made element by element: of all only when a few give hope. */
typedef double prediction(const struct subject *subject, const void *context, size_t i);
struct status subject_offer_each(struct subject *subject, const struct claim *claim,
                                 prediction *predict, const void *context);

/* Is element i of the row wrong: further off than rounding explains? */
static inline bool subject_is_wrong(const struct subject *subject, size_t i)
{
    return subject->z[i] > 1;
}

/* The bits of a choice among n, and those that an error of z takes. */
double bits_of(double n);
double subject_element_bits(double z);
/* Those that say which k of n elements are meant. */
double subject_choice_bits(size_t k, size_t n);

/* Coordinates. */
static inline size_t subject_stride(const struct subject *subject, int axis)
{
    size_t stride = 1;
    for (int d = subject->rank - 1; d > axis; d--) stride *= (size_t)subject->shape[d];
    return stride;
}

/* A claim with a formatted sentence. */
struct claim claim_make(const char *class, double bits, enum claim_scope scope, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

#endif
