/* A case: one API call of the dump, with what was recorded about it. */
#ifndef PROBE_CORE_CASE_H
#define PROBE_CORE_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/framework.h"
#include "core/value.h"

struct dump;
struct help;

struct api_case {
    const char *full_name; /* "Functional.softmax.3", key of the dump without the direction */
    const char *type;      /* "Functional", "Tensor", "Torch", "NPU", ... */
    const char *api;       /* "softmax", "linalg.inv" */
    size_t position;       /* place among the forward entries of the dump, from 0 */

    struct value args;    /* LIST */
    struct value kwargs;  /* DICT */
    struct value outputs; /* LIST: recorded forward outputs; count 0 when not recorded */

    bool has_backward;
    struct value cotangents; /* LIST: backward.input; element k belongs to flat output k */
    const char *
        no_cotangents; /* why the recorded ones cannot be used and were taken out of the list; or NULL */
    struct value gradients; /* LIST: backward.output; recorded gradients */

    /* The dump says at its top level that `gradients` are those of the call's arguments
     * ("gradients": "arguments"), not of the last autograd node. */
    bool gradients_of_arguments;

    /* The framework whose names these are; NULL stands for PyTorch. */
    const struct framework *framework;
    /* The call as the dump has it, when this is the call of PyTorch that computes the same
     * (bench_translate). Its arguments hold the same tensors, and set the order of the gradients. */
    const struct api_case *recorded;
    const struct dump *source; /* where the data of recorded tensors are; NULL when nowhere */
    struct help *help;         /* who helps with large work on it (core/parallel.h), or NULL */
};

/* The call as the dump has it. */
static inline const struct api_case *case_as_recorded(const struct api_case *c)
{
    return c->recorded ? c->recorded : c;
}

#endif
