/* Where batch, heads, positions and channels are in the tensors of an attention: the letters of a layout (BNSD, BSND, BSH, SBH,
 * TND, NTD), H being heads and channels in one. Packed sequences (T) have no batch.
 */
#ifndef PROBE_BENCH_OPS_ATTENTION_LAYOUT_H
#define PROBE_BENCH_OPS_ATTENTION_LAYOUT_H

#include "bench/call/op.h"

/* Bring a layout to (B, N, S, D), packed sequences to (1, N, T, D). `heads` is looked at where H has them. A layout that is
 * not known, or does not fit x, fails the call. */
struct node *to_bnsd(struct call *call, struct node *x, const char *layout, int64_t heads);

/* And back. */
struct node *from_bnsd(struct tape *tape, struct node *x, const char *layout);

#endif
