/* Run files of any bytes, compared with the record of a run: they agree only when they say the
 * same. */
#include <assert.h>
#include <cjson/cJSON.h>
#include <stdbool.h>

#include "fuzz/memory_file.h"
#include "results/run_record.h"

static const struct run_record *record(void)
{
    static struct run_record record;
    static const char *const names[] = { "matmul", "softmax" };
    if (record.object) return &record;
    bool ok = !run_record_create(&record).code &&
              !run_record_add_text(&record, "version", "1.0").code &&
              !run_record_add_digest(&record, "dump_digest", 0x0123456789abcdef).code &&
              !run_record_add_number(&record, "seed", 1234).code &&
              !run_record_add_flag(&record, "filter_api", 0).code &&
              !run_record_add_texts(&record, "white_list", names, 2).code;
    if (!ok) abort();
    return &record;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    bool readable = false;
    struct status status = run_record_check(&readable, record(), file.path, FILES_TRUSTED);

    if (status.code) {
        assert(status.code == STATUS_BAD_INPUT && status.text[0]);
    } else if (readable) {
        cJSON *then = cJSON_ParseWithLength((const char *)data, size);
        assert(then && cJSON_Compare(then, record()->object, 1));
        cJSON_Delete(then);
    }
    memory_file_close(&file);
    return 0;
}
