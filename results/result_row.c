/* The headers are those of the peer, letter for letter: scripts look for them. */
#include "results/result_row.h"

const char *const result_headers[RESULT_COLUMNS] = {
    [RESULT_NAME] = "API name",
    [RESULT_FORWARD] = "Forward Test Success",
    [RESULT_BACKWARD] = "Backward Test Success",
    [RESULT_MESSAGE] = "Message",
};

/* The worst of both; SKIP only when there is nothing else. */
enum verdict result_row_verdict(enum verdict before, enum verdict row)
{
    const enum verdict both[2] = { before, row };
    return before == VERDICT_BLANK ? row : verdict_combine(both, 2);
}

struct status result_row_append(struct csv_buffer *out, const char *name,
                                const enum verdict verdicts[2], const char *const messages[2])
{
    const char *cells[RESULT_COLUMNS] = { name, verdict_name(verdicts[0]),
                                          verdict_name(verdicts[1]), NULL };
    if (verdicts[0] == VERDICT_SKIP) cells[RESULT_MESSAGE] = messages[0];
    else if (verdicts[1] == VERDICT_SKIP) cells[RESULT_MESSAGE] = messages[1];
    return csv_append_row(out, cells, cells[RESULT_MESSAGE] ? RESULT_COLUMNS : RESULT_COLUMNS - 1);
}
