/* A set of texts, numbered in the order of their first appearance: row names, API names and
 * messages of files with millions of rows. Hash table with open addressing; the hash is keyed at
 * random, because the names come from files of other people.
 */
#ifndef PROBE_CORE_TEXT_TABLE_H
#define PROBE_CORE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/text_pool.h"

#define TEXT_NONE UINT32_MAX

struct text_entry;
struct text_slot;

/* Start with text_table_create, end with text_table_release. */
struct text_table {
    struct text_entry *entries;
    struct text_slot *slots;
    uint32_t count, capacity;
    uint32_t mask; /* slots - 1 */
    uint32_t last; /* entry met last */
    uint64_t key[2];
    struct arena arena; /* of the texts */
    struct text_pool texts;
};

struct status text_table_create(struct text_table *out);
void text_table_release(struct text_table *table);

/* The number of a text; TEXT_NONE when it is not in the table. */
uint32_t text_table_find(const struct text_table *table, const char *text, size_t length);

/* The number of a text, which is copied into the table when it is new. `added` may be NULL. */
struct status text_table_add(uint32_t *number, bool *added, struct text_table *table,
                             const char *text, size_t length);

/* Text number `number`, NUL-terminated; `length` may be NULL. Valid until the release. */
const char *text_table_get(const struct text_table *table, uint32_t number, size_t *length);

#endif
