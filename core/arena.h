/* Bump allocation with one owner.
 *
 * The tensors and texts of a case live in the arena of that case and go with it. Blocks are
 * kept across arena_reset, because faulting in fresh pages costs more than most kernels
 * (64 MB: 31 ms fresh, 2 ms reused); blocks above `keep_bytes` in total are given back.
 *
 * Blocks can only be reused for requests of about their size. An arena that serves many cases
 * of different sizes should reserve a range of address space first: pieces then lie one after
 * the other from its start, and each case runs in the pages that the last one has warmed.
 */
#ifndef PROBE_CORE_ARENA_H
#define PROBE_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

struct arena_block;

/* Large pieces that were given back, for the next requests that fit. Small ones, and more than these, stay as they are until
 * the reset. */
enum { ARENA_LARGE = 1 << 20, ARENA_RETURNED = 8 };
struct arena_returned {
    size_t count;
    struct {
        unsigned char *start;
        size_t bytes;
    } piece[ARENA_RETURNED];
};

struct arena {
    struct arena_block *used; /* newest first; the newest is the one being filled */
    struct arena_block *spare;
    struct arena_block *reserved; /* the range of arena_reserve, or NULL */
    size_t used_bytes;            /* handed out since the last reset, with padding */
    size_t held_bytes;            /* size of all blocks, used and spare, without the range */
    size_t limit_bytes;           /* most used_bytes; 0 = no limit */
    bool limit_met;               /* something was refused for the limit alone */
    size_t keep_bytes;            /* most spare bytes kept by arena_reset; 0 = 256 MB */
    struct arena_returned returned;
};

/* An empty arena is all zeros: struct arena a = { 0 }. */

/* Take memory from one range of `bytes` of address space as long as it lasts. Nothing happens
 * when the system refuses it, or when there is one already: blocks serve as well. */
void arena_reserve(struct arena *arena, size_t bytes);

/* `bytes` bytes aligned to 64, uninitialised; NULL when memory or the limit is exhausted.
 * A request of 0 bytes gives a valid pointer. */
void *arena_allocate(struct arena *arena, size_t bytes);

/* count * size bytes, checked against overflow; zeroed. */
void *arena_allocate_zeroed(struct arena *arena, size_t count, size_t size);

/* count * size bytes, checked against overflow; uninitialised. */
void *arena_allocate_array(struct arena *arena, size_t count, size_t size);

/* A piece that nobody uses any more, of `bytes` bytes as they were asked for: pointers to it are invalid. A large one serves
 * the next requests, in pages that are warm. NULL: nothing. */
void arena_give_back(struct arena *arena, void *piece, size_t bytes);

/* Copies of strings. The second takes `length` bytes and adds the NUL. */
char *arena_copy_string(struct arena *arena, const char *text);
char *arena_copy_bytes(struct arena *arena, const char *text, size_t length);

/* A formatted string; NULL when there is no memory. */
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Where the arena stands, for arena_rewind. */
struct arena_mark {
    const struct arena_block *block, *second; /* outside the range: the newest, the one behind it */
    size_t block_filled, range_filled, used_bytes;
    struct arena_returned returned;
};
struct arena_mark arena_mark(const struct arena *arena);

/* Forget what was allocated since the mark: pointers to it are invalid, and the next requests get
 * the same, still warm pages. For scratch room inside a case. Works where all of it came from the
 * reserved range; otherwise nothing happens and it stays until the reset. */
void arena_rewind(struct arena *arena, struct arena_mark mark);
bool arena_can_rewind(const struct arena *arena,
                      struct arena_mark mark); /* does something happen? */

/* Bytes of a range that a piece of `bytes` takes, those up to the next piece included; `bytes` is that of memory that there is. */
size_t arena_piece_bytes(size_t bytes);

/* Forget what was allocated since the mark but for some pieces, which move to the first room behind it.
 *
 *   pieces   apart, in the order of their addresses; then where they are now
 *   move     moves bytes down to where they overlap themselves at most, as memmove does; NULL: memmove does
 *   returns  false, and nothing has happened, where arena_rewind would do nothing or a piece would be overwritten
 *            before its turn
 */
struct arena_piece {
    void *data;
    size_t bytes;
};
typedef void arena_mover(void *context, void *to, const void *from, size_t bytes);
bool arena_rewind_keeping(struct arena *arena, struct arena_mark mark, struct arena_piece *pieces,
                          size_t count, arena_mover *move, void *context);

/* For tests: asked before every piece that is handed out; true refuses it as exhausted. */
extern bool (*arena_fault)(size_t bytes);

/* Forget everything that was allocated. Pointers from before are invalid. Of a reserved range
 * the first keep_bytes stay warm. */
void arena_reset(struct arena *arena);

/* Return all memory to the system. The arena is empty and usable afterwards. */
void arena_release(struct arena *arena);

#endif
