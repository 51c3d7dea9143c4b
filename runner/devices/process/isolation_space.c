/* Regions, slots and guards of the shared memory, on both sides. */
#include "runner/devices/process/isolation_space.h"
#include "core/quantity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

/* PAGE is a multiple of every page size in use (4 KB on x86-64, up to 64 KB on aarch64), so the
 * layout is one constant for all hosts. */
#if defined(__x86_64__)
#define PAGE ((uint64_t)4096)
#else
#define PAGE ((uint64_t)65536)
#endif
#define SMALL_PAGES    3 /* of data; one guard page follows */
#define SMALL_SLOTS    48
#define SMALL_PITCH    ((SMALL_PAGES + 1) * PAGE)
#define SMALL_END      (PAGE + SMALL_SLOTS * SMALL_PITCH) /* the first page is a guard as well */
#define REQUESTS_BYTES ((uint64_t)64 << 20)
#define HEADER_BYTES   ((sizeof(struct space_header) + PAGE - 1) / PAGE * PAGE)
#define INPUTS         (HEADER_BYTES + REQUESTS_BYTES)

/* Bytes before a buffer that hold the pattern and are looked at. */
#define MARGIN    ((uint64_t)256)
#define ALIGNMENT ((uint64_t)64)

enum { PATTERN = 0xc5 };

static void fill_unwritten(unsigned char *data, uint64_t bytes)
{
    const wchar_t word = (wchar_t)(SPACE_UNWRITTEN << 16 | SPACE_UNWRITTEN);
    _Static_assert(sizeof word == 4, "a wide character has 32 bits");
    (void)wmemset((wchar_t *)(void *)data, word, bytes / sizeof word);
    memcpy(data + bytes / sizeof word * sizeof word, &word, bytes % sizeof word);
}

/* The regions share the file evenly after the requests. */
static uint64_t outputs_start(uint64_t file_bytes)
{
    return INPUTS + (file_bytes - INPUTS) / 2 / PAGE * PAGE;
}

/* Map the file where twice its bytes are free, so that a view of it in the same process finds its
 * place too. Address space is what is asked for here, not memory; where it is limited, less will
 * do. MAP_FAILED with errno when there is not even the least. */
static unsigned char *map_with_room(uint64_t *bytes, int descriptor)
{
    unsigned char *base = MAP_FAILED;
    for (*bytes = (uint64_t)1 << 39; *bytes >= (uint64_t)1 << 30; *bytes /= 2) {
        base = mmap(NULL, 2 * *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    descriptor, 0);
        if (base == MAP_FAILED) continue;
        (void)munmap(base + *bytes, *bytes);
        break;
    }
    return base;
}

struct status space_open(struct space *space)
{
    uint64_t bytes;

    memset(space, 0, sizeof *space);
    space->descriptor = memfd_create("probe-ut tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (space->descriptor < 0)
        return status_error(STATUS_IO, "cannot make shared memory: %s", strerror(errno));
    unsigned char *base = map_with_room(&bytes, space->descriptor);
    if (base == MAP_FAILED || ftruncate(space->descriptor, (off_t)bytes)) {
        struct status st = status_error(STATUS_IO, "cannot map shared memory: %s", strerror(errno));
        if (base != MAP_FAILED) (void)munmap(base, bytes);
        (void)close(space->descriptor);
        return st;
    }
    /* Nothing that a kernel does to the file can take pages away from under us. */
    (void)fcntl(space->descriptor, F_ADD_SEALS, F_SEAL_SHRINK);
    (void)madvise(base, bytes, MADV_DONTDUMP);
    space->base = base;
    space->bytes = bytes;
    space->inputs = INPUTS;
    space->outputs = outputs_start(bytes);
    return status_ok();
}

void space_close(struct space *space)
{
    if (!space->base) return;
    (void)munmap(space->base, space->bytes);
    (void)close(space->descriptor);
    space->base = NULL;
}

void space_begin(struct space *space, uint64_t keep_bytes)
{
    uint64_t start[2] = { space->inputs + SMALL_END, space->outputs + SMALL_END };
    for (int role = 0; role < 2; role++) {
        if (space->large_used[role] > space->touched[role])
            space->touched[role] = space->large_used[role];
        if (space->touched[role] > keep_bytes) {
            uint64_t keep = keep_bytes / PAGE * PAGE;
            (void)madvise(space->base + start[role] + keep, space->touched[role] - keep,
                          MADV_REMOVE);
            space->touched[role] = keep;
        }
        space->large_used[role] = 0;
        space->small_used[role] = 0;
    }
    space->request_used = 0;
    space->count = 0;
    space_header(space)->guard_count = 0;
}

struct status space_request(struct space *space, uint64_t *offset, uint64_t bytes)
{
    if (bytes > REQUESTS_BYTES - 16 || space->request_used > REQUESTS_BYTES - 16 - bytes)
        return status_error(STATUS_SKIP, "the call's arguments take more than %s",
                            quantity_bytes(REQUESTS_BYTES).text);
    *offset = HEADER_BYTES + space->request_used;
    space->request_used += (bytes + 15) & ~(uint64_t)15;
    return status_ok();
}

/* The pages for a buffer: a small slot if it fits and one is free, else the next large place. */
static bool find_pages(struct space *space, struct space_buffer *buffer)
{
    enum space_role role = buffer->role;
    uint64_t region = role == SPACE_INPUT ? space->inputs : space->outputs;
    uint64_t room = (role == SPACE_INPUT ? space->outputs : space->bytes) - region - SMALL_END;
    if (buffer->bytes > room) return false;
    uint64_t need = buffer->bytes + MARGIN + ALIGNMENT;
    if (need <= SMALL_PAGES * PAGE && space->small_used[role] < SMALL_SLOTS) {
        buffer->fence = region + PAGE + space->small_used[role]++ * SMALL_PITCH;
        buffer->fence_bytes = SMALL_PAGES * PAGE;
        return true;
    }
    uint64_t pages = (need + PAGE - 1) / PAGE * PAGE;
    if (pages + PAGE > room - space->large_used[role]) return false;
    buffer->fence = region + SMALL_END + space->large_used[role];
    buffer->fence_bytes = pages;
    space->large_used[role] += pages + PAGE;
    return true;
}

struct status space_place(struct space *space, struct space_buffer **out, enum space_role role,
                          const char *label, uint64_t bytes)
{
    struct space_buffer *buffer = &space->buffers[space->count];
    if (space->count == SPACE_MAX_BUFFERS)
        return status_error(STATUS_SKIP, "the call has more than %d tensors", SPACE_MAX_BUFFERS);
    buffer->role = role;
    buffer->bytes = bytes;
    (void)snprintf(buffer->label, sizeof buffer->label, "%s", label);
    if (!find_pages(space, buffer))
        return status_error(STATUS_SKIP, "%s of %s does not fit into shared memory", label,
                            quantity_bytes(bytes).text);
    space->count++;
    uint64_t end = buffer->fence + buffer->fence_bytes;
    buffer->offset = (end - bytes) & ~(ALIGNMENT - 1);
    if (role == SPACE_OUTPUT) {
        unsigned char *data = space->base + buffer->offset;
        memset(data - MARGIN, PATTERN, MARGIN);
        fill_unwritten(data, bytes);
        memset(data + bytes, PATTERN, end - buffer->offset - bytes);
    }
    *out = buffer;
    return status_ok();
}

void space_publish_guards(struct space *space)
{
    struct space_header *header = space_header(space);
    uint32_t count = 0;
    for (size_t i = 0; i < space->count; i++) {
        const struct space_buffer *buffer = &space->buffers[i];
        uint64_t region = buffer->role == SPACE_INPUT ? space->inputs : space->outputs;
        if (buffer->fence < region + SMALL_END) continue; /* its guard stands already */
        header->guards[count++] = buffer->fence + buffer->fence_bytes;
    }
    header->guard_count = count;
}

bool space_damaged(const struct space *space, const struct space_buffer **buffer, int64_t *where)
{
    for (size_t i = 0; i < space->count; i++) {
        const struct space_buffer *b = &space->buffers[i];
        if (b->role != SPACE_OUTPUT) continue;
        const unsigned char *data = space->base + b->offset;
        uint64_t tail = b->fence + b->fence_bytes - b->offset - b->bytes;
        for (uint64_t k = 0; k < tail; k++) {
            if (data[b->bytes + k] == PATTERN) continue;
            *buffer = b;
            *where = (int64_t)k;
            return true;
        }
        for (uint64_t k = 1; k <= MARGIN; k++) {
            if (*(data - k) == PATTERN) continue;
            *buffer = b;
            *where = -(int64_t)k;
            return true;
        }
    }
    return false;
}

const struct space_buffer *space_find(const struct space *space, uint64_t offset)
{
    for (size_t i = 0; i < space->count; i++) {
        const struct space_buffer *b = &space->buffers[i];
        if (offset >= b->fence && offset < b->fence + b->fence_bytes + PAGE) return b;
    }
    return NULL;
}

/* --- the kernel's side --------------------------------------------------------------------- */

/* Guard pages of the small slots of one region, and the page before the first. */
static bool fence_slots(unsigned char *region)
{
    for (int i = 0; i <= SMALL_SLOTS; i++)
        if (mprotect(region + (uint64_t)i * SMALL_PITCH, PAGE, PROT_NONE)) return false;
    return true;
}

struct status space_view_open(struct space_view *view, int descriptor)
{
    struct stat stat;
    memset(view, 0, sizeof *view);
    if (fstat(descriptor, &stat))
        return status_error(STATUS_IO, "cannot use shared memory: %s", strerror(errno));
    uint64_t bytes = (uint64_t)stat.st_size, outputs = outputs_start(bytes);
    unsigned char *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (base == MAP_FAILED)
        return status_error(STATUS_IO, "cannot map shared memory: %s", strerror(errno));
    (void)madvise(base, bytes, MADV_DONTDUMP);
    if (mprotect(base, HEADER_BYTES, PROT_READ | PROT_WRITE) ||
        mprotect(base + outputs, bytes - outputs, PROT_READ | PROT_WRITE) ||
        !fence_slots(base + INPUTS) || !fence_slots(base + outputs)) {
        struct status st =
            status_error(STATUS_IO, "cannot protect shared memory: %s", strerror(errno));
        (void)munmap(base, bytes);
        return st;
    }
    view->base = base;
    view->bytes = bytes;
    return status_ok();
}

void space_view_close(struct space_view *view)
{
    if (!view->base) return;
    (void)munmap(view->base, view->bytes);
    view->base = NULL;
}

bool space_view_fence(struct space_view *view)
{
    const struct space_header *header = (const struct space_header *)(void *)view->base;
    uint32_t count = header->guard_count;
    size_t bytes = count * sizeof view->guards[0];
    uint64_t outputs = outputs_start(view->bytes);
    if (count > SPACE_MAX_BUFFERS) return false;
    if (count == view->guard_count && !memcmp(view->guards, header->guards, bytes)) return true;
    for (uint32_t i = 0; i < view->guard_count; i++) {
        int rights = view->guards[i] < outputs ? PROT_READ : PROT_READ | PROT_WRITE;
        if (mprotect(view->base + view->guards[i], PAGE, rights)) return false;
    }
    view->guard_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = header->guards[i];
        if (offset > view->bytes - PAGE) return false;
        if (mprotect(view->base + offset, PAGE, PROT_NONE)) return false;
        view->guards[view->guard_count++] = offset;
    }
    return true;
}
