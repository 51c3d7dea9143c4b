/* Does a result carry the signature of a kernel whose products take their factors in a shorter format? For the files
 * of the judge only.
 *
 * r is the error of the result, d what the format makes of it: the result with shortened factors less the exact one,
 * both without the factor of the exact result that is in them.
 * Then beta = <r, d> / <d, d> is the share of d in r and rho = <r, d> / |r||d| how much of r it is. Errors of
 * another origin have a rho of about 1 / sqrt(n); a kernel in that format has both next to 1. */
#ifndef PROBE_STANDARDS_JUDGE_SIGNATURE_H
#define PROBE_STANDARDS_JUDGE_SIGNATURE_H

#include "standards/judge_row.h"

struct signature {
    enum short_format format;
    double share,
        correlation; /* beta, rho; of the format with the largest rho among those with a share in (0.5, 2) */
};

/* Look for it. *found is false when the reference knows no such kernel, when fewer than 16 elements differ, or
 * when the correlation is not above the limit `model_signature`. */
struct status judge_signature(struct signature *out, bool *found, struct row *row,
                              struct reference *want, const struct tensor *got);

/* "HF32 (11 fraction bits)" */
const char *short_format_text(enum short_format format);

#endif
