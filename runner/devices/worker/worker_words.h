/* The command of a worker as a list of words. */
#ifndef PROBE_RUNNER_DEVICES_WORKER_WORKER_WORDS_H
#define PROBE_RUNNER_DEVICES_WORKER_WORKER_WORDS_H

#include "core/arena.h"
#include "core/status.h"

/* Split as a POSIX shell splits words, with its three quotes ('...', "...", backslash) and
 * nothing else: no variables, no patterns, no shell.
 *
 *   out     ended by NULL, in `arena`
 *   errors  STATUS_BAD_ARGUMENT: a quote that does not end, no word at all
 */
struct status worker_words(const char *const **out, size_t *count, struct arena *arena,
                           const char *text);

#endif
