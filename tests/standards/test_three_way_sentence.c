/* The sentence of a three-way verdict: the metrics that decided, their numbers, and how bad they are. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "standards/three_way/three_way_sentence.h"
#include "support/suite.h"

static const struct csv_text message = { "\r\n ERROR: off\nmore", 17 };

static void put(struct three_way_verdict *verdict, enum three_way_column column, double number,
                enum verdict decided)
{
    verdict->cells[column].kind = CELL_NUMBER;
    verdict->cells[column].number = number;
    verdict->cells[column + 1].kind = CELL_VERDICT;
    verdict->cells[column + 1].verdict = decided;
}

static void expect(const struct three_way_verdict *verdict, const struct csv_text *npu,
                   const char *sentence, double excess)
{
    char text[THREE_WAY_SENTENCE_BYTES];
    three_way_sentence(text, verdict, npu, message);
    ck_assert_str_eq(text, sentence);
    ck_assert(three_way_excess(verdict, npu) == excess);
}

/* Ratios of the metrics that have the row's verdict; a metric with a milder one is not why. */
START_TEST(ratios)
{
    struct three_way_verdict verdict = { .verdict = VERDICT_ERROR };
    put(&verdict, THREE_WAY_RMSE, 3.25, VERDICT_ERROR);
    put(&verdict, THREE_WAY_MAX_RELATIVE, 12, VERDICT_ERROR);
    put(&verdict, THREE_WAY_BALANCE, 99, VERDICT_WARNING);
    put(&verdict, THREE_WAY_SMALL_VALUE, 1, VERDICT_PASS);
    expect(&verdict, NULL,
           "root mean square error 3.25 times the GPU's, largest relative error 12 times the GPU's",
           12);
    verdict.verdict = VERDICT_WARNING;
    expect(&verdict, NULL, "error balance 99 times the GPU's", 99);
    put(&verdict, THREE_WAY_BALANCE, NAN, VERDICT_WARNING);
    expect(&verdict, NULL, "error balance", INFINITY);
}
END_TEST

/* Shares, of which one takes over the NPU's cell. */
START_TEST(shares)
{
    struct csv_text npu[THREE_WAY_METRICS];
    struct three_way_verdict verdict = { .verdict = VERDICT_ERROR };
    for (size_t i = 0; i < THREE_WAY_METRICS; i++) npu[i] = (struct csv_text){ " ", 1 };
    npu[METRIC_THOUSANDTH] = (struct csv_text){ "0.75", 4 };
    put(&verdict, THREE_WAY_THOUSANDTH, 0, VERDICT_ERROR);
    verdict.cells[THREE_WAY_THOUSANDTH].kind = CELL_NPU_TEXT;
    verdict.cells[THREE_WAY_THOUSANDTH].metric = METRIC_THOUSANDTH;
    expect(&verdict, npu, "share within a thousandth 0.75", 0.25);
    expect(&verdict, NULL, "share within a thousandth", INFINITY);
    put(&verdict, THREE_WAY_INF_NAN, 0.5, VERDICT_ERROR);
    expect(&verdict, npu, "share of wrong infinities and NaNs 0.5, share within a thousandth 0.75",
           0.5);
}
END_TEST

/* A row without a metric that decided has its message. */
START_TEST(messages)
{
    struct three_way_verdict verdict = { .verdict = VERDICT_ERROR };
    expect(&verdict, NULL, "ERROR: off", INFINITY);
    verdict.verdict = VERDICT_SKIP;
    put(&verdict, THREE_WAY_RMSE, 3, VERDICT_SKIP);
    expect(&verdict, NULL, "ERROR: off", INFINITY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three-way sentence");
    TCase *tests = tcase_create("sentences");
    tcase_add_test(tests, ratios);
    tcase_add_test(tests, shares);
    tcase_add_test(tests, messages);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
