/* Casts between real, integral and complex values. */
#include "bench/primitives/casts.h"

#include <arb.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/chain_rule.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"

/* ---- integral to real ----------------------------------------------------------------------- */

static const struct primitive to_real_primitive = { "a cast to real", NULL, input_enclose,
                                                    input_pair };

/* Are all elements doubles? */
static bool fits_double(const struct node *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->integer[i] > INT64_C(1) << 53 || x->integer[i] < -(INT64_C(1) << 53)) return false;
    return true;
}

struct node *node_to_real(struct tape *tape, struct node *x)
{
    if (!x->integer) return x;
    bool exact = fits_double(x);
    struct node *node =
        exact ? node_new_real(tape, x->dtype, x->rank, x->shape)
              : node_new(tape, &to_real_primitive, x->dtype, x->rank, x->shape, 1, &x, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < x->n; i++) node->value[i] = (double)x->integer[i];
    if (!exact) node->relative = UNIT_ROUNDOFF * 2;
    return node;
}

/* ---- to other dtypes ------------------------------------------------------------------------ */

struct node *node_to_integer(struct tape *tape, struct node *x, enum dtype dtype)
{
    struct node *node = node_new_integer(tape, dtype, x->rank, x->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    const double *value = x->integer ? NULL : node_values(tape, x);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < x->n; i++) {
        int64_t k;
        if (x->integer) k = dtype == DT_BOOL ? x->integer[i] != 0 : x->integer[i];
        else if (dtype == DT_BOOL)
            k = value[i] != 0 || (x->imaginary && x->imaginary->value[i] != 0);
        else dtype_to_int64(&k, &value[i], DT_F64, 1);
        if (dtype_info(dtype)->kind == KIND_INTEGER && dtype_info(dtype)->bytes < 8) {
            unsigned char narrow[8];
            dtype_from_int64(narrow, dtype, &k, 1);
            dtype_to_int64(&k, narrow, dtype, 1);
        }
        node->integer[i] = k;
    }
    return node;
}

struct node *node_cast(struct tape *tape, struct node *x, enum dtype dtype)
{
    if (x->dtype == dtype) return x;
    if (dtype_is_integral(dtype)) return node_to_integer(tape, x, dtype);
    struct node *real = node_with_dtype(tape, node_to_real(tape, x), dtype);
    if (tape_failed(tape)) return tape_failure(tape);
    if (dtype_is_complex(dtype) && !real->imaginary) {
        if (real == x) real = node_alias(tape, x, dtype);
        if (tape_failed(tape)) return tape_failure(tape);
        struct node *zero = node_constant(tape, DT_F64, 0, x->rank, x->shape);
        zero->dtype = dtype;
        real->imaginary = zero;
    }
    if (!dtype_is_complex(dtype)) real->imaginary = NULL;
    return real;
}

/* ---- of operands ------------------------------------------------------------------------------ */

static void cast_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    tape_accumulate(tape, node->inputs[0], cotangent);
}

static const struct primitive cast_primitive = { "a cast", cast_backward, input_enclose,
                                                 input_pair };

/* Has `dtype` fewer digits than x may have? */
static bool is_shortened(const struct node *x, enum dtype dtype)
{
    if (x->imaginary || x->dtype == DT_NONE || !dtype_is_float(dtype)) return false;
    int bits = dtype_info(dtype)->significand_bits;
    if (bits >= 24 || x->dtype == DT_BOOL) return false;
    return x->integer || dtype_info(x->dtype)->significand_bits > bits;
}

struct node *node_staged_operand(struct tape *tape, struct node *x, enum dtype dtype)
{
    if (!(tape->stage > 0 || tape->deviation) || tape_failed(tape) || !is_shortened(x, dtype))
        return x;
    x = node_to_real(tape, x);
    const double *value = node_values(tape, x);
    struct node *node = node_new(tape, &cast_primitive, dtype, x->rank, x->shape, 1, &x, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    memcpy(node->value, value, x->n * sizeof *value);
    if (tape_is_model(tape) && node_need_errors(tape, node))
        for (size_t i = 0; i < x->n; i++) node->error[i] = node_error(x, i);
    model_stages(tape, node);
    return node;
}

static void staged_cotangent_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const enum dtype *own = node->parameters;
    tape_accumulate(tape, node->inputs[0], node_staged_operand(tape, cotangent, *own));
}

static const struct primitive staged_cotangent = { "a result in a wider dtype",
                                                   staged_cotangent_backward, input_enclose,
                                                   input_pair };

struct node *node_staged_cotangent(struct tape *tape, struct node *y, enum dtype own)
{
    if (!(tape->stage > 0 || tape->deviation) || tape_failed(tape) || y->integer) return y;
    enum dtype *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!kept) return y;
    *kept = own;
    return node_sharing(tape, &staged_cotangent, y, 1, &y, kept);
}

/* ---- operands in a narrower dtype ------------------------------------------------------------ */

/* In a model: x as it is after a rounding to `dtype`, whose typical error is 1/sqrt(3) of the largest, not the quarter of a function. */
static struct node *model_rounding(struct tape *tape, struct node *x, enum dtype dtype)
{
    double roundings = ldexp(1, -dtype_info(dtype)->significand_bits) / tape->unit;
    return node_model_error(tape, x, x, (tape_is_typical(tape) ? 2.4 : 1) * roundings);
}

/* The gradient comes back in the narrower dtype. */
static void rounded_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    tape_accumulate(tape, node->inputs[0], model_rounding(tape, cotangent, node->dtype));
}

static void rounded_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    (void)enclosure;
    arb_set_d(ball, node->value[i]);
}

static const struct primitive rounded_primitive = { "a rounded operand", rounded_backward,
                                                    rounded_enclose, NULL };

struct node *node_cast_operand(struct tape *tape, struct node *x, enum dtype dtype)
{
    bool narrows = !x->integer && !x->imaginary && dtype_is_float(x->dtype) &&
                   dtype_is_float(dtype) &&
                   dtype_info(dtype)->significand_bits < dtype_info(x->dtype)->significand_bits;
    if (x->imaginary && dtype_is_float(dtype)) /* its real part, which may be rounded */
        return node_cast_operand(tape, node_cast(tape, x, dtype_component(x->dtype)), dtype);
    if (!narrows) return node_cast(tape, x, dtype);
    const double *value = node_values(tape, x);
    if (tape_failed(tape) || x->error || x->relative != 0 || x->absolute != 0)
        return node_cast(tape, x, dtype);
    struct node *node = node_new(tape, &rounded_primitive, dtype, x->rank, x->shape, 1, &x, NULL);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) {
        unsigned char narrow[8];
        dtype_from_double(narrow, dtype, &value[i], 1);
        dtype_to_double(&node->value[i], narrow, dtype, 1);
    }
    return node;
}

/* ---- steps in a narrower dtype --------------------------------------------------------------- */

static void narrow_step_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const enum dtype *own = node->parameters;
    tape_accumulate(tape, node->inputs[0], model_rounding(tape, cotangent, *own));
}

static const struct primitive narrow_step = { "a step in a narrower dtype", narrow_step_backward,
                                              input_enclose, input_pair };

struct node *node_model_narrow_step(struct tape *tape, struct node *x, enum dtype own,
                                    enum dtype wide)
{
    if (!tape_is_model(tape) || tape_failed(tape) || x->integer || x->imaginary) return x;
    if (!dtype_is_float(own) || !dtype_is_float(wide)) return x;
    if (dtype_info(own)->significand_bits >= dtype_info(wide)->significand_bits) return x;
    enum dtype *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!kept) return x;
    *kept = own;
    x = model_rounding(tape, x, own);
    return node_sharing(tape, &narrow_step, x, 1, &x, kept);
}
