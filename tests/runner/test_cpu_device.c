/* The embedded device: what it leaves behind of a large call are its results, where they were made or moved to. */
#include <check.h>
#include <pthread.h>
#include <string.h>

#include "core/parallel.h"
#include "runner/devices/device_classes.h"
#include "support/cases.h"
#include "support/suite.h"

enum { ROWS = 640, COLUMNS = 1100 }; /* results of 2.8 MB */

static struct api_case large_case(struct arena *arena, const char *type, const char *api, int count)
{
    static const int64_t shape[2] = { ROWS, COLUMNS }, square[2] = { COLUMNS, COLUMNS };
    struct value x = ramp_value(arena, DT_F32, true, 2, shape);
    struct value other = ramp_value(arena, DT_F32, true, 2, count > 2 ? square : shape);
    struct value args = count > 1 ? list_value(arena, 2, x, other) : list_value(arena, 1, x);
    struct api_case c = make_case(arena, type, api, args);
    c.outputs = list_value(arena, 1, ramp_value(arena, DT_F32, false, 2, shape));
    c.cotangents = list_value(arena, 1, ramp_value(arena, DT_F32, false, 2, shape));
    c.has_backward = true;
    return c;
}

static struct device_result run(struct arena *arena, const struct api_case *c)
{
    struct device *device;
    struct device_result result;
    ck_assert_int_eq(device_cpu.open(&device, &(struct device_options){ 0 }).code, 0);
    struct status status = device_cpu.run(device, &result, arena, c, true);
    ck_assert_msg(!status.code, "%s", status.text);
    device_cpu.close(device);
    return result;
}

static size_t check_same(const struct value *got, const struct value *want)
{
    size_t bytes = 0;
    ck_assert_uint_eq(got->list.count, want->list.count);
    for (size_t i = 0; i < got->list.count; i++) {
        const struct tensor *a = got->list.items[i].tensor.tensor,
                            *b = want->list.items[i].tensor.tensor;
        ck_assert_uint_eq(tensor_elements(a), tensor_elements(b));
        ck_assert(!memcmp(a->data, b->data, 4 * tensor_elements(a)));
        bytes += 4 * tensor_elements(a);
    }
    return bytes;
}

/* Some results are converted to where they stay, those of products are moved there. */
static const struct {
    const char *type, *api;
    int arguments; /* 3: two, the second one square */
} calls[] = { { "Functional", "gelu", 1 },
              { "Tensor", "__add__", 2 },
              { "Functional", "linear", 3 } };

START_TEST(results_alone_stay)
{
    struct arena cases = { 0 }, blocks = { 0 }, range = { 0 };
    struct team team;
    struct help help = { .team = &team };
    arena_reserve(&range, (size_t)1 << 30);
    if (!range.reserved) return; /* address space is limited */
    team_open(&team, 1, 1 << 20, NULL);
    struct api_case c = large_case(&cases, calls[_i].type, calls[_i].api, calls[_i].arguments);
    struct device_result whole = run(&blocks, &c);
    c.help = &help;
    ck_assert_ptr_nonnull(arena_allocate(&range, 1000));
    size_t before = range.used_bytes;
    struct device_result kept = run(&range, &c);
    size_t bytes = check_same(&kept.outputs, &whole.outputs) +
                   check_same(&kept.gradients, &whole.gradients);
    ck_assert_uint_ge(bytes, 2 * 4 * ROWS * COLUMNS);
    ck_assert_uint_lt(range.used_bytes - before, bytes + 10000);
    team_close(&team);
    arena_release(&cases);
    arena_release(&blocks);
    arena_release(&range);
}
END_TEST

/* Steps of one element each are made where their results are: nothing else is allocated. */
START_TEST(arithmetic_takes_the_room_of_its_results)
{
    static const char *const names[] = { "__add__", "__sub__", "__mul__", "__truediv__" };
    struct arena cases = { 0 }, arena = { 0 };
    struct api_case c = large_case(&cases, "Tensor", names[_i], 2);
    const struct tensor *a = c.args.list.items[0].tensor.tensor;
    float *divisor = c.args.list.items[1].tensor.tensor->data;
    for (size_t i = 0; i < tensor_elements(a); i++) divisor[i] = (float)(i % 91) - 40.5f;
    struct device_result result = run(&arena, &c);
    const float *x = a->data, *got = result.outputs.list.items[0].tensor.tensor->data;
    for (size_t i = 0; i < tensor_elements(a); i++) {
        float want = _i == 0   ? x[i] + divisor[i]
                     : _i == 1 ? x[i] - divisor[i]
                     : _i == 2 ? x[i] * divisor[i]
                               : x[i] / divisor[i];
        ck_assert(got[i] == want);
    }
    size_t bytes = 3 * 4 * tensor_elements(a);
    ck_assert_uint_lt(arena.used_bytes, bytes + 20000);
    arena_release(&cases);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("the cpu device");
    TCase *tests = tcase_create("results");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, arithmetic_takes_the_room_of_its_results, 0, 4);
    tcase_add_loop_test(tests, results_alone_stay, 0, sizeof calls / sizeof *calls);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
