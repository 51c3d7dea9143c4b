/* By LAPACK in double; the bounds are those of the residuals.
 *
 * With rows x_j of X, values l_j, R = X A - diag(l) X, defect g = ||X X^T - I||:
 *   - X = T W with W orthogonal, T = (X X^T)^1/2 and ||T - I|| <= g, so W A W^T differs from diag(l) by at most
 *     (||R|| + g (l_n - l_1)) / sqrt(1 - g), and so do the eigenvalues (Weyl).
 *   - For an exact eigenpair (e, w): r_j . w = (e - l_j) (x_j . w), so what of x_j lies in the exact subspace of the other
 *     groups is at most ||r_j|| / gap, the gap being that between l_j and their exact eigenvalues. */
#include "bench/primitives/eigenvectors.h"

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

struct eigen {
    struct node *values, *vectors;
    double *distance; /* within a group, for each matrix */
    bool embedded;    /* a complex matrix: values and vectors in twos */
    bool hidden;      /* vectors that are not returned */
};

/* One matrix being decomposed. Rows of `x` and `z` are vectors. */
struct spectrum {
    struct tape *tape;
    size_t n;
    enum dtype dtype;
    bool embedded;
    double *values, *x, *z, *residual; /* (n), (n, n), (n, n), norms of the rows of R (n) */
    struct group_matrix matrix;
    double weyl;     /* bound on the error of every eigenvalue */
    double distance; /* of values in a group */
};

/* Is value j of the matrix a group by itself? */
static bool eigen_is_alone(const struct eigen *eigen, size_t batch, size_t j)
{
    size_t n = (size_t)eigen->values->shape[1];
    const double *values = eigen->values->value + batch * n;
    double distance = eigen->distance[batch];
    return (!j || values[j] - values[j - 1] > distance) &&
           (j + 1 == n || values[j + 1] - values[j] > distance);
}

/* V diag(g) V^T */
static void values_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct eigen *eigen = node->parameters;
    int64_t lone[3] = { node->shape[0], 1, node->shape[1] };
    struct node *scaled =
        node_multiply(tape, eigen->vectors, node_reshape(tape, cotangent, 3, lone));
    struct node *flow = node_matmul(tape, scaled, false, eigen->vectors, true);
    const struct group_bases bases = { node,           cotangent,       eigen->vectors,
                                       eigen->vectors, eigen->distance, eigen->embedded,
                                       false };
    tape_accumulate(tape, node->inputs[0],
                    eigen->hidden ? group_model_any_basis(tape, flow, &bases) : flow);
}

/* V (skew(V^T G) / (l_j - l_i)) V^T with skew(X) = (X - X^T) / 2, nothing on the diagonal nor between v and iv, which is a
 * phase. */
static void vectors_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct eigen *eigen = node->parameters;
    int64_t n = node->shape[1], batch = node->shape[0];
    int64_t lone[3] = { batch, 1, n }, column[3] = { batch, n, 1 };
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, n, n });
    for (int64_t i = 0; i < n && !tape_failed(tape); i++) eye->value[i * n + i] = 1;
    struct node *gaps = node_subtract(tape, node_reshape(tape, eigen->values, 3, lone),
                                      node_reshape(tape, eigen->values, 3, column));
    struct node *inner = node_matmul(tape, node, true, cotangent, false);
    inner = node_subtract(tape, inner, node_transpose(tape, inner, 1, 2));
    inner = node_scale(tape, node_divide(tape, inner, node_add(tape, gaps, eye)), 0.5);
    if (eigen->embedded)
        inner = node_select(tape, group_twins(tape, n), node_scalar(tape, 0), inner);
    struct node *left = node_matmul(tape, node, false, inner, false);
    tape_accumulate(tape, node->inputs[0], node_matmul(tape, left, false, node, true));
}

/* The pair that element i belongs to: its value and vector, where they are a group by themselves. */
static void pair_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct eigen *eigen = node->parameters;
    struct node *a = node->inputs[0];
    size_t n = (size_t)a->shape[1], j = i % n, batch = node == eigen->values ? i / n : i / (n * n);
    enclosure->work += n * n * n;
    arb_indeterminate(ball); /* otherwise the bounds of the residuals stay */
    if (enclosure->work > enclosure->limit || !eigen_is_alone(eigen, batch, j)) return;
    struct eigenpair pair;
    eigenpair_init(&pair, n);
    for (size_t k = 0; k < n * n; k++)
        enclosure_element(enclosure, arb_mat_entry(pair.matrix, (slong)(k / n), (slong)(k % n)), a,
                          batch * n * n + k);
    arb_set_d(pair.value, eigen->values->value[batch * n + j]);
    for (size_t k = 0; k < n; k++)
        arb_set_d(pair.vector + k, eigen->vectors->value[(batch * n + k) * n + j]);
    if (eigenpair_enclose(&pair, enclosure->precision)) {
        if (node == eigen->values) arb_set(ball, pair.value);
        else enclosure_remember(enclosure, eigen->values, batch * n + j, pair.value);
        for (size_t k = 0; k < n; k++) {
            size_t at = (batch * n + k) * n + j;
            if (node == eigen->vectors && at == i) arb_set(ball, pair.vector + k);
            else enclosure_remember(enclosure, eigen->vectors, at, pair.vector + k);
        }
    }
    eigenpair_clear(&pair);
}

static const struct primitive values_primitive = { "eigenvalues", values_backward, pair_enclose,
                                                   NULL };
static const struct primitive vectors_primitive = { "eigenvectors", vectors_backward, pair_enclose,
                                                    NULL };

/* Row norms of R and Weyl's bound. Scratch: n * n. */
static void bound_values(struct spectrum *s, const double *a, double *scratch)
{
    size_t n = s->n;
    double gamma = gamma_of((double)n + 4), total = 0;
    double spread = s->values[n - 1] - s->values[0];
    double defect = basis_defect(s->x, n, n, scratch);
    gemm_double(scratch, &(struct gemm){ .m = n, .n = n, .k = n }, s->x, a);
    for (size_t j = 0; j < n; j++) {
        double sum = 0, size = fabs(s->values[j]) + s->matrix.frobenius;
        for (size_t i = 0; i < n; i++) {
            double r = scratch[j * n + i] - s->values[j] * s->x[j * n + i];
            sum += r * r;
        }
        s->residual[j] = 1.01 * (sqrt(sum) + gamma * size + s->matrix.input);
        total += s->residual[j] * s->residual[j];
    }
    s->weyl = defect < 0.5 ? 1.01 * (sqrt(total) + defect * spread) / sqrt(1 - defect) : INFINITY;
}

/* What of the vectors start .. end lies outside of their exact subspace. */
static double turn_of(const struct spectrum *s, size_t start, size_t end)
{
    double sum = 0;
    for (size_t j = start; j < end; j++) {
        double gap = INFINITY;
        if (start) gap = fmin(gap, s->values[j] - s->values[start - 1]);
        if (end < s->n) gap = fmin(gap, s->values[end] - s->values[j]);
        gap -= s->weyl;
        double turn = gap > 0 ? s->residual[j] / gap : INFINITY;
        sum += turn * turn;
    }
    return sqrt(sum) * 1.01;
}

/* How far the elements of z for the group are off in a model: `error` (n) for each vector of it. */
static void model_group(const struct spectrum *s, double *error, size_t start, size_t end)
{
    size_t n = s->n;
    double largest = fmax(fabs(s->values[0]), fabs(s->values[n - 1]));
    double e = tape_join(s->tape, group_backward_error(s->tape, n, s->matrix.frobenius, largest),
                         s->matrix.input);
    double turned = 0;
    for (size_t i = 0; i < n; i++) error[i] = 0;
    for (size_t k = 0; k < n; k++) {
        if (k >= start && k < end) continue;
        double gap = k < start ? s->values[start] - s->values[k]
                               : s->values[k] - s->values[end - 1];
        double weight = group_turn(s->tape, e, gap);
        turned += weight * weight;
        for (size_t i = 0; i < n; i++)
            error[i] += s->z[k * n + i] * s->z[k * n + i] * weight * weight;
    }
    group_model_second_order(s->tape, error, n, turned, s->z + start * n, end - start);
}

/* End of the group that starts at `start`; of an embedded matrix it has whole twos. */
static size_t end_of(const struct spectrum *s, size_t start)
{
    return group_end(s->values, s->n, start, s->distance, s->embedded);
}

/* The vectors of all groups into z, their bounds into `vectors`. */
static struct status settle_groups(struct spectrum *s, struct node *vectors, size_t batch,
                                   const double *aim, double *errors, double *aimed)
{
    size_t n = s->n;
    for (size_t start = 0, end; start < n; start = end) {
        bool near;
        end = end_of(s, start);
        size_t count = end - start;
        for (size_t j = 0; j < count; j++)
            for (size_t i = 0; i < n; i++)
                aimed[j * n + i] = aim ? aim[i * n + start + j] : s->x[(start + j) * n + i];
        const struct basis_aim basis = { s->x + start * n,
                                         aim || !s->embedded ? aimed : NULL,
                                         n,
                                         count,
                                         count,
                                         turn_of(s, start, end),
                                         s->embedded };
        TRY(nearest_basis(s->z + start * n, &errors[start], &near, &basis, s->tape->arena));
        for (size_t j = start + 1; j < end; j++) errors[j] = errors[start];
    }
    double *out = vectors->value + batch * n * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) out[i * n + j] = s->z[j * n + i];
    for (size_t start = 0, end; vectors->error && start < n; start = end) {
        end = end_of(s, start);
        if (tape_is_model(s->tape)) model_group(s, aimed, start, end);
        for (size_t j = start; j < end; j++)
            for (size_t i = 0; i < n; i++)
                vectors->error[batch * n * n + i * n + j] =
                    tape_is_model(s->tape)
                        ? tape_join(s->tape, aimed[i],
                                    group_forward_error(s->tape, n, end - start, s->z[j * n + i]))
                        : errors[j];
    }
    return status_ok();
}

static struct status decompose(struct spectrum *s, const struct eigen *eigen, const struct node *a,
                               size_t batch, const double *aim, double *scratch)
{
    size_t n = s->n, first = batch * n * n;
    TRY(group_matrix_measure(&s->matrix, a, first, n * n, "eigenvalues"));
    TRY(lapack_eigenvectors(s->values, s->x, a->value + first, n, s->tape->arena));
    bound_values(s, a->value + first, scratch);
    double largest = fmax(fabs(s->values[0]), fabs(s->values[n - 1]));
    s->distance = eigen->distance[batch] = group_distance(s->tape, s->dtype, n, largest);
    double model = tape_join(
        s->tape, group_backward_error(s->tape, n, s->matrix.frobenius, largest), s->matrix.input);
    for (size_t j = 0; j < n; j++) {
        eigen->values->value[batch * n + j] = s->values[j];
        if (eigen->values->error)
            eigen->values->error[batch * n + j] = tape_is_model(s->tape) ? model : s->weyl;
    }
    return settle_groups(s, eigen->vectors, batch, aim, scratch, scratch + n);
}

/* vectors: NULL where none are wanted. */
static struct node *real_eigenvalues(struct tape *tape, struct node *a, bool embedded,
                                     const double *aim, struct node **vectors)
{
    if (vectors) *vectors = a;
    struct eigen *eigen = tape_allocate(tape, 1, sizeof *eigen);
    if (!tape_failed(tape) && (a->rank != 3 || a->shape[1] != a->shape[2]))
        tape_fail(tape, STATUS_SKIP, "a square matrix is needed");
    if (tape_failed(tape)) return tape_failure(tape);
    (void)node_values(tape, a);
    struct node *values = node_new(tape, &values_primitive, a->dtype, 2, a->shape, 1, &a, eigen);
    eigen->embedded = embedded;
    eigen->hidden = !vectors;
    eigen->values = values;
    eigen->vectors = node_new(tape, &vectors_primitive, a->dtype, 3, a->shape, 1, &a, eigen);
    eigen->distance = tape_allocate(tape, (size_t)a->shape[0], sizeof *eigen->distance);
    size_t n = (size_t)a->shape[1];
    double *room = tape_allocate(tape, 4 * n * n + 4 * n, sizeof *room);
    (void)node_need_errors(tape, values);
    (void)node_need_errors(tape, eigen->vectors);
    struct spectrum s = { .tape = tape, .n = n, .dtype = a->dtype, .embedded = embedded };
    for (size_t b = 0; b < (size_t)a->shape[0] && n && !tape_failed(tape); b++) {
        s.values = room;
        s.residual = room + n;
        s.x = room + 2 * n;
        s.z = s.x + n * n;
        struct status st = decompose(&s, eigen, a, b, aim ? aim + b * n * n : NULL, s.z + n * n);
        if (st.code) tape_fail(tape, st.code, "%s", st.text);
    }
    if (tape_failed(tape)) return tape_failure(tape);
    node_round(tape, values);
    node_round(tape, eigen->vectors);
    if (vectors) *vectors = eigen->vectors;
    return values;
}

struct node *node_eigenvalues(struct tape *tape, struct node *a, const double *aim,
                              struct node **vectors)
{
    if (!a->imaginary) return real_eigenvalues(tape, node_to_real(tape, a), false, aim, vectors);
    struct node *values = real_eigenvalues(tape, node_embedding(tape, a), true, aim, vectors);
    if (vectors) *vectors = node_of_embedding(tape, *vectors);
    return node_slice(tape, values, 1, 0, a->shape[1], 2);
}
