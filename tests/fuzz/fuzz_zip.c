/* Archives of any bytes: every entry is read in full. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct zip zip;
    struct status status = zip_open(&zip, &arena, data, size, "input.zip");
    unsigned sum = 0;

    for (size_t i = 0; !status.code && i < zip.count; i++) {
        const void *bytes;
        const struct zip_entry *entry = &zip.entries[i];
        for (size_t k = 0; k < entry->name_bytes; k++) sum += (unsigned char)entry->name[k];
        if (zip_read(&bytes, &arena, &zip, entry).code) continue;
        for (size_t k = 0; k < entry->bytes; k++) sum += ((const unsigned char *)bytes)[k];
    }
    arena_release(&arena);
    /* A use of the sum that no compiler can foresee, so that the reads stay. */
    if (sum == 0xdeadbeef && size == 1) abort();
    return 0;
}
