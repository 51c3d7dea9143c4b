/* The parts of a file that stay when the rest is cut out of it. */
#ifndef PROBE_RESULTS_KEPT_BYTES_H
#define PROBE_RESULTS_KEPT_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"

struct byte_range {
    uint64_t begin, end;
};

/* Ascending, without gaps between neighbours that touch. All zeros: nothing stays. */
struct kept_bytes {
    struct byte_range *items;
    size_t count, capacity;
};

/* Keep the bytes begin..end too; they lie behind all that are kept. */
struct status kept_bytes_add(struct kept_bytes *kept, uint64_t begin, uint64_t end);

void kept_bytes_release(struct kept_bytes *kept);

/* Cut everything else out of an open file. A single piece from the start is a truncation; anything
 * else is written to a copy, which takes the file's name in one step.
 *
 *   file       open for appending at the new end, locked as before
 *   replaced   the file that a copy took the place of (its lock lives until it is closed);
 *              untouched otherwise
 *   cut_bytes  grows by what was cut
 */
struct status kept_bytes_cut(struct file *file, struct file *replaced, uint64_t *cut_bytes,
                             const struct kept_bytes *kept);

#endif
