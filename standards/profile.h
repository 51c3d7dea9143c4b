/* A profile: the rules by which one output is judged (run_ut), read from config/profile_<name>.json and,
 * over it, from a user's file (config/standards_override.schema.json).
 *
 * A profile answers three questions: which standard an output is held to, what each limit is for
 * an API and a dtype, and how the places where the peer's generations differ are to be treated. The rules of the comparison of two
 * devices stand apart, in three_way.h.
 *
 * Profiles are immutable once loaded and may be shared by threads.
 */
#ifndef PROBE_STANDARDS_PROFILE_H
#define PROBE_STANDARDS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/dtype.h"
#include "core/file.h"
#include "core/kernel_modes.h"
#include "core/status.h"

struct profile;

/* The standards of the pre-check, and `error_model`, which is ours. */
enum standard {
    STANDARD_NONE, /* only the columns every output has */
    STANDARD_ABSOLUTE,
    STANDARD_BENCHMARK,
    STANDARD_BINARY,
    STANDARD_ULP,
    STANDARD_THOUSANDTH,
    STANDARD_ACCUMULATIVE,
    STANDARD_ERROR_MODEL,
    STANDARD_COUNT
};

/* "absolute", "benchmark", ...; "" for STANDARD_NONE. */
const char *standard_name(enum standard standard);

/* Every number that decides. Names in the files are those of limit_name. */
enum limit {
    /* run_ut: the chain of a floating output */
    LIMIT_COSINE,        /* pass above */
    LIMIT_MAX_ABS_ERROR, /* pass below */
    LIMIT_HUNDREDTH,     /* error when a larger share than this is off by more than this */
    LIMIT_THOUSANDTH,
    LIMIT_TEN_THOUSANDTH,
    /* constants of the metrics */
    LIMIT_SMALL_VALUE,
    LIMIT_ABSOLUTE_SMALL_VALUE_ATOL,
    LIMIT_BENCHMARK_SMALL_VALUE_ATOL,
    LIMIT_RELATIVE_TOLERANCE,
    LIMIT_ACCUMULATIVE_SMALL_VALUE,
    LIMIT_ACCUMULATIVE_BOUND,
    LIMIT_ULP_COUNTED,           /* elements above it count in the proportion */
    LIMIT_FLOAT8_PROPORTION,     /* error when a larger share of an 8-bit float output is counted */
    LIMIT_INTEGER_MAX_ABS_ERROR, /* pass at or below, where `integer_by_distance` */
    /* the error model of `strict`: derivations in docs/standards.md */
    LIMIT_MODEL_WORST,   /* error over what is allowed, of the worst element */
    LIMIT_MODEL_RMS,     /* of the errors in units of their expected rms */
    LIMIT_MODEL_BIAS,    /* mean of the same, signed */
    LIMIT_MODEL_LARGEST, /* largest of the same */
    LIMIT_MODEL_EQUAL,   /* units by which elements that are made of the same numbers may differ */
    LIMIT_MODEL_BITS,    /* by which all results may be shorter than their format */
    LIMIT_MODEL_OUTLIER, /* that, from which on it is compared with others */
    LIMIT_MODEL_FLIPS,   /* on elements that are not the rounded reference, over expected ones */
    LIMIT_MODEL_NATS,    /* by which scales of at most 1.5 fit worse than the best */
    LIMIT_MODEL_SIGNATURE, /* correlation of the errors with what a short format makes */
    LIMIT_MODEL_LINE,      /* error of a row, column, tile or lane beyond what the others show */
    LIMIT_MODEL_STAGED, /* least share that a kernel with roundings between the steps gives, for a warning */
    LIMIT_MODEL_FALLBACK_ULP,   /* bound without a model: units at the element */
    LIMIT_MODEL_FALLBACK_SCALE, /* and units at the tensor's largest value */
    LIMIT_COUNT
};

const char *limit_name(enum limit limit);

enum empty_rule { EMPTY_PASS, EMPTY_ERROR, EMPTY_SKIP };

struct row_layout;

/* What sets the profiles apart besides numbers. */
struct profile_rules {
    bool numpy_arithmetic; /* metrics as numpy computes them in the bench dtype */
    bool cosine_nan_is_error;
    bool error_model; /* verdicts from the error model, not from the chain */
    /* Verdicts of the pre-check for MindSpore: cosine and largest difference, in double, of values in
     * the dtype of the API's result (standards/judge_distances.h). */
    bool distances;
    bool listed_names_only;          /* of the MindSpore names only those that its pre-check runs */
    const struct row_layout *layout; /* of the files */
    bool every_integer;              /* int8, int16 are compared */
    bool complex_numbers;            /* compared, as pairs of reals */
    enum empty_rule empty;
    const char *integer_message; /* "%s" stands for the dtype without "torch." */
};

/* Load a built-in profile, with a user's overrides.
 *
 *   out            the profile, to be released with profile_release; untouched on failure
 *   name           one of profile_names()
 *   override_path  a JSON file that changes limits per API and dtype, or NULL
 *   policy         how far that file is trusted
 *   errors         STATUS_BAD_ARGUMENT for an unknown name; STATUS_BAD_INPUT for the user's
 *                  file, with its line and the key at fault
 */
struct status profile_load(struct profile **out, const char *name, const char *override_path,
                           struct file_policy policy);

/* The same by the rules that a framework has under this name (struct framework, profile_prefix), where
 * it has its own: "mindspore_" and "doc" give the profile mindspore_doc, "mindspore_" and "strict" strict. */
struct status profile_load_for(struct profile **out, const char *prefix, const char *name,
                               const char *override_path, struct file_policy policy);

void profile_release(struct profile *profile);

const char *profile_name(const struct profile *profile);

/* Names of the built-in profiles, default first, ended by NULL. */
const char *const *profile_names(void);

const struct profile_rules *profile_rules(const struct profile *profile);

/* A limit for one API (bare name, "matmul", "linalg.inv") and the dtype of its output. */
double profile_limit(const struct profile *profile, enum limit limit, const char *api,
                     enum dtype dtype);

/* Which limits of the user's file apply to this API and dtype at all? For the evidence. */
bool profile_is_overridden(const struct profile *profile, const char *api, enum dtype dtype);

/* Is the forward of this API a copy, selection or comparison, which rounds nothing? By the list
 * of the profile's file; only asked where the reference carries no error model. */
bool profile_is_exact(const struct profile *profile, const char *api);

/* Allow modes of kernels (core/kernel_modes.h) for all APIs, before the profile is shared. */
struct status profile_allow(struct profile *profile, const struct kernel_modes *modes);

/* The modes that this API may use for results of this dtype: those for all, and those of the user's file. With
 * API NULL those of all entries. */
struct status profile_allowed(struct kernel_modes *out, const struct profile *profile,
                              const char *api, enum dtype dtype);

/* What an output is held to in run_ut.
 *
 *   output  dtype of the device's output; input: of the first floating argument, or DT_NONE
 *   also_thousandth  the thousandth ratio is printed in addition to `standard`'s columns
 *   supported        false: the dtype has no standard in this profile, and the row says so
 */
struct profile_selection {
    enum standard standard;
    bool also_thousandth;
    bool supported;
    bool integer_by_distance; /* integer outputs pass within LIMIT_INTEGER_MAX_ABS_ERROR */
};
struct profile_selection profile_select(const struct profile *profile, const char *api,
                                        enum dtype output, enum dtype input);

#endif
