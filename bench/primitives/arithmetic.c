/* Arithmetic, declared in binary.h: of real numbers functions of two variables, of complex ones spelled out in reals. */
#include "bench/primitives/binary.h"
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/complex_parts.h"

static struct node *complex_binary(struct tape *tape, char operation, struct node *a,
                                   struct node *b)
{
    struct node *ar = node_real_part(tape, a), *ai = node_imaginary_part(tape, a);
    struct node *br = node_real_part(tape, b), *bi = node_imaginary_part(tape, b);
    struct node *re, *im;

    switch (operation) {
    case '+':
        re = node_add(tape, ar, br);
        im = node_add(tape, ai, bi);
        break;
    case '-':
        re = node_subtract(tape, ar, br);
        im = node_subtract(tape, ai, bi);
        break;
    case '*':
        re = node_subtract(tape, node_multiply(tape, ar, br), node_multiply(tape, ai, bi));
        im = node_add(tape, node_multiply(tape, ar, bi), node_multiply(tape, ai, br));
        break;
    default: { /* a * conj(b) / |b|^2 */
        struct node *norm =
            node_add(tape, node_multiply(tape, br, br), node_multiply(tape, bi, bi));
        re = node_add(tape, node_multiply(tape, ar, br), node_multiply(tape, ai, bi));
        im = node_subtract(tape, node_multiply(tape, ai, br), node_multiply(tape, ar, bi));
        re = node_divide(tape, re, norm);
        im = node_divide(tape, im, norm);
    }
    }
    return node_complex(tape, re, im);
}

static struct node *arithmetic(struct tape *tape, char operation, const char *name, struct node *a,
                               struct node *b)
{
    if (a->imaginary || b->imaginary) return complex_binary(tape, operation, a, b);
    return node_binary(tape, binary_find(name), a, b);
}

struct node *node_add(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '+', "add", a, b);
}

struct node *node_subtract(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '-', "subtract", a, b);
}

struct node *node_multiply(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '*', "multiply", a, b);
}

struct node *node_divide(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '/', "divide", a, b);
}

/* A real number beside a complex one leaves the signs of zeros and the infinities of the imaginary part alone. */
struct node *node_scale(struct tape *tape, struct node *x, double factor)
{
    if (factor == 1) return x;
    if (x->imaginary)
        return node_complex(tape, node_scale(tape, node_real_part(tape, x), factor),
                            node_scale(tape, node_imaginary_part(tape, x), factor));
    return node_multiply(tape, x, node_scalar(tape, factor));
}

struct node *node_offset(struct tape *tape, struct node *x, double term)
{
    if (term == 0) return x;
    if (x->imaginary)
        return node_complex(tape, node_offset(tape, node_real_part(tape, x), term),
                            node_imaginary_part(tape, x));
    return node_add(tape, x, node_scalar(tape, term));
}

struct node *node_negate(struct tape *tape, struct node *x) { return node_scale(tape, x, -1); }
