/* The tiles of a batch of matrix products: each from its values to its bounds and its recomputed elements while it is in a cache. */
#ifndef PROBE_BENCH_PRIMITIVES_CERTIFIED_TILES_H
#define PROBE_BENCH_PRIMITIVES_CERTIFIED_TILES_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/tiles.h"
#include "bench/primitives/bound_marks.h"
#include "bench/primitives/matmul_sizes.h"
#include "bench/primitives/product_operand.h"
#include "bench/primitives/typical_products.h"
#include "bench/tape/tape.h"

/* All products and what becomes of them. What the bound of C_ij is made of: gamma |a_i| |b_j|, and from the operands'
 * errors spread (|Ea_i| |b_j| + (|a_i| + |Ea_i|) |Eb_j|). */
struct certified {
    const struct matmul *p;
    struct node *node;
    struct product_operand a, b;
    struct tiles tiles;
    double gamma, spread, tiny;
    struct certificate certificate;
    bool recomputes, exact_products;
    bool *finite;        /* are the operands of a product? */
    const double *x, *y; /* the operands as a whole, where some are not */
    struct bound_marks
        *marks; /* where bounds are made when they are read; else NULL: the node's array */
    bool multiplies, bounds; /* what is done now */
    bool typical;            /* the model of the root mean square: not gamma, but */
    struct typical_products products;
    double unit;
};

/* Make the values of all tiles, or their bounds, recomputing what those leave open, or both; threads that are idle take some of the
 * tiles. Failure is the tape's. */
void certified_tiles_do(struct tape *tape, struct certified *c, bool multiplies, bool bounds);

/* In z, one product: by definition, what is not finite there. BLAS may skip or reorder non-finite terms.
 *
 *   z     rows `step` elements apart: those of the product from first_row on, and columns alike
 *   x, y  the operands of the whole product
 */
void matmul_repair(double *z, size_t step, const double *x, const double *y, const struct matmul *p,
                   size_t first_row, size_t rows, size_t first_column, size_t columns);

#endif
