/* Floats and integers of four bits, packed. */
#include "bench/ops/four_bits.h"

#include <math.h>
#include <string.h>

static const struct four_bits formats[] = {
    { 296, 2, { 0, 0.5, 1, 1.5, 2, 3, 4, 6 } },             /* e2m1 */
    { 297, 0, { 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75 } }, /* e1m2 */
};

const struct four_bits *four_bits_e2m1(void) { return &formats[0]; }

const struct four_bits *four_bits_named(struct call *call, const char *name)
{
    const struct value *value = call_value(call, name);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (value->kind == VALUE_INT && value->integer == formats[i].number) return &formats[i];
    return NULL;
}

enum four_bits_rounding four_bits_rounding_named(const char *name)
{
    static const char *const names[] = { "rint", "round", "floor" };
    int k = FOUR_BITS_RINT;
    while (k < FOUR_BITS_UNKNOWN && strcmp(names[k], name) != 0) k++;
    return (enum four_bits_rounding)k;
}

/* ---- rounding ------------------------------------------------------------------------------------------------ */

double four_bits_rounded(const struct four_bits *format, double v, enum four_bits_rounding how)
{
    const double *values = format->values;
    double size = fabs(v);
    int below = 7;
    while (below > 0 && values[below] > size) below--;
    int k = below;
    if (below < 7 && size > values[below]) {
        double middle = (values[below] + values[below + 1]) / 2;
        if (how == FOUR_BITS_FLOOR) k += v < 0;
        else if (size == middle) k += how == FOUR_BITS_ROUND || below % 2;
        else k += size > middle;
    }
    return copysign(values[k], v);
}

static int64_t code_of(const struct four_bits *format, double rounded)
{
    int64_t k = 0;
    while (format->values[k] != fabs(rounded)) k++;
    return k | (signbit(rounded) ? 8 : 0);
}

static double value_of(const struct four_bits *format, int64_t code)
{
    return code & 8 ? -format->values[code & 7] : format->values[code & 7];
}

/* ---- words --------------------------------------------------------------------------------------------------- */

/* What a word holds: numbers of a format, or without one integers. */
struct packing {
    const struct between *numbers;
    const struct four_bits *format; /* NULL: integers */
    enum four_bits_rounding how;
    int each; /* numbers in a word */
};

static double integer_rounded(double v) { return fmin(fmax(rint(v), -8), 7); }

static double rounded(const struct packing *p, double v)
{
    return p->format ? four_bits_rounded(p->format, v, p->how) : integer_rounded(v);
}

static bool may_be(void *context, size_t i, int64_t word)
{
    const struct packing *p = context;
    for (int k = 0; k < p->each; k++) {
        size_t at = i * (size_t)p->each + (size_t)k;
        int64_t code = (int64_t)((uint64_t)word >> 4 * k & 15);
        double v = p->format ? value_of(p->format, code) : (double)(code < 8 ? code : code - 16);
        if (v < rounded(p, p->numbers->low[at]) || v > rounded(p, p->numbers->high[at]))
            return false;
    }
    return true;
}

static void return_packed(struct call *call, const struct node *like, struct packing *p,
                          enum dtype dtype)
{
    struct tape *tape = call->tape;
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(
            call, like->rank >= 1 && like->shape[like->rank - 1] % p->each == 0,
            "numbers of four bits fill whole words: the last dimension must be a multiple "
            "of %d",
            p->each))
        return;
    memcpy(shape, like->shape, sizeof shape);
    shape[like->rank - 1] /= p->each;
    struct node *own = node_new_integer(tape, dtype, like->rank, shape);
    for (size_t i = 0; !tape_failed(tape) && i < own->n; i++) {
        uint64_t word = 0;
        for (int k = 0; k < p->each; k++) {
            double v = rounded(p, p->numbers->own[i * (size_t)p->each + (size_t)k]);
            int64_t code = p->format ? code_of(p->format, v) : (int64_t)v & 15;
            word |= (uint64_t)code << 4 * k;
        }
        own->integer[i] = dtype == DT_I32 ? (int32_t)(uint32_t)word : (int64_t)word;
    }
    call_return(call, call_settled_indices(call, call->results.count, own, may_be, p));
}

void call_return_four_bits(struct call *call, const struct node *like,
                           const struct between *numbers, const struct four_bits *format,
                           enum four_bits_rounding how)
{
    struct packing packing = { numbers, format, how, 2 };
    return_packed(call, like, &packing, DT_U8);
}

void call_return_int4(struct call *call, const struct node *like, const struct between *numbers)
{
    struct packing packing = { numbers, NULL, FOUR_BITS_RINT, 8 };
    return_packed(call, like, &packing, DT_I32);
}

struct node *four_bits_unpacked(struct call *call, const struct node *x,
                                const struct four_bits *format)
{
    int64_t shape[TENSOR_MAX_RANK] = { 0 };
    struct tape *tape = call->tape;
    if (!call_require(call,
                      (x->dtype == DT_U8 || x->dtype == DT_I8) && x->rank &&
                          x->shape[x->rank - 1] < INT32_MAX,
                      "floats of four bits come two in a byte"))
        return tape_failure(tape);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] *= 2;
    struct node *y = node_new_real(tape, DT_F32, x->rank, shape);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++)
        y->value[i] = value_of(format, (int64_t)((uint64_t)x->integer[i / 2] >> 4 * (i % 2) & 15));
    return y;
}
