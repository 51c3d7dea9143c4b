/* Two details files of any bytes, with a record separator between: compared under every profile; what
 * is written is CSV with the right columns, in which no cell starts a formula. */
#include <assert.h>

#include "compare/details.h"
#include "fuzz/memory_file.h"
#include "report/baseline.h"

static bool begins_formula(struct csv_text cell, size_t at)
{
    if (at >= cell.length) return false;
    if (memchr("+-=%@\t\r", cell.bytes[at], 7)) return true;
    return cell.length - at >= 3 && !memcmp(cell.bytes + at, "\xef\xbc", 2) &&
           memchr("\x85\x8b\x8d\x9d\xa0", cell.bytes[at + 2], 5);
}

static void check_cell(struct csv_text cell)
{
    double number;
    if (csv_read_number(&number, cell)) return;
    for (size_t i = 0; i < cell.length; i++)
        assert((i && cell.bytes[i - 1] != ';') || !begins_formula(cell, i));
}

/* A written file: rows of `columns` cells, or one fewer where `shorter`. */
static void check_written(const struct memory_file *memory, size_t columns, bool shorter)
{
    struct file file = { .fd = memory->fd, .path = (char *)memory->path };
    struct csv_reader reader;
    struct csv_row row;
    bool more = true;

    assert(!csv_open_file(&reader, &file, NULL).code);
    for (;;) {
        assert(!csv_next(&reader, &row, &more).code);
        if (!more) break;
        assert(!row.torn && (row.count == columns || (shorter && row.count == columns - 1)));
        for (size_t i = 0; i < row.count; i++) check_cell(row.cells[i]);
    }
    assert(reader.rows > 0);
    csv_close(&reader);
}

static void compare(const struct memory_file *npu, const struct memory_file *gpu,
                    const struct three_way_rules *rules)
{
    struct memory_file details = memory_file_make("", 0), result = memory_file_make("", 0);
    struct file details_file = { .fd = details.fd, .path = details.path };
    struct file result_file = { .fd = result.fd, .path = result.path };
    const struct compare_request request = { .npu_path = npu->path,
                                             .gpu_path = gpu->path,
                                             .file_policy = FILES_TRUSTED,
                                             .rules = rules,
                                             .precision = 14 };
    struct compare_counts counts;

    struct status status = compare_run(&counts, &details_file, &result_file, &request);
    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT && status.text[0]);
    } else {
        check_written(&details, THREE_WAY_COLUMNS, false);
        check_written(&result, 4, true);
    }
    memory_file_close(&details);
    memory_file_close(&result);
}

/* A file has no failures since itself. */
static void check_baseline(const struct memory_file *file)
{
    struct baseline baseline = { 0 };
    if (baseline_compare(&baseline, NULL, file->path, file->path, FAILING_WARNINGS, FILES_TRUSTED)
            .code)
        return;
    assert(!baseline.counts[BASELINE_NEW]);
    baseline_release(&baseline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct three_way_rules *rules[4];
    struct part part = next_part(&data, &size);
    struct memory_file npu = memory_file_make(part.data, part.size);
    struct memory_file gpu = memory_file_make(data, size);

    for (int i = 0; i < 4 && three_way_profiles()[i]; i++) {
        if (!rules[i] && three_way_rules_load(&rules[i], three_way_profiles()[i], NULL, NULL).code)
            abort();
        compare(&npu, &gpu, rules[i]);
    }
    check_baseline(&npu);
    memory_file_close(&npu);
    memory_file_close(&gpu);
    return 0;
}
