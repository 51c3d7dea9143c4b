/* What the parts of a convolution's products have in common: columns, products, bounds and norms of some rows and columns of the matrix
 * that is made (convolution_products.c says which). */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_PARTS_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/arithmetic/gemm.h"
#include "bench/primitives/convolution_model.h"
#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

enum {
    COLUMN_ELEMENTS = 1 << 17, /* of X that a part has at a time */
    LEAST_COLUMNS = 32,        /* rows of X in a part of an adjoint */
};

/* Norms of the lines of an operand, matrix by matrix, and of their bounds. */
struct line_norms {
    double *norm, *error;
};

/* What a part makes of the matrix that the role has: rows by columns. */
struct block {
    size_t image, group, row, rows, column, columns;
};

/* All of a convolution, and how it is divided. */
struct convolution_products {
    struct tape *tape;
    const struct convolution *c;
    const struct node *x, *w, *y; /* the operands; NULL: what is made, */
    struct node *out;
    const int64_t *map; /* of the pixel that a tap (row) has at a point, or -1 in the padding */
    bool certify, single, recomputes, exact_products;
    bool known;                      /* the values are there */
    struct line_norms first, second; /* of W or Y, of Y */
    double *growth;                  /* of the input's adjoint: per image and group */
    size_t rows, columns;            /* of a part */
    size_t down, across;             /* parts of one image and group */
    size_t together;                 /* images and groups of a part where each is one */
    size_t matrices;
};

/* How a role divides its matrix into parts, the elements of scratch that one takes, and what makes it. */
struct convolution_role_steps {
    void (*divide)(struct convolution_products *p);
    size_t (*room)(const struct convolution_products *p);
    void (*make)(const struct convolution_products *p, const struct block *b, double *scratch);
};
extern const struct convolution_role_steps convolution_result, convolution_input_adjoint,
    convolution_weight_adjoint;

static inline size_t at_least(size_t x, size_t least) { return x > least ? x : least; }
static inline size_t at_most(size_t x, size_t most) { return x < most ? x : most; }

/* Some rows and points of X, of one image and group. */
struct piece {
    size_t row, rows, point, points;
};

/* The piece of x, an image and group of it that begins at element `start`. */
void columns_unfold(double *columns, size_t start, const struct convolution_products *p,
                    const struct piece *s);

/* z = op(a) op(b), plus z with `add`; where the arithmetic is that of floats, by way of copies in `room`, which has
 * part_floats_room elements. */
void part_multiply(const struct convolution_products *p, double *z, const struct gemm *shape,
                   const double *a, const double *b, double *room);
size_t part_floats_room(const struct convolution_products *p, size_t m, size_t n, size_t k);

/* Row steps: 0 where rows lie one after the other. */
static inline size_t row_step(size_t step, size_t length) { return step == length ? 0 : step; }

/* Added to the bounds of some rows and columns, rows `step` apart. */
void part_add_bounds(double *bound, size_t step, const struct norm_bound *n, size_t rows,
                     size_t columns, const struct line_norms *a, const struct line_norms *b);

/* Two matrices with all their lines: factor k of line i of the first is first[i * row_first + k * step]. */
struct line_matrices {
    const double *first, *second;
    size_t row_first, row_second;
};

/* In a model: how much of unit |a_i| |b_j| the roundings of the products of m by n lines of k terms make.
 * `room` has part_growth_room elements. */
double part_growth(const struct convolution_products *p, const struct line_matrices *matrices,
                   size_t m, size_t n, size_t k, size_t step_first, size_t step_second,
                   double *room);
size_t part_growth_room(const struct convolution_products *p, size_t k);

static inline struct line_norms norms_from(const struct line_norms *norms, size_t first)
{
    return (struct line_norms){ norms->norm + first, norms->error + first };
}

/* Norms of a piece of X, `down` of its columns. `room` has column_norms_room elements. */
struct line_norms column_norms(const struct convolution_products *p, const double *columns,
                               size_t start, const struct piece *s, bool down, double *room);
size_t column_norms_room(const struct convolution_products *p, size_t rows, size_t points);

/* Rows of a part, `step` elements apart: set to 0; bounds that are no numbers, or of values that are not finite, put right. */
void part_clear(double *x, size_t step, size_t rows, size_t columns);
void part_tidy(double *error, const double *value, size_t step, size_t rows, size_t columns);

#endif
