/* Resampling along one dimension: the taps of interpolation, in PyTorch's conventions. */
#ifndef PROBE_BENCH_PRIMITIVES_RESAMPLE_H
#define PROBE_BENCH_PRIMITIVES_RESAMPLE_H

#include "bench/primitives/taps.h"

enum resample_kind {
    RESAMPLE_LINEAR,
    RESAMPLE_CUBIC,
    RESAMPLE_LINEAR_ANTIALIAS,
    RESAMPLE_CUBIC_ANTIALIAS
};

/* in, out: extents. scale: the scale factor given by the caller, or 0 to use in / out (with
 * align_corners (in - 1) / (out - 1), whatever the scale). */
struct resample {
    enum resample_kind kind;
    int64_t in, out;
    double scale;
    bool align_corners;
};

/* NULL after a failure. */
struct taps *resample_taps(struct tape *tape, const struct resample *resample);

#endif
