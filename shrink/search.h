/* The search: the smallest failing call found so far, and the only way to try another one.
 *
 * Every candidate is a copy of the best call with something simpler in it. It replaces the best one when it
 * still fails in the same way. Bounded by calls of the device and time, and by whoever may stop it: from
 * then on nothing is accepted, so that the reductions run out by themselves.
 */
#ifndef PROBE_SHRINK_SEARCH_H
#define PROBE_SHRINK_SEARCH_H

#include "core/stop.h"
#include "results/failure.h"
#include "runner/one_call.h"
#include "shrink/limits.h"

/* The element that is wrong in the row of the failure. */
struct wrong_element {
    bool known;
    bool kinds;             /* a NaN or an infinity on one side only is among what is wrong */
    size_t first, n, wrong; /* component; components in all; beyond their limit */
    double want, got;
    char shape[160]; /* of the output, as a details row has it */
};

struct search {
    struct one_call *call;
    struct shrink_limits limits;
    struct shrink_news news;
    struct stop stop;
    double started_s;
    struct failure failure;
    bool failed_once;            /* but not when it was tried again */
    struct case_outcome outcome; /* of the last call */

    struct api_case best;
    struct wrong_element wrong, best_wrong; /* of the last call; of the best one */
    struct arena *best_arena, *trial_arena; /* point to these two */
    struct arena arenas[2];

    size_t calls;  /* of the device */
    double last_s; /* what the last one took */
    bool slow;     /* a failing call takes long: the kernel hangs, say */
    enum shrink_end end;
    struct status fatal; /* what ended the search for good */

    /* What the device returned for the last call, kept when `keeps` says so. */
    bool keeps;
    struct arena kept_arena;
    struct value outputs, gradients;
};

/* Open with the call as the run gives it, tried up to limits.repeat times until it fails. *fails is false
 * when it does not; `outcome` is that of the last try then. To be closed also when this fails. */
struct status search_open(struct search *out, bool *fails, struct one_call *call, const char *name,
                          const struct shrink_limits *limits, struct shrink_news news,
                          struct stop stop);
void search_close(struct search *search);

/* Nothing will be accepted any more. */
bool search_is_over(const struct search *search);

/* A copy of the best call, to be altered in search->trial_arena. It replaces the copy before it. */
struct status search_copy(struct api_case *out, struct search *search);

/* Does the copy still fail in the same way? Then it is the best call from now on. It is settled first
 * (variation/specimen.h); one that is no valid call costs no call of the device. */
struct status search_try(bool *accepted, struct search *search, struct api_case *c);

/* Does a copy fail in the same way? The best call stays. */
struct status search_ask(bool *fails, bool *valid, struct search *search, struct api_case *c);

/* How often the best call fails out of `runs`. */
struct status search_count(size_t *failures, struct search *search, size_t runs);

/* The best call once more (up to limits.repeat times until it fails), with what the device returned kept. */
struct status search_keep_results(struct search *search);

#endif
