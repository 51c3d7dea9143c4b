/* Alignment of two sequences at the least cost (Needleman and Wunsch 1970): every item is matched with
 * one of the other sequence, in order, or left out at cost 1. Where several alignments cost the same,
 * the trace from the end matches before it leaves out items of the first sequence, and those before
 * items of the second. */
#ifndef PROBE_COMPARE_API_DUMPS_ALIGN_H
#define PROBE_COMPARE_API_DUMPS_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"

/* Cells of the table of costs that are accepted: a quarter byte each. */
#define ALIGN_MAX_CELLS ((uint64_t)1 << 32)

/* The cost of taking item `a` of the first sequence for item `b` of the second. *matched says whether
 * that is a match: if not, both are left out, side by side, at that cost. */
typedef double align_cost(void *context, bool *matched, size_t a, size_t b);

/* Matched items, ascending in both. */
struct align_pair {
    size_t a, b;
};

/* Align n_a items with n_b: *pairs (in `arena`) and their number. STATUS_BAD_INPUT when the table would
 * have more than ALIGN_MAX_CELLS. */
struct status align(struct align_pair **pairs, size_t *count, struct arena *arena, size_t n_a,
                    size_t n_b, align_cost *cost, void *context);

#endif
