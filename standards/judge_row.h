/* A details row while it is being judged; for the files of the judge only. */
#ifndef PROBE_STANDARDS_JUDGE_ROW_H
#define PROBE_STANDARDS_JUDGE_ROW_H

#include <stdarg.h>
#include <stdio.h>

#include "standards/judge.h"

struct row {
    struct judged *out;
    struct arena *arena;
    const struct judge_request *request;
    enum dtype device; /* component dtype of the device's output */
    enum dtype work;   /* working type of the peer's arithmetic: how results print */
    const char *message;
    bool no_memory;
};

/* A comparison that was made; one that does not hold becomes the deciding one. */
void row_note(struct row *row, const char *metric, double value, double limit, bool holds);

/* Append to the message. */
void row_say(struct row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A limit for the row's API and output dtype. */
double row_limit(const struct row *row, enum limit limit);

/* Recompute the elements of a `bounded` reference whose bounds could change a verdict; `refined`
 * says whether there were any, so that the metrics of the row must be taken again. */
struct status row_refine(struct row *row, struct reference *want, const struct tensor *got,
                         const struct metrics_parameters *parameters, bool *refined);

/* The verdict of a floating output by the error model, with its notes and sentences. */
struct status judge_by_model(struct row *row, enum verdict *verdict, struct reference *want,
                             const struct tensor *got);

#endif
