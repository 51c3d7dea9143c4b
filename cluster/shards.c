/* Filling one shard after the other up to a capacity gives the fewest shards for that capacity, and the
 * smaller the capacity, the more of them; so the smallest capacity that does with `wanted` is found by
 * halving. A pass over ten million calls takes about 10 ms.
 *
 * Equal calls make the number jump: with seven of one second, capacity 2 gives four shards and anything
 * below gives seven. Between the two lie cuts with every number, none costlier than the larger capacity:
 * fill to the smaller one for the first shards and to the larger one for the rest. The more shards the
 * first kind has, the more there are in all, by at most one at a time, so that number is found by
 * halving, too.
 */
#include "cluster/shards.h"

#include <math.h>

#include "core/memory.h"

enum { HALVINGS = 40 }; /* of the capacity, which is then known to 10^-12 of the whole */

struct row {
    const struct shard_dump *dumps;
    size_t n_dumps;
};

/* To the next dump that has calls, if this one has no more. */
static struct shard_place settle(const struct row *row, struct shard_place at)
{
    while (at.dump < row->n_dumps && at.call >= row->dumps[at.dump].count)
        at = (struct shard_place){ .dump = at.dump + 1 };
    return at;
}

/* Behind the shard that starts at `at`: one call at least, and more while they fit. */
static struct shard_place fill(const struct row *row, struct shard_place at, double capacity,
                               double *seconds)
{
    double sum = row->dumps[at.dump].seconds[at.call++];
    for (; at.dump < row->n_dumps; at = (struct shard_place){ .dump = at.dump + 1 }) {
        const struct shard_dump *dump = &row->dumps[at.dump];
        for (; at.call < dump->count && sum + dump->seconds[at.call] <= capacity; at.call++)
            sum += dump->seconds[at.call];
        if (at.call < dump->count) break;
    }
    *seconds = sum;
    return at;
}

/* How full shards get: the first few to one capacity, the rest to another. */
struct filling {
    double first_s, rest_s;
    size_t first; /* shards */
};

/* The number of shards; told to `out`, which has room, unless it is NULL. */
static size_t walk(struct shards *out, const struct row *row, struct filling filling)
{
    size_t count = 0;
    struct shard_place at = settle(row, (struct shard_place){ .dump = 0 });
    while (at.dump < row->n_dumps) {
        double seconds;
        if (out) out->starts[count] = at;
        at = fill(row, at, count < filling.first ? filling.first_s : filling.rest_s, &seconds);
        if (out) out->seconds[count] = seconds;
        count++;
    }
    if (out) out->starts[count] = at;
    return count;
}

static struct status cut(struct shards *out, const struct row *row, struct filling filling)
{
    size_t count = walk(NULL, row, filling);
    out->starts = memory_allocate_zeroed(count + 1, sizeof *out->starts);
    out->seconds = memory_allocate_zeroed(count + 1, sizeof *out->seconds);
    if (!out->starts || !out->seconds) return status_no_memory(count * sizeof *out->starts);
    out->count = walk(out, row, filling);
    return status_ok();
}

static double total_seconds(const struct row *row)
{
    double total = 0;
    for (size_t dump = 0; dump < row->n_dumps; dump++)
        for (size_t call = 0; call < row->dumps[dump].count; call++)
            total += row->dumps[dump].seconds[call];
    return total;
}

static size_t total_calls(const struct row *row)
{
    size_t total = 0;
    for (size_t dump = 0; dump < row->n_dumps; dump++) total += row->dumps[dump].count;
    return total;
}

/* `first_s` gives more than `wanted` shards, `rest_s`, the smallest that does, at most that many. */
static struct filling smallest_capacity(const struct row *row, size_t wanted)
{
    /* A sum in another order may be larger by a few roundings. */
    double enough_s = total_seconds(row) * (1 + 1e-6), short_s = 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle_s = (short_s + enough_s) / 2;
        if (middle_s <= short_s || middle_s >= enough_s) break;
        if (walk(NULL, row, (struct filling){ .rest_s = middle_s }) <= wanted) enough_s = middle_s;
        else short_s = middle_s;
    }
    return (struct filling){ .first_s = short_s, .rest_s = enough_s };
}

struct status shards_cut_count(struct shards *out, const struct shard_dump *dumps, size_t n_dumps,
                               size_t wanted)
{
    const struct row row = { dumps, n_dumps };
    *out = (struct shards){ .count = 0 };
    /* Below every call: each is a shard. */
    if (total_calls(&row) <= wanted) return cut(out, &row, (struct filling){ .rest_s = -1 });
    struct filling filling = smallest_capacity(&row, wanted);
    /* The most of the finer shards that do not make too many. */
    size_t over = walk(NULL, &row, (struct filling){ .rest_s = filling.first_s });
    while (over - filling.first > 1) {
        struct filling trial = filling;
        trial.first = filling.first + (over - filling.first) / 2;
        if (walk(NULL, &row, trial) <= wanted) filling = trial;
        else over = trial.first;
    }
    return cut(out, &row, filling);
}

struct status shards_cut_seconds(struct shards *out, const struct shard_dump *dumps, size_t n_dumps,
                                 double seconds)
{
    const struct row row = { dumps, n_dumps };
    *out = (struct shards){ .count = 0 };
    return cut(out, &row, (struct filling){ .rest_s = seconds });
}

void shards_release(struct shards *shards)
{
    memory_release(shards->starts);
    memory_release(shards->seconds);
    *shards = (struct shards){ .count = 0 };
}
