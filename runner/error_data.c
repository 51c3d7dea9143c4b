/* Names and writes the files of one call's tensors. */
#include "runner/error_data.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "formats/file_stem.h"
#include "formats/pt.h"

/* Where the files of one argument list go, and how many leaves it has had. */
struct series {
    const char *directory, *name, *part;
    struct arena *arena;
    size_t leaves;
};

static struct status save_leaf(struct series *series, const struct tensor *tensor)
{
    char *path = arena_format(series->arena, "%s/%s.%s.%zu.pt", series->directory, series->name,
                              series->part, series->leaves);
    if (!path) return status_no_memory(0);
    if (file_exists(path)) TRY(file_remove(path));
    return pt_write(path, tensor, series->arena);
}

/* Every leaf counts, tensors are saved. */
static struct status save_value(struct series *series, const struct value *value)
{
    if (value->kind == VALUE_LIST || value->kind == VALUE_DICT) {
        for (size_t i = 0; i < value->list.count; i++)
            TRY(save_value(series, &value->list.items[i]));
        return status_ok();
    }
    if (value->kind == VALUE_TENSOR && value->tensor.tensor)
        TRY(save_leaf(series, value->tensor.tensor));
    series->leaves++;
    return status_ok();
}

/* A reference as a tensor of the nominal bench dtype. */
static struct status save_reference(struct series *series, const struct reference *reference,
                                    enum dtype dtype)
{
    struct tensor tensor;
    size_t elements;
    TRY(tensor_create(&tensor, series->arena, dtype, reference->rank, reference->shape));
    elements = tensor_elements(&tensor);
    if (reference->integer) dtype_from_int64(tensor.data, dtype, reference->integer, elements);
    else dtype_from_double(tensor.data, dtype, reference->hi, elements);
    return save_leaf(series, &tensor);
}

static struct status save_bench_output(struct series *series, const struct bench_output *output,
                                       enum dtype dtype)
{
    if (output->kind == BENCH_OUTPUT_TENSOR) TRY(save_reference(series, &output->reference, dtype));
    series->leaves++;
    return status_ok();
}

static struct status save_forward(struct series series, const struct call_tensors *t)
{
    series.part = "forward.input";
    series.leaves = 0;
    TRY(save_value(&series, &t->c->args));
    TRY(save_value(&series, &t->c->kwargs));

    series.part = "forward.output.bench";
    series.leaves = 0;
    for (size_t i = 0; i < bench_output_count(t->bench); i++) {
        const struct bench_output *output = bench_output(t->bench, i);
        TRY(save_bench_output(&series, output,
                              precision_forward(t->precision, output->reference.dtype)));
    }
    series.part = "forward.output.device";
    series.leaves = 0;
    return save_value(&series, &t->got->outputs);
}

static struct status save_backward(struct series series, const struct call_tensors *t)
{
    series.part = "backward.input";
    series.leaves = 0;
    TRY(save_value(&series, &t->c->cotangents));

    series.part = "backward.output.bench";
    series.leaves = 0;
    for (size_t i = 0; i < t->n_gradients; i++)
        TRY(save_bench_output(&series, &t->gradients[i],
                              precision_backward(t->precision, t->gradients[i].reference.dtype)));
    series.part = "backward.output.device";
    series.leaves = 0;
    return t->got->gradients.kind == VALUE_NONE ? status_ok()
                                                : save_value(&series, &t->got->gradients);
}

struct status error_data_save(const struct error_data *data, struct arena *arena,
                              const struct call_tensors *tensors)
{
    struct series series = { data->directory, file_stem(arena, tensors->c->full_name), "", arena,
                             0 };
    if (!series.name) return status_no_memory(0);
    TRY(file_make_directories(data->directory));
    TRY(save_forward(series, tensors));
    if (!tensors->c->has_backward) return status_ok();
    return save_backward(series, tensors);
}
