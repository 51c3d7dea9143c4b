/* The dump reader on any text: opening, every case, the filter, and loading (which finds no data
 * directory). The text is a file in memory, because dumps are opened by path. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/dump.h"

static bool load(struct value *value, void *context)
{
    struct arena *arena = ((void **)context)[0];
    const struct dump *dump = ((void **)context)[1];
    const struct tensor_record *record = value->tensor.record;
    struct tensor tensor;

    assert(record->rank >= 0 && record->rank <= TENSOR_MAX_RANK && record->dtype_name);
    struct status status = dump_load_tensor(&tensor, arena, dump, record);
    assert(status.code == STATUS_SKIP && status.text[0]);
    return true;
}

static void use_dump(struct dump *dump)
{
    struct arena arena = { 0 };
    void *context[] = { &arena, dump };
    size_t count = dump_count(dump);

    assert(count);
    for (size_t i = 0; i < count; i++) {
        struct api_case c;
        struct status status = dump_read_case(&c, &arena, dump, i);
        assert(status.code == STATUS_OK || status.code == STATUS_SKIP);
        assert(c.full_name && c.type && c.api && c.position == i);
        assert(!strcmp(c.full_name, dump_name(dump, i)));
        if (!status.code) {
            struct value *lists[] = { &c.args, &c.kwargs, &c.outputs, &c.cotangents, &c.gradients };
            for (int k = 0; k < 5; k++) value_each_tensor(lists[k], load, context);
        }
        arena_reset(&arena);
    }
    bool *keep = malloc(count);
    assert(keep && dump_filter(keep, dump).code == STATUS_OK && keep[0]);
    free(keep);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct dump *dump = NULL;
    int fd = memfd_create("dump", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct status status = dump_open(&dump, path, FILES_TRUSTED);
    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT && status.text[0]);
        assert(!strchr(status.text, '\n'));
    } else {
        use_dump(dump);
        dump_close(dump);
    }
    close(fd);
    return 0;
}
