/* The calls of a details file, in its order: the rows of one name behind each other, with their numbers read.
 * A thread of its own reads them ahead, since that is most of a comparison's work.
 */
#ifndef PROBE_COMPARE_DETAILS_CALLS_H
#define PROBE_COMPARE_DETAILS_CALLS_H

#include "compare/details_pair.h"

/* Rows of a call are searched one after the other; a call of an operator has a few. */
enum { CALL_ROWS_MAX = 256 };

/* A row. Its texts lie behind each other. */
struct kept_row {
    struct three_way_side side;
    size_t begin; /* of the first text */
    uint32_t lengths[ROW_TEXTS];
    uint32_t index_length; /* of the last segment of its name */
    uint8_t dtype;         /* enum three_way_dtype */
    bool overlong, backward;
    bool repeated; /* its name comes again in the call */
    bool matched;  /* for who compares */
};

/* The rows of one call. */
struct details_call {
    struct details_call *next;    /* for who keeps it */
    uint64_t place;               /* of its first row in the file */
    size_t name_length;           /* "Torch.add.7", which the name of each row begins with */
    size_t api_begin, api_length; /* "add" in it */
    size_t group_length;          /* "Torch.add" in it; 0 where no number is behind it */
    uint64_t number;              /* that one */
    struct kept_row *rows;
    size_t n_rows;
    const char *text; /* that rows begin in */
};

/* Its name, the name of a row, a row, and the parts of its name. Valid as long as the call is. */
struct csv_text details_call_name(const struct details_call *call);
struct csv_text details_call_row_text(const struct details_call *call, size_t row);
struct compared_row details_call_row(const struct details_call *call, size_t row);
struct row_name details_call_row_name(const struct details_call *call, size_t row);

/* The first row of a name; n_rows where there is none. */
size_t details_call_find_row(const struct details_call *call, struct csv_text name);

/* A copy of a call that lasts until details_call_free, for which NULL is fine. */
struct status details_call_copy(struct details_call **out, const struct details_call *call);
void details_call_free(struct details_call *call);

struct details_calls;

/* Open a side's file and begin to read. Ends with details_calls_close.
 *
 *   request  must outlive it
 *   side     of the NPU repeated rows are rows, too, and rows before a fault are a call of their own; of the GPU the
 *            first row of a name counts, and there are no texts but names, shapes, and messages where no number is
 */
struct status details_calls_open(struct details_calls **out, const struct compare_request *request,
                                 enum compare_side side);

/* The next call, valid until the next one is asked for or looked at; NULL at the end of the file.
 *
 *   in_step  set to false, with no call, where a name is none of a row or a call has too many rows
 *   errors   as of details_file_next, behind the last call before the fault
 */
struct status details_calls_next(struct details_call **out, bool *in_step,
                                 struct details_calls *calls);

/* The call that is next, without taking it; NULL where there is none, for whatever reason. */
const struct details_call *details_calls_peek(struct details_calls *calls);

/* At the end of the file: its rows, and whether the last one was cut. */
void details_calls_count(uint64_t *rows, bool *torn, const struct details_calls *calls);

/* End reading, wherever it is; NULL is fine. */
void details_calls_close(struct details_calls *calls);

#endif
