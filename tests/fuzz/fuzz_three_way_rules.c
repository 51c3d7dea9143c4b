/* Files of a user's thresholds for the three-way comparison, of any bytes. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "standards/three_way/three_way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct three_way_rules *rules = NULL;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    struct status status = three_way_rules_load(&rules, "v3", "mine.json", text);
    if (status.code) {
        assert(status.text[0] && !rules);
    } else {
        struct three_way_side side = { .present = ~0u };
        struct three_way_row row = { .api = { "matmul", 6 }, .dtype = THREE_WAY_F16, .gpu = &side };
        struct three_way_verdict verdict;
        row.npu = side;
        three_way_judge(&verdict, rules, &row);
        assert(verdict.message_length == strlen(verdict.message));
        three_way_rules_release(rules);
    }
    free(text);
    return 0;
}
