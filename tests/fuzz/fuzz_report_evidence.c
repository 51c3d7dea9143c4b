/* A line of evidence, as a page of `report` takes it: what is kept is JSON again, or nothing is.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "report/html/evidence_row.h"

static void require(int holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct evidence_row row;
    struct csv_buffer compact = { 0 };
    bool fits;
    /* A line stands in a buffer with a byte behind it, its line feed or a NUL. */
    char *line = malloc(size + 1);
    memcpy(line, data, size);
    line[size] = '\n';

    require(!evidence_row_read(&row, &compact, &fits, line, size).code);
    if (fits) {
        struct json json;
        json_open(&json, compact.data, compact.length);
        require(json_skip(&json) && json_finish(&json));
        require(row.allowance >= 0 || row.allowance != row.allowance);
        require(memchr(row.standard, '\0', sizeof row.standard) != NULL);
    } else {
        require(!compact.length);
    }
    (void)evidence_row_is_of(line, size, (struct csv_text){ "Torch.mul.1", 11 });
    csv_buffer_release(&compact);
    free(line);
    return 0;
}
