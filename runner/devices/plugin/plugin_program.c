/* A program grows in one buffer; everything in it is named by its offset. */
#include "runner/devices/plugin/plugin_program.h"

#include <string.h>

#include "core/checked.h"
#include "core/memory.h"

/* clang-format off */
static const struct program_type_info types[TYPE_COUNT] = {
    /*                 name       bytes  dtype   */
    [TYPE_VOID] = { "void", 0, DT_NONE },
    [TYPE_I8] = { "i8", 1, DT_I8 },
    [TYPE_U8] = { "u8", 1, DT_U8 },
    [TYPE_I16] = { "i16", 2, DT_I16 },
    [TYPE_U16] = { "u16", 2, DT_NONE },
    [TYPE_I32] = { "i32", 4, DT_I32 },
    [TYPE_U32] = { "u32", 4, DT_NONE },
    [TYPE_I64] = { "i64", 8, DT_I64 },
    [TYPE_U64] = { "u64", 8, DT_NONE },
    [TYPE_F32] = { "f32", 4, DT_F32 },
    [TYPE_F64] = { "f64", 8, DT_F64 },
    [TYPE_POINTER] = { "pointer", sizeof(void *), DT_NONE },
};
/* clang-format on */

const struct program_type_info *program_type_info(enum program_type type) { return &types[type]; }

enum program_type program_type_find(const char *name)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (!strcmp(types[i].name, name)) return (enum program_type)i;
    return TYPE_COUNT;
}

uint64_t program_reserve(struct program_writer *writer, size_t bytes)
{
    size_t needed, offset = writer->used, padded;
    if (writer->failed || !size_add(&padded, bytes, 7) ||
        !size_add(&needed, offset, padded & ~(size_t)7)) {
        writer->failed = 1;
        return 0;
    }
    if (needed > writer->room) {
        size_t room = writer->room ? writer->room : 4096;
        while (room < needed) room *= 2;
        unsigned char *grown = memory_resize(writer->bytes, room);
        if (!grown) {
            writer->failed = 1;
            return 0;
        }
        writer->bytes = grown;
        writer->room = room;
    }
    memset(writer->bytes + offset, 0, needed - offset);
    writer->used = needed;
    return offset;
}

uint64_t program_append(struct program_writer *writer, const void *bytes, size_t count)
{
    uint64_t offset = program_reserve(writer, count);
    if (!writer->failed && count) memcpy(writer->bytes + offset, bytes, count);
    return offset;
}

uint64_t program_append_string(struct program_writer *writer, const char *text)
{
    return program_append(writer, text, strlen(text) + 1);
}

void program_writer_release(struct program_writer *writer)
{
    memory_release(writer->bytes);
    memset(writer, 0, sizeof *writer);
}
