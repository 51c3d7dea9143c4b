/* Magnitudes for the worst case, squares for the root mean square; both are then multiplied as matrices. */
#include "bench/primitives/matrix_model.h"

#include <math.h>
#include <string.h>

static double measure(const struct tape *tape, double x)
{
    return tape_is_typical(tape) ? x * x : fabs(x);
}

static double measured(const struct tape *tape, double x)
{
    return tape_is_typical(tape) ? sqrt(x) : x;
}

static void multiply(double *out, const double *a, const double *b, size_t n)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
}

static void exchange_rows(double *x, size_t n, size_t i, size_t k)
{
    for (size_t j = 0; j < n && i != k; j++) {
        double t = x[i * n + j];
        x[i * n + j] = x[k * n + j];
        x[k * n + j] = t;
    }
}

/* Element (i, k) of a factor: L with ones on its diagonal and U, or a lower triangle and its transpose. */
static double lower_at(const struct factored *m, size_t i, size_t k)
{
    if (k > i) return 0;
    return k == i && m->pivot ? 1 : m->factors[i * m->n + k];
}

static double upper_at(const struct factored *m, size_t k, size_t j)
{
    if (k > j) return 0;
    return m->pivot ? m->factors[k * m->n + j] : m->factors[j * m->n + k];
}

/* E_ij at worst: n roundings of partial sums below (|L||U|)_ij that grow to it, twice more for the two solves. */
static double worst_backward_error(const struct factored *m, size_t i, size_t j)
{
    double size = 0;
    for (size_t k = 0; k <= i && k <= j; k++)
        size += fabs(lower_at(m, i, k)) * fabs(upper_at(m, k, j));
    return 3 * (double)(m->n + 1) * size;
}

/* Its square in the mean: products and partial sums are rounded, which is a third of the square of each. The sums are what
 * elimination leaves of a_ij, or, by columns, what is taken from it; those that are larger count. Twice more for the solves. */
static double typical_backward_error(const struct factored *m, size_t i, size_t j)
{
    double products = 0, taken = 0, left = 0, sum = 0;
    size_t last = i < j ? i : j;
    for (size_t k = 0; k <= last; k++) {
        double product = lower_at(m, i, k) * upper_at(m, k, j);
        products += product * product;
        sum += product;
        taken += sum * sum;
    }
    sum = 0;
    for (size_t k = last + 1; k-- > 0;) {
        sum += lower_at(m, i, k) * upper_at(m, k, j);
        left += sum * sum;
    }
    return products + fmax(taken, left);
}

/* E as `measure` has it. */
static void backward_error(double *out, const struct tape *tape, const struct factored *m)
{
    size_t n = m->n;
    double unit = tape->unit;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[i * n + j] = tape_is_typical(tape) ? typical_backward_error(m, i, j) * unit * unit
                                                   : worst_backward_error(m, i, j) * unit;
    for (size_t k = n; m->pivot && k-- > 0;) exchange_rows(out, n, k, m->pivot[k]);
    for (size_t i = 0; i < n * n; i++) out[i] += measure(tape, node_error(m->a, m->first + i));
}

/* Room for `count` matrices; NULL after a failure. */
static double *room_for(struct tape *tape, const struct factored *m, size_t count)
{
    double *room = tape_allocate(tape, count * m->n * m->n, sizeof *room);
    return tape_failed(tape) ? NULL : room;
}

/* With |X| |E| or its squares in `product`: may A + E be nearly singular? */
static bool may_be_singular(const struct tape *tape, const double *product, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += measured(tape, product[i * n + j]);
        if (!(sum < 0.5)) return true;
    }
    return false;
}

static void forget(double *error, size_t count)
{
    for (size_t i = 0; i < count; i++) error[i] = INFINITY;
}

void matrix_model_inverse(struct tape *tape, double *error, const struct factored *m)
{
    size_t size = m->n * m->n;
    double *e = room_for(tape, m, 3);
    if (!e) return;
    double *x = e + size, *product = e + 2 * size;
    backward_error(e, tape, m);
    for (size_t i = 0; i < size; i++) x[i] = measure(tape, m->inverse[i]);
    multiply(product, x, e, m->n);
    multiply(error, product, x, m->n);
    for (size_t i = 0; i < size; i++) error[i] = measured(tape, error[i]);
    if (may_be_singular(tape, product, m->n)) forget(error, size);
}

double matrix_model_determinant(struct tape *tape, const struct factored *m)
{
    size_t n = m->n;
    double *e = room_for(tape, m, 1), sum = 0;
    if (!e) return 0;
    backward_error(e, tape, m);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) sum += measure(tape, m->inverse[j * n + i]) * e[i * n + j];
    double product = (double)n * tape->unit; /* of the diagonal */
    return tape_join(tape, measured(tape, sum),
                     tape_is_typical(tape) ? sqrt(product * tape->unit) : product);
}

void matrix_model_cholesky(struct tape *tape, double *error, const struct factored *m)
{
    size_t n = m->n, size = n * n;
    double *e = room_for(tape, m, 4);
    if (!e) return;
    double *x = e + size, *turned = e + 2 * size, *product = e + 3 * size;
    backward_error(e, tape, m);
    for (size_t i = 0; i < size; i++) {
        x[i] = measure(tape, m->inverse[i]);
        turned[i] = measure(tape, m->inverse[i % n * n + i / n]);
    }
    multiply(product, x, e, n);
    multiply(e, product, turned, n);
    bool singular = may_be_singular(tape, e, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            e[i * n + j] = i == j ? e[i * n + j] * measure(tape, 0.5) : 0;
    for (size_t i = 0; i < size; i++) x[i] = measure(tape, m->factors[i]);
    multiply(error, x, e, n);
    for (size_t i = 0; i < size; i++) error[i] = i % n > i / n ? 0 : measured(tape, error[i]);
    if (singular) forget(error, size);
}

/* ---- factors ---------------------------------------------------------------------------------- */

/* Could errors make another element of column k the largest of those that are left? */
static bool pivot_is_open(const struct tape *tape, const double *x, const double *e, size_t n,
                          size_t k, size_t best)
{
    double times = tape_is_typical(tape) ? 4 : 1, most = fabs(x[best * n + k]);
    for (size_t i = k; i < n; i++) {
        double errors = times * (e[i * n + k] + e[best * n + k]);
        if (i != best && errors > 0 && fabs(x[i * n + k]) + errors >= most) return true;
    }
    return !(most > 0);
}

/* Step k of the elimination. A kernel multiplies by the reciprocal of the pivot: two roundings. */
static void eliminate(const struct tape *tape, double *x, double *e, size_t n, size_t k)
{
    const double *top = x + k * n, *top_error = e + k * n;
    for (size_t i = k + 1; i < n; i++) {
        double *row = x + i * n, *error = e + i * n;
        double l = row[k] / top[k], size = fabs(l);
        double of_l = tape_join(tape, error[k], size * top_error[k]) / fabs(top[k]);
        error[k] = of_l = tape_join(tape, of_l, 2 * tape->unit * size);
        row[k] = l;
        for (size_t j = k + 1; j < n; j++) {
            double term = l * top[j];
            row[j] -= term;
            double own = tape->unit * (fabs(term) + fabs(row[j]));
            double passed = tape_join(tape, size * top_error[j], fabs(top[j]) * of_l);
            error[j] = tape_join(tape, tape_join(tape, error[j], passed), own);
        }
    }
}

void matrix_model_lu(struct tape *tape, double *error, const struct node *a, size_t first, size_t n,
                     const size_t *pivot)
{
    double *x = tape_allocate(tape, n * n, sizeof *x);
    if (!x) return;
    for (size_t i = 0; i < n * n; i++) {
        x[i] = a->value[first + i];
        error[i] = node_error(a, first + i);
    }
    for (size_t k = 0; k < n; k++) {
        bool open = pivot_is_open(tape, x, error, n, k, pivot[k]);
        exchange_rows(x, n, pivot[k], k);
        exchange_rows(error, n, pivot[k], k);
        if (open) {
            for (size_t i = k * n; i < n * n; i++) error[i] = INFINITY;
            return;
        }
        eliminate(tape, x, error, n, k);
    }
}
