/* Exponentials of the elements of lines, less their largest, and their sums: what softmax and its relatives have in common (one
 * line: the elements along dim).
 */
#ifndef PROBE_BENCH_PRIMITIVES_EXPONENTIALS_H
#define PROBE_BENCH_PRIMITIVES_EXPONENTIALS_H

#include "bench/primitives/lines.h"
#include "bench/tape/tape.h"

/* What the lines along `dim` have in common: parameters of the node of S', the sum of exp(x - m) over all but the largest
 * element m. */
struct exponentials {
    int dim;
    struct lines lines;
    size_t *top;   /* per line: position of the largest element, the first NaN before all */
    double spread; /* of all lines: largest |x - m| whose exponential is not 0; at most 746 */
    double *input; /* per line: largest bound of the inputs; NULL when they are exact */
    double *total; /* per line, in a model: relative error of a kernel's sum of exponentials */
};

/* The node of S' (dim kept with extent 1), struct exponentials in its `parameters`. With `out`, of x's shape, the exponentials of
 * all elements. The gradient is left to those who use it, and x may still be unread: they read its lines by line_values. */
struct node *exponentials_sum(struct tape *tape, struct node *x, int dim, double *out);

/* Relative error of S' for exact inputs. */
double exponentials_error(const struct exponentials *l);

/* The largest element of a line; without elements, -infinity. */
double exponentials_largest(const struct exponentials *l, const struct node *x, size_t line);

/* The largest elements of the lines, as a leaf in the shape of `sums`. */
struct node *exponentials_tops(struct tape *tape, const struct node *sums);

/* exp(x - m) of n elements, `stride` apart, into `out` (one after the other), in the tape's arithmetic. */
void exponentials_of(const struct tape *tape, double *out, const double *x, size_t n, size_t stride,
                     double m);

/* Work on the lines of x: the node that is made, with `sums` where those are known. */
struct exponential_work {
    struct tape *tape;
    struct node *node;
    const struct node *x, *sums;
    const struct exponentials *l;
};

/* Do all lines in parts, each with room for two lines; `some` gets `work`, which may be the first member of more. */
void exponentials_each_line(const struct exponential_work *work,
                            void (*some)(void *context, size_t start, size_t count, void *scratch));

#endif
