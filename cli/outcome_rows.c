/* Read from the evidence, which knows where the worst element is. */
#include "cli/outcome_rows.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "formats/json_tree.h"

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return text ? text : "";
}

/* A value of the evidence, whose infinities and NaN are words. */
static void format_value(char out[40], const cJSON *item, int digits)
{
    if (cJSON_IsNumber(item)) (void)snprintf(out, 40, "%.*g", digits, item->valuedouble);
    else (void)snprintf(out, 40, "%s", cJSON_IsString(item) ? item->valuestring : "nothing");
}

/* Both sides with as many digits as tell them apart. */
static void print_sides(const cJSON *want, const cJSON *got)
{
    char a[40], b[40];
    for (int digits = 9; digits <= 17; digits += 8) {
        format_value(a, want, digits);
        format_value(b, got, digits);
        if (strcmp(a, b) != 0) break;
    }
    printf(" want %s, got %s", a, b);
}

/* What there is to say of a row without a worst element: all are equal, or what a random draw was found
 * to have. */
static void print_agreement(const cJSON *evidence, const char *before)
{
    const cJSON *limit = cJSON_GetArrayItem(cJSON_GetObjectItem(evidence, "limits"), 0);
    const char *standard = text_of(evidence, "standard");
    bool equal = cJSON_GetObjectItem(evidence, "elements") || !strcmp(standard, "binary");
    if (!cJSON_IsTrue(cJSON_GetObjectItem(limit, "holds"))) return;
    if (equal) printf("%severy element is equal", before);
    else if (!strcmp(standard, "property")) printf("%s%s", before, text_of(limit, "metric"));
}

/* "worst 0.499 ulp at [1,33]: want 0.0131, got 0.0132" */
static void print_worst(const cJSON *evidence, const char *before)
{
    const cJSON *worst = cJSON_GetObjectItem(evidence, "worst ulp");
    const char *unit = worst ? " ulp" : "";
    if (!worst) worst = cJSON_GetObjectItem(evidence, "worst absolute");
    if (!worst) {
        print_agreement(evidence, before);
        return;
    }
    const cJSON *error = cJSON_GetObjectItem(worst, "error");
    const char *at = text_of(worst, "at");
    if (cJSON_IsNumber(error)) printf("%sworst %.3g%s", before, error->valuedouble, unit);
    else printf("%sworst %s%s", before, text_of(worst, "error"), unit);
    printf("%s%s:", *at ? " at " : "", at);
    print_sides(cJSON_GetObjectItem(worst, "want"), cJSON_GetObjectItem(worst, "got"));
}

/* The note of a row that is not a pass. */
static const struct row_note *note_of(const struct case_outcome *outcome, const char *row)
{
    for (size_t i = 0; i < outcome->n_notes; i++)
        if (!strcmp(outcome->notes[i].name, row)) return &outcome->notes[i];
    return NULL;
}

/* A gradient that an argument cannot have is nothing to tell. */
static bool is_told(const struct row_note *note, const struct case_outcome *outcome)
{
    return !note || note->cause != CAUSE_NOTHING_TO_JUDGE || outcome->forward == VERDICT_SKIP;
}

static struct status print_row(const struct case_outcome *outcome, const char *call,
                               const char *line, size_t length)
{
    cJSON *json;
    TRY(json_tree_parse(&json, NULL, line, length));
    const char *name = text_of(json, "name");
    const struct row_note *note = note_of(outcome, name);
    size_t shared = strlen(call);
    bool within = !strncmp(name, call, shared) && name[shared] == '.';
    if (is_told(note, outcome)) {
        printf("  %-20s %-8s %s", within ? name + shared + 1 : name, text_of(json, "verdict"),
               note ? note->sentence : "");
        print_worst(cJSON_GetObjectItem(json, "evidence"), note ? "; " : "");
        printf("\n");
    }
    cJSON_Delete(json);
    return status_ok();
}

struct status outcome_print_rows(const struct case_outcome *outcome, const char *call)
{
    const char *line = outcome->evidence.data, *end = line + outcome->evidence.length;
    while (line && line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        TRY(print_row(outcome, call, line, length));
        line += length + 1;
    }
    return status_ok();
}
