/* The verdict of `strict`: what the error model does not explain is an error, everything else
 * passes. There is no warning: a limit that an honest kernel could meet by bad luck would be of
 * no use, and one that it cannot meet needs no second class. */
#include "standards/judge_strict.h"

#include <math.h>

#include "standards/error_model.h"

static struct model_fallback fallback_of(const struct row *row)
{
    const struct judge_request *request = row->request;
    if (!request->backward && profile_is_exact(request->profile, request->c->api))
        return (struct model_fallback){ 0, 0 };
    return (struct model_fallback){ row_limit(row, LIMIT_MODEL_FALLBACK_ULP),
                                    row_limit(row, LIMIT_MODEL_FALLBACK_SCALE) };
}

/* Fewer independent elements than this have no mean to speak of, and a wider limit on their rms. */
enum { STATISTICS_NEED = 16 };

/* Chance makes the rms of few errors larger: its deviation is about 1 / sqrt(2n). */
static double allowance_for_few(double n)
{
    return n < STATISTICS_NEED ? (1 + 2.5 / sqrt(n)) / 1.2 : 1;
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

static bool statistics_hold(struct row *row, const struct model_findings *findings)
{
    const struct error_summary *statistics = &findings->statistics;
    bool holds = true;
    if (statistics->elements) {
        double n = statistics->independent;
        holds &= statistic_holds(row, "model_rms", statistics->rms,
                                 row_limit(row, LIMIT_MODEL_RMS) * allowance_for_few(n));
        if (n >= STATISTICS_NEED)
            holds &= statistic_holds(row, "model_bias", statistics->bias,
                                     row_limit(row, LIMIT_MODEL_BIAS));
        holds &= scale_holds(row, statistics);
    }
    return holds & statistic_holds(row, "model_largest", findings->largest,
                                   row_limit(row, LIMIT_MODEL_LARGEST));
}

struct status judge_by_model(struct row *row, enum verdict *verdict, struct reference *want,
                             const struct tensor *got)
{
    struct model_findings findings;
    struct model_fallback fallback = fallback_of(row);

    TRY(error_model_measure(&findings, row->arena, got, want, &fallback));
    row->out->standard = standard_name(STANDARD_ERROR_MODEL);
    bool holds = elements_hold(row, &findings);
    holds &= statistics_hold(row, &findings);
    holds &= flips_hold(row, &findings);
    if (holds)
        row_say(row,
                "Error model: the worst element is at %.2g of what is allowed, consider as "
                "pass.\n",
                fmax(findings.worst.quotient, 0));
    else row_say(row, "Consider as error.\n");
    *verdict = holds ? VERDICT_PASS : VERDICT_ERROR;
    return status_ok();
}
