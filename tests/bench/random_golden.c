#include "bench/random_golden.h"

#include <math.h>
#include <string.h>

#include "bench/wide_call.h"
#include "standards/error_model.h"

bool random_output_is_open(const struct bench_output *have, const struct tensor *want, bool draws)
{
    return have->kind == BENCH_OUTPUT_NONE && (draws || dtype_is_integral(want->dtype));
}

/* Can a legitimate kernel return `got` where `output` is the exact result? Integers have to be equal. */
static bool kernel_returns(const struct tensor *got, struct bench_output *output, bool open,
                           struct arena *arena)
{
    struct reference *want = &output->reference;
    struct tensor dense;
    struct model_findings findings;
    if (random_output_is_open(output, got, false) || output->kind == BENCH_OUTPUT_RANDOM)
        return true;
    if (output->kind != BENCH_OUTPUT_TENSOR || got->dtype != want->dtype ||
        got->rank != want->rank ||
        memcmp(got->shape, want->shape, (size_t)got->rank * sizeof *got->shape) ||
        tensor_densify(&dense, arena, got).code)
        return false;
    if (want->integer) {
        int64_t *integers = arena_allocate(arena, want->n * sizeof *integers);
        dtype_to_int64(integers, dense.data, dense.dtype, want->n);
        return !memcmp(integers, want->integer, want->n * sizeof *integers);
    }
    const struct model_fallback none = { 0, 0 };
    return want->kernel_bound && !error_model_measure(&findings, arena, &dense, want, &none).code &&
           findings.beyond == (open ? findings.kinds : 0);
}

static bool kernel_returns_all(const struct value *list,
                               struct bench_output *(*output)(void *, size_t), void *context,
                               size_t count, bool open, struct arena *arena)
{
    for (size_t i = 0; i < list->list.count; i++)
        if (list->list.items[i].kind == VALUE_TENSOR &&
            tensor_elements(list->list.items[i].tensor.tensor) &&
            (i >= count ||
             !kernel_returns(list->list.items[i].tensor.tensor, output(context, i), open, arena)))
            return false;
    return true;
}

static struct bench_output *output_of(void *bench, size_t i) { return bench_output(bench, i); }
static struct bench_output *gradient_of(void *gradients, size_t i)
{
    return (struct bench_output *)gradients + i;
}

bool rounding_explains(const struct api_case *c, const struct value *outputs,
                       const struct value *gradients, bool open, struct arena *arena)
{
    struct bench *bench;
    struct bench_output *exact;
    size_t count;
    if (bench_open(&bench, c, arena, BENCH_REFERENCE).code || bench_settle(bench, outputs).code ||
        bench_model(bench).code ||
        !kernel_returns_all(outputs, output_of, bench, bench_output_count(bench), open, arena))
        return false;
    if (gradients->kind == VALUE_NONE) return true;
    return !bench_backward(&exact, &count, bench, &c->cotangents).code &&
           kernel_returns_all(gradients, gradient_of, exact, count, open, arena);
}

bool double_rounding_explains(struct golden *golden, bool open, struct arena *arena)
{
    struct value outputs, gradients = { .kind = VALUE_NONE };
    golden_list(&outputs, golden->outputs, golden->output_count, arena);
    if (golden->c.has_backward)
        golden_list(&gradients, golden->gradients, golden->gradient_count, arena);
    return widen_call(&golden->c, arena) &&
           rounding_explains(&golden->c, &outputs, &gradients, open, arena);
}

struct kinds {
    bool infinite, nan;
};

static void note_number(struct kinds *found, double x)
{
    found->infinite |= isinf(x) != 0;
    found->nan |= isnan(x) != 0;
}

static bool note_kinds(struct value *value, void *context)
{
    const struct tensor *t = value->tensor.tensor;
    struct arena arena = { 0 };
    struct tensor dense;
    struct kinds *found = context;
    if (!t || dtype_is_integral(t->dtype) || tensor_densify(&dense, &arena, t).code) return true;
    size_t n = tensor_elements(t) * (dtype_is_complex(t->dtype) ? 2 : 1);
    double *x = arena_allocate(&arena, n * sizeof *x);
    dtype_to_double(x, dense.data, dense.dtype, tensor_elements(t));
    for (size_t i = 0; i < n; i++) note_number(found, x[i]);
    arena_release(&arena);
    return true;
}

static void note_numbers(struct kinds *found, struct value *list)
{
    (void)value_each_tensor(list, note_kinds, found);
    for (size_t i = 0; i < list->list.count; i++)
        if (list->list.items[i].kind == VALUE_FLOAT) note_number(found, list->list.items[i].real);
}

bool random_golden_open(struct golden *golden)
{
    struct kinds found = { 0 };
    note_numbers(&found, &golden->c.args);
    note_numbers(&found, &golden->c.kwargs);
    for (size_t i = 0; i < golden->output_count; i++) {
        struct value output = { .kind = VALUE_TENSOR };
        output.tensor.tensor = &golden->outputs[i].tensor;
        if (golden->outputs[i].present) (void)note_kinds(&output, &found);
    }
    bool open = found.infinite || found.nan;
    for (size_t i = 0; i < golden->output_count; i++) golden->outputs[i].open = open;
    for (size_t i = 0; i < golden->gradient_count; i++) {
        golden->gradients[i].open = open;
        if (found.nan) golden->gradients[i].present = false;
    }
    return open;
}

bool random_result_is_undetermined(const char *reason)
{
    static const char *const reasons[] = {
        "a singular value lies at the limit of those that count",
        "a column depends on those before it: the factors are not determined",
        "singular values of a matrix that is not finite",
        "eigenvalues of a matrix that is not finite",
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strstr(reason, reasons[i])) return true;
    return false;
}
