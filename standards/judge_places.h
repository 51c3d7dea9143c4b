/* Where the elements sit that make a row fail. */
#ifndef PROBE_STANDARDS_JUDGE_PLACES_H
#define PROBE_STANDARDS_JUDGE_PLACES_H

#include "core/arena.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"
#include "standards/judged.h"

/* Set the places of a warning or an error, a text in `arena`; other rows, and tensors of another shape
 * than the reference, are left alone. Off are:
 *
 *   integers and bools            elements that differ
 *   with want->kernel_bound       elements further off than that, the last rounding and the reference's own
 *                                 bound explain; or of another kind (NaN, infinity)
 *   otherwise                     elements of another kind; where there are none, those that are at least
 *                                 a quarter as far off as the worst, in units in the last place of the
 *                                 value or of the rms of its line along the last axis, whichever is larger
 */
struct status judge_places(struct judged *judged, struct arena *arena, const struct reference *want,
                           const struct tensor *got);

#endif
