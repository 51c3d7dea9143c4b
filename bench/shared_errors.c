/* Walks over the nodes before the result, which are older. A node that is newer than what it goes into, softmax's sums of
 * exponentials, does not count: what elements share of it is a quarter of what each is off by. */
#include "bench/shared_errors.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/binary.h"
#include "bench/step_name.h"
#include "bench/step_traits.h"

/* Is some element off by more than one rounding, which is at most sqrt 3 times what is expected of it? Numbers are rounded once; where their
 * bound is wider, it is that of a quotient by them. */
static bool is_off(struct tape *tape, struct node *node)
{
    if (!node_is_real(node) || node_is_exact(node) || node_is_number(node)) return false;
    const double *value = node_values(tape, node);
    if (tape_failed(tape)) return false;
    for (size_t i = 0; i < node->n; i++)
        if (node_error(node, i) > 1.5 * tape->unit * fabs(value[i]) + tape->tiny) return true;
    return false;
}

static void mark_inputs(bool *marked, const struct node *node)
{
    for (int i = 0; i < node->input_count; i++) marked[node->inputs[i]->id] = true;
    if (node->imaginary) marked[node->imaginary->id] = true;
}

size_t shared_error_count(struct tape *tape, struct node *result)
{
    size_t fewest = result->n;
    bool *marked = tape_allocate_zeroed(tape, tape->node_count + 1, sizeof *marked);
    if (!marked) return fewest;
    marked[result->id] = true;
    for (struct node *node = result; node; node = node->older) {
        if (!marked[node->id]) continue;
        mark_inputs(marked, node);
        if (node->n && node->n < fewest && is_off(tape, node)) fewest = node->n;
    }
    return fewest;
}

/* The fraction of x, 0 for 0 and powers of two, which round nothing. */
static double fraction_of(double x)
{
    int exponent;
    double m = fabs(frexp(x, &exponent));
    return isfinite(x) && m != 0.5 ? m : 0;
}

/* Are numbers of the call's tensors many different ones? Few numbers say nothing; powers of two round nothing. */
static bool numbers_differ(const struct node *leaf)
{
    enum { LOOKED_AT = 64, FEWEST = 24 };
    double seen[LOOKED_AT];
    size_t count = 0, different = 0;
    for (size_t k = 0; k < LOOKED_AT && leaf->n >= LOOKED_AT; k++) {
        double m = fraction_of(node_value_at(leaf, k * (leaf->n / LOOKED_AT)));
        size_t j = 0;
        if (m == 0) continue;
        while (j < different && seen[j] != m) j++;
        if (j == different) seen[different++] = m;
        count++;
    }
    return different >= FEWEST || different == count;
}

/* Is the step a product by itself, or does it round nothing? */
static bool is_square(const struct node *node)
{
    const char *name = step_name(node);
    return !strcmp(name, "square") || !strcmp(name, "abs");
}

/* Are the errors of x so large that those of a number by which it is multiplied do not matter? These are less than a quarter of them. */
static bool hides_a_rounding(struct tape *tape, struct node *x)
{
    double errors = 0, values = 0;
    const double *value = node_values(tape, x);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) {
        double e = node_error(x, i);
        errors += e * e;
        values += value[i] * value[i];
    }
    return errors > 16 * tape->unit * tape->unit * values;
}

/* What a step may have in common: nothing, a function's errors, or more than that. */
enum common { COMMON_NOTHING, COMMON_FUNCTION, COMMON_MORE };

/* x times or over a number, or plus one. A quotient may be a product by 1 / c, rounded. */
static enum common common_of_scaled(struct tape *tape, struct node *x, struct node *number,
                                    char operation)
{
    double c = node_values(tape, number)[0];
    bool held = operation == '/' ? fraction_of(c) == 0 : (double)(float)c == c;
    if (held) return COMMON_NOTHING;
    bool scaled = operation == '*' || operation == '/';
    return scaled && hides_a_rounding(tape, x) ? COMMON_NOTHING : COMMON_MORE;
}

static enum common common_of(struct tape *tape, struct node *node)
{
    if (!node_is_real(node) || !node->n || node_is_number(node)) return COMMON_NOTHING;
    if (node->imaginary) return COMMON_MORE;
    if (!node->primitive)
        return node->n == 1 || numbers_differ(node) ? COMMON_NOTHING : COMMON_MORE;
    if (step_traits(node) & STEP_INDEPENDENT || is_square(node)) return COMMON_NOTHING;
    char operation = node_operation(node);
    for (int k = 0; operation && k < 2; k++)
        if (node_is_number(node->inputs[k]))
            return common_of_scaled(tape, node->inputs[1 - k], node->inputs[k], operation);
    if (operation && operation != '/') return COMMON_NOTHING;
    return step_traits(node) & STEP_FUNCTION ? COMMON_FUNCTION : COMMON_MORE;
}

double errors_in_common(struct tape *tape, struct node *result)
{
    static const double little = 0.3, function = 1;
    size_t functions = 0;
    bool *marked = tape_allocate_zeroed(tape, tape->node_count + 1, sizeof *marked);
    if (!marked) return 0;
    marked[result->id] = true;
    for (struct node *node = tape->newest; node; node = node->older) {
        if (!marked[node->id]) continue;
        enum common common = common_of(tape, node);
        functions += common == COMMON_FUNCTION;
        if (common == COMMON_MORE || functions > 1) return 0;
        mark_inputs(marked, node);
    }
    return functions ? function : little;
}
