/* A page of 50,000 rows has some 10 MB, nearly all of it base64; compressing takes most of the time
 * that writing it takes, which is why the level is a middle one. */
#include "pages/page.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"

enum { COMPRESSION_LEVEL = 5 };

/* ---- the file ------------------------------------------------------------------------------- */

static struct status flush(struct page *page)
{
    TRY(file_write_all(&page->file.file, page->chunk, page->used));
    page->written += page->used;
    page->used = 0;
    return status_ok();
}

static struct status put(struct page *page, const char *bytes, size_t length)
{
    while (length) {
        size_t part = PAGE_CHUNK - page->used < length ? PAGE_CHUNK - page->used : length;
        memcpy(page->chunk + page->used, bytes, part);
        page->used += part;
        bytes += part;
        length -= part;
        if (page->used == PAGE_CHUNK) TRY(flush(page));
    }
    return status_ok();
}

static struct status put_text(struct page *page, const char *text)
{
    return put(page, text, strlen(text));
}

struct status page_open(struct page *page, const char *path, const struct embedded_file *template)
{
    page->file = NEW_FILE_NONE;
    page->packed = NULL;
    page->packed_capacity = page->used = 0;
    page->blocks = 0;
    page->written = 0;
    const char *place = strstr(template->text, PAGE_DATA_PLACE);
    if (!place) return status_error(STATUS_INTERNAL, "%s has no place for data", template->name);
    page->tail = place + sizeof PAGE_DATA_PLACE - 1;

    TRY(new_file_create(&page->file, path));
    return put(page, template->text, (size_t)(place - template->text));
}

void page_discard(struct page *page)
{
    new_file_abandon(&page->file);
    memory_release(page->packed);
    page->packed = NULL;
}

const struct embedded_file *page_template(const char *file_name)
{
    const struct embedded_file *file = pages_files;
    while (file->name && strcmp(file->name, file_name) != 0) file++;
    return file->name ? file : NULL;
}

bool page_has_charts(const struct embedded_file *template)
{
    return strstr(template->text, "<!--no charts-->") == NULL;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void *allocate(void *context, unsigned count, unsigned bytes)
{
    (void)context;
    return memory_allocate((size_t)count * bytes);
}

static void release(void *context, void *block)
{
    (void)context;
    memory_release(block);
}

/* The zlib stream of `data` in page->packed. */
static struct status compress_into(struct page *page, size_t *packed, const void *data,
                                   size_t bytes)
{
    z_stream stream = { .zalloc = allocate, .zfree = release };
    if (bytes > UINT32_MAX / 2) return status_error(STATUS_INTERNAL, "a block of %zu bytes", bytes);
    if (deflateInit(&stream, COMPRESSION_LEVEL) != Z_OK) return status_no_memory(0);
    size_t bound = deflateBound(&stream, (uLong)bytes);
    if (bound > page->packed_capacity) {
        unsigned char *larger = memory_resize(page->packed, bound);
        if (!larger) {
            (void)deflateEnd(&stream);
            return status_no_memory(bound);
        }
        page->packed = larger;
        page->packed_capacity = bound;
    }
    stream.next_in = (unsigned char *)(uintptr_t)data;
    stream.avail_in = (uInt)bytes;
    stream.next_out = page->packed;
    stream.avail_out = (uInt)bound;
    int result = deflate(&stream, Z_FINISH);
    *packed = stream.total_out;
    (void)deflateEnd(&stream);
    return result == Z_STREAM_END
               ? status_ok()
               : status_error(STATUS_INTERNAL, "a block could not be compressed");
}

/* RFC 4648, section 4. */
static struct status put_base64(struct page *page, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        if (PAGE_CHUNK - page->used < 4) TRY(flush(page));
        char *out = page->chunk + page->used;
        out[0] = digits[group >> 18];
        out[1] = digits[group >> 12 & 63];
        out[2] = left > 1 ? digits[group >> 6 & 63] : '=';
        out[3] = left > 2 ? digits[group & 63] : '=';
        page->used += 4;
    }
    return status_ok();
}

static struct status put_block(struct page *page, const char *id, const void *data, size_t bytes)
{
    size_t packed = 0;
    TRY(compress_into(page, &packed, data, bytes));
    TRY(put_text(page, "<script type=\"application/octet-stream\" id=\"block-"));
    TRY(put_text(page, id));
    TRY(put_text(page, "\">"));
    TRY(put_base64(page, page->packed, packed));
    return put_text(page, "</script>\n");
}

struct status page_add_block(struct page *page, uint32_t *number, const void *data, size_t bytes)
{
    char id[16];
    *number = page->blocks++;
    (void)snprintf(id, sizeof id, "%u", *number);
    return put_block(page, id, data, bytes);
}

struct status page_finish(struct page *page, const void *meta, size_t bytes)
{
    TRY(put_block(page, "meta", meta, bytes));
    TRY(put_text(page, page->tail));
    TRY(flush(page));
    TRY(new_file_finish(&page->file));
    page_discard(page);
    return status_ok();
}
