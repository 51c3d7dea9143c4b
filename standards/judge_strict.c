/* The verdict of `strict`: what the error model of a fused kernel explains, with one rounding to the
 * dtype at its end, passes; what only roundings to the dtype between the steps explain is a warning, and the
 * rest an error. No limit is there to be met by bad luck. */
#include "standards/judge_strict.h"

#include <math.h>

#include "standards/error_model.h"
#include "standards/judge_allowed.h"
#include "standards/judge_signature.h"
#include "standards/staged_fit.h"

static struct model_fallback fallback_of(const struct row *row)
{
    const struct judge_request *request = row->request;
    if (!request->backward && profile_is_exact(request->profile, request->c->api))
        return (struct model_fallback){ 0, 0 };
    return (struct model_fallback){ row_limit(row, LIMIT_MODEL_FALLBACK_ULP),
                                    row_limit(row, LIMIT_MODEL_FALLBACK_SCALE) };
}

/* Fewer independent elements than this have no mean to speak of. */
enum { STATISTICS_NEED = 16 };

static const double CHANCE = 18.42; /* x = ln 10^8 */

/* By chance the rms of n normal errors is above sqrt(1 + 2 sqrt(x / n) + 2 x / n) with a probability of at most e^-x (Laurent
 * and Massart, 2000). */
static double rms_by_chance(double n) { return sqrt(1 + 2 * sqrt(CHANCE / n) + 2 * CHANCE / n); }

/* Independent errors behind the limits: those that a step of the kernel leaves, but 16 where there are 16 elements that differ. */
static double errors_that_count(const struct model_findings *findings)
{
    double n = findings->statistics.independent;
    return n < STATISTICS_NEED ? n : fmax(fmin(n, (double)findings->draws), STATISTICS_NEED);
}

/* Roundings of sums and products alone. */
static bool are_plain(const struct model_findings *findings)
{
    return findings->common > 0 && findings->common < 1;
}

/* The rms of many errors has its limit; fewer have as much more as chance gives them. Nothing but roundings are as many errors of the expected
 * size, or ties, each of which is off by sqrt 3 times that; and with those of one function, which may have 1 in common, as much as the squares of
 * that and of chance make together. */
static double limit_of_rms(const struct row *row, const struct model_findings *findings)
{
    enum { MANY = 80 };
    static const double usual = 2, ties = 1.75;
    double n = errors_that_count(findings), limit = row_limit(row, LIMIT_MODEL_RMS);
    if (!(n > 0)) return limit;
    double chance = rms_by_chance(n), most = usual * fmax(chance / rms_by_chance(MANY), 1);
    if (are_plain(findings)) most = fmax(ties, chance);
    else if (findings->common > 0) most = fmin(most, fmax(usual, hypot(findings->common, chance)));
    return limit / usual * most;
}

/* Errors whose mean is asked for: not fewer than a step of the kernel leaves, which may be one. */
static double errors_with_a_mean(const struct model_findings *findings)
{
    double n = findings->statistics.independent;
    return n < STATISTICS_NEED ? fmin(n, (double)findings->draws) : errors_that_count(findings);
}

/* The mean of many errors has its limit, 1.5, say: two constants that are rounded. That of n may be what the errors have in common,
 * 1 where nothing is known of that, and what chance makes of errors of 1, which is above sqrt(2 x / n) with a probability of at most e^-x. */
static double limit_of_bias(const struct row *row, const struct model_findings *findings)
{
    static const double usual = 1.5;
    double n = errors_with_a_mean(findings), chance = sqrt(2 * CHANCE / n);
    double most = findings->common > 0 ? findings->common + chance : fmax(usual, 1 + chance);
    return row_limit(row, LIMIT_MODEL_BIAS) * most / usual;
}

/* The largest of n errors grows with n: as far as the limit is out for one, n normal errors have their limit at
 * sqrt(limit^2 + 2 ln n) with less chance. */
static double limit_of_largest(const struct row *row, const struct model_findings *findings)
{
    double one = row_limit(row, LIMIT_MODEL_LARGEST);
    return sqrt(one * one + 2 * log(fmax((double)findings->statistics.elements, 1)));
}

/* One statistic of the tensor against its limit. */
static bool statistic_holds(struct row *row, const char *metric, double value, double most)
{
    bool holds = value <= most;
    row_note(row, metric, value, most, holds);
    if (!holds)
        row_say(row, "Error model: %s is %.3g, and honest rounding keeps it below %g.\n", metric,
                value, most);
    return holds;
}

/* Elements that the last rounding alone would not give: at most what the spread of the value
 * before it explains, and chance. */
static bool flips_hold(struct row *row, const struct model_findings *findings)
{
    const struct error_summary *statistics = &findings->statistics;
    double expected = row_limit(row, LIMIT_MODEL_FLIPS) * findings->expected_flips;
    /* Equal elements flip together. */
    double together = statistics->elements ? (double)statistics->elements / statistics->independent
                                           : 1;
    double most = expected + 6 * sqrt(expected * together) + 6 * together;
    bool holds = (double)findings->flips <= most;

    row_note(row, "model_flips", (double)findings->flips, most, holds);
    if (!holds)
        row_say(row,
                "Error model: %llu elements are not the rounded reference, and honest "
                "rounding explains at most %.0f.\n",
                (unsigned long long)findings->flips, most);
    return holds;
}

static bool elements_hold(struct row *row, const struct model_findings *findings)
{
    const struct model_outlier *worst = &findings->worst;
    double most = row_limit(row, LIMIT_MODEL_WORST);
    bool holds = findings->beyond == 0 || worst->quotient <= most;

    row_note(row, "model_worst", worst->quotient, most, holds);
    if (!holds)
        row_say(row,
                "Error model: %llu of %zu elements are further off than rounding explains; "
                "element %zu should be %.9g and is %.9g, %.3g times what is allowed.\n",
                (unsigned long long)findings->beyond, findings->n, worst->index, worst->want,
                worst->got, worst->quotient);
    return holds;
}

/* 16- and 8-bit outputs: errors before the last rounding that are larger throughout. */
static bool scale_holds(struct row *row, const struct error_summary *statistics)
{
    double most = row_limit(row, LIMIT_MODEL_NATS);
    bool holds = statistics->nats <= most;
    row_note(row, "model_nats", statistics->nats, most, holds);
    if (!holds)
        row_say(row,
                "Error model: before the last rounding the errors are about %.3g times what honest "
                "rounding explains (%.3g nats).\n",
                statistics->scale, statistics->nats);
    return holds;
}

/* A row, column, tile or lane whose errors are larger than what the others and the model explain. */
static bool lines_hold(struct row *row, const struct line_findings *lines)
{
    double most = row_limit(row, LIMIT_MODEL_LINE);
    bool holds = lines->quotient <= most;
    row_note(row, "model_line", lines->quotient, most, holds);
    if (holds) return true;
    if (lines->dimension >= 0)
        row_say(row, "Error model: at index %zu of dimension %d", lines->line, lines->dimension);
    else row_say(row, "Error model: in %s %zu", lines->form, lines->line);
    row_say(row,
            " the errors are %.3g times what rounding is expected to make, and %.3g times "
            "elsewhere.\n",
            lines->value, lines->others);
    return false;
}

/* The largest of n errors over the second largest, whose sizes fall off as an exponential's or faster: that their quotient is above q has
 * a probability of at most gamma(q + 1) n^(1 - q), which is 10^-8 where this returns. */
static double limit_of_quotient(double n)
{
    double low = 1, high = 40;
    for (int k = 0; k < 40; k++) {
        double q = (low + high) / 2;
        if (log(tgamma(q + 1)) + (1 - q) * log(n) > -CHANCE) low = q;
        else high = q;
    }
    return high;
}

/* How near the largest error comes to its limit over the largest of others; 0 where it is not above `least`, or where nothing is known. */
static double nearness(double largest, const struct other_errors *others, double least)
{
    if (others->count < STATISTICS_NEED || !(others->largest > 0) || largest <= least) return 0;
    return largest / others->largest / limit_of_quotient(others->count);
}

/* One element that is off by what no other of its kind comes near. An error that is no larger than expected needs no such explanation, nor one
 * of three where others may be of another kind. */
static bool no_outlier(struct row *row, const struct model_findings *findings)
{
    double least = row_limit(row, LIMIT_MODEL_OUTLIER), largest = findings->largest;
    double alike = nearness(largest, &findings->outlier.alike, least / 3);
    double like = nearness(largest, &findings->outlier.like, least);
    const struct other_errors *others = alike >= like ? &findings->outlier.alike
                                                      : &findings->outlier.like;
    if (!(fmax(alike, like) > 0)) return true;
    double quotient = largest / others->largest, most = limit_of_quotient(others->count);
    bool holds = quotient <= most;
    row_note(row, "model_outlier", quotient, most, holds);
    if (!holds)
        row_say(
            row,
            "Error model: element %zu is off by %.3g times what rounding is expected to make, and "
            "no other of its kind by more than %.3g.\n",
            findings->largest_index, largest, others->largest);
    return holds;
}

/* Elements that are made of the same numbers have the same result. */
static bool equals_hold(struct row *row, const struct unequal_results *unequal)
{
    double most = row_limit(row, LIMIT_MODEL_EQUAL);
    bool holds = unequal->units <= most;
    if (!unequal->count) return true;
    row_note(row, "model_equal", unequal->units, most, holds);
    if (!holds)
        row_say(row,
                "Error model: element %zu is %.3g units in the last place away from %.9g, which "
                "most elements "
                "are that are made of the same numbers.\n",
                unequal->index, unequal->units, unequal->usual);
    return holds;
}

/* Results with the last bits zero, of a kernel that rounds at its end. */
static bool bits_hold(struct row *row, int missing)
{
    double most = row_limit(row, LIMIT_MODEL_BITS);
    bool holds = missing <= most;
    if (!missing) return true;
    row_note(row, "model_bits", missing, most, holds);
    if (!holds)
        row_say(row,
                "Error model: the last %d bits of all results are zero, and those of the exact "
                "ones are not.\n",
                missing);
    return holds;
}

static bool statistics_hold(struct row *row, const struct model_findings *findings)
{
    const struct error_summary *statistics = &findings->statistics;
    bool holds = true;
    if (statistics->elements) {
        holds &= statistic_holds(row, "model_rms", statistics->rms, limit_of_rms(row, findings));
        if (errors_with_a_mean(findings) > 1)
            holds &=
                statistic_holds(row, "model_bias", statistics->bias, limit_of_bias(row, findings));
        holds &= scale_holds(row, statistics);
        holds &= lines_hold(row, &findings->lines);
        holds &= no_outlier(row, findings);
    }
    return holds & statistic_holds(row, "model_largest", findings->largest,
                                   limit_of_largest(row, findings));
}

/* The elements and statistics of `findings` within their limits, without a word. */
static bool is_explained(const struct row *row, const struct model_findings *findings)
{
    const struct error_summary *statistics = &findings->statistics;
    if (findings->unequal.units > row_limit(row, LIMIT_MODEL_EQUAL)) return false;
    if (findings->missing_bits > row_limit(row, LIMIT_MODEL_BITS)) return false;
    return findings->beyond == 0 && findings->largest <= limit_of_largest(row, findings) &&
           findings->lines.quotient <= row_limit(row, LIMIT_MODEL_LINE) &&
           statistics->rms <= limit_of_rms(row, findings) &&
           (statistics->independent < STATISTICS_NEED ||
            statistics->bias <= limit_of_bias(row, findings));
}

/* Is every element within `STAGED_UNITS` units of the dtype at its value or at the tensor's rms, whichever is
 * larger? The bounds of a long composition may come out wider; a kernel that only rounds is never off by more. */
enum { STAGED_UNITS = 16 };

static bool is_off_by_units(const struct reference *want, const struct tensor *got)
{
    enum dtype dtype = metrics_component_dtype(got->dtype), unit = want->stage_dtype;
    size_t bytes = dtype_info(dtype)->bytes;
    double squares = 0, count = 0, value;
    for (size_t i = 0; i < want->n; i++)
        if (isfinite(want->hi[i])) {
            squares += want->hi[i] * want->hi[i];
            count++;
        }
    double scale = count > 0 ? sqrt(squares / count) : 0;
    for (size_t i = 0; i < want->n; i++) {
        dtype_to_double(&value, (const char *)got->data + i * bytes, dtype, 1);
        double error = fabs(value - want->hi[i]);
        if (isfinite(error) &&
            error > STAGED_UNITS * dtype_ulp(unit, fmax(fabs(want->hi[i]), scale)))
            return false;
    }
    return true;
}

/* Is it the result of such a kernel, in those elements that are not the rounded reference? Most such kernels round everywhere, and a
 * fault in a few elements of a result that is right is none; with `few` they have to be too many for chance. A plain kernel that gives every
 * element of the result has the prior on its side. Errors that statistics do not explain (`odd`: roundings of equal numbers are alike, and where
 * a result cancels they are many of its units) are those of a kernel that gives nearly all elements. */
static struct status looks_staged(bool *looks, struct row *row, struct reference *want,
                                  const struct tensor *got, bool few, bool odd)
{
    static const double MOST_CHANCE = 1e-3, MOST_CHANCE_OF_ALL = 0.25, NEARLY_ALL = 0.95;
    double least = fmax(row_limit(row, LIMIT_MODEL_STAGED), odd ? NEARLY_ALL : 0);
    struct staged_fit fit;
    bool can;

    *looks = !few && !odd;
    TRY(staged_fit_find(&fit, &can, row->arena, want, got, least));
    if (can && !fit.differing) *looks = false; /* nothing tells kernels apart */
    if (!can || !fit.differing) return status_ok();
    double most = fit.whole ? MOST_CHANCE_OF_ALL : MOST_CHANCE;
    *looks = fit.share >= least && (!(few || odd) || fit.chance <= most);
    row_note(row, "model_staged", fit.share, least, *looks);
    return status_ok();
}

/* Does a kernel that rounds to the dtype between its steps explain what a fused one does not? */
static struct status judge_as_staged(struct row *row, bool *explained, struct reference *want,
                                     const struct tensor *got)
{
    struct model_findings findings;
    struct model_fallback fallback = fallback_of(row);

    *explained = false;
    if (want->stage) TRY(want->stage(want));
    if (!want->staged_bound) return status_ok();
    struct reference staged = *want;
    staged.kernel_bound = want->staged_bound;
    staged.kernel_rms = want->staged_rms;
    staged.refine = NULL;
    TRY(error_model_measure(&findings, row->arena, got, &staged, &fallback));
    bool within = is_explained(row, &findings) && is_off_by_units(want, got);
    bool few = (double)findings.flips < 0.2 * findings.expected_flips;
    if (findings.beyond == 0) TRY(looks_staged(explained, row, want, got, few, !within));
    const char *dtype = dtype_info(want->stage_dtype)->name;
    if (*explained)
        row_say(
            row,
            "Explained by rounding to %s between the steps (%s): the worst element is at %.2g of "
            "what that allows. Consider as warning.\n",
            dtype, want->staged_steps, fmax(findings.worst.quotient, 0));
    else if (within)
        row_say(row,
                "The errors are as large as roundings to %s between the steps (%s) make them, but "
                "no kernel with "
                "such roundings gives them.\n",
                dtype, want->staged_steps);
    else
        row_say(
            row,
            "Rounding to %s between the steps (%s) does not explain it: the worst element is at "
            "%.3g of what that allows.\n",
            dtype, want->staged_steps, fmax(findings.worst.quotient, 0));
    return status_ok();
}

static bool model_holds(struct row *row, const struct model_findings *findings)
{
    bool holds = elements_hold(row, findings);
    holds &= statistics_hold(row, findings);
    holds &= equals_hold(row, &findings->unequal);
    holds &= bits_hold(row, findings->missing_bits);
    return holds & flips_hold(row, findings);
}

static bool is_allowed_format(const struct kernel_modes *allowed, enum short_format format)
{
    return (format == SHORT_TF32 && allowed->allowed[KERNEL_TF32]) ||
           (format == SHORT_HF32 && allowed->allowed[KERNEL_HF32]) ||
           (format == SHORT_BF16X2 && allowed->allowed[KERNEL_BF16X2]);
}

/* A row whose errors are at most what the model expects has no room for a format that matters, and few distinct
 * errors are always alike. */
static struct status judge_by_signature(struct row *row, bool *holds,
                                        const struct kernel_modes *allowed, struct reference *want,
                                        const struct tensor *got,
                                        const struct model_findings *findings)
{
    struct signature signature;
    bool found;
    if (findings->statistics.independent < STATISTICS_NEED ||
        (*holds && !(findings->statistics.rms > 1)))
        return status_ok();
    TRY(judge_signature(&signature, &found, row, want, got));
    if (!found || is_allowed_format(allowed, signature.format)) return status_ok();
    row_note(row, "model_signature", signature.correlation, row_limit(row, LIMIT_MODEL_SIGNATURE),
             false);
    row->out->signature = short_format_text(signature.format);
    row_say(row,
            "The errors are those of a kernel that takes the factors of its products as %s: "
            "correlation %.4f, share %.3g.\n",
            row->out->signature, signature.correlation, signature.share);
    *holds = false;
    return status_ok();
}

/* A gradient that is right for a kernel which starts from the results as the device stored them. */
static struct status judge_from_outputs(struct row *row, bool *holds,
                                        const struct model_judge *judge, struct reference *want,
                                        const struct tensor *got)
{
    struct reference other;
    struct model_findings findings;
    bool can;
    if (!want->from_outputs) return status_ok();
    TRY(want->from_outputs(&other, &can, want));
    if (!can) return status_ok();
    TRY(judge_by_other(row, holds, &findings, judge, &other, got));
    if (*holds)
        row_say(
            row,
            "The gradient starts from the output as it was stored in %s: the worst element is at "
            "%.2g of what is allowed, consider as pass.\n",
            dtype_info(want->dtype)->name, fmax(findings.worst.quotient, 0));
    return status_ok();
}

struct status judge_by_model(struct row *row, enum verdict *verdict, struct reference *want,
                             const struct tensor *got)
{
    struct model_findings findings;
    struct model_fallback fallback = fallback_of(row);

    TRY(error_model_measure(&findings, row->arena, got, want, &fallback));
    row->out->standard = standard_name(STANDARD_ERROR_MODEL);
    const struct model_judge judge = { model_holds, fallback };
    struct kernel_modes allowed;
    TRY(profile_allowed(&allowed, row->request->profile, row->request->c->api, row->device));
    bool holds = model_holds(row, &findings);
    bool explained = false, is_allowed = false, from_outputs = false;
    if (!holds) TRY(judge_from_outputs(row, &from_outputs, &judge, want, got));
    holds |= from_outputs;
    if (!holds) TRY(judge_as_allowed(row, &is_allowed, &judge, &allowed, want, got));
    if (is_allowed) holds = true;
    bool fits = holds;
    if (!is_allowed && !from_outputs)
        TRY(judge_by_signature(row, &holds, &allowed, want, got, &findings));
    if (holds && !is_allowed && !from_outputs)
        row_say(row,
                "Error model: the worst element is at %.2g of what is allowed, consider as "
                "pass.\n",
                fmax(findings.worst.quotient, 0));
    else if (!fits) TRY(judge_as_staged(row, &explained, want, got));
    holds |= allowance_for_stages(row, explained, &allowed);
    if (!holds && !explained) row_say(row, "Consider as error.\n");
    *verdict = holds ? VERDICT_PASS : explained ? VERDICT_WARNING : VERDICT_ERROR;
    if (!row->out->allowance && kernel_modes_count(&allowed))
        row->out->allowance = *verdict == VERDICT_PASS ? "none needed" : "does not explain it";
    return status_ok();
}
