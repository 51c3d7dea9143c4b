/* A file of received records, as they came: serve --record writes it, serve --replay has the same records
 * judged again, without clients. A file that was cut short ends with its last whole record.
 *
 *     "probe-ut online recording 1\n"
 *     per record: "REC1" | kind | bytes of the name | CRC-32 of the body   (32 bits each)
 *                 sequence | rank | step | bytes of the body                          (64 bits each)
 *                 name of the session, or where the record came from | body
 * Integers are little endian.
 */
#ifndef PROBE_ONLINE_RECORDING_H
#define PROBE_ONLINE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"
#include "online/judge.h"

/* Of which transport a body is; written in files, so the numbers stay. */
enum recording_kind { RECORDING_PEER = 0, RECORDING_STREAM = 1, RECORDING_KINDS };

/* Of a name in a recording, with the NUL that it gets when it is read. */
enum { RECORDING_NAME_BYTES = 256 };

struct recording {
    struct file file;
    bool has_failed; /* nothing is written any more */
};
#define RECORDING_NONE ((struct recording){ .file = { .fd = -1 } })

/* Start a file, which must not exist. */
struct status recording_create(struct recording *out, const char *path);

/* Add a record. One thread at a time. */
struct status recording_add(struct recording *recording, enum recording_kind kind,
                            const struct record_origin *origin, const void *body, size_t bytes);
struct status recording_close(struct recording *recording);

/* Reading. */
struct recording_reader {
    struct file file;
    uint64_t at, size;
    char name[RECORDING_NAME_BYTES]; /* of the last record: its session, or where it came from */
};

struct status recording_open(struct recording_reader *out, const char *path,
                             struct file_policy policy);

/* The next record; *more is false at the end. The body is the caller's (memory_release), the
 * texts of its origin are the reader's.
 *
 *   limit_bytes  of a body
 *   errors       STATUS_BAD_INPUT naming the byte: it is no recording, or a body is damaged
 */
struct status recording_next(bool *more, struct judge_submission *out,
                             struct recording_reader *reader, uint64_t limit_bytes);
void recording_reader_close(struct recording_reader *reader);

#endif
