/* What is of another kind than expected is passed over. */
#include "results/evidence_members.h"

#include <math.h>

double evidence_read_number(struct json *json)
{
    enum json_kind kind;
    struct json_number number;
    struct json_slice word;
    if (!json_peek(json, &kind)) return NAN;
    if (kind == JSON_NUMBER) return json_number(json, &number) ? number.real : NAN;
    if (kind != JSON_STRING || !json_string(json, &word)) {
        (void)json_skip(json);
        return NAN;
    }
    return json_slice_is(&word, "inf") ? INFINITY : json_slice_is(&word, "-inf") ? -INFINITY : NAN;
}

bool evidence_read_flag(struct json *json)
{
    enum json_kind kind;
    bool flag = false;
    if (json_peek(json, &kind) && kind == JSON_BOOL) (void)json_bool(json, &flag);
    else (void)json_skip(json);
    return flag;
}
