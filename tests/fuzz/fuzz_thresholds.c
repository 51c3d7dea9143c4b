/* Files of a user's thresholds for run_ut, of any bytes, over every built-in profile. */
#include <assert.h>

#include "fuzz/memory_file.h"
#include "standards/profile.h"

static void ask(const struct profile *profile)
{
    static const char *const apis[] = { "matmul", "softmax", "linalg.inv", "npu_rms_norm", "" };
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        for (enum dtype dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
            for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
                (void)profile_limit(profile, limit, apis[i], dtype);
            (void)profile_is_overridden(profile, apis[i], dtype);
            struct profile_selection s = profile_select(profile, apis[i], dtype, DT_F32);
            assert(s.standard >= STANDARD_NONE && s.standard < STANDARD_COUNT);
        }
        (void)profile_is_exact(profile, apis[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    for (const char *const *name = profile_names(); *name; name++) {
        struct profile *profile = NULL;
        struct status status = profile_load(&profile, *name, file.path, FILES_TRUSTED);
        if (status.code) {
            assert(status.code == STATUS_BAD_INPUT && status.text[0] && !profile);
            break; /* the file is at fault, not the profile */
        }
        ask(profile);
        profile_release(profile);
    }
    memory_file_close(&file);
    return 0;
}
