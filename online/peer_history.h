/* The frames of a connection that were accepted, so that a repetition is known (same sequence, rank and
 * step), and those that were answered with ERROR and have not come again.
 *
 * Sequences count up and a step has many frames, so runs of sequences with one rank and step are kept:
 * a step is one entry. Who sends anything else fills the table and pushes its own oldest entries out.
 */
#ifndef PROBE_ONLINE_PEER_HISTORY_H
#define PROBE_ONLINE_PEER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "online/peer_frames.h"

enum { PEER_RUNS_MAX = 4096, PEER_DAMAGED_MAX = 64 };

/* Frames first.sequence .. last with the rank and step of `first`. */
struct peer_run {
    struct peer_numbers first;
    uint64_t last;
};

struct peer_history {
    struct peer_run *runs; /* oldest first; owned */
    size_t count, capacity;
    struct peer_numbers damaged[PEER_DAMAGED_MAX]; /* oldest first */
    size_t n_damaged;
};

/* From all zeros. */
bool peer_history_has(const struct peer_history *history, const struct peer_numbers *frame);

/* A frame was accepted; it is damaged no longer. */
struct status peer_history_accept(struct peer_history *history, const struct peer_numbers *frame);

/* A frame was answered with ERROR. */
void peer_history_damage(struct peer_history *history, const struct peer_numbers *frame);

void peer_history_release(struct peer_history *history);

#endif
