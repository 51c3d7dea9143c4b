/* Hypotheses that evaluate the call anew: with other inputs, another argument, or deviating arithmetic. */
#ifndef PROBE_DIAGNOSIS_CHANGED_CALL_H
#define PROBE_DIAGNOSIS_CHANGED_CALL_H

#include "diagnosis/subject.h"

/* Offer what the changed call returns; nothing when the change does not fit it or the budget is spent.
 * `slower`: how many times the steps of the call one evaluation takes. */
struct status subject_offer_change(struct subject *subject, const struct claim *claim,
                                   const struct what_if *change, double slower);

/* The name by which a person knows tensor argument i: that of its parameter, or "argument 2". */
enum { TENSOR_NAME_BYTES = 64 };
void tensor_name(char out[TENSOR_NAME_BYTES], const struct subject *subject, size_t i);

/* The parameter that tensor argument i is bound to as a whole; -1 when it is an item of a list. */
int tensor_parameter(const struct subject *subject, size_t i);

/* The class that a mistake with the parameter `name` has: "bias", "eps"; `otherwise` for most. */
const char *argument_class(const char *name, const char *otherwise);

#endif
