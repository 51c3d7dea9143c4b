/* What it costs to check a call, estimated from its record alone: API, shapes, dtypes, directions.
 *
 * Seconds of one core, for inputs, reference, device and comparison. They serve to cut a job into shards
 * that end at about the same time, so what counts is that sums over hundreds of calls are right to some
 * ten percent; a single call may be off by a factor of three, because how many elements need a closer
 * reference depends on the data.
 */
#ifndef PROBE_RUNNER_COST_H
#define PROBE_RUNNER_COST_H

#include "core/arena.h"
#include "core/case.h"
#include "core/text_table.h"

struct cost_class;

/* What a machine may be quicker or slower at. */
enum cost_factor {
    COST_CALL,    /* what every call takes, however small */
    COST_ELEMENT, /* walking over elements */
    COST_PRODUCT, /* products of matrices and convolutions */
    COST_FACTORS
};

/* "call", "element", "product": as the plan of a job names them. */
const char *cost_factor_name(enum cost_factor factor);

/* How many times slower a machine is than the one that the built-in figures were measured on. */
struct cost_model {
    double factors[COST_FACTORS];
};

/* All factors 1: the same plan on every machine. */
struct cost_model cost_model_built_in(void);

/* Estimates the calls of one dump after the other. It remembers the APIs it has met, so that each costs
 * one search of the catalogue. For one thread. */
struct cost_estimator {
    struct cost_model model;
    struct text_table apis;            /* "Type.api" */
    const struct cost_class **classes; /* by number there; NULL: nothing can be checked; owned */
    size_t capacity;
    struct arena arena; /* translations of a call */
};

struct status cost_estimator_open(struct cost_estimator *out, const struct cost_model *model);
void cost_estimator_close(struct cost_estimator *estimator);

/* The seconds that each factor scales. */
struct cost_parts {
    double seconds[COST_FACTORS];
};
struct cost_parts cost_of_call(struct cost_estimator *estimator, const struct api_case *c);

/* Estimated seconds of a call: finite and more than 0.
 *
 *   c  as dump_read_case gives it; `framework` that of the dump
 */
double cost_call_seconds(struct cost_estimator *estimator, const struct api_case *c);

/* Of a call that is told and not checked: it cannot be parsed, or the lists leave it out. */
double cost_skipped_seconds(const struct cost_model *model);

#endif
