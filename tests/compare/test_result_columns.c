/* Header rows of result files: those of all generations are known for what they are, others are
 * not. */
#include <string.h>

#include "compare/merge/result_columns.h"
#include "support/suite.h"

enum { MAX_COLUMNS = 64 };

struct header {
    struct sheet_cell cells[MAX_COLUMNS];
    struct sheet_row row;
};

/* A header row of names that '|' separates. */
static struct sheet_row split(struct header *out, const char *names)
{
    size_t count = 0;
    for (const char *at = names;; at++) {
        size_t length = strcspn(at, "|");
        out->cells[count++] =
            (struct sheet_cell){ .kind = SHEET_TEXT, .text = at, .length = length };
        at += length;
        if (!*at) break;
    }
    return (struct sheet_row){ out->cells, count, 1 };
}

#define BASE "NPU Name|Bench Name|NPU Dtype|Bench Dtype|NPU Tensor Shape|Bench Tensor Shape|"
#define GRAD "NPU Requires_grad|Bench Requires_grad|"
#define TAIL "One Thousandth Err Ratio|Five Thousandths Err Ratio|"
#define DIFF                                                                                 \
    "Max diff|Min diff|Mean diff|L2norm diff|MaxRelativeErr|MinRelativeErr|MeanRelativeErr|" \
    "NormRelativeErr|"
#define STAT "NPU max|NPU min|NPU mean|NPU l2norm|Bench max|Bench min|Bench mean|Bench l2norm|"
#define SAME "Requires_grad Consistent|"

/* Written down from the format's description, generation by generation. */
static const struct {
    const char *names;
    int kind; /* enum dump_kind, -1 for none */
} headers[] = {
    { BASE DIFF STAT "Result|Err_message", DUMP_STATISTICS },
    { BASE DIFF STAT "Result|Err_message|NPU_Stack_Info", DUMP_STATISTICS },
    { BASE GRAD DIFF STAT SAME "Result|Err_message", DUMP_STATISTICS },
    { BASE GRAD DIFF STAT SAME "Result|Err_message|NPU_Stack_Info", DUMP_STATISTICS },
    { BASE GRAD DIFF STAT SAME "Result|Err_message|NPU_Stack_Info|Verdict", DUMP_STATISTICS },
    { BASE "Cosine|MaxAbsErr|MaxRelativeErr|" TAIL STAT
           "Accuracy Reached or Not|Err_message|Data_name",
      DUMP_TENSOR },
    { BASE "Cosine|MaxAbsErr|MaxRelativeErr|" TAIL STAT
           "Accuracy Reached or Not|Err_message|NPU_Stack_Info|Data_name",
      DUMP_TENSOR },
    { BASE GRAD "Cosine|EucDist|MaxAbsErr|MaxRelativeErr|" TAIL STAT SAME
                "Accuracy Reached or Not|Err_message|Data_name",
      DUMP_TENSOR },
    { BASE GRAD "Cosine|EucDist|MaxAbsErr|MaxRelativeErr|" TAIL STAT SAME
                "Result|Err_message|NPU_Stack_Info|Data_name",
      DUMP_TENSOR },
    { BASE GRAD "NPU MD5|BENCH MD5|" SAME "Result", DUMP_MD5 },
    { BASE "NPU MD5|BENCH MD5|Result|NPU_Stack_Info", DUMP_MD5 },
    /* one column less, two exchanged, a name changed */
    { BASE GRAD DIFF "NPU max|NPU min|" SAME "Result|Err_message", -1 },
    { BASE GRAD STAT DIFF SAME "Result|Err_message", -1 },
    { BASE GRAD DIFF STAT SAME "Result", -1 },
    { "API Name|Device Dtype", -1 },
    { "", -1 },
};

START_TEST(headers_tell_the_kind)
{
    struct header header;
    struct sheet_row row = split(&header, headers[_i].names);
    enum dump_kind kind;
    ck_assert_int_eq(result_kind(&kind, &row), headers[_i].kind >= 0);
    if (headers[_i].kind >= 0) ck_assert_int_eq((int)kind, headers[_i].kind);
}
END_TEST

START_TEST(columns_are_found)
{
    struct header header;
    struct sheet_row row = split(&header, "a|NPU max|b");
    ck_assert_uint_eq(result_column(&row, "NPU max"), 1);
    ck_assert_uint_eq(result_column(&row, "NPU"), SIZE_MAX);
    header.cells[1].kind = SHEET_NUMBER;
    ck_assert_uint_eq(result_column(&row, "NPU max"), SIZE_MAX);
}
END_TEST

START_TEST(kinds_have_their_columns)
{
    static const size_t counts[] = { [DUMP_STATISTICS] = 9, [DUMP_TENSOR] = 7, [DUMP_MD5] = 0 };
    for (int kind = DUMP_TENSOR; kind <= DUMP_MD5; kind++) {
        size_t n = 0;
        while (result_indices((enum dump_kind)kind)[n]) n++;
        ck_assert_uint_eq(n, counts[kind]);
    }
    ck_assert_str_eq(result_index("Norm diff"), "L2norm diff");
    ck_assert_str_eq(result_index("EucDist"), "EucDist");
    ck_assert_ptr_null(result_index("eucdist"));
    ck_assert_str_eq(result_nearest_index("eucdist"), "EucDist");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result_columns");
    TCase *tests = tcase_create("result_columns");
    tcase_add_loop_test(tests, headers_tell_the_kind, 0, sizeof headers / sizeof *headers);
    tcase_add_test(tests, columns_are_found);
    tcase_add_test(tests, kinds_have_their_columns);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
