/* exp(A) by halving, a Taylor polynomial and squarings; how far kernels that do so may be off. */
#include <math.h>
#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/matrix_function.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/bounds.h"

static int exponential_ball(arb_mat_t out, const arb_mat_t in, slong precision)
{
    arb_mat_exp(out, in, precision);
    return 1;
}

static void exponential_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    matrix_function_enclose(enclosure, ball, node, i, exponential_ball);
}

/* exp of [[A^T, G], [0, A^T]]: its upper right block is the adjoint of the derivative. */
static void exponential_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *at = node_transpose(tape, node->inputs[0], 1, 2);
    int64_t n = node->shape[1];
    struct node *zero = node_constant(tape, DT_NONE, 0, 3, node->shape);
    struct node *upper[2] = { at, cotangent }, *lower[2] = { zero, at };
    struct node *rows[2] = { node_concatenate(tape, upper, 2, 2),
                             node_concatenate(tape, lower, 2, 2) };
    struct node *wide = node_matrix_exponential(tape, node_concatenate(tape, rows, 2, 1));
    struct node *block = node_slice(tape, node_slice(tape, wide, 1, 0, n, 1), 2, n, n, 1);
    tape_accumulate(tape, node->inputs[0], block);
}

static const struct primitive exponential_primitive = { "a matrix exponential",
                                                        exponential_backward, exponential_enclose,
                                                        NULL };

static void multiply_into(double *out, const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            out[i * n + j] = sum;
        }
}

/* How often a matrix is halved until its norm, the largest sum of a row, or of a column, is at most `most`. */
static int halvings_of(const double *a, size_t n, bool columns, double most)
{
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += fabs(columns ? a[j * n + i] : a[i * n + j]);
        norm = fmax(norm, sum);
    }
    return norm > most && isfinite(norm) ? (int)ceil(log2(norm / most)) : 0;
}

enum {
    TAYLOR_TERMS = 18
}; /* leave 2^-72 at norm 1/2, and at 3.01 a share of 2^-27, which a model does not ask for */

/* The Taylor polynomial of A / 2^halvings. `scratch` has room for three matrices. */
static void exponential_of_halved(double *out, const double *a, size_t n, int halvings,
                                  double *scratch)
{
    double *scaled = scratch, *term = scratch + n * n, *next = scratch + 2 * n * n;
    for (size_t i = 0; i < n * n; i++) {
        scaled[i] = ldexp(a[i], -halvings);
        out[i] = term[i] = i / n == i % n;
    }
    for (int k = 1; k <= TAYLOR_TERMS; k++) {
        multiply_into(next, term, scaled, n);
        for (size_t i = 0; i < n * n; i++) out[i] += term[i] = next[i] / k;
    }
}

static void square(double *x, size_t n, double *scratch)
{
    multiply_into(scratch, x, x, n);
    memcpy(x, scratch, n * n * sizeof *x);
}

/* |S| E + E |S| and what rounding |S| |S| makes, in magnitudes or, root mean square, in squares that are added as if the
 * two terms of E, which are equal where S and E commute, were one. */
static void squared_error(const struct tape *tape, double *error, const double *s, size_t n,
                          double *scratch)
{
    bool typical = tape_is_typical(tape);
    double *size = scratch, *left = scratch + n * n, *right = scratch + 2 * n * n;
    for (size_t i = 0; i < n * n; i++) {
        size[i] = typical ? s[i] * s[i] : fabs(s[i]);
        if (typical) error[i] *= error[i];
    }
    multiply_into(left, size, error, n);
    multiply_into(right, error, size, n);
    for (size_t i = 0; i < n * n; i++)
        error[i] = typical ? sqrt(left[i]) + sqrt(right[i]) : left[i] + right[i];
    multiply_into(left, size, size, n);
    double unit = tape->unit * (typical ? sqrt((double)n) : (double)n);
    for (size_t i = 0; i < n * n; i++)
        error[i] = tape_join(tape, error[i], unit * (typical ? sqrt(left[i]) : left[i]));
}

enum { IMITATIONS = 4 };

/* Errors of random signs, which go through the squarings as a kernel's do, S R + R S: squares of independent elements forget that errors along the
 * largest eigenvalue double every time. Equal elements of S, which are sums of equal products, err alike: they have one sign. `r` holds
 * IMITATIONS of them. */
struct imitation {
    double *r;
    uint64_t state;
};

static uint64_t mixed(uint64_t x)
{
    x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Of an element of this value, equal ones up to what their own sums are off by. */
static double sign_of(const struct imitation *imitation, double value)
{
    float shortened = (float)value;
    uint32_t bits;
    memcpy(&bits, &shortened, sizeof bits);
    return mixed(mixed(bits) ^ imitation->state) >> 63 ? 1 : -1;
}

static void begin_imitation(struct imitation *imitation, const double *s, const double *error,
                            size_t n)
{
    for (size_t m = 0; m < IMITATIONS; m++) {
        imitation->state = mixed(imitation->state);
        for (size_t i = 0; i < n * n; i++)
            imitation->r[m * n * n + i] = sign_of(imitation, s[i]) * error[i];
    }
}

/* One squaring of S. `scratch`: three matrices. */
static void square_imitation(const struct tape *tape, struct imitation *imitation, const double *s,
                             size_t n, double *scratch)
{
    double *own = scratch, *left = scratch + n * n, *right = scratch + 2 * n * n;
    for (size_t i = 0; i < n * n; i++) left[i] = s[i] * s[i];
    multiply_into(own, left, left, n);
    for (size_t i = 0; i < n * n; i++) own[i] = tape->unit * sqrt((double)n * own[i]);
    for (size_t m = 0; m < IMITATIONS; m++) {
        double *r = imitation->r + m * n * n;
        multiply_into(left, s, r, n);
        multiply_into(right, r, s, n);
        imitation->state = mixed(imitation->state);
        for (size_t i = 0; i < n * n; i++)
            r[i] = left[i] + right[i] + sign_of(imitation, s[i]) * own[i];
    }
}

/* Errors that are no less than those imitated, the largest: what is along one vector is one draw for all elements, and the root mean square of
 * so few draws may be half of what is expected. */
static void raise_to_imitation(double *error, const struct imitation *imitation, size_t n)
{
    for (size_t i = 0; i < n * n; i++) {
        for (size_t m = 0; m < IMITATIONS; m++)
            error[i] = fmax(error[i], fabs(imitation->r[m * n * n + i]));
    }
}

enum { POLYNOMIAL_PRODUCTS = 8 };

/* A kernel halves A until its norm is at most 3.01, in double precision 1.09 (Bader, Blanes, Casas, Computing the matrix exponential
 * with an optimized
 * Taylor polynomial approximation, 2019, degree 18; PyTorch), takes a polynomial, at most POLYNOMIAL_PRODUCTS products deep, and
 * squares. W = exp(|A| / 2^s)
 * bounds all that the polynomial adds up, so it is off by E = POLYNOMIAL_PRODUCTS (n + 1) u W, and by W F W for errors F of A / 2^s
 * (exp(A + F) - exp(A) = int exp(t A) F exp((1 - t) A) dt); then E goes through the squarings (Higham, Functions of Matrices, section
 * 10.3). The limits of the norm are those at which the polynomial ends: what it leaves out is exp((1 + d) A) with |d| <= u, off by u A exp(A),
 * all elements to one side. Where a square overflows nothing is known. `scratch` has room for seven matrices and the imitations. */
static void model_exponential(struct tape *tape, struct node *node, const struct node *a, size_t b,
                              double *scratch)
{
    size_t n = (size_t)a->shape[1], size = n * n;
    const double *x = a->value + b * size;
    double *error = node->error + b * size, *w = scratch + 3 * size, *s = scratch + 4 * size;
    double *moved = scratch + 5 * size, *f = scratch + 6 * size;
    double most = tape->unit > 0x1p-40 ? 3.01 : 1.09;
    int rows = halvings_of(x, n, false, most), columns = halvings_of(x, n, true, most);
    int halvings = rows < columns ? rows : columns;
    for (size_t i = 0; i < size; i++) {
        s[i] = fabs(x[i]);
        f[i] = ldexp(node_error(a, b * size + i), -halvings);
    }
    exponential_of_halved(w, s, n, halvings, scratch);
    multiply_into(moved, w, f, n);
    multiply_into(f, moved, w, n);
    double roundings = tape_is_typical(tape) ? 2 * sqrt((double)n)
                                             : POLYNOMIAL_PRODUCTS * (double)(n + 1);
    for (size_t i = 0; i < size; i++)
        error[i] = tape_join(tape, roundings * tape->unit * w[i], f[i]);
    exponential_of_halved(s, x, n, halvings, scratch);
    struct imitation imitation = { scratch + 7 * size, 1 };
    bool imitates = tape_is_typical(tape) && halvings > 0;
    if (imitates) begin_imitation(&imitation, s, error, n);
    for (; halvings > 0; halvings--) {
        squared_error(tape, error, s, n, scratch);
        if (imitates) square_imitation(tape, &imitation, s, n, scratch);
        square(s, n, scratch);
    }
    if (imitates) raise_to_imitation(error, &imitation, n);
    multiply_into(moved, x, s, n);
    double backward = tape->unit * (tape_is_typical(tape) ? 0.25 : 1);
    for (size_t i = 0; i < size; i++)
        error[i] = tape_join(tape, error[i], backward * fabs(moved[i]));
    for (size_t i = 0; i < size; i++)
        if (!isfinite(s[i]) || isnan(error[i])) error[i] = INFINITY;
}

struct node *node_matrix_exponential(struct tape *tape, struct node *a)
{
    if (a->imaginary) return node_by_embedding(tape, a, node_matrix_exponential);
    a = node_to_real(tape, a);
    struct node *node = matrix_function_node(tape, &exponential_primitive, a, 3, a->shape, NULL);
    if (!node) return a;
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0];
    double *scratch = tape_allocate(tape, (7 + IMITATIONS) * n * n, sizeof *scratch);
    for (size_t b = 0; b < batches && !tape_failed(tape); b++) {
        double *out = node->value + b * n * n;
        int halvings = halvings_of(a->value + b * n * n, n, false, 0.5);
        exponential_of_halved(out, a->value + b * n * n, n, halvings, scratch);
        for (; halvings > 0; halvings--) square(out, n, scratch);
    }
    matrix_function_unbounded(tape, node);
    for (size_t b = 0; b < batches && !tape_failed(tape) && tape_is_model(tape); b++)
        model_exponential(tape, node, a, b, scratch);
    node_round(tape, node);
    return node;
}
