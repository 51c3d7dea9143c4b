/* A mistake explains a result when the reduction that it amounts to allows for every element of a stretch around the worst
 * one. That stretch has to have enough elements that are not zero to tell mistakes from accidents. */
#include "compare/collectives/suspicion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRETCH = 512, RANKS_MOST = 4096 };

static void stretch_of(size_t *begin, size_t *end, const struct suspect *s)
{
    *begin = s->error->worst > STRETCH / 2 ? s->error->worst - STRETCH / 2 : 0;
    *end = *begin + STRETCH < s->got->elements ? *begin + STRETCH : s->got->elements;
}

static bool explains(const struct suspect *s, enum reduction reduction, const struct piece *given,
                     size_t ranks, const struct reduction_weights *weights)
{
    struct reduction_error error = { 0 };
    size_t begin, end;
    if (reduction_obstacle(reduction, s->dtype)) return false;
    stretch_of(&begin, &end, s);
    reduction_judge(&error, reduction, s->dtype, given, ranks, s->got, weights, begin, end);
    return !error.wrong && error.unjudged < end - begin;
}

static bool is_own(char *out, const struct suspect *s)
{
    if (!explains(s, REDUCTION_COPY, &s->given[s->self], 1, NULL)) return false;
    (void)snprintf(out, SUSPICION_BYTES, "it is what this rank gave: nothing was reduced");
    return true;
}

static bool is_other(char *out, const struct suspect *s)
{
    for (size_t r = 0; r < s->ranks; r++) {
        if (r == s->self || !explains(s, REDUCTION_COPY, &s->given[r], 1, NULL)) continue;
        (void)snprintf(out, SUSPICION_BYTES, "it is what rank %lld gave: nothing was reduced",
                       (long long)s->members[r]);
        return true;
    }
    return false;
}

/* One rank with another weight: 0 or 2. */
static bool is_weighted(char *out, const struct suspect *s)
{
    static const struct {
        double factor;
        const char *text;
    } kinds[] = { { 0, "left out" }, { 2, "counted twice" } };
    double factors[RANKS_MOST];
    struct reduction_weights weights = reduction_usual_weights(s->reduction, s->dtype, s->ranks);

    if (s->ranks > RANKS_MOST || dtype_is_integral(s->dtype)) return false;
    weights.factors = factors;
    for (size_t r = 0; r < s->ranks; r++) factors[r] = 1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t r = 0; r < s->ranks; r++) {
            factors[r] = kinds[k].factor;
            bool found = explains(s, s->reduction, s->given, s->ranks, &weights);
            factors[r] = 1;
            if (!found) continue;
            (void)snprintf(out, SUSPICION_BYTES, "as if rank %lld were %s",
                           (long long)s->members[r], kinds[k].text);
            return true;
        }
    return false;
}

static bool is_other_reduction(char *out, const struct suspect *s)
{
    for (enum reduction r = REDUCTION_SUM; r < REDUCTIONS; r++) {
        if (r == s->reduction || !explains(s, r, s->given, s->ranks, NULL)) continue;
        (void)snprintf(out, SUSPICION_BYTES, "it is the %s, not the %s", reduction_name(r),
                       reduction_name(s->reduction));
        return true;
    }
    return false;
}

static bool is_narrow(char *out, const struct suspect *s)
{
    static const struct {
        enum dtype dtype;
    } formats[] = { { DT_F32 }, { DT_F16 }, { DT_BF16 } };
    struct reduction_weights weights = reduction_usual_weights(s->reduction, s->dtype, s->ranks);
    if (dtype_is_integral(s->dtype)) return false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        double roundoff = ldexp(1, -dtype_info(formats[i].dtype)->significand_bits);
        if (roundoff <= weights.roundoff) continue;
        struct reduction_weights narrow = weights;
        narrow.roundoff = roundoff;
        if (!explains(s, s->reduction, s->given, s->ranks, &narrow)) continue;
        (void)snprintf(out, SUSPICION_BYTES, "errors as of a reduction in %s",
                       dtype_short_name(formats[i].dtype));
        return true;
    }
    return false;
}

/* Is there enough to tell? One element, or zeros everywhere, fit almost anything. */
static bool can_tell(const struct suspect *s)
{
    enum { ENOUGH = 4 };
    struct reduction_error error = { 0 };
    size_t begin, end, bytes = dtype_info(s->dtype)->bytes, different = 0;
    stretch_of(&begin, &end, s);
    for (size_t i = begin; i < end && different < ENOUGH; i++) {
        double parts[2];
        dtype_to_double(parts, s->got->data + i * bytes, s->dtype, 1);
        if (parts[0] != 0 && isfinite(parts[0])) different++;
    }
    reduction_judge(&error, s->reduction, s->dtype, s->given, s->ranks, s->got, NULL, begin, end);
    return different == ENOUGH && error.wrong > 0;
}

bool suspicion_find(char out[SUSPICION_BYTES], const struct suspect *suspect)
{
    static bool (*const mistakes[])(char *out, const struct suspect *s) = {
        is_own, is_other, is_weighted, is_other_reduction, is_narrow,
    };
    bool sums = suspect->reduction == REDUCTION_SUM || suspect->reduction == REDUCTION_AVERAGE;
    if (suspect->reduction == REDUCTION_COPY || !can_tell(suspect)) return false;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        bool is_of_sums = mistakes[i] == is_weighted || mistakes[i] == is_narrow;
        if ((sums || !is_of_sums) && mistakes[i](out, suspect)) return true;
    }
    return false;
}
