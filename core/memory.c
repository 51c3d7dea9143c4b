/* malloc and its kin, behind the hook of tests. */
#include "core/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int (*memory_fault)(size_t bytes);

static _Thread_local size_t refusals;

size_t memory_refusals(void) { return refusals; }

static void *counted(void *block)
{
    refusals += !block;
    return block;
}

void *memory_allocate(size_t bytes)
{
    if (memory_fault && memory_fault(bytes)) return counted(NULL);
    return counted(malloc(bytes ? bytes : 1));
}

void *memory_allocate_zeroed(size_t count, size_t bytes)
{
    enum { LARGE = 4 << 20 };
    if (memory_fault && memory_fault(count * bytes)) return counted(NULL);
    void *block = calloc(count ? count : 1, bytes ? bytes : 1);
    if (block && bytes && count >= LARGE / bytes) memory_use_huge_pages(block, count * bytes);
    return counted(block);
}

void *memory_resize(void *block, size_t bytes)
{
    if (memory_fault && memory_fault(bytes)) return counted(NULL);
    return counted(realloc(block, bytes ? bytes : 1));
}

void memory_release(void *block) { free(block); }

void *memory_reserve(size_t bytes)
{
    struct rlimit limit;
    if (memory_fault && memory_fault(bytes)) return NULL;
    /* Where address space is counted a range would take it from everything else. */
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY) return NULL;
    void *range = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return range == MAP_FAILED ? NULL : range;
}

/* madvise on the whole pages of `page` bytes within a range. */
static void advise(void *start, size_t bytes, size_t page, int advice)
{
    uintptr_t first = ((uintptr_t)start + page - 1) & ~(uintptr_t)(page - 1);
    uintptr_t end = ((uintptr_t)start + bytes) & ~(uintptr_t)(page - 1);
    if (end > first) (void)madvise((void *)first, end - first, advice);
}

void memory_discard(void *start, size_t bytes)
{
    advise(start, bytes, (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED);
}

void memory_use_huge_pages(void *start, size_t bytes)
{
    advise(start, bytes, (size_t)2 << 20, MADV_HUGEPAGE);
}

void memory_unmap(void *range, size_t bytes) { (void)munmap(range, bytes); }

char *memory_copy_bytes(const char *text, size_t length)
{
    char *copy = memory_allocate(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *memory_copy_string(const char *text) { return memory_copy_bytes(text, strlen(text)); }
