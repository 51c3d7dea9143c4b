#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

int (*memory_fault)(size_t bytes);

void *memory_allocate(size_t bytes)
{
    if (memory_fault && memory_fault(bytes)) return NULL;
    return malloc(bytes ? bytes : 1);
}

void *memory_allocate_zeroed(size_t count, size_t bytes)
{
    if (memory_fault && memory_fault(count * bytes)) return NULL;
    return calloc(count ? count : 1, bytes ? bytes : 1);
}

void *memory_resize(void *block, size_t bytes)
{
    if (memory_fault && memory_fault(bytes)) return NULL;
    return realloc(block, bytes ? bytes : 1);
}

void memory_release(void *block)
{
    free(block);
}

char *memory_copy_string(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memory_allocate(bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}
