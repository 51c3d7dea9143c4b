/* Sums and products over (outer, extent, inner) blocks.
 *
 * Sums use Sum2 of Ogita, Rump and Oishi (2005): TwoSum per lane with the errors added per lane,
 * so that |result - sum| <= u |result| + gamma_n^2 sum|x_i| (bench/arithmetic/compensated.h). In BENCH_NATIVE
 * eight lanes hold floats and no errors.
 */
#include "bench/primitives/reduce.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/pair.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

struct reduction {
    size_t outer, extent, inner;
};

enum { LANES = 8, NATIVE_BLOCK = 512 };

static size_t input_element(const struct reduction *r, size_t out, size_t k)
{
    return (out / r->inner * r->extent + k) * r->inner + out % r->inner;
}

/* ---- sum ---------------------------------------------------------------------------------- */

static void sum_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    /* The node has the keepdim-like shape (outer, 1, inner): broadcast and restore. */
    struct node *x = node->inputs[0];
    tape_accumulate(tape, x, node_broadcast(tape, cotangent, x->rank, x->shape));
}

static void sum_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct reduction *r = node->parameters;
    arb_t term;
    arb_init(term);
    arb_zero(ball);
    for (size_t k = 0; k < r->extent; k++) {
        enclosure_element(enclosure, term, node->inputs[0], input_element(r, i, k));
        arb_add(ball, ball, term, enclosure->precision);
        if (enclosure->work > enclosure->limit) break;
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(term);
}

/* Terms one after the other; exact ones by TwoSum alone. */
static bool sum_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct reduction *r = node->parameters;
    struct node *x = node->inputs[0];
    struct pair total = { 0, 0, 0 }, term;
    if (node_is_exact(x) && x->value) {
        struct running sum = { 0 };
        for (size_t k = 0; k < r->extent; k++) running_add(&sum, x->value[input_element(r, i, k)]);
        enclosure->work += r->extent / 64;
        return running_pair(out, &sum, false);
    }
    for (size_t k = 0; k < r->extent; k++)
        if (!enclosure_pair(enclosure, &term, x, input_element(r, i, k)) ||
            !pair_add(&total, total, term))
            return false;
    *out = total;
    return true;
}

static const struct primitive sum_primitive = { "sum", sum_backward, sum_enclose, sum_pair };

/* Sum of n elements of an exact or inexact node from `start` on, with its bound (rounding only). */
static double certified_sum(double *bound, const struct node *x, size_t start, size_t n)
{
    enum { BLOCK = 2048 }; /* of a leaf that is not converted yet */
    double buffer[BLOCK], sum = 0;
    struct compensated total = { 0 };
    size_t step = x->value ? n : BLOCK;
    for (size_t i = 0; i < n; i += step)
        compensated_add(&total, node_block(x, start + i, n - i < step ? n - i : step, buffer),
                        n - i < step ? n - i : step);
    if (compensated_total(&sum, bound, &total)) return sum;
    /* The error terms are NaN where something is infinite; the plain sum says what it is. */
    sum = *bound = 0;
    for (size_t i = 0; i < n; i += step) {
        size_t count = n - i < step ? n - i : step;
        const double *block = node_block(x, start + i, count, buffer);
        for (size_t k = 0; k < count; k++) sum += block[k];
    }
    return sum;
}

static double native_sum(const double *x, size_t n, size_t step)
{
    float total = 0;
    for (size_t start = 0; start < n; start += NATIVE_BLOCK) {
        float lane[LANES] = { 0 };
        size_t end = start + NATIVE_BLOCK < n ? start + NATIVE_BLOCK : n;
        for (size_t i = start, k = 0; i < end; i++, k = (k + 1) % LANES)
            lane[k] += (float)x[i * step];
        total += ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
                 ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    return total;
}

static double wide_sum(const double *x, size_t n, size_t step)
{
    double lane[LANES] = { 0 };
    for (size_t i = 0, k = 0; i < n; i++, k = (k + 1) % LANES) lane[k] += x[i * step];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Sums down the columns of one (extent, inner) block, a row at a time: memory order. */
VECTORIZED static void certified_columns(double *sum, double *bound, double *scratch,
                                         const double *x, size_t extent, size_t inner)
{
    double *low = scratch, *magnitude = scratch + inner;
    memset(sum, 0, inner * sizeof *sum);
    memset(scratch, 0, 2 * inner * sizeof *scratch);
    for (size_t k = 0; k < extent; k++, x += inner)
        for (size_t j = 0; j < inner; j++) {
            double s = sum[j] + x[j], z = s - sum[j];
            low[j] += (sum[j] - (s - z)) + (x[j] - z);
            sum[j] = s;
            magnitude[j] += fabs(x[j]);
        }
    double gamma = gamma_of((double)(extent + 2));
    for (size_t j = 0; j < inner; j++) {
        if (isfinite(sum[j])) sum[j] += low[j];
        bound[j] = extent > 1 && isfinite(sum[j])
                       ? UNIT_ROUNDOFF * fabs(sum[j]) + gamma * gamma * magnitude[j] * (1 + 0x1p-20)
                       : 0;
    }
}

static void native_columns(double *sum, double *scratch, const double *x, size_t extent,
                           size_t inner, bool single)
{
    memset(sum, 0, inner * sizeof *sum);
    for (size_t start = 0; start < extent; start += NATIVE_BLOCK) {
        size_t end = start + NATIVE_BLOCK < extent ? start + NATIVE_BLOCK : extent;
        memset(scratch, 0, inner * sizeof *scratch);
        for (size_t k = start; k < end; k++)
            for (size_t j = 0; j < inner; j++) {
                double s = scratch[j] + x[k * inner + j];
                scratch[j] = single ? (float)s : s;
            }
        for (size_t j = 0; j < inner; j++) {
            double s = sum[j] + scratch[j];
            sum[j] = single ? (float)s : s;
        }
    }
}

/* Sums of block `a` with the error of a plain kernel: the roundings of its own (in the mean, by the
 * partial sums of these data), and the errors of the terms added up, in the mean as independent ones. `term` is
 * room for r->extent. */
static void modelled_sums(const struct tape *tape, double *out, double *bound, double *term,
                          const struct node *x, const struct reduction *r, size_t a)
{
    bool typical = tape_is_typical(tape);
    double growth = tape_sum_growth(tape, r->extent);
    for (size_t j = 0; j < r->inner; j++) {
        struct running c = { 0 };
        double carried = 0, plain = 0;
        for (size_t k = 0; k < r->extent; k++) {
            size_t at = (a * r->extent + k) * r->inner + j;
            double e = node_error(x, at);
            term[k] = x->value[at];
            running_add(&c, term[k]);
            plain += term[k];
            carried += typical ? e * e : e;
        }
        out[j] = isfinite(c.sum + c.low) ? c.sum + c.low : plain;
        double own = growth * c.magnitude;
        if (typical && isfinite(out[j]))
            own = sqrt(sum_spread(term, r->extent, false, !tape->wide));
        bound[j] = own * tape->unit + (typical ? sqrt(carried) : carried);
        if (!isfinite(out[j])) bound[j] = 0;
        else if (!(bound[j] >= 0)) bound[j] = INFINITY;
    }
}

static void sum_evaluate(struct tape *tape, struct node *node, const struct node *x,
                         const struct reduction *r)
{
    bool certify = tape_is_reference(tape), inexact = !node_is_exact(x);
    double *scratch = r->inner > 1 ? tape_allocate(tape, 2 * r->inner, sizeof *scratch) : NULL;
    double *term = tape_is_model(tape) ? tape_allocate(tape, r->extent, sizeof *term) : NULL;
    double ignored;

    if (certify && !node_need_errors(tape, node)) return;
    if (tape_failed(tape) || !node->n) return;
    for (size_t a = 0; a < r->outer; a++) {
        const double *block = x->value ? x->value + a * r->extent * r->inner : NULL;
        double *out = node->value + a * r->inner,
               *bound = certify ? node->error + a * r->inner : &ignored;
        if (tape_is_model(tape)) {
            modelled_sums(tape, out, bound, term, x, r, a);
            continue;
        }
        if (r->inner > 1) {
            if (certify) certified_columns(out, bound, scratch, block, r->extent, r->inner);
            else native_columns(out, scratch, block, r->extent, r->inner, tape_is_single(tape));
        } else if (certify) {
            *out = certified_sum(bound, x, a * r->extent, r->extent);
        } else {
            *out = tape_is_single(tape) ? native_sum(block, r->extent, 1)
                                        : wide_sum(block, r->extent, 1);
        }
        if (!certify || !inexact) continue;
        for (size_t k = 0; k < r->extent; k++)
            for (size_t j = 0; j < r->inner; j++)
                bound[j] += node_error(x, (a * r->extent + k) * r->inner + j) * (1 + 0x1p-40);
        for (size_t j = 0; j < r->inner; j++)
            if (!isfinite(out[j])) bound[j] = 0;
    }
}

/* Bring x to blocks (outer, extent, inner) over `dims`; reduced dimensions that do not lie
 * together are moved to the end. `shape` gets the keepdim shape of the result. */
static struct node *to_blocks(struct tape *tape, struct node *x, uint32_t dims, struct reduction *r,
                              int64_t *shape)
{
    int order[TENSOR_MAX_RANK], kept = 0, first = -1, last = -1;
    bool together = true;

    *r = (struct reduction){ 1, 1, 1 };
    for (int d = 0; d < x->rank; d++) {
        bool reduced = dims >> d & 1;
        shape[d] = reduced ? 1 : x->shape[d];
        if (x->shape[d] == 1) continue;
        if (reduced) {
            if (first < 0) first = d;
            last = d;
        }
    }
    for (int d = first; d >= 0 && d <= last; d++)
        together = together && (x->shape[d] == 1 || (dims >> d & 1));
    if (!together) {
        for (int d = 0; d < x->rank; d++)
            if (!(dims >> d & 1)) order[kept++] = d;
        for (int d = 0, at = kept; d < x->rank; d++)
            if (dims >> d & 1) order[at++] = d;
        x = node_permute(tape, x, order);
        for (int d = 0; d < x->rank && !tape_failed(tape); d++)
            *(d < kept ? &r->outer : &r->extent) *= (size_t)x->shape[d];
        return x;
    }
    for (int d = 0; d < x->rank; d++) {
        size_t extent = (size_t)x->shape[d];
        if (dims >> d & 1) r->extent *= extent;
        else if (first < 0 || d < first) r->outer *= extent;
        else r->inner *= extent;
    }
    return x;
}

/* Integral sums wrap; products likewise. */
static struct node *integral_reduce(struct tape *tape, struct node *x, const struct reduction *r,
                                    int64_t *shape, int rank, bool product)
{
    struct node *node = node_new_integer(tape, DT_I64, rank, shape);
    if (tape_failed(tape)) return node;
    for (size_t i = 0; i < node->n; i++) {
        uint64_t total = product ? 1 : 0;
        for (size_t k = 0; k < r->extent; k++) {
            uint64_t v = (uint64_t)x->integer[input_element(r, i, k)];
            total = product ? total * v : total + v;
        }
        node->integer[i] = (int64_t)total;
    }
    return node;
}

typedef void reduction_evaluate(struct tape *tape, struct node *node, const struct node *x,
                                const struct reduction *r);

/* The shape shared by sum and product: blocks in, keepdim result, squeezed if asked. */
static struct node *reduce(struct tape *tape, struct node *x, uint32_t dims, bool keepdim,
                           const struct primitive *primitive, reduction_evaluate *evaluate,
                           bool product)
{
    int64_t shape[TENSOR_MAX_RANK], block_shape[TENSOR_MAX_RANK];
    struct reduction *r = tape_allocate(tape, 1, sizeof *r);

    if (tape_failed(tape)) return node_scalar(tape, 0);
    if (x->rank < 32) dims &= (1u << x->rank) - 1;
    int rank = x->rank;
    struct node *blocks = to_blocks(tape, x, dims, r, shape);
    if (tape_failed(tape)) return blocks;
    struct node *node;
    if (x->integer) {
        node = integral_reduce(tape, blocks, r, shape, rank, product);
    } else {
        /* In the permuted case the reduced dimensions trail. */
        memcpy(block_shape, shape, sizeof shape);
        if (blocks != x) {
            for (int d = 0; d < rank; d++) block_shape[d] = blocks->shape[d];
            for (int d = rank - __builtin_popcount(dims); d < rank; d++) block_shape[d] = 1;
        }
        /* A sum of whole lines reads a leaf as it is stored. */
        bool in_place = primitive == &sum_primitive && tape->arithmetic == BENCH_REFERENCE &&
                        r->inner == 1;
        if (!in_place || !blocks->source) (void)node_values(tape, blocks);
        node = node_new(tape, primitive, x->dtype, rank, block_shape, 1, &blocks, r);
        if (tape_failed(tape)) return node;
        evaluate(tape, node, blocks, r);
        if (blocks != x) node = node_reshape(tape, node, rank, shape);
    }
    return keepdim ? node : node_squeeze(tape, node, dims);
}

struct node *node_sum(struct tape *tape, struct node *x, uint32_t dims, bool keepdim)
{
    if (x->imaginary)
        return node_complex(tape, node_sum(tape, node_real_part(tape, x), dims, keepdim),
                            node_sum(tape, node_imaginary_part(tape, x), dims, keepdim));
    return reduce(tape, x, dims, keepdim, &sum_primitive, sum_evaluate, false);
}

struct node *node_mean(struct tape *tape, struct node *x, uint32_t dims, bool keepdim)
{
    double count = 1;
    for (int d = 0; d < x->rank; d++)
        if (dims >> d & 1) count *= (double)x->shape[d];
    struct node *sum = node_sum(tape, node_to_real(tape, x), dims, keepdim);
    return node_divide(tape, sum, node_scalar(tape, count));
}

/* ---- product ------------------------------------------------------------------------------ */

/* A product as m 2^e with its relative error, so that no intermediate leaves the range of double.
 * In BENCH_NATIVE m alone, rounded as the kernel would and free to overflow. */
struct scaled {
    double m, relative;
    int64_t e;
};

static struct scaled scaled_one(void) { return (struct scaled){ 1, 0, 0 }; }

/* p times v, which is off by at most `error`. */
static void scaled_multiply(struct scaled *p, const struct tape *tape, double v, double error)
{
    if (!tape_is_reference(tape)) {
        p->m = tape_is_single(tape) ? (float)(p->m * v) : p->m * v;
        return;
    }
    int shift = 0;
    double m = p->m * v, own = error == 0 ? 0 : v != 0 ? error / fabs(v) : INFINITY;
    p->relative += own + p->relative * own + tape->unit * (1 + p->relative + own);
    if (m != 0 && isfinite(m)) m = frexp(m, &shift);
    p->m = m;
    p->e += shift;
    if (v == 0 && error == 0) p->relative = 0;
}

static struct scaled scaled_product(const struct tape *tape, const struct scaled *a,
                                    const struct scaled *b)
{
    struct scaled p = *a;
    scaled_multiply(&p, tape, b->m, b->m == 0 ? 0 : b->relative * fabs(b->m));
    if (b->m == 0 && b->relative > 0) p.relative = INFINITY;
    p.e += b->e;
    return p;
}

/* The value and, where `bound` is not NULL, its bound. */
static double scaled_value(double *bound, const struct tape *tape, const struct scaled *p)
{
    int64_t e = p->e > 5000 ? 5000 : p->e < -5000 ? -5000 : p->e;
    double y = ldexp(p->m, (int)e);
    if (bound) {
        double error = (p->m == 0 && p->relative == 0 ? 0 : p->relative * fabs(y) + tape->tiny) *
                       (1 + 0x1p-40);
        *bound = !isfinite(y) ? 0 : error >= 0 && !isinf(p->relative) ? error : INFINITY;
    }
    return y;
}

static void product_evaluate(struct tape *tape, struct node *node, const struct node *x,
                             const struct reduction *r)
{
    bool certify = node_need_errors(tape, node);
    for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
        struct scaled p = scaled_one();
        for (size_t k = 0; k < r->extent; k++) {
            size_t at = input_element(r, i, k);
            scaled_multiply(&p, tape, x->value[at], certify ? node_error(x, at) : 0);
        }
        node->value[i] = scaled_value(certify ? &node->error[i] : NULL, tape, &p);
    }
}

static void enclose_product(struct enclosure *enclosure, void *ball, struct node *x,
                            const struct reduction *r, size_t out, size_t except)
{
    arb_t factor;
    arb_init(factor);
    arb_one(ball);
    for (size_t k = 0; k < r->extent; k++) {
        if (k == except) continue;
        enclosure_element(enclosure, factor, x, input_element(r, out, k));
        arb_mul(ball, ball, factor, enclosure->precision);
    }
    arb_clear(factor);
}

static void product_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclose_product(enclosure, ball, node->inputs[0], node->parameters, i, SIZE_MAX);
}

/* The product of the others at every position: the gradient of a product, right at zeros. */
static void others_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct reduction *r = node->parameters;
    size_t out = i / (r->extent * r->inner) * r->inner + i % r->inner;
    enclose_product(enclosure, ball, node->inputs[0], r, out, i / r->inner % r->extent);
}

static const struct primitive others_primitive = { "products of others", NULL, others_enclose,
                                                   NULL };

static void product_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct reduction *r = node->parameters;
    struct node *x = node->inputs[0];
    struct node *others = node_new(tape, &others_primitive, x->dtype, x->rank, x->shape, 1, &x, r);
    bool certify = node_need_errors(tape, others);
    struct scaled *prefix = tape_allocate(tape, r->extent + 1, sizeof *prefix);

    /* Every element gets the product before it times the product behind it. */
    for (size_t out = 0; out < node->n && !tape_failed(tape); out++) {
        struct scaled suffix = scaled_one();
        prefix[0] = scaled_one();
        for (size_t k = 0; k < r->extent; k++) {
            size_t at = input_element(r, out, k);
            prefix[k + 1] = prefix[k];
            scaled_multiply(&prefix[k + 1], tape, x->value[at], certify ? node_error(x, at) : 0);
        }
        for (size_t k = r->extent; k-- > 0;) {
            size_t at = input_element(r, out, k);
            struct scaled p = scaled_product(tape, &prefix[k], &suffix);
            others->value[at] = scaled_value(certify ? &others->error[at] : NULL, tape, &p);
            scaled_multiply(&suffix, tape, x->value[at], certify ? node_error(x, at) : 0);
        }
    }
    tape_accumulate(
        tape, x, node_multiply(tape, others, node_broadcast(tape, cotangent, x->rank, x->shape)));
}

static const struct primitive product_primitive = { "product", product_backward, product_enclose,
                                                    NULL };

struct node *node_product(struct tape *tape, struct node *x, uint32_t dims, bool keepdim)
{
    return reduce(tape, x, dims, keepdim, &product_primitive, product_evaluate, true);
}
