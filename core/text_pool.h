/* Many short texts that live as long as an arena, without the 64 bytes that each piece of
 * an arena takes at least: names of a mapping file, strings of a sheet. */
#ifndef PROBE_CORE_TEXT_POOL_H
#define PROBE_CORE_TEXT_POOL_H

#include <stddef.h>

#include "core/arena.h"

/* An empty pool: struct text_pool pool = { .arena = arena }. It needs no release; the texts
 * go with the arena, which must not be rewound behind them. */
struct text_pool {
    struct arena *arena;
    char *at; /* where the next text goes */
    size_t left;
};

/* A copy of `length` bytes with a NUL behind it; NULL when there is no memory. */
char *text_pool_copy(struct text_pool *pool, const char *text, size_t length);

#endif
