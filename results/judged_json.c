/* A judged output as JSON, member by member. */
#include "results/judged_json.h"

#include <math.h>

#include "results/coordinates.h"

static void add_number(struct json_writer *out, const char *key, double value)
{
    json_put_key(out, key);
    json_put_number(out, value);
}

static void add_count(struct json_writer *out, const char *key, uint64_t value)
{
    json_put_key(out, key);
    json_put_count(out, value);
}

static void add_text(struct json_writer *out, const char *key, const char *text)
{
    json_put_key(out, key);
    json_put_string(out, text);
}

static void add_object(struct json_writer *out, const char *key)
{
    json_put_key(out, key);
    json_put_begin(out, '{');
}

void judged_json_add_cells(struct json_writer *out, const struct judged *judged)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        add_text(out, details_headers[column], judged->cells[column]);
}

static void add_limits(struct json_writer *out, const struct judged *judged)
{
    json_put_key(out, "limits");
    json_put_begin(out, '[');
    for (size_t i = 0; i < judged->limit_count; i++) {
        const struct judged_limit *limit = &judged->limits[i];
        json_put_begin(out, '{');
        add_text(out, "metric", limit->metric);
        add_number(out, "value", limit->value);
        add_number(out, "limit", limit->limit);
        add_number(out, "quotient", limit->value / limit->limit);
        json_put_key(out, "holds");
        json_put_bool(out, limit->holds);
        json_put_end(out, '}');
    }
    json_put_end(out, ']');
}

static void add_worst(struct json_writer *out, const char *key, const struct judged *judged,
                      const struct worst_element *worst)
{
    if (worst->index == SIZE_MAX) return;
    add_object(out, key);
    char place[COORDINATES_BYTES];
    coordinates_text(place, judged->cells[COLUMN_SHAPE], worst->index, judged->metrics.n);
    add_count(out, "index", worst->index);
    if (place[0]) add_text(out, "at", place);
    add_number(out, "want", worst->want);
    add_number(out, "got", worst->got);
    add_number(out, "error", worst->value);
    json_put_end(out, '}');
}

/* Only the pairs of kinds that occur. */
static void add_classes(struct json_writer *out, const struct metrics *metrics)
{
#define GOT(want)                                              \
    {                                                          \
        [CLASS_FINITE] = "want " want ", got finite",          \
        [CLASS_POSITIVE_INFINITY] = "want " want ", got inf",  \
        [CLASS_NEGATIVE_INFINITY] = "want " want ", got -inf", \
        [CLASS_NAN] = "want " want ", got nan",                \
    }
    static const char *const names[CLASS_COUNT][CLASS_COUNT] = {
        [CLASS_FINITE] = GOT("finite"),
        [CLASS_POSITIVE_INFINITY] = GOT("inf"),
        [CLASS_NEGATIVE_INFINITY] = GOT("-inf"),
        [CLASS_NAN] = GOT("nan"),
    };
#undef GOT
    add_object(out, "kinds");
    for (size_t want = 0; want < CLASS_COUNT; want++)
        for (size_t got = 0; got < CLASS_COUNT; got++)
            if (metrics->classes[want][got])
                add_count(out, names[want][got], metrics->classes[want][got]);
    json_put_end(out, '}');
}

/* Bins that hold elements, by their upper end in ulp. */
static void add_histogram(struct json_writer *out, const struct metrics *metrics)
{
    add_object(out, "ulp histogram");
    for (int bin = 0; bin < ULP_BINS; bin++) {
        char key[SHORTEST_BYTES + 3] = "<= ";
        if (!metrics->ulp_histogram[bin]) continue;
        (void)json_number_text(key + 3, ldexp(1, bin - 2));
        add_count(out,
                  bin == 0              ? "0"
                  : bin == ULP_BINS - 1 ? "more"
                                        : key,
                  metrics->ulp_histogram[bin]);
    }
    json_put_end(out, '}');
}

static void add_metrics(struct json_writer *out, const struct judged *judged)
{
    const struct metrics *metrics = &judged->metrics;
    add_count(out, "elements", metrics->n);
    add_count(out, "compared", metrics->compared);
    add_count(out, "agreed without comparison", metrics->agreed);
    add_count(out, "mismatched", metrics->mismatched);
    add_count(out, "unequal", metrics->unequal);
    add_count(out, "above", metrics->above);
    add_count(out, "below", metrics->below);
    add_number(out, "mean ulp", metrics->mean_ulp);
    add_number(out, "mean signed ulp", metrics->mean_signed_ulp);
    add_number(out, "rms ulp", metrics->rms_ulp);
    add_number(out, "reference bound ulp", metrics->bound_ulp);
    add_classes(out, metrics);
    add_worst(out, "worst absolute", judged, &metrics->worst_abs);
    add_worst(out, "worst relative", judged, &metrics->worst_relative);
    add_worst(out, "worst ulp", judged, &metrics->worst_ulp);
    add_histogram(out, metrics);
}

static void add_repeats(struct json_writer *out, const struct run_difference *repeats)
{
    add_object(out, "repeats");
    add_count(out, "runs", repeats->runs);
    add_count(out, "elements that differ", repeats->differing);
    add_number(out, "largest difference ulp", repeats->largest_ulp);
    json_put_end(out, '}');
}

void judged_json_add_evidence(struct json_writer *out, const struct judged *judged)
{
    add_object(out, "evidence");
    add_text(out, "standard", judged->standard);
    if (judged->deciding_metric && *judged->deciding_metric)
        add_text(out, "decided by", judged->deciding_metric);
    add_limits(out, judged);
    if (judged->has_metrics) {
        static const char *const states[] = { "exact", "certified", "bounded" };
        add_text(out, "reference", states[judged->reference_state]);
        add_count(out, "recomputed", judged->recomputed);
        add_metrics(out, judged);
    }
    if (judged->repeats.runs) add_repeats(out, &judged->repeats);
    if (judged->allowance) add_text(out, "allowance", judged->allowance);
    if (judged->signature) add_text(out, "signature", judged->signature);
    if (judged->places) add_text(out, "where", judged->places);
    json_put_end(out, '}');
}
