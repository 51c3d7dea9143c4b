/* Transforms over some dimensions of a tensor, as `torch.fft`, `stft` and `istft` have them. */
#ifndef PROBE_BENCH_OPS_FOURIER_H
#define PROBE_BENCH_OPS_FOURIER_H

#include "bench/call/op.h"

/* The dimensions of a transform in the order of the call, the last of them first of real numbers, and the
 * extents that they are cut or filled up to. */
struct spectrum {
    int count;
    int dims[TENSOR_MAX_RANK];
    int64_t points[TENSOR_MAX_RANK];
    enum {
        SCALE_NONE,
        SCALE_ROOT,
        SCALE_ALL
    } scale; /* divide by 1, the root of all points, all points */
};

/* x with parts of a dtype that is transformed: integers as float32. */
struct node *spectrum_signal(struct call *call, struct node *x);

/* The dtype of the parts of x's transform. */
enum dtype spectrum_part(const struct node *x);

/* x cut, or filled up with zeros, to `points` in a dimension. */
struct node *spectrum_resized(struct tape *tape, struct node *x, int dim, int64_t points);

/* Of complex numbers, over dims[0 .. count). */
struct node *spectrum_over(struct call *call, struct node *x, const struct spectrum *spectrum,
                           int count, bool forward);

/* Of real numbers: all dimensions, of the last of which the first half is kept if `onesided`. */
struct node *spectrum_of_real(struct call *call, struct node *x, const struct spectrum *spectrum,
                              bool onesided);

/* The real numbers whose spectrum is given by half: other dimensions first. */
struct node *spectrum_to_real(struct call *call, struct node *x, const struct spectrum *spectrum);

/* y divided as the scale says. */
struct node *spectrum_scaled(struct tape *tape, struct node *y, const struct spectrum *spectrum);

/* Return y, whose parts are of dtype `part`: complex where y is. */
void spectrum_return(struct call *call, struct node *y, enum dtype part);

#endif
