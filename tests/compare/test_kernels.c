/* Kernels of static graphs and folders of .npy files: what names say, which data belong together, the
 * cells of the tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/kernels/folder_compare.h"
#include "compare/kernels/kernel_compare.h"
#include "compare/kernels/kernel_files.h"
#include "core/memory.h"
#include "formats/npy.h"
#include "formats/sheet_read.h"
#include "support/notes.h"
#include "support/suite.h"

static void make_folder(const char *path)
{
    char command[700];
    snprintf(command, sizeof command, "mkdir -p '%s'", in(&place, path));
    ck_assert_int_eq(system(command), 0);
}

static void write_into(const char *folder, const char *name, const char *text)
{
    char path[600];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(in(&place, path), text, strlen(text));
}

static void write_npy(const char *folder, const char *name, enum dtype dtype, int rank,
                      const int64_t *shape, const double *values)
{
    struct arena arena = { 0 };
    struct tensor tensor;
    char path[600];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert(!tensor_create(&tensor, &arena, dtype, rank, shape).code);
    dtype_from_double(tensor.data, dtype, values, tensor_elements(&tensor));
    ck_assert(!npy_write(in(&place, path), &tensor, &arena).code);
    arena_release(&arena);
}

static void write_vector(const char *folder, const char *name, int64_t n, const double *values)
{
    write_npy(folder, name, DT_F32, 1, &n, values);
}

/* ---- names ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *key;
    uint64_t timestamp;
} names[] = {
    { "Add.Default_Add-op1.3.7.1000.input.0.ND.npy", "Default_Add-op1.3.input.0", 1000 },
    { "Add.op.3.7.1000.12.5.output.2.DefaultFormat.npy", "op.3.output.2", 1000 },
    { "Add.op.3.7.1000.output.1.4.0.ND.npy", "op.3.output.1.4.0", 1000 },
    { "Add.op.3.7.1000.input.0.ND", "op.3.input.0", 1000 },
    { "Add.op.3.7.x.input.0.ND.npy", NULL, 0 },
    { "Add.op.3.7.1000.inputs.0.ND.npy", NULL, 0 },
    { "Add.op.3.7.1000.input.npy", NULL, 0 },
    { "Add.op.3.7.1000", NULL, 0 },
    { "123456.npy", NULL, 0 },
    { "", NULL, 0 },
};

START_TEST(names_say_what_they_are_of)
{
    char key[200];
    uint64_t timestamp = 0;
    bool says = kernel_name_split(key, sizeof key, &timestamp, names[_i].name);
    ck_assert_int_eq(says, names[_i].key != NULL);
    if (!says) return;
    ck_assert_str_eq(key, names[_i].key);
    ck_assert_uint_eq(timestamp, names[_i].timestamp);
}
END_TEST

static const struct {
    const char *folder;
    int64_t rank, step; /* rank -1: skipped */
} folders[] = {
    { "t/rank_3/net/0/12", 3, 12 }, { "t/run_2.4.0/rank_0/n.e.t/1/0", 0, 0 },
    { "t/5/net/0/1", 5, 1 },        { "t/x/7/net/1", 7, 1 },
    { "t/rank_a/net/0/1", -1, 0 },  { "t/rank_3/net/0/one", -1, 0 },
    { "t/x/y/z/1", -1, 0 },         { "t/rank_3/net/0/99999999999", -1, 0 },
};

START_TEST(folders_say_rank_and_step)
{
    struct kernel_folders found;
    struct arena arena = { 0 };
    write_into(folders[_i].folder, "statistic.csv", "");
    ck_assert(!kernel_folders_find(&found, &arena, in(&place, "t"), FILES_CHECKED).code);
    ck_assert_uint_eq(found.count, folders[_i].rank >= 0);
    if (found.count) {
        ck_assert_int_eq(found.items[0].rank, folders[_i].rank);
        ck_assert_int_eq(found.items[0].step, folders[_i].step);
        ck_assert_int_eq(found.items[0].kind, KERNEL_STATISTIC);
    }
    memory_release(found.items);
    arena_release(&arena);
}
END_TEST

/* ---- tables ----------------------------------------------------------------------------- */

static const struct number_filter all = { .given = true };

static struct status compare(struct kernel_counts *counts, const struct number_filter *ranks,
                             const struct number_filter *steps)
{
    struct kernel_request request = { .ranks = ranks ? ranks : &all,
                                      .steps = steps ? steps : &all,
                                      .format = TABLE_CSV,
                                      .stamp = { "20260101120000" },
                                      .policy = FILES_TRUSTED,
                                      .warnings = { note, NULL } };
    char npu[600], bench[600], output[600];
    snprintf(npu, sizeof npu, "%s", in(&place, "npu"));
    snprintf(bench, sizeof bench, "%s", in(&place, "bench"));
    snprintf(output, sizeof output, "%s", in(&place, "out"));
    request.npu_path = npu;
    request.bench_path = bench;
    request.output = output;
    return kernels_compare(counts, &request);
}

/* Cells of a column in all rows, with '|' behind each. */
static char *column(const char *path, const char *name)
{
    struct sheet_book *book;
    struct sheet_reader *reader;
    struct sheet_row row;
    char *text = NULL;
    size_t bytes, at = SIZE_MAX;
    bool more;
    FILE *out = open_memstream(&text, &bytes);
    ck_assert(!sheet_book_open(&book, in(&place, path), FILES_TRUSTED).code);
    ck_assert(!sheet_open(&reader, book, 0).code);
    while (!sheet_next(reader, &row, &more).code && more) {
        if (at == SIZE_MAX) {
            for (size_t i = 0; i < row.count; i++)
                if (row.cells[i].length == strlen(name) &&
                    !memcmp(row.cells[i].text, name, strlen(name)))
                    at = i;
            ck_assert_msg(at < SIZE_MAX, "no column %s", name);
        } else if (at < row.count) {
            fprintf(out, "%.*s|", (int)row.cells[at].length, row.cells[at].text);
        }
    }
    sheet_close(reader);
    sheet_book_close(book);
    fclose(out);
    return text;
}

static void check_column(const char *path, const char *name, const char *expected)
{
    char *got = column(path, name);
    ck_assert_msg(!strcmp(got, expected), "%s: '%s', expected '%s'", name, got, expected);
    free(got);
}

#define NPU    "npu/v2.4/rank_0/net/0/7"
#define BENCH  "bench/rank_0/net/0/7"
#define RESULT "out/compare_result_0_7_20260101120000.csv"

/* Rows stand by key; those of one key meet in the order of their times, whatever else their names hold;
 * a name of mapping.csv counts as the real one. */
START_TEST(data_meet_by_key_and_order)
{
    double one[2] = { 1, 1 }, two[2] = { 2, 2 };
    struct kernel_counts counts;
    write_vector(NPU, "B.b.1.0.100.input.0.ND.npy", 2, one);
    write_vector(NPU, "B.b.1.0.99.input.0.ND.npy", 2, two); /* 99 before 100: no text order */
    write_vector(NPU, "A.a.1.0.5.output.0.ND.npy", 2, one);
    write_vector(NPU, "7.npy", 2, one);
    write_vector(NPU, "says_nothing.npy", 2, one);
    write_into(NPU, "mapping.csv", "x,y\n7.npy,C.c.1.0.3.input.0.ND.npy\n");
    write_vector(BENCH, "Other.b.1.4.1.input.0.FRAC.npy", 2, two);
    write_vector(BENCH, "Other.b.1.4.2.7.input.0.FRAC.npy", 2, one);
    write_vector(BENCH, "C.c.1.0.1.input.0.ND.npy", 2, one);
    write_vector(BENCH, "D.d.1.0.1.input.0.ND.npy", 2, one);
    struct status status = compare(&counts, NULL, NULL);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(counts.rows, 5);
    check_column(RESULT, "NPU Name",
                 "A.a.1.0.5.output.0.ND.npy|B.b.1.0.99.input.0.ND.npy|B.b.1.0.100.input.0.ND.npy|"
                 "C.c.1.0.3.input.0.ND.npy|N/A|");
    check_column(RESULT, "Bench Name",
                 "N/A|Other.b.1.4.1.input.0.FRAC.npy|Other.b.1.4.2.7.input.0.FRAC.npy|"
                 "C.c.1.0.1.input.0.ND.npy|D.d.1.0.1.input.0.ND.npy|");
    check_column(RESULT, "Accuracy Reached or Not", "|Yes|Yes|Yes||");
    check_column(RESULT, "MaxAbsErr", "|0.0|0.0|0.0||");
    check_column(RESULT, "NPU max", "1.0|2.0|1.0|1.0|N/A|");
    check_column(RESULT, "Err_message",
                 "Bench does not have data file.||||NPU does not have data file.|");
    ck_assert_ptr_nonnull(strstr(warnings, "1 files below"));
}
END_TEST

/* What stops a comparison leaves metrics and verdict empty, and says all that is wrong. */
START_TEST(checks_come_before_metrics)
{
    double v[6] = { 1, 2, 3, 4, 5, 6 }, nan[2] = { NAN, 1 }, zero[2] = { 0, 0 }, big[2] = { 3, -4 };
    int64_t two = 2, three = 3, none = 0, square[2] = { 2, 1 };
    struct kernel_counts counts;
    write_npy(NPU, "A.a.1.0.1.input.0.ND.npy", DT_F32, 0, NULL, v);
    write_npy(BENCH, "A.a.1.0.1.input.0.ND.npy", DT_F32, 0, NULL, v);
    write_npy(NPU, "A.b.1.0.1.input.0.ND.npy", DT_F32, 1, &none, v);
    write_npy(BENCH, "A.b.1.0.1.input.0.ND.npy", DT_F32, 1, &none, v);
    write_npy(NPU, "A.c.1.0.1.input.0.ND.npy", DT_F32, 1, &two, v);
    write_npy(BENCH, "A.c.1.0.1.input.0.ND.npy", DT_F16, 1, &three, v);
    write_npy(NPU, "A.d.1.0.1.input.0.ND.npy", DT_F32, 1, &two, nan);
    write_npy(BENCH, "A.d.1.0.1.input.0.ND.npy", DT_F64, 1, &two, v);
    write_npy(NPU, "A.e.1.0.1.input.0.ND.npy", DT_F32, 1, &two, big);
    write_npy(BENCH, "A.e.1.0.1.input.0.ND.npy", DT_F32, 1, &two, zero);
    write_npy(NPU, "A.f.1.0.1.input.0.ND.npy", DT_F32, 2, square, v);
    write_into(BENCH, "A.f.1.0.1.input.0.ND.npy", "damaged");
    ck_assert(!compare(&counts, NULL, NULL).code);
    check_column(RESULT, "Accuracy Reached or Not", "||||No||"); /* one side zero: No */
    ck_assert_uint_eq(counts.verdict_no, 1);
    ck_assert_uint_eq(counts.without_verdict, 5);
    check_column(RESULT, "Cosine", "||||Nan||");
    check_column(RESULT, "NPU Tensor Shape", "()|(0,)|(2,)|(2,)|(2,)|(2, 1)|");
    check_column(RESULT, "Bench Dtype", "float32|float32|float16|float64|float32|N/A|");
    check_column(RESULT, "NPU l2norm", "1.0|N/A|2.23606797749979|Nan|5.0|2.23606797749979|");
    char *messages = column(RESULT, "Err_message");
    static const char *const parts[] = {
        "0-d tensor",
        "empty data",
        "Shape of NPU and bench tensor do not match. Skipped.Dtype of NPU and bench",
        "The position of inf or nan in NPU and bench Tensor do not match.Dtype of NPU",
        "Cosine is Nan",
        "Dump file of Bench cannot be used: ",
    };
    const char *at = messages;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *end = strchr(at, '|'), *found = strstr(at, parts[i]);
        ck_assert_msg(found && found < end, "row %zu: %s", i, at);
        at = end + 1;
    }
    free(messages);
}
END_TEST

#define CSV_HEADER                                                                            \
    "OpType,OpName,TaskId,StreamId,TimeStamp,IO,Slot,DataSize,Data Type,Shape,Max Value,Min " \
    "Value,Avg Value,L2Norm Value\n"

/* Verdicts by magnitudes; words as numbers; what is missing. */
START_TEST(statistics_are_compared_in_single_precision)
{
    struct kernel_counts counts;
    write_into("npu/3/net/0/1", "statistic.csv",
               CSV_HEADER "A,a,1,0,5,input,0,8,float32,\"(2, 3)\",-4,0.1,True,nan\n"
                          "A,b,1,0,5,input,0,8,float32,\"(2,)\",5,null,False,0\n"
                          "A,c,1,0,5,input,0,8,float32,,1,1,1,1\n"
                          "A,d,1,0,5,input,0,8,float16,\"(2,)\",1,1,1,1\n"
                          "A,e,1,0,5,input,0,8,float32,\"(2,)\",nan,1,1,1\n");
    write_into("bench/x/3/0/1", "statistic.csv",
               CSV_HEADER "A,a,1,0,7,input,0,8,float32,\"(2, 3)\",5,0.2,1,nan\n"
                          "A,b,1,0,7,input,0,8,float32,\"(2,)\",4,0,0,0\n"
                          "A,c,1,0,7,input,0,8,float32,,1,1,1,1\n"
                          "A,d,1,0,7,input,0,8,float32,\"(2,)\",1,1,1,1\n"
                          "A,e,1,0,7,input,0,8,float32,\"(2,)\",nan,1,1,1\n"
                          "A,f,1,0,7,input,0,8,float32,\"(2,)\",1,1,1,1\n");
    struct status status = compare(&counts, NULL, NULL);
    ck_assert_msg(!status.code, "%s", status.text);
    const char *path = "out/compare_result_3_1_20260101120000.csv";
    check_column(path, "NPU Name",
                 "a.1.input.0|b.1.input.0|c.1.input.0|d.1.input.0|e.1.input.0|N/A|");
    check_column(path, "Accuracy Reached or Not", "No|Yes|||Yes||");
    check_column(path, "Max diff", "-9.0|1.0|||Nan||");
    check_column(path, "MaxRelativeErr", "180.0%|25.0%|||Nan||");
    check_column(path, "Min diff", "-0.10000000149011612|0.0|||0.0||"); /* of two floats */
    check_column(path, "MinRelativeErr", "50.0%|N/A|||0.0%||");
    check_column(path, "NPU mean", "1.0|0.0|1.0|1.0|1.0|N/A|");
    check_column(path, "L2norm diff", "Nan|0.0|||0.0||");
    check_column(path, "Err_message",
                 "||This is empty data, can not compare.|Dtype of NPU and bench tensor do not "
                 "match.||NPU does not have data file.|");
}
END_TEST

/* A column that the file lacks leaves its value empty. */
START_TEST(columns_may_be_missing)
{
    struct kernel_counts counts;
    static const char text[] =
        "OpType,OpName,TaskId,StreamId,TimeStamp,IO,Slot,DataSize,Data Type,Shape,Max Value,Avg "
        "Value,L2Norm Value\nA,a,1,0,5,input,0,8,float32,\"(2, 3)\",1,1,1\n";
    write_into("npu/3/net/0/1", "statistic.csv", text);
    write_into("bench/3/net/0/1", "statistic.csv", text);
    ck_assert(!compare(&counts, NULL, NULL).code);
    const char *path = "out/compare_result_3_1_20260101120000.csv";
    check_column(path, "NPU min", "|");
    check_column(path, "MinRelativeErr", "Nan|");
    check_column(path, "MaxRelativeErr", "0.0%|");
    write_into("npu/3/net/0/1", "statistic.csv", "a,b\n");
    struct status status = compare(&counts, NULL, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "has fewer than 13 columns"));
}
END_TEST

/* Filters, pairs that only one side has, sides of different kinds. */
START_TEST(ranks_and_steps_are_chosen)
{
    double one[1] = { 1 };
    int64_t wanted[] = { 1 };
    struct number_filter ranks = { .given = true, .items = wanted, .count = 1 };
    struct kernel_counts counts;
    static const char *const places[] = { "rank_0/net/0/0", "rank_1/net/0/0", "rank_1/net/0/1" };
    for (int i = 0; i < 3; i++) {
        char folder[100];
        snprintf(folder, sizeof folder, "npu/%s", places[i]);
        write_vector(folder, "A.a.1.0.1.input.0.ND.npy", 1, one);
        snprintf(folder, sizeof folder, "bench/%s", places[i]);
        if (i < 2) write_vector(folder, "A.a.1.0.1.input.0.ND.npy", 1, one);
    }
    ck_assert(!compare(&counts, NULL, NULL).code);
    ck_assert_uint_eq(counts.files, 2);
    ck_assert(!compare(&counts, &ranks, NULL).code);
    ck_assert_uint_eq(counts.files, 1);
    struct status status = compare(&counts, &ranks, &ranks); /* only the NPU has step 1 */
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "no rank and step with data in common"));
    write_into("bench/rank_1/net/0/1", "statistic.csv", CSV_HEADER);
    ck_assert(!compare(&counts, NULL, NULL).code);
    ck_assert_uint_eq(counts.files, 2);
    ck_assert_ptr_nonnull(strstr(warnings, "different kinds of data"));
}
END_TEST

/* ---- folders of .npy files -------------------------------------------------------------- */

START_TEST(folders_meet_by_their_names)
{
    double a[3] = { 1, 2, 3 }, b[3] = { 1, 2, 4 };
    struct name_pair map[] = { { (char *)"x", (char *)"other" } };
    struct folder_counts counts;
    struct folder_request request = { .map = map, .n_map = 1, .policy = FILES_CHECKED };
    char npu[600], bench[600], output[600];
    write_vector("npu", "conv_in_1_100.npy", 3, a);
    write_vector("npu", "conv_in_2_90.npy", 3, b);
    write_vector("npu", "conv_in_3_80.npy", 3, b);
    write_vector("bench", "conv_in_0_7.npy", 3, a);
    write_vector("bench", "conv_in_5_6.npy", 3, a);
    write_vector("npu/sub/deep", "x_1_1.npy", 3, a);
    write_vector("bench/sub/deep", "other_1_1.npy", 3, a);
    write_vector("npu/alone", "x_1_1.npy", 3, a);
    snprintf(npu, sizeof npu, "%s", in(&place, "npu"));
    snprintf(bench, sizeof bench, "%s", in(&place, "bench"));
    snprintf(output, sizeof output, "%s", in(&place, "out"));
    request.npu_path = npu;
    request.bench_path = bench;
    request.output = output;
    struct status status = folders_compare(&counts, &request);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(counts.folders, 2);
    ck_assert_uint_eq(counts.rows, 4);
    check_column("out/result.csv", "Name", "conv_in_0|conv_in_1|conv_in_2|");
    check_column("out/result.csv", "Accuracy Reached or Not", "Yes|Yes|None|");
    check_column("out/result.csv", "MaxAbsErr", "0.0|1.0|unsupported|");
    check_column("out/result.csv", "Bench max", "3.0|3.0|N/A|");
    check_column("out/result.csv", "Data_name",
                 "['conv_in_1_100.npy', 'conv_in_0_7.npy']|['conv_in_2_90.npy', "
                 "'conv_in_5_6.npy']|['conv_in_3_80.npy', 'N/A']|");
    check_column("out/sub/deep/result.csv", "Data_name", "['x_1_1.npy', 'other_1_1.npy']|");
    request.bench_path = output;
    ck_assert_int_eq(folders_compare(&counts, &request).code, STATUS_OK); /* the root is on both */
}
END_TEST

/* The command takes both from the comparison file. */
START_TEST(the_comparison_file_chooses)
{
    double one[2] = { 1, 1 };
    char command[900], text[1500];
    static const char *const keys[] = { "\"rank_id\": [0]", "\"common\": true" };
    write_vector(NPU, "A.a.1.0.1.input.0.ND.npy", 2, one);
    write_vector("bench/v2.4/rank_0/net/0/7", "A.a.1.0.1.input.0.ND.npy", 2, one);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "{\"npu_path\": \"npu\", \"bench_path\": \"bench\", %s}",
                 keys[i]);
        write_into(".", "compare.json", text);
        snprintf(
            command, sizeof command,
            "cd %s && %s -f mindspore compare -i compare.json -o o%d --format csv >printed 2>err",
            place.path, PROBE_UT, i);
        ck_assert_int_eq(system(command), 0);
    }
    snprintf(command, sizeof command,
             "test -f %s/o0/compare_result_0_7_*.csv && test -f "
             "%s/o1/v2.4/rank_0/net/0/7/result.csv",
             place.path, place.path);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Trees of both modes are taken apart first; a step that cannot be compared is skipped. */
START_TEST(modes_are_taken_apart)
{
    double one[2] = { 1, 1 };
    char command[1500];
    for (int side = 0; side < 2; side++) {
        const char *root = side ? "bench" : "npu";
        char folder[200];
        snprintf(folder, sizeof folder, "%s/graph/step0/rank_0/net/0/7", root);
        write_vector(folder, "A.a.1.0.1.input.0.ND.npy", 2, one);
        snprintf(folder, sizeof folder, "%s/pynative/step1/rank_%d/net/0/7", root, side);
        write_vector(folder, "A.a.1.0.1.input.0.ND.npy", 2, one);
    }
    write_into(".", "compare.json",
               "{\"npu_path\": \"npu\", \"bench_path\": \"bench\", "
               "\"rank_id\": []}");
    snprintf(command, sizeof command,
             "cd %s && %s compare -i compare.json -o o --format csv >printed 2>err && test -f "
             "o/graph/step0/compare_result_0_7_*.csv && grep -q 'pynative/step1 is skipped' err",
             place.path, PROBE_UT);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels");
    TCase *tests = tcase_create("kernels");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, names_say_what_they_are_of, 0, sizeof names / sizeof *names);
    tcase_add_loop_test(tests, folders_say_rank_and_step, 0, sizeof folders / sizeof *folders);
    tcase_add_test(tests, data_meet_by_key_and_order);
    tcase_add_test(tests, checks_come_before_metrics);
    tcase_add_test(tests, statistics_are_compared_in_single_precision);
    tcase_add_test(tests, columns_may_be_missing);
    tcase_add_test(tests, ranks_and_steps_are_chosen);
    tcase_add_test(tests, folders_meet_by_their_names);
    tcase_add_test(tests, the_comparison_file_chooses);
    tcase_add_test(tests, modes_are_taken_apart);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
