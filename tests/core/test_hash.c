/* FNV-1a against the vectors of its authors. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"

/* From test_fnv.c of the FNV reference distribution. */
static const struct {
    const char *text;
    uint64_t hash;
} vectors[] = {
    { "", UINT64_C(0xcbf29ce484222325) },
    { "a", UINT64_C(0xaf63dc4c8601ec8c) },
    { "foobar", UINT64_C(0x85944171f73967e8) },
};

START_TEST(published_vectors)
{
    size_t length = strlen(vectors[_i].text);
    ck_assert_uint_eq(hash_bytes(HASH_START, vectors[_i].text, length), vectors[_i].hash);
    for (size_t cut = 0; cut <= length; cut++) {
        uint64_t begun = hash_bytes(HASH_START, vectors[_i].text, cut);
        ck_assert_uint_eq(hash_bytes(begun, vectors[_i].text + cut, length - cut),
                          vectors[_i].hash);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hash");
    TCase *tests = tcase_create("fnv");
    tcase_add_loop_test(tests, published_vectors, 0, sizeof vectors / sizeof *vectors);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
