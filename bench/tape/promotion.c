/* The result type of mixed operands. */
#include "bench/tape/promotion.h"

/* Rank within the lattice bool < integers < floats < complex; equal kinds by width. */
enum dtype dtype_promote(enum dtype a, enum dtype b)
{
    if (a == DT_NONE || a == b) return b;
    if (b == DT_NONE) return a;
    const struct dtype_info *x = dtype_info(a), *y = dtype_info(b);
    if (x->kind != y->kind) {
        enum dtype wide = x->kind > y->kind ? a : b, other = x->kind > y->kind ? b : a;
        if (dtype_info(wide)->kind == KIND_COMPLEX && dtype_info(other)->kind == KIND_FLOAT)
            return wide == DT_C128 || other == DT_F64 ? DT_C128 : DT_C64;
        return wide;
    }
    if (x->kind == KIND_INTEGER && x->bytes == 1 && y->bytes == 1) return DT_I16; /* int8, uint8 */
    if (x->kind == KIND_FLOAT && x->bytes == y->bytes) /* half with bfloat16 */
        return x->bytes == 2 ? DT_F32 : DT_F16;
    return x->bytes > y->bytes ? a : b;
}
