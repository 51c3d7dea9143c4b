/* A dump of MindSpore, of any text, as far as a call of it goes before a device: which entries are
 * calls, the call of PyTorch that computes the same, inputs within the recorded ranges and the reference.
 * Small calls alone are evaluated. A call that is translated has the recorded tensors and no others. */
#include <assert.h>

#include "bench/bench.h"
#include "fuzz/memory_file.h"
#include "generators/generate.h"
#include "runner/dump_framework.h"

enum { ELEMENTS_MOST = 64, BYTES_MOST = 64 << 20 };

static bool find_record(struct value *tensor, void *context)
{
    const struct tensor_record **wanted = context;
    if (tensor->tensor.record == *wanted) *wanted = NULL;
    return *wanted != NULL;
}

/* Is the tensor one of the recorded call's? */
static bool is_recorded(struct value *tensor, void *context)
{
    const struct tensor_record *record = tensor->tensor.record;
    struct api_case *c = context;
    assert(record);
    (void)(value_each_tensor(&c->args, find_record, &record) &&
           value_each_tensor(&c->kwargs, find_record, &record));
    assert(!record);
    return true;
}

static bool is_small(const struct api_case *c)
{
    size_t bytes = generate_input_bytes(c);
    return bytes < ELEMENTS_MOST * 1024 && bench_peak_bytes(c) < (2u << 20);
}

static void evaluate(struct api_case *c, struct arena *arena, const struct dump *dump)
{
    const struct generate_options options = { .seed = 1, .keep_recorded = true };
    struct generate_notes notes = { .count = 0 };
    struct bench *bench;
    if (!is_small(c)) return;
    arena->limit_bytes = BYTES_MOST;
    struct status status = generate_inputs(c, &notes, arena, dump, &options);
    bench_share_inputs(c);
    if (!status.code) status = bench_open(&bench, c, arena, BENCH_REFERENCE);
    assert(!status.code || status.text[0]);
    arena->limit_bytes = 0;
}

static void use_call(const struct dump *dump, struct arena *arena, size_t i)
{
    struct api_case recorded, translated;
    bool is_call = dump_framework_checks(&framework_mindspore, false, dump_name(dump, i));
    if (dump_framework_checks(&framework_mindspore, true, dump_name(dump, i))) assert(is_call);
    if (!is_call || dump_read_case(&recorded, arena, dump, i).code) return;
    assert(!dump_framework_adopt(&recorded, arena, &framework_mindspore).code);
    struct status status = bench_translate(&translated, arena, &recorded);
    assert(!status.code || (status.code == STATUS_SKIP && status.text[0]));
    if (status.code) return;
    assert(translated.recorded == &recorded && translated.framework == &framework_pytorch);
    value_each_tensor(&translated.args, is_recorded, &recorded);
    value_each_tensor(&translated.kwargs, is_recorded, &recorded);
    evaluate(&translated, arena, dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dump *dump = NULL;
    struct arena arena = { 0 };
    struct memory_file file = memory_file_make(data, size);
    if (!dump_open(&dump, file.path, FILES_TRUSTED).code) {
        const struct framework *framework;
        (void)dump_framework_choose(&framework, dump, NULL, "dump.json");
        for (size_t i = 0; i < dump_count(dump); i++) {
            use_call(dump, &arena, i);
            arena_reset(&arena);
        }
        dump_close(dump);
    }
    arena_release(&arena);
    memory_file_close(&file);
    return 0;
}
