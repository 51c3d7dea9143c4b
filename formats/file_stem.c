/* Names come from dumps, so they may hold anything. */
#include "formats/file_stem.h"

#include <string.h>

#include "core/hash.h"

/* Most bytes of a call's name that go into the name of a file. */
enum { STEM_BYTES = 160 };

const char *file_stem(struct arena *arena, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t length = strlen(name), most = length < STEM_BYTES ? length : STEM_BYTES;

    if (length <= STEM_BYTES && strspn(name, plain) == length && name[0] != '.') return name;
    char *stem = arena_copy_bytes(arena, name, most);
    if (!stem) return NULL;
    for (size_t i = 0; i < most; i++)
        if (!strchr(plain, stem[i]) || (!i && stem[i] == '.')) stem[i] = '_';
    return arena_format(arena, "%s~%016llx", stem,
                        (unsigned long long)hash_bytes(HASH_START, name, length));
}
