/* Names of verdicts, as they stand in the result files. */
#include "standards/judged.h"

const struct verdict_word verdict_words[VERDICT_SKIP + 1] = {
    [VERDICT_BLANK] = { " ", 1 },         [VERDICT_PASS] = { "pass", 4 },
    [VERDICT_WARNING] = { "warning", 7 }, [VERDICT_ERROR] = { "error", 5 },
    [VERDICT_SKIP] = { "SKIP", 4 },
};

bool verdict_is_judgement(enum verdict verdict)
{
    return verdict != VERDICT_BLANK && verdict != VERDICT_SKIP;
}

const char *verdict_name(enum verdict verdict) { return verdict_words[verdict].text; }

enum verdict verdict_combine(const enum verdict *rows, size_t count)
{
    size_t seen[VERDICT_SKIP + 1] = { 0 };

    for (size_t i = 0; i < count; i++) seen[rows[i]]++;
    if (seen[VERDICT_ERROR]) return VERDICT_ERROR;
    if (seen[VERDICT_WARNING]) return VERDICT_WARNING;
    if (seen[VERDICT_PASS]) return VERDICT_PASS;
    return seen[VERDICT_SKIP] ? VERDICT_SKIP : VERDICT_BLANK;
}
