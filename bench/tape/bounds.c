/* Values that overflow in a float kernel and not in double. */
#include "bench/tape/bounds.h"

#include "core/kernel_modes.h"
#include "core/vectorize.h"

static const double LEAST_NORMAL = 0x1p-126; /* of float32 */

VECTORIZED static size_t count_beyond(const double *restrict value, double largest, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += fabs(value[i]) > largest;
    return count;
}

/* Kernels that round between their steps, or flush, have other bounds. */
static double *bounds_of_result(struct tape *tape, const struct node *node)
{
    if (tape->stage > 0 || tape->modes) return NULL;
    double *error = tape_allocate(tape, node->n, sizeof *error);
    for (size_t i = 0; error && i < node->n; i++) error[i] = node_error(node, i);
    return error;
}

void model_overflows(struct tape *tape, struct node *node, bool known)
{
    const double largest = dtype_info(DT_F32)->largest;
    if (!tape_is_model(tape) || tape->wide || tape_failed(tape)) return;
    if (node->deferral && node->deferral->within) return;
    if (!count_beyond(node->value, largest, node->n)) return;
    if (known) node->of_result = bounds_of_result(tape, node);
    bool uniform = !node->error;
    if (!node_need_errors(tape, node)) return;
    for (size_t i = 0; i < node->n; i++) {
        double magnitude = fabs(node->value[i]);
        if (magnitude > largest && isfinite(magnitude)) node->error[i] = INFINITY;
        else if (uniform)
            node->error[i] = isfinite(magnitude) ? node->relative * magnitude + node->absolute : 0;
    }
}

/* Is x a number of the dtype of the stages? The upper bits by Veltkamp's splitting; numbers that may be subnormal are none. */
static bool is_of_stage(const struct tape *tape, double x)
{
    double split = (0x1p53 * tape->stage + 1) * x, upper = split - (split - x);
    return x == 0 || (upper == x && fabs(x) >= tape->stage_tiny / tape->stage);
}

/* `roundings` more roundings to the dtype of the stages; none of exact numbers of that dtype. Nothing is known of what is made of
 * a number that may be beyond its largest. */
static bool add_stages(struct tape *tape, struct node *node, double roundings)
{
    bool typical = tape_is_typical(tape), uniform = !node->error;
    double relative = uniform ? node->relative : 0, absolute = uniform ? node->absolute : 0;
    bool exact = node_is_exact(node);
    if (!node_need_errors(tape, node)) return false;
    for (size_t i = 0; i < node->n; i++) {
        double magnitude = fabs(node->value[i]);
        if (exact && magnitude <= tape->stage_largest && is_of_stage(tape, node->value[i])) {
            node->error[i] = 0;
            continue;
        }
        double step = roundings * (tape->stage * magnitude + tape->stage_tiny);
        double e = uniform ? relative * magnitude + absolute : node->error[i];
        e = typical ? sqrt(e * e + step * step / 3) : e + step;
        if (magnitude + e > tape->stage_largest) e = INFINITY;
        node->error[i] = isfinite(magnitude) ? e : 0;
    }
    return true;
}

static void add_flush(struct tape *tape, struct node *node)
{
    const double *value = node_values(tape, node);
    size_t i = 0;
    while (i < node->n && !(value[i] != 0 && fabs(value[i]) < LEAST_NORMAL)) i++;
    if (i == node->n || tape_failed(tape)) return;
    double relative = node->relative, absolute = node->absolute, *before = node->error;
    double *error = tape_allocate(tape, node->n, sizeof *error);
    if (!error) return;
    for (i = 0; i < node->n; i++) {
        double magnitude = fabs(value[i]);
        double e = before ? before[i] : relative * magnitude + absolute;
        if (magnitude < LEAST_NORMAL) e = fmax(e, magnitude);
        error[i] = isfinite(magnitude) ? e : 0;
    }
    node->error = error;
}

void model_flushes(struct tape *tape, struct node *node)
{
    bool flushes = tape->modes && tape->modes->allowed[KERNEL_FTZ] && tape_is_model(tape);
    if (flushes && !tape->wide && !tape_failed(tape) && !node->integer) add_flush(tape, node);
}

static bool has_stages(const struct tape *tape, const struct node *node)
{
    return tape->stage > 0 && !tape_failed(tape) && !node->integer && node->value && !node->staged;
}

void model_stages(struct tape *tape, struct node *node)
{
    if (has_stages(tape, node)) node->staged = add_stages(tape, node, 1);
    model_flushes(tape, node);
    if (tape->deviation) node_round(tape, node);
}

void model_stages_within(struct tape *tape, struct node *node, double roundings)
{
    if (has_stages(tape, node)) node->composite = add_stages(tape, node, roundings);
}
