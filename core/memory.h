/* Allocation, in one place so that a test can make the n-th allocation fail.
 *
 * Everything in the tree allocates through these functions (the arena does so in large
 * blocks). The first four behave as malloc, calloc, realloc and free do; large zeroed blocks are of
 * huge pages.
 */
#ifndef PROBE_CORE_MEMORY_H
#define PROBE_CORE_MEMORY_H

#include <stddef.h>

void *memory_allocate(size_t bytes) __attribute__((malloc));
void *memory_allocate_zeroed(size_t count, size_t bytes) __attribute__((malloc));
void *memory_resize(void *block, size_t bytes);
void memory_release(void *block);

/* A range of `bytes` of address space, page aligned; NULL when it is refused, and always where
 * address space is limited (RLIMIT_AS). Pages take memory
 * when they are first written to, and are zero then. memory_discard gives the whole pages of
 * [start, start + bytes) back; they read as zero afterwards. memory_unmap ends a range. */
void *memory_reserve(size_t bytes);
void memory_discard(void *start, size_t bytes);
void memory_unmap(void *range, size_t bytes);

/* Ask for huge pages in [start, start + bytes): faulting in 64 MB takes 31 ms on pages of 4 KB,
 * 4 ms on these. */
void memory_use_huge_pages(void *start, size_t bytes);

/* A copy of a string; NULL when there is no memory. Free with memory_release. */
char *memory_copy_string(const char *text);

/* The same of `length` bytes, with a NUL behind them. */
char *memory_copy_bytes(const char *text, size_t length);

/* How many allocations of this thread have failed so far. Libraries that allocate here and only say
 * that they failed (cJSON's parser) leave no other trace of why. */
size_t memory_refusals(void);

/* Test hook. Called before every allocation with its size; when it returns nonzero the
 * allocation fails. Set only while no other thread allocates; NULL (the default) for none. */
extern int (*memory_fault)(size_t bytes);

#endif
