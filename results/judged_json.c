/* A judged output as a tree of cJSON, member by member. */
#include "results/judged_json.h"

#include <math.h>
#include <stdio.h>

#include "results/coordinates.h"

/* cJSON's functions return NULL when there is no memory; *ok collects that.
 *
 * Numbers are put in as text of `digits` significant digits: cJSON itself would print each one up
 * to twice and read it back, which for a small call takes longer than checking it. */
static void add_digits(bool *ok, cJSON *object, const char *key, double value, int digits)
{
    char text[40];
    const char *word = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    if (isfinite(value)) (void)snprintf(text, sizeof text, "%.*g", digits, value);
    const cJSON *added = isfinite(value) ? cJSON_AddRawToObject(object, key, text)
                                         : cJSON_AddStringToObject(object, key, word);
    if (!added) *ok = false;
}

static void add_number(bool *ok, cJSON *object, const char *key, double value)
{
    add_digits(ok, object, key, value, 15);
}

/* A value of the tensors, so that it reads back as the same double. */
static void add_exact(bool *ok, cJSON *object, const char *key, double value)
{
    add_digits(ok, object, key, value, 17);
}

static void add_text(bool *ok, cJSON *object, const char *key, const char *text)
{
    if (!cJSON_AddStringToObject(object, key, text)) *ok = false;
}

static cJSON *add_object(bool *ok, cJSON *object, const char *key)
{
    cJSON *added = cJSON_AddObjectToObject(object, key);
    if (!added) *ok = false;
    return added;
}

static struct status result(bool ok) { return ok ? status_ok() : status_no_memory(0); }

struct status judged_json_add_cells(cJSON *object, const struct judged *judged)
{
    bool ok = true;
    for (int column = 0; column < COLUMN_COUNT; column++)
        add_text(&ok, object, details_headers[column], judged->cells[column]);
    return result(ok);
}

static void add_limits(bool *ok, cJSON *object, const struct judged *judged)
{
    cJSON *limits = cJSON_AddArrayToObject(object, "limits");
    if (!limits) *ok = false;
    for (size_t i = 0; limits && i < judged->limit_count; i++) {
        const struct judged_limit *limit = &judged->limits[i];
        cJSON *item = cJSON_CreateObject();
        if (!item || !cJSON_AddItemToArray(limits, item)) {
            cJSON_Delete(item);
            *ok = false;
            return;
        }
        add_text(ok, item, "metric", limit->metric);
        add_number(ok, item, "value", limit->value);
        add_number(ok, item, "limit", limit->limit);
        add_number(ok, item, "quotient", limit->value / limit->limit);
        if (!cJSON_AddBoolToObject(item, "holds", limit->holds)) *ok = false;
    }
}

static void add_worst(bool *ok, cJSON *object, const char *key, const struct judged *judged,
                      const struct worst_element *worst)
{
    if (worst->index == SIZE_MAX) return;
    cJSON *item = add_object(ok, object, key);
    if (!item) return;
    char place[COORDINATES_BYTES];
    coordinates_text(place, judged->cells[COLUMN_SHAPE], worst->index, judged->metrics.n);
    add_number(ok, item, "index", (double)worst->index);
    if (place[0]) add_text(ok, item, "at", place);
    add_exact(ok, item, "want", worst->want);
    add_exact(ok, item, "got", worst->got);
    add_number(ok, item, "error", worst->value);
}

/* Only the pairs of kinds that occur. */
static void add_classes(bool *ok, cJSON *object, const struct metrics *metrics)
{
    static const char *const names[CLASS_COUNT] = {
        [CLASS_FINITE] = "finite",
        [CLASS_POSITIVE_INFINITY] = "inf",
        [CLASS_NEGATIVE_INFINITY] = "-inf",
        [CLASS_NAN] = "nan",
    };
    cJSON *classes = add_object(ok, object, "kinds");
    for (size_t want = 0; classes && want < CLASS_COUNT; want++) {
        for (size_t got = 0; got < CLASS_COUNT; got++) {
            char key[40];
            if (!metrics->classes[want][got]) continue;
            (void)snprintf(key, sizeof key, "want %s, got %s", names[want], names[got]);
            add_number(ok, classes, key, (double)metrics->classes[want][got]);
        }
    }
}

/* Bins that hold elements, by their upper end in ulp. */
static void add_histogram(bool *ok, cJSON *object, const struct metrics *metrics)
{
    cJSON *histogram = add_object(ok, object, "ulp histogram");
    for (int bin = 0; histogram && bin < ULP_BINS; bin++) {
        char key[40];
        if (!metrics->ulp_histogram[bin]) continue;
        if (bin == 0) (void)snprintf(key, sizeof key, "0");
        else if (bin == ULP_BINS - 1) (void)snprintf(key, sizeof key, "more");
        else (void)snprintf(key, sizeof key, "<= %.16g", ldexp(1, bin - 2));
        add_number(ok, histogram, key, (double)metrics->ulp_histogram[bin]);
    }
}

static void add_metrics(bool *ok, cJSON *object, const struct judged *judged)
{
    const struct metrics *metrics = &judged->metrics;
    add_number(ok, object, "elements", (double)metrics->n);
    add_number(ok, object, "compared", (double)metrics->compared);
    add_number(ok, object, "agreed without comparison", (double)metrics->agreed);
    add_number(ok, object, "mismatched", (double)metrics->mismatched);
    add_number(ok, object, "unequal", (double)metrics->unequal);
    add_number(ok, object, "above", (double)metrics->above);
    add_number(ok, object, "below", (double)metrics->below);
    add_number(ok, object, "mean ulp", metrics->mean_ulp);
    add_number(ok, object, "mean signed ulp", metrics->mean_signed_ulp);
    add_number(ok, object, "rms ulp", metrics->rms_ulp);
    add_number(ok, object, "reference bound ulp", metrics->bound_ulp);
    add_classes(ok, object, metrics);
    add_worst(ok, object, "worst absolute", judged, &metrics->worst_abs);
    add_worst(ok, object, "worst relative", judged, &metrics->worst_relative);
    add_worst(ok, object, "worst ulp", judged, &metrics->worst_ulp);
    add_histogram(ok, object, metrics);
}

static void add_repeats(bool *ok, cJSON *object, const struct run_difference *repeats)
{
    cJSON *item = add_object(ok, object, "repeats");
    if (!item) return;
    add_number(ok, item, "runs", (double)repeats->runs);
    add_number(ok, item, "elements that differ", (double)repeats->differing);
    add_number(ok, item, "largest difference ulp", repeats->largest_ulp);
}

struct status judged_json_add_evidence(cJSON *object, const struct judged *judged)
{
    bool ok = true;
    cJSON *evidence = add_object(&ok, object, "evidence");
    if (!evidence) return status_no_memory(0);
    add_text(&ok, evidence, "standard", judged->standard);
    if (judged->deciding_metric && *judged->deciding_metric)
        add_text(&ok, evidence, "decided by", judged->deciding_metric);
    add_limits(&ok, evidence, judged);
    if (judged->has_metrics) {
        static const char *const states[] = { "exact", "certified", "bounded" };
        add_text(&ok, evidence, "reference", states[judged->reference_state]);
        add_number(&ok, evidence, "recomputed", (double)judged->recomputed);
        add_metrics(&ok, evidence, judged);
    }
    if (judged->repeats.runs) add_repeats(&ok, evidence, &judged->repeats);
    if (judged->allowance) add_text(&ok, evidence, "allowance", judged->allowance);
    if (judged->signature) add_text(&ok, evidence, "signature", judged->signature);
    if (judged->places) add_text(&ok, evidence, "where", judged->places);
    return result(ok);
}
