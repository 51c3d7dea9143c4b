/* Allocation, in one place so that a test can make the n-th allocation fail.
 *
 * Everything in the tree allocates through these four functions (the arena does so in large
 * blocks). They behave as malloc, calloc, realloc and free do.
 */
#ifndef PROBE_CORE_MEMORY_H
#define PROBE_CORE_MEMORY_H

#include <stddef.h>

void *memory_allocate(size_t bytes) __attribute__((malloc));
void *memory_allocate_zeroed(size_t count, size_t bytes) __attribute__((malloc));
void *memory_resize(void *block, size_t bytes);
void memory_release(void *block);

/* A copy of a string; NULL when there is no memory. Free with memory_release. */
char *memory_copy_string(const char *text);

/* Test hook. Called before every allocation with its size; when it returns nonzero the
 * allocation fails. Set only while no other thread allocates; NULL (the default) for none. */
extern int (*memory_fault)(size_t bytes);

#endif
