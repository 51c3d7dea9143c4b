/* Writing the page: the embedded markup with blocks of compressed data inside.
 *
 * The page is one HTML file that needs no network. Its markup, styles and scripts were put
 * together when the program was built (cmake/page.cmake), with a security policy that names the
 * digest of each script. Data stand in elements that no browser runs or parses,
 *
 *     <script type="application/octet-stream" id="block-17">eNrt...</script>
 *
 * as base64 of a zlib stream, so that no byte of a result file can become markup. The last block,
 * "block-meta", is JSON and says what the others are; web/common/blocks.js reads them.
 *
 * The file appears under its name only when it is whole (core/new_file.h).
 */
#ifndef PROBE_PAGES_PAGE_H
#define PROBE_PAGES_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/embedded.h"
#include "core/new_file.h"
#include "core/status.h"

enum { PAGE_CHUNK = 1 << 16 };

struct page {
    struct new_file file;
    const char *tail; /* what follows the data */
    uint32_t blocks;  /* written so far */
    unsigned char *packed;
    size_t packed_capacity;
    uint64_t written; /* bytes in the file */
    size_t used;      /* bytes of `chunk` that are not in the file yet */
    char chunk[PAGE_CHUNK];
};

/* Begin a page at `path` with the markup of `template`, which holds PAGE_DATA_PLACE once.
 * Release with page_finish or page_discard, also when this fails. */
#define PAGE_DATA_PLACE "<!--data-->"
struct status page_open(struct page *page, const char *path, const struct embedded_file *template);

/* Add a block; *number is its own. */
struct status page_add_block(struct page *page, uint32_t *number, const void *data, size_t bytes);

/* Add the description of all blocks, finish the file and give it its name. */
struct status page_finish(struct page *page, const void *meta, size_t bytes);

/* Take away what was written, after a failure. Does nothing after page_finish. */
void page_discard(struct page *page);

/* The markup of web/NAME, put together as NAME.html; NULL when there is none. */
const struct embedded_file *page_template(const char *file_name);

/* Do pages of this program have charts? Not when Chart.js was missing at build time. */
bool page_has_charts(const struct embedded_file *template);

#endif
