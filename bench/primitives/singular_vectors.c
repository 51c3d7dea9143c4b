/* By LAPACK in double; the bounds are those of the residuals, as for eigenvectors (bench/primitives/eigenvectors.c).
 *
 * A with m >= n (a wide one is transposed), rows u_j, v_j, values s_j, residuals p_j = A v_j - s_j u_j, q_j = A^T u_j - s_j v_j.
 *   - For W_u, W_v the orthogonal factors of what was computed, A W_v differs from W_u S by at most ||P|| + (g_u + g_v) s_1
 *     over sqrt(1 - g_v), g the defects; so do the singular values (Weyl).
 *   - For an exact triple (e, x, y) of another group, x.p_j = e (y.v_j) - s_j (x.u_j) and y.q_j = e (x.u_j) - s_j (y.v_j).
 *     Sum and difference give |x.u_j|, |y.v_j| <= (|x.p_j| + |y.q_j|) / |e - s_j|. Where m > n there are left vectors of
 *     value 0 besides: the same with e = 0. A left vector that completes the basis has s_j = 0 and
 *     q_j = A^T u_j alone: |x.u_j| <= |y.q_j| / e. */
#include "bench/primitives/singular_vectors.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/lapack.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/eigenpair_balls.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/nearest_basis.h"
#include "bench/primitives/vector_groups.h"
#include "bench/primitives/view.h"
#include "bench/tape/enclosure.h"

struct singular {
    struct node *values, *u, *v;
    double *distance; /* within a group, for each matrix */
    bool embedded;    /* a complex matrix: values and vectors in twos */
    bool hidden;      /* vectors that are not returned */
};

/* One matrix being decomposed, m >= n. Rows of u, v and of the settled zu, zv are vectors. */
struct decomposition {
    struct tape *tape;
    size_t m, n, left;  /* left vectors wanted: n, or m */
    size_t known, null; /* left vectors computed; where the values that are as good as 0 begin */
    enum dtype dtype;
    bool embedded;
    double *values, *u, *v, *zu, *zv;
    double *residual; /* for left vector j: ||p_j|| + ||q_j||, or ||q_j|| */
    double *error_u, *error_v, *aimed, *basis, *scratch;
    struct group_matrix matrix;
    double weyl, distance;
};

/* ---- gradients: U and V of k columns ------------------------------------------------------------- */

/* U diag(g) V^T */
static void values_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct singular *s = node->parameters;
    int64_t k = node->shape[1], lone[3] = { node->shape[0], 1, k };
    struct node *u = node_slice(tape, s->u, 2, 0, k, 1);
    struct node *scaled = node_multiply(tape, u, node_reshape(tape, cotangent, 3, lone));
    struct node *flow = node_matmul(tape, scaled, false, s->v, true);
    const struct group_bases bases = {
        node, cotangent, s->u, s->v, s->distance, s->embedded, true
    };
    tape_accumulate(tape, node->inputs[0],
                    s->hidden ? group_model_any_basis(tape, flow, &bases) : flow);
}

/* X^T G - (X^T G)^T over s_j^2 - s_i^2, nothing on the diagonal. Between u and iu of an embedded matrix: U and V turn against each
 * other by P / s, P what U^T dA V has there; half of it is taken from each, for their common turn is a phase. `side` is 1 for
 * U and -1 for V. */
static struct node *rotation(struct tape *tape, struct node *x, struct node *cotangent,
                             const struct singular *s, double side)
{
    struct node *values = s->values;
    int64_t k = values->shape[1], batch = values->shape[0];
    int64_t lone[3] = { batch, 1, k }, column[3] = { batch, k, 1 };
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, k, k });
    for (int64_t i = 0; i < k && !tape_failed(tape); i++) eye->value[i * k + i] = 1;
    struct node *row = node_reshape(tape, values, 3, lone),
                *down = node_reshape(tape, values, 3, column);
    struct node *gaps =
        node_multiply(tape, node_subtract(tape, row, down), node_add(tape, row, down));
    if (s->embedded)
        gaps = node_select(tape, group_twins(tape, k),
                           node_scale(tape, node_multiply(tape, row, row), 4 * side), gaps);
    struct node *product = node_matmul(tape, x, true, cotangent, false);
    struct node *skew = node_subtract(tape, product, node_transpose(tape, product, 1, 2));
    return node_divide(tape, skew, node_add(tape, gaps, eye));
}

/* What leaves the span of x's columns: (I - X X^T) G diag(1 / s); NULL for square x. */
static struct node *outside(struct tape *tape, struct node *x, struct node *cotangent,
                            struct node *values)
{
    if (x->shape[1] <= x->shape[2]) return NULL;
    int64_t lone[3] = { values->shape[0], 1, values->shape[1] };
    struct node *inside =
        node_matmul(tape, x, false, node_matmul(tape, x, true, cotangent, false), false);
    return node_divide(tape, node_subtract(tape, cotangent, inside),
                       node_reshape(tape, values, 3, lone));
}

/* The vectors that belong to a value: those that complete a basis have no gradient, and PyTorch ignores their cotangents. */
static struct node *of_values(struct tape *tape, struct node *x, const struct singular *s)
{
    return node_slice(tape, x, 2, 0, s->values->shape[1], 1);
}

/* (U ((U^T G - G^T U) / E) S + (I - U U^T) G S^-1) V^T */
static void left_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct singular *s = node->parameters;
    int64_t lone[3] = { node->shape[0], 1, s->values->shape[1] };
    struct node *u = of_values(tape, node, s);
    cotangent = of_values(tape, cotangent, s);
    struct node *inner = node_multiply(tape, rotation(tape, u, cotangent, s, 1),
                                       node_reshape(tape, s->values, 3, lone));
    struct node *sum = node_matmul(tape, u, false, inner, false);
    struct node *rest = outside(tape, u, cotangent, s->values);
    if (rest) sum = node_add(tape, sum, rest);
    tape_accumulate(tape, node->inputs[0], node_matmul(tape, sum, false, s->v, true));
}

/* U (S ((V^T G - G^T V) / E) V^T); V is square. */
static void right_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct singular *s = node->parameters;
    int64_t column[3] = { node->shape[0], node->shape[2], 1 };
    struct node *inner = node_multiply(tape, rotation(tape, node, cotangent, s, -1),
                                       node_reshape(tape, s->values, 3, column));
    struct node *left = node_matmul(tape, of_values(tape, s->u, s), false, inner, false);
    tape_accumulate(tape, node->inputs[0], node_matmul(tape, left, false, node, true));
}

/* Is value j of the matrix a group by itself, and not as good as 0? */
static bool singular_is_alone(const struct singular *s, size_t batch, size_t j)
{
    size_t n = (size_t)s->values->shape[1];
    const double *values = s->values->value + batch * n;
    double distance = s->distance[batch];
    return j < n && values[j] > distance && (!j || values[j - 1] - values[j] > distance) &&
           (j + 1 == n || values[j] - values[j + 1] > distance);
}

/* [0 A; A^T 0], whose eigenvalues are the singular values and their negatives: the vectors [u; +-v] (Jordan, Wielandt). */
static void enclose_both(struct enclosure *enclosure, arb_mat_t out, struct node *a, size_t batch)
{
    size_t m = (size_t)a->shape[1], n = (size_t)a->shape[2];
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            arb_ptr right = arb_mat_entry(out, (slong)i, (slong)(m + j));
            enclosure_element(enclosure, right, a, (batch * m + i) * n + j);
            arb_set(arb_mat_entry(out, (slong)(m + j), (slong)i), right);
        }
}

/* Hand out element i of `node` and remember the others of value j: ends in `both` times sqrt(2). */
static void keep_triple(struct enclosure *enclosure, arb_ptr ball, struct node *node, size_t i,
                        size_t batch, size_t j, const arb_t value, arb_ptr both)
{
    const struct singular *s = node->parameters;
    size_t m = (size_t)s->u->shape[1], n = (size_t)s->v->shape[1], left = (size_t)s->u->shape[2];
    arb_t root;
    arb_init(root);
    arb_sqrt_ui(root, 2, enclosure->precision);
    for (size_t k = 0; k < m + n + 1; k++) {
        struct node *owner = k < m ? s->u : k < m + n ? s->v : s->values;
        size_t at = k < m       ? (batch * m + k) * left + j
                    : k < m + n ? (batch * n + k - m) * n + j
                                : batch * n + j;
        if (k < m + n) arb_mul(both + k, both + k, root, enclosure->precision);
        if (owner == node && at == i) arb_set(ball, k < m + n ? both + k : value);
        else enclosure_remember(enclosure, owner, at, k < m + n ? both + k : value);
    }
    arb_clear(root);
}

static void triple_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct singular *s = node->parameters;
    size_t m = (size_t)s->u->shape[1], n = (size_t)s->v->shape[1], left = (size_t)s->u->shape[2];
    size_t columns = node == s->u ? left : n, order = m + n, j = i % columns;
    size_t batch = i / (node == s->values ? n : node == s->u ? m * left : n * n);
    enclosure->work += order * order * order;
    arb_indeterminate(ball); /* otherwise the bounds of the residuals stay */
    if (enclosure->work > enclosure->limit || !singular_is_alone(s, batch, j)) return;
    struct eigenpair pair;
    eigenpair_init(&pair, order);
    enclose_both(enclosure, pair.matrix, node->inputs[0], batch);
    arb_set_d(pair.value, s->values->value[batch * n + j]);
    for (size_t k = 0; k < order; k++)
        arb_set_d(pair.vector + k, k < m ? s->u->value[(batch * m + k) * left + j]
                                         : s->v->value[(batch * n + k - m) * n + j]);
    if (eigenpair_enclose(&pair, enclosure->precision))
        keep_triple(enclosure, ball, node, i, batch, j, pair.value, pair.vector);
    eigenpair_clear(&pair);
}

static const struct primitive values_primitive = { "singular values", values_backward,
                                                   triple_enclose, NULL };
static const struct primitive left_primitive = { "left singular vectors", left_backward,
                                                 triple_enclose, NULL };
static const struct primitive right_primitive = { "right singular vectors", right_backward,
                                                  triple_enclose, NULL };

/* ---- one matrix ---------------------------------------------------------------------------------------- */

static double row_norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return 1.01 * sqrt(sum);
}

/* Residuals of all left vectors, and Weyl's bound. scratch: m * m or m * n, whichever is larger. */
static void bound_values(struct decomposition *d, const double *a)
{
    size_t m = d->m, n = d->n;
    double gamma = gamma_of((double)(m + n) + 4), total = 0, largest = d->values[0];
    double slack = gamma * (d->matrix.frobenius + largest) * 1.01 + d->matrix.input;
    double defect = basis_defect(d->u, n, m, d->scratch);
    double right = basis_defect(d->v, n, n, d->scratch);
    gemm_double(d->scratch, &(struct gemm){ .transpose_b = true, .m = n, .n = m, .k = n }, d->v, a);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++) d->scratch[j * m + i] -= d->values[j] * d->u[j * m + i];
        d->residual[j] = row_norm(d->scratch + j * m, m) + slack;
        total += d->residual[j] * d->residual[j];
    }
    gemm_double(d->scratch, &(struct gemm){ .m = d->known, .n = n, .k = m }, d->u, a);
    for (size_t j = 0; j < d->known; j++) {
        for (size_t i = 0; i < n && j < n; i++)
            d->scratch[j * n + i] -= d->values[j] * d->v[j * n + i];
        double q = row_norm(d->scratch + j * n, n) + slack;
        d->residual[j] = j < n ? d->residual[j] + q : q;
    }
    d->weyl = right < 0.5 ? 1.01 * (sqrt(total) + (defect + right) * largest) / sqrt(1 - right)
                          : INFINITY;
}

/* The least distance of value j's group, start .. end, to what is outside of it. Values of 0 that A has no right
 * vectors for are outside unless the group ends in them. */
static double gap_of(const struct decomposition *d, size_t j, size_t start, size_t end)
{
    double gap = INFINITY, own = j < d->n ? d->values[j] : 0;
    if (start) gap = fmin(gap, d->values[start - 1] - own);
    if (end < d->n) gap = fmin(gap, own - d->values[end]);
    if (end <= d->n && d->m > d->n) gap = fmin(gap, own);
    return gap;
}

static double turn_of(const struct decomposition *d, size_t start, size_t end, size_t last)
{
    double sum = 0;
    for (size_t j = start; j < end; j++) {
        double gap = gap_of(d, j, start, last) - d->weyl;
        double turn = gap > 0 ? d->residual[j] / gap : INFINITY;
        sum += turn * turn;
    }
    return 1.01 * sqrt(sum);
}

/* Columns start .. start + count of aim (rows, columns) as rows; those of `own` without an aim. */
static void take_columns(double *out, size_t stride, const double *aim, size_t rows, size_t columns,
                         size_t start, size_t count, const double *own)
{
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < rows; i++)
            out[j * stride + i] = aim ? aim[i * columns + start + j] : own[(start + j) * rows + i];
}

/* A group of values that are not 0: left and right vectors as one of length m + n, over sqrt(2). */
static struct status settle_pairs(struct decomposition *d, size_t start, size_t end,
                                  const double *aim_u, const double *aim_v)
{
    size_t m = d->m, n = d->n, both = m + n, count = end - start;
    double error;
    bool near;
    for (int k = 0; k < 2; k++) {
        double *out = k ? d->aimed : d->basis;
        take_columns(out, both, k ? aim_u : NULL, m, d->left, start, count, d->u);
        take_columns(out + m, both, k ? aim_v : NULL, n, n, start, count, d->v);
        for (size_t i = 0; i < count * both; i++) out[i] *= sqrt(0.5);
    }
    const struct basis_aim basis = { d->basis,   (aim_u && aim_v) || !d->embedded ? d->aimed : NULL,
                                     both,       count,
                                     count,      turn_of(d, start, end, end),
                                     d->embedded };
    TRY(nearest_basis(d->scratch, &error, &near, &basis, d->tape->arena));
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < m; i++)
            d->zu[(start + j) * m + i] = sqrt(2) * d->scratch[j * both + i];
        for (size_t i = 0; i < n; i++)
            d->zv[(start + j) * n + i] = sqrt(2) * d->scratch[j * both + m + i];
        d->error_u[start + j] = d->error_v[start + j] = 1.5 * error + 0x1p-50;
    }
    return status_ok();
}

/* One side of the values that are as good as 0: of the subspace that is known, as many vectors as are wanted. */
static struct status settle_null(struct decomposition *d, bool right, const double *aim)
{
    size_t start = d->null, length = right ? d->n : d->m, columns = right ? d->n : d->left;
    size_t known = right ? d->n : d->known, wanted = columns - start;
    const double *own = right ? d->v : d->u;
    double *z = right ? d->zv : d->zu, *errors = right ? d->error_v : d->error_u, error;
    bool near, whole = right || known == d->m;
    take_columns(d->aimed, length, aim, length, columns, start, wanted, own);
    const struct basis_aim basis = { own + start * length,
                                     aim || !d->embedded ? d->aimed : NULL,
                                     length,
                                     known - start,
                                     wanted,
                                     turn_of(d, start, known, whole ? d->n + 1 : d->n),
                                     d->embedded };
    TRY(nearest_basis(z + start * length, &error, &near, &basis, d->tape->arena));
    for (size_t j = start; j < columns; j++) errors[j] = error;
    return status_ok();
}

/* Of a model: how far a vector of the group turns toward one of value `other`, `own` the value of the group that is nearest to it. */
static double turn_to(const struct decomposition *d, double e, double own, double other)
{
    double dropped = group_dropped(d->tape) * fmax(own, other);
    return group_turn(d->tape, tape_join(d->tape, e, dropped), fabs(own - other));
}

/* How far the elements of the vectors of one side are off in a model, for the group start .. end. */
static void model_group(const struct decomposition *d, double *error, bool right, size_t start,
                        size_t end)
{
    size_t length = right ? d->n : d->m, known = right ? d->n : d->left;
    const double *z = right ? d->zv : d->zu;
    double largest = d->values[0], first = start < d->n ? d->values[start] : 0;
    double last = start < d->null ? d->values[end - 1] : 0;
    double e = tape_join(d->tape, group_backward_error(d->tape, d->m, d->matrix.frobenius, largest),
                         d->matrix.input);
    bool open = !right && d->m > d->left && start < d->null; /* a complement */
    double beyond = open ? turn_to(d, e, last, 0) : 0, turned = beyond * beyond;
    /* Left and right vectors of a group turn against each other, too, by the skew part of U^T E V over the sum of their values. */
    double apart = last > 0 && end - start > 1 ? group_turn(d->tape, e, first + last) : 0;
    for (size_t i = 0; i < length; i++) error[i] = beyond * beyond;
    for (size_t k = 0; k < known; k++) {
        bool own = k >= start && k < end;
        double value = k < d->n ? d->values[k] : 0;
        double weight = own ? apart : turn_to(d, e, k < start ? first : last, value);
        for (size_t i = 0; i < length; i++)
            error[i] += z[k * length + i] * z[k * length + i] * weight * weight;
        turned += own ? 0 : weight * weight;
    }
    group_model_second_order(d->tape, error, length, turned, z + start * length, end - start);
}

static void put(struct decomposition *d, struct node *node, size_t batch, bool right)
{
    size_t length = right ? d->n : d->m, columns = right ? d->n : d->left;
    const double *z = right ? d->zv : d->zu, *errors = right ? d->error_v : d->error_u;
    size_t first = batch * length * columns;
    for (size_t start = 0, end; start < columns; start = end) {
        end = start >= d->null ? columns
                               : group_end(d->values, d->null, start, d->distance, d->embedded);
        if (node->error && tape_is_model(d->tape)) model_group(d, d->aimed, right, start, end);
        for (size_t j = start; j < end; j++)
            for (size_t i = 0; i < length; i++) {
                double value = z[j * length + i];
                node->value[first + i * columns + j] = value;
                if (!node->error) continue;
                node->error[first + i * columns + j] =
                    tape_is_model(d->tape)
                        ? tape_join(d->tape, d->aimed[i],
                                    group_forward_error(d->tape, length, end - start, value))
                        : errors[j];
            }
    }
}

static struct status settle_groups(struct decomposition *d, const double *aim_u,
                                   const double *aim_v)
{
    for (size_t start = 0, end; start < d->null; start = end) {
        end = group_end(d->values, d->null, start, d->distance, d->embedded);
        TRY(settle_pairs(d, start, end, aim_u, aim_v));
    }
    if (d->null < d->n) TRY(settle_null(d, true, aim_v));
    if (d->null < d->left) TRY(settle_null(d, false, aim_u));
    return status_ok();
}

/* Where the chain of values that ends in zeros begins. */
static size_t null_start(const struct decomposition *d)
{
    size_t at = d->n;
    if (d->values[d->n - 1] > d->distance) return at;
    for (at = d->n - 1; at && d->values[at - 1] - d->values[at] <= d->distance;) at--;
    return d->embedded ? at - at % 2 : at;
}

/* Longest basis that is completed for the sake of values near 0. */
enum { MOST_COMPLETED = 2048 };

/* Values and vectors; the left vectors of value 0 all of them where some are among the wanted ones. */
static struct status factorize(struct decomposition *d, const double *a)
{
    struct arena *arena = d->tape->arena;
    d->known = d->left;
    for (;;) {
        TRY(lapack_singular_vectors(d->values, d->u, d->v, a, d->m, d->n, d->known > d->n, arena));
        d->distance = group_distance(d->tape, d->dtype, d->m, d->values[0]);
        d->null = null_start(d);
        if (d->null == d->n || d->known == d->m || d->m > MOST_COMPLETED) return status_ok();
        d->known = d->m;
    }
}

static struct status decompose(struct decomposition *d, const struct singular *s,
                               const struct node *a, size_t batch, const double *aim_u,
                               const double *aim_v)
{
    size_t m = d->m, n = d->n, first = batch * m * n;
    TRY(group_matrix_measure(&d->matrix, a, first, m * n, "singular values"));
    TRY(factorize(d, a->value + first));
    s->distance[batch] = d->distance;
    bound_values(d, a->value + first);
    double model = tape_join(d->tape,
                             group_backward_error(d->tape, m, d->matrix.frobenius, d->values[0]),
                             d->matrix.input);
    for (size_t j = 0; j < n; j++) {
        s->values->value[batch * n + j] = d->values[j];
        if (s->values->error)
            s->values->error[batch * n + j] = tape_is_model(d->tape) ? model : d->weyl;
    }
    TRY(settle_groups(d, aim_u, aim_v));
    put(d, s->u, batch, false);
    put(d, s->v, batch, true);
    return status_ok();
}

/* Room for everything; false after a failure. */
static bool open_decomposition(struct decomposition *d, struct tape *tape, const struct node *a,
                               bool full, bool embedded)
{
    size_t m = (size_t)a->shape[1], n = (size_t)a->shape[2], most = m < MOST_COMPLETED ? m : n;
    *d = (struct decomposition){
        .tape = tape, .m = m, .n = n, .left = full ? m : n, .dtype = a->dtype, .embedded = embedded
    };
    if (full || most < n) most = full ? m : n;
    size_t wide = n * (m + n), aimed = d->left * m > wide ? d->left * m : wide;
    d->values = tape_allocate(tape, n, sizeof(double));
    d->u = tape_allocate(tape, most * m, sizeof(double));
    d->v = tape_allocate(tape, n * n, sizeof(double));
    d->zu = tape_allocate(tape, d->left * m, sizeof(double));
    d->zv = tape_allocate(tape, n * n, sizeof(double));
    d->residual = tape_allocate(tape, most, sizeof(double));
    d->error_u = tape_allocate(tape, d->left, sizeof(double));
    d->error_v = tape_allocate(tape, n, sizeof(double));
    d->aimed = tape_allocate(tape, aimed, sizeof(double));
    d->basis = tape_allocate(tape, wide, sizeof(double));
    d->scratch = tape_allocate(tape, most * m > wide ? most * m : wide, sizeof(double));
    return !tape_failed(tape);
}

/* For m >= n. */
static struct node *singular_of_tall(struct tape *tape, struct node *a, bool embedded,
                                     struct singular_vectors *vectors)
{
    struct singular *s = tape_allocate(tape, 1, sizeof *s);
    struct decomposition d;
    (void)node_values(tape, a);
    if (tape_failed(tape) || !open_decomposition(&d, tape, a, vectors->full, embedded))
        return tape_failure(tape);
    int64_t batch = a->shape[0], m = a->shape[1], n = a->shape[2];
    int64_t values[2] = { batch, n }, left[3] = { batch, m, (int64_t)d.left },
            right[3] = { batch, n, n };
    s->embedded = embedded;
    s->hidden = vectors->hidden;
    s->values = node_new(tape, &values_primitive, a->dtype, 2, values, 1, &a, s);
    s->u = node_new(tape, &left_primitive, a->dtype, 3, left, 1, &a, s);
    s->v = node_new(tape, &right_primitive, a->dtype, 3, right, 1, &a, s);
    s->distance = tape_allocate(tape, (size_t)batch, sizeof *s->distance);
    struct node *nodes[3] = { s->values, s->u, s->v };
    for (int k = 0; k < 3; k++) (void)node_need_errors(tape, nodes[k]);
    for (size_t b = 0; b < (size_t)batch && n && !tape_failed(tape); b++) {
        bool aims = vectors->aim_u && vectors->aim_v;
        struct status st = decompose(&d, s, a, b, aims ? vectors->aim_u + b * d.m * d.left : NULL,
                                     aims ? vectors->aim_v + b * d.n * d.n : NULL);
        if (st.code) tape_fail(tape, st.code, "%s", st.text);
    }
    for (size_t i = 0; !n && !tape_failed(tape) && i < s->u->n;
         i++) { /* no columns: the identity */
        s->u->value[i] = i / d.left % d.m == i % d.left;
        if (s->u->error) s->u->error[i] = 0;
    }
    for (int k = 0; k < 3; k++) node_round(tape, nodes[k]);
    vectors->u = s->u;
    vectors->v = s->v;
    return s->values;
}

static struct node *real_singular(struct tape *tape, struct node *a, bool embedded,
                                  struct singular_vectors *vectors)
{
    vectors->u = vectors->v = a;
    if (tape_failed(tape) || a->shape[1] >= a->shape[2])
        return singular_of_tall(tape, a, embedded, vectors);
    struct singular_vectors turned = {
        vectors->full, vectors->hidden, vectors->aim_v, vectors->aim_u, a, a
    };
    struct node *values = singular_of_tall(tape, node_transpose(tape, a, 1, 2), embedded, &turned);
    vectors->u = turned.v;
    vectors->v = turned.u;
    return values;
}

struct node *node_singular(struct tape *tape, struct node *a, struct singular_vectors *vectors)
{
    if (!a->imaginary) return real_singular(tape, node_to_real(tape, a), false, vectors);
    struct node *values = real_singular(tape, node_embedding(tape, a), true, vectors);
    if (tape_failed(tape)) return values;
    vectors->u = node_of_embedding(tape, vectors->u);
    vectors->v = node_of_embedding(tape, vectors->v);
    return node_slice(tape, values, 1, 0, values->shape[1] / 2, 2);
}

struct node *node_singular_values(struct tape *tape, struct node *a)
{
    struct singular_vectors vectors = { .hidden = true };
    return node_singular(tape, a, &vectors);
}
