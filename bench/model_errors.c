/* The errors of a node as those of a reference's components. */
#include "bench/model_errors.h"

#include <math.h>

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

struct status model_errors(double **errors, struct tape *tape, struct node *node,
                           const struct reference *r, struct arena *arena)
{
    const struct dtype_info *info = dtype_info(r->dtype);
    double most = largest_of(tape, r->dtype);
    size_t parts = dtype_is_complex(r->dtype) ? 2 : 1;
    bool computed_in_it = info->significand_bits == (tape->wide ? 53 : 24);

    *errors = NULL;
    if (tape_failed(tape)) return failure_of_model(tape);
    if (node->integer || node->n * parts != r->n) return status_ok();
    double *out = arena_allocate_array(arena, r->n, sizeof *out);
    if (!out) return status_no_memory(r->n * sizeof *out);
    for (size_t part = 0; part < parts; part++) {
        struct node *x = part ? node->imaginary : node;
        const double *value = x ? node_values(tape, x) : NULL;
        if (x && tape_failed(tape)) return failure_of_model(tape);
        for (size_t i = 0; i < node->n; i++) {
            double e = x ? node_error(x, i) : 0;
            double last = x ? tape->unit * fabs(value[i]) : 0;
            if (e > 0 && computed_in_it)
                e = tape_is_typical(tape) ? e * sqrt(fmax(1 - last / e * (last / e) / 3, 0))
                                          : fmax(e - last, 0);
            out[i * parts + part] = e <= most ? e : INFINITY;
        }
    }
    *errors = out;
    return status_ok();
}
