/* Which rows meet: equal names and shapes, the k-th with the k-th; fuzzy matching against a plain
 * simulation of its two queues. */
#include "compare/dumps/pairing.h"

#include "compare/dumps.h"

#define ROW(dtype, shape) \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"" dtype "\", \"shape\": [" shape "], \"Max\": 1}"

static struct pairing pair(const struct dump_rows *npu, const struct dump_rows *bench, bool fuzzy)
{
    const struct dump_pair dumps = { .npu = npu, .bench = bench };
    const struct pairing_rule rule = { 0 };
    struct pairing pairing;
    struct status status = (fuzzy ? pairing_fuzzy : pairing_by_key)(&pairing, &dumps, &rule);
    ck_assert_msg(!status.code, "%s", status.text);
    return pairing;
}

START_TEST(names_shapes_and_dtypes)
{
    struct scratch scratch = scratch_make();
    struct dump_rows npu = open_dump(make_dump(
        &scratch, "a", "statistics", "pytorch",
        "\"Torch.f.0.forward\": {\"input_args\": [" ROW("torch.float16", "2") ", " ROW(
            "torch.float16", "3") ", " ROW("torch.int32",
                                           "4") "], \"output\": [" ROW("torch.float32", "5") "]}"));
    struct dump_rows bench = open_dump(
        make_dump(&scratch, "b", "statistics", "pytorch",
                  "\"Torch.f.0.forward\": {\"input_args\": [" ROW("torch.bfloat16", "2") ", " ROW(
                      "torch.float16", "9") ", " ROW("torch.int64", "4") "]}"));
    struct pairing p = pair(&npu, &bench, false);
    ck_assert_uint_eq(p.bench_of[0], 0);        /* float types of torch meet */
    ck_assert_uint_eq(p.bench_of[1], ROW_NONE); /* shape */
    ck_assert_uint_eq(p.bench_of[2], ROW_NONE); /* dtype */
    ck_assert_uint_eq(p.bench_of[3], ROW_NONE); /* not there */
    ck_assert_uint_eq(p.n_matched, 1);
    pairing_release(&p);
    dump_rows_close(&npu);
    dump_rows_close(&bench);
    scratch_remove(&scratch);
}
END_TEST

/* Names that are there twice meet in order. */
START_TEST(duplicates)
{
    struct scratch scratch = scratch_make();
    const char *data = "\"Torch.f.0.forward\": {\"input_args\": [" ROW(
        "torch.int8", "2") "]}, "
                           "\"Torch.f.0.forward\": {\"input_args\": [" ROW("torch.int8", "2") "]}";
    struct dump_rows npu = open_dump(make_dump(&scratch, "a", "statistics", "pytorch", data));
    struct dump_rows bench = open_dump(make_dump(&scratch, "b", "statistics", "pytorch", data));
    struct pairing p = pair(&npu, &bench, false);
    ck_assert_uint_eq(p.bench_of[0], 0);
    ck_assert_uint_eq(p.bench_of[1], 1);
    ck_assert_uint_eq(p.n_bench_only, 0);
    pairing_release(&p);
    dump_rows_close(&npu);
    dump_rows_close(&bench);
    scratch_remove(&scratch);
}
END_TEST

static const struct {
    const char *name, *without;
} counters[] = {
    { "Functional.conv2d.3.forward.input.0", "Functional.conv2d.forward.input.0" },
    { "Tensor.add.12.backward.output.0", "Tensor.add.backward.output.0" },
    { "Module.a.Linear.forward.2.input.0", "Module.a.Linear.forward.input.0" },
    { "Module.a.Linear.forward.2", "Module.a.Linear.forward" },
    { "Functional.multi_head_attention_forward.0.forward.input.0",
      "Functional.multi_head_attention_forward.forward.input.0" },
    { "Module.a.Linear.parameters_grad.weight", "Module.a.Linear.parameters_grad.weight" },
};

START_TEST(names_without_counters)
{
    char name[128];
    strcpy(name, counters[_i].name);
    name[name_drop_counter(name, strlen(name))] = '\0';
    ck_assert_str_eq(name, counters[_i].without);
}
END_TEST

/* ---- fuzzy: the definition -------------------------------------------------------------- */

enum { CALLS = 60, KINDS = 4 };

/* Rows are single letters here. Partners by the queue algorithm, as it is written down. */
static void simulate(int *bench_of, const char *npu, int n_npu, const char *bench, int n_bench)
{
    int n_from = 0, n_to = 0, b_from = 0, b_to = 0;
    for (int i = 0; i < n_npu; i++) bench_of[i] = -1;
    while (n_to < n_npu || b_to < n_bench) {
        if (n_to < n_npu) n_to++;
        if (b_to < n_bench) b_to++;
        if (n_from == n_to || b_from == b_to) {
            if (n_from == n_to && b_from == b_to) continue;
            return;
        }
        int n = -1, b = -1;
        for (int k = b_from; k < b_to && n < 0; k++) /* oldest first, the newest last */
            if (npu[n_to - 1] == bench[k]) n = n_to - 1, b = k;
        for (int k = n_from; k < n_to - 1 && n < 0; k++)
            if (npu[k] == bench[b_to - 1]) n = k, b = b_to - 1;
        if (n < 0) continue;
        bench_of[n] = b;
        n_from = n + 1;
        b_from = b + 1;
    }
}

/* A dump with a call per letter, each with one input; counters as a dumper gives them. */
static const char *letters_dump(const struct scratch *scratch, const char *folder,
                                const char *letters, int count)
{
    static char data[1 << 15];
    int counters_of[KINDS] = { 0 }, length = 0;
    for (int i = 0; i < count; i++)
        length += sprintf(data + length,
                          "%s\"Torch.%c.%d.forward\": {\"input_args\": [" ROW("x", "1") "]}",
                          i ? ", " : "", letters[i], counters_of[letters[i] - 'a']++);
    return make_dump(scratch, folder, "statistics", "pytorch", count ? data : "");
}

START_TEST(fuzzy_is_the_queue_algorithm)
{
    struct scratch scratch = scratch_make();
    uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    char letters[2][CALLS];
    int expected[CALLS], count[2];

    for (int side = 0; side < 2; side++) {
        count[side] = 1 + (int)((state >> 20) % CALLS);
        for (int i = 0; i < count[side]; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            letters[side][i] = (char)('a' + (state >> 40) % (unsigned)(1 + _i % KINDS));
        }
    }
    simulate(expected, letters[0], count[0], letters[1], count[1]);
    struct dump_rows npu = open_dump(letters_dump(&scratch, "a", letters[0], count[0]));
    struct dump_rows bench = open_dump(letters_dump(&scratch, "b", letters[1], count[1]));
    struct pairing p = pair(&npu, &bench, true);
    for (int i = 0; i < count[0]; i++)
        ck_assert_msg((int)p.bench_of[i] == expected[i], "seed %d, row %d: %d instead of %d", _i, i,
                      (int)p.bench_of[i], expected[i]);
    pairing_release(&p);
    dump_rows_close(&npu);
    dump_rows_close(&bench);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(dtypes_across_frameworks)
{
    ck_assert(dtypes_are_compatible("Float16", "torch.float64", true));
    ck_assert(dtypes_are_compatible("Int8", "torch.uint8", true));
    ck_assert(!dtypes_are_compatible("Bool", "torch.uint8", true));
    ck_assert(!dtypes_are_compatible("Float16", "torch.float16", false));
    ck_assert(dtypes_are_compatible("Float16", "BFloat16", false));
    ck_assert(!dtypes_are_compatible("torch.float64", "torch.float32", false));
    ck_assert(dtypes_are_compatible("<class 'int'>", "<class 'int'>", false));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairing");
    TCase *tests = tcase_create("pairing");
    tcase_add_test(tests, names_shapes_and_dtypes);
    tcase_add_test(tests, duplicates);
    tcase_add_loop_test(tests, names_without_counters, 0,
                        (int)(sizeof counters / sizeof *counters));
    tcase_add_loop_test(tests, fuzzy_is_the_queue_algorithm, 0, 60);
    tcase_add_test(tests, dtypes_across_frameworks);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
