/* Factors of products that a kernel keeps in a shorter format than float32, as the mode of a model's tape has it
 * (core/kernel_modes.h). */
#ifndef PROBE_BENCH_PRIMITIVES_SHORT_FACTORS_H
#define PROBE_BENCH_PRIMITIVES_SHORT_FACTORS_H

#include "bench/tape/deviation.h"
#include "bench/tape/tape.h"
#include "core/kernel_modes.h"
#include "core/reference.h"

/* The arithmetic of a format, its factors rounded to nearest. */
struct deviation short_factors_in(enum short_format format);

/* The arithmetic of a mode: false for modes that leave the factors alone.
 *
 *   cut_off  toward zero instead of to nearest
 */
bool short_factors_of(struct deviation *out, const struct kernel_modes *modes, bool cut_off);

/* In a model with such a mode: x with what is open about its shortening. The shortened factor itself is known
 * where x is exact, and its effect is the reference's business (bench/allowed_model.c); open are ties, and
 * which way a factor goes that is not exact. x itself otherwise. */
struct node *node_factor(struct tape *tape, struct node *x);

#endif
