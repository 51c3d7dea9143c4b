/* How tight is a standard? A correct result is spoilt by errors of known kinds and sizes, and each profile is asked
 * from which size on it notices. */
#ifndef PROBE_RUNNER_SENSITIVITY_H
#define PROBE_RUNNER_SENSITIVITY_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"
#include "standards/profile.h"

/* What is done to a result, with e = 2^-k. */
enum injection {
    INJECT_SCALE,   /* all elements times 1 + e */
    INJECT_BIAS,    /* all elements plus e times their rms */
    INJECT_ONE,     /* the largest element times 1 + e */
    INJECT_NOISE,   /* every element times 1 + e or 1 - e, at random */
    INJECT_CUT,     /* results cut off to k bits */
    INJECT_FACTORS, /* factors of products rounded to k bits */
    INJECT_SUMS,    /* sums accumulated in k bits */
    INJECTIONS
};

/* "scale", "bias", ... */
extern const char *const injection_names[INJECTIONS];

enum { SENSITIVITY_PROFILES = 4, SENSITIVITY_FINEST = 40 };
enum { SENSITIVITY_NEVER = -1, SENSITIVITY_NO_SUCH_STEP = -2 };

struct sensitivity {
    /* The largest k up to which every error is noticed: of 2^-k and all larger ones; or one of the above. A profile
     * notices when the verdict is worse than that of the correct result. */
    int noticed[INJECTIONS][SENSITIVITY_PROFILES];
    enum dtype dtype; /* of the output */
};

/* Measure output 0 of a call that has its inputs.
 *
 *   profiles  in the order of profile_names()
 *   errors    STATUS_SKIP: there is no reference, or the output is not floating
 */
struct status sensitivity_measure(struct sensitivity *out, struct arena *arena,
                                  const struct api_case *c,
                                  struct profile *const profiles[SENSITIVITY_PROFILES]);

#endif
