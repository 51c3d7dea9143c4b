/* Writing a ZIP archive of deflated entries, each as its bytes come, in memory that does not grow with
 * them.
 *
 * An entry is cut into blocks that are deflated side by side, each with the end of the one before as its
 * dictionary, so that the archive is the same bytes for any number of threads.
 */
#ifndef PROBE_FORMATS_ZIP_WRITE_H
#define PROBE_FORMATS_ZIP_WRITE_H

#include <stddef.h>

#include "core/file.h"
#include "core/status.h"

struct zip_writer;

/* Start an archive at the beginning of `file`, which must stay open.
 *
 *   threads  how many may deflate at the same time, the caller's included; they are started when an
 *            entry has more than one block */
struct status zip_writer_create(struct zip_writer **out, const struct file *file, unsigned threads);

/* The next entry; its name must stay until the archive is finished. */
struct status zip_writer_begin(struct zip_writer *zip, const char *name);
struct status zip_writer_add(struct zip_writer *zip, const void *bytes, size_t count);
struct status zip_writer_end(struct zip_writer *zip);

/* Write the directory. The writer stays until zip_writer_release. */
struct status zip_writer_finish(struct zip_writer *zip);

/* Free the writer, at any time; what is in the file stays there. NULL is fine. */
void zip_writer_release(struct zip_writer *zip);

#endif
