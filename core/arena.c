/* Blocks from the system, kept as spares that fit the next requests best, and a reserved range of
 * addresses that pieces fill from its start. */
#include "core/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/memory.h"

/* Under the address sanitizer what is not handed out is poisoned, and a gap follows each piece. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP = 64 };
#else
#define ASAN_POISON_MEMORY_REGION(start, bytes)   ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
enum { GAP = 0 };
#endif

enum { ALIGNMENT = 64, FIRST_BLOCK = 64 * 1024, DEFAULT_KEEP = 256 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t bytes; /* usable, from `start` */
    size_t filled;
    size_t touched;     /* most that was filled since the last reset; kept for the reserved range */
    size_t most_filled; /* ever; as above */
    unsigned char *start;
};

static struct arena_block *block_create(size_t bytes)
{
    size_t total;
    if (!size_add(&total, bytes, sizeof(struct arena_block) + ALIGNMENT)) return NULL;
    struct arena_block *block = memory_allocate(total);
    if (!block) return NULL;
    uintptr_t first = (uintptr_t)(block + 1);
    uintptr_t aligned = (first + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    block->start = (unsigned char *)block + (aligned - (uintptr_t)block);
    block->bytes = bytes;
    block->filled = 0;
    memory_use_huge_pages(block->start, bytes);
    ASAN_POISON_MEMORY_REGION(block->start, bytes);
    return block;
}

void arena_reserve(struct arena *arena, size_t bytes)
{
    /* The first pages are small ones, for runs of small calls. */
    enum { HEADER = 4096, SMALL_PAGES = 2 << 20 };
    if (arena->reserved || bytes <= HEADER) return;
    struct arena_block *block = memory_reserve(bytes);
    if (!block) return;
    *block = (struct arena_block){ NULL, bytes - HEADER, 0, 0, 0, (unsigned char *)block + HEADER };
    if (bytes > SMALL_PAGES)
        memory_use_huge_pages((unsigned char *)block + SMALL_PAGES, bytes - SMALL_PAGES);
    arena->reserved = block;
}

/* The smallest spare block that holds `bytes`, unlinked; none that is much larger, or small
 * requests would use up the blocks that the next large tensor could have had. */
static struct arena_block *spare_take(struct arena *arena, size_t bytes)
{
    struct arena_block **best = NULL;
    size_t most = bytes < SIZE_MAX / 4 ? 2 * bytes + ((size_t)2 << 20) : SIZE_MAX;
    for (struct arena_block **link = &arena->spare; *link; link = &(*link)->next)
        if ((*link)->bytes >= bytes && (*link)->bytes <= most &&
            (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    if (!best) return NULL;
    struct arena_block *block = *best;
    *best = block->next;
    block->filled = 0;
    return block;
}

/* Of a piece that there is. */
static size_t padded_bytes(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

size_t arena_piece_bytes(size_t bytes) { return padded_bytes(bytes) + GAP; }

/* ---- pieces given back -------------------------------------------------------------------- */

static void remove_returned(struct arena_returned *returned, size_t i)
{
    returned->piece[i] = returned->piece[--returned->count];
}

void arena_give_back(struct arena *arena, void *piece, size_t bytes)
{
    struct arena_returned *returned = &arena->returned;
    const size_t padded = padded_bytes(bytes);
    if (!piece || padded < ARENA_LARGE || returned->count == ARENA_RETURNED) return;
    ASAN_POISON_MEMORY_REGION(piece, padded);
    returned->piece[returned->count].start = piece;
    returned->piece[returned->count++].bytes = padded + GAP;
    arena->used_bytes -= padded < arena->used_bytes ? padded : arena->used_bytes;
}

/* The first `room` bytes of the smallest piece that has so many; what is left stays. NULL: none has. */
static void *take_returned(struct arena_returned *returned, size_t room)
{
    size_t best = returned->count;
    for (size_t i = 0; i < returned->count; i++)
        if (returned->piece[i].bytes >= room &&
            (best == returned->count || returned->piece[i].bytes < returned->piece[best].bytes))
            best = i;
    if (room < ARENA_LARGE || best == returned->count) return NULL;
    void *result = returned->piece[best].start;
    returned->piece[best].start += room;
    returned->piece[best].bytes -= room;
    if (returned->piece[best].bytes < ARENA_LARGE) remove_returned(returned, best);
    return result;
}

/* ---- pieces --------------------------------------------------------------------------------- */

bool (*arena_fault)(size_t bytes);

/* Room at the end of a block. */
static void *take_from_blocks(struct arena *arena, size_t room)
{
    struct arena_block *block = arena->reserved;
    if (!block || block->bytes - block->filled < room) block = arena->used;
    if (!block || block->bytes - block->filled < room) {
        size_t wanted = block ? block->bytes : FIRST_BLOCK;
        if (wanted < ((size_t)1 << 20)) wanted *= 2;
        if (wanted > ((size_t)1 << 20)) wanted = (size_t)1 << 20;
        if (wanted < room) wanted = room;
        block = spare_take(arena, room);
        if (!block) {
            block = block_create(wanted);
            if (!block) return NULL;
            arena->held_bytes += wanted;
        }
        /* The block with more room left is the one to be filled on. */
        if (arena->used && arena->used->bytes - arena->used->filled > block->bytes - room) {
            block->next = arena->used->next;
            arena->used->next = block;
        } else {
            block->next = arena->used;
            arena->used = block;
        }
    }
    void *result = block->start + block->filled;
    block->filled += room;
    return result;
}

void *arena_allocate(struct arena *arena, size_t bytes)
{
    if (arena_fault && arena_fault(bytes)) return NULL;
    size_t padded, room; /* room: with the gap, which is not counted as used */
    if (!size_add(&padded, bytes, ALIGNMENT - 1)) return NULL;
    padded = padded_bytes(bytes);
    if (!size_add(&room, padded, GAP)) return NULL;
    if (arena->limit_bytes &&
        (padded > arena->limit_bytes || arena->used_bytes > arena->limit_bytes - padded)) {
        arena->limit_met = true;
        return NULL;
    }

    void *result = take_returned(&arena->returned, room);
    if (!result) result = take_from_blocks(arena, room);
    if (!result) return NULL;
    arena->used_bytes += padded;
    ASAN_POISON_MEMORY_REGION(result, room);
    ASAN_UNPOISON_MEMORY_REGION(result, bytes);
    return result;
}

void *arena_allocate_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!size_multiply(&bytes, count, size)) return NULL;
    return arena_allocate(arena, bytes);
}

void *arena_allocate_zeroed(struct arena *arena, size_t count, size_t size)
{
    void *result = arena_allocate_array(arena, count, size);
    if (result) memset(result, 0, count * size);
    return result;
}

char *arena_copy_bytes(struct arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? arena_allocate(arena, length + 1) : NULL;
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *arena_copy_string(struct arena *arena, const char *text)
{
    return arena_copy_bytes(arena, text, strlen(text));
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    char start[256]; /* most texts fit, and are formatted once */

    va_start(arguments, format);
    int length = vsnprintf(start, sizeof start, format, arguments);
    va_end(arguments);
    if (length < 0) return NULL;
    if ((size_t)length < sizeof start) return arena_copy_bytes(arena, start, (size_t)length);
    char *text = arena_allocate(arena, (size_t)length + 1);
    if (!text) return NULL;
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

/* Cut a block down to `filled` bytes. */
static void block_cut(struct arena_block *block, size_t filled)
{
    ASAN_POISON_MEMORY_REGION(block->start + filled, block->filled - filled);
    if (block->filled > block->touched) block->touched = block->filled;
    if (block->touched > block->most_filled) block->most_filled = block->touched;
    block->filled = filled;
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){ .block = arena->used,
                                .second = arena->used ? arena->used->next : NULL,
                                .block_filled = arena->used ? arena->used->filled : 0,
                                .range_filled = arena->reserved ? arena->reserved->filled : 0,
                                .used_bytes = arena->used_bytes,
                                .returned = arena->returned };
}

bool arena_can_rewind(const struct arena *arena, struct arena_mark mark)
{
    /* New blocks come first or second. */
    const struct arena_block *block = arena->used;
    if (!arena->reserved || block != mark.block) return false;
    return !block || (block->filled == mark.block_filled && block->next == mark.second);
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
    if (!arena_can_rewind(arena, mark)) return;
    block_cut(arena->reserved, mark.range_filled);
    arena->used_bytes = mark.used_bytes;
    arena->returned = mark.returned;
}

static void move_bytes(void *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    memmove(to, from, bytes);
}

bool arena_rewind_keeping(struct arena *arena, struct arena_mark mark, struct arena_piece *pieces,
                          size_t count, arena_mover *move, void *context)
{
    if (!arena_can_rewind(arena, mark)) return false;
    struct arena_block *block = arena->reserved;
    size_t filled = mark.range_filled;
    for (size_t i = 0; i < count; i++) {
        if ((uintptr_t)(block->start + filled) > (uintptr_t)pieces[i].data) return false;
        filled += arena_piece_bytes(pieces[i].bytes);
    }
    filled = mark.range_filled;
    arena->used_bytes = mark.used_bytes;
    arena->returned = mark.returned;
    if (!move) move = move_bytes;
    for (size_t i = 0; i < count; i++) {
        const size_t padded = padded_bytes(pieces[i].bytes);
        unsigned char *place = block->start + filled;
        ASAN_UNPOISON_MEMORY_REGION(place, pieces[i].bytes);
        if (place != pieces[i].data) move(context, place, pieces[i].data, pieces[i].bytes);
        ASAN_POISON_MEMORY_REGION(place + pieces[i].bytes, padded - pieces[i].bytes + GAP);
        pieces[i].data = place;
        filled += padded + GAP;
        arena->used_bytes += padded;
    }
    block_cut(block, filled);
    return true;
}

/* Empty the reserved range and give back its pages after the first `keep` bytes. */
static void trim_reserved(struct arena_block *block, size_t keep)
{
    block_cut(block, 0);
    if (block->touched > keep) memory_discard(block->start + keep, block->touched - keep);
    block->touched = 0;
}

void arena_reset(struct arena *arena)
{
    size_t keep = arena->keep_bytes ? arena->keep_bytes : DEFAULT_KEEP;
    struct arena_block *chains[2] = { arena->used, arena->spare };
    size_t kept = 0;

    arena->returned.count = 0;
    arena->used = arena->spare = NULL;
    if (arena->reserved) trim_reserved(arena->reserved, keep);
    for (int i = 0; i < 2; i++) {
        for (struct arena_block *block = chains[i], *next; block; block = next) {
            next = block->next;
            if (kept + block->bytes > keep) {
                arena->held_bytes -= block->bytes;
                ASAN_UNPOISON_MEMORY_REGION(block->start, block->bytes);
                memory_release(block);
                continue;
            }
            kept += block->bytes;
            ASAN_POISON_MEMORY_REGION(block->start, block->bytes);
            block->next = arena->spare;
            arena->spare = block;
        }
    }
    arena->used_bytes = 0;
}

void arena_release(struct arena *arena)
{
    size_t keep = arena->keep_bytes;
    arena->keep_bytes = 1;
    arena_reset(arena);
    arena->keep_bytes = keep;
    if (arena->reserved) {
        ASAN_UNPOISON_MEMORY_REGION(arena->reserved->start, arena->reserved->most_filled);
        memory_unmap(arena->reserved,
                     (size_t)(arena->reserved->start - (unsigned char *)arena->reserved) +
                         arena->reserved->bytes);
        arena->reserved = NULL;
    }
}
