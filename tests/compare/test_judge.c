/* What is said of rows: verdicts, notes, backgrounds, the levels of the third generation, advice, and
 * where a difference arises. */
#include "compare/dumps/judge.h"

#include "compare/dumps.h"
#include "compare/dumps/advice.h"
#include "compare/dumps/suspects.h"

struct compared {
    struct scratch scratch;
    struct comparison c;
};

static void compare(struct compared *out, const char *npu, const char *bench,
                    enum generation generation)
{
    char paths[2][600];
    out->scratch = scratch_make();
    strcpy(paths[0], make_dump(&out->scratch, "a", "statistics", "pytorch", npu));
    strcpy(paths[1], make_dump(&out->scratch, "b", "statistics", "pytorch", bench));
    const struct comparison_request request = { .npu_path = paths[0],
                                                .bench_path = paths[1],
                                                .generation = generation,
                                                .highlight = true,
                                                .threads = 1 };
    struct status status = comparison_run(&out->c, &request);
    ck_assert_msg(!status.code, "%s", status.text);
}

static void release(struct compared *compared)
{
    comparison_release(&compared->c);
    scratch_remove(&compared->scratch);
}

/* One call with one input and one output. */
#define CALL(name, in, out) "\"" name "\": {\"input_args\": [" in "], \"output\": [" out "]}"

/* A statistic is suspicious when it is off by more than half of the larger value. */
static const struct {
    const char *npu, *bench;
    bool warns;
} statistics[] = {
    { TENSOR("1.0", "0", "0", "1"), TENSOR("1.99", "0", "0", "1"), false },
    { TENSOR("1.0", "0", "0", "1"), TENSOR("2.01", "0", "0", "1"), true },
    { TENSOR("1", "0", "0", "1"), TENSOR("1", "0", "null", "1"), false },
    { "{\"type\": \"int\", \"value\": 3}", "{\"type\": \"int\", \"value\": 4}", true },
    { "{\"type\": \"bool\", \"value\": true}", "{\"type\": \"bool\", \"value\": false}", true },
    { "{\"type\": \"str\", \"value\": \"mean\"}", "{\"type\": \"str\", \"value\": \"mean\"}",
      false },
};

START_TEST(warnings_of_statistics)
{
    struct compared compared;
    char npu[900], bench[900];
    snprintf(npu, sizeof npu, "\"Torch.f.0.forward\": {\"input_args\": [%s]}", statistics[_i].npu);
    snprintf(bench, sizeof bench, "\"Torch.f.0.forward\": {\"input_args\": [%s]}",
             statistics[_i].bench);
    compare(&compared, npu, bench, GENERATION_2);
    ck_assert_int_eq(compared.c.rows[0].verdict,
                     statistics[_i].warns ? VERDICT_IS_WARNING : VERDICT_EMPTY);
    ck_assert_int_eq(compared.c.rows[0].level, statistics[_i].warns ? LEVEL_WARNING : LEVEL_PASS);
    release(&compared);
}
END_TEST

#define EMPTY                                                                                 \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 0], \"Max\": " \
    "null, "                                                                                  \
    "\"Min\": null, \"Mean\": null, \"Norm\": null, \"requires_grad\": false}"

/* msprobe's `Result` says nothing of inf, nan and bools; our verdict does, on whichever side they are. */
static const struct {
    const char *npu, *bench;
    enum row_level level;
} beyond[] = {
    { TENSOR("NaN", "0", "0", "1"), TENSOR("1", "0", "0", "1"), LEVEL_ERROR },
    { TENSOR("1", "0", "0", "1"), TENSOR("NaN", "0", "0", "1"), LEVEL_ERROR },
    { TENSOR("1", "0", "0", "1"), TENSOR("Infinity", "0", "0", "1"), LEVEL_ERROR },
    { TENSOR("1", "NaN", "0", "1"), TENSOR("1", "-Infinity", "0", "1"), LEVEL_ERROR },
    { TENSOR("1", "0", "0", "1"), TENSOR("1", "0", "0", "NaN"), LEVEL_WARNING },
    { TENSOR("1", "0", "0", "Infinity"), TENSOR("1", "0", "0", "5"), LEVEL_WARNING },
    { TENSOR("NaN", "NaN", "NaN", "NaN"), TENSOR("NaN", "NaN", "NaN", "NaN"), LEVEL_PASS },
    { TENSOR("Infinity", "0", "NaN", "1"), TENSOR("Infinity", "0", "NaN", "1"), LEVEL_PASS },
    { TENSOR("true", "false", "null", "null"), TENSOR("true", "false", "null", "null"),
      LEVEL_PASS },
    { TENSOR("false", "false", "null", "null"), TENSOR("true", "false", "null", "null"),
      LEVEL_WARNING },
    { TENSOR("null", "null", "null", "null"), TENSOR("null", "null", "null", "null"),
      LEVEL_NOT_JUDGED },
    { EMPTY, EMPTY, LEVEL_PASS },
};

START_TEST(levels_beyond_the_result)
{
    struct compared compared;
    char npu[900], bench[900];
    snprintf(npu, sizeof npu, "\"Torch.f.0.forward\": {\"input_args\": [%s]}", beyond[_i].npu);
    snprintf(bench, sizeof bench, "\"Torch.f.0.forward\": {\"input_args\": [%s]}",
             beyond[_i].bench);
    compare(&compared, npu, bench, GENERATION_2);
    ck_assert_int_eq(compared.c.rows[0].verdict, VERDICT_EMPTY);
    ck_assert_int_eq(compared.c.rows[0].level, beyond[_i].level);
    release(&compared);
}
END_TEST

#define SAME      TENSOR("2", "1", "1", "1")
#define INFINITE  TENSOR("Infinity", "1", "1", "1")
#define NOT_A_NUM TENSOR("NaN", "1", "1", "1")
#define LARGE     TENSOR("3e10", "1", "1", "1")

/* Output against Bench's; the color and its reason. Inputs agree. */
static const struct {
    const char *npu, *bench;
    enum table_fill fill;
    enum row_note reason;
} colors[] = {
    { INFINITE, SAME, TABLE_RED, REASON_NON_FINITE },
    { NOT_A_NUM, SAME, TABLE_RED, REASON_NON_FINITE },
    { LARGE, SAME, TABLE_RED, REASON_HUGE },
    { TENSOR("3.1", "1", "1", "1"), SAME, TABLE_RED, REASON_RELATIVE_RED },
    { TENSOR("2.3", "1", "1", "1"), SAME, TABLE_YELLOW, REASON_RELATIVE },
    { TENSOR("2.1", "1", "1", "1"), SAME, TABLE_PLAIN, ROW_NOTES },
};

START_TEST(colors_of_outputs)
{
    struct compared compared;
    char npu[1500], bench[1500];
    snprintf(npu, sizeof npu, "\"Torch.f.0.forward\": {\"input_args\": [%s], \"output\": [%s]}",
             SAME, colors[_i].npu);
    snprintf(bench, sizeof bench, "\"Torch.f.0.forward\": {\"input_args\": [%s], \"output\": [%s]}",
             SAME, colors[_i].bench);
    compare(&compared, npu, bench, GENERATION_2);
    const struct row_result *row = &compared.c.rows[1];
    ck_assert_int_eq(row->fill, colors[_i].fill);
    if (colors[_i].reason < ROW_NOTES) ck_assert(row->notes & note_bit(colors[_i].reason));
    ck_assert_int_eq(compared.c.rows[0].fill, TABLE_PLAIN);
    release(&compared);
}
END_TEST

/* An input that is as bad takes the blame from the output; magnitudes count from a factor of ten. */
START_TEST(colors_against_inputs)
{
    struct compared compared;
    compare(
        &compared,
        CALL("Torch.f.0.forward", TENSOR("2000", "1", "1", "1"), TENSOR("20300", "1", "1", "1")),
        CALL("Torch.f.0.forward", TENSOR("1990", "1", "1", "1"), TENSOR("20000", "1", "1", "1")),
        GENERATION_2);
    ck_assert_int_eq(compared.c.rows[1].fill, TABLE_YELLOW);
    ck_assert(compared.c.rows[1].notes & note_bit(REASON_MAGNITUDE)); /* 10 and 300 */
    release(&compared);
    compare(
        &compared,
        CALL("Torch.f.0.forward", TENSOR("2000", "1", "1", "1"), TENSOR("20090", "1", "1", "1")),
        CALL("Torch.f.0.forward", TENSOR("1990", "1", "1", "1"), TENSOR("20000", "1", "1", "1")),
        GENERATION_2);
    ck_assert_int_eq(compared.c.rows[1].fill, TABLE_PLAIN); /* 10 and 90 */
    release(&compared);
}
END_TEST

/* Where the first generation differs: inputs (or parameters), outputs, and whether an output whose largest
 * value is off by so much is colored. */
static const struct {
    const char *about, *section;
    const char *npu_in, *bench_in, *npu_out, *bench_out;
    bool first, second; /* colored in that generation */
    enum row_note reason;
} generations[] = {
    { "errors below 1 are of order 0, and count", "input_args", "2.5", "2", "2020", "2000", true,
      false, REASON_MAGNITUDE },
    { "parameters are no inputs", "parameters", "2000", "1998", "20100", "20000", false, true,
      REASON_MAGNITUDE },
    { "small maxima of Bench count as 0.01", "input_args", "1", "1", "0.002", "0.001", false, true,
      REASON_RELATIVE_RED },
};

START_TEST(colors_of_the_first_generation)
{
    for (enum generation generation = GENERATION_1; generation <= GENERATION_2; generation++) {
        char npu[1500], bench[1500];
        struct compared compared;
        const char *format = "\"Torch.f.0.forward\": {\"%s\": [" TENSOR(
            "%s", "0", "1", "1") "], \"output\": [" TENSOR("%s", "0", "1", "1") "]}";
        snprintf(npu, sizeof npu, format, generations[_i].section, generations[_i].npu_in,
                 generations[_i].npu_out);
        snprintf(bench, sizeof bench, format, generations[_i].section, generations[_i].bench_in,
                 generations[_i].bench_out);
        compare(&compared, npu, bench, generation);
        bool colored = compared.c.rows[1].notes & note_bit(generations[_i].reason);
        ck_assert_msg(colored == (generation == GENERATION_1 ? generations[_i].first
                                                             : generations[_i].second),
                      "%s (generation %d)", generations[_i].about, generation + 1);
        release(&compared);
    }
}
END_TEST

/* The first generation warned of MindSpore's statistics only when all four were off. */
START_TEST(all_four_statistics_of_mindspore)
{
    static const char *const off[] = { TENSOR("9", "9", "9", "1"), TENSOR("9", "9", "9", "9") };
    for (int i = 0; i < 2; i++) {
        char paths[2][600], data[600];
        struct scratch scratch = scratch_make();
        struct comparison c;
        snprintf(data, sizeof data, "\"Mint.f.0.forward\": {\"output\": [%s]}", off[i]);
        strcpy(paths[0], make_dump(&scratch, "a", "statistics", "mindspore", data));
        strcpy(paths[1],
               make_dump(&scratch, "b", "statistics", "mindspore",
                         "\"Mint.f.0.forward\": {\"output\": [" TENSOR("1", "1", "1", "1") "]}"));
        const struct comparison_request request = { .npu_path = paths[0],
                                                    .bench_path = paths[1],
                                                    .framework = FRAMEWORK_MINDSPORE,
                                                    .generation = GENERATION_1,
                                                    .threads = 1 };
        ck_assert_int_eq(comparison_run(&c, &request).code, STATUS_OK);
        ck_assert_int_eq(c.rows[0].verdict, i ? VERDICT_IS_WARNING : VERDICT_EMPTY);
        comparison_release(&c);
        scratch_remove(&scratch);
    }
}
END_TEST

/* A row without a partner: no color, no note about requires_grad. */
START_TEST(rows_without_a_partner)
{
    struct compared compared;
    compare(&compared, CALL("Torch.f.0.forward", SAME, INFINITE),
            CALL("Torch.g.0.forward", SAME, SAME), GENERATION_2);
    for (int row = 0; row < 2; row++) {
        ck_assert_int_eq(compared.c.rows[row].verdict, VERDICT_NOT_APPLICABLE);
        ck_assert_int_eq(compared.c.rows[row].level, LEVEL_UNMATCHED);
        ck_assert_int_eq(compared.c.rows[row].fill, TABLE_PLAIN);
        ck_assert_uint_eq(compared.c.rows[row].notes, note_bit(NOTE_NO_BENCH));
    }
    release(&compared);
}
END_TEST

/* ---- the third generation --------------------------------------------------------------- */

/* Of the output, when the input is that of the second column on both sides but for its norm. */
static const struct {
    const char *name, *input, *bench_input, *output, *bench_output;
    enum row_level level;
} rules[] = {
    { "Torch.f.0.forward", SAME, SAME, INFINITE, SAME, LEVEL_ERROR },
    { "Torch.empty.0.forward", SAME, SAME, INFINITE, SAME, LEVEL_PASS },
    { "Torch.f.0.forward", SAME, SAME, TENSOR("2", "1", "1", "1.6"), SAME, LEVEL_ERROR },
    { "Torch.f.0.forward", SAME, SAME, TENSOR("2", "1", "1", "1.2"), SAME, LEVEL_WARNING },
    { "Torch.f.0.forward", SAME, SAME, TENSOR("2", "1", "1", "1.05"), SAME, LEVEL_PASS },
    { "Torch.f.0.forward", TENSOR("2", "1", "1", "1.05"), SAME, TENSOR("2", "1", "1", "1.4"), SAME,
      LEVEL_PASS },
};

START_TEST(levels_of_the_third_generation)
{
    struct compared compared;
    char npu[1500], bench[1500];
    snprintf(npu, sizeof npu, "\"%s\": {\"input_args\": [%s], \"output\": [%s]}", rules[_i].name,
             rules[_i].input, rules[_i].output);
    snprintf(bench, sizeof bench, "\"%s\": {\"input_args\": [%s], \"output\": [%s]}",
             rules[_i].name, rules[_i].bench_input, rules[_i].bench_output);
    compare(&compared, npu, bench, GENERATION_3);
    ck_assert_int_eq(compared.c.rows[1].g3_level, rules[_i].level);
    release(&compared);
}
END_TEST

/* Backward records meet in order, whatever their counters. */
START_TEST(backward_in_order)
{
    struct compared compared;
    compare(&compared,
            CALL("Torch.f.3.backward", SAME, SAME) ", " CALL("Torch.f.1.backward", SAME, SAME),
            CALL("Torch.f.1.backward", SAME, SAME) ", " CALL("Torch.f.0.backward", SAME, SAME),
            GENERATION_3);
    ck_assert_uint_eq(compared.c.pairing.bench_of[0], 0);
    ck_assert_uint_eq(compared.c.pairing.bench_of[2], 2);
    release(&compared);
}
END_TEST

/* ---- where to look ---------------------------------------------------------------------- */

#define OFF TENSOR("9", "1", "1", "1")

/* The first bad row may be an input; the origin is an output whose inputs agree. */
START_TEST(origin_of_a_difference)
{
    struct compared compared;
    struct suspects suspects;
    compare(&compared,
            CALL("Torch.a.0.forward", OFF, OFF) ", " CALL("Torch.b.0.forward", SAME, OFF) ", " CALL(
                "Torch.c.0.forward", SAME, SAME),
            CALL("Torch.a.0.forward", SAME, SAME) ", " CALL(
                "Torch.b.0.forward", SAME, SAME) ", " CALL("Torch.c.1.forward", SAME, SAME),
            GENERATION_2);
    ck_assert_int_eq(suspects_find(&suspects, &compared.c).code, STATUS_OK);
    ck_assert_uint_eq(suspects.first_row, 0);
    ck_assert_uint_eq(suspects.origin, 3);
    ck_assert_uint_eq(suspects.npu_total, 1);
    ck_assert_uint_eq(suspects.bench_total, 1);
    ck_assert_uint_eq(suspects.npu[0].nearest, 2);
    release(&compared);
}
END_TEST

/* One module, its parameter, and calls, against a Bench where all of it is SAME. The last entry that may be
 * named is where the difference arises, not what is around it or what follows from it. */
#define MODULE(name, in, weight, out)                                                  \
    "\"" name "\": {\"input_args\": [" in "], \"output\": [" out "], \"parameters\": " \
    "{\"weight\": " weight "}}"
#define OUTER(out)         MODULE("Module.h.1.Block.forward.0", SAME, SAME, out)
#define INNER(weight, out) MODULE("Module.h.1.norm.LayerNorm.forward.0", SAME, weight, out)
#define NEXT(out)          MODULE("Module.h.10.Block.forward.0", SAME, SAME, out)

static const struct {
    const char *npu;
    const char *origin; /* entry, or NULL */
} origins[] = {
    /* A weight that was loaded wrong: no call computed it, least of all the module around. */
    { INNER(OFF, OFF) ", " OUTER(OFF), NULL },
    /* What the module computes itself. */
    { INNER(SAME, SAME) ", " OUTER(OFF), "Module.h.1.Block.forward.0" },
    /* A neighbour whose name begins alike. */
    { INNER(OFF, SAME) ", " NEXT(OFF), "Module.h.10.Block.forward.0" },
    /* A gradient is computed from what the forward call saw. */
    { CALL("Torch.f.0.forward", OFF, OFF) ", " CALL("Torch.f.0.backward", SAME, OFF), NULL },
    { CALL("Torch.f.0.forward", SAME, SAME) ", " CALL("Torch.f.0.backward", SAME, OFF),
      "Torch.f.0.backward" },
    { CALL("Torch.f.1.forward", OFF, SAME) ", " CALL("Torch.f.0.backward", SAME, OFF),
      "Torch.f.0.backward" },
};

START_TEST(origin_among_modules)
{
    static const char *const bench = INNER(SAME, SAME) ", " OUTER(SAME) ", " NEXT(SAME) ", " CALL(
        "Torch.f.0.forward", SAME, SAME) ", " CALL("Torch.f.1.forward", SAME,
                                                   SAME) ", " CALL("Torch.f.0.backward", SAME,
                                                                   SAME);
    struct compared compared;
    struct suspects suspects;
    compare(&compared, origins[_i].npu, bench, GENERATION_2);
    ck_assert_int_eq(suspects_find(&suspects, &compared.c).code, STATUS_OK);
    if (!origins[_i].origin) ck_assert_uint_eq(suspects.origin, ROW_NONE);
    else {
        ck_assert_uint_ne(suspects.origin, ROW_NONE);
        uint32_t entry = compared.c.npu.rows[suspects.origin].entry;
        ck_assert_str_eq(dump_entry_name(&compared.c.npu, entry, NULL), origins[_i].origin);
    }
    release(&compared);
}
END_TEST

/* A name is offered where it may be meant, also behind what long names have in common. */
#define LONG "Module.module.language_model.decoder.transformer.encoder_layers.layers."

static const struct {
    const char *npu, *bench, *nearest;
} alike[] = {
    { "Module.layers.3.att.Att.forward.0", "Tensor.add.7.forward", NULL },
    { "Torch.matmull.0.forward", "Torch.matmul.0.forward", "Torch.matmul.0.forward" },
    { LONG "11.mlp.ParallelMLP.forward.0", LONG "11.mlp.MLP.forward.0",
      LONG "11.mlp.MLP.forward.0" },
};

START_TEST(names_that_may_be_meant)
{
    char npu[900], bench[1800];
    struct compared compared;
    struct suspects suspects;
    snprintf(npu, sizeof npu, "\"%s\": {\"output\": [%s]}", alike[_i].npu, SAME);
    snprintf(bench, sizeof bench,
             "\"" LONG "1.mlp.Other.forward.0\": {\"output\": [%s]}, \"%s\": {\"output\": [%s]}",
             SAME, alike[_i].bench, SAME);
    compare(&compared, npu, bench, GENERATION_2);
    ck_assert_int_eq(suspects_find(&suspects, &compared.c).code, STATUS_OK);
    ck_assert_uint_eq(suspects.n_npu, 1);
    uint32_t nearest = suspects.npu[0].nearest;
    if (!alike[_i].nearest) ck_assert_uint_eq(nearest, ROW_NONE);
    else ck_assert_str_eq(dump_entry_name(&compared.c.bench, nearest, NULL), alike[_i].nearest);
    release(&compared);
}
END_TEST

static const struct {
    const char *npu, *text;
} advices[] = {
    { CALL("Torch.f.0.forward", OFF, SAME), "view the input source" },
    { CALL("Torch.f.0.forward", SAME, OFF), "forward API computation error" },
    { CALL("Torch.f.0.backward", OFF, SAME), "forward computation result" },
    { CALL("Torch.f.0.backward", SAME, OFF), "backward API computation error" },
    { CALL("Functional.conv2d.0.forward", SAME, OFF), "deterministic" },
    { CALL("Functional.conv2d.0.forward", OFF, SAME), "view the input source" },
    { CALL("Torch.f.0.forward", SAME, SAME) ", \"y.debug\": " OFF, "saved at this point" },
    { CALL("Torch.f.0.forward", SAME, SAME), "meets the accuracy requirements" },
};

START_TEST(advice_for_a_suspect)
{
    static const char *const bench =
        CALL("Torch.f.0.forward", SAME, SAME) ", " CALL("Torch.f.0.backward", SAME, SAME) ", " CALL(
            "Functional.conv2d.0.forward", SAME, SAME) ", \"y.debug\": " SAME;
    struct compared compared;
    struct advice advice;
    compare(&compared, advices[_i].npu, bench, GENERATION_2);
    ck_assert_int_eq(advice_make(&advice, &compared.c).code, STATUS_OK);
    ck_assert_msg(strstr(advice.text, advices[_i].text) != NULL, "%s", advice.text);
    release(&compared);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("judge");
    TCase *tests = tcase_create("judge");
    tcase_add_loop_test(tests, warnings_of_statistics, 0, COUNT(statistics));
    tcase_add_loop_test(tests, colors_of_outputs, 0, COUNT(colors));
    tcase_add_test(tests, colors_against_inputs);
    tcase_add_loop_test(tests, colors_of_the_first_generation, 0,
                        (int)(sizeof generations / sizeof *generations));
    tcase_add_test(tests, all_four_statistics_of_mindspore);
    tcase_add_test(tests, rows_without_a_partner);
    tcase_add_loop_test(tests, levels_of_the_third_generation, 0, COUNT(rules));
    tcase_add_test(tests, backward_in_order);
    tcase_add_test(tests, origin_of_a_difference);
    tcase_add_loop_test(tests, origin_among_modules, 0, COUNT(origins));
    tcase_add_loop_test(tests, names_that_may_be_meant, 0, COUNT(alike));
    tcase_add_loop_test(tests, levels_beyond_the_result, 0, COUNT(beyond));
    tcase_add_loop_test(tests, advice_for_a_suspect, 0, COUNT(advices));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
