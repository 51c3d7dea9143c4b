/* The errors of a node as those of a reference's components. */
#include "bench/model_errors.h"

#include <math.h>

/* A model that cannot be had is left out; memory that is short asks for another attempt. */
static struct status failure_of_model(const struct tape *tape)
{
    return tape->status.code == STATUS_NO_MEMORY ? tape->status : status_ok();
}

struct status model_errors(double **errors, struct tape *tape, struct node *node,
                           const struct reference *r, struct arena *arena)
{
    const struct dtype_info *info = dtype_info(r->dtype);
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
                e = tape_is_typical(tape) ? sqrt(fmax(e * e - last * last / 3, 0))
                                          : fmax(e - last, 0);
            out[i * parts + part] = e <= info->largest ? e : INFINITY;
        }
    }
    *errors = out;
    return status_ok();
}
