/* The evidence of a run: accuracy_checking_evidence_{ts}.jsonl, one JSON object per details row
 * and line, in the order of the rows.
 *
 *     {"name": "Torch.matmul.3.forward.output.0", "verdict": "error", "message": ..., "repeat":
 *      "probe-ut case ... --name Torch.matmul.3", "evidence": {...}, "inputs": ["..."]}
 *
 * `evidence` is what judged_json_add_evidence writes; `inputs` are the notes of the generator, on
 * the first line of a call. A line is self-contained, so that grep and jq can work on it.
 */
#ifndef PROBE_RESULTS_EVIDENCE_H
#define PROBE_RESULTS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/file.h"
#include "formats/csv.h"
#include "generators/generate.h"
#include "results/result_files.h"
#include "standards/judge.h"

/* Append the line of a row.
 *
 *   repeat   the command that repeats the call, up to its name
 *   call     full name of the call
 *   notes    of its inputs, or NULL on all rows but the first
 *   rounding how much of the largest error rounding explains (error / what an honest kernel may
 *            be off by); negative when nobody asked
 */
struct status evidence_append(struct csv_buffer *out, const struct judged *judged,
                              const char *repeat, const char *call,
                              const struct generate_notes *notes, double rounding);

/* Lines of an evidence file from its start, read in pieces. All zeros but `file`. */
enum { EVIDENCE_CHUNK = 65536, EVIDENCE_NAME = 1024 };
struct evidence_reader {
    const struct file *file;
    uint64_t offset; /* of the next byte to read */
    size_t have, at;
    char chunk[EVIDENCE_CHUNK];
    char start[EVIDENCE_NAME]; /* first bytes of the last line: they have the name */
};

/* The row name of the next line and the byte behind it. *whole is false at the end of the file,
 * for a torn line and for one that is no evidence. `name` is valid until the next call. */
struct status evidence_next(struct evidence_reader *reader, bool *whole, struct csv_text *name,
                            uint64_t *end);

/* The command that repeats single calls of a run: everything but the name behind "--name ".
 * Arguments are quoted for a shell where they need it. Free with memory_release. */
struct run_options;
struct status evidence_repeat_command(char **out, const struct run_options *options);

/* Print one line of evidence for a reader. */
struct status evidence_print(FILE *out, const char *line, size_t length);

#endif
