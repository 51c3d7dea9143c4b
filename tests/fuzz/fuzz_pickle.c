/* Pickles of any bytes, with the names that tensors use: as the object in a legacy .pt file, whose
 * first three pickles stand here, so that no archive and no checksum is between the fuzzer and
 * the machine. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pt.h"
#include "fuzz/touch_tensor.h"

static const char before[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                             "\x80\2M\xe9\3." /* protocol version 1001 */
                             "\x80\2}.";      /* about the system: nothing */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct tensor tensor;
    const size_t start = sizeof before - 1;
    unsigned char *file = malloc(start + size);

    memcpy(file, before, start);
    if (size) memcpy(file + start, data, size);
    struct status status = pt_read(&tensor, &arena, file, start + size, "input.pt");
    if (!status.code) touch_tensor(&tensor);
    else assert(status.text[0]);
    free(file);
    arena_release(&arena);
    return 0;
}
