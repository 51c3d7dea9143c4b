/* A comparison file of any bytes: what is accepted has both paths. */
#include <assert.h>

#include "compare/dumps/input.h"
#include "fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    struct comparison_input input;
    struct status status = comparison_input_read(&input, file.path, true, FILES_TRUSTED);

    if (status.code) assert(status.code == STATUS_BAD_INPUT && status.text[0]);
    else {
        assert(input.npu_path[0] && input.bench_path[0]);
        comparison_input_release(&input);
    }
    memory_file_close(&file);
    return 0;
}
