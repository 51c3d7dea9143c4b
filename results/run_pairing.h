/* Do two details files belong together? Their run files, which lie beside them under the same
 * timestamp, say of which dump they are, with which inputs and rules. */
#ifndef PROBE_RESULTS_RUN_PAIRING_H
#define PROBE_RESULTS_RUN_PAIRING_H

#include "core/file.h"
#include "core/status.h"
#include "results/run_record.h"

/* The name of another file of the run that wrote a details file: "…/accuracy_checking_details_{ts}.csv", "evidence" and
 * ".jsonl" give "…/accuracy_checking_evidence_{ts}.jsonl", owned; NULL in *out for any other name. */
struct status run_file_beside(char **out, const char *details_path, const char *kind,
                              const char *suffix);

/* The record beside a details file; its object is NULL when there is none. To be released. */
struct status run_record_beside(struct run_record *out, const char *details_path,
                                struct file_policy policy);

/* STATUS_BAD_INPUT naming what differs: dump, seed or profile. OK when a file has no readable run
 * file beside it, or another name than this program gives: then nothing is known. */
struct status run_pairing_check(const char *details_path, const char *other_details_path,
                                struct file_policy policy);

#endif
