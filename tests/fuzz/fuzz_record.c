/* Bodies of records of any bytes: archives of torch.save, plain pickles with legacy streams in them. */
#include <assert.h>
#include <stdint.h>

#include "fuzz/touch_tensor.h"
#include "online/record.h"

static bool touch(struct value *value, void *context)
{
    (void)context;
    assert(value->tensor.tensor && value->tensor.record);
    touch_tensor(value->tensor.tensor);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct record record;
    struct status status = record_decode(&record, &arena, data, size, "input");

    if (status.code) {
        assert(status.text[0]);
    } else {
        assert(record.call.full_name[0] && record.call.api && record.call.type);
        (void)value_each_tensor(&record.call.args, touch, NULL);
        (void)value_each_tensor(&record.call.kwargs, touch, NULL);
        (void)value_each_tensor(&record.call.outputs, touch, NULL);
        (void)record_writes_arguments(&record.call);
    }
    arena_release(&arena);
    return 0;
}
