/* Order by balls at growing precision, for the few pairs that doubles with bounds leave open. */
#include "bench/tape/decisions.h"

#include "bench/tape/enclosure.h"

enum { FIRST_BITS = 128, LAST_BITS = 1024, MOST_WORK = 20000 };

/* What balls of one precision say. */
enum told { TOO_MUCH_WORK, NOT_TOLD, TOLD };

/* The sign of a difference of balls; NOT_TOLD when it contains 0 and is not 0. */
static int ball_order(enum told *told, struct node *a, size_t i, struct node *b, size_t j,
                      slong bits)
{
    struct enclosure *enclosure = enclosure_open(bits, MOST_WORK);
    int order = 0;
    arb_t x, y;

    *told = TOO_MUCH_WORK;
    if (!enclosure) return 0;
    arb_init(x);
    arb_init(y);
    enclosure_element(enclosure, x, a, i);
    enclosure_element(enclosure, y, b, j);
    arb_sub(x, x, y, bits);
    if (arb_is_finite(x)) *told = NOT_TOLD;
    if (arb_is_finite(x) && (!arb_contains_zero(x) || arb_is_zero(x))) {
        *told = TOLD;
        order = arf_sgn(arb_midref(x));
    }
    arb_clear(x);
    arb_clear(y);
    enclosure_close(enclosure);
    return order;
}

int decide_order(struct node *a, size_t i, struct node *b, size_t j)
{
    double x = a->value[i], y = b->value[j];
    double distance = fabs(x - y), reach = node_error(a, i) + node_error(b, j);
    int order = (x > y) - (x < y);

    if (distance > reach || reach == 0 || isnan(distance)) return order;
    for (slong bits = FIRST_BITS; bits <= LAST_BITS; bits *= 2) {
        enum told told;
        int exact = ball_order(&told, a, i, b, j, bits);
        if (told == TOLD) return exact;
        if (told == TOO_MUCH_WORK) return order;
    }
    return 0;
}
