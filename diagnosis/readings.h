/* What can become of a tensor between memory and the arithmetic: doubled, shifted, cut short, taken for something else. */
#ifndef PROBE_DIAGNOSIS_READINGS_H
#define PROBE_DIAGNOSIS_READINGS_H

#include "diagnosis/subject.h"

/* A tensor being changed: dense elements as doubles (integers exactly up to 2^53). */
struct reading {
    enum dtype dtype;
    int rank;
    const int64_t *shape;
    size_t n;
    const double *x;
    double *y;
    int axis;      /* of those that concern one */
    int64_t count; /* elements, indices or a step, by the row */
};

/* A row of the table of misreadings. */
struct misreading {
    const char *class;
    double bits;
    const char *words; /* "%s" is the tensor, "%d" the axis, if it concerns one */
    bool (*apply)(struct reading *reading); /* false when the tensor would be itself */
    bool each_axis;
    int64_t count;
};
extern const struct misreading misreadings[]; /* ended by a row without words */

/* The words of a misreading of the tensor `name`. */
void misreading_text(char *out, size_t bytes, const struct misreading *row, const char *name,
                     int axis);

/* Formats to which inputs may be rounded as they are read; ended by one without words. */
struct input_format {
    const char *words; /* "rounded to 10 bits (TF32)" */
    struct rounding rounding;
};
extern const struct input_format input_formats[];
bool reading_round(struct reading *reading, const struct rounding *rounding);

/* Read a tensor, whose elements are in x then; *readable is false when it cannot be changed. Write what became of it.
 * Errors: STATUS_NO_MEMORY. */
struct status reading_open(struct reading *out, bool *readable, struct arena *arena,
                           const struct tensor *tensor);
struct status reading_close(struct tensor *out, struct arena *arena, const struct reading *reading);

#endif
