/* The columns of a row say everything; a summary has room for what decided and where to look. */
#include "results/row_sentence.h"

#include <stdio.h>
#include <string.h>

#include "core/quantity.h"
#include "formats/csv.h"
#include "results/coordinates.h"

/* The first line of a text that is not blank. */
static struct csv_text first_line(const char *text)
{
    text += strspn(text, " \r\n");
    return (struct csv_text){ text, strcspn(text, "\r\n") };
}

/* ", worst at [20,8,40]", by the error that the sentence is about. */
static void append_place(char *out, const struct judged *judged)
{
    char place[COORDINATES_BYTES];
    const struct metrics *metrics = &judged->metrics;
    const struct worst_element *worst = metrics->worst_ulp.index != SIZE_MAX ? &metrics->worst_ulp
                                                                             : &metrics->worst_abs;
    size_t used = strlen(out);
    if (!judged->has_metrics || worst->index == SIZE_MAX) return;
    coordinates_text(place, judged->cells[COLUMN_SHAPE], worst->index, metrics->n);
    if (place[0]) (void)snprintf(out + used, ROW_SENTENCE_BYTES - used, ", worst at %s", place);
}

/* ", all in rows 128-255": where those that are off sit. */
static void append_places(char *out, const struct judged *judged)
{
    size_t used = strlen(out);
    if (judged->places)
        (void)snprintf(out + used, ROW_SENTENCE_BYTES - used, ", %s", judged->places);
}

/* "; looks like: inputs rounded to 10 bits (TF32)": the likeliest mistake. */
static void append_finding(char *out, const struct judged *judged)
{
    const struct finding *finding = &judged->findings.items[0];
    size_t used = strlen(out);
    if (judged->findings.count)
        (void)snprintf(out + used, ROW_SENTENCE_BYTES - used, "; looks like: %s (explains %d %%)",
                       finding->sentence, (int)(100 * finding->explains));
}

/* The error model says in a sentence of its own how many elements are off. */
static bool take_model_sentence(char *out, const struct judged *judged)
{
    static const char prefix[] = "Error model: ";
    struct csv_text line = first_line(judged->cells[COLUMN_MESSAGE]);
    if (line.length < sizeof prefix || memcmp(line.bytes, prefix, sizeof prefix - 1) != 0)
        return false;
    line.bytes += sizeof prefix - 1;
    size_t length = strcspn(line.bytes, ";\r\n");
    if (length && line.bytes[length - 1] == '.') length--;
    (void)snprintf(out, ROW_SENTENCE_BYTES, "%.*s", (int)length, line.bytes);
    return true;
}

static void compose(char *out, const struct judged *judged)
{
    size_t used = (size_t)snprintf(out, ROW_SENTENCE_BYTES, "%s %.6g, limit %.6g",
                                   judged->deciding_metric, judged->deciding_value,
                                   judged->deciding_limit);
    if (!judged->has_over_rounding || used >= ROW_SENTENCE_BYTES) return;
    if (judged->over_rounding > 1)
        (void)snprintf(out + used, ROW_SENTENCE_BYTES - used, "; %.3g times what rounding explains",
                       judged->over_rounding);
    else if (judged->metrics.mismatched)
        (void)snprintf(out + used, ROW_SENTENCE_BYTES - used, "; %s inf or nan on one side only",
                       quantity_of(judged->metrics.mismatched, "element").text);
    else (void)snprintf(out + used, ROW_SENTENCE_BYTES - used, "; rounding explains it");
}

void row_sentence(char *out, const struct judged *judged, enum row_cause cause)
{
    bool measured = !cause && judged->deciding_metric && *judged->deciding_metric;
    if (measured) {
        if (!take_model_sentence(out, judged)) compose(out, judged);
        append_place(out, judged);
        append_places(out, judged);
        append_finding(out, judged);
    } else {
        struct csv_text line = first_line(judged->cells[COLUMN_MESSAGE]);
        (void)snprintf(out, ROW_SENTENCE_BYTES, "%.*s", (int)line.length, line.bytes);
    }
    text_tidy(out);
}
