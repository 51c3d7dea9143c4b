/* Single elements in ball arithmetic (Arb; Johansson 2017).
 *
 * A memo keyed by (node, element, ball or pair) keeps shared sub-expressions from being computed again: an
 * open-addressing table that lives for one refinement at one precision.
 */
#include "bench/tape/enclosure.h"

#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "core/memory.h"

enum memo_kind { MEMO_BALL, MEMO_PAIR };

struct memo_entry {
    const struct node *node; /* NULL: free */
    size_t key;              /* element and kind */
    union {
        arb_struct ball;
        struct pair pair; /* NaN: there is none */
    };
};

struct enclosure_memo {
    struct memo_entry *entries;
    size_t capacity, used; /* capacity is a power of two */
};

static size_t memo_key(size_t element, enum memo_kind kind) { return element << 1 | kind; }

static size_t memo_slot(const struct enclosure_memo *memo, const struct node *node, size_t key)
{
    uint64_t hash = (uint64_t)node->id * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)key * UINT64_C(0xc2b2ae3d27d4eb4f);
    hash ^= hash >> 29;
    size_t slot = (size_t)hash & (memo->capacity - 1);
    while (memo->entries[slot].node &&
           (memo->entries[slot].node != node || memo->entries[slot].key != key))
        slot = (slot + 1) & (memo->capacity - 1);
    return slot;
}

/* What cannot be had changes the last digits of a bound, so a block that is refused is asked for once more. */
static void *allocate_zeroed(size_t count, size_t size)
{
    void *block = memory_allocate_zeroed(count, size);
    return block ? block : memory_allocate_zeroed(count, size);
}

static bool memo_grow(struct enclosure_memo *memo)
{
    size_t capacity = memo->capacity ? memo->capacity * 2 : 1024;
    struct enclosure_memo bigger = { allocate_zeroed(capacity, sizeof *bigger.entries), capacity,
                                     memo->used };
    if (!bigger.entries) return false;
    for (size_t i = 0; i < memo->capacity; i++) {
        const struct memo_entry *entry = &memo->entries[i];
        if (entry->node) bigger.entries[memo_slot(&bigger, entry->node, entry->key)] = *entry;
    }
    memory_release(memo->entries);
    *memo = bigger;
    return true;
}

/* The place of a key, with room for it if it is new; NULL without memory. */
static struct memo_entry *memo_find(struct enclosure_memo *memo, const struct node *node,
                                    size_t element, enum memo_kind kind)
{
    if (memo->used * 2 >= memo->capacity && !memo_grow(memo)) return NULL;
    return &memo->entries[memo_slot(memo, node, memo_key(element, kind))];
}

static void memo_claim(struct enclosure_memo *memo, struct memo_entry *entry,
                       const struct node *node, size_t element, enum memo_kind kind)
{
    entry->node = node;
    entry->key = memo_key(element, kind);
    memo->used++;
}

static void memo_clear(struct enclosure_memo *memo)
{
    for (size_t i = 0; i < memo->capacity; i++)
        if (memo->entries[i].node && (memo->entries[i].key & 1) == MEMO_BALL)
            arb_clear(&memo->entries[i].ball);
    memory_release(memo->entries);
    memset(memo, 0, sizeof *memo);
}

struct enclosure *enclosure_open(slong precision, size_t limit)
{
    struct {
        struct enclosure enclosure;
        struct enclosure_memo memo;
    } *own = allocate_zeroed(1, sizeof *own);
    if (!own) return NULL;
    own->enclosure =
        (struct enclosure){ .precision = precision, .memo = &own->memo, .limit = limit };
    return &own->enclosure;
}

void enclosure_close(struct enclosure *enclosure)
{
    if (!enclosure) return;
    memo_clear(enclosure->memo);
    memory_release(enclosure);
}

/* Element i of the node in double. */
static double value_at(struct enclosure *enclosure, const struct node *node, size_t i)
{
    if (!node_is_deferred(node)) return node_value_at(node, i);
    size_t place = node->id % ENCLOSURE_BLOCKS;
    bool known = enclosure->block[place].node == node;
    size_t start = enclosure->block[place].start, count = enclosure->block[place].count;
    double *value = enclosure->block[place].value;
    if (known && i >= start && i - start < count) return value[i - start];
    bool goes_on = known && i == start + count;
    size_t most = goes_on ? ENCLOSURE_BLOCK : 1;
    enclosure->block[place].node = node;
    enclosure->block[place].start = i;
    enclosure->block[place].count = node->n - i < most ? node->n - i : most;
    const double *made = node_block(node, i, enclosure->block[place].count, value);
    if (made != value) memcpy(value, made, enclosure->block[place].count * sizeof *value);
    return value[0];
}

/* Leaves are exact; so are the statements "infinite" and "not a number". */
static bool is_statement(struct enclosure *enclosure, const struct node *node, size_t i)
{
    bool unread_leaf = !node->value && !node->deferral;
    return !node->primitive || unread_leaf || !isfinite(value_at(enclosure, node, i));
}

/* Is an element of the node neither given nor integral? */
static bool is_computed(const struct node *node)
{
    return node->primitive && !node->integer && (node->value || node->deferral);
}

/* The input of as many elements that an element of the node comes from, if it is computed, too. */
static const struct node *computed_input(const struct node *node)
{
    bool takes_all = node->deferral || node->input_count == 1;
    for (int k = 0; takes_all && k < node->input_count; k++)
        if (node->inputs[k]->n == node->n && is_computed(node->inputs[k])) return node->inputs[k];
    return NULL;
}

static bool remembers(const struct enclosure_memo *memo, const struct node *node, size_t i)
{
    return memo && memo->capacity &&
           memo->entries[memo_slot(memo, node, memo_key(i, MEMO_BALL))].node;
}

/* Evaluations that each term of a sum takes, at about element i, up to what is remembered; the sums that all have in common
 * are not counted. */
static size_t work_of_term(const struct enclosure_memo *memo, const struct node *node, size_t i)
{
    size_t work = 0;
    if (!is_computed(node)) return 0;
    do work++;
    while (!remembers(memo, node, i) && (node = computed_input(node)));
    return work;
}

/* Evaluations that an element of the node takes when nothing is remembered: of the dearest sum that it comes from. Looks
 * at `*visits` nodes at most. */
static size_t work_of_sums(const struct node *node, int *visits)
{
    size_t most = 0;
    if (!is_computed(node) || --*visits < 0) return 0;
    bool takes_all = node->deferral || node->input_count == 1;
    for (int k = 0; takes_all && k < node->input_count; k++) {
        size_t work = work_of_sums(node->inputs[k], visits);
        if (work > most) most = work;
    }
    size_t own = node->terms ? node->terms * work_of_term(NULL, node->inputs[0], 0) : 0;
    return own > most ? own : most;
}

bool enclosure_admits(struct enclosure *enclosure, const struct node *node, size_t first,
                      size_t count)
{
    size_t work = count ? work_of_term(enclosure->memo, node, first) : 0;
    size_t left = enclosure->limit - enclosure->work;
    if (enclosure->work <= enclosure->limit && (!work || count <= left / work)) return true;
    enclosure->work = enclosure->limit + 1;
    return false;
}

void enclosure_element(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    if (node->integer) {
        arb_set_si(ball, (slong)node->integer[i]);
        return;
    }
    if (is_statement(enclosure, node, i)) {
        double value;
        arb_set_d(ball, *node_block(node, i, 1, &value));
        return;
    }
    if (++enclosure->work > enclosure->limit) {
        arb_indeterminate(ball);
        return;
    }
    const struct memo_entry *entry = memo_find(enclosure->memo, node, i, MEMO_BALL);
    if (!entry) {
        arb_indeterminate(ball);
        return;
    }
    if (entry->node) {
        arb_set(ball, &entry->ball);
        return;
    }
    node->primitive->enclose(enclosure, ball, node, i);
    enclosure_remember(enclosure, node, i, ball);
}

void enclosure_remember(struct enclosure *enclosure, struct node *node, size_t i, const void *ball)
{
    struct memo_entry *entry = memo_find(enclosure->memo, node, i, MEMO_BALL);
    if (!entry || entry->node) return;
    memo_claim(enclosure->memo, entry, node, i, MEMO_BALL);
    arb_init(&entry->ball);
    arb_set(&entry->ball, ball);
}

bool enclosure_shared_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                           size_t i, pair_function *pair)
{
    struct enclosure_memo *memo = enclosure->memo;
    if (!memo) return pair(enclosure, out, node, i);
    struct memo_entry *entry = memo_find(memo, node, i, MEMO_PAIR);
    if (entry && entry->node) {
        *out = entry->pair;
        return !isnan(out->hi);
    }
    bool has = pair(enclosure, out, node, i);
    if (!has && enclosure->work > enclosure->limit) return false; /* it may have one */
    entry = memo_find(memo, node, i, MEMO_PAIR);                  /* the table may have grown */
    if (!entry) return has;
    memo_claim(memo, entry, node, i, MEMO_PAIR);
    entry->pair = has ? *out : (struct pair){ NAN, NAN, INFINITY };
    return has;
}

void input_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    enclosure_element(enclosure, ball, node->inputs[0], i);
}

bool input_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    return enclosure_pair(enclosure, out, node->inputs[0], i);
}

/* Split a ball into hi + lo and a bound that covers the radius and what lo cannot hold. */
static void ball_to_pair(struct pair *pair, const arb_t ball)
{
    arf_t rest, head;
    mag_t radius;
    arf_init(rest);
    arf_init(head);
    mag_init(radius);
    pair->hi = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
    arf_set_d(head, pair->hi);
    arf_sub(rest, arb_midref(ball), head, ARF_PREC_EXACT, ARF_RND_DOWN);
    pair->lo = arf_get_d(rest, ARF_RND_NEAR);
    arf_set_d(head, pair->lo);
    arf_sub(rest, rest, head, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_get_mag(radius, rest);
    mag_add(radius, radius, arb_radref(ball));
    pair->error = mag_is_zero(radius) ? 0 : mag_get_d(radius) * (1 + 0x1p-20) + 0x1p-1074;
    mag_clear(radius);
    arf_clear(rest);
    arf_clear(head);
}

enum { FIRST_PRECISION = 128, LAST_PRECISION = 2560 };

bool enclosure_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    if (node->integer) {
        *out = pair_integer(node->integer[i]);
        return true;
    }
    if (is_statement(enclosure, node, i)) {
        double value;
        if (!node_is_exact(node)) return false;
        *out = pair_exact(*node_block(node, i, 1, &value));
        return true;
    }
    return ++enclosure->work <= enclosure->limit && node->primitive->pair &&
           node->primitive->pair(enclosure, out, node, i);
}

/* Put an enclosure in place of a wider one. */
static void take_pair(const struct enclosure_target *target, size_t at, const struct pair *pair)
{
    double bound = pair->error;
    if (!target->lo) bound = (bound + fabs(pair->lo)) * (1 + 0x1p-50);
    if (!isfinite(pair->hi) || !(bound < target->error[at])) return;
    target->hi[at] = pair->hi;
    if (target->lo) target->lo[at] = pair->lo;
    target->error[at] = bound;
}

/* The ball of an element as a pair; false when it is infinite. */
static bool enclose(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    arb_t ball;
    arb_init(ball);
    enclosure_element(enclosure, ball, node, i);
    bool is_finite = arb_is_finite(ball);
    if (is_finite) ball_to_pair(out, ball);
    arb_clear(ball);
    return is_finite;
}

/* The place of element i, the k-th one of the list. */
static size_t place_of(const struct enclosure_target *target, size_t k, size_t i)
{
    return target->listed ? k : i * target->stride + target->offset;
}

/* Element i, whose place is `at`, at the current precision; true when it is done or beyond help. Where pairs suffice there
 * are no balls, whose library is loaded with the first; where balls take more than the limit there are none either. */
static bool refine_one(struct enclosure *enclosure, const struct enclosure_target *target,
                       size_t at, struct node *node, size_t i, enum dtype dtype, double wanted_ulp,
                       bool has_balls)
{
    const double *hi = &target->hi[at], *error = &target->error[at];
    struct pair pair;

    if (!isfinite(*hi)) return true;
    if (enclosure->precision == FIRST_PRECISION && enclosure_pair(enclosure, &pair, node, i))
        take_pair(target, at, &pair);
    if (*error <= wanted_ulp * dtype_ulp(dtype, *hi)) return true;
    if (!has_balls) return true;
    if (!enclose(enclosure, &pair, node, i)) return false;
    if (!isfinite(pair.hi)) return true;
    take_pair(target, at, &pair);
    return *error <= wanted_ulp * dtype_ulp(dtype, *hi);
}

size_t enclosure_refine_pairs(const struct enclosure_target *target, struct node *node,
                              size_t count, const size_t *elements, size_t limit)
{
    struct enclosure_memo memo = { 0 };
    struct enclosure enclosure = { .precision = FIRST_PRECISION, .memo = &memo, .limit = limit };
    struct pair pair;
    size_t k = 0;
    for (; k < count && enclosure_pair(&enclosure, &pair, node, elements[k]); k++)
        take_pair(target, place_of(target, k, elements[k]), &pair);
    memo_clear(&memo);
    return k;
}

void enclosure_refine(const struct enclosure_target *target, struct node *node, size_t count,
                      const size_t *elements, enum dtype dtype, double wanted_ulp, size_t limit)
{
    enum { MOST_VISITS = 1000 };
    struct enclosure_memo memo = { 0 };
    struct enclosure enclosure = { .precision = FIRST_PRECISION, .memo = &memo, .limit = limit };
    int visits = MOST_VISITS;
    const bool has_balls = work_of_sums(node, &visits) <= limit;

    for (; enclosure.precision <= LAST_PRECISION && enclosure.work < limit;
         enclosure.precision *= 2) {
        size_t open = 0;
        for (size_t k = 0; k < count && enclosure.work < limit; k++)
            open += !refine_one(&enclosure, target, place_of(target, k, elements[k]), node,
                                elements[k], dtype, wanted_ulp, has_balls);
        memo_clear(&memo);
        if (!open) break;
    }
    memo_clear(&memo);
}
