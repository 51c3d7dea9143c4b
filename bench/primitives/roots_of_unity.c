/* The angle 2 pi p / n is brought into its octant in integers, so nothing cancels and quarters are exact.
 *
 * There |x| <= pi / 4 for x = fl(fl(2 pi) fl(j / n)): three roundings move it by 3 u |x|, which moves sin x
 * and cos x by at most 3 u relative; the library adds 2 u. */
#include "bench/primitives/roots_of_unity.h"

#include <arb.h>
#include <math.h>

#include "bench/arithmetic/rounding.h"
#include "bench/tape/enclosure.h"

struct roots {
    enum root_part part;
    int64_t n, columns;
};

/* Which multiple of 2 pi / n element i is the cosine of: a sine is the cosine a quarter turn before. In
 * quarters of a step: cos(2 pi p / (4 n)). */
static int64_t quarter_steps(const struct roots *roots, size_t i)
{
    __int128 product = (__int128)(i / (size_t)roots->columns) * (i % (size_t)roots->columns);
    int64_t p = (int64_t)(product % roots->n) * 4;
    if (roots->part == ROOT_SINE) p -= roots->n;
    if (roots->part == ROOT_MINUS_SINE) p += roots->n;
    return p;
}

/* cos(2 pi p / (4 n)), |p| < 8 n. */
static double cosine(int64_t p, int64_t n)
{
    int64_t turn = 4 * n;
    p = p < 0 ? -p : p;
    p %= turn;
    if (p > turn / 2) p = turn - p; /* 0 .. half a turn */
    bool negative = p > n;
    if (negative) p = turn / 2 - p; /* 0 .. a quarter: p <= n */
    double value = 2 * p <= n ? cos(2 * M_PI * ((double)p / (double)turn))
                              : sin(2 * M_PI * ((double)(n - p) / (double)turn));
    return negative ? -value : value;
}

static void roots_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct roots *roots = node->parameters;
    fmpq_t turns; /* half turns, which arb_cos_pi_fmpq counts in */
    fmpq_init(turns);
    fmpq_set_si(turns, quarter_steps(roots, i), (ulong)(2 * roots->n));
    arb_cos_pi_fmpq(ball, turns, enclosure->precision);
    fmpq_clear(turns);
}

static const struct primitive roots_primitive = { "roots of unity", NULL, roots_enclose, NULL };

static bool is_exact(double value) { return value == 0 || fabs(value) == 1; }

struct node *node_roots_of_unity(struct tape *tape, enum dtype dtype, enum root_part part,
                                 int64_t n, int64_t rows, int64_t columns)
{
    struct roots *roots = tape_allocate(tape, 1, sizeof *roots);
    if (!roots) return tape_failure(tape);
    *roots = (struct roots){ part, n, columns };
    struct node *node =
        node_new(tape, &roots_primitive, dtype, 3, (int64_t[]){ 1, rows, columns }, 0, NULL, roots);
    if (tape_failed(tape)) return tape_failure(tape);
    bool exact = true;
    for (size_t i = 0; i < node->n; i++) {
        node->value[i] = cosine(quarter_steps(roots, i), n);
        exact = exact && is_exact(node->value[i]);
    }
    if (tape_is_reference(tape) && !exact)
        node->relative = tape_is_model(tape) ? tape->unit : 5 * UNIT_ROUNDOFF;
    node_round(tape, node);
    return node;
}
