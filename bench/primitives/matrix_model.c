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
static double lower_at(const struct lu_factors *m, size_t n, size_t i, size_t k)
{
    if (k > i) return 0;
    return k == i && m->pivot ? 1 : m->factors[i * n + k];
}

static double upper_at(const struct lu_factors *m, size_t n, size_t k, size_t j)
{
    if (k > j) return 0;
    return m->pivot ? m->factors[k * n + j] : m->factors[j * n + k];
}

/* E_ij of one elimination at worst: n roundings of partial sums below (|L||U|)_ij that grow to it. */
static double worst_backward_error(const struct lu_factors *m, size_t n, size_t i, size_t j)
{
    double size = 0;
    for (size_t k = 0; k <= i && k <= j; k++)
        size += fabs(lower_at(m, n, i, k)) * fabs(upper_at(m, n, k, j));
    return (double)(n + 1) * size;
}

/* Its square in the mean: products and partial sums are rounded, which is a third of the square of each. The sums are what
 * elimination leaves of a_ij, or, by columns, what is taken from it; those that are larger count. */
static double typical_backward_error(const struct lu_factors *m, size_t n, size_t i, size_t j)
{
    double products = 0, taken = 0, left = 0, sum = 0;
    size_t last = i < j ? i : j;
    for (size_t k = 0; k <= last; k++) {
        double product = lower_at(m, n, i, k) * upper_at(m, n, k, j);
        products += product * product;
        sum += product;
        taken += sum * sum;
    }
    sum = 0;
    for (size_t k = last + 1; k-- > 0;) {
        sum += lower_at(m, n, i, k) * upper_at(m, n, k, j);
        left += sum * sum;
    }
    return (products + fmax(taken, left)) / 3;
}

/* E of one elimination as `measure` has it. */
static void error_of_elimination(double *out, const struct tape *tape, const struct lu_factors *m,
                                 size_t n)
{
    double unit = tape->unit;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[i * n + j] = tape_is_typical(tape)
                                 ? typical_backward_error(m, n, i, j) * unit * unit
                                 : worst_backward_error(m, n, i, j) * unit;
    for (size_t k = n; m->pivot && k-- > 0;) exchange_rows(out, n, k, m->pivot[k]);
}

/* E as `measure` has it, with the errors of A itself, of an elimination and `solves` with its factors, each of which makes as much.
 * `scratch` has room for a matrix. */
static void backward_error(double *out, const struct tape *tape, const struct factored *m,
                           int solves, double *scratch)
{
    size_t n = m->n;
    error_of_elimination(out, tape, &m->own, n);
    if (m->turned.factors) {
        error_of_elimination(scratch, tape, &m->turned, n);
        for (size_t i = 0; i < n * n; i++) out[i] = fmax(out[i], scratch[i % n * n + i / n]);
    }
    for (size_t i = 0; i < n * n; i++)
        out[i] = (1 + solves) * out[i] + measure(tape, node_error(m->a, m->first + i));
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
    backward_error(e, tape, m, 2, product);
    for (size_t i = 0; i < size; i++) x[i] = measure(tape, m->inverse[i]);
    multiply(product, x, e, m->n);
    multiply(error, product, x, m->n);
    for (size_t i = 0; i < size; i++) error[i] = measured(tape, error[i]);
    if (may_be_singular(tape, product, m->n)) forget(error, size);
}

void matrix_model_solution(struct tape *tape, double *error, const struct factored *m,
                           const struct solved *solved)
{
    size_t n = m->n, columns = solved->columns;
    double *e = room_for(tape, m, 2), *w = tape_allocate(tape, n * columns, sizeof *w);
    if (!e || tape_failed(tape)) return;
    backward_error(e, tape, m, 2, e + n * n);
    memset(w, 0, n * columns * sizeof *w);
    memset(error, 0, n * columns * sizeof *error);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < columns; j++)
                w[i * columns + j] += e[solved->turned ? k * n + i : i * n + k] *
                                      measure(tape, solved->x[k * columns + j]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < columns; j++)
                error[i * columns + j] +=
                    measure(tape, m->inverse[solved->turned ? k * n + i : i * n + k]) *
                    w[k * columns + j];
    for (size_t i = 0; i < n * columns; i++) error[i] = measured(tape, error[i]);
}

/* prod (|a_i| + |e_i|) - prod |a_i|, term by term: no difference of the two products. */
static double hadamard_error(const struct tape *tape, const struct factored *m, const double *e)
{
    double product = 1, error = 0;
    for (size_t i = 0; i < m->n; i++) {
        double row = 0, own = 0;
        for (size_t j = 0; j < m->n; j++) {
            double a = m->a->value[m->first + i * m->n + j], off = measured(tape, e[i * m->n + j]);
            row += a * a;
            own += off * off;
        }
        error = error * (sqrt(row) + sqrt(own)) + product * sqrt(own);
        product *= sqrt(row);
    }
    return error;
}

double matrix_model_determinant(struct tape *tape, const struct factored *m, double size)
{
    size_t n = m->n;
    double *e = room_for(tape, m, 3), sum = 0;
    if (!e) return 0;
    double *x = e + n * n, *product = e + 2 * n * n;
    backward_error(e, tape, m, 0, product);
    for (size_t i = 0; i < n * n; i++) x[i] = measure(tape, m->inverse[i]);
    multiply(product, x, e, n);
    if (may_be_singular(tape, product, n)) return hadamard_error(tape, m, e);
    for (size_t i = 0; i < n; i++) sum += product[i * n + i];
    double of_diagonal = (double)n * tape->unit;
    return size * tape_join(tape, measured(tape, sum),
                            tape_is_typical(tape) ? sqrt(of_diagonal * tape->unit) : of_diagonal);
}

/* ---- Cholesky factors ----------------------------------------------------------------------------- */

/* phi(L^-1 E L^-T) as `measure` has it, into `out`; false where A + E may be nearly singular. `room` is for three matrices. */
static bool turn_of_cholesky(double *out, struct tape *tape, const struct factored *m, double *room)
{
    size_t n = m->n, size = n * n;
    double *x = room, *turned = room + size, *product = room + 2 * size;
    backward_error(out, tape, m, 2, product); /* square roots and quotients of fast hardware */
    for (size_t i = 0; i < size; i++) {
        x[i] = measure(tape, m->inverse[i]);
        turned[i] = measure(tape, m->inverse[i % n * n + i / n]);
    }
    multiply(product, x, out, n);
    multiply(out, product, turned, n);
    bool regular = !may_be_singular(tape, out, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            out[i * n + j] = i == j ? out[i * n + j] * measure(tape, 0.5) : 0;
    return regular;
}

/* Element (i, j) of the factor from the columns before: how far off what is left of a_ij is. */
static double error_of_rest(const struct tape *tape, const struct factored *m, const double *error,
                            size_t i, size_t j)
{
    const double *l = m->own.factors;
    size_t n = m->n;
    double own = tape_is_typical(tape) ? sqrt(typical_backward_error(&m->own, n, i, j))
                                       : worst_backward_error(&m->own, n, i, j);
    double sum = measure(tape, 2 * own * tape->unit) +
                 measure(tape, node_error(m->a, m->first + i * n + j));
    for (size_t k = 0; k < j; k++) {
        double a = fabs(l[i * n + k]) * error[j * n + k], b = fabs(l[j * n + k]) * error[i * n + k];
        double both = error[i * n + k] * error[j * n + k];
        sum += i == j ? measure(tape, a + b + both)
                      : measure(tape, a) + measure(tape, b) + measure(tape, both);
    }
    return measured(tape, sum);
}

/* Column by column (Higham, section 3.3). Where a pivot may be 0, or less, the columns from there on are known by one thing alone: the
 * squares of a row of a factor that was found sum to a diagonal element of A + E. */
static void walk_cholesky(struct tape *tape, double *error, const struct factored *m)
{
    const double *l = m->own.factors;
    size_t n = m->n;
    bool known = true;
    for (size_t j = 0; j < n; j++) {
        double pivot = l[j * n + j], left = error_of_rest(tape, m, error, j, j);
        known = known && left * (tape_is_typical(tape) ? 4 : 1) < 0.5 * pivot * pivot;
        for (size_t i = 0; i < n; i++) {
            double *e = &error[i * n + j], value = fabs(l[i * n + j]);
            if (i < j) *e = 0;
            else if (!known) *e = value + 1.01 * sqrt(fabs(m->a->value[m->first + i * n + i]));
            else if (i == j) *e = left / (1.7 * pivot) + 2 * tape->unit * value;
            else
                *e =
                    tape_join(tape, error_of_rest(tape, m, error, i, j), value * error[j * n + j]) /
                        (pivot - error[j * n + j]) +
                    2 * tape->unit * value;
        }
    }
}

void matrix_model_cholesky(struct tape *tape, double *error, const struct factored *m)
{
    size_t n = m->n, size = n * n;
    double *e = room_for(tape, m, 4);
    if (!e) return;
    double *x = e + size;
    if (!turn_of_cholesky(e, tape, m, x)) {
        walk_cholesky(tape, error, m);
        return;
    }
    for (size_t i = 0; i < size; i++) x[i] = measure(tape, m->own.factors[i]);
    multiply(error, x, e, n);
    for (size_t i = 0; i < size; i++) error[i] = i % n > i / n ? 0 : measured(tape, error[i]);
}

/* out += a b */
static void add_product(double *out, const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* out = a^T of measures, each times `factor`. */
static void transpose(double *out, const double *a, size_t n, double factor)
{
    for (size_t i = 0; i < n * n; i++) out[i] = factor * a[i % n * n + i / n];
}

/* M^T Phi + Phi M + phi(M^T tril(L^T G)) into `out`, with `turn` M; room for one matrix. */
static void turn_of_slope(double *out, struct tape *tape, const double *turn, const double *slope,
                          size_t n, double *room)
{
    multiply(out, slope, turn, n); /* Phi M */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0; /* of M^T and the lower triangle, whose diagonal Phi has the half of */
            for (size_t k = i; k < n; k++)
                sum += turn[k * n + i] * slope[k * n + j] * (k == j ? measure(tape, 2) : 1);
            out[i * n + j] += sum * (i == j ? measure(tape, 0.5) : 1);
        }
    transpose(room, turn, n, 1);
    add_product(out, room, slope, n);
}

void matrix_model_cholesky_gradient(struct tape *tape, double *error, const struct factored *m,
                                    const double *slope, const double *gradient)
{
    size_t n = m->n, size = n * n;
    double *turn = room_for(tape, m, 6);
    if (!turn) return;
    double *phi = turn + size, *x = turn + 2 * size, *upper = turn + 3 * size, *a = turn + 4 * size,
           *b = turn + 5 * size;
    if (!turn_of_cholesky(turn, tape, m, x)) {
        forget(error, size);
        return;
    }
    for (size_t i = 0; i < size; i++) phi[i] = measure(tape, slope[i]);
    turn_of_slope(a, tape, turn, phi, n, b);
    for (size_t i = 0; i < size; i++) x[i] = measure(tape, m->inverse[i]);
    transpose(upper, x, n, 1);
    multiply(b, upper, a, n);
    multiply(error, b, x, n);
    /* Each of two solves is that of a triangle L + D: X^T D^T S and S D X. */
    double roundings = ((double)n + 1) / (tape_is_typical(tape) ? 3 : 1) *
                       measure(tape, tape->unit);
    double *l = turn, *s = phi;
    for (size_t i = 0; i < size; i++) {
        l[i] = roundings * measure(tape, m->own.factors[i]);
        s[i] = measure(tape, gradient[i]);
    }
    multiply(a, s, l, n);
    add_product(error, a, x, n);
    transpose(b, l, n, 1);
    multiply(a, b, s, n);
    add_product(error, upper, a, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double both = measured(tape, (error[i * n + j] + error[j * n + i]) / 2);
            error[i * n + j] = error[j * n + i] = both;
        }
}

/* ---- factors ---------------------------------------------------------------------------------- */

/* A walk through the elimination of a matrix of order n: what is left of it, packed with the factors, and the errors of that. */
struct walk {
    double *x, *error;
    size_t n;
    double unit, tiny;
    bool typical;
};

static double joined(const struct walk *w, double a, double b)
{
    double squares = a * a + b * b;
    if (!w->typical) return a + b;
    return squares > 0x1p-1000 ? sqrt(squares) : hypot(a, b); /* smaller squares underflow */
}

/* Could errors make another element of column k the largest of those that are left? */
static bool pivot_is_open(const struct walk *w, size_t k, size_t best)
{
    size_t n = w->n;
    double times = w->typical ? 4 : 1, most = fabs(w->x[best * n + k]);
    for (size_t i = k; i < n; i++) {
        double errors = times * (w->error[i * n + k] + w->error[best * n + k]);
        if (i != best && errors > 0 && fabs(w->x[i * n + k]) + errors >= most) return true;
    }
    return !(most > 0);
}

/* Step k of the elimination. A kernel multiplies by the reciprocal of the pivot: two roundings. */
static void eliminate(const struct walk *w, size_t k)
{
    size_t n = w->n;
    const double *top = w->x + k * n, *top_error = w->error + k * n;
    for (size_t i = k + 1; i < n; i++) {
        double *row = w->x + i * n, *error = w->error + i * n;
        double l = row[k] / top[k], size = fabs(l);
        double of_l = joined(w, error[k], size * top_error[k]) / fabs(top[k]);
        error[k] = of_l = joined(w, of_l, 2 * w->unit * size + w->tiny);
        row[k] = l;
        for (size_t j = k + 1; j < n; j++) {
            double term = l * top[j];
            row[j] -= term;
            double own = w->unit * (fabs(term) + fabs(row[j])) + w->tiny;
            double passed = joined(w, size * top_error[j], fabs(top[j]) * of_l);
            error[j] = joined(w, joined(w, error[j], passed), own);
        }
    }
}

/* Eliminate in w->x until a pivot is open: its step, or n. */
static size_t steps_that_hold(const struct walk *w, const size_t *pivot)
{
    for (size_t k = 0; k < w->n; k++) {
        bool open = pivot_is_open(w, k, pivot[k]);
        exchange_rows(w->x, w->n, pivot[k], k);
        exchange_rows(w->error, w->n, pivot[k], k);
        if (open) return k;
        eliminate(w, k);
    }
    return w->n;
}

void matrix_model_lu(struct tape *tape, double *error, const struct node *a, size_t first, size_t n,
                     const size_t *pivot)
{
    struct walk w = { tape_allocate(tape, n * n, sizeof *w.x),
                      error,
                      n,
                      tape->unit,
                      tape->tiny,
                      tape_is_typical(tape) };
    if (!w.x) return;
    for (size_t i = 0; i < n * n; i++) {
        w.x[i] = a->value[first + i];
        error[i] = node_error(a, first + i);
    }
    for (size_t i = steps_that_hold(&w, pivot) * n; i < n * n; i++) error[i] = INFINITY;
}
