/* Names of kernels' files, of any bytes: a key is made of parts of the name, in their order, and ends
 * before the format. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare/kernels/kernel_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char key[64], *name = malloc(size + 1);
    uint64_t timestamp;

    if (!name) abort();
    memcpy(name, data, size);
    name[size] = '\0';
    if (kernel_name_split(key, sizeof key, &timestamp, name)) {
        const char *direction = strstr(key, ".input.");
        if (!direction) direction = strstr(key, ".output.");
        assert(direction && strlen(key) < strlen(name) && strlen(key) < sizeof key);
        assert(strstr(name, direction));
    }
    free(name);
    return 0;
}
