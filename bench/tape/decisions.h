/* Comparing inexact values: what the doubles and their bounds leave open, balls decide.
 *
 * Branches, positions and masks are chosen once, when a node is built; its value, its gradient and its
 * refinement follow the choice. It must therefore be the choice that the exact values make.
 */
#ifndef PROBE_BENCH_TAPE_DECISIONS_H
#define PROBE_BENCH_TAPE_DECISIONS_H

#include "bench/tape/tape.h"

/* The sign of exact a[i] - exact b[j]. Balls are used only where |a - b| lies within the two
 * bounds; 0 also when 1024 bits do not tell the two apart, which equal values never are. Where balls are too much work it is the
 * sign of the doubles' difference, which need not be that of the exact values. */
int decide_order(struct node *a, size_t i, struct node *b, size_t j);

#endif
