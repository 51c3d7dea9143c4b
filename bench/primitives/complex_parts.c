/* Complex values as two real nodes. */
#include "bench/primitives/complex_parts.h"

#include <string.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/tape/promotion.h"

/* The complex dtype whose components have the given dtype. */
static enum dtype complex_of(enum dtype component)
{
    return component == DT_F64 || component == DT_C128 ? DT_C128 : DT_C64;
}

struct node *node_complex(struct tape *tape, struct node *re, struct node *im)
{
    enum dtype dtype = complex_of(dtype_promote(re->dtype, im->dtype));
    re = node_to_real(tape, re);
    im = node_to_real(tape, im);
    if (re->rank != im->rank || memcmp(re->shape, im->shape, (size_t)re->rank * sizeof *re->shape))
        tape_fail(tape, STATUS_SKIP, "real and imaginary part differ in shape");
    struct node *out = node_alias(tape, re, dtype), *other = node_alias(tape, im, dtype);
    if (tape_failed(tape)) return tape_failure(tape);
    out->imaginary = other;
    return out;
}

struct node *node_real_part(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return x;
    struct node *out = node_alias(tape, x, dtype_component(x->dtype));
    if (!tape_failed(tape)) out->imaginary = NULL;
    return out;
}

struct node *node_imaginary_part(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return node_constant(tape, dtype_component(x->dtype), 0, x->rank, x->shape);
    return node_alias(tape, x->imaginary, dtype_component(x->dtype));
}
