/* The bench evaluates; memory and steps of an evaluation end with it. */
#include "diagnosis/changed_call.h"

#include <stdio.h>
#include <string.h>

struct status subject_offer_change(struct subject *s, const struct claim *claim,
                                   const struct what_if *change, double slower)
{
    double *values;
    const struct reference *want = s->request->want;
    const struct shape_of_result shape = { want->rank, want->shape, dtype_is_complex(want->dtype) };
    if (!subject_spend(s, slower * s->call_work + 8 * (double)s->n)) return status_ok();
    struct arena_mark mark = arena_mark(s->arena);
    subject_allow(s);
    struct status status =
        bench_what_if(&values, &shape, s->request->bench, s->result, change, s->arena);
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

/* Parameters by their usual names: the class that a change of them is reported as. */
static const struct {
    const char *name, *class;
} known[] = {
    { "bias", "bias" },
    { "eps", "eps" },
    { "scale", "wrong scale" },
    { "alpha", "factor ignored" },
    { "beta", "factor ignored" },
    { "approximate", "other form" },
    { "correction", "divisor" },
    { "unbiased", "divisor" },
    { "divisor_override", "divisor" },
    { "count_include_pad", "divisor" },
    { "reduction", "reduction" },
    { "ignore_index", "mask ignored" },
    { "attn_mask", "mask ignored" },
    { "mask", "mask ignored" },
    { "is_causal", "mask ignored" },
    { "padding_idx", "mask ignored" },
    { "dim", "wrong axis" },
    { "axis", "wrong axis" },
    { "weight", "missing operand" },
};

const char *argument_class(const char *name, const char *otherwise)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].class;
    return otherwise;
}
