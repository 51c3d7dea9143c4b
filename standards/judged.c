/* Names of verdicts, as they stand in the result files. */
#include "standards/judged.h"

static const char *const verdict_names[] = {
    [VERDICT_BLANK] = " ",     [VERDICT_PASS] = "pass", [VERDICT_WARNING] = "warning",
    [VERDICT_ERROR] = "error", [VERDICT_SKIP] = "SKIP",
};

bool verdict_is_judgement(enum verdict verdict)
{
    return verdict != VERDICT_BLANK && verdict != VERDICT_SKIP;
}

const char *verdict_name(enum verdict verdict) { return verdict_names[verdict]; }

enum verdict verdict_combine(const enum verdict *rows, size_t count)
{
    size_t seen[VERDICT_SKIP + 1] = { 0 };

    for (size_t i = 0; i < count; i++) seen[rows[i]]++;
    if (seen[VERDICT_ERROR]) return VERDICT_ERROR;
    if (seen[VERDICT_WARNING]) return VERDICT_WARNING;
    if (seen[VERDICT_PASS]) return VERDICT_PASS;
    return seen[VERDICT_SKIP] ? VERDICT_SKIP : VERDICT_BLANK;
}
