/* Arrays that double when they are full. */
#ifndef PROBE_CORE_GROWING_H
#define PROBE_CORE_GROWING_H

#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

/* Make room for an item at `index`. New items are not set, so that their memory is touched as it is used.
 *
 *   items     the address of the pointer to the first item: NULL at first, moved when the array grows; from
 *             memory_resize, to be released by its owner
 *   capacity  items that there is room for; 0 at first
 *   bytes     of one item
 *   errors    STATUS_NO_MEMORY; the array is as it was
 */
struct status array_make_room(void *items, size_t *capacity, size_t index, size_t bytes);

/* The same; the bytes of new items are zero. */
struct status array_make_zeroed_room(void *items, size_t *capacity, size_t index, size_t bytes);

/* The same in an arena, which keeps the outgrown ones: as much as the array has. New items are not set. */
struct status array_make_room_in(struct arena *arena, void *items, size_t *capacity, size_t index,
                                 size_t bytes);

#endif
