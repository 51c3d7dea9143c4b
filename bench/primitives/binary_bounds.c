/* What is known of all operands at once decides: exact ones leave one rounding, relative bounds give a relative bound, powers of two
 * round nothing. Where nothing of the kind holds each element has a bound of its own (binary_elements.c). */
#include "bench/primitives/binary_bounds.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "core/kernel_modes.h"

/* A bound that is relative but for what underflow loses. */
static bool is_relative(const struct node *x) { return !x->error && x->absolute <= 0x1p-1040; }

static bool is_moderate(const struct node *x)
{
    double most = 0, buffer[BINARY_BLOCK];
    for (size_t start = 0; start < x->n; start += BINARY_BLOCK) {
        size_t count = x->n - start < BINARY_BLOCK ? x->n - start : BINARY_BLOCK;
        const double *value = node_block(x, start, count, buffer);
        for (size_t i = 0; i < count; i++) most = fmax(most, fabs(value[i]));
    }
    return most < 0x1p100;
}

/* Products and quotients of relative bounds have a relative bound: no array is needed. What
 * underflow loses in an operand below 2^-1040 grows by the other one, at most 2^100. */
static bool relative_bound(struct node *node, const struct node *a, const struct node *b,
                           char operation)
{
    if ((operation != '*' && operation != '/') || !is_relative(a) || !is_relative(b)) return false;
    if (operation == '/' && (b->absolute > 0 || b->relative > 0x1p-20)) return false;
    double sum = a->relative + b->relative + 2 * a->relative * b->relative;
    if (a->absolute > 0 || b->absolute > 0) {
        if (operation == '/' || !is_moderate(a) || !is_moderate(b)) return false;
        node->absolute = 0x1p-930;
    } else {
        node->absolute = 0x1p-1074;
    }
    node->relative = (sum + (operation == '/' ? 4 * b->relative * sum : 0) + UNIT_ROUNDOFF) *
                     (1 + 0x1p-40);
    return true;
}

/* An exact number +-2^k. */
static bool is_power_of_two(const struct node *x)
{
    int exponent;
    return x->n == 1 && node_is_exact(x) && fabs(frexp(x->value[0], &exponent)) == 0.5;
}

/* Is every element 0 or +-2^k, exactly? Products with them round nothing but what underflows: masks, signs, slopes of selections,
 * halves. `least`: the smallest that is not 0, at most 1. */
static bool is_all_powers(double *least, const struct node *x)
{
    double buffer[BINARY_BLOCK];
    int exponent;
    *least = 1;
    if (!node_is_exact(x)) return false;
    for (size_t start = 0; start < x->n; start += BINARY_BLOCK) {
        size_t count = x->n - start < BINARY_BLOCK ? x->n - start : BINARY_BLOCK;
        const double *value = node_block(x, start, count, buffer);
        for (size_t i = 0; i < count; i++) {
            double size = fabs(value[i]);
            if (size == 0 || size == 1) continue;
            if (frexp(size, &exponent) != 0.5) return false;
            *least = fmin(*least, size);
        }
    }
    return true;
}

/* A product that rounds nothing in a model. */
static bool is_unrounded(double *least, const struct binary_context *c, const struct node *a,
                         const struct node *b)
{
    return c->operation == '*' && (is_all_powers(least, a) || is_all_powers(least, b));
}

/* Does each element have a bound of its own? */
static bool has_bounds(const struct node *x)
{
    return x->error || (node_is_deferred(x) && x->deferral->bounded);
}

/* Multiplying by +-2^k, or dividing by it, rounds nothing but what underflows. */
static bool scaled_bound(struct node *node, struct binary_context *c, const struct tape *tape,
                         const struct node *x, const struct node *factor)
{
    if (!is_power_of_two(factor) || x->n != node->n) return false;
    c->scale = fabs(c->operation == '/' ? 1 / factor->value[0] : factor->value[0]);
    c->scaled_tiny = c->scale < 1 ? tape->tiny : 0;
    c->scaled = has_bounds(x);
    if (c->scaled) return true;
    node->relative = x->relative;
    node->absolute = x->absolute * c->scale + c->scaled_tiny;
    return true;
}

static bool is_gamma_series(const struct binary_function *f)
{
    return !strcmp(f->name, "igamma") || !strcmp(f->name, "igammac");
}

/* Roundings of unit |y| that a kernel's own function makes: none for copies of a sign and for fmod, which is exact (C23, F.10.7.1,
 * and so in CUDA and OpenCL), one for sums and products and for fmod made to have the sign of b, by adding b, three for quotients, four
 * ulp for library functions, more for a series of dozens of terms. */
static double kernel_roundings(const struct tape *tape, const struct binary_function *f)
{
    char operation = binary_operation(f);
    bool series = is_gamma_series(f);
    if (!strcmp(f->name, "copysign") || !strcmp(f->name, "fmod")) return 0;
    if (!strcmp(f->name, "remainder")) return tape->arithmetic == BENCH_MODEL_TYPICAL ? 0.6 : 1;
    double worst = series ? 64 : !operation ? 8 : operation == '/' ? 3 : 1;
    worst = 2 * kernel_modes_ulps(tape->modes, f->name, worst / 2);
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? fmax(worst / 4, 0.6) : worst;
}

bool binary_choose_bounds(struct node *node, struct binary_context *c, const struct tape *tape,
                          const struct node *a, const struct node *b)
{
    bool exact = node_is_exact(a) && node_is_exact(b), model = tape_is_model(tape);
    double least;
    if ((c->operation == '*' || c->operation == '/') && scaled_bound(node, c, tape, a, b))
        return c->scaled == 1;
    if (c->operation == '*' && scaled_bound(node, c, tape, b, a)) {
        c->scaled *= 2;
        return c->scaled == 2;
    }
    if (model && is_unrounded(&least, c, a, b)) {
        node->absolute = least < 1 ? tape->tiny : 0;
        c->kernel = 0;
        return !exact;
    }
    if (c->operation && exact) {
        node->relative = model ? c->kernel : tape->unit;
        node->absolute = tape->tiny;
        return false;
    }
    if (!model && c->f->vector && exact) {
        node->relative = 2 * UNIT_ROUNDOFF;
        node->absolute = 0x1p-1074;
        return false;
    }
    return model || !relative_bound(node, a, b, c->operation);
}

struct binary_context *binary_open(struct tape *tape, const struct binary_function *f,
                                   struct node *const *operands)
{
    struct binary_context *c = tape_allocate(tape, 1, sizeof *c);
    if (!c) return NULL;
    *c = (struct binary_context){
        .f = f,
        .operation = binary_operation(f),
        .independent = tape_is_typical(tape) && operands[0] != operands[1],
        .single = tape_is_single(tape),
        .model = tape_is_model(tape),
    };
    if (tape_is_model(tape)) {
        bool number = node_is_number(operands[0]) && node_is_number(operands[1]);
        double rounded_once = tape_is_typical(tape) ? 0.6 : 1;
        c->kernel = (number ? rounded_once : kernel_roundings(tape, f)) * tape->unit;
        c->tiny = tape->tiny;
        if (!strcmp(f->name, "igammac") && !number) c->argument = tape->unit;
        if (is_gamma_series(f) && !number)
            c->exponent = tape->unit * (tape_is_typical(tape) ? 1 : 4);
    }
    return c;
}
