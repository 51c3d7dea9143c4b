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
        /* behind the operator and the task */
        const char *direction = strchr(strchr(key, '.') + 1, '.') + 1;
        assert(!strncmp(direction, "input.", 6) || !strncmp(direction, "output.", 7));
        assert(strstr(name, direction) && strlen(key) < strlen(name));
    }
    free(name);
    return 0;
}
