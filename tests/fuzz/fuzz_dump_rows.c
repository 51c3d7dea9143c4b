/* A dump.json of any bytes as rows, compared with itself and with a second one behind a record
 * separator: every row has its cells, and a dump agrees with itself. */
#include <assert.h>

#include "compare/dumps/columns.h"
#include "compare/dumps/comparison.h"
#include "compare/dumps/judge.h"
#include "compare/dumps/suspects.h"
#include "core/memory.h"
#include "fuzz/memory_file.h"

static void touch_cells(const struct comparison *c)
{
    struct column_list columns = column_list_make(c, true, TABLE_CSV);
    struct row_cells cells = { 0 };
    struct suspects suspects;

    for (uint32_t row = 0; row < c->npu.n_rows; row++) {
        assert(!row_cells_make(&cells, c, &columns, row).code);
        for (size_t i = 0; i < columns.count; i++)
            assert(cells.cell[i].kind != TABLE_TEXT || cells.cell[i].text.bytes);
    }
    for (uint32_t row = 0; row < c->bench.n_rows; row++)
        assert(!row_cells_make_bench_only(&cells, c, &columns, row).code);
    row_cells_release(&cells);
    assert(!suspects_find(&suspects, c).code);
    assert(suspects.origin == ROW_NONE || suspects.first_row <= suspects.origin);
}

static void compare(const struct memory_file *npu, const struct memory_file *bench,
                    enum generation generation, bool fuzzy)
{
    const struct comparison_request request = { .npu_path = npu->path,
                                                .bench_path = bench->path,
                                                .generation = generation,
                                                .fuzzy = fuzzy,
                                                .highlight = generation == GENERATION_1,
                                                .file_policy = FILES_TRUSTED,
                                                .threads = 1 };
    struct comparison c;
    struct status status = comparison_run(&c, &request);
    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT && status.text[0]);
        return;
    }
    for (uint32_t row = 0; npu == bench && row < c.npu.n_rows; row++)
        assert(c.rows[row].level != LEVEL_WARNING || c.pairing.bench_of[row] != row);
    touch_cells(&c);
    comparison_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part part = next_part(&data, &size);
    struct memory_file npu = memory_file_make(part.data, part.size);
    struct memory_file bench = memory_file_make(data, size);

    compare(&npu, &npu, GENERATION_1, false);
    compare(&npu, &bench, GENERATION_2, true);
    compare(&npu, &bench, GENERATION_3, false);
    memory_file_close(&npu);
    memory_file_close(&bench);
    return 0;
}
