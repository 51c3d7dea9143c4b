/* The headers are those of the peer, letter for letter: scripts look for them. */
#include "results/result_columns.h"

const char *const result_headers[RESULT_COLUMNS] = {
    [RESULT_NAME] = "API name",
    [RESULT_FORWARD] = "Forward Test Success",
    [RESULT_BACKWARD] = "Backward Test Success",
    [RESULT_MESSAGE] = "Message",
};
