/* An evidence file, as the comparison of two runs reads it: whatever stands there, the table has names and limits
 * that can be read, or nothing. */
#include <math.h>

#include "fuzz/memory_file.h"
#include "results/evidence_table.h"
#include "standards/three_way/by_evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct evidence_table *table = NULL;
    struct memory_file file = memory_file_make(data, size);
    if (evidence_table_read(&table, file.path, FILES_TRUSTED).code) abort();
    static const char *const names[] = { "Torch.mul.1.forward.output.0", "a" };
    for (size_t i = 0; i < 2; i++) {
        const struct row_evidence *row =
            evidence_table_find(table, (struct csv_text){ names[i], strlen(names[i]) });
        if (!row) continue;
        for (size_t k = 0; k < row->count; k++)
            if (!strlen(row->limits[k].metric)) abort();
        const struct three_way_side side = { .status = VERDICT_ERROR,
                                             .by_model = true,
                                             .evidence = row };
        const struct evidence_verdict verdict = three_way_by_evidence(&side, &side);
        if (verdict.verdict != VERDICT_WARNING) abort(); /* no row is worse than itself */
    }
    evidence_table_release(table);
    memory_file_close(&file);
    return 0;
}
