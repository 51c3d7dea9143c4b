/* A framework whose dumps are checked, as a value: what its names, dtypes and files look like. It is
 * chosen once, from -f and the dump's header, and handed down; nothing asks for it by name.
 */
#ifndef PROBE_CORE_FRAMEWORK_H
#define PROBE_CORE_FRAMEWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/dtype.h"

struct framework {
    const char *name; /* as -f and the dump's "framework" spell it */

    /* How its dumps and result files spell the dtypes. */
    const char *const *dtype_names;

    /* Types of the entries that are API calls, ended by NULL; entries of other types are passed over
     * without a row. NULL: every entry is a call. */
    const char *const *call_types;

    /* The namespaces of its types are those of PyTorch; otherwise bench/mindspore says which call of
     * PyTorch computes the same. */
    bool has_torch_names;

    /* An entry with a backward holds the gradients of all floating positional tensors of the call, in
     * order, and of nothing else. Otherwise `requires_grad` of the arguments and the autograd node
     * decide (runner/devices/recorded.c). */
    bool gradients_of_floating_arguments;

    /* Inputs are altered before the call as PyTorch's pre-check does (HF32 rounding, conversions). */
    bool alters_inputs;

    /* The backend when none is named: of a dump with recorded tensors, and of one without. */
    const char *backend_with_data, *backend_without_data;

    /* What stands before the name of a profile that has rules of its own for this framework: "" or
     * "mindspore_" (profile_load_for). */
    const char *profile_prefix;

    /* Failing tensors are saved in the layout of its dumps (runner/error_data.h). */
    bool saves_as_dumped;
};

extern const struct framework framework_pytorch, framework_mindspore, framework_mindtorch;

/* The framework of a name ("pytorch", "pt", "MindSpore", "ms", "mindtorch", in any case); NULL when it
 * is none of them. */
const struct framework *framework_find(const char *name);

/* The names of -f, ended by NULL. */
const char *const *framework_names(void);

#endif
