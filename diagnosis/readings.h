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
    int64_t part;  /* indices that it came to, where a part is meant */
};

/* A row of the table of misreadings. */
struct misreading {
    const char *class;
    double bits;
    const char *words; /* "%s" is the tensor, "%d" the axis, "%t" the part: "8 of 200" */
    bool (*apply)(struct reading *reading); /* false when the tensor would be itself */
    bool each_axis;
    int64_t count;
    bool no_products; /* not for calls that multiply matrices, where it would make everything NaN */
};
extern const struct misreading misreadings[]; /* ended by a row without words */

/* The words of a misreading of the tensor `name`. */
void misreading_text(char *out, size_t bytes, const struct misreading *row, const char *name,
                     const struct reading *reading);

/* The elements at index k of the axis are 0. */
void reading_drop(struct reading *reading, int64_t k);

/* Formats to which inputs may be rounded as they are read; ended by one without words. */
struct input_format {
    const char *words; /* "rounded to 10 bits (TF32)" */
    double bits;       /* how much less likely than the others */
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
