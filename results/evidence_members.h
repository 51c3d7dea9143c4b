/* Values of members of evidence, as judged_json writes them, read back. */
#ifndef PROBE_RESULTS_EVIDENCE_MEMBERS_H
#define PROBE_RESULTS_EVIDENCE_MEMBERS_H

#include <stdbool.h>

#include "formats/json.h"

/* The next value: a number, or "inf" or "-inf", which JSON has no numbers for; NaN for anything else. */
double evidence_read_number(struct json *json);

/* The next value, if it is true; false for anything else. */
bool evidence_read_flag(struct json *json);

#endif
