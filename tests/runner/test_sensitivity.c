/* From which size on profiles notice errors, where that follows from their definitions. */
#include <check.h>
#include <math.h>

#include "runner/sensitivity.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;
static struct profile *profiles[SENSITIVITY_PROFILES];
enum { DOC, V2, V3, STRICT };

static void setup(void)
{
    for (int p = 0; p < SENSITIVITY_PROFILES; p++)
        ck_assert_int_eq(profile_load(&profiles[p], profile_names()[p], NULL, FILES_CHECKED).code,
                         0);
}

static void teardown(void)
{
    for (int p = 0; p < SENSITIVITY_PROFILES; p++) profile_release(profiles[p]);
    arena_release(&arena);
}

/* Numbers of both signs from 16 to 32 in size, with all bits. */
static struct value numbers(enum dtype dtype)
{
    enum { COUNT = 4096 };
    const int64_t shape[2] = { 64, 64 };
    static double elements[COUNT];
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < COUNT; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        elements[i] = (16 + (double)(state >> 11) * 0x1p-49) * (state & 1 ? 1 : -1);
    }
    return tensor_value(&arena, dtype, false, 2, shape, elements, COUNT);
}

static struct sensitivity measured(const char *api, enum dtype dtype)
{
    struct sensitivity found;
    struct api_case c = make_case(&arena, "Torch", api, list_value(&arena, 1, numbers(dtype)));
    struct status status = sensitivity_measure(&found, &arena, &c, profiles);
    ck_assert_msg(!status.code, "%s", status.text);
    return found;
}

/* abs rounds nothing, so strict notices every change: cutting off the last of 24, or of 8, bits is the smallest. */
START_TEST(exact_operations_have_no_slack)
{
    struct sensitivity found = measured("abs", DT_F32);
    ck_assert_int_eq(found.noticed[INJECT_CUT][STRICT], 23);
    ck_assert_int_eq(found.noticed[INJECT_ONE][STRICT],
                     24); /* half an ulp at 1.x, which rounds up there */
    found = measured("abs", DT_BF16);
    ck_assert_int_eq(found.noticed[INJECT_CUT][STRICT], 7);
    ck_assert_int_eq(found.noticed[INJECT_FACTORS][STRICT], SENSITIVITY_NO_SUCH_STEP);
    ck_assert_int_eq(found.noticed[INJECT_SUMS][DOC], SENSITIVITY_NO_SUCH_STEP);
}
END_TEST

/* doc, float32: a pass when 99.99 % are within 1e-4, and that is between 2^-14 and 2^-13; one element of 4,096 is more than
 * 0.01 %, and less than 0.1 %: a warning from 1e-4 on. exp and the like are right to a few ulp. */
START_TEST(the_chain_has_constants)
{
    struct sensitivity found = measured("abs", DT_F32);
    ck_assert_int_eq(found.noticed[INJECT_SCALE][DOC], 13);
    ck_assert_int_eq(found.noticed[INJECT_NOISE][DOC], 13);
    ck_assert_int_eq(found.noticed[INJECT_ONE][DOC], 13);
    ck_assert_int_gt(found.noticed[INJECT_SCALE][STRICT], 20);
}
END_TEST

START_TEST(what_has_no_floating_output)
{
    struct sensitivity found;
    struct api_case c = make_case(&arena, "Torch", "isnan", list_value(&arena, 1, numbers(DT_F32)));
    ck_assert_int_eq(sensitivity_measure(&found, &arena, &c, profiles).code, STATUS_SKIP);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sensitivity");
    TCase *tcase = tcase_create("sensitivity");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, exact_operations_have_no_slack);
    tcase_add_test(tcase, the_chain_has_constants);
    tcase_add_test(tcase, what_has_no_floating_output);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
