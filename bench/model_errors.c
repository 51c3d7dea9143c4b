/* The errors of a node as those of a reference's components. */
#include "bench/model_errors.h"

#include <math.h>
#include <string.h>

#include "core/vectorize.h"

/* A model that cannot be had is left out; memory that is short asks for another attempt. */
static struct status failure_of_model(const struct tape *tape)
{
    return tape->status.code == STATUS_NO_MEMORY ? tape->status : status_ok();
}

/* Errors beyond this have overflowed on their way: those of a kernel in the type that it computes in, which is not that of
 * a narrow result; rounded between the steps, in the result's. */
static double largest_of(const struct tape *tape, enum dtype dtype)
{
    return dtype_info(tape->stage > 0 ? dtype : tape->wide ? DT_F64 : DT_F32)->largest;
}

/* What leads from the errors of a node's elements to those of a reference. */
struct conversion {
    double most;
    double last; /* the unit of the last rounding, which is not counted; 0: of another type */
    bool typical, wide;
};

/* A typical error e without the last rounding, whose square is last^2 / 3: from squares, or, where those underflow, from the
 * quotient. */
static inline double without_last(double e, double last, bool wide)
{
    double quotient = last / e;
    double rest = wide ? 1 - quotient * quotient / 3 : e * e - last * last / 3;
    double root = sqrt(rest > 0 ? rest : 0);
    return wide ? e * root : root;
}

/* One error, of a value of this size. */
static inline double converted(double error, double size, const struct conversion *c)
{
    double e = size < INFINITY ? error : 0, last = c->last * size;
    double without = c->typical && c->last > 0 ? without_last(e, last, c->wide)
                     : e > last                ? e - last
                                               : 0;
    e = e > 0 ? without : e;
    return e <= c->most ? e : INFINITY;
}

/* In place; nowhere above `most`, where it is not NULL. */
VECTORIZED static void convert_block(double *restrict error, const double *restrict value,
                                     const double *restrict most,
                                     const struct conversion *conversion, size_t n)
{
    const struct conversion c = *conversion;
    const double *restrict limit = readable(most, value);
    for (size_t i = 0; i < n; i++) {
        double e = converted(error[i], fabs(value[i]), &c);
        error[i] = most && e > limit[i] ? limit[i] : e;
    }
}

VECTORIZED static void convert_uniform(double *restrict out, const double *restrict value,
                                       const double *restrict most, double relative,
                                       double absolute, const struct conversion *conversion,
                                       size_t n)
{
    const struct conversion c = *conversion;
    const double *restrict limit = readable(most, value);
    for (size_t i = 0; i < n; i++) {
        double size = fabs(value[i]), e = converted(relative * size + absolute, size, &c);
        out[i] = most && e > limit[i] ? limit[i] : e;
    }
}

/* The errors of a node, and what they are written to, `out`, which may be its own array. */
struct conversion_of_node {
    const struct node *node;
    const double *error, *most; /* NULL: made, or of the uniform form; no limit */
    double *out;
    const struct conversion *conversion;
};

static void convert_some(void *context, size_t start, size_t count)
{
    enum { BLOCK = 1024 };
    const struct conversion_of_node *c = context;
    const struct node *node = c->node;
    double *stored = node_stored_values(node);
    const double *value = stored ? stored : node->value;
    for (size_t i = start, n; i < start + count; i += n) {
        const double *most = c->most ? c->most + i : NULL;
        n = start + count - i < BLOCK ? start + count - i : BLOCK;
        if (stored) node_make_some(node, i, n, stored + i, c->out + i);
        else if (!c->error) {
            convert_uniform(c->out + i, value + i, most, node->relative, node->absolute,
                            c->conversion, n);
            continue;
        } else if (c->out != c->error) memcpy(c->out + i, c->error + i, n * sizeof *c->out);
        convert_block(c->out + i, value + i, most, c->conversion, n);
    }
}

/* Part of every other component, for complex numbers. */
static void spread_parts(double *out, const double *part, size_t which, size_t n)
{
    for (size_t i = 0; i < n; i++) out[2 * i + which] = part ? part[i] : 0;
}

/* One part's errors, in place where the node's array may be `taken`. */
static struct status convert_part(double **out, struct tape *tape, struct node *node,
                                  const struct conversion *conversion, const double *most,
                                  bool taken, struct arena *arena)
{
    if (!node_stored_values(node)) (void)node_values(tape, node);
    if (tape_failed(tape)) return status_ok();
    double *error = node->of_result ? node->of_result : node->error;
    taken &= error == node->error;
    *out = taken && error ? error : arena_allocate_array(arena, node->n, sizeof **out);
    if (!*out) return status_no_memory(node->n * sizeof **out);
    struct conversion_of_node all = { node, error, most, *out, conversion };
    parallel_elements(tape->help, node->n, convert_some, &all);
    return status_ok();
}

VECTORIZED static void take_smaller(double *restrict a, const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] = a[i] > b[i] ? b[i] : a[i];
}

struct status model_errors(double **errors, struct tape *tape, struct node *node,
                           const struct reference *r, const double *most, bool taken,
                           struct arena *arena)
{
    const struct dtype_info *info = dtype_info(r->dtype);
    bool complex = dtype_is_complex(r->dtype);
    bool computed_in_it = info->significand_bits == (tape->wide ? 53 : 24);
    const struct conversion conversion = { largest_of(tape, r->dtype),
                                           computed_in_it ? tape->unit : 0, tape_is_typical(tape),
                                           tape->wide };
    double *part = NULL;

    *errors = NULL;
    if (tape_failed(tape)) return failure_of_model(tape);
    if (node->integer || node->n * (complex ? 2 : 1) != r->n) return status_ok();
    if (!complex) {
        TRY(convert_part(&part, tape, node, &conversion, most, taken, arena));
        if (tape_failed(tape)) return failure_of_model(tape);
        *errors = part;
        return status_ok();
    }
    double *out = arena_allocate_array(arena, r->n, sizeof *out);
    if (!out) return status_no_memory(r->n * sizeof *out);
    for (size_t which = 0; which < 2; which++) {
        struct node *x = which ? node->imaginary : node;
        if (x) TRY(convert_part(&part, tape, x, &conversion, NULL, false, arena));
        if (tape_failed(tape)) return failure_of_model(tape);
        spread_parts(out, x ? part : NULL, which, node->n);
    }
    if (most) take_smaller(out, most, r->n);
    *errors = out;
    return status_ok();
}
