/* A case: one API call of the dump, with what was recorded about it. */
#ifndef PROBE_CORE_CASE_H
#define PROBE_CORE_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/value.h"

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
    struct value gradients;  /* LIST: backward.output; recorded gradients */

    /* The dump says at its top level that `gradients` are those of the call's arguments
     * ("gradients": "arguments"), not of the last autograd node. */
    bool gradients_of_arguments;
};

#endif
