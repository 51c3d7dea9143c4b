/* API dumps compared by the flow of their calls: matching worked out by hand, cells from their
 * definitions, files and steps, inputs that are refused. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compare/api_dumps/api_flow.h"
#include "core/arena.h"
#include "core/memory.h"
#include "formats/npy.h"
#include "support/notes.h"
#include "support/suite.h"

/* An info file of a side: "name shape" pairs, ended by NULL. A name without one is taken as it is. */
static void write_dump(const char *side, const char *prefix, const char *const *lines)
{
    char command[600], path[300], text[8000] = "";
    snprintf(command, sizeof command, "mkdir -p %s/%s/rank0", place.path, side);
    ck_assert_int_eq(system(command), 0);
    for (; *lines; lines++) {
        const char *blank = strchr(*lines, ' ');
        size_t at = strlen(text);
        if (!blank) snprintf(text + at, sizeof text - at, "%s\n", *lines);
        else
            snprintf(text + at, sizeof text - at,
                     "[\"%.*s\", 0, [], \"float32\", %s, [1.5, -2.0, 0.25]]\n",
                     (int)(blank - *lines), *lines, blank + 1);
    }
    snprintf(path, sizeof path, "%s/rank0/%s_api_dump_info.pkl", side, prefix);
    write_file(in(&place, path), text, strlen(text));
}

static void write_values(const char *side, const char *prefix, const char *name, enum dtype dtype,
                         int rank, const int64_t *shape, const double *values)
{
    struct arena arena = { 0 };
    struct tensor tensor;
    char command[600], path[600];
    snprintf(command, sizeof command, "mkdir -p %s/%s/rank0/%s_api_dump", place.path, side, prefix);
    ck_assert_int_eq(system(command), 0);
    ck_assert(!tensor_create(&tensor, &arena, dtype, rank, shape).code);
    dtype_from_double(tensor.data, dtype, values, tensor_elements(&tensor));
    snprintf(path, sizeof path, "%s/%s/rank0/%s_api_dump/%s.npy", place.path, side, prefix, name);
    ck_assert(!npy_write(path, &tensor, &arena).code);
    arena_release(&arena);
}

static struct api_flow_request request;

static struct status open_flow(struct api_flow *flow)
{
    static char origin[300], target[300];
    snprintf(origin, sizeof origin, "%s", in(&place, "o"));
    snprintf(target, sizeof target, "%s", in(&place, "t"));
    request.origin = origin;
    request.target = target;
    request.tolerance = (struct tolerance){ 1e-4, 1e-4, request.tolerance.equal_nan };
    request.policy = FILES_TRUSTED;
    request.warnings = (struct warnings){ note, NULL };
    return api_flow_open(flow, &request);
}

/* The rows of a table of step 0, cells separated by '|', what is not there as '-'. */
static char *rows_of(enum flow_table_kind kind)
{
    struct api_flow flow;
    struct api_flow_step step;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    struct status status = open_flow(&flow);
    ck_assert_msg(!status.code, "%s", status.text);
    status = api_flow_compare(&step, &flow, 0);
    ck_assert_msg(!status.code, "%s", status.text);
    const struct flow_table *table = &step.tables[kind];
    for (size_t r = 0; r < table->n_rows; r++) {
        for (size_t i = 0; i < table->n_columns; i++) {
            const char *cell = table->rows[r][i] ? table->rows[r][i] : "-";
            if (i) fputc('|', out);
            for (; *cell; cell++) fputc(*cell == '\n' ? '+' : *cell, out);
        }
        fputc('\n', out);
    }
    fclose(out);
    api_flow_step_release(&step);
    api_flow_close(&flow);
    return text;
}

static void check_rows(enum flow_table_kind kind, const char *expected)
{
    char *got = rows_of(kind);
    ck_assert_str_eq(got, expected);
    free(got);
}

#define LINES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- matching --------------------------------------------------------------------------- */

/* A name of PyTorch's that MindSpore spells otherwise is the same call (bilinear, bidense), and so is
 * one of the same name; what lies between two anchors with calls on one side only is a group. */
START_TEST(anchors_by_unified_name_and_shapes)
{
    write_dump("o", "torch",
               LINES("Functional_bilinear_0_forward_input.0 [2, 3]",
                     "Functional_bilinear_0_forward_output.0 [2, 4]",
                     "Tensor_view_0_forward_input.0 [2, 4]", "Tensor_view_0_forward_output.0 [8]",
                     "Functional_relu_0_forward_input.0 [8]",
                     "Functional_relu_0_forward_output.0 [8]"));
    write_dump("t", "mindspore",
               LINES("Functional_bidense_0_forward_input.0 [2, 3]",
                     "Functional_bidense_0_forward_output.0 [2, 4]",
                     "Functional_relu_5_forward_input.0 [8]",
                     "Functional_relu_5_forward_output.0 [8]"));
    check_rows(FLOW_MAPPING, "Functional_bilinear_0|Functional_bidense_0\n"
                             "Tensor_view_0|\n"
                             "Functional_relu_0|Functional_relu_5\n");
}
END_TEST

/* The name table is PyTorch's: on other sides names stand for themselves. */
START_TEST(only_names_of_pytorch_are_looked_up)
{
    write_dump("o", "mindtorch",
               LINES("Functional_bilinear_0_forward_input.0 [2]",
                     "Functional_bilinear_0_forward_output.0 [3]"));
    write_dump("t", "mindspore",
               LINES("Functional_bidense_0_forward_input.0 [2]",
                     "Functional_bidense_0_forward_output.0 [3]"));
    struct api_flow flow;
    ck_assert(!open_flow(&flow).code);
    ck_assert_int_ne(flow.origin.steps[0].calls[0].attribute,
                     flow.target.steps[0].calls[0].attribute);
    api_flow_close(&flow);
}
END_TEST

/* One linear does what matmul and add do together: the gap is cut only where outputs before and inputs
 * behind have equal shapes on both sides. */
START_TEST(several_calls_can_be_one)
{
    write_dump("o", "torch",
               LINES("Functional_linear_0_forward_input.0 [4, 3]",
                     "Functional_linear_0_forward_output.0 [4, 5]",
                     "Functional_gelu_0_forward_input.0 [4, 5]",
                     "Functional_gelu_0_forward_output.0 [4, 5]",
                     "Torch_sum_0_forward_input.0 [4, 5]", "Torch_sum_0_forward_output.0 []"));
    write_dump("t", "mindspore",
               LINES("Functional_matmul_0_forward_input.0 [4, 3]",
                     "Functional_matmul_0_forward_output.0 [1, 4, 5]",
                     "Functional_add_0_forward_input.0 [1, 4, 5]",
                     "Functional_add_0_forward_output.0 [4, 5]",
                     "Functional_gelus_0_forward_input.0 [4, 5]",
                     "Functional_gelus_0_forward_output.0 [4, 5]",
                     "Functional_sums_0_forward_input.0 [4, 5]",
                     "Functional_sums_0_forward_output.0 []"));
    check_rows(FLOW_MAPPING, "Functional_linear_0|Functional_matmul_0+Functional_add_0\n"
                             "Functional_gelu_0|Functional_gelus_0\n"
                             "Torch_sum_0|Functional_sums_0\n");
    /* inputs of the firsts, what passes inside, outputs of the lasts */
    check_rows(FLOW_FORWARD,
               "Functional_linear_0_forward_input.0|Functional_matmul_0_forward_input.0|[4, 3]|[4, "
               "3]|0.00000, 0.00000, 0.00000\n"
               "-|Functional_matmul_0_forward_output.0|-|[1, 4, 5]|nan, nan, nan\n"
               "-|Functional_add_0_forward_input.0|-|[1, 4, 5]|nan, nan, nan\n"
               "Functional_linear_0_forward_output.0|Functional_add_0_forward_output.0|[4, 5]|[4, "
               "5]|0.00000, 0.00000, 0.00000\n"
               "Functional_gelu_0_forward_input.0|Functional_gelus_0_forward_input.0|[4, 5]|[4, 5]|"
               "0.00000, 0.00000, 0.00000\n"
               "Functional_gelu_0_forward_output.0|Functional_gelus_0_forward_output.0|[4, 5]|[4, "
               "5]|0.00000, 0.00000, 0.00000\n"
               "Torch_sum_0_forward_input.0|Functional_sums_0_forward_input.0|[4, 5]|[4, 5]|"
               "0.00000, 0.00000, 0.00000\n"
               "Torch_sum_0_forward_output.0|Functional_sums_0_forward_output.0|[]|[]|0.00000, "
               "0.00000, 0.00000\n");
    ck_assert_ptr_nonnull(strstr(warnings, "has no .npy files"));
}
END_TEST

/* Only the first input and output of batch_norm take part, on both sides; modules begin with a LAYER
 * line, which is matched and mapped and has no values. */
START_TEST(lists_of_the_table_and_layers)
{
    write_dump("o", "torch",
               LINES("LAYER_net.bn_forward_input [2, 3]",
                     "Functional_batch_norm_0_forward_input.0 [2, 3]",
                     "Functional_batch_norm_0_forward_input.1 [3]",
                     "Functional_batch_norm_0_forward_input.2 [3]",
                     "Functional_batch_norm_0_forward_output.0 [2, 3]"));
    write_dump("t", "mindspore",
               LINES("LAYER_net.bn_forward_input [2, 3]",
                     "Functional_batch_norm_7_forward_input.0 [2, 3]",
                     "Functional_batch_norm_7_forward_output.0 [2, 3]",
                     "Functional_batch_norm_7_forward_output.1 [3]"));
    check_rows(FLOW_MAPPING, "LAYER_net.bn|LAYER_net.bn\n"
                             "Functional_batch_norm_0|Functional_batch_norm_7\n");
    check_rows(FLOW_FORWARD,
               "Functional_batch_norm_0_forward_input.0|Functional_batch_norm_7_forward_input.0|"
               "[2, 3]|[2, 3]|0.00000, 0.00000, 0.00000\n"
               "Functional_batch_norm_0_forward_output.0|Functional_batch_norm_7_forward_output.0|"
               "[2, 3]|[2, 3]|0.00000, 0.00000, 0.00000\n");
}
END_TEST

/* The backward pass runs the other way. */
START_TEST(backward_rows_are_reversed)
{
    const char *const *lines =
        LINES("Functional_a_0_forward_input.0 [2]", "Functional_a_0_forward_output.0 [3]",
              "Functional_b_0_forward_input.0 [3]", "Functional_b_0_forward_output.0 [4]",
              "Functional_b_0_backward_input.0 [4]", "Functional_a_0_backward_input.0 [3]",
              "Functional_z_0_backward_input.0 [3]");
    write_dump("o", "torch", lines);
    write_dump("t", "torch", lines);
    check_rows(FLOW_BACKWARD,
               "Functional_b_0_backward_input.0|Functional_b_0_backward_input.0|[4]|[4]|0.00000, "
               "0.00000, 0.00000\n"
               "Functional_a_0_backward_input.0|Functional_a_0_backward_input.0|[3]|[3]|0.00000, "
               "0.00000, 0.00000\n");
    request.ignore_backward = true;
    check_rows(FLOW_BACKWARD, "");
    request.ignore_backward = false;
}
END_TEST

/* Data are paired by shapes in order; what is left is shown unless it is not wanted. */
START_TEST(values_without_a_partner)
{
    write_dump("o", "torch",
               LINES("Functional_f_0_forward_input.0 [2]", "Functional_f_0_forward_input.1 [3]",
                     "Functional_f_0_forward_input.2 [4]", "Functional_f_0_forward_output [5]"));
    write_dump("t", "torch",
               LINES("Functional_f_0_forward_input.0 [2]", "Functional_f_0_forward_input.1.0 [4]",
                     "Functional_f_0_forward_input.1.1 [6]", "Functional_f_0_forward_output [5]"));
#define SAME  "|0.00000, 0.00000, 0.00000\n"
#define FIRST "Functional_f_0_forward_input.0|Functional_f_0_forward_input.0|[2]|[2]" SAME
#define FOURS "Functional_f_0_forward_input.2|Functional_f_0_forward_input.1.0|[4]|[4]" SAME
#define LAST  "Functional_f_0_forward_output|Functional_f_0_forward_output|[5]|[5]" SAME
    check_rows(FLOW_FORWARD, FIRST "Functional_f_0_forward_input.1|-|[3]|-|nan, nan, nan\n" FOURS
                                   "-|Functional_f_0_forward_input.1.1|-|[6]|nan, nan, nan\n" LAST);
    request.ignore_unmatched = true;
    check_rows(FLOW_FORWARD, FIRST FOURS LAST);
    request.ignore_unmatched = false;
}
END_TEST

/* A backward line behind forward ones ends the step; the number of steps may differ. */
START_TEST(steps_end_with_their_backward_pass)
{
    const char *const *two =
        LINES("Functional_a_0_forward_input.0 [2]", "Functional_a_0_backward_input.0 [2]",
              "Functional_a_1_forward_input.0 [2]", "Functional_a_1_backward_input.0 [2]");
    const char *const *one =
        LINES("Functional_a_0_forward_input.0 [2]", "", "Functional_behind_0_forward_input.0 [2]");
    struct api_flow flow;
    write_dump("o", "torch", two);
    write_dump("t", "torch", one); /* a blank line ends the file */
    ck_assert(!open_flow(&flow).code);
    ck_assert_uint_eq(flow.origin.n_steps, 2);
    ck_assert_uint_eq(flow.target.n_steps, 1);
    ck_assert_uint_eq(flow.target.steps[0].count, 1);
    ck_assert_uint_eq(flow.n_steps, 1);
    ck_assert_ptr_nonnull(strstr(warnings, "the first 1 are compared"));
    api_flow_close(&flow);
}
END_TEST

/* ---- cells ------------------------------------------------------------------------------ */

static char *compare_values(enum dtype dtype, int rank, const int64_t *shape, const double *a,
                            const double *b)
{
    const char *const *lines = LINES("Functional_f_0_forward_input.0 [1]");
    write_dump("o", "torch", lines);
    write_dump("t", "mindspore", lines);
    write_values("o", "torch", "Functional_f_0_forward_input.0", dtype, rank, shape, a);
    write_values("t", "mindspore", "Functional_f_0_forward_input.0", dtype, rank, shape, b);
    char *rows = rows_of(FLOW_FORWARD);
    memmove(rows, strchr(strchr(rows, '|') + 1, '|') + 1, /* without the names */
            strlen(strchr(strchr(rows, '|') + 1, '|')));
    return rows;
}

static const struct {
    enum dtype dtype;
    int64_t n; /* -1: no dimensions */
    double a[4], b[4];
    bool equal_nan;
    const char *cells;
} values[] = {
    { DT_F32,
      4,
      { 1, 2, 3, 4 },
      { 1, 2, 3, 4 },
      false,
      "(4,)|(4,)|True|100.00%|1.00000|0.00000, 0.00000\n" },
    /* 2/3 of the elements, cut and not rounded; the mean is over the one that differs; the cosine is
     * 15.5 / sqrt(14 * 17.25) = 0.997408... */
    { DT_F64,
      3,
      { 1, 2, 3 },
      { 1, 2, 3.5 },
      false,
      "(3,)|(3,)|False|66.66%|0.99740|0.50000, 0.50000\n" },
    /* 1e-4 + 1e-4 * |b| is the limit: b = 1 allows 2e-4 */
    { DT_F64,
      2,
      { 1.00019, 5 },
      { 1, 5 },
      false,
      "(2,)|(2,)|True|100.00%|0.99999|0.00018, 0.00018\n" },
    { DT_F64,
      2,
      { 1.00021, 5 },
      { 1, 5 },
      false,
      "(2,)|(2,)|False|50.00%|0.99999|0.00021, 0.00021\n" },
    { DT_F32, -1, { 2 }, { 2 }, false, "()|()|True|100.00%|1.00000|0.00000, 0.00000\n" },
    { DT_F32, 2, { NAN, 1 }, { NAN, 1 }, false, "(2,)|(2,)|False|50.00%|nan|nan, nan\n" },
    { DT_F32, 2, { NAN, 1 }, { NAN, 1 }, true, "(2,)|(2,)|True|100.00%|nan|nan, nan\n" },
    { DT_F32,
      2,
      { INFINITY, 1 },
      { INFINITY, 1 },
      false,
      "(2,)|(2,)|True|100.00%|1.00000|0.00000, 0.00000\n" },
    { DT_F32, 2, { 1, 1 }, { INFINITY, 1 }, false, "(2,)|(2,)|False|50.00%|nan|inf, inf\n" },
    { DT_F32, 2, { 0, 0 }, { 0, 1 }, false, "(2,)|(2,)|False|50.00%|nan|1.00000, 1.00000\n" },
    { DT_F64,
      2,
      { 1e-17, 0 },
      { 0, 1e-17 },
      false,
      "(2,)|(2,)|True|100.00%|1.00000|0.00000, 0.00000\n" },
    { DT_F32, 2, { 1, 0 }, { -1, 0 }, false, "(2,)|(2,)|False|50.00%|-1.00000|2.00000, 2.00000\n" },
    { DT_I64, 2, { 3, 4 }, { 3, 5 }, false, "(2,)|(2,)|False|50.00%|0.99469|1.00000, 1.00000\n" },
    { DT_BOOL, 2, { 1, 0 }, { 1, 1 }, false, "(2,)|(2,)|False|50.00%|0.70710|1.00000, 1.00000\n" },
    { DT_F32, 0, { 0 }, { 0 }, false, "(0,)|(0,)|True|100.00%|1.00000|0.00000, 0.00000\n" },
};

START_TEST(cells_follow_from_their_definitions)
{
    request.tolerance.equal_nan = values[_i].equal_nan;
    char *cells = compare_values(values[_i].dtype, values[_i].n >= 0, &values[_i].n, values[_i].a,
                                 values[_i].b);
    request.tolerance.equal_nan = false;
    ck_assert_str_eq(cells, values[_i].cells);
    free(cells);
}
END_TEST

/* Shapes that differ, a file that is missing, one that is damaged: rows like others. */
START_TEST(values_that_cannot_be_compared)
{
    const char *const *lines = LINES("Functional_f_0_forward_input.0 [2]",
                                     "Functional_f_0_forward_input.1 [2]",
                                     "Functional_f_0_forward_output.0 [2]");
    write_dump("o", "torch", lines);
    write_dump("t", "torch", lines);
    double one[4] = { 1, 1, 1, 1 };
    write_values("o", "torch", "Functional_f_0_forward_input.0", DT_F32, 1, (int64_t[]){ 2 }, one);
    write_values("t", "torch", "Functional_f_0_forward_input.0", DT_F32, 2, (int64_t[]){ 2, 1 },
                 one);
    write_values("o", "torch", "Functional_f_0_forward_input.1", DT_F32, 1, (int64_t[]){ 2 }, one);
    write_values("o", "torch", "Functional_f_0_forward_output.0", DT_F32, 1, (int64_t[]){ 2 }, one);
    write_file(in(&place, "t/rank0/torch_api_dump/Functional_f_0_forward_output.0.npy"), "x", 1);
    check_rows(FLOW_FORWARD,
               "Functional_f_0_forward_input.0|Functional_f_0_forward_input.0|(2,)|(2, 1)|Shape is "
               "inconsistent|0.00%|nan|nan, nan\n"
               "Functional_f_0_forward_input.1|Functional_f_0_forward_input.1|(2,)|-|False|0.00%|"
               "nan|nan, nan\n"
               "Functional_f_0_forward_output.0|Functional_f_0_forward_output.0|(2,)|-|False|0.00%|"
               "nan|nan, nan\n");
    ck_assert_ptr_nonnull(strstr(warnings, "2 files could not be read"));
}
END_TEST

/* A name from the file leads nowhere outside the folder of the data. */
START_TEST(names_cannot_leave_the_folder)
{
    const char *const *lines = LINES("Functional_/../../../secret_0_forward_input.0 [2]",
                                     "Functional_f_0_forward_input.0 [2]");
    double two[2] = { 1, 2 };
    write_dump("o", "torch", lines);
    write_dump("t", "torch", lines);
    write_values("o", "torch", "Functional_f_0_forward_input.0", DT_F32, 1, (int64_t[]){ 2 }, two);
    write_values("t", "torch", "Functional_f_0_forward_input.0", DT_F32, 1, (int64_t[]){ 2 }, two);
    char *rows = rows_of(FLOW_FORWARD);
    ck_assert_ptr_nonnull(strstr(rows, "secret_0_forward_input.0|-|-|False"));
    free(rows);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------ */

static const struct {
    const char *line, *message;
} broken[] = {
    { "{}", "torch_api_dump_info.pkl, line 2: " },
    { "[1]", "torch_api_dump_info.pkl, line 2: " },
    { "[\"Functional_f_0_forward_input.0\",0,[]]", "line 2: fewer than five items" },
    { "[\"Functional_f_0_forward_input.0\",0,[],\"f\",[-1],[]]", "line 2: not a shape" },
    { "[\"Functional_f_0_forward_input.0\",0,[],\"f\",[2],[1.0]", "line 2: " },
};

START_TEST(lines_that_are_no_records_are_refused)
{
    struct api_flow flow;
    write_dump("o", "torch", LINES("Functional_f_0_forward_input.0 [2]", broken[_i].line));
    write_dump("t", "torch", LINES("Functional_f_0_forward_input.0 [2]"));
    struct status status = open_flow(&flow);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, broken[_i].message) != NULL, "%s", status.text);
    api_flow_close(&flow);
}
END_TEST

START_TEST(folders_that_are_no_dumps_are_refused)
{
    struct api_flow flow;
    struct status status = open_flow(&flow);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "is no API dump: it has no rank0/"));
    api_flow_close(&flow);
    write_dump("o", "torch", LINES("something_else [2]"));
    write_dump("t", "torch", LINES("Functional_f_0_forward_input.0 [2]"));
    status = open_flow(&flow);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "/o has no forward call"));
    ck_assert_ptr_nonnull(strstr(warnings, "1 lines whose name is not that of a call"));
    api_flow_close(&flow);
}
END_TEST

/* mindtorch comes before mindspore and that before torch. */
START_TEST(frameworks_are_looked_for_in_order)
{
    struct api_flow flow;
    write_dump("o", "torch", LINES("Functional_f_0_forward_input.0 [2]"));
    write_dump("o", "mindspore", LINES("Functional_g_0_forward_input.0 [2]"));
    write_dump("t", "torch", LINES("Functional_f_0_forward_input.0 [2]"));
    ck_assert(!open_flow(&flow).code);
    ck_assert_int_eq(flow.origin.framework, API_MINDSPORE);
    ck_assert_int_eq(flow.target.framework, API_PYTORCH);
    api_flow_close(&flow);
}
END_TEST

START_TEST(tables_as_files_and_boxes)
{
    struct flow_table table = { .title = "T", .headers = { "one", "two" }, .n_columns = 2 };
    struct csv_buffer text = { 0 };
    ck_assert(!flow_table_add(&table, (const char *const[]){ "a\"b\nc", NULL }).code);
    ck_assert(!flow_table_write(&text, &table).code);
    ck_assert(!csv_append_bytes(&text, "", 1).code);
    ck_assert_str_eq(text.data, "\"one\",\"two\"\n\"a\"\"b\nc\",\"\"\n");
    csv_buffer_clear(&text);
    ck_assert(!flow_table_show(&text, &table, true).code);
    ck_assert(!csv_append_bytes(&text, "", 1).code);
    ck_assert_str_eq(text.data, "T\n"
                                "+-----+------+\n"
                                "| one | two  |\n"
                                "+-----+------+\n"
                                "| a\"b | None |\n"
                                "| c   |      |\n"
                                "+-----+------+\n");
    csv_buffer_release(&text);
    memory_release(table.rows);
}
END_TEST

/* The command writes the three files for nobody else to read, and prints the tables. */
START_TEST(the_command_writes_three_files)
{
    struct stat info;
    char command[1600];
    const char *const *lines = LINES("Functional_f_0_forward_input.0 [2]");
    write_dump("o", "torch", lines);
    write_dump("t", "mindspore", lines);
    snprintf(command, sizeof command,
             "cd %s && %s -f mindspore api_dump_compare o t -o out >printed 2>err && grep -q '^0 "
             "compared values are not close' printed && ! %s api_dump_compare o t2 --fail-on error "
             "--quiet >/dev/null 2>err && %s api_dump_compare o t2 --atol 0.25 --fail-on error "
             "--quiet >/dev/null 2>err",
             place.path, PROBE_UT, PROBE_UT, PROBE_UT);
    write_dump("t2", "torch",
               LINES("[\"Functional_f_0_forward_input.0\",0,[],\"f\",[2],[1.5,-2.0,0.5]]"));
    ck_assert_int_eq(system(command), 0);
    static const char *const names[] = { "out", "out/ts_api_mapping.csv",
                                         "out/ts_api_forward_compare.csv",
                                         "out/ts_api_backward_compare.csv" };
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(stat(in(&place, names[i]), &info), 0);
        ck_assert_int_eq(info.st_mode & 0777, i ? 0600 : 0700);
    }
    FILE *file = fopen(in(&place, names[2]), "r");
    char line[300];
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "\"ORIGIN NET (pytorch)\",\"TARGET NET (mindspore)\",\"shape of orig\","
                           "\"shape of target\",\"max, min, mean diffs\"\n");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "\"Functional_f_0_forward_input.0\",\"Functional_f_0_forward_input.0\","
                           "\"[2]\",\"[2]\",\"0.00000, 0.00000, 0.00000\"\n");
    fclose(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_flow");
    TCase *tests = tcase_create("api_flow");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, anchors_by_unified_name_and_shapes);
    tcase_add_test(tests, only_names_of_pytorch_are_looked_up);
    tcase_add_test(tests, several_calls_can_be_one);
    tcase_add_test(tests, lists_of_the_table_and_layers);
    tcase_add_test(tests, backward_rows_are_reversed);
    tcase_add_test(tests, values_without_a_partner);
    tcase_add_test(tests, steps_end_with_their_backward_pass);
    tcase_add_loop_test(tests, cells_follow_from_their_definitions, 0,
                        sizeof values / sizeof *values);
    tcase_add_test(tests, values_that_cannot_be_compared);
    tcase_add_test(tests, names_cannot_leave_the_folder);
    tcase_add_loop_test(tests, lines_that_are_no_records_are_refused, 0,
                        sizeof broken / sizeof *broken);
    tcase_add_test(tests, folders_that_are_no_dumps_are_refused);
    tcase_add_test(tests, frameworks_are_looked_for_in_order);
    tcase_add_test(tests, tables_as_files_and_boxes);
    tcase_add_test(tests, the_command_writes_three_files);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
