#include "bench/decide.h"

#include "bench/pull.h"

enum { FIRST_BITS = 128, LAST_BITS = 1024, MOST_WORK = 20000 };

/* The sign of a difference of balls; *told is false when it contains 0 and is not 0. */
static int ball_order(bool *told, struct node *a, size_t i, struct node *b, size_t j, slong bits)
{
    struct pull *pull = pull_open(bits, MOST_WORK);
    int order = 0;
    arb_t x, y;

    *told = false;
    if (!pull) return 0;
    arb_init(x);
    arb_init(y);
    pull_element(pull, x, a, i);
    pull_element(pull, y, b, j);
    arb_sub(x, x, y, bits);
    if (arb_is_finite(x) && (!arb_contains_zero(x) || arb_is_zero(x))) {
        *told = true;
        order = arf_sgn(arb_midref(x));
    }
    arb_clear(x);
    arb_clear(y);
    pull_close(pull);
    return order;
}

int decide_order(struct node *a, size_t i, struct node *b, size_t j)
{
    double x = a->value[i], y = b->value[j];
    double distance = fabs(x - y), reach = node_error(a, i) + node_error(b, j);
    int order = (x > y) - (x < y);

    if (distance > reach || reach == 0 || isnan(distance)) return order;
    for (slong bits = FIRST_BITS; bits <= LAST_BITS; bits *= 2) {
        bool told;
        int exact = ball_order(&told, a, i, b, j, bits);
        if (told) return exact;
    }
    return 0;
}
