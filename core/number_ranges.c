/* Read from left to right, a range at a time. */
#include "core/number_ranges.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 9 };

static bool read_number(int64_t *number, const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    if (!digits || digits > MOST_DIGITS) return false;
    *number = strtol(*at, NULL, 10);
    *at += digits;
    return true;
}

static bool read_range(struct number_range *range, const char **at)
{
    if (!read_number(&range->first, at)) return false;
    range->last = range->first;
    if (**at != '-') return true;
    ++*at;
    return read_number(&range->last, at) && range->last >= range->first;
}

struct status number_ranges_read(struct number_ranges *out, const char *text)
{
    *out = (struct number_ranges){ .count = 0 };
    if (!text) return status_ok();
    for (const char *at = text;; at++) {
        if (out->count == NUMBER_RANGES_MAX)
            return status_error(STATUS_BAD_ARGUMENT, "'%.40s...' lists more than %d ranges", text,
                                NUMBER_RANGES_MAX);
        if (!read_range(&out->items[out->count], &at) || (*at && *at != ','))
            return status_error(STATUS_BAD_ARGUMENT, "'%.80s' is no list of numbers such as 0,3-5",
                                text);
        out->count++;
        if (!*at) return status_ok();
    }
}

bool number_ranges_hold(const struct number_ranges *ranges, int64_t number)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (number >= ranges->items[i].first && number <= ranges->items[i].last) return true;
    return !ranges->count;
}
