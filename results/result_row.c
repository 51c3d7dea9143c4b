/* The headers are those of the peer, letter for letter: scripts look for them. */
#include "results/result_row.h"

#include <string.h>

#include "core/memory.h"

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

/* The messages of both directions in one. */
static struct status append_joined(struct csv_buffer *out, const char *cells[RESULT_COLUMNS],
                                   const char *const messages[2])
{
    const char *first = messages[0] ? messages[0] : "", *second = messages[1] ? messages[1] : "";
    char *both = memory_allocate(strlen(first) + strlen(second) + 1);
    if (!both) return status_no_memory(strlen(first) + strlen(second) + 1);
    cells[RESULT_MESSAGE] = strcat(strcpy(both, first), second);
    struct status status = csv_append_row(out, cells, RESULT_COLUMNS);
    memory_release(both);
    return status;
}

static const char *shown(enum verdict verdict, const struct row_layout *layout)
{
    return verdict == VERDICT_BLANK ? layout->blank : verdict_name(verdict);
}

struct status result_row_append(struct csv_buffer *out, const struct row_layout *layout,
                                const char *name, const enum verdict verdicts[2],
                                const char *const messages[2])
{
    const char *cells[RESULT_COLUMNS] = { name, shown(verdicts[0], layout),
                                          shown(verdicts[1], layout), NULL };
    if (layout->joins_messages) {
        static const char *const none[2] = { NULL, NULL };
        bool all_pass = verdicts[0] == VERDICT_PASS &&
                        (verdicts[1] == VERDICT_PASS || verdicts[1] == VERDICT_BLANK);
        return append_joined(out, cells, all_pass ? none : messages);
    }
    if (verdicts[0] == VERDICT_SKIP) cells[RESULT_MESSAGE] = messages[0];
    else if (verdicts[1] == VERDICT_SKIP) cells[RESULT_MESSAGE] = messages[1];
    return csv_append_row(out, cells, cells[RESULT_MESSAGE] ? RESULT_COLUMNS : RESULT_COLUMNS - 1);
}
