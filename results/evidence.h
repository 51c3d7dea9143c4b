/* The evidence of a run: accuracy_checking_evidence_{ts}.jsonl, one JSON object per details row
 * and line, in the order of the rows; rows that passed may have none (enum evidence_extent).
 *
 *     {"name": "Torch.matmul.3.forward.output.0", "verdict": "error", "sentence": "...",
 *      "called from": "models.py:72 in forward: y = a @ b", "repeat": "probe-ut case ... --name
 *      Torch.matmul.3", "message": ..., "evidence": {...}, "inputs": ["..."]}
 *
 * Rows that fail on a backend that has reproducers (repro/) have the command that writes one: "reproducer":
 * "probe-ut repro ... --name Torch.matmul.3.forward.output.0".
 * Rows that pass have no sentence, message and command, those without a stack no "called from".
 * A row that compares nothing says why behind its name: "cause": "device failed" (results/outcome.h
 * has the others). `evidence` is what judged_json_add_evidence writes; `inputs` are the notes of the generator, on
 * the first line of a call. A row that fails has a "diagnosis": what it looks like (standards/findings.h), likeliest
 * first: [{"class": "rounded inputs", "text": "looks like: ...", "mistake": "inputs rounded to 10 bits (TF32)", "explains":
 * 0.997, "exact": 2301, "within rounding": 2304, "elements": 2304}], or [{"class": "unknown", ...}]. A line is self-contained, so that grep and jq can work on it.
 */
#ifndef PROBE_RESULTS_EVIDENCE_H
#define PROBE_RESULTS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/file.h"
#include "formats/csv.h"
#include "results/outcome.h"
#include "standards/judge.h"

/* Which rows have a line: all, or those that are not a pass. */
enum evidence_extent { EVIDENCE_ALL, EVIDENCE_FAILING };

/* "all", "failing", ended by NULL; and what one of them means, EVIDENCE_ALL for NULL. */
const char *const *evidence_extent_names(void);
enum evidence_extent evidence_extent_from_name(const char *name);

/* Has a row of this verdict a line? */
bool evidence_has_line(enum evidence_extent extent, enum verdict verdict);

/* Which of many calls of the same name it is, of those that were sent while a process was running: "step": 3,
 * "sequence": 41, "session": "..." behind the verdict. */
struct call_place {
    int64_t step;
    uint64_t sequence;
    const char *session; /* NULL: none that has a name */
};

/* What the line of a row tells. */
struct evidence_row {
    const struct judged *judged;
    enum row_cause cause;
    const char *repeat;    /* the command that repeats single calls, up to the name */
    const char *reproduce; /* the command that writes a reproducer of a row likewise, or NULL */
    const char *call;      /* full name of the call */
    const struct call_place *place; /* NULL: its name says it */
    const char *source; /* the line that made it (formats/source_line.h); NULL or "": unknown */
    const char *const *inputs; /* notes about its inputs: on its first row only */
    size_t n_inputs;
};

/* Append the line of a row. */
struct status evidence_append(struct csv_buffer *out, const struct evidence_row *row);

/* Append the line of a row whose evidence was lost. The texts are cells of its details row. */
struct status evidence_append_lost(struct csv_buffer *out, struct csv_text name,
                                   enum verdict verdict, struct csv_text message,
                                   const char *repeat, const char *call);

/* Lines of an evidence file from its start, read in pieces. All zeros but `file`. */
enum { EVIDENCE_CHUNK = 65536, EVIDENCE_NAME = 8192 };
struct evidence_reader {
    const struct file *file;
    uint64_t offset; /* of the next byte to read */
    size_t have, at;
    char chunk[EVIDENCE_CHUNK];
    char start[EVIDENCE_NAME]; /* first bytes of the last line: they have name and cause */
    char name[EVIDENCE_NAME];  /* of its row, decoded */
    char story[EVIDENCE_NAME]; /* texts of evidence_tell */
};

/* What resuming needs to know of a line. */
struct evidence_line {
    struct csv_text name; /* of its row; valid until the next line */
    enum row_cause cause;
    uint64_t end; /* the byte behind the line */
};

/* The next line. *whole is false at the end of the file, for a torn line and for one that is no
 * evidence. */
struct status evidence_next(struct evidence_reader *reader, bool *whole,
                            struct evidence_line *line);

/* What the line read last says to people; empty where it says nothing. Valid until the next line. */
struct evidence_story {
    struct csv_text sentence, source, repeat;
};
void evidence_tell(struct evidence_story *out, struct evidence_reader *reader);

#endif
