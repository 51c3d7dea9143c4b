/* Which verdicts are failures: what --fail-on names, and everything worse. */
#ifndef PROBE_REPORT_FAILING_H
#define PROBE_REPORT_FAILING_H

#include <stdbool.h>

#include "standards/judge.h"

/* Each has those before it too. */
enum failing { FAILING_ERRORS, FAILING_WARNINGS, FAILING_SKIPS };

/* "error", "warning", "skip", ended by NULL: the values of --fail-on. */
const char *const *failing_names(void);

/* What a value of --fail-on asks for; errors when there is none. */
enum failing failing_from_name(const char *name);

/* How bad a verdict is: 0 for what is no failure, more for what is worse. */
int failing_severity(enum failing failing, enum verdict verdict);

#endif
