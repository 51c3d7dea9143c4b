/* The arrays grow in three ways; what they share is when and how far. */
#include "core/growing.h"

#include <stdint.h>
#include <string.h>

#include "core/memory.h"

enum { FIRST_CAPACITY = 16 };

/* The capacity that has room for an item at `index`; 0 when no memory has. */
static size_t larger_capacity(size_t capacity, size_t index, size_t bytes)
{
    if (!capacity) capacity = FIRST_CAPACITY / 2;
    do {
        if (capacity > SIZE_MAX / 4 / bytes) return 0;
        capacity *= 2;
    } while (capacity <= index);
    return capacity;
}

/* A pointer of any type has the bytes of a void pointer, but must not be read or written as one. */
static void *read_pointer(const void *items)
{
    void *block;
    memcpy(&block, items, sizeof block);
    return block;
}

struct status array_make_room(void *items, size_t *capacity, size_t index, size_t bytes)
{
    if (index < *capacity) return status_ok();
    const size_t larger = larger_capacity(*capacity, index, bytes);
    void *block = larger ? memory_resize(read_pointer(items), larger * bytes) : NULL;
    if (!block) return status_no_memory(larger * bytes);
    memcpy(items, &block, sizeof block);
    *capacity = larger;
    return status_ok();
}

struct status array_make_zeroed_room(void *items, size_t *capacity, size_t index, size_t bytes)
{
    const size_t old = *capacity;
    TRY(array_make_room(items, capacity, index, bytes));
    memset((char *)read_pointer(items) + old * bytes, 0, (*capacity - old) * bytes);
    return status_ok();
}

struct status array_make_room_in(struct arena *arena, void *items, size_t *capacity, size_t index,
                                 size_t bytes)
{
    if (index < *capacity) return status_ok();
    const size_t larger = larger_capacity(*capacity, index, bytes);
    void *block = larger ? arena_allocate_array(arena, larger, bytes) : NULL;
    if (!block) return status_no_memory(larger * bytes);
    if (*capacity) memcpy(block, read_pointer(items), *capacity * bytes);
    memcpy(items, &block, sizeof block);
    *capacity = larger;
    return status_ok();
}
