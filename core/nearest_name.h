/* The known name that is nearest to a misspelt one. */
#ifndef PROBE_CORE_NEAREST_NAME_H
#define PROBE_CORE_NEAREST_NAME_H

#include <stddef.h>

/* The candidate at the smallest edit distance from `text`, the first of several; NULL when
 * `count` is 0. The distance is the optimal string alignment distance (insert, delete, replace,
 * swap neighbours) over the first 64 bytes of what the two do not begin and end with in common;
 * capitals and small letters are equal, and so are '-' and '_'. */
const char *nearest_name(const char *text, const char *const *candidates, size_t count);

/* The same, but NULL when more than a third of the longer name would change: no name that may be
 * meant. */
const char *near_name(const char *text, const char *const *candidates, size_t count);

#endif
