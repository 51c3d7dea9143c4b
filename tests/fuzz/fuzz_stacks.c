/* stack.json and construct.json of any bytes: every name that is found has frames or a parent. */
#include <assert.h>

#include "compare/dumps/stacks.h"
#include "formats/construct.h"
#include "fuzz/memory_file.h"

static const char *const names[] = { "a", "Torch.add.0.forward", "Module.a.A.forward.0" };

static void read_stacks(const char *path)
{
    struct csv_buffer text = { 0 };
    struct stacks *stacks;
    struct status status = stacks_open(&stacks, path, FILES_TRUSTED);

    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT && !stacks);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        csv_buffer_clear(&text);
        assert(!stacks_append(&text, stacks, names[i], strlen(names[i])).code);
        assert(stacks_have(stacks, names[i], strlen(names[i])) == (text.length > 0));
    }
    csv_buffer_release(&text);
    stacks_close(stacks);
}

static void read_construct(const char *path)
{
    struct construct construct;
    uint32_t parent;

    if (construct_read(&construct, path, FILES_TRUSTED).code) return;
    for (uint32_t name = 0; name < construct.names.count; name++)
        if (construct_parent(&construct, name, &parent))
            assert(parent == TEXT_NONE || parent < construct.names.count);
    construct_close(&construct);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    read_stacks(file.path);
    read_construct(file.path);
    memory_file_close(&file);
    return 0;
}
