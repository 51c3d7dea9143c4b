/* Bodies of records of any bytes: archives of torch.save, plain pickles with legacy streams in them. */
#include <assert.h>
#include <stdint.h>

#include "fuzz/touch_record.h"
#include "online/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct record record;
    struct status status = record_decode(&record, &arena, data, size, "input");

    if (status.code) assert(status.text[0]);
    else touch_record(&record);
    arena_release(&arena);
    return 0;
}
