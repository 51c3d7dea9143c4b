/* English makes its plurals with -s, and with -ies behind a consonant and y. */
#include "core/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct quantity quantity_of(uint64_t count, const char *noun)
{
    struct quantity out;
    size_t length = strlen(noun);
    bool ies = length > 1 && noun[length - 1] == 'y' && !strchr("aeiou", noun[length - 2]);
    if (count == 1) ies = false;
    (void)snprintf(out.text, sizeof out.text, "%llu %.*s%s", (unsigned long long)count,
                   (int)(ies ? length - 1 : length), noun,
                   count == 1 ? ""
                   : ies      ? "ies"
                              : "s");
    return out;
}

struct quantity quantity_bytes(uint64_t bytes)
{
    static const char *const units[] = { "KB", "MB", "GB", "TB", "PB", "EB" };
    struct quantity out;
    double size = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) return quantity_of(bytes, "byte");
    for (; size > 999 && unit + 1 < sizeof units / sizeof *units; unit++) size /= 1024;
    double scale = size < 1 ? 1000 : size < 10 ? 100 : size < 100 ? 10 : 1;
    (void)snprintf(out.text, sizeof out.text, "%.4g %s", ceil(size * scale) / scale, units[unit]);
    return out;
}
