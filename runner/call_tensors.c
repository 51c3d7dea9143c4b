/* A row of a judged call as its two sides. */
#include "runner/call_tensors.h"

bool call_tensors_row(const struct reference **want, const struct tensor **got,
                      const struct call_tensors *tensors, bool backward, size_t index)
{
    const struct value *list = backward ? &tensors->got->gradients : &tensors->got->outputs;
    const struct bench_output *output = NULL;
    if (backward && index < tensors->n_gradients) output = &tensors->gradients[index];
    if (!backward && index < bench_output_count(tensors->bench))
        output = bench_output(tensors->bench, index);
    if (!output || output->kind != BENCH_OUTPUT_TENSOR || list->kind != VALUE_LIST ||
        index >= list->list.count || list->list.items[index].kind != VALUE_TENSOR)
        return false;
    *want = &output->reference;
    *got = list->list.items[index].tensor.tensor;
    size_t components = dtype_is_complex((*got)->dtype) ? 2 : 1;
    return tensor_elements(*got) * components == (*want)->n;
}
