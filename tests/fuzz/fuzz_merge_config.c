/* Configurations of merge_result, of any bytes: what is accepted has APIs and columns that stand for
 * something, none of them twice. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "compare/merge/merge_config.h"
#include "compare/merge/result_columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct merge_config config;

    struct status status =
        merge_config_parse(&config, &arena, "merge.yaml", (const char *)data, size);
    assert(!status.code || status.text[0]);
    for (size_t i = 0; !status.code && i < config.n_apis; i++) {
        char row[300];
        size_t length = strlen(config.apis[i]);
        assert(length);
        if (length + 2 > sizeof row) continue;
        memcpy(row, config.apis[i], length);
        memcpy(row + length, ".x", 2);
        assert(merge_config_api(&config, row, length + 2) <= i);
    }
    for (size_t i = 0; !status.code && i < config.n_indices; i++) {
        assert(result_index(config.indices[i]) == config.indices[i]);
        for (size_t k = 0; k < i; k++) assert(config.indices[k] != config.indices[i]);
    }
    assert(status.code || config.n_apis);
    arena_release(&arena);
    return 0;
}
