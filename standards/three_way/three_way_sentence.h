/* A three-way verdict that is no pass in one sentence, for people. */
#ifndef PROBE_STANDARDS_THREE_WAY_THREE_WAY_SENTENCE_H
#define PROBE_STANDARDS_THREE_WAY_THREE_WAY_SENTENCE_H

#include "formats/csv.h"
#include "standards/three_way/three_way.h"

enum { THREE_WAY_SENTENCE_BYTES = 320 };

/* "root mean square error 3.2 times the GPU's, largest relative error 12 times the GPU's": the metrics that
 * have the verdict of the row, worst columns as they stand; the first line of `message` when none has.
 *
 *   npu      cells of the NPU row by metric, for columns that take them over; NULL when there are none
 *   message  of the row, which the verdict's own may have cut
 */
void three_way_sentence(char out[THREE_WAY_SENTENCE_BYTES], const struct three_way_verdict *verdict,
                        const struct csv_text *npu, struct csv_text message);

/* How bad it is: the largest of those ratios, less for shares; infinite where there is no number. */
double three_way_excess(const struct three_way_verdict *verdict, const struct csv_text *npu);

#endif
