/* A details row while it is being judged; for the files of the judge only. */
#ifndef PROBE_STANDARDS_JUDGE_ROW_H
#define PROBE_STANDARDS_JUDGE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "standards/judged.h"

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

/* A dtype as the dumps of the call's framework spell it. */
const char *row_dtype_name(const struct row *row, enum dtype dtype);

/* A limit for the row's API and output dtype. */
double row_limit(const struct row *row, enum limit limit);

/* Cells: a text, a double in the digits that the request asks for, a result of the working type
 * (which sets how it prints), a ratio over a mask of `count` elements (0 when it is empty). */
void row_put(struct row *row, enum details_column column, const char *text);
void row_put_fixed(struct row *row, enum details_column column, double x);
void row_put_typed(struct row *row, enum details_column column, double x, enum dtype work);
void row_put_double(struct row *row, enum details_column column,
                    double x); /* its shortest digits */
void row_put_ratio(struct row *row, enum details_column column, double x, uint64_t count);

/* Begin with blank cells and the row's name; end with a verdict, or with a verdict and a last
 * sentence. STATUS_NO_MEMORY when any step of the row lacked memory. */
void row_open(struct row *row, struct judged *out, struct arena *arena,
              const struct judge_request *request);
struct status row_close(struct row *row, enum verdict verdict);
struct status row_close_with(struct row *row, enum verdict verdict, const char *message);

#endif
