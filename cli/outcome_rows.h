/* What came of a call, a line for each output and gradient: verdict, what is wrong, the worst element. */
#ifndef PROBE_CLI_OUTCOME_ROWS_H
#define PROBE_CLI_OUTCOME_ROWS_H

#include "core/status.h"
#include "results/outcome.h"

/* Print the rows of call `call` on the standard output. Gradients that an argument cannot have are left
 * out. */
struct status outcome_print_rows(const struct case_outcome *outcome, const char *call);

#endif
