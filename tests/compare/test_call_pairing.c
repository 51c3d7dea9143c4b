/* Pairs of whole calls: what makes two calls agree, and the walk of the queues against a plain simulation,
 * with the agreement of float types, which is not transitive. */
#include "compare/dumps/call_pairing.h"

#include "compare/dumps.h"

#define ROW(dtype, shape) \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"" dtype "\", \"shape\": [" shape "], \"Max\": 1}"
#define CALL(name, input, output) \
    "\"" name "\": {\"input_args\": [" input "], \"output\": [" output "]}"
#define F32(shape) ROW("torch.float32", shape)

/* Partners of the rows of two dumps, as text: "0-" for a row that meets row 0, one that meets none. */
static const char *pairs_of(const char *npu_data, const char *bench_data, bool fuzzy)
{
    static char text[256];
    struct scratch scratch = scratch_make();
    struct dump_rows npu = open_dump(make_dump(&scratch, "a", "statistics", "pytorch", npu_data));
    struct dump_rows bench =
        open_dump(make_dump(&scratch, "b", "statistics", "pytorch", bench_data));
    const struct dump_pair dumps = { .npu = &npu, .bench = &bench };
    struct pairing p;
    size_t length = 0;

    ck_assert_int_eq(pairing_by_call(&p, &dumps, fuzzy).code, STATUS_OK);
    text[0] = '\0';
    for (uint32_t row = 0; row < npu.n_rows; row++)
        length +=
            (size_t)(p.bench_of[row] == ROW_NONE
                         ? snprintf(text + length, sizeof text - length, "-")
                         : snprintf(text + length, sizeof text - length, "%u", p.bench_of[row]));
    pairing_release(&p);
    dump_rows_close(&npu);
    dump_rows_close(&bench);
    scratch_remove(&scratch);
    return text;
}

static const struct {
    const char *about, *npu, *bench, *pairs;
} cases[] = {
    { "equal calls", CALL("Torch.f.0.forward", F32("2"), F32("3")),
      CALL("Torch.f.0.forward", F32("2"), F32("3")), "01" },
    { "an input of another shape leaves the whole call alone",
      CALL("Torch.f.0.forward", F32("2"), F32("3")), CALL("Torch.f.0.forward", F32("4"), F32("3")),
      "--" },
    { "so does an output of another type", CALL("Torch.f.0.forward", F32("2"), F32("3")),
      CALL("Torch.f.0.forward", F32("2"), ROW("torch.int32", "3")), "--" },
    { "and a row more", CALL("Torch.f.0.forward", F32("2"), F32("3")),
      CALL("Torch.f.0.forward", F32("2"), F32("3") ", " F32("1")), "--" },
    { "float16 meets float32 and bfloat16",
      CALL("Torch.f.0.forward", ROW("torch.float16", "2"), F32("3")),
      CALL("Torch.f.0.forward", F32("2"), ROW("torch.float16", "3")), "01" },
    { "float32 does not meet bfloat16", CALL("Torch.f.0.forward", F32("2"), F32("3")),
      CALL("Torch.f.0.forward", F32("2"), ROW("torch.bfloat16", "3")), "--" },
    { "shapes of parameters are not looked at",
      "\"Module.a.Linear.forward.0\": {\"input\": [" F32(
          "2") "], \"parameters\": {\"weight\": " F32("7") "}}",
      "\"Module.a.Linear.forward.0\": {\"input\": [" F32(
          "2") "], \"parameters\": {\"weight\": " F32("8") "}}",
      "01" },
    { "calls in another order: the first hit drops those before it",
      CALL("Torch.f.0.forward", F32("2"), "") ", " CALL("Torch.g.0.forward", F32("2"), ""),
      CALL("Torch.g.0.forward", F32("2"), "") ", " CALL("Torch.f.0.forward", F32("2"), ""), "-0" },
    { "counters count", CALL("Torch.f.1.forward", F32("2"), ""),
      CALL("Torch.f.0.forward", F32("2"), ""), "-" },
};

START_TEST(when_calls_agree)
{
    ck_assert_msg(!strcmp(pairs_of(cases[_i].npu, cases[_i].bench, false), cases[_i].pairs),
                  "%s: %s", cases[_i].about, pairs_of(cases[_i].npu, cases[_i].bench, false));
}
END_TEST

START_TEST(fuzzy_takes_no_counters)
{
    ck_assert_str_eq(pairs_of(CALL("Torch.f.1.forward", F32("2"), F32("3")),
                              CALL("Torch.f.0.forward", F32("2"), F32("3")), true),
                     "01");
}
END_TEST

/* ---- the walk ----------------------------------------------------------------------------- */

enum { CALLS = 40, NAMES = 2, TYPES = 3 };

/* Calls are a name and a float type: float16 agrees with all, float32 and bfloat16 with themselves. */
static bool agree(int a, int b)
{
    int x = a % TYPES, y = b % TYPES;
    return a / TYPES == b / TYPES && (x == y || x == 0 || y == 0);
}

/* The queues as they are written down, each a list that is searched. */
static void simulate(int *bench_of, const int *npu, int n_npu, const int *bench, int n_bench)
{
    int n_from = 0, n_to = 0, b_from = 0, b_to = 0;
    for (int i = 0; i < n_npu; i++) bench_of[i] = -1;
    while (n_to < n_npu || b_to < n_bench) {
        if (n_to < n_npu) n_to++;
        if (b_to < n_bench) b_to++;
        if (n_from == n_to || b_from == b_to) return;
        int n = -1, b = -1;
        for (int k = b_from; k < b_to && n < 0; k++)
            if (agree(npu[n_to - 1], bench[k])) n = n_to - 1, b = k;
        for (int k = n_from; k < n_to - 1 && n < 0; k++)
            if (agree(npu[k], bench[b_to - 1])) n = k, b = b_to - 1;
        if (n < 0) continue;
        bench_of[n] = b;
        n_from = n + 1;
        b_from = b + 1;
    }
}

static const char *calls_dump(const struct scratch *scratch, const char *folder, const int *calls,
                              int count)
{
    static const char *const types[TYPES] = { "torch.float16", "torch.float32", "torch.bfloat16" };
    static char data[1 << 15];
    int length = 0;
    for (int i = 0; i < count; i++)
        length +=
            sprintf(data + length,
                    "%s\"Torch.%c.%d.forward\": {\"input_args\": [{\"type\": \"torch.Tensor\", "
                    "\"dtype\": \"%s\", \"shape\": []}]}",
                    i ? ", " : "", 'a' + calls[i] / TYPES, i, types[calls[i] % TYPES]);
    return make_dump(scratch, folder, "statistics", "pytorch", data);
}

START_TEST(the_walk_is_that_of_the_queues)
{
    struct scratch scratch = scratch_make();
    uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    int calls[2][CALLS], count[2], expected[CALLS];

    for (int side = 0; side < 2; side++) {
        count[side] = 1 + (int)((state >> 20) % CALLS);
        for (int i = 0; i < count[side]; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            calls[side][i] = (int)((state >> 40) % (NAMES * TYPES));
        }
    }
    simulate(expected, calls[0], count[0], calls[1], count[1]);
    struct dump_rows npu = open_dump(calls_dump(&scratch, "a", calls[0], count[0]));
    struct dump_rows bench = open_dump(calls_dump(&scratch, "b", calls[1], count[1]));
    const struct dump_pair dumps = { .npu = &npu, .bench = &bench };
    struct pairing p;
    ck_assert_int_eq(pairing_by_call(&p, &dumps, true).code, STATUS_OK);
    for (int i = 0; i < count[0]; i++)
        ck_assert_msg((int)p.bench_of[i] == expected[i], "seed %d, call %d: %d instead of %d", _i,
                      i, (int)p.bench_of[i], expected[i]);
    pairing_release(&p);
    dump_rows_close(&npu);
    dump_rows_close(&bench);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_pairing");
    TCase *tests = tcase_create("call_pairing");
    tcase_add_loop_test(tests, when_calls_agree, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tests, fuzzy_takes_no_counters);
    tcase_add_loop_test(tests, the_walk_is_that_of_the_queues, 0, 60);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
