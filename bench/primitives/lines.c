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

bool lines_are_unread(const struct tape *tape, const struct node *x, const struct lines *lines)
{
    return lines->step == 1 && x->source && !x->value && !x->integer && !x->deferral &&
           node_is_exact(x) && !tape_is_model(tape);
}

const double *line_values(const struct node *x, const struct lines *lines, size_t line,
                          double *room)
{
    size_t first = line_element(lines, line, 0);
    return x->value ? x->value + first : node_block(x, first, lines->extent, room);
}
