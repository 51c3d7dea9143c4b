/* A judged output as JSON, for people and programs that want to know more than the row says. */
#ifndef PROBE_RESULTS_JUDGED_JSON_H
#define PROBE_RESULTS_JUDGED_JSON_H

#include "formats/json_write.h"
#include "standards/judge.h"

/* Add the columns of the details file to the open object: literal headers, the cells' texts. */
void judged_json_add_cells(struct json_writer *out, const struct judged *judged);

/* Add what is behind the verdict as its member "evidence": the standard, every limit that was looked at with
 * its value, and, when there were numbers, how often kinds of values met, errors in ulp, the worst
 * elements and the ULP histogram. What is not finite is written as the strings "nan", "inf", "-inf". */
void judged_json_add_evidence(struct json_writer *out, const struct judged *judged);

#endif
