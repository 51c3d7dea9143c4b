/* The dump: dump.json of an L1 or mix recording, one entry per API call and direction.
 *
 * The file is indexed once by a streaming scan that validates all of it (offsets of every entry
 * and the names of the calls: 40 bytes and the name for a call, a tenth of the text or less);
 * the entries of one call are read and parsed when it is their turn, on the worker that runs it.
 * Accepts Python's bare NaN, Infinity and -Infinity, both generations of the format and both
 * spellings of its keys.
 *
 * Errors are STATUS_BAD_INPUT and name the file, line, column, JSON path and what was
 * expected, in one line.
 */
#ifndef PROBE_FORMATS_DUMP_H
#define PROBE_FORMATS_DUMP_H

#include <stdint.h>

#include "core/case.h"
#include "core/file.h"
#include "core/status.h"

struct dump;

struct dump_header {
    const char *task;            /* "statistics", "tensor", ... or NULL */
    const char *level;           /* "L1", "mix", ... or NULL */
    const char *framework;       /* or NULL */
    bool has_data_dir;           /* dump_data_dir is a non-empty string: real-data mode */
    bool gradients_of_arguments; /* "gradients": "arguments" */
};

/* Open and index. An L0 or empty dump is an error that says L1 or mix is needed. The policy holds
 * for the dump and for its data files. */
struct status dump_open(struct dump **out, const char *path, struct file_policy policy);

void dump_close(struct dump *dump);

const struct dump_header *dump_header(const struct dump *dump);

/* Number of API calls: forward entries that are not Module or Cell entries, in file order. */
size_t dump_count(const struct dump *dump);

/* Has call i a backward entry? */
bool dump_has_backward(const struct dump *dump, size_t i);

/* Full name of call i without the direction ("Torch.matmul.3"). Lives as long as the dump. */
const char *dump_name(const struct dump *dump, size_t i);

/* Name call i: `full_name`, `type`, `api`, `position` and `has_backward`; nothing else is read. A
 * name that is not TYPE.API.NUMBER has the type "" and is an API as a whole. STATUS_NO_MEMORY only. */
struct status dump_read_name(struct api_case *out, struct arena *arena, const struct dump *dump,
                             size_t i);

/* Name and parse call i with its backward entry, if any. Everything lives in `arena`. A call whose
 * arguments cannot be understood is STATUS_SKIP with the reason; the name is set even
 * then. Threads: safe, each with its own arena. */
struct status dump_read_case(struct api_case *out, struct arena *arena, const struct dump *dump,
                             size_t i);

/* The arguments and outputs of one call from the text of a forward entry alone ({"input_args": ..}), into
 * args, kwargs and outputs; the rest of `out` is the caller's. STATUS_SKIP with the reason when it cannot be understood; STATUS_NO_MEMORY. */
struct status dump_read_entry(struct api_case *out, struct arena *arena, const char *text,
                              size_t bytes);

/* Bytes of JSON text of call i (both directions): a cheap measure for scheduling. */
size_t dump_case_bytes(const struct dump *dump, size_t i);

/* A recorded data_name as a name inside the data directory: old dumps hold whole paths, of which the
 * part behind dump_tensor_data/ counts. Part of `name`. */
const char *dump_data_name(const char *name);

/* STATUS_SKIP, with the directories that were looked for, when the dump was recorded with its tensors and
 * they are not there. */
struct status dump_data_missing(const struct dump *dump);

/* The stored elements of a recorded tensor (its data_name inside the dump's data directory).
 * `.npy` or `.pt`, mapped and not copied where the file allows; the mapping is closed by
 * dump_close. STATUS_SKIP with the reason when the file is missing, unreadable, leaves the
 * directory or disagrees with the record. Threads: safe. */
struct status dump_load_tensor(struct tensor *out, struct arena *arena, const struct dump *dump,
                               const struct tensor_record *record);

/* Data files above 256 KiB are mapped until dump_close. A caller that is done with the tensors
 * in `arena` (before it resets the arena) unmaps theirs with this, so that a run over thousands
 * of recorded calls does not keep all its files in memory. Threads: safe. */
void dump_release_tensors(const struct dump *dump, const struct arena *arena);

/* 64-bit digest of the whole text, for the run file: equal for equal texts, on every host. */
uint64_t dump_digest(const struct dump *dump);

/* Indices of the calls that stay when duplicates are filtered (-f): two calls are duplicates
 * when name without index and the structure of all arguments are equal, ignoring Max, Min,
 * Mean, Norm, md5, data_name and *_except_inf_nan. The first is kept. `keep` has dump_count
 * entries. */
struct status dump_filter(bool *keep, const struct dump *dump);

/* Calls that were met in other dumps, as 16 bytes each. */
struct call_set;
struct status call_set_create(struct call_set **out);
void call_set_release(struct call_set *set);

/* The same over several dumps: of the calls that `keep` has, those stay that are in no dump before;
 * they are added to `met`. */
struct status dump_filter_across(bool *keep, const struct dump *dump, struct call_set *met);

#endif
