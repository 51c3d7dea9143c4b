/* A table of names and an array beside it. */
#include "report/call_seconds.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

struct status call_seconds_add(struct call_seconds *all, const char *name, double seconds)
{
    uint32_t number;
    if (!all->names.slots) TRY(text_table_create(&all->names));
    TRY(text_table_add(&number, NULL, &all->names, name, strlen(name)));
    if (number >= all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 256;
        double *grown = memory_resize(all->seconds, capacity * sizeof *grown);
        if (!grown) return status_no_memory(capacity * sizeof *grown);
        all->seconds = grown;
        all->capacity = capacity;
    }
    all->seconds[number] = seconds;
    return status_ok();
}

double call_seconds_of(const struct call_seconds *all, const char *name, size_t length)
{
    if (!all->names.slots) return NAN;
    uint32_t number = text_table_find(&all->names, name, length);
    return number == TEXT_NONE ? NAN : all->seconds[number];
}

void call_seconds_release(struct call_seconds *all)
{
    if (all->names.slots) text_table_release(&all->names);
    memory_release(all->seconds);
    *all = (struct call_seconds){ .seconds = NULL };
}
