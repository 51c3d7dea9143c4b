/* Whole numbers as people list them: "0,3-5,12". */
#ifndef PROBE_CORE_NUMBER_RANGES_H
#define PROBE_CORE_NUMBER_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum { NUMBER_RANGES_MAX = 256 };

/* From the first to the last of each range, both included. All zeros: no range. */
struct number_ranges {
    struct number_range {
        int64_t first, last;
    } items[NUMBER_RANGES_MAX];
    size_t count;
};

/* Read the list; NULL gives none.
 *
 *   errors  STATUS_BAD_ARGUMENT for anything but numbers of at most nine digits, ranges whose last
 *           number is not below the first, and commas between them
 */
struct status number_ranges_read(struct number_ranges *out, const char *text);

/* Is the number in one of the ranges? Without ranges every number is. */
bool number_ranges_hold(const struct number_ranges *ranges, int64_t number);

#endif
