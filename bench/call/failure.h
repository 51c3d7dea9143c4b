/* How a call is refused: with a sentence for the user, which becomes the SKIP of its row. */
#ifndef PROBE_BENCH_CALL_FAILURE_H
#define PROBE_BENCH_CALL_FAILURE_H

#include "bench/call/call.h"

/* Fail this call with STATUS_SKIP and a sentence. */
void call_fail(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does the call meet the condition? If not, it fails with the sentence that follows. After an
 * earlier failure the answer is no, and neither condition nor sentence is evaluated: what they
 * read of arguments that could not be had means nothing.
 *
 *     if (!call_require(call, x->rank >= 2, "scores have at least two dimensions")) return; */
#define call_require(call, condition, ...) \
    (!tape_failed((call)->tape) && ((condition) || (call_fail(call, __VA_ARGS__), false)))

#endif
