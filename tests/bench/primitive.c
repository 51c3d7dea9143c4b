/* Made-up operands and the verdicts on results. */
#include "bench/primitive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/oracle.h"
#include "bench/tape/enclosure.h"

const char *const data_names[DATA_COUNT] = { "normal",     "wide",   "ones",    "whole",
                                             "cancelling", "graded", "hilbert", "extreme" };

void laboratory_open(struct laboratory *lab, enum bench_arithmetic arithmetic, uint64_t seed)
{
    memset(lab, 0, sizeof *lab);
    lab->numbers.state = seed;
    tape_open(&lab->tape, &lab->arena, arithmetic, true);
}

void laboratory_close(struct laboratory *lab) { arena_release(&lab->arena); }

static double next_value(struct numbers *numbers, enum data data, size_t i, double previous,
                         int64_t width)
{
    double x = numbers_normal(numbers);
    switch (data) {
    case DATA_WIDE: return x;
    case DATA_ONES: return 1;
    case DATA_WHOLE: return (double)(numbers_next(numbers) % 17) - 8;
    case DATA_CANCELLING:
        if (i % 2 == 0) return (float)x;
        return (float)(-previous * (numbers_next(numbers) % 2 ? 1 : 1 + 0x1p-20 * x));
    case DATA_GRADED: return (float)ldexp(x, (int)(numbers_next(numbers) % 41) - 20);
    case DATA_HILBERT: return 1 / (double)(1 + i / (size_t)width + i % (size_t)width);
    case DATA_EXTREME: return ldexp(x, (int)(numbers_next(numbers) % 401) - 200);
    default: return (float)x;
    }
}

struct operand operand_make(struct laboratory *lab, int rank, const int64_t *shape, enum data data,
                            bool inexact)
{
    struct operand o = { node_new_real(&lab->tape, DT_F64, rank, shape), NULL, 0 };
    if (tape_failed(&lab->tape)) {
        fprintf(stderr, "%s\n", lab->tape.status.text);
        exit(1);
    }
    o.n = o.node->n;
    o.point = _arb_vec_init((slong)o.n);
    int64_t width = rank && shape[rank - 1] > 0 ? shape[rank - 1] : 1;
    if (inexact) (void)node_need_errors(&lab->tape, o.node);
    for (size_t i = 0; i < o.n; i++) {
        double x = next_value(&lab->numbers, data, i, i ? o.node->value[i - 1] : 0, width), e = 0,
               share = 0;
        o.node->value[i] = x;
        if (inexact && numbers_next(&lab->numbers) % 2) {
            e = fabs(x) * ldexp(1 + numbers_uniform(&lab->numbers),
                                -20 - (int)(numbers_next(&lab->numbers) % 35));
            uint64_t choice = numbers_next(&lab->numbers);
            share = choice % 3 == 0   ? 1
                    : choice % 3 == 1 ? -1
                                      : 2 * numbers_uniform(&lab->numbers) - 1;
        }
        if (inexact && o.node->error) o.node->error[i] = e;
        arb_t move;
        arb_init(move);
        arb_set_d(o.point + i, x);
        arb_set_d(move, e);
        arb_t factor;
        arb_init(factor);
        arb_set_d(factor, share);
        arb_addmul(o.point + i, move, factor, ARF_PREC_EXACT);
        arb_clear(move);
        arb_clear(factor);
    }
    return o;
}

void operand_clear(struct operand *operand) { _arb_vec_clear(operand->point, (slong)operand->n); }

void judge_element(struct findings *findings, const struct node *node, size_t i, const arb_t exact,
                   const char *what)
{
    double value = node->value[i], bound = node_error(node, i);
    struct distance d, moved;

    findings->elements++;
    if (!isfinite(value) || isnan(bound) || bound < 0) {
        findings->wrong++;
        fprintf(stderr, "%s[%zu] = %g +- %g\n", what, i, value, bound);
        return;
    }
    if (isinf(bound)) {
        findings->unclaimed++;
        return;
    }
    if (!oracle_distance(&d, exact, value)) {
        findings->unseen++;
        return;
    }
    findings->nonzero += d.least > 0;
    if (value != 0)
        findings->widest = fmax(findings->widest, bound / (UNIT_ROUNDOFF * fabs(value)));
    if (d.least > bound) {
        if (findings->wrong++ < 5) {
            char *text = arb_get_str(exact, 25, ARB_STR_MORE);
            fprintf(stderr, "%s[%zu] = %.17g +- %.3g, exact %s\n", what, i, value, bound, text);
            flint_free(text);
        }
        return;
    }
    double broken = value + 2.01 * bound;
    if (bound > 256 * UNIT_ROUNDOFF * fabs(value) && oracle_distance(&moved, exact, broken) &&
        !(moved.least > bound))
        findings->unseen++;
}

void judge_pair(struct findings *findings, struct node *node, size_t i, const arb_t exact,
                const char *what)
{
    struct enclosure enclosure = { .limit = SIZE_MAX };
    struct pair pair = { NAN, NAN, 0 };
    struct distance d;
    arb_t rest;
    bool holds = enclosure_pair(&enclosure, &pair, node, i);
    arb_init(rest);
    if (holds) {
        arb_set_d(rest, pair.hi);
        arb_sub(rest, exact, rest, ARF_PREC_EXACT);
        holds = oracle_distance(&d, rest, pair.lo) && d.least <= pair.error;
    }
    if (!holds && findings->wrong++ < 5)
        fprintf(stderr, "%s: pair [%zu] = %.17g + %.17g +- %.3g\n", what, i, pair.hi, pair.lo,
                pair.error);
    arb_clear(rest);
}
