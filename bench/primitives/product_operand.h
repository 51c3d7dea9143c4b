/* An operand of a batch of matrix products: its lines, in the dtype they are stored in, and their norms. */
#ifndef PROBE_BENCH_PRIMITIVES_PRODUCT_OPERAND_H
#define PROBE_BENCH_PRIMITIVES_PRODUCT_OPERAND_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/dot_lines.h"
#include "bench/tape/tape.h"

/* The lines of one operand of all products: matrices of `lines` lines, one or as many as there are products, and
 * their norms, one matrix after the other. */
struct product_operand {
    const struct node *node;
    size_t matrices, lines, length;
    bool down, exact;
    double *norms, *error_norms; /* error_norms: NULL where the operand is exact */
};

/* The lines of the matrix of one product, and `count` of them from line `first` on. */
struct factor operand_matrix(const struct product_operand *x, size_t product);
struct factor operand_lines(const struct product_operand *x, size_t product, size_t first,
                            size_t count);

/* Of `norms`, of the operand, those of the lines of one product. */
const double *operand_norms(const struct product_operand *x, const double *norms, size_t product);

/* Take the norms: of the errors where there are any, and of the elements where they are not known. Failure is the tape's. */
void operand_take_norms(struct tape *tape, struct product_operand *x, bool known);

#endif
