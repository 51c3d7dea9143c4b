/* Complex values as two real nodes: joining and taking apart. */
#ifndef PROBE_BENCH_PRIMITIVES_COMPLEX_PARTS_H
#define PROBE_BENCH_PRIMITIVES_COMPLEX_PARTS_H

#include "bench/tape/tape.h"

/* The complex value of two parts of one shape. */
struct node *node_complex(struct tape *tape, struct node *re, struct node *im);

/* The parts; the imaginary part of a real node is a zero. */
struct node *node_real_part(struct tape *tape, struct node *x);
struct node *node_imaginary_part(struct tape *tape, struct node *x);

#endif
