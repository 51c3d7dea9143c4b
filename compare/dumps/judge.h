/* From what was measured to what is said: verdicts, notes and backgrounds of rows.
 *
 * Steps of their own, because each reads what the one before it left in c->rows: every row by itself;
 * then entry by entry, inputs against outputs.
 */
#ifndef PROBE_COMPARE_DUMPS_JUDGE_H
#define PROBE_COMPARE_DUMPS_JUDGE_H

#include "compare/dumps/result.h"

/* The verdict of the generation, our own level and the notes of every row. */
void judge_rows(struct comparison *c);

/* The verdict that cosine and largest error of a pair of tensors give. */
enum row_verdict tensor_verdict(const struct tensor_result *r);

/* Backgrounds and their reasons, by entry: red where values are not finite or errors huge, red or
 * yellow where an output is worse than the inputs it was computed from. Rows without a partner are
 * left alone, as are checksums. */
void judge_backgrounds(struct comparison *c);

/* The levels of the third generation (pass, warning, error), with their notes. */
void judge_by_rules(struct comparison *c);

/* Rows first..first + n of an entry, by what they are. Parameters count as inputs. */
static inline bool row_is_input(const struct dump_row *row)
{
    return row->state == STATE_INPUT || row->state == STATE_PARAMETERS;
}
static inline bool row_is_output(const struct dump_row *row) { return row->state == STATE_OUTPUT; }

/* Is the requires_grad of a matched row the same on both sides? */
bool requires_grad_consistent(const struct dump_row *npu, const struct dump_row *bench);

#endif
