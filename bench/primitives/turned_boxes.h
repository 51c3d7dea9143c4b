/* How far rectangles that are turned by any angle overlap. */
#ifndef PROBE_BENCH_PRIMITIVES_TURNED_BOXES_H
#define PROBE_BENCH_PRIMITIVES_TURNED_BOXES_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/tape/tape.h"

/* Centre, sides and angle in degrees, from the first axis toward the second. */
struct turned_box {
    double centre[2], size[2], degrees;
};

/* The area that two boxes share. *error bounds that of the area returned; both are 0 where the boxes are proven apart.
 * Sides must not be negative. Where anything is not finite, the area is NaN. */
double turned_boxes_shared_area(const struct turned_box *a, const struct turned_box *b,
                                double *error);

/* In one rounding of a kernel, what moves the area by at most that much: the corners' coordinates times the length of
 * the border of what is shared. */
double turned_boxes_sensitivity(const struct turned_box *a, const struct turned_box *b);

/* The areas shared by every box of a with every one of b, (batch, n, 5) and (batch, m, 5) of rows [centre x, centre y,
 * width, height, degrees] that are inputs of the call: (batch, n, m). No gradient. */
struct node *node_turned_boxes_shared(struct tape *tape, struct node *a, struct node *b);

/* Row k of a node of such rows whose values have been read. */
struct turned_box turned_box_of(const double *row);

#endif
