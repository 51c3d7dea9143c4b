/* Files of calls for `try` of any bytes: words, options, lists, values, names. */
#include <assert.h>
#include <stddef.h>

#include "cli/try_batch.h"
#include "cli/try_command.h"
#include "cli/try_list.h"
#include "cli/try_value.h"
#include "fuzz/memory_file.h"

/* The texts of a line, as whoever makes the call reads them. */
static void read_texts(const struct try_call *call, struct arena *arena)
{
    struct try_list list;
    struct value value;
    (void)try_list_read_shapes(&list, arena, &call->shapes);
    (void)try_list_read_dtypes(&list, arena, &call->dtypes);
    (void)try_list_read_ranges(&list, arena, &call->ranges);
    for (size_t i = 0; i < call->arguments.count; i++)
        (void)try_value_read(&value, arena, call->arguments.items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct try_batch batch = { .count = 0 };
    struct status status =
        try_batch_read(&batch, &arena, file.path, &try_line_command, FILES_TRUSTED);
    if (status.code) assert(status.text[0]);
    else assert(batch.count);
    for (size_t i = 0; !status.code && i < batch.count; i++) {
        assert(batch.lines[i].call.op && batch.lines[i].text[0]);
        read_texts(&batch.lines[i].call, &arena);
    }
    arena_release(&arena);
    memory_file_close(&file);
    return 0;
}
