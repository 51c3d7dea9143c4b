/* The rule of the longest processing time first (R. L. Graham, "Bounds on multiprocessing timing anomalies",
 * 1969, theorem 2), from the moment at which it matters: before that the order of the dump lets rows be
 * written, and memory be given back, as the run goes.
 */
#include "runner/last_calls.h"

#include <stdlib.h>
#include <string.h>

/* Estimates of single calls may be off by some times. */
static const double caution = 2;

static int larger_first(const void *a, const void *b, void *context)
{
    const double *seconds = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    if (seconds[x] != seconds[y]) return seconds[x] > seconds[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

void last_calls_open(struct last_calls *out, const double *seconds, size_t count, size_t threads)
{
    *out = (struct last_calls){ .count = count, .threads = threads };
    for (size_t i = 0; i < count; i++) {
        out->by_size[i] = i;
        out->seconds[i] = seconds[i];
        out->left_s += seconds[i];
    }
    qsort_r(out->by_size, count, sizeof *out->by_size, larger_first, out->seconds);
}

bool last_calls_left(const struct last_calls *calls) { return calls->n_taken < calls->count; }

/* The largest may end last: even if all others were divided evenly, it takes about as long as they do. */
static bool largest_is_due(const struct last_calls *calls)
{
    double largest_s = calls->seconds[calls->by_size[calls->largest]];
    return caution * largest_s * (double)calls->threads >= calls->left_s;
}

size_t last_calls_take(struct last_calls *calls)
{
    while (calls->taken[calls->by_size[calls->largest]]) calls->largest++;
    while (calls->taken[calls->next]) calls->next++;
    size_t number = largest_is_due(calls) ? calls->by_size[calls->largest] : calls->next;
    calls->taken[number] = true;
    calls->n_taken++;
    calls->left_s -= calls->seconds[number];
    return number;
}
