/* Lines of a text file in bounded memory: a line that is longer than the limit is passed over, and
 * its length told.
 */
#ifndef PROBE_FORMATS_LINE_READER_H
#define PROBE_FORMATS_LINE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/file.h"
#include "formats/csv.h"

enum { LINE_CHUNK = 1 << 18 };

/* All zeros but `file` and `longest` to begin with; released with line_reader_release. */
struct line_reader {
    const struct file *file;
    size_t longest;
    uint64_t offset; /* of the next byte to read from the file */
    uint64_t lines;  /* given out */
    char *chunk;     /* bytes at..have are still to come */
    size_t at, have;
    struct csv_buffer line; /* a line that spans chunks */
};

struct text_line {
    const char *text; /* without its line feed; valid until the next call */
    size_t length;
    bool too_long; /* `text` is its beginning only */
    bool torn;     /* the file ends without a line feed */
};

/* The next line; *more is false at the end of the file. */
struct status line_reader_next(struct line_reader *reader, struct text_line *line, bool *more);

void line_reader_release(struct line_reader *reader);

#endif
