/* Every call looks for its row several times, and there are some thousand names: going through the tables
 * took a tenth of the time of a small call. The tables are constants of many files, so that the
 * chains are made by the first who asks, and never change after that.
 */
#include "bench/op_index.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "core/hash.h"

#define TABLE(name)                      \
    extern const struct op ops_##name[]; \
    extern const size_t ops_##name##_count;
#include "bench/families.inc"
#undef TABLE

/* A table's length is not a constant here, so tables are listed by reference. */
struct op_family {
    const char *name;
    const struct op *rows;
    const size_t *count;
};

#define TABLE(name) { #name, ops_##name, &ops_##name##_count },
static const struct op_family families[] = {
#include "bench/families.inc"
    { NULL, NULL, NULL },
};
#undef TABLE

bool op_name_matches(const char *alternatives, const char *name, size_t length)
{
    for (const char *at = alternatives;; at++) {
        const char *end = strchr(at, '|');
        size_t width = end ? (size_t)(end - at) : strlen(at);
        if (width == length && !strncmp(at, name, length)) return true;
        if (!end) return false;
        at = end;
    }
}

/* ---- chains ----------------------------------------------------------------------------- */

enum { CHAINS = 4096, NAMES = 8192 };

/* One of the names of a row. */
struct named_row {
    const struct op *op;
    const char *name;
    uint16_t length, next; /* in its chain, in the order of the tables; 0: the last one */
};

static struct {
    struct named_row rows[NAMES]; /* from 1 on */
    uint16_t first[CHAINS], last[CHAINS];
    size_t count;
} table;

static size_t chain_of(const char *name, size_t length)
{
    return hash_bytes(HASH_START, name, length) % CHAINS;
}

static void add_name(const struct op *op, const char *name, size_t length)
{
    size_t chain = chain_of(name, length);
    assert(table.count + 1 < NAMES && length <= UINT16_MAX);
    uint16_t number = (uint16_t)++table.count;
    table.rows[number] = (struct named_row){ op, name, (uint16_t)length, 0 };
    if (table.first[chain]) table.rows[table.last[chain]].next = number;
    else table.first[chain] = number;
    table.last[chain] = number;
}

static void add_row(const struct op *op)
{
    for (const char *at = op->name;; at++) {
        size_t length = strcspn(at, "|");
        add_name(op, at, length);
        at += length;
        if (!*at) return;
    }
}

static void make_table(void)
{
    for (const struct op_family *family = families; family->rows; family++)
        for (size_t i = 0; i < *family->count; i++) add_row(&family->rows[i]);
}

const struct op *op_index_next(unsigned groups, const char *name, size_t length,
                               const struct op *after)
{
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    bool passed = !after;
    (void)pthread_once(&made, make_table);
    for (size_t i = table.first[chain_of(name, length)]; i; i = table.rows[i].next) {
        const struct named_row *row = &table.rows[i];
        bool has_name = row->length == length && !memcmp(row->name, name, length);
        if (row->op == after) passed = true;
        else if (passed && has_name && (row->op->groups & groups)) return row->op;
    }
    return NULL;
}

/* ---- all rows --------------------------------------------------------------------------- */

const char *op_family(const struct op *op)
{
    for (const struct op_family *family = families; family->rows; family++)
        if (op >= family->rows && op < family->rows + *family->count) return family->name;
    return "";
}

const struct op *op_row(size_t i)
{
    for (const struct op_family *family = families; family->rows; family++) {
        if (i < *family->count) return &family->rows[i];
        i -= *family->count;
    }
    return NULL;
}
