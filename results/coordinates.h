/* Where in a tensor an element is. */
#ifndef PROBE_RESULTS_COORDINATES_H
#define PROBE_RESULTS_COORDINATES_H

#include <stddef.h>

enum { COORDINATES_BYTES = 128 };

/* "[20,8,40]" for element number `index` of a tensor of this shape.
 *
 *   out    at least COORDINATES_BYTES; "" when the shape is no list of numbers or has no such element
 *   shape  the cell of a details row: "(2, 3)", "[2, 3]", "(5,)"
 *   n      how many numbers the tensor has: twice its elements when they are complex
 */
void coordinates_text(char *out, const char *shape, size_t index, size_t n);

#endif
