/* The JSON parser: any text is read alike by json_skip and value by value, a place is found for
 * every problem, and numbers agree with strtod. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"

static void check_number(const char *start, const char *end, double got)
{
    char text[512];
    size_t bytes = (size_t)(end - start);
    if (bytes >= sizeof text) return;
    memcpy(text, start, bytes);
    text[bytes] = '\0';
    double want = strtod(text, NULL); /* knows NaN and Infinity as well */
    assert(!memcmp(&want, &got, sizeof got) || (isnan(want) && isnan(got)));
}

static bool walk(struct json *json, struct arena *arena)
{
    enum json_kind kind;
    struct json_number number;
    struct json_slice slice;
    bool boolean;

    if (!json_peek(json, &kind)) return false;
    const char *start = json->at;
    switch (kind) {
    case JSON_NULL: return json_null(json);
    case JSON_BOOL: return json_bool(json, &boolean);
    case JSON_NUMBER:
        if (!json_number(json, &number)) return false;
        check_number(start, json->at, number.real);
        return true;
    case JSON_STRING: {
        size_t bytes;
        if (!json_string(json, &slice)) return false;
        char *text = json_slice_decode(arena, &slice, &bytes);
        assert(text && bytes <= slice.bytes);
        if (strlen(text) == bytes) assert(json_slice_is(&slice, text));
        return true;
    }
    case JSON_ARRAY:
        if (!json_enter_array(json)) return false;
        while (json_array_next(json))
            if (!walk(json, arena)) return false;
        return !json->problem;
    default:
        if (!json_enter_object(json)) return false;
        while (json_object_next(json, &slice))
            if (!walk(json, arena)) return false;
        return !json->problem;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json skipped, walked;
    struct arena arena = { 0 };

    json_open(&skipped, (const char *)data, size);
    if (json_skip(&skipped)) json_finish(&skipped);
    json_open(&walked, (const char *)data, size);
    if (walk(&walked, &arena)) json_finish(&walked);
    struct status a = json_status(&skipped, "input", STATUS_BAD_INPUT);
    struct status b = json_status(&walked, "input", STATUS_BAD_INPUT);
    assert(a.code == b.code && !strcmp(a.text, b.text));
    arena_release(&arena);
    return 0;
}
