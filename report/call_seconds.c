/* A table of names and an array beside it. */
#include "report/call_seconds.h"

#include <math.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"

struct status call_seconds_add(struct call_seconds *all, const char *name, double seconds)
{
    uint32_t number;
    if (!all->names.slots) TRY(text_table_create(&all->names));
    TRY(text_table_add(&number, NULL, &all->names, name, strlen(name)));
    TRY(array_make_room(&all->seconds, &all->capacity, number, sizeof *all->seconds));
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
