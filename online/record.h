/* A record: one API call of a process that trains, sent while it trains, with the bits of its arguments
 * and results.
 *
 * The client of msprobe sends ApiData(name, args, kwargs, result, step, rank), as a file of torch.save (over
 * TCP) or as a plain pickle (shared storage). Both are data here: formats/pickle.h has a closed list of
 * names, and nothing is ever called. Our own transport has another body (online/stream_record.h) and
 * makes the same struct of it.
 */
#ifndef PROBE_ONLINE_RECORD_H
#define PROBE_ONLINE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

struct record {
    /* The call: names, args, kwargs, outputs. Every tensor value has its record and its elements; strides
     * and shared storages are those of the process. There is no backward. */
    struct api_case call;
    bool has_rank; /* false: the rank is that of the frame */
    int64_t rank, step;
    /* The arguments were taken before the call, so that one that writes into them can be judged. Those of
     * msprobe's client are taken after it. */
    bool inputs_before;
    /* STATUS_SKIP, with the reason, when the call is known by name and cannot be judged: an object of a class
     * that nobody knows, a dtype without a type here, a storage that is shorter than its tensor. */
    struct status unusable;
};

/* Decode a body.
 *
 *   out     set on success. Elements lie in `body` where they are aligned and little-endian, else in `arena`
 *   arena   its limit bounds what a body may unfold to
 *   body    untrusted; must stay as long as `out`
 *   place   where the body came from, for messages
 *   errors  STATUS_BAD_INPUT: it is no record, or not even its name can be told; STATUS_NO_MEMORY
 *   threads safe when each call has its own arena
 */
typedef struct status record_decoder(struct record *out, struct arena *arena, const void *body,
                                     size_t bytes, const char *place);

/* Of msprobe's client: torch.save of the record, or its plain pickle. */
record_decoder record_decode;

/* Set full_name, type and api of a call. The name is copied.
 *
 *   errors  STATUS_BAD_INPUT for a name that is none: empty, overlong, no text of one line, with a character
 *           that a table would take for a formula
 */
struct status record_set_name(struct api_case *call, struct arena *arena, const char *name,
                              size_t length);

/* Has the call written into an argument, so that arguments taken after it are not those that it read?
 * STATUS_SKIP says how it is known: an in-place name (add_, __setitem__, __iadd__), out=, inplace=True. */
struct status record_writes_arguments(const struct api_case *call);

#endif
