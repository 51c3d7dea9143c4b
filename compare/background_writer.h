/* A file that grows by large texts, written by a thread of its own: half of the time of a write goes into fresh pages
 * of the system's cache.
 */
#ifndef PROBE_COMPARE_BACKGROUND_WRITER_H
#define PROBE_COMPARE_BACKGROUND_WRITER_H

#include "core/file.h"
#include "formats/csv.h"

struct background_writer;

/* `file` must outlive it. Where no thread can be had it writes at once. */
struct status background_writer_open(struct background_writer **out, const struct file *file);

/* Append the text, which is taken over: `text` is empty then, with the memory of an earlier one.
 *
 *   errors  those of the write before
 */
struct status background_writer_append(struct background_writer *writer, struct csv_buffer *text);

/* Wait until all is written. */
struct status background_writer_wait(struct background_writer *writer);

/* NULL is fine. */
void background_writer_close(struct background_writer *writer);

#endif
