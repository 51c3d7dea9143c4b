/* Random choices of torch_npu among given elements, by its documentation and tests (op-plugin). Any choice of so many
 * elements is as likely as another: given those before it, an element is chosen with a chance of (number still to choose) /
 * (number of elements left), which the draws are tested against. In which order they are listed is not told: by the
 * documentation a random one, by its test not.
 */
#include <math.h>
#include <stdio.h>

#include "bench/arithmetic/independence.h"
#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/ops/properties.h"

/* Which of n elements are chosen, each of them 0 or 1; is it a choice as likely as any other? x is changed. The places of
 * those chosen are uniform: sums of draws without replacement exceed a limit no more often than those with it (Hoeffding
 * 1963), as far as the limit is Bernstein's. */
static bool choice_holds(double *x, double *chances, size_t n, char *reason, size_t bytes)
{
    double chosen = 0, before = 0;
    size_t places = 0;
    for (size_t i = 0; i < n; i++) {
        chosen += x[i];
        if (x[i] != 0) chances[places++] = ((double)i + 0.5) / (double)n;
    }
    if (places && !moments_hold(chances, places, reason, bytes)) return false;
    for (size_t i = 0; i < n; i++) {
        chances[i] = (chosen - before) / (double)(n - i);
        before += x[i];
    }
    return random_choices_hold(x, chances, 0, n, 1, reason, bytes);
}

/* ---- indices of true elements ------------------------------------------------------------------------------------ */

struct candidates {
    const int64_t *is_one; /* of each element, by position */
    size_t n, ones, count; /* elements, those to choose from, rows of the result */
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
};

/* The position of a row of the result; n when it lies outside. */
static size_t position_of(const struct candidates *c, const double *row)
{
    size_t at = 0;
    for (int d = 0; d < c->rank; d++) {
        if (!(row[d] >= 0 && row[d] < (double)c->shape[d])) return c->n;
        at = at * (size_t)c->shape[d] + (size_t)row[d];
    }
    return at;
}

static bool rows_hold(const struct candidates *c, const double *rows, double *chosen, char *reason,
                      size_t bytes)
{
    for (size_t i = 0; i < c->n; i++) chosen[i] = 0;
    for (size_t r = 0; r < c->count; r++) {
        const double *row = rows + r * (size_t)c->rank;
        if (r >= c->ones) {
            for (int d = 0; d < c->rank; d++)
                if (row[d] != 0) {
                    (void)snprintf(reason, bytes, "row %zu is not valid, and not 0", r);
                    return false;
                }
            continue;
        }
        size_t at = position_of(c, row);
        if (at == c->n || !c->is_one[at] || chosen[at] != 0) {
            (void)snprintf(reason, bytes, "row %zu names no true element, or one a second time", r);
            return false;
        }
        chosen[at] = 1;
    }
    return true;
}

static bool candidates_hold(const struct bench_property *property, const struct tensor *got,
                            char *reason, size_t bytes)
{
    const struct candidates *c = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double *chosen = arena_allocate_array(&arena, 2 * c->n + 1, sizeof *chosen),
           *rows = arena_allocate_array(&arena, c->count * (size_t)c->rank + 1, sizeof *rows);
    bool holds = false;
    size_t ones = 0;
    if (!chosen || !rows || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(rows, dense.data, dense.dtype, c->count * (size_t)c->rank);
    holds = rows_hold(c, rows, chosen, reason, bytes);
    if (!holds || c->ones <= c->count) goto done;
    for (size_t i = 0; i < c->n; i++)
        if (c->is_one[i]) chosen[ones++] = chosen[i];
    holds = choice_holds(chosen, chosen + c->n, ones, reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

/* Rows of our own: of the true elements those with the least of random numbers. */
static struct node *own_rows(struct call *call, const struct candidates *c, const int64_t *shape)
{
    struct node *rows = node_new_integer(call->tape, DT_I32, 2, shape);
    size_t taken = 0, seen = 0, wanted = c->ones < c->count ? c->ones : c->count;
    if (tape_failed(call->tape)) return rows;
    for (size_t i = 0; i < rows->n; i++) rows->integer[i] = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!c->is_one[i]) continue;
        double chance = (double)(wanted - taken) / (double)(c->ones - seen++);
        if (random_uniform(call, i) >= chance) continue;
        size_t rest = i;
        for (int d = c->rank; d-- > 0; rest /= (size_t)c->shape[d])
            rows->integer[taken * (size_t)c->rank + (size_t)d] =
                (int64_t)(rest % (size_t)c->shape[d]);
        taken++;
    }
    return rows;
}

/* Positions of `count` true elements, and which of them there are. */
static void random_choice_with_mask(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    int64_t count = call_int(call, "count");
    if (!call_require(call,
                      x->integer && x->dtype == DT_BOOL && x->rank >= 1 && x->rank <= 5 &&
                          count >= 1 && count <= INT32_MAX,
                      "a tensor of truth values of up to five dimensions and a count are needed"))
        return;
    struct candidates *c = tape_allocate(tape, 1, sizeof *c);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    struct node *valid = node_new_integer(tape, DT_BOOL, 1, &count), *rows = NULL;
    if (tape_failed(tape)) return;
    *c = (struct candidates){ x->integer, x->n, 0, (size_t)count, x->rank, { 0 } };
    for (int d = 0; d < x->rank; d++) c->shape[d] = x->shape[d];
    for (size_t i = 0; i < x->n; i++) c->ones += x->integer[i] != 0;
    for (size_t i = 0; i < valid->n; i++) valid->integer[i] = i < c->ones;
    *property = (struct bench_property){
        "distinct true elements, every choice as likely; independent (1e-9)", candidates_hold, c
    };
    int64_t shape[2] = { count, x->rank };
    if (!tape_is_reference(tape)) rows = own_rows(call, c, shape);
    call_return_random(call, rows, DT_I32, 2, shape, property);
    call_return(call, valid);
}

/* ---- labels ----------------------------------------------------------------------------------------------------- */

struct labels {
    const int64_t *label;
    size_t n, ones, zeros;
    double size, least, most; /* labels to keep; of 1 at least and at most */
};

static double wanted_zeros(const struct labels *l, double ones)
{
    return fmin((double)l->zeros, l->size - ones);
}

/* The labels of one kind that are kept: is it a choice as likely as any other? */
static bool kind_holds(const struct labels *l, int64_t kind, const double *y, double *x,
                       char *reason, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->label[i] == kind) x[n++] = y[i] == (double)kind;
    return choice_holds(x, x + l->n, n, reason, bytes);
}

static bool labels_hold(const struct bench_property *property, const struct tensor *got,
                        char *reason, size_t bytes)
{
    const struct labels *l = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double *y = arena_allocate_array(&arena, 3 * l->n + 1, sizeof *y), ones = 0, zeros = 0;
    bool holds = false;
    if (!y || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(y, dense.data, dense.dtype, l->n);
    for (size_t i = 0; i < l->n; i++) {
        if (y[i] != -1 && y[i] != (double)l->label[i]) {
            (void)snprintf(reason, bytes, "element %zu is %g where the label is %lld", i, y[i],
                           (long long)l->label[i]);
            goto done;
        }
        ones += y[i] == 1;
        zeros += y[i] == 0;
    }
    if (ones < l->least || ones > l->most || zeros != wanted_zeros(l, ones)) {
        (void)snprintf(reason, bytes, "%g labels 1 and %g labels 0 are kept", ones, zeros);
        goto done;
    }
    holds = kind_holds(l, 1, y, y + l->n, reason, bytes) &&
            kind_holds(l, 0, y, y + l->n, reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

/* Labels of our own. */
static struct node *own_labels(struct call *call, const struct labels *l, const struct node *x)
{
    struct node *y = node_new_integer(call->tape, DT_I32, x->rank, x->shape);
    double wanted[2] = { wanted_zeros(l, l->least), l->least },
           left[2] = { (double)l->zeros, (double)l->ones };
    for (size_t i = 0; !tape_failed(call->tape) && i < l->n; i++) {
        int64_t kind = l->label[i];
        y->integer[i] = -1;
        if (kind < 0) continue;
        bool kept = random_uniform(call, i) < wanted[kind] / left[kind];
        left[kind]--;
        wanted[kind] -= kept;
        if (kept) y->integer[i] = kind;
    }
    return y;
}

/* Of labels 1, 0 and -1 (of nothing), per_images are kept and the others made -1: of those that are 1 the given fraction
 * or all, the rest of those that are 0. */
static void sub_sample(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    int64_t size = call_int(call, "per_images");
    double part = (double)size * call_real(call, "positive_fraction"), near = nearbyint(part);
    if (!call_require(call,
                      x->integer && x->rank == 1 && size >= 0 && part >= 0 && near <= (double)size,
                      "labels, a number of them and a fraction are needed"))
        return;
    struct labels *l = tape_allocate(tape, 1, sizeof *l);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (tape_failed(tape)) return;
    *l = (struct labels){ .label = x->integer, .n = x->n, .size = (double)size };
    for (size_t i = 0; i < x->n; i++) {
        if (!call_require(call, x->integer[i] >= -1 && x->integer[i] <= 1,
                          "labels are 1, 0 and -1"))
            return;
        l->ones += x->integer[i] == 1;
        l->zeros += x->integer[i] == 0;
    }
    bool whole = fabs(part - near) <= 1e-6 * fmax(part, 1);
    l->least = fmin((double)l->ones, whole ? near : floor(part));
    l->most = fmin((double)l->ones, whole ? near : ceil(part));
    *property = (struct bench_property){
        "as many of each label as are to be kept, every choice as likely; independent (1e-9)",
        labels_hold, l
    };
    struct node *y = tape_is_reference(tape) ? NULL : own_labels(call, l, x);
    call_return_random(call, y, DT_I32, 1, x->shape, property);
}

/* clang-format off */
const struct op ops_npu_choices[] = {
    { "npu_random_choice_with_mask", NPU, "(Tensor x, int count=256, int seed=0, int seed2=0)", random_choice_with_mask, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "npu_sub_sample", NPU, "(Tensor self, int per_images, float positive_fraction)", sub_sample, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_choices);
