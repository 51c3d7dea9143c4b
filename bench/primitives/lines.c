/* Lines of a tensor along one dimension. */
#include "bench/primitives/lines.h"

struct lines lines_along(const struct node *x, int dim)
{
    struct lines lines = { 1, 1, 1 };
    for (int d = 0; d < x->rank; d++) {
        size_t extent = (size_t)x->shape[d];
        if (d == dim) lines.extent = extent;
        else lines.count *= extent;
        if (d > dim) lines.step *= extent;
    }
    return lines;
}

size_t line_start(const struct lines *lines, size_t line)
{
    return line / lines->step * lines->step * lines->extent + line % lines->step;
}
