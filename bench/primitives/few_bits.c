/* Elements are read a block at a time, as they are stored. */
#include "bench/primitives/few_bits.h"

bool few_bits_add(struct number_grid *grid, const struct node *x, int bits)
{
    enum { BLOCK = 512 };
    double buffer[BLOCK];
    if (x->integer || !node_is_exact(x)) return false;
    for (size_t start = 0; start < x->n; start += BLOCK) {
        size_t count = x->n - start < BLOCK ? x->n - start : BLOCK;
        if (!grid_add(grid, node_block(x, start, count, buffer), count, bits)) return false;
    }
    return true;
}

bool few_bits_product(const struct node *a, const struct node *b, size_t k, int bits)
{
    struct number_grid grids[2] = { NO_NUMBERS, NO_NUMBERS };
    return few_bits_add(&grids[0], a, bits) && few_bits_add(&grids[1], b, bits) &&
           grid_products_are_exact(&grids[0], &grids[1], k, bits);
}
