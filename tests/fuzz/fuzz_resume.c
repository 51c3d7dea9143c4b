/* What a run that died may have left, of any bytes: result, details and evidence file behind each
 * other with record separators between. Whatever they are, what is kept lies inside them, ascends,
 * and is of calls of the run. */
#include <assert.h>

#include "core/memory.h"
#include "fuzz/memory_file.h"
#include "results/resume.h"

#define CALL(name) "\"" name ".forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]}"

/* clang-format off */
static const char dump_text[] =
    "{\"task\":\"statistics\",\"level\":\"L1\",\"dump_data_dir\":null,\"data\":{" CALL("Torch.add.0")
    "," CALL("Torch.add.01") "," CALL("Functional.dropout.0") "," CALL("Functional.softmax.7")
    "," CALL("Tensor.max.1") "," CALL("Torch.linalg.inv.3") "}}";

enum { N_CALLS = 6 };

static const struct call_order *order(void)
{
    static size_t positions[N_CALLS] = { 0, 1, 2, 3, 4, 5 };
    static struct dump *dump;
    static struct call_order order = { .positions = positions, .count = N_CALLS };
    if (!dump) {
        struct memory_file file = memory_file_make(dump_text, sizeof dump_text - 1);
        if (dump_open(&dump, file.path, FILES_TRUSTED).code) abort();
        memory_file_close(&file);
        order.dump = dump;
    }
    return &order;
}
/* clang-format on */

struct left {
    struct memory_file memory[3];
    struct file file[3]; /* result, details, evidence */
    size_t size[3];
};

static void check_kept(const struct kept_bytes *kept, size_t size)
{
    uint64_t end = 0;
    for (size_t i = 0; i < kept->count; i++) {
        assert(kept->items[i].begin < kept->items[i].end && kept->items[i].end <= size);
        assert(!i || kept->items[i].begin > end);
        end = kept->items[i].end;
    }
}

static void scan(const struct left *left, const struct row_layout *layout, bool ordered,
                 bool retry_failed)
{
    bool done[N_CALLS] = { false };
    size_t flagged = 0;
    struct resume_scan scan = {
        .order = order(), .layout = layout, .retry_failed = retry_failed, .done = done
    };
    struct status status =
        ordered ? resume_scan_ordered(&scan, &left->file[0], &left->file[1], &left->file[2])
                : resume_scan_named(&scan, &left->file[0], &left->file[1]);
    assert(!status.code || status.text[0]);
    if (!status.code) {
        check_kept(&scan.result, left->size[0]);
        check_kept(&scan.details, left->size[1]);
        assert(scan.evidence_end <= left->size[2]);
        for (size_t i = 0; i < N_CALLS; i++) {
            flagged += done[i];
            assert(!ordered || !done[i] || i < scan.kept); /* a prefix */
        }
        assert(flagged == scan.kept);
        assert(!ordered || (scan.with_result <= scan.kept && scan.with_evidence <= scan.kept));
    }
    memory_release(scan.result.items);
    memory_release(scan.details.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct left left;
    for (int i = 0; i < 3; i++) {
        struct part part = next_part(&data, &size);
        left.memory[i] = memory_file_make(part.data, part.size);
        left.file[i] = (struct file){ .fd = left.memory[i].fd, .path = left.memory[i].path };
        left.size[i] = part.size;
    }
    for (int i = 0; i < 2; i++) {
        const struct row_layout *layout = i ? &layout_distances : &layout_precheck;
        scan(&left, layout, true, false);
        scan(&left, layout, true, true);
        scan(&left, layout, false, false);
    }
    for (int i = 0; i < 3; i++) memory_file_close(&left.memory[i]);
    return 0;
}
