/* Groups of close values, and constants of backward errors. */
#include "bench/primitives/vector_groups.h"

#include <math.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"

struct status group_matrix_measure(struct group_matrix *out, const struct node *a, size_t first,
                                   size_t count, const char *what)
{
    double squares = 0, input = 0;
    for (size_t i = first; i < first + count; i++) {
        double error = node_error(a, i);
        squares += a->value[i] * a->value[i];
        input += error * error;
        if (!isfinite(a->value[i]))
            return status_error(STATUS_SKIP, "%s of a matrix that is not finite", what);
    }
    out->frobenius = sqrt(squares) * 1.01 + 0x1p-500;
    out->input = sqrt(input) * 1.01;
    return status_ok();
}

double group_distance(const struct tape *tape, enum dtype dtype, size_t n, double norm)
{
    bool wide = dtype == DT_F64 || (dtype == DT_NONE && tape->wide);
    double unit = wide ? 0x1p-53 : 0x1p-24;
    return 16 * sqrt((double)n) * unit * norm;
}

size_t group_end(const double *values, size_t n, size_t start, double distance, bool in_twos)
{
    size_t end = start + 1;
    while (end < n &&
           ((in_twos && (end - start) % 2) || fabs(values[end] - values[end - 1]) <= distance))
        end++;
    return end;
}

struct node *group_twins(struct tape *tape, int64_t n)
{
    struct node *mask = node_new_integer(tape, DT_BOOL, 3, (int64_t[]){ 1, n, n });
    for (int64_t i = 0; !tape_failed(tape) && i < n * n; i++)
        mask->integer[i] = i / n != i % n && i / n / 2 == i % n / 2;
    return mask;
}

double group_backward_error(const struct tape *tape, size_t n, double frobenius, double largest)
{
    double unit = tape->wide ? 2 * tape->unit : tape->unit;
    /* The vectors of a matrix turn together, so that the largest of their errors is larger beside the typical one than
     * that of as many independent ones: 5 where the errors of LAPACK themselves ask for 4. */
    if (tape_is_typical(tape)) return unit * (5 * frobenius / sqrt((double)n) + 2 * largest);
    return unit * 8 * (double)n * frobenius;
}

double group_turn(const struct tape *tape, double e, double gap)
{
    gap -= e * (tape_is_typical(tape) ? 3 : 2);
    return gap > e ? e / gap : 1;
}

/* xBDSQR drops an element of the bidiagonal matrix up to `tol` times the one on the diagonal beside it, with tol = u max(10, min(100, u^(-1/8))): 98.7 u
 * in double, in float 10 u, which is less than the backward error has. As the iteration converges cubically what it drops is
 * mostly far smaller: a quarter of it is taken for typical. The reference in double drops as much. */
double group_dropped(const struct tape *tape)
{
    if (!tape->wide) return 0;
    return 98.7 * tape->unit * (tape_is_typical(tape) ? sqrt(2) / 4 : 2);
}

void group_model_second_order(const struct tape *tape, double *error, size_t n, double turned,
                              const double *z, size_t count)
{
    for (size_t i = 0; i < n; i++) {
        double own = 0;
        for (size_t k = 0; k < count; k++) own += z[k * n + i] * z[k * n + i];
        error[i] = tape_join(tape, sqrt(error[i]), fmin(turned, 1) * sqrt(own));
    }
}

double group_forward_error(const struct tape *tape, size_t n, size_t count, double x)
{
    double turned = tape->wide ? (double)count : 1;
    double size = fabs(x) + sqrt(turned / (double)n);
    return tape->unit * size * (tape_is_typical(tape) ? 2 : 4 * (double)n);
}

/* ---- gradients that depend on the basis ---------------------------------------------------------------- */

/* One matrix: its values and cotangents (k), and the group from `start` to `end`. */
struct group {
    const double *values, *cotangents;
    size_t start, end,
        step;  /* step: 2 of an embedded matrix, whose cotangents are those of every other value */
    bool null; /* values that are as good as 0 */
};

/* By how much another basis changes L diag(g) R^T, over the norms of the rows: ours and theirs are each at most d off the middle. */
static double change_by_basis(const struct group *group)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t c = group->start; c < group->end; c += group->step) {
        low = fmin(low, group->cotangents[c]);
        high = fmax(high, group->cotangents[c]);
    }
    return group->null ? 2 * fmax(fabs(low), fabs(high)) : high - low;
}

/* The norm of a row of vectors within the group; of those that are free, within all that is orthogonal to the others. */
static double row_in_group(const double *row, const struct group *group)
{
    double sum = 0;
    for (size_t c = group->null ? 0 : group->start; c < (group->null ? group->start : group->end);
         c++)
        sum += row[c] * row[c];
    return sqrt(group->null ? fmax(0, 1 - sum) : sum);
}

static void add_change(double *off, const struct group *group, const double *left, size_t m,
                       size_t left_columns, const double *right, size_t n, size_t right_columns)
{
    double change = change_by_basis(group) / (double)group->step;
    for (size_t i = 0; i < m && change > 0; i++) {
        double row = change * row_in_group(left + i * left_columns, group);
        for (size_t j = 0; j < n; j++)
            off[i * n + j] += row * row_in_group(right + j * right_columns, group);
    }
}

struct node *group_model_any_basis(struct tape *tape, struct node *gradient,
                                   const struct group_bases *bases)
{
    if (!tape_is_model(tape) || tape_failed(tape)) return gradient;
    struct node *l = bases->left, *r = bases->right;
    size_t k = (size_t)bases->values->shape[1], m = (size_t)l->shape[1], n = (size_t)r->shape[1];
    size_t in_left = (size_t)l->shape[2], in_right = (size_t)r->shape[2];
    struct node *off = node_constant(tape, DT_NONE, 0, 3, gradient->shape);
    const double *values = node_values(tape, bases->values),
                 *cotangents = node_values(tape, bases->cotangent), *left = node_values(tape, l),
                 *right = node_values(tape, r);
    for (size_t b = 0; !tape_failed(tape) && b < (size_t)l->shape[0]; b++) {
        double distance = bases->distance[b];
        struct group group = { .values = values + b * k,
                               .cotangents = cotangents + b * k,
                               .step = bases->embedded ? 2 : 1 };
        for (; group.start < k; group.start = group.end) {
            group.end = group_end(group.values, k, group.start, distance, bases->embedded);
            group.null = bases->singular && fabs(group.values[group.end - 1]) <= distance;
            add_change(off->value + b * m * n, &group, left + b * m * in_left, m, in_left,
                       right + b * n * in_right, n, in_right);
        }
    }
    return node_model_error(tape, gradient, off, 1 / tape->unit);
}
