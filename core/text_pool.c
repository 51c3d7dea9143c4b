/* Texts one after the other in pieces of the arena, each ended by its NUL. */
#include "core/text_pool.h"

#include <stdint.h>
#include <string.h>

/* Texts are a few dozen bytes; one that would waste much of a chunk gets a piece of its
 * own. */
enum { CHUNK_BYTES = 16 << 10, OWN_PIECE_BYTES = CHUNK_BYTES / 8 };

char *text_pool_copy(struct text_pool *pool, const char *text, size_t length)
{
    if (length >= OWN_PIECE_BYTES) return arena_copy_bytes(pool->arena, text, length);
    if (pool->left < length + 1) {
        char *chunk = arena_allocate(pool->arena, CHUNK_BYTES);
        if (!chunk) return NULL;
        pool->at = chunk;
        pool->left = CHUNK_BYTES;
    }
    char *copy = pool->at;
    if (length) memcpy(copy, text, length);
    copy[length] = '\0';
    pool->at += length + 1;
    pool->left -= length + 1;
    return copy;
}
