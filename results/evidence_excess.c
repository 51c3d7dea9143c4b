/* The last limit that does not hold decided the row (results/judged_json.c writes them in that order). */
#include "results/evidence_excess.h"

#include <math.h>

#include "formats/json.h"
#include "results/outcome.h"

struct deciding {
    double value, limit, over_rounding;
};

/* A number; NaN for the texts that stand for what JSON has no number for. */
static double read_number(struct json *json)
{
    enum json_kind kind;
    struct json_number number;
    if (json_peek(json, &kind) && kind == JSON_NUMBER && json_number(json, &number))
        return number.real;
    (void)json_skip(json);
    return NAN;
}

static void read_limit(struct deciding *out, struct json *json)
{
    struct json_slice key;
    double value = NAN, limit = NAN;
    bool holds = true;
    for (json_enter_object(json); json_object_next(json, &key);) {
        if (json_slice_is(&key, "value")) value = read_number(json);
        else if (json_slice_is(&key, "limit")) limit = read_number(json);
        else if (!json_slice_is(&key, "holds")) (void)json_skip(json);
        else if (!json_bool(json, &holds)) return;
    }
    if (json->problem || holds) return;
    out->value = value;
    out->limit = limit;
}

static void read_evidence(struct deciding *out, struct json *json)
{
    struct json_slice key;
    for (json_enter_object(json); json_object_next(json, &key);) {
        if (!json_slice_is(&key, "limits")) {
            if (!json_skip(json)) return;
            continue;
        }
        for (json_enter_array(json); json_array_next(json);) read_limit(out, json);
    }
}

double evidence_excess(const char *line, size_t length)
{
    struct json json;
    struct json_slice key;
    struct deciding deciding = { NAN, NAN, NAN };
    json_open(&json, line, length);
    for (json_enter_object(&json); json_object_next(&json, &key);) {
        if (json_slice_is(&key, "evidence")) read_evidence(&deciding, &json);
        else if (json_slice_is(&key, "error over what rounding explains"))
            deciding.over_rounding = read_number(&json);
        else (void)json_skip(&json);
    }
    return row_excess(deciding.value, deciding.limit, deciding.over_rounding);
}
