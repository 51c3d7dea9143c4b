/* The calls of the GPU's details file, in its order: the rows of one name behind each other, with their numbers read.
 * A thread of its own reads them ahead, since that is a third of a comparison's work.
 */
#ifndef PROBE_COMPARE_GPU_CALLS_H
#define PROBE_COMPARE_GPU_CALLS_H

#include "compare/details_pair.h"
#include "compare/kept_text.h"

/* Rows of a call are searched one after the other; a call of an operator has a few. */
enum { GPU_CALL_ROWS = 256 };

struct kept_row {
    struct three_way_side side;
    struct kept_text name, message, shape;
    bool repeated, matched;
};

/* The rows of one call. */
struct gpu_call {
    struct gpu_call *next;
    uint64_t number;       /* behind the name of its API */
    uint64_t place;        /* of its first row in the file */
    struct kept_text name; /* "Torch.add.7" */
    struct kept_row *rows;
    size_t n_rows, row_capacity;
    struct csv_buffer text;
};

/* The row of a name; NULL where the call has none. */
struct kept_row *gpu_call_find_row(struct gpu_call *call, struct csv_text name);

/* Release calls that hang together by `next`. */
void gpu_calls_drop(struct gpu_call *calls);

struct gpu_calls;

/* Open the file and begin to read; `request` must outlive it. Ends with gpu_calls_close. */
struct status gpu_calls_open(struct gpu_calls **out, const struct compare_request *request);

/* The next call, which the caller owns until gpu_calls_give_back or gpu_calls_drop; NULL at the end of the file.
 *
 *   in_step  set to false, with no call, where a name is none of a row or a call has too many rows
 *   errors   as of details_file_next, behind the last call before the fault
 */
struct status gpu_calls_next(struct gpu_call **out, bool *in_step, struct gpu_calls *calls);

/* A call that is done with: its memory takes another one. */
void gpu_calls_give_back(struct gpu_calls *calls, struct gpu_call *call);

/* At the end of the file: its rows, and whether the last one was cut. */
void gpu_calls_count(uint64_t *rows, bool *torn, const struct gpu_calls *calls);

/* End reading, wherever it is; NULL is fine. */
void gpu_calls_close(struct gpu_calls *calls);

#endif
