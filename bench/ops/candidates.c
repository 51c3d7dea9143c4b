/* Candidates for a loss over few of many classes (uniform_candidate_sampler, log_uniform_candidate_sampler), and how often each class is expected among
 * them; by MindSpore's public kernels (kernel/uniform_candidate_sampler_cpu_kernel.cc, log_uniform_candidate_sampler_cpu_kernel.cc and, on Ascend,
 * aicpu's log_uniform_candidate_sampler), which are TensorFlow's.
 *
 * A class v of `range` is drawn with the chance p = 1 / range, or log((v + 2) / (v + 1)) / log(range + 1). Unique candidates are drawn until there
 * are enough: those that are there already are drawn again, to the law of draws without replacement. After t draws a class is expected
 * 1 - (1 - p)^t times, p t where no draw was in vain. No output tells t: it is the number that explains the counts best. */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/properties.h"
#include "bench/ops/sampling.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/unary.h"

enum { MOST_WEIGHTS = 400000000 }; /* looked at in the test of the law, some 0.5 s */

struct sampler {
    struct call *call;
    bool by_logarithm, unique;
    int64_t samples, range;
    double *weight; /* of each class, 0 for one that is left out */
    double total;   /* of the weights, those left out included */
};

static double chance(const struct sampler *s, double v)
{
    return s->by_logarithm ? log1p(1 / (v + 1)) / log1p((double)s->range) : 1 / (double)s->range;
}

/* ---- draws ----------------------------------------------------------------------------------------------------- */

/* The weights, and none where hits are left out: true classes that would be drawn. */
static bool read_weights(struct sampler *s, const struct node *classes)
{
    struct call *call = s->call;
    bool removes = !s->by_logarithm && call_bool(call, "remove_accidental_hits");
    s->weight = tape_allocate(call->tape, (size_t)s->range, sizeof *s->weight);
    if (!s->weight) return false;
    for (int64_t v = 0; v < s->range; v++) {
        s->weight[v] = chance(s, (double)v);
        s->total += s->weight[v];
    }
    if (!removes) return true;
    int64_t left = s->range;
    for (size_t i = 0; i < classes->n; i++) {
        int64_t v = classes->integer[i];
        if (v < 0 || v >= s->range || s->weight[v] == 0) continue;
        s->weight[v] = 0;
        left--;
    }
    return call_require(call, s->unique && left >= s->samples,
                        "hits are removed from unique candidates, of which enough must be left");
}

/* How many draws it takes to find the candidates one after the other: for each a number by the geometric law. */
static double tries_of(const struct sampler *s, const struct node *drawn)
{
    double tries = 0, left = 0;
    for (int64_t v = 0; v < s->range; v++) left += s->weight[v];
    for (size_t i = 0; i < drawn->n; i++) {
        double own = s->weight[drawn->integer[i]], hit = fmin(fmax(left, own) / s->total, 1);
        tries += hit < 1 ? 1 + floor(log(random_uniform(s->call, drawn->n + i)) / log1p(-hit)) : 1;
        left -= own;
    }
    return tries;
}

/* ---- expected counts ------------------------------------------------------------------------------------------- */

static double expected_count(const struct sampler *s, double v, double tries)
{
    double p = chance(s, v);
    return tries == (double)s->samples ? p * tries : -expm1(tries * log1p(-p));
}

struct counts {
    const double *v, *got;
    size_t n;
};

/* How far the counts are from those of so many tries, relatively. */
static double misfit(const struct sampler *s, const struct counts *counts, int parts, double tries)
{
    double worst = 0;
    for (int k = 0; k < parts; k++)
        for (size_t i = 0; i < counts[k].n; i++) {
            double want = expected_count(s, counts[k].v[i], tries);
            worst = fmax(worst, fabs(counts[k].got[i] - want) / want);
        }
    return worst;
}

/* The tries that explain the device's counts best. The count that tells most of t is that whose (1 - E) |log(1 - E)| / E is largest, with
 * E = 1 - (1 - p)^t: t is known to so many roundings. */
static double explained_tries(const struct sampler *s, const struct counts *counts, int parts,
                              double otherwise)
{
    double most = 0, about = 0, best = (double)s->samples, least;
    for (int k = 0; k < parts; k++)
        for (size_t i = 0; i < counts[k].n; i++) {
            double e = counts[k].got[i], tells = -(1 - e) * log1p(-e) / e;
            if (!(e > 0 && e < 1) || !(tells > most)) continue;
            most = tells;
            about = log1p(-e) / log1p(-chance(s, counts[k].v[i]));
        }
    least = misfit(s, counts, parts, best);
    double reach = fmin(fmax(ceil(about * 0x1p-22 / most), 1), 1000);
    for (double t = fmax(rint(about) - reach, best + 1); most > 0 && t <= rint(about) + reach;
         t++) {
        double off = misfit(s, counts, parts, t);
        if (!(off < least)) continue;
        least = off;
        best = t;
    }
    return isfinite(least) ? best : otherwise;
}

/* The counts of classes v, after so many tries. */
static void return_counts(const struct sampler *s, struct node *v, double tries)
{
    struct tape *tape = s->call->tape;
    struct node *one = node_scalar(tape, 1), *range = node_scalar(tape, (double)s->range), *y;
    struct node *p = node_divide(tape, one, range);
    if (s->by_logarithm) {
        struct node *next = node_offset(tape, node_to_real(tape, v), 1);
        p = node_divide(tape, node_apply(tape, "log1p", node_divide(tape, one, next)),
                        node_apply(tape, "log1p", range));
    }
    if (tries == (double)s->samples) {
        y = node_scale(tape, p, tries);
    } else {
        struct node *missed = node_apply(tape, "log1p", node_negate(tape, p));
        y = node_negate(tape, node_apply(tape, "expm1", node_scale(tape, missed, tries)));
    }
    call_return_typed(s->call, node_broadcast(tape, y, v->rank, v->shape), DT_F32);
}

/* The tries behind the counts that the device returned of both; without any, those of `drawn`. */
static double tries_behind(const struct sampler *s, struct node *classes, struct node *drawn)
{
    struct tape *tape = s->call->tape;
    struct node *of[2] = { classes, drawn };
    struct counts counts[2];
    int parts = 0;
    if (!s->unique) return (double)s->samples;
    for (size_t k = 0; k < 2; k++) {
        struct node *got = call_device_numbers(s->call, k + 1, of[k]->n);
        const double *v = node_values(tape, node_to_real(tape, of[k]));
        if (tape_failed(tape)) return 0;
        if (got && !got->integer) counts[parts++] = (struct counts){ v, got->value, of[k]->n };
    }
    double own = tries_of(s, drawn);
    return parts ? explained_tries(s, counts, parts, own) : own;
}

static bool are_classes(const struct node *v, int64_t range)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->integer[i] < 0 || v->integer[i] >= range) return false;
    return true;
}

static void candidate_sampler(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *classes = call_tensor(call, "true_classes");
    struct sampler s = { .call = call,
                         .by_logarithm = call->op->detail,
                         .unique = call_bool(call, "unique"),
                         .samples = call_int(call, "num_sampled"),
                         .range = call_int(call, "range_max") };
    if (!call_require(call,
                      classes->integer && classes->rank == 2 &&
                          classes->shape[1] == call_int(call, "num_true") &&
                          are_classes(classes, INT64_MAX),
                      "rows of num_true classes are needed") ||
        !call_require(call,
                      s.samples >= 1 && s.range >= 1 && (!s.unique || s.samples <= s.range) &&
                          s.range <= MOST_WEIGHTS / s.samples,
                      "%lld candidates of %lld classes are not tested", (long long)s.samples,
                      (long long)s.range) ||
        !read_weights(&s, classes))
        return;
    const struct draws draws = { .name = s.by_logarithm ? "a log-uniform law" : "a uniform law",
                                 .n = (size_t)s.samples,
                                 .first = s.weight,
                                 .classes = (size_t)s.range,
                                 .samples = (size_t)s.samples,
                                 .replacement = !s.unique };
    struct node *like = node_new_integer(tape, classes->dtype, 1, &s.samples),
                *drawn = tape_failed(tape) ? NULL : call_device_integers(call, 0, like);
    if (!drawn || !are_classes(drawn, s.range))
        drawn = draw_classes(call, &draws, 1, &s.samples, classes->dtype);
    double tries = tape_failed(tape) ? 0 : tries_behind(&s, classes, drawn);
    if (tape_failed(tape)) return;
    call_return_random(call, tape_is_reference(tape) ? NULL : drawn, classes->dtype, 1, &s.samples,
                       draws_property(call, draws));
    return_counts(&s, classes, tries);
    return_counts(&s, drawn, tries);
}

/* clang-format off */
const struct op ops_candidates[] = {
    { "uniform_candidate_sampler", MINDSPORE, "(Tensor true_classes, int num_true, int num_sampled, bool unique, int range_max, bool remove_accidental_hits)", candidate_sampler, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "log_uniform_candidate_sampler", MINDSPORE, "(Tensor true_classes, int num_true, int num_sampled, bool unique, int range_max)", candidate_sampler, OP_RANDOM | OP_NO_GRADIENT, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(candidates);
