/* At most every partial sum is as large as the sum of all magnitudes, and rounded: k u sum|t|. Typically partial sums S_j of terms in any order
 * have u^2 / 3 sum S_j^2 (bench/arithmetic/sum_spread.h): of signs at random k Q / 2 of the squares' sum Q, of one sign k S^2 / 3;
 * and terms that are scaled are rounded once themselves, u^2 / 3 Q. */
#include "bench/primitives/begun_sums.h"

#include <math.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/few_bits.h"
#include "bench/primitives/unary.h"

/* Numbers of both parts of a complex node, or of a real one: false where they have errors or more bits. */
static bool add_parts(struct number_grid *grid, const struct node *x, int bits)
{
    return few_bits_add(grid, x, bits) && (!x->imaginary || few_bits_add(grid, x->imaginary, bits));
}

/* Is one of the real products that a complex one is made of without error? */
static bool some_product_is_exact(const struct tape *tape, const struct begun_sum *sum)
{
    int bits = tape->wide ? 53 : 24;
    const struct node *x[2] = { sum->x, sum->x->imaginary }, *w[2] = { sum->w, sum->w->imaginary };
    for (int k = 0; k < 4; k++)
        if (x[k / 2] && w[k % 2] && few_bits_product(x[k / 2], w[k % 2], (size_t)sum->k, bits))
            return true;
    return false;
}

/* Do the terms have so few bits that nothing rounds when they are scaled, and added to what they begin with? */
static bool is_exact_with_start(const struct tape *tape, const struct begun_sum *sum)
{
    int bits = tape->wide ? 53 : 24, exponent;
    struct number_grid x = NO_NUMBERS, w = NO_NUMBERS, start = NO_NUMBERS;
    if (fabs(frexp(sum->factor, &exponent)) != 0.5 || !add_parts(&x, sum->x, bits) ||
        !add_parts(&w, sum->w, bits) || (sum->start && !add_parts(&start, sum->start, bits)))
        return false;
    int last = x.last + w.last + exponent - 1;
    double most = 2 * (double)sum->k * x.most * w.most * fabs(sum->factor) + start.most;
    return most <= ldexp(1, (last < start.last ? last : start.last) + bits);
}

/* Bounds that are still to be made are none of 0. */
static bool has_element_without_error(const struct node *y)
{
    if (!y->error) return node_is_exact(y);
    for (size_t i = 0; i < y->n; i++)
        if (y->error[i] == 0) return true;
    return false;
}

bool begun_sums_round(struct tape *tape, struct node *y, const struct begun_sum *sum)
{
    if (!tape_is_model(tape) || tape_failed(tape) || y->integer || sum->factor == 0) return false;
    if (!sum->start && sum->factor == 1) return false;
    bool candidate = y->imaginary ? some_product_is_exact(tape, sum) : has_element_without_error(y);
    return candidate && !is_exact_with_start(tape, sum);
}

struct node *begun_sums_sizes(struct tape *tape, struct node *x)
{
    const char *size = tape_is_typical(tape) ? "square" : "abs";
    struct node *re = node_apply(tape, size, node_detach(tape, node_real_part(tape, x)));
    if (!x->imaginary) return re;
    return node_add(tape, re,
                    node_apply(tape, size, node_detach(tape, node_imaginary_part(tape, x))));
}

/* `parts`: of complex sums, whose parts have the rounding of a difference. */
static struct node *rounded(struct tape *tape, struct node *y, struct node *sizes, int64_t k,
                            bool parts)
{
    bool typical = tape_is_typical(tape);
    const double *value = node_values(tape, y), *size = node_values(tape, sizes);
    struct node *error = node_new_real(tape, DT_NONE, y->rank, y->shape);
    double root = sqrt((double)k);
    for (size_t i = 0; i < y->n && !tape_failed(tape); i++) {
        double own = typical ? (0.41 * root + 0.6) * sqrt(size[i]) + 0.33 * root * fabs(value[i])
                             : (double)(k + 1) * size[i];
        bool lacks = parts || node_error(y, i) == 0;
        error->value[i] = lacks && isfinite(own) ? own : 0;
    }
    return node_model_error(tape, y, error, typical ? 4 : 1);
}

struct node *begun_sums_rounded(struct tape *tape, struct node *y, struct node *sizes, int64_t k)
{
    if (tape_failed(tape) || sizes->n != y->n) return y;
    if (!y->imaginary) return rounded(tape, y, sizes, k, false);
    return node_complex(tape, rounded(tape, node_real_part(tape, y), sizes, 2 * k, true),
                        rounded(tape, node_imaginary_part(tape, y), sizes, 2 * k, true));
}
