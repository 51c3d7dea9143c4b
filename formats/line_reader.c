/* A window over the file that grows up to the longest line that is kept. */
#include "formats/line_reader.h"

#include <string.h>

#include "core/memory.h"

static struct status refill(struct line_reader *reader)
{
    if (!reader->chunk) reader->chunk = memory_allocate(LINE_CHUNK);
    if (!reader->chunk) return status_no_memory(LINE_CHUNK);
    TRY(file_read_at(&reader->have, reader->file, reader->chunk, LINE_CHUNK, reader->offset));
    reader->offset += reader->have;
    reader->at = 0;
    return status_ok();
}

/* Keep what fits of a part of a line. */
static struct status keep(struct line_reader *reader, struct text_line *line, const char *part,
                          size_t length)
{
    size_t room = reader->longest - reader->line.length;
    if (length > room) {
        line->too_long = true;
        length = room;
    }
    return csv_append_bytes(&reader->line, part, length);
}

struct status line_reader_next(struct line_reader *reader, struct text_line *line, bool *more)
{
    *line = (struct text_line){ .torn = false };
    csv_buffer_clear(&reader->line);
    for (;;) {
        if (reader->at == reader->have) {
            TRY(refill(reader));
            if (!reader->have) {
                *more = line->torn = reader->line.length > 0;
                break;
            }
        }
        char *from = reader->chunk + reader->at,
             *end = memchr(from, '\n', reader->have - reader->at);
        size_t length = end ? (size_t)(end - from) : reader->have - reader->at;
        reader->at += length + (end != NULL);
        *more = true;
        if (end && !reader->line.length && length <= reader->longest) {
            /* The usual line lies in the chunk as a whole. */
            line->text = from;
            line->length = length;
            reader->lines++;
            return status_ok();
        }
        TRY(keep(reader, line, from, length));
        if (end) break;
    }
    line->text = reader->line.data ? reader->line.data : "";
    line->length = reader->line.length;
    reader->lines += *more;
    return status_ok();
}

void line_reader_release(struct line_reader *reader)
{
    memory_release(reader->chunk);
    csv_buffer_release(&reader->line);
    reader->chunk = NULL;
}
