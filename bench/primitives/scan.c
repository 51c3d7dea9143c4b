/* Scans: values by the plain recurrence with a running bound, gradients in closed form. */
#include "bench/primitives/scan.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"

/* A scan along dimension `dim`, from its end with `reverse`. */
struct scan {
    struct lines lines;
    int dim;
    bool reverse;
};

/* NULL after a failure. */
static const struct scan *scan_along(struct tape *tape, const struct node *x, int dim, bool reverse)
{
    struct scan *scan = tape_allocate(tape, 1, sizeof *scan);
    if (!scan) return NULL;
    *scan = (struct scan){ lines_along(x, dim), dim, reverse };
    return scan;
}

/* How many roundings a library function costs a kernel; ours are good to one ulp. */
static double function_cost(const struct tape *tape)
{
    return !tape_is_model(tape) ? 2 : tape->arithmetic == BENCH_MODEL_TYPICAL ? 2 : 8;
}

static void set_error(struct node *node, size_t at, double bound)
{
    if (!node->error) return;
    node->error[at] = tidy_bound(bound * (1 + 0x1p-40), node->value[at]);
}

/* ---- sums ------------------------------------------------------------------------------------- */

static void sum_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct scan *scan = node->parameters;
    tape_accumulate(tape, node->inputs[0],
                    node_cumulative_sum(tape, cotangent, scan->dim, !scan->reverse));
}

static void sum_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct scan *scan = node->parameters;
    const struct lines *l = &scan->lines;
    size_t at = line_position(l, i), first = i - at * l->step;
    arb_t term;
    arb_init(term);
    arb_zero(ball);
    size_t from = scan->reverse ? at : 0, to = scan->reverse ? l->extent : at + 1;
    for (size_t k = from; k < to; k++) {
        enclosure_element(enclosure, term, node->inputs[0], first + k * l->step);
        arb_add(ball, ball, term, enclosure->precision);
    }
    arb_clear(term);
}

static const struct primitive sum_primitive = { "a cumulative sum", sum_backward, sum_enclose,
                                                NULL };

/* The element of a line that is the k-th in the direction of the scan. */
static size_t scan_element(const struct scan *scan, size_t line, size_t k)
{
    const struct lines *l = &scan->lines;
    return line_start(l, line) + (scan->reverse ? l->extent - 1 - k : k) * l->step;
}

/* One line: the prefix as a double-double, so each element's bound is one rounding plus a
 * second-order term. */
static void cumulate_line(struct tape *tape, struct node *node, const struct node *x,
                          const struct scan *scan, size_t line)
{
    struct running c = { 0 };
    double carried = 0, plain = 0, squares = 0, imitated = 0;
    float imitation = 0;
    struct accumulator deviating = { .deviation = tape->deviation };
    bool single = tape_is_single(tape), certify = node->error != NULL;
    bool typical = tape_is_typical(tape);

    for (size_t k = 0; k < scan->lines.extent; k++) {
        size_t at = scan_element(scan, line, k);
        double v = x->value[at];
        plain = single ? (float)(plain + v) : plain + v;
        if (!certify) {
            if (deviation_sums(tape->deviation)) accumulator_add(&deviating, v);
            node->value[at] = deviation_sums(tape->deviation) ? accumulator_total(&deviating)
                                                              : plain;
            continue;
        }
        running_add(&c, v);
        double e = node_error(x, at);
        carried += typical ? e * e : e;
        double sum = c.sum + c.low, gamma = gamma_of((double)(k + 3));
        node->value[at] = isfinite(plain) ? sum : plain;
        double bound = UNIT_ROUNDOFF * fabs(sum) + gamma * gamma * c.magnitude + carried;
        if (tape_is_model(tape))
            bound = tape_sum_growth(tape, k + 1) * tape->unit * c.magnitude + carried;
        if (typical) { /* as sum_spread.h has it, in the one order that a scan has */
            squares += sum * sum;
            imitation += (float)v;
            if (!tape->wide && isfinite(imitation))
                imitated = fmax(imitated, 0.7 * fabs(imitation - sum));
            double own = k ? fmax(tape->unit * sqrt(squares / 3), imitated) : 0;
            bound = own + sqrt(carried);
        }
        node->error[at] = isfinite(plain) ? bound * (1 + 0x1p-20) : 0;
    }
}

static struct node *integral_sums(struct tape *tape, struct node *x, const struct scan *scan)
{
    struct node *node = node_new_integer(tape, DT_I64, x->rank, x->shape);
    for (size_t line = 0; line < scan->lines.count && !tape_failed(tape); line++) {
        uint64_t total = 0;
        for (size_t k = 0; k < scan->lines.extent; k++) {
            size_t at = scan_element(scan, line, k);
            total += (uint64_t)x->integer[at];
            node->integer[at] = (int64_t)total;
        }
    }
    return node;
}

struct node *node_cumulative_sum(struct tape *tape, struct node *x, int dim, bool reverse)
{
    if (x->imaginary)
        return node_complex(tape, node_cumulative_sum(tape, node_real_part(tape, x), dim, reverse),
                            node_cumulative_sum(tape, node_imaginary_part(tape, x), dim, reverse));
    const struct scan *scan = scan_along(tape, x, dim, reverse);
    if (tape_failed(tape) || x->rank == 0) return x;
    if (x->integer) return integral_sums(tape, x, scan);
    (void)node_values(tape, x);
    struct node *node = node_new(tape, &sum_primitive, x->dtype, x->rank, x->shape, 1, &x, scan);
    (void)node_need_errors(tape, node);
    if (tape_failed(tape) || !node->n) return node;
    for (size_t line = 0; line < scan->lines.count; line++)
        cumulate_line(tape, node, x, scan, line);
    model_stages(tape, node);
    return node;
}

/* ---- products ----------------------------------------------------------------------------------- */

static void product_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct lines *l = &((const struct scan *)node->parameters)->lines;
    size_t at = line_position(l, i), first = i - at * l->step;
    arb_t factor;
    arb_init(factor);
    arb_one(ball);
    enclosure->work += at;
    for (size_t k = 0; k <= at && enclosure->work <= enclosure->limit; k++) {
        enclosure_element(enclosure, factor, node->inputs[0], first + k * l->step);
        arb_mul(ball, ball, factor, enclosure->precision);
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(factor);
}

/* In each line: -1 before the first zero, 0 at it, 1 behind. False when there is no zero. */
static bool sides_of_zeros(struct tape *tape, struct node *x, const struct lines *l,
                           struct node **sides)
{
    bool any = false;
    *sides = node_new_integer(tape, DT_I64, x->rank, x->shape);
    if (tape_failed(tape)) return false;
    for (size_t line = 0; line < l->count; line++) {
        int64_t side = -1;
        for (size_t k = 0, at = line_start(l, line); k < l->extent; k++, at += l->step) {
            if (side == 0) side = 1;
            if (side < 0 && x->value[at] == 0) side = 0;
            any = any || side == 0;
            (*sides)->integer[at] = side;
        }
    }
    return any;
}

/* Before the first zero of a line: sum over i >= k of c_i y_i, over x_k. At it: the same sum of
 * products that leave it out. Behind: 0. */
static void product_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct scan *scan = node->parameters;
    struct node *x = node->inputs[0], *sides;
    struct node *sum =
        node_cumulative_sum(tape, node_multiply(tape, cotangent, node), scan->dim, true);
    struct node *gradient = node_divide(tape, sum, x), *zero = node_scalar(tape, 0);
    if (sides_of_zeros(tape, x, &scan->lines, &sides)) {
        struct node *origin = node_integer_constant(tape, DT_I64, 0, 0, NULL);
        struct node *at_zero = node_compare(tape, COMPARE_EQ, sides, origin);
        struct node *before = node_compare(tape, COMPARE_LT, sides, origin);
        struct node *without = node_select(tape, at_zero, node_scalar(tape, 1), x);
        struct node *products = node_cumulative_product(tape, without, scan->dim);
        struct node *others =
            node_cumulative_sum(tape, node_multiply(tape, cotangent, products), scan->dim, true);
        gradient = node_select(tape, before, gradient, node_select(tape, at_zero, others, zero));
    }
    tape_accumulate(tape, x, gradient);
}

static const struct primitive product_primitive = { "a cumulative product", product_backward,
                                                    product_enclose, NULL };

/* By doubling (Hillis and Steele): after step s every element is the product of the last 2^s. */
static struct node *complex_product(struct tape *tape, struct node *x, int dim)
{
    int64_t extent = x->rank ? x->shape[dim] : 1;
    struct node *y = x;
    for (int64_t reach = 1; reach < extent && !tape_failed(tape); reach *= 2) {
        struct node *behind = node_slice(tape, y, dim, 0, extent - reach, 1);
        struct node *ahead = node_slice(tape, y, dim, reach, extent - reach, 1);
        struct node *parts[2] = { node_slice(tape, y, dim, 0, reach, 1),
                                  node_multiply(tape, ahead, behind) };
        y = node_concatenate(tape, parts, 2, dim);
    }
    return y;
}

struct node *node_cumulative_product(struct tape *tape, struct node *x, int dim)
{
    if (x->imaginary) return complex_product(tape, x, dim);
    const struct scan *scan = scan_along(tape, x, dim, false);
    if (!scan) return x;
    const struct lines *l = &scan->lines;
    if (x->integer) {
        struct node *node = node_new_integer(tape, DT_I64, x->rank, x->shape);
        for (size_t line = 0; line < l->count && !tape_failed(tape); line++) {
            uint64_t product = 1;
            for (size_t k = 0, at = line_start(l, line); k < l->extent; k++, at += l->step)
                node->integer[at] = (int64_t)(product *= (uint64_t)x->integer[at]);
        }
        return node;
    }
    (void)node_values(tape, x);
    struct node *node =
        node_new(tape, &product_primitive, x->dtype, x->rank, x->shape, 1, &x, scan);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < l->count && !tape_failed(tape); line++) {
        double product = 1, error = 0;
        for (size_t k = 0, at = line_start(l, line); k < l->extent; k++, at += l->step) {
            double v = x->value[at], next = tape_round(tape, product * v);
            if (node->error) {
                double e = node_error(x, at);
                error = error * (fabs(v) + e) + fabs(product) * e +
                        (k ? tape->unit * fabs(next) + tape->tiny : 0);
            }
            product = next;
            node->value[at] = product;
            set_error(node, at, error);
        }
    }
    model_stages(tape, node);
    return node;
}

/* ---- logarithms of sums of exponentials ---------------------------------------------------------- */

static void logsumexp_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct lines *l = &((const struct scan *)node->parameters)->lines;
    struct node *x = node->inputs[0];
    size_t at = line_position(l, i), first = i - at * l->step, top = first;
    arb_t largest, term;
    arb_init(largest);
    arb_init(term);
    for (size_t k = 1; k <= at; k++)
        if (x->value[first + k * l->step] > x->value[top]) top = first + k * l->step;
    enclosure_element(enclosure, largest, x, top);
    arb_zero(ball);
    enclosure->work += at;
    for (size_t k = 0; k <= at && enclosure->work <= enclosure->limit; k++) {
        size_t j = first + k * l->step;
        if (x->value[j] == -INFINITY) continue;
        enclosure_element(enclosure, term, x, j);
        arb_sub(term, term, largest, enclosure->precision);
        arb_exp(term, term, enclosure->precision);
        arb_add(ball, ball, term, enclosure->precision);
    }
    arb_log(ball, ball, enclosure->precision);
    arb_add(ball, ball, largest, enclosure->precision);
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(largest);
    arb_clear(term);
}

/* dx_k = sum over i >= k of c_i exp(x_k - y_i), by the recurrence from the end
 * T_k = c_k + exp(y_k - y_{k+1}) T_{k+1} (y does not fall, so no factor exceeds 1) and
 * dx_k = exp(x_k - y_k) T_k. inputs: x, y, c. */
static void shares_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct lines *l = &((const struct scan *)node->parameters)->lines;
    arb_t x, term, c;
    arb_init(x);
    arb_init(term);
    arb_init(c);
    enclosure_element(enclosure, x, node->inputs[0], i);
    arb_zero(ball);
    enclosure->work += l->extent;
    for (size_t k = line_position(l, i), at = i;
         k < l->extent && enclosure->work <= enclosure->limit; k++, at += l->step) {
        enclosure_element(enclosure, term, node->inputs[1], at);
        enclosure_element(enclosure, c, node->inputs[2], at);
        arb_sub(term, x, term, enclosure->precision);
        arb_exp(term, term, enclosure->precision);
        arb_addmul(ball, term, c, enclosure->precision);
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(x);
    arb_clear(term);
    arb_clear(c);
}

static const struct primitive shares_primitive = { "shares of running sums", NULL, shares_enclose,
                                                   NULL };

/* exp(d) for d <= 0 and its absolute error when d is off by e. */
static double exponential(const struct tape *tape, double *error, double d, double e)
{
    double y = tape_round(tape, scalar_exp(tape_round(tape, d)));
    double argument = tape_join(tape, e, tape->unit * fabs(d));
    double carried = expm1(argument);
    *error = y * tape_join(tape, function_cost(tape) * tape->unit, carried) + tape->tiny;
    return y;
}

/* Frameworks stay in logarithms: exp(x + r), r = log(sum over i >= k of c_i exp(-y_i)) by cumulative logsumexp from the
 * end, for positive and negative c apart (logcumsumexp_backward of PyTorch's FunctionsManual.cpp). Of r: the sum of the magnitudes
 * that it is the logarithm of, times exp(y), and its absolute error. */
struct logarithm {
    double magnitude, error;
};

/* The next term: what r was off by counts by its share; log |c| - y, r at every step and the functions are rounded. */
static void add_logarithm(const struct tape *tape, struct logarithm *r, double c, double y,
                          double factor)
{
    double carried = factor * r->magnitude, all = fabs(c) + carried;
    double unit = tape->unit * (tape_is_typical(tape) ? 0.6 : 1), share = function_cost(tape);
    if (!(all > 0) || !isfinite(y)) {
        r->magnitude = all;
        return;
    }
    double log_c = c == 0 ? 0 : log(fabs(c)), of_c = fabs(c) / all;
    double term = of_c * (unit * fabs(log_c - y) + tape->unit * share * fabs(log_c));
    double step = unit * fabs(log(all) - y) + tape->unit * share;
    r->error = tape_join(tape, carried / all * r->error, tape_join(tape, term, step));
    r->magnitude = all;
}

/* What exp(x + r) is off by. */
static double by_logarithms(const struct tape *tape, const struct logarithm *r, double x, double y,
                            double share)
{
    if (!tape_is_model(tape) || !(r->magnitude > 0) || !isfinite(y)) return 0;
    double unit = tape->unit * (tape_is_typical(tape) ? 0.6 : 1);
    double rounding = unit * fabs(x + log(r->magnitude) - y);
    return share * r->magnitude * expm1(tape_join(tape, r->error, rounding));
}

static void logsumexp_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct scan *scan = node->parameters;
    const struct lines *l = &scan->lines;
    struct node *x = node->inputs[0];
    (void)node_values(tape, cotangent);
    struct node *out = node_new(tape, &shares_primitive, x->dtype, x->rank, x->shape, 3,
                                (struct node *[]){ x, node, cotangent }, scan);
    bool certify = node_need_errors(tape, out);
    for (size_t line = 0; line < l->count && !tape_failed(tape); line++) {
        double total = 0, total_error = 0, factor_error, share_error, above = 0, above_error = 0;
        struct logarithm logarithm = { 0, 0 };
        for (size_t k = l->extent; k-- > 0;) {
            size_t at = line_start(l, line) + k * l->step;
            double y = node->value[at], ey = certify ? node_error(node, at) : 0;
            double ex = certify ? node_error(x, at) : 0,
                   ec = certify ? node_error(cotangent, at) : 0;
            double factor = k + 1 < l->extent ? exponential(tape, &factor_error, y - above,
                                                            tape_join(tape, ey, above_error))
                                              : (factor_error = 0);
            total_error = tape_join(tape, factor * total_error, fabs(total) * factor_error);
            total_error = tape_join(tape, total_error, ec);
            total = tape_round(tape, cotangent->value[at] + tape_round(tape, factor * total));
            double rounding = 2 * tape->unit * (fabs(total) + fabs(cotangent->value[at]));
            total_error = tape_join(tape, total_error, rounding);
            double share =
                exponential(tape, &share_error, x->value[at] - y, tape_join(tape, ex, ey));
            out->value[at] = tape_round(tape, share * total);
            double own =
                tape_join(tape, share * total_error, share_error * (fabs(total) + total_error));
            if (tape_is_model(tape))
                add_logarithm(tape, &logarithm, cotangent->value[at], y, factor);
            own = tape_join(tape, own, by_logarithms(tape, &logarithm, x->value[at], y, share));
            set_error(out, at,
                      tape_join(tape, own, tape->unit * fabs(out->value[at])) + tape->tiny);
            above = y;
            above_error = ey;
        }
    }
    tape_accumulate(tape, x, out);
}

static const struct primitive logsumexp_primitive = { "a cumulative logsumexp", logsumexp_backward,
                                                      logsumexp_enclose, NULL };

/* The state of a line: y = m + log(sum + low), sum of exp(x_j - m) so far, by TwoSum except in
 * BENCH_NATIVE; `error` bounds its absolute error. */
struct scaled_sum {
    double m, sum, low, error, input;
    double y, stepped; /* in a model: the last value, and its error by another formula */
};

/* Kernels that add to the logarithm, y = max + log(1 + exp(-d)), round y at every step, by no more than what is added,
 * since the maximum is a float; what an earlier y was off by counts by its share of the sum. */
static void add_stepped(const struct tape *tape, struct scaled_sum *r, double x)
{
    double y = r->m + scalar_log(r->sum), before = r->stepped * exp(fmin(r->y - y, 0));
    double added = log1p(exp(-fabs(x - r->y)));
    double share = tape_is_typical(tape) ? 0.25 : 1, own = tape_is_typical(tape) ? 0.6 : 1;
    double rounding = fmin(tape->unit * own * fabs(y), added),
           function = fmin(tape->unit * share * 4, added);
    r->stepped = tape_join(tape, before, tape_join(tape, rounding, function));
    r->y = y;
}

static void add_term(const struct tape *tape, struct scaled_sum *r, double x, double e)
{
    double other, term = exponential(tape, &other, -fabs(x - r->m), 0), shrunk = 1;
    if (e > r->input) r->input = e;
    if (x > r->m) { /* the old sum shrinks, the new term is 1 */
        shrunk = term;
        r->error = tape_join(tape, r->error * shrunk, r->sum * other);
        r->error = tape_join(tape, r->error, 2 * tape->unit * r->sum * shrunk);
        r->sum *= shrunk;
        r->low *= shrunk;
        r->m = x;
        term = 1;
        other = 0;
    }
    if (tape->arithmetic == BENCH_NATIVE) {
        r->sum = tape_round(tape, r->sum + term);
        return;
    }
    r->low += two_sum(&r->sum, term);
    r->error = tape_join(tape, r->error, other);
    r->error =
        tape_join(tape, r->error,
                  tape_is_model(tape) ? tape->unit * r->sum : 2 * UNIT_ROUNDOFF * fabs(r->low));
    if (!tape_is_model(tape)) return;
    add_stepped(tape, r, x);
}

struct node *node_cumulative_logsumexp(struct tape *tape, struct node *x, int dim)
{
    x = node_to_real(tape, x);
    if (x->imaginary) tape_fail(tape, STATUS_SKIP, "logcumsumexp of complex numbers");
    const struct scan *scan = scan_along(tape, x, dim, false);
    if (!scan) return x;
    const struct lines *l = &scan->lines;
    (void)node_values(tape, x);
    struct node *node =
        node_new(tape, &logsumexp_primitive, x->dtype, x->rank, x->shape, 1, &x, scan);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; !tape_failed(tape) && line < l->count; line++) {
        struct scaled_sum r = { .m = -INFINITY };
        for (size_t k = 0, at = line_start(l, line); k < l->extent; k++, at += l->step) {
            double v = x->value[at];
            if (isnan(v) || isnan(r.m)) r = (struct scaled_sum){ .m = NAN, .sum = 1 };
            else if (r.m == -INFINITY || v == INFINITY || r.m == INFINITY)
                r = (struct scaled_sum){ .m = fmax(v, r.m),
                                         .sum = 1,
                                         .input = node->error ? node_error(x, at) : 0,
                                         .y = fmax(v, r.m) };
            else if (v > -INFINITY) add_term(tape, &r, v, node->error ? node_error(x, at) : 0);
            double sum = r.sum + r.low, log = tape_round(tape, scalar_log(sum));
            node->value[at] = isfinite(r.m) ? tape_round(tape, r.m + log) : r.m;
            double relative = r.error / sum + tape->unit; /* sum >= 1 - its error */
            double e = tape_join(tape, r.input, r.stepped);
            e = tape_join(tape, e, 1.01 * relative);
            e = tape_join(tape, e, function_cost(tape) * tape->unit * log);
            e = tape_join(tape, e, tape->unit * fabs(node->value[at]));
            set_error(node, at, e + tape->tiny);
        }
    }
    model_stages(tape, node);
    return node;
}

/* ---- extrema ---------------------------------------------------------------------------------------- */

static bool takes_over(const struct node *x, size_t at, size_t best, int sign)
{
    if (x->integer)
        return sign > 0 ? x->integer[at] >= x->integer[best] : x->integer[at] <= x->integer[best];
    double new = x->value[at], old = x->value[best];
    if (isnan(new)) return true;
    return !isnan(old) && (sign > 0 ? new >= old : new <= old);
}

struct node *node_cumulative_arg_extremum(struct tape *tape, struct node *x, int dim, int sign)
{
    struct lines lines = lines_along(x, dim), *l = &lines;
    struct node *index = node_new_integer(tape, DT_I64, x->rank, x->shape);
    if (!x->integer) (void)node_values(tape, x);
    for (size_t line = 0; !tape_failed(tape) && line < l->count; line++) {
        size_t first = line_start(l, line), best = 0;
        for (size_t k = 0; k < l->extent; k++) {
            if (takes_over(x, first + k * l->step, first + best * l->step, sign)) best = k;
            index->integer[first + k * l->step] = (int64_t)best;
        }
    }
    return index;
}
