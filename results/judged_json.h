/* A judged output as JSON, for people and programs that want to know more than the row says. */
#ifndef PROBE_RESULTS_JUDGED_JSON_H
#define PROBE_RESULTS_JUDGED_JSON_H

#include <cjson/cJSON.h>

#include "core/status.h"
#include "standards/judge.h"

/* Add the columns of the details file to an object: literal headers, the cells' texts. */
struct status judged_json_add_cells(cJSON *object, const struct judged *judged);

/* Add what is behind the verdict: the standard, every limit that was looked at with its value,
 * and, when there were numbers, how often kinds of values met, errors in ulp, the worst elements
 * and the ULP histogram. What is not finite is written as the strings "nan", "inf", "-inf". */
struct status judged_json_add_evidence(cJSON *object, const struct judged *judged);

#endif
