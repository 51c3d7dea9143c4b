/* Calls by the names that people give them: --only and --skip on the command line, the white and the
 * black list of a configuration.
 *
 * A pattern is a name, or several with '|' between them. A name is that of an API (linear,
 * linalg.inv), with its group (Functional.linear), of a call (Functional.linear.3), or a key of the
 * dump (Functional.linear.3.forward). In it '*' stands for any characters, '?' for one and [0-4] for
 * one of some, as in a shell (fnmatch(3) of the C library; its time is bounded by the square of a
 * name's length, that of a regular expression is not). A name has to match as a whole: dots are
 * dots, and linear is not bilinear.
 */
#ifndef PROBE_RUNNER_CALL_PATTERNS_H
#define PROBE_RUNNER_CALL_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

enum { CALL_PATTERN_BYTES = 256 }; /* most of one name */

/* Names, without the '|' between them. All zeros: none. */
struct call_patterns {
    const char **items;
    size_t count;
};

/* Most names that a pattern may turn out to be. */
size_t call_patterns_count(const char *pattern);

/* Append the names of `pattern` to `out->items`, which has room for them; they live in `arena`.
 * STATUS_BAD_ARGUMENT for a name that is empty or too long. */
struct status call_patterns_append(struct call_patterns *out, struct arena *arena,
                                   const char *pattern);

/* The names of one pattern. */
struct status call_patterns_read(struct call_patterns *out, struct arena *arena,
                                 const char *pattern);

/* Has the name one of the characters that stand for others? */
bool call_pattern_is_glob(const char *name);

/* Is the call meant by one of the names?
 *
 *   c    only its name need be known
 *   met  flags by name, set for each that means the call; NULL when nobody asks
 */
bool call_patterns_match(const struct call_patterns *patterns, const struct api_case *c, bool *met);

#endif
