/* stack.json and construct.json of any bytes: every name that is found has frames, a line of source
 * or a parent. */
#include <assert.h>
#include <string.h>

#include "formats/construct.h"
#include "formats/source_line.h"
#include "fuzz/memory_file.h"

static const char *const names[] = { "a", "Torch.add.0.forward", "Module.a.A.forward.0" };

static void read_stacks(const char *path)
{
    struct json frames;
    struct json_slice frame;
    char source[SOURCE_LINE_BYTES];
    struct stacks *stacks;
    struct status status = stacks_open(&stacks, path, FILES_TRUSTED);

    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT && !stacks);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool found = stacks_find(&frames, stacks, names[i], strlen(names[i]));
        assert(stacks_have(stacks, names[i], strlen(names[i])) == found);
        if (!found) continue;
        for (json_enter_array(&frames); json_array_next(&frames);) json_string(&frames, &frame);
        assert(!frames.problem); /* they were looked at when the file was opened */
        (void)source_line_of_call(source, stacks, names[i]);
        assert(strlen(source) < sizeof source);
    }
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
