/* The messages of the worker protocol: one JSON value a line in each direction, tensors by their
 * place in shared memory. docs/worker-protocol.md is the contract for those who write workers.
 */
#ifndef PROBE_RUNNER_DEVICES_WORKER_WORKER_MESSAGE_H
#define PROBE_RUNNER_DEVICES_WORKER_WORKER_MESSAGE_H

#include "core/case.h"
#include "runner/devices/device.h"

enum { WORKER_PROTOCOL = 1 };

/* A growing line of text. After a failed append `failed` is set and stays. */
/* clang-format off */
struct text {
    char *bytes;
    size_t used, room;
    bool failed;
};
/* clang-format on */

/* clang-format off */
void text_append(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for `bytes` more behind `used`. */
void text_reserve(struct text *text, size_t bytes);
void text_release(struct text *text);

/* Shared memory as the message code sees it: of one device a part of the file, all of it where it is alone. */
struct worker_memory {
    unsigned char *base;            /* of the file */
    int descriptor;                 /* of the file */
    uint64_t first, limit;          /* where the part begins and ends, inside the mapping */
    uint64_t used;                  /* up to which inputs lie */
    struct status (*reserve)(struct worker_memory *memory, uint64_t bytes); /* make the file
                                                                               that long */
    uint64_t bytes;                 /* of the file, as last seen */
};
/* clang-format on */

/* Write the request for a call, with the newline, and copy its tensors into memory. */
struct status worker_request(struct text *out, struct worker_memory *memory, uint64_t number,
                             const struct api_case *c, bool want_gradients);

struct worker_greeting {
    bool forward_only; /* it lists capabilities, and "backward" is not among them */
    bool takes_ahead;  /* "ahead" is: a request may wait while the one before is in work */
    char name[120];    /* what it calls itself; "" when it does not say */
};

/* Understand the greeting of a worker, which may be of any bytes. STATUS_DEVICE when it refuses,
 * speaks no protocol of ours or another version. */
struct status worker_read_greeting(struct worker_greeting *out, const char *line, size_t bytes);

/* What a reply says beside its results. */
/* clang-format off */
struct worker_reply {
    bool restart; /* the worker asks to be replaced: its device is in a bad state */
};
/* clang-format on */

/* Understand a reply. Tensors are copied out of the memory into `arena`.
 *
 *   returns  STATUS_SKIP or STATUS_DEVICE as the worker says; STATUS_BAD_INPUT when the line is
 *            not a valid reply to request `number`
 */
struct status worker_read_reply(struct device_result *out, struct worker_reply *reply,
                                struct arena *arena, const struct worker_memory *memory,
                                const char *line, size_t bytes, uint64_t number,
                                bool want_gradients);

#endif
