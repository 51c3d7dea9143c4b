/* Matrices that can be inverted or factored.
 *
 * Random entries of the recorded range make singular and ill-conditioned matrices, on which
 * the results of two correct devices have nothing in common. A matrix is drawn here as c J
 * + E: J is all ones, c = max(lo, 0), and E is strictly diagonally dominant with a positive
 * diagonal. Both parts are positive semidefinite when symmetric, the second definite
 * (Gershgorin), so the sum is positive definite; without the symmetry x^T (c J + E) x > 0
 * still holds for E dominant by rows and columns, so the sum is regular, with positive
 * determinant. All entries stay in [lo, hi] whenever hi > max(lo, 0).
 */
#include <math.h>

#include "generators/fill.h"
#include "generators/philox.h"
#include "generators/rules.h"

struct matrix_range {
    double diagonal_lo, diagonal_hi, off_lo, off_hi;
};

/* The parts of [lo, hi] for diagonal and off-diagonal entries of order n. The dominance is
 * 2: off-diagonal entries of a row add up to at most half of the smallest diagonal entry.
 */
static struct matrix_range split_range(double lo, double hi, size_t n)
{
    double base = lo > 0 ? lo : 0, spread = hi - base;
    double reach = n > 1 ? spread / (4 * (double)(n - 1)) : 0;
    struct matrix_range parts = { base + spread / 2, hi, base > 0 ? lo : fmax(lo, -reach),
                                  base + reach };
    return parts;
}

static double uniform(struct philox *draws, double lo, double hi)
{
    double u = ((double)philox_next(draws) + 0.5) * 0x1p-32;
    double x = lo + u * (hi - lo);
    return x < lo ? lo : x > hi ? hi : x;
}

/* One matrix of order n as `width` doubles an entry (2: complex). */
static void draw_matrix(double *out, size_t n, size_t width, bool symmetric,
                        const struct matrix_range *parts, struct philox *draws)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            double *entry = out + (i * n + k) * width;
            if (symmetric && k < i) {
                const double *mirror = out + (k * n + i) * width;
                entry[0] = mirror[0];
                if (width == 2) entry[1] = -mirror[1];
                continue;
            }
            entry[0] = i == k ? uniform(draws, parts->diagonal_lo, parts->diagonal_hi)
                              : uniform(draws, parts->off_lo, parts->off_hi);
            if (width == 1) continue;
            /* |re| + |im| stays within the reach of a real entry. */
            entry[1] = i == k ? 0 : entry[0] / 2;
            if (i != k) entry[0] /= 2;
            if (i != k && philox_next(draws) >> 31) entry[1] = -entry[1];
        }
    }
    out[(n * n - 1) * width] = parts->diagonal_hi;
}

/* Order of the matrices a tensor holds; 0 when it does not hold square ones. */
static size_t matrix_order(const struct tensor *tensor, bool folded)
{
    if (folded) {
        size_t n = tensor_elements(tensor), order = 1;
        while (order * order < n) order++;
        return order * order == n ? order : 0;
    }
    if (tensor->rank < 2) return 0;
    int64_t rows = tensor->shape[tensor->rank - 2], columns = tensor->shape[tensor->rank - 1];
    return rows == columns ? (size_t)rows : 0;
}

/* solve(A, B) of torch.linalg and the older solve(B, A) share their name: A is the square
 * one, the first when both are. */
static struct input *matrix_subject(const struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    bool folded = rule->flags & MATRIX_FOLDED;

    if (rule->source && input && !matrix_order(input->value->tensor.tensor, folded))
        input = rule_subject(generation, rule->source);
    return input;
}

struct status rule_matrix(struct generation *generation, const struct rule *rule)
{
    struct input *input = matrix_subject(generation, rule);
    double *values;

    if (!input) return status_ok();
    struct tensor *tensor = input->value->tensor.tensor;
    size_t order = matrix_order(tensor, rule->flags & MATRIX_FOLDED);
    size_t width = dtype_is_complex(tensor->dtype) ? 2 : 1;
    double lo = width == 2 ? -input->range.hi : input->range.lo, hi = input->range.hi;
    if (dtype_is_integral(tensor->dtype) || order == 0 || input->range.constant ||
        (lo == 0 && hi == 0))
        return status_ok();
    /* A range with nothing positive in it is used mirrored; -A is as regular as A. */
    bool mirrored = hi <= 0 && !(rule->flags & MATRIX_POSITIVE);
    if (mirrored) {
        double swap = lo;
        lo = -hi;
        hi = -swap;
    }
    bool widened = !(hi > (lo > 0 ? lo : 0));
    if (widened) {
        hi = fabs(lo); /* not 0: a range of zeros alone has gone its way */
        lo = 0;
    }
    const struct matrix_range parts = split_range(lo, hi, order);
    struct philox draws = philox_open(input->key, STREAM_RULE);
    size_t entries = order * order, n = tensor_elements(tensor);
    TRY(generation_doubles(&values, generation, entries * width));
    for (size_t first = 0; first < n; first += entries) {
        draw_matrix(values, order, width, rule->flags & MATRIX_POSITIVE, &parts, &draws);
        for (size_t i = 0; mirrored && i < entries * width; i++) values[i] = -values[i];
        dtype_from_double((unsigned char *)tensor->data + first * dtype_info(tensor->dtype)->bytes,
                          tensor->dtype, values, entries);
    }
    generation_note(generation, "%s: %s matrices, diagonally dominant%s", input->path,
                    rule->flags & MATRIX_POSITIVE ? "positive definite" : "well-conditioned",
                    widened ? "; the recorded range has no regular ones, so [0, hi] was used"
                            : " within the recorded range");
    return status_ok();
}

/* Negative powers invert. */
struct status rule_matrix_power(struct generation *generation, const struct rule *rule)
{
    return generation_integer(generation, "n", 1) < 0 ? rule_matrix(generation, rule) : status_ok();
}

/* Pivots of an LU factorisation of order n: entry i, counted from 0, is in [i + 1, n]. With
 * MATRIX_POSITIVE those of an LDL factorisation without exchanges: i + 1. The packed
 * factors `source` become well-conditioned when they were generated. */
struct status rule_pivots(struct generation *generation, const struct rule *rule)
{
    struct input *input = rule_subject(generation, rule->subject);
    const struct tensor *matrix = generation_tensor(generation, rule->source);
    int64_t *values;

    if (!input || !matrix || matrix->rank < 2) return status_ok();
    const struct tensor *tensor = input->value->tensor.tensor;
    if (dtype_info(tensor->dtype)->kind != KIND_INTEGER || tensor->rank < 1) return status_ok();
    size_t n = tensor_elements(tensor), order = (size_t)tensor->shape[tensor->rank - 1];
    int64_t rows = matrix->shape[matrix->rank - 2];
    if (rows < (int64_t)order) return status_ok();
    struct philox draws = philox_open(input->key, STREAM_RULE);
    TRY(generation_integers(&values, generation, n));
    for (size_t i = 0; i < n; i++) {
        int64_t own = (int64_t)(i % order);
        values[i] = own + 1;
        if (!(rule->flags & MATRIX_POSITIVE))
            values[i] += (int64_t)philox_below(&draws, (uint64_t)(rows - own));
    }
    generation_set_integers(input, values);
    generation_note(generation, "%s: pivots of a factorisation of order %lld", input->path,
                    (long long)rows);
    const struct rule factors = { rule_matrix, rule->source, NULL, 0, 0, 0 };
    return rule_matrix(generation, &factors);
}
