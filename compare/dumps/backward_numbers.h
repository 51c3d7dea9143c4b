/* Backward calls by the order in which they were recorded: the n-th backward record of a name is call n
 * on both sides, so that layers line up whose forward was recomputed and counted twice. This is how
 * the reference's third generation matches. */
#ifndef PROBE_COMPARE_DUMPS_BACKWARD_NUMBERS_H
#define PROBE_COMPARE_DUMPS_BACKWARD_NUMBERS_H

#include "compare/dumps/pairing.h"

struct backward_numbers {
    const struct dump_rows *npu; /* tells the sides apart */
    uint32_t *of_npu, *of_bench; /* by entry; ROW_NONE for what is no backward record */
};

/* Number the entries of both sides and set the rule, which refers to `out`. */
struct status backward_numbers_apply(struct backward_numbers *out, struct pairing_rule *rule,
                                     const struct dump_pair *dumps);
void backward_numbers_release(struct backward_numbers *numbers);

#endif
