/* parallel_merge of any bytes: a layout that is accepted divides its ranks, and every rank has its place in
 * each dimension once. */
#include <assert.h>
#include <stdlib.h>

#include "fuzz/memory_file.h"
#include "graph/parallel_file.h"

static void check_layout(const struct parallel_layout *layout)
{
    enum { MOST = 4096 };
    assert(layout->rank_size % (layout->tp * layout->pp) == 0 && layout->vpp >= 1);
    if (layout->rank_size > MOST) return;
    for (enum parallel_dimension d = PARALLEL_TENSOR; d < PARALLEL_DIMENSIONS; d++) {
        bool seen[MOST] = { false };
        unsigned size = parallel_size(layout, d);
        for (unsigned i = 0; i < layout->rank_size; i++) {
            unsigned rank = parallel_rank(layout, d, i / size, i % size);
            assert(rank < layout->rank_size && !seen[rank]);
            seen[rank] = true;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    struct parallel_merge merge;
    struct status status = parallel_merge_read(&merge, file.path, true, FILES_TRUSTED);

    if (status.code) assert(status.code == STATUS_BAD_INPUT && status.text[0]);
    else if (merge.wanted) {
        check_layout(&merge.npu);
        check_layout(&merge.bench);
    }
    memory_file_close(&file);
    return 0;
}
