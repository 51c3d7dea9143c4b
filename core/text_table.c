/* Open addressing over numbers of entries, with half of the hash beside each. */
#include "core/text_table.h"

#include <string.h>
#include <sys/random.h>

#include "core/memory.h"

struct text_entry {
    uint64_t hash;
    const char *text;
    uint32_t length;
};

/* Half of the hash stands in the slot, so that a walk along the slots does not touch the entries,
 * each of which would be a miss of the cache. */
struct text_slot {
    uint32_t number; /* of the entry + 1; 0 when free */
    uint32_t tag;
};

enum { FIRST_ENTRIES = 1024 };

__extension__ typedef unsigned __int128 wide;

/* High and low half of the product, mixed: the step of the "multiply and fold" hashes. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last eight bytes overlap those before them. */
static uint64_t hash_text(const struct text_table *table, const char *text, size_t length)
{
    uint64_t hash = table->key[0] ^ length, word = 0;
    if (length < sizeof word) {
        for (size_t i = 0; i < length; i++) word = word << 8 | (unsigned char)text[i];
    } else {
        for (size_t i = 0; i < length - sizeof word; i += sizeof word) {
            memcpy(&word, text + i, sizeof word);
            hash = fold(hash ^ word, table->key[1]);
        }
        memcpy(&word, text + length - sizeof word, sizeof word);
    }
    hash = fold(hash ^ word, table->key[1]);
    return fold(hash ^ table->key[0], UINT64_C(0x9e3779b97f4a7c15));
}

struct status text_table_create(struct text_table *out)
{
    *out = (struct text_table){ .capacity = FIRST_ENTRIES, .mask = 2 * FIRST_ENTRIES - 1 };
    if (getrandom(out->key, sizeof out->key, 0) != (ssize_t)sizeof out->key) {
        /* Fixed keys are still right, only open to crafted names. */
        out->key[0] = UINT64_C(0x243f6a8885a308d3);
        out->key[1] = UINT64_C(0x13198a2e03707345);
    }
    out->key[1] |= 1;
    out->entries = memory_allocate(out->capacity * sizeof *out->entries);
    out->slots = memory_allocate_zeroed((size_t)out->mask + 1, sizeof *out->slots);
    if (out->entries && out->slots) return status_ok();
    text_table_release(out);
    return status_no_memory(0);
}

void text_table_release(struct text_table *table)
{
    memory_release(table->entries);
    memory_release(table->slots);
    arena_release(&table->arena);
    *table = (struct text_table){ 0 };
}

static bool is_entry(const struct text_table *table, uint32_t number, uint64_t hash,
                     const char *text, size_t length)
{
    if (number >= table->count) return false;
    const struct text_entry *entry = &table->entries[number];
    return entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0;
}

/* The slot of the text, or the free one where it belongs. */
static uint32_t find_slot(const struct text_table *table, uint64_t hash, const char *text,
                          size_t length)
{
    uint32_t slot = (uint32_t)hash & table->mask;
    for (;; slot = (slot + 1) & table->mask) {
        const struct text_slot *at = &table->slots[slot];
        if (!at->number) return slot;
        if (at->tag == hash >> 32 && is_entry(table, at->number - 1, hash, text, length))
            return slot;
    }
}

uint32_t text_table_find(const struct text_table *table, const char *text, size_t length)
{
    uint32_t slot = find_slot(table, hash_text(table, text, length), text, length);
    return table->slots[slot].number - 1; /* TEXT_NONE for a free slot */
}

/* Twice the entries. Slots stay at most half full. */
static struct status grow(struct text_table *table)
{
    if (table->capacity > UINT32_MAX / 4)
        return status_error(STATUS_BAD_INPUT, "there are more than %u different texts",
                            table->capacity);
    uint32_t capacity = table->capacity * 2, mask = capacity * 2 - 1;
    struct text_slot *slots = memory_allocate_zeroed((size_t)mask + 1, sizeof *slots);
    struct text_entry *entries = slots ? memory_resize(table->entries, capacity * sizeof *entries)
                                       : NULL;
    if (!entries) {
        memory_release(slots);
        return status_no_memory(capacity * sizeof *entries);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t slot = (uint32_t)entries[i].hash & mask;
        while (slots[slot].number) slot = (slot + 1) & mask;
        slots[slot] = (struct text_slot){ i + 1, (uint32_t)(entries[i].hash >> 32) };
    }
    memory_release(table->slots);
    table->slots = slots;
    table->entries = entries;
    table->capacity = capacity;
    table->mask = mask;
    return status_ok();
}

struct status text_table_add(uint32_t *number, bool *added, struct text_table *table,
                             const char *text, size_t length)
{
    uint64_t hash = hash_text(table, text, length);

    /* Two files of the same dump have their names in the same order, and the rows of an API
     * follow each other, so the entry is mostly the one met last or its successor. This spares
     * a walk through memory for each row. */
    for (uint32_t i = 0; i < 2; i++) {
        if (!is_entry(table, table->last + i, hash, text, length)) continue;
        *number = table->last += i;
        if (added) *added = false;
        return status_ok();
    }
    uint32_t slot = find_slot(table, hash, text, length);
    uint32_t known = table->slots[slot].number;
    if (added) *added = !known;
    if (known) {
        *number = table->last = known - 1;
        return status_ok();
    }
    if (length > UINT32_MAX / 2)
        return status_error(STATUS_BAD_INPUT, "a text of %zu bytes is too long", length);
    if (table->count == table->capacity) {
        TRY(grow(table));
        slot = find_slot(table, hash, text, length);
    }
    table->texts.arena = &table->arena; /* the table may have moved */
    const char *copy = text_pool_copy(&table->texts, text, length);
    if (!copy) return status_no_memory(length);
    table->entries[table->count] = (struct text_entry){ hash, copy, (uint32_t)length };
    *number = table->last = table->count++;
    table->slots[slot] = (struct text_slot){ table->count, (uint32_t)(hash >> 32) };
    return status_ok();
}

const char *text_table_get(const struct text_table *table, uint32_t number, size_t *length)
{
    if (length) *length = table->entries[number].length;
    return table->entries[number].text;
}
