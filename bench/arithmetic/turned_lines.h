/* Lines of terms side by side, as vectors want them. */
#ifndef PROBE_BENCH_ARITHMETIC_TURNED_LINES_H
#define PROBE_BENCH_ARITHMETIC_TURNED_LINES_H

#include <stddef.h>

enum { TURNED_LINES = 16 };

/* Term k of line w, x[w][k * step], to out[k * TURNED_LINES + w]: n terms of each line. Reading the lines one beside the other while
 * computing with them takes twice as long. */
void lines_turn(double *out, const double *const x[TURNED_LINES], size_t n, size_t step);

#endif
