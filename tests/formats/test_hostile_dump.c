/* Dumps made to cost time: what is linear for honest dumps stays linear. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/value.h"
#include "formats/dump.h"
#include "support/scratch.h"
#include "support/suite.h"

/* A hash without a key, as an attacker could read it in a source: the step and the texts. */
static uint64_t step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t step_text(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = step(hash, (unsigned char)*text);
    return step(hash, 256);
}

/* 12,000 different calls of two integers, the second chosen so that under a hash without a key all
 * collide: 72 million comparisons of calls then, some minutes. (Under a key they are as any others.) */
START_TEST(colliding_calls)
{
    enum { CALLS = 12000 };
    struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "dump.json");
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    fputs("{\"data\":{", out);
    uint64_t start = step_text(step_text(0, "Torch"), "f");
    start = step(step(start, VALUE_LIST), 2);
    for (uint64_t i = 0; i < CALLS; i++) {
        uint64_t state = step(step(start, VALUE_INT), i);
        uint64_t second = step(state, VALUE_INT) ^ UINT64_C(0x123456789abcdef0);
        fprintf(out,
                "%s\"Torch.f.%" PRIu64
                ".forward\":{\"input_args\":[{\"type\":\"int\",\"value\":%" PRIu64
                "},{\"type\":\"int\",\"value\":%" PRId64 "}],\"input_kwargs\":{},\"output\":[]}",
                i ? "," : "", i, i, (int64_t)second);
    }
    /* the first once more: a duplicate */
    fprintf(
        out,
        ",\"Torch.f.%d.forward\":{\"input_args\":[{\"type\":\"int\",\"value\":0},{\"type\":\"int\","
        "\"value\":%" PRId64 "}],\"input_kwargs\":{},\"output\":[]}}}",
        CALLS,
        (int64_t)(step(step(step(start, VALUE_INT), 0), VALUE_INT) ^ UINT64_C(0x123456789abcdef0)));
    fclose(out);

    struct dump *dump;
    struct status status = dump_open(&dump, path, FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(dump_count(dump), CALLS + 1);
    bool *keep = malloc(CALLS + 1);
    ck_assert_int_eq(dump_filter(keep, dump).code, STATUS_OK);
    for (size_t i = 0; i < CALLS; i++) ck_assert(keep[i]);
    ck_assert(!keep[CALLS]);
    free(keep);
    dump_close(dump);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile_dump");
    TCase *tests = tcase_create("hostile_dump");
    tcase_set_timeout(tests, 20);
    tcase_add_test(tests, colliding_calls);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
