/* Configuration files (white and black list, precision) of any bytes. */
#include <assert.h>

#include "fuzz/memory_file.h"
#include "runner/api_lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct api_lists lists = api_lists_default();
    struct status status = api_lists_read(&lists, &arena, file.path, FILES_TRUSTED);

    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT || status.code == STATUS_BAD_ARGUMENT);
        assert(status.text[0] && !lists.white.count && !lists.black.count &&
               !lists.error_data_path);
    } else {
        struct api_case c = { .full_name = "Torch.matmul.0", .type = "Torch", .api = "matmul" };
        assert(lists.precision >= 0 && lists.precision <= MAX_PRECISION);
        for (size_t i = 0; i < lists.white.count; i++) assert(lists.white.items[i][0]);
        for (size_t i = 0; i < lists.black.count; i++) assert(lists.black.items[i][0]);
        enum row_cause cause;
        status = api_lists_admit(&cause, &lists, &c);
        assert(!status.code || status.code == STATUS_SKIP);
    }
    arena_release(&arena);
    memory_file_close(&file);
    return 0;
}
