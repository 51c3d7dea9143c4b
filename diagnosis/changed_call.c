/* The bench evaluates; memory and steps of an evaluation end with it. */
#include "diagnosis/changed_call.h"

#include <stdio.h>

struct status subject_offer_change(struct subject *s, const struct claim *claim,
                                   const struct what_if *change, double slower)
{
    double *values;
    if (!subject_spend(s, slower * s->call_work + 8 * (double)s->n)) return status_ok();
    struct arena_mark mark = arena_mark(s->arena);
    subject_allow(s);
    struct status status =
        bench_what_if(&values, s->n, s->request->bench, s->result, change, s->arena);
    if (!status.code) status = subject_offer(s, claim, values);
    arena_rewind(s->arena, mark);
    return subject_pass_over(s, status);
}

int tensor_parameter(const struct subject *s, size_t i)
{
    const struct schema *schema = bench_schema(s->request->bench);
    const struct tensor *tensor = bench_tensor(s->request->bench, i)->tensor.tensor;
    for (int p = 0; tensor && p < schema->count; p++) {
        const struct value *bound = bench_bound(s->request->bench, p);
        if (bound->kind == VALUE_TENSOR && bound->tensor.tensor == tensor) return p;
    }
    return -1;
}

void tensor_name(char out[TENSOR_NAME_BYTES], const struct subject *s, size_t i)
{
    int p = tensor_parameter(s, i);
    if (p >= 0)
        (void)snprintf(out, TENSOR_NAME_BYTES, "%s",
                       bench_schema(s->request->bench)->parameters[p].name);
    else (void)snprintf(out, TENSOR_NAME_BYTES, "tensor %zu", i + 1);
}
