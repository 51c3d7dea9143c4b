/* What the device returned for a call, where it decides which of several right answers counts. */
#ifndef PROBE_BENCH_CALL_DEVICE_ANSWER_H
#define PROBE_BENCH_CALL_DEVICE_ANSWER_H

#include "bench/tape/tape.h"
#include "core/value.h"

struct call;

struct device_answer {
    const struct value *outputs; /* a flat LIST, or NULL before bench_settle */
    bool consulted;              /* the op asked for it: settling means running the op again */
    const void *derived; /* what an op has made of the outputs, for the evaluations that follow */
    bool is_derived;
};

/* What the device returned as flat output k: its tensor, or NULL (not settled, not a tensor). */
const struct tensor *call_device_output(struct call *call, size_t k);

/* The same as a node whose elements have been read, when it is of n real numbers or integers;
 * otherwise NULL. */
struct node *call_device_numbers(struct call *call, size_t k, size_t n);

/* The device's flat output k as an int64 node of the shape of `like`; NULL when it is no integer
 * tensor of as many elements. */
struct node *call_device_integers(struct call *call, size_t k, const struct node *like);

/* The device's flat output k as integers, however many (*n); NULL when it is no integer tensor. */
const int64_t *call_device_integer_list(struct call *call, size_t k, size_t *n);

/* Indices chosen by the device: when output k of the device is an integer tensor of this shape
 * and `accept` finds each of its entries as right as ours, they are taken; otherwise `own`. */
struct node *call_settled_indices(struct call *call, size_t k, struct node *own,
                                  bool (*accept)(void *context, size_t i, int64_t index),
                                  void *context);

#endif
