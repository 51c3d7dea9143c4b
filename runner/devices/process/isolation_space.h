/* Memory that the program and a kernel under test both see, in which every buffer is fenced.
 *
 * One memory file, mapped twice with different rights. The program's view is plain. In the
 * kernel's view (in another process, or a second mapping in this one) inputs and requests are
 * read-only, and each buffer ends within 64 bytes of a page that cannot be touched. What lies
 * between is filled with a known pattern. So a write far outside faults where it happens, a
 * write just outside is found in the pattern afterwards, and a write to an input faults; no
 * input is ever copied or compared for that.
 *
 *     offset 0   header    shared notes, both sides write
 *                requests  small read-only data of a call: shapes, strings, argument lists
 *                inputs    read-only for the kernel
 *                outputs   results and scratch
 *
 * Both data regions start with small slots whose guard pages never move, because most tensors
 * of a model are small and moving a guard costs a microsecond; larger buffers follow with
 * guards of their own. The file is sparse: what was never written takes no memory, and
 * space_begin gives back what the last calls do not need.
 */
#ifndef PROBE_RUNNER_DEVICES_PROCESS_ISOLATION_SPACE_H
#define PROBE_RUNNER_DEVICES_PROCESS_ISOLATION_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum space_role { SPACE_INPUT, SPACE_OUTPUT };

enum { SPACE_MAX_BUFFERS = 512, SPACE_LABEL = 40 };

struct space_buffer {
    enum space_role role;
    char label[SPACE_LABEL];     /* "input 1", "output 0", "gradient 2": for messages */
    uint64_t offset, bytes;      /* of the data */
    uint64_t fence, fence_bytes; /* the pages the buffer lives in; the next one is a guard */
};

/* The program's side. */
struct space {
    int descriptor;
    unsigned char *base;      /* plain view */
    uint64_t bytes;           /* of the whole file */
    uint64_t inputs, outputs; /* where the regions start; requests end where inputs start */
    uint64_t request_used;
    size_t small_used[2];
    uint64_t large_used[2]; /* by role, from the end of the small slots */
    uint64_t touched[2];    /* the largest `large_used` since memory was last given back */
    struct space_buffer buffers[SPACE_MAX_BUFFERS];
    size_t count;
};

/* Notes that both sides write, at offset 0. What the program reads here may have been
 * overwritten by a wild kernel, so it is checked before use. */
struct space_header {
    char doing[120]; /* the function being called */
    int32_t code;    /* the handler's result: an enum status_code */
    char text[508];
    int32_t fault_signal;   /* set by the signal handler of a dying process */
    int32_t fault_is_write; /* 1 write, 0 read, -1 not known */
    uint64_t fault_address, fault_stack_low, fault_stack_pointer;
    uint64_t fault_space;                  /* address of the kernel's view */
    uint64_t private_bytes, private_start; /* private memory in use: at the fault, at the start */
    uint32_t guard_count;
    uint64_t guards[SPACE_MAX_BUFFERS]; /* offsets of the guard pages of this call */
};

/* Create the memory file and the program's view. Closed by space_close. */
struct status space_open(struct space *space);
void space_close(struct space *space);

/* Forget all buffers and requests. Memory beyond `keep_bytes` that an earlier call took is given
 * back to the system. */
void space_begin(struct space *space, uint64_t keep_bytes);

/* Room for read-only request data; 16-byte aligned. The result is an offset. */
struct status space_request(struct space *space, uint64_t *offset, uint64_t bytes);

/* Outputs start filled with this 16-bit pattern. It is a NaN in all floating formats of 16, 32 and
 * 64 bits, and not one that arithmetic makes: what a kernel forgets to write shows. */
#define SPACE_UNWRITTEN 0x7ffbu

/* Room for a buffer, aligned to 64 bytes. */
struct status space_place(struct space *space, struct space_buffer **out, enum space_role role,
                          const char *label, uint64_t bytes);

/* Where `offset` lies in the program's view. */
static inline void *space_at(const struct space *space, uint64_t offset)
{
    return space->base + offset;
}

static inline struct space_header *space_header(const struct space *space)
{
    return (struct space_header *)(void *)space->base;
}

/* Put the guards of the buffers into the header, for space_view_fence. Call after the last
 * space_place. */
void space_publish_guards(struct space *space);

/* Did something write into the fence of an output? Then *buffer is it and *where the distance:
 * >= 0 bytes past its end, < 0 bytes before its start. */
bool space_damaged(const struct space *space, const struct space_buffer **buffer, int64_t *where);

/* The buffer whose data or fence holds `offset`, or NULL. */
const struct space_buffer *space_find(const struct space *space, uint64_t offset);

/* --- the kernel's side --------------------------------------------------------------------- */

struct space_view {
    unsigned char *base;
    uint64_t bytes;
    uint32_t guard_count;
    uint64_t guards[SPACE_MAX_BUFFERS];
};

/* Map a memory file the way a kernel sees it. */
struct status space_view_open(struct space_view *view, int descriptor);
void space_view_close(struct space_view *view);

/* Set the guards of the present call. False when the system refuses. */
bool space_view_fence(struct space_view *view);

#endif
