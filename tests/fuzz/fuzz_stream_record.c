/* Records of our own client, of any bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/touch_tensor.h"
#include "online/stream_record.h"

static bool touch(struct value *value, void *context)
{
    (void)context;
    touch_tensor(value->tensor.tensor);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct record record;
    void *body = aligned_alloc(16, (size + 16) / 16 * 16); /* as the judge has it */

    if (!body) abort();
    if (size) memcpy(body, data, size);
    struct status status = stream_record_decode(&record, &arena, body, size, "10.0.0.7:1");
    assert(status.code == STATUS_OK || status.text[0]);
    if (!status.code && !record.unusable.code) {
        assert(record.call.full_name[0] && record.call.args.kind == VALUE_LIST);
        value_each_tensor(&record.call.args, touch, NULL);
        value_each_tensor(&record.call.kwargs, touch, NULL);
        value_each_tensor(&record.call.outputs, touch, NULL);
    }
    free(body);
    arena_release(&arena);
    return 0;
}
