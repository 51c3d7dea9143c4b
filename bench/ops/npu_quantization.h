/* Quantization with scales that are given, and with those that the numbers themselves give. */
#ifndef PROBE_BENCH_OPS_NPU_QUANTIZATION_H
#define PROBE_BENCH_OPS_NPU_QUANTIZATION_H

#include "bench/call/op.h"

/* The largest magnitude of x, 0 without (NULL): the `shift` of call_return_quantized. */
double largest_of(struct tape *tape, struct node *x);

/* A vector along `axis` of x, a single element, or what broadcasts to it. */
struct node *scales_along(struct call *call, struct node *v, const struct node *x, int axis);

/* x times its smoothing: a vector, or one for each group of rows. */
struct node *smoothed_by(struct call *call, struct node *x, const char *name);

/* What numbers with a scale of their own become. */
struct dynamic {
    enum dtype dtype; /* DT_NONE: int8 */
    bool hifloat8;    /* rather */
    double top;       /* what the largest magnitude becomes; 0: the largest number of the format */
};

/* Return x divided by its scale, the largest magnitude of each row over the top of the dtype, quantized after `roundings`
 * operations (struct quantizing). The scales are handed out, for the result that holds them. */
struct node *return_dynamic(struct call *call, struct node *x, enum dtype dtype, double roundings);

/* The same with a scale for each place that is left when the dimensions in the mask `over` are gone. */
struct node *return_dynamic_over(struct call *call, struct node *x, uint32_t over,
                                 const struct dynamic *to, double roundings);

#endif
