/* .npy files of any bytes. */
#include <stdint.h>

#include "formats/npy.h"
#include "fuzz/touch_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct tensor tensor;
    struct status status = npy_read(&tensor, &arena, data, size, "input.npy");

    if (!status.code) touch_tensor(&tensor);
    else assert(status.text[0]);
    arena_release(&arena);
    return 0;
}
