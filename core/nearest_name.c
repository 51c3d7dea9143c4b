/* The nearest name: what a message offers when a word that the user typed is unknown. Lists have
 * some dozens to two thousand names, and the search runs once before an error, so every candidate
 * is measured. */
#include "core/nearest_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

static char folded(char c) { return c == '-' ? '_' : (char)tolower((unsigned char)c); }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Optimal string alignment distance. What both begin and end with costs nothing and is skipped, so
 * that long names are told apart; the rest is cut to NAME_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];
    size_t la = strlen(a), lb = strlen(b);

    for (; la && lb && folded(*a) == folded(*b); la--, lb--) a++, b++;
    for (; la && lb && folded(a[la - 1]) == folded(b[lb - 1]); la--) lb--;
    la = smaller(la, NAME_MAX_BYTES);
    lb = smaller(lb, NAME_MAX_BYTES);
    for (size_t j = 0; j <= lb; j++) previous[j] = j;
    for (size_t i = 1; i <= la; i++) {
        current[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            bool same = folded(a[i - 1]) == folded(b[j - 1]);
            size_t best = previous[j - 1] + !same;
            best = smaller(best, previous[j] + 1);
            best = smaller(best, current[j - 1] + 1);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                best = smaller(best, before[j - 2] + 1);
            current[j] = best;
        }
        size_t *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[lb];
}

static const char *find_nearest(size_t *distance, const char *text, const char *const *candidates,
                                size_t count)
{
    const char *best = NULL;
    *distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t d = edit_distance(text, candidates[i]);
        if (d < *distance) {
            best = candidates[i];
            *distance = d;
        }
    }
    return best;
}

const char *nearest_name(const char *text, const char *const *candidates, size_t count)
{
    size_t distance;
    return find_nearest(&distance, text, candidates, count);
}

const char *near_name(const char *text, const char *const *candidates, size_t count)
{
    size_t distance, longer, length = strlen(text);
    const char *best = find_nearest(&distance, text, candidates, count);
    if (!best) return NULL;
    longer = strlen(best) > length ? strlen(best) : length;
    return distance <= longer / 3 ? best : NULL;
}
