/* Flags cleared around the range and within what is left out of it. */
#include "formats/dump_slice.h"

#include <string.h>

static void clear(bool *keep, size_t count, size_t first, size_t end)
{
    if (end > count) end = count;
    if (first < end) memset(keep + first, 0, (end - first) * sizeof *keep);
}

void dump_slice_keep(bool *keep, size_t count, const struct dump_slice *slice)
{
    clear(keep, count, 0, slice->calls.first);
    clear(keep, count, slice->calls.end, count);
    for (size_t i = 0; i < slice->n_left_out; i++)
        clear(keep, count, slice->left_out[i].first, slice->left_out[i].end);
}
