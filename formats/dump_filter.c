/* Duplicate calls (-f): the same API with arguments of the same structure.
 *
 * Every call gets a hash of its name without index and of its arguments; calls whose hashes
 * agree are parsed again and compared in full, so that a collision cannot drop a call.
 */
#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "core/memory.h"
#include "formats/dump_internal.h"

/* Keys of the hash. Arguments come from a file of others, whose numbers could be chosen so that all
 * calls collide and each is compared with each; not without knowing the keys. */
struct filter_key {
    uint64_t start, factor;
};

static struct filter_key make_key(void)
{
    struct filter_key key;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key)
        key = (struct filter_key){ (uintptr_t)&key, UINT64_C(0x13198a2e03707345) };
    key.factor |= 1;
    return key;
}

/* Multiply and fold: the high half carries what the keyed factor made of every bit. */
static uint64_t mix(const struct filter_key *key, uint64_t hash, uint64_t word)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(hash ^ word ^ key->start) * key->factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t mix_text(const struct filter_key *key, uint64_t hash, const char *text)
{
    for (; *text; text++) hash = mix(key, hash, (unsigned char)*text);
    return mix(key, hash, 256);
}

/* What makes floats equal here: their bits, and all NaNs are one. */
static uint64_t float_bits(double x)
{
    uint64_t bits;
    if (isnan(x)) x = NAN;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t mix_record(const struct filter_key *key, uint64_t hash,
                           const struct tensor_record *r)
{
    hash = mix_text(key, hash, r->dtype_name);
    hash =
        mix(key, hash, (uint64_t)r->rank << 2 | (uint64_t)r->requires_grad << 1 | r->is_parameter);
    for (int i = 0; i < r->rank; i++) hash = mix(key, hash, (uint64_t)r->shape[i]);
    return hash;
}

static uint64_t mix_value(const struct filter_key *key, uint64_t hash, const struct value *v)
{
    hash = mix(key, hash, (uint64_t)v->kind);
    switch (v->kind) {
    case VALUE_BOOL: return mix(key, hash, v->boolean);
    case VALUE_INT: return mix(key, hash, (uint64_t)v->integer);
    case VALUE_FLOAT: return mix(key, hash, float_bits(v->real));
    case VALUE_DTYPE: return mix(key, hash, (uint64_t)v->dtype);
    case VALUE_TENSOR: return mix_record(key, hash, v->tensor.record);
    case VALUE_STRING:
    case VALUE_DEVICE:
    case VALUE_MEMORY_FORMAT:
    case VALUE_UNSUPPORTED: return mix_text(key, hash, v->string);
    default: break;
    }
    if (!value_is_sequence(v)) return hash;
    hash = mix(key, hash, v->list.count);
    /* The items of a dict in any order. */
    uint64_t sum = 0;
    for (size_t i = 0; i < v->list.count; i++) {
        uint64_t start = v->kind == VALUE_DICT ? mix_text(key, 0, v->list.keys[i]) : hash;
        uint64_t item = mix_value(key, start, &v->list.items[i]);
        if (v->kind == VALUE_DICT) sum += item;
        else hash = item;
    }
    return mix(key, hash, sum);
}

static bool same_record(const struct tensor_record *a, const struct tensor_record *b)
{
    return !strcmp(a->dtype_name, b->dtype_name) && a->requires_grad == b->requires_grad &&
           a->is_parameter == b->is_parameter && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static bool same_value(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case VALUE_BOOL: return a->boolean == b->boolean;
    case VALUE_INT: return a->integer == b->integer;
    case VALUE_FLOAT: return float_bits(a->real) == float_bits(b->real);
    case VALUE_DTYPE: return a->dtype == b->dtype;
    case VALUE_TENSOR: return same_record(a->tensor.record, b->tensor.record);
    case VALUE_STRING:
    case VALUE_DEVICE:
    case VALUE_MEMORY_FORMAT:
    case VALUE_UNSUPPORTED: return !strcmp(a->string, b->string);
    default: break;
    }
    if (!value_is_sequence(a)) return true;
    if (a->list.count != b->list.count) return false;
    for (size_t i = 0; i < a->list.count; i++) {
        const struct value *other = a->kind == VALUE_DICT ? value_find(b, a->list.keys[i])
                                                          : &b->list.items[i];
        if (!other || !same_value(&a->list.items[i], other)) return false;
    }
    return true;
}

bool dump_same_structure(const struct api_case *a, const struct api_case *b)
{
    return !strcmp(a->type, b->type) && !strcmp(a->api, b->api) && same_value(&a->args, &b->args) &&
           same_value(&a->kwargs, &b->kwargs);
}

static uint64_t hash_call(const struct filter_key *key, const struct api_case *c)
{
    uint64_t hash = mix_text(key, mix_text(key, 0, c->type), c->api);
    return mix_value(key, mix_value(key, hash, &c->args), &c->kwargs);
}

/* What the search for duplicates keeps of a call. */
struct fingerprint {
    uint64_t hash;
    bool understood; /* a call that cannot be parsed is no duplicate of anything */
};

static struct status take_fingerprints(struct fingerprint *prints, const struct dump *dump,
                                       struct arena *arena)
{
    const struct filter_key key = make_key();
    for (size_t i = 0; i < dump->count; i++) {
        struct api_case c;
        struct status status = dump_read_case(&c, arena, dump, i);
        if (status.code && status.code != STATUS_SKIP) return status;
        prints[i].understood = !status.code;
        if (!status.code) prints[i].hash = hash_call(&key, &c);
        arena_reset(arena);
    }
    return status_ok();
}

/* Compare two calls in full. */
static struct status compare_calls(bool *same, const struct dump *dump, struct arena *arena,
                                   size_t i, size_t j)
{
    struct api_case a, b;
    struct status status = dump_read_case(&a, arena, dump, i);
    if (!status.code) status = dump_read_case(&b, arena, dump, j);
    *same = !status.code && dump_same_structure(&a, &b);
    arena_reset(arena);
    return status.code == STATUS_SKIP ? status_ok() : status;
}

/* Keep the first call of each group, with an open table from hashes to the kept calls. */
static struct status keep_first(bool *keep, const struct dump *dump, struct arena *arena,
                                const struct fingerprint *prints, uint32_t *table,
                                size_t table_size)
{
    for (size_t i = 0; i < dump->count; i++) {
        keep[i] = true;
        if (!prints[i].understood) continue;
        size_t slot = prints[i].hash & (table_size - 1);
        for (; table[slot]; slot = (slot + 1) & (table_size - 1)) {
            size_t other = table[slot] - 1;
            bool same;
            if (prints[other].hash != prints[i].hash) continue;
            TRY(compare_calls(&same, dump, arena, other, i));
            if (!same) continue;
            keep[i] = false;
            break;
        }
        if (keep[i]) table[slot] = (uint32_t)i + 1;
    }
    return status_ok();
}

struct status dump_filter(bool *keep, const struct dump *dump)
{
    struct arena arena = { 0 };
    size_t table_size = 64;

    while (table_size < 2 * dump->count) table_size *= 2;
    struct fingerprint *prints = memory_allocate_zeroed(dump->count, sizeof *prints);
    uint32_t *table = memory_allocate_zeroed(table_size, sizeof *table);
    struct status status = prints && table ? take_fingerprints(prints, dump, &arena)
                                           : status_no_memory(table_size * sizeof *table);
    if (!status.code) status = keep_first(keep, dump, &arena, prints, table, table_size);
    memory_release(prints);
    memory_release(table);
    arena_release(&arena);
    return status;
}

/* ---- several dumps ---------------------------------------------------------------------- */

/* Two hashes with independent keys: the dumps of the calls are closed, so that nothing can be compared
 * in full; of 10^9 calls two collide with a probability below 10^-20. */
struct call_print {
    uint64_t halves[2]; /* both 0: an empty place */
};

struct call_set {
    struct filter_key keys[2];
    struct call_print *items; /* open addressing; at most half full */
    size_t room, count;
};

struct status call_set_create(struct call_set **out)
{
    struct call_set *set = memory_allocate_zeroed(1, sizeof *set);
    if (!set) return status_no_memory(sizeof *set);
    set->keys[0] = make_key();
    set->keys[1] = make_key();
    *out = set;
    return status_ok();
}

void call_set_release(struct call_set *set)
{
    if (set) memory_release(set->items);
    memory_release(set);
}

/* The place of a print, or the empty one where it belongs. */
static struct call_print *find_print(struct call_print *items, size_t room, struct call_print print)
{
    size_t slot = print.halves[0] & (room - 1);
    while ((items[slot].halves[0] || items[slot].halves[1]) &&
           memcmp(&items[slot], &print, sizeof print) != 0)
        slot = (slot + 1) & (room - 1);
    return &items[slot];
}

static struct status grow_set(struct call_set *set)
{
    size_t room = set->room ? 2 * set->room : 1024;
    if (2 * (set->count + 1) <= set->room) return status_ok();
    struct call_print *items = memory_allocate_zeroed(room, sizeof *items);
    if (!items) return status_no_memory(room * sizeof *items);
    for (size_t i = 0; i < set->room; i++)
        if (set->items[i].halves[0] || set->items[i].halves[1])
            *find_print(items, room, set->items[i]) = set->items[i];
    memory_release(set->items);
    set->items = items;
    set->room = room;
    return status_ok();
}

/* Is the call new? It is in the set then. */
static struct status add_call(bool *is_new, struct call_set *set, const struct api_case *c)
{
    struct call_print print = { { hash_call(&set->keys[0], c), hash_call(&set->keys[1], c) | 1 } };
    TRY(grow_set(set));
    struct call_print *place = find_print(set->items, set->room, print);
    *is_new = !place->halves[0] && !place->halves[1];
    set->count += *is_new;
    *place = print;
    return status_ok();
}

struct status dump_filter_across(bool *keep, const struct dump *dump, struct call_set *met)
{
    struct arena arena = { 0 };
    struct status status = status_ok();
    for (size_t i = 0; i < dump->count && !status.code; i++) {
        struct api_case c;
        if (!keep[i]) continue;
        status = dump_read_case(&c, &arena, dump, i);
        if (!status.code) status = add_call(&keep[i], met, &c);
        if (status.code == STATUS_SKIP) status = status_ok();
        arena_reset(&arena);
    }
    arena_release(&arena);
    return status;
}
