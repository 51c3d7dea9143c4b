/* Recorded calls with extents beside those of tiles: 16, 32, 64, 128 and 256, one less, and one more.
 *
 * Kernels go wrong in the last, partial tile, in the first that is full, and where a loop is left one step early; the extents of a
 * dump seldom reach there. What belongs together keeps belonging together (variation/axes.h).
 */
#ifndef PROBE_VARIATION_TILE_SIZES_H
#define PROBE_VARIATION_TILE_SIZES_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"
#include "generators/generate.h"

/* Put other extents in place of those of a call whose inputs are not made yet: in the records of its arguments, cotangents and
 * outputs, and in integers that stand for them. Nothing is done unless options->source is INPUTS_HARD_SIZES.
 *
 *   note    set on success: what was changed, or why nothing was; NULL when nothing is asked for. In `arena`
 *   arena   owns the new records
 *   errors  of memory only
 *
 * The extents are a pure function of the seed, the name of the call and the record. */
struct status tile_sizes_apply(struct api_case *c, const char **note, struct arena *arena,
                               const struct generate_options *options);

#endif
