/* Making again what a resumed run found missing beside rows that stay: result rows, which follow from
 * details rows and their evidence, and lines in the place of evidence, which nothing but the check
 * itself can give back:
 *
 *     {"name": "Torch.matmul.3.forward.output.0", "verdict": "error", "message": ...,
 *      "repeat": "probe-ut case ... --name Torch.matmul.3", "lost": true}
 */
#ifndef PROBE_RESULTS_RESUME_REPAIR_H
#define PROBE_RESULTS_RESUME_REPAIR_H

#include "results/resume.h"

/* Append to both files what the calls of `scan` lack. The files are cut to what `scan` keeps and open
 * for appending.
 *
 *   evidence_lost  set to how many calls lacked evidence
 *   repeat         the command that repeats a call, up to its name
 */
struct status resume_repair(size_t *evidence_lost, const struct file *result,
                            const struct file *details, const struct file *evidence,
                            const struct resume_scan *scan, const char *repeat);

#endif
