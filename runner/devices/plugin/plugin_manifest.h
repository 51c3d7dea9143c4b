/* The manifest of a plugin: which kernel serves which API call, and how it is called.
 *
 * docs/plugin-manifest.md is the user's manual of the language, config/plugin.schema.json its
 * JSON Schema. Reading a manifest checks everything that can be known without loading a
 * library: keys, types, names, the grammar of every expression. Strings point into the JSON
 * tree, which the manifest owns.
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_MANIFEST_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"
#include "formats/config_json.h"
#include "runner/devices/plugin/plugin_program.h"

/* What an argument of a C function is. One key of its JSON object names the role. */
enum manifest_role {
    ROLE_SCALAR,          /* {"i32": EXPR}, {"f32": EXPR}, ...: a number by value */
    ROLE_DATA,            /* {"data": EXPR}: address of a tensor's elements */
    ROLE_DATA_LIST,       /* {"data_list": EXPR}: address of an array of such addresses */
    ROLE_ELEMENT,         /* {"element": EXPR}: element i of a tensor, by value, in a loop */
    ROLE_ELEMENT_ADDRESS, /* {"element_address": EXPR} */
    ROLE_LIST,            /* {"list": EXPR, "type": T}: address of an array of numbers */
    ROLE_ENUM,            /* {"enum": NAME, "key": EXPR}: a number looked up in "enums" */
    ROLE_STRING,          /* {"string": EXPR}: address of a C string */
    ROLE_SLOT,            /* {"slot": NAME}: what an earlier call left there */
    ROLE_OUT,             /* {"out": NAME}: address of a slot, an out parameter */
    ROLE_WRAP,            /* {"wrap": NAME, "of": EXPR}: a tensor as a wrapper makes it */
    ROLE_NULL,            /* {"null": true} */
    ROLE_COUNT
};

struct manifest_argument {
    const cJSON *node;
    enum manifest_role role;
    enum program_type type; /* SCALAR, LIST, ENUM, SLOT, OUT, ELEMENT */
    const char *text;       /* the expression, or the name of a slot */
    const char *name;       /* ENUM, WRAP: of the table or wrapper */
    const char *cast;       /* DATA, ELEMENT: expression of the dtype the kernel wants, or NULL */
    const char *axes;       /* DATA: storage order of the dimensions, expression or NULL */
    const char *broadcast;  /* DATA: shape to broadcast to, expression or NULL */
};

struct manifest_step {
    const cJSON *node;
    enum step_kind kind;
    const char *symbol;
    size_t library;
    struct manifest_argument *arguments;
    size_t count;
    const char *when;           /* expression: skip the step when false; or NULL */
    const char *loop;           /* name of the output whose elements are looped over, or NULL */
    const char *bytes;          /* ALLOCATE: a slot's name or an expression */
    const char *into;           /* slot of the result, or NULL */
    const char *result_element; /* output that gets the result in a loop, or NULL */
    enum program_type result_type;
    enum program_check check;
    const char *explain;
    size_t explain_library;
};

struct manifest_steps {
    struct manifest_step *items;
    size_t count;
};

struct manifest_let {
    const cJSON *node;
    const char *name, *text;
};

/* An output, or with `of` the gradient of a parameter. */
struct manifest_output {
    const cJSON *node;
    const char *name;
    const char *shape;   /* expression, or NULL: as recorded in the dump (outputs), as the
                            parameter (gradients) */
    const char *dtype;   /* of what the kernel writes; NULL likewise */
    const char *returns; /* dtype it is converted to afterwards; NULL: `dtype` */
    const char *initial; /* expression of a tensor (broadcast) or number to start from, or NULL:
                            unwritten */
    const char *axes;
    const char *of; /* expression of a tensor parameter; gradients only */
};

/* One direction of a kernel. */
struct manifest_function {
    const cJSON *node;
    const char *when; /* or NULL; backward only: a further condition */
    struct manifest_let *lets;
    size_t n_lets;
    struct manifest_output *outputs;
    size_t n_outputs;
    struct manifest_steps steps;
};

struct manifest_parameter {
    const char *name;
    const char *fallback; /* expression of the default, or NULL: must be given */
    bool rest;            /* "*name": the remaining positional arguments as a list */
};

struct manifest_kernel {
    const cJSON *node;
    const char **apis; /* "Torch.matmul"; "*.matmul" for any type */
    size_t n_apis;
    struct manifest_parameter *parameters;
    size_t n_parameters;
    const char *when; /* or NULL: always */
    struct manifest_function forward, backward;
    bool has_backward;
    const cJSON *smoke; /* arguments of a smoke case: {"input": "float32[2, 3]", "dim": -1} */
};

/* Turns a tensor into what a library calls one (a descriptor, a device pointer). */
struct manifest_wrapper {
    const char *name;
    const char *slot; /* what is passed */
    struct manifest_steps before, after, after_output;
};

struct manifest_enum {
    const char *name;
    const cJSON *table; /* key -> number */
};

struct manifest_library {
    const char *name;
    const char *path; /* what dlopen gets: next to the manifest when it has a slash and is
                         relative */
};

struct manifest {
    struct config_json file;
    struct arena arena;
    const char *title;
    struct manifest_library *libraries;
    size_t n_libraries;
    const cJSON *environment; /* name -> string, or NULL */
    double memory_limit;      /* bytes of private memory for a kernel process; 0: not given */
    struct manifest_enum *enums;
    size_t n_enums;
    struct manifest_wrapper *wrappers;
    size_t n_wrappers;
    struct manifest_steps session_open, session_close;
    const char *session_slots[SESSION_SLOTS]; /* names, set by binding_build_start */
    size_t n_session_slots;
    struct manifest_kernel *kernels;
    size_t n_kernels;
};

/* Read a manifest. Errors are STATUS_BAD_INPUT and name file, line and key. What it names is loaded
 * and run, so the policy should let only a file be read that nobody else can have
 * written. */
struct status manifest_open(struct manifest *out, const char *path, struct file_policy policy);

/* Does every API that kernels name exist, in some group? STATUS_BAD_INPUT with its place and the
 * nearest name; `is_api` as in struct device_options. */
struct status manifest_check_apis(const struct manifest *manifest,
                                  bool (*is_api)(const char **nearest, struct arena *arena,
                                                 const char *name));

/* The same from text in memory; relative library paths are taken from the directory of `name`. */
struct status manifest_parse(struct manifest *out, const char *name, const char *text,
                             size_t bytes);

void manifest_close(struct manifest *manifest);

/* The wrapper or enum of a name, NULL when there is none. */
const struct manifest_wrapper *manifest_wrapper(const struct manifest *manifest, const char *name);
const struct manifest_enum *manifest_enum(const struct manifest *manifest, const char *name);

/* Does the kernel serve this API ("Functional", "softmax")? */
bool manifest_serves(const struct manifest_kernel *kernel, const char *type, const char *api);

#endif
