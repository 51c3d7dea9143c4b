/* Names and writes the files of one call's tensors. */
#include "runner/error_data.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "formats/file_stem.h"
#include "formats/npy.h"
#include "formats/pt.h"

/* Where the files of one argument list go, and how many leaves it has had. */
struct series {
    const char *directory, *name, *part;
    const struct error_layout *layout;
    struct arena *arena;
    size_t leaves;
};

/* `place` is the leaf's own: its number, or its path in the arguments. */
static struct status save_leaf(struct series *series, const struct tensor *tensor,
                               const char *place)
{
    char *path = arena_format(series->arena, "%s/%s.%s.%s%s", series->directory, series->name,
                              series->part, place, series->layout->suffix);
    if (!path) return status_no_memory(0);
    if (file_exists(path)) TRY(file_remove(path));
    return series->layout->write(path, tensor, series->arena);
}

static struct status save_numbered(struct series *series, const struct tensor *tensor)
{
    char place[32];
    (void)snprintf(place, sizeof place, "%zu", series->leaves);
    return save_leaf(series, tensor, place);
}

/* Every leaf counts, tensors are saved. */
static struct status save_counted(struct series *series, const struct value *value)
{
    if (value->kind == VALUE_LIST || value->kind == VALUE_DICT) {
        for (size_t i = 0; i < value->list.count; i++)
            TRY(save_counted(series, &value->list.items[i]));
        return status_ok();
    }
    if (value->kind == VALUE_TENSOR && value->tensor.tensor)
        TRY(save_numbered(series, value->tensor.tensor));
    series->leaves++;
    return status_ok();
}

/* Tensors under their paths: "0", "1.2", "mask". */
static struct status save_by_path(struct series *series, const struct value *value,
                                  const char *path)
{
    if (value->kind == VALUE_TENSOR && value->tensor.tensor)
        return save_leaf(series, value->tensor.tensor, path);
    if (value->kind != VALUE_LIST && value->kind != VALUE_DICT) return status_ok();
    for (size_t i = 0; i < value->list.count; i++) {
        const char *dot = *path ? "." : "";
        const char *inner =
            value->kind == VALUE_DICT
                ? file_stem(series->arena,
                            arena_format(series->arena, "%s%s%s", path, dot, value->list.keys[i]))
                : arena_format(series->arena, "%s%s%zu", path, dot, i);
        if (!inner) return status_no_memory(0);
        TRY(save_by_path(series, &value->list.items[i], inner));
    }
    return status_ok();
}

static struct status save_value(struct series *series, const struct value *value)
{
    return series->layout->by_path ? save_by_path(series, value, "") : save_counted(series, value);
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
    return save_numbered(series, &tensor);
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
    const struct error_layout *layout = series.layout;
    const struct api_case *c = case_as_recorded(t->c);
    series.part = "forward.input";
    series.leaves = 0;
    TRY(save_value(&series, &c->args));
    if (layout->by_path) series.part = "forward.kwargs";
    TRY(save_value(&series, &c->kwargs));

    series.part = layout->forward_bench;
    series.leaves = 0;
    for (size_t i = 0; i < bench_output_count(t->bench); i++) {
        const struct bench_output *output = bench_output(t->bench, i);
        TRY(save_bench_output(&series, output,
                              precision_forward(t->precision, output->reference.dtype)));
    }
    series.part = layout->forward_device;
    series.leaves = 0;
    return save_value(&series, &t->got->outputs);
}

/* The gradients that the layout has: all, or those that the reference has, numbered as their rows. */
static struct status save_gradients(struct series series, const struct call_tensors *t)
{
    const struct value *got = &t->got->gradients;
    for (size_t i = 0; got->kind != VALUE_NONE && i < got->list.count; i++) {
        bool counts = !series.layout->by_path ||
                      (i < t->n_gradients && t->gradients[i].kind != BENCH_OUTPUT_NONE);
        if (counts) TRY(save_counted(&series, &got->list.items[i]));
    }
    return status_ok();
}

static struct status save_backward(struct series series, const struct call_tensors *t)
{
    series.part = "backward.input";
    series.leaves = 0;
    TRY(save_value(&series, &t->c->cotangents));

    series.part = series.layout->backward_bench;
    series.leaves = 0;
    for (size_t i = 0; i < t->n_gradients; i++) {
        if (series.layout->by_path && t->gradients[i].kind == BENCH_OUTPUT_NONE) continue;
        TRY(save_bench_output(&series, &t->gradients[i],
                              precision_backward(t->precision, t->gradients[i].reference.dtype)));
    }
    series.part = series.layout->backward_device;
    series.leaves = 0;
    return save_gradients(series, t);
}

/* ---- layouts ------------------------------------------------------------------------------ */

const struct error_layout error_layout_numbered = {
    .write = pt_write,
    .suffix = ".pt",
    .forward_bench = "forward.output.bench",
    .forward_device = "forward.output.device",
    .backward_bench = "backward.output.bench",
    .backward_device = "backward.output.device",
};

const struct error_layout error_layout_of_dumps = {
    .by_path = true,
    .write = npy_write,
    .suffix = ".npy",
    .forward_bench = "forward.bench",
    .forward_device = "forward.output",
    .backward_bench = "backward.bench",
    .backward_device = "backward.output",
};

struct status error_data_save(const struct error_data *data, struct arena *arena,
                              const struct call_tensors *tensors)
{
    struct series series = { .directory = data->directory,
                             .name = file_stem(arena, tensors->c->full_name),
                             .layout = data->layout,
                             .arena = arena };
    if (!series.name) return status_no_memory(0);
    TRY(file_make_directories(data->directory));
    TRY(save_forward(series, tensors));
    if (!tensors->c->has_backward) return status_ok();
    return save_backward(series, tensors);
}
