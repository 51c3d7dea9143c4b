/* Corrections of tensors: which entries and files they are for, and what they do. */
#include "compare/dumps/tensor_fix.h"

#include <string.h>

#include "formats/npy.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct tensor_fix read_fix(const struct scratch *scratch, const char *yaml)
{
    struct tensor_fix fix;
    struct status status =
        tensor_fix_read(&fix, scratch_text(scratch, "fix.yaml", yaml), FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    return fix;
}

/* Without `padding` the two kernels that need it are known. */
START_TEST(padding_rules)
{
    struct scratch scratch = scratch_make();
    struct tensor_fix fix = read_fix(&scratch, "calibration: []\n");
    const struct fix_padding *padding =
        tensor_fix_padding(&fix, "NPU.npu_grouped_matmul.3.forward");
    ck_assert_ptr_nonnull(padding);
    ck_assert_str_eq(padding->key, "group_list");
    ck_assert(padding->side[FIX_NPU] && !padding->side[FIX_BENCH]);
    ck_assert_ptr_null(tensor_fix_padding(&fix, "Torch.matmul.0.forward"));
    tensor_fix_release(&fix);

    fix = read_fix(&scratch, "padding:\n  - {api: my_op, key: sizes, side: both}\n");
    padding = tensor_fix_padding(&fix, "NPU.my_op.0.forward");
    ck_assert_str_eq(padding->key, "sizes");
    ck_assert(padding->side[FIX_NPU] && padding->side[FIX_BENCH]);
    ck_assert_ptr_null(tensor_fix_padding(&fix, "NPU.npu_grouped_matmul.3.forward"));
    tensor_fix_release(&fix);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(rows_are_cleared)
{
    float elements[] = { 1, 2, 3, 4, 5, 6 };
    static const int64_t shape[] = { 3, 2 };
    struct arena arena = { 0 };
    struct tensor in, out;
    tensor_wrap(&in, elements, DT_F32, 2, shape);
    ck_assert_int_eq(tensor_clear_rows(&out, &arena, &in, 2).code, STATUS_OK);
    static const float expected[] = { 1, 2, 3, 4, 0, 0 };
    ck_assert_mem_eq(out.data, expected, sizeof expected);
    ck_assert(elements[5] == 6);
    ck_assert_int_eq(tensor_clear_rows(&out, &arena, &in, 100).code, STATUS_OK);
    ck_assert_mem_eq(out.data, elements, sizeof elements);
    arena_release(&arena);
}
END_TEST

/* (1 2 3) (4 5 6) times a 3 x 2 matrix, worked out by hand; shapes that do not fit. */
START_TEST(products)
{
    float elements[] = { 1, 2, 3, 4, 5, 6 };
    double matrix[] = { 1, 0, 0, 1, 2, -1 };
    static const int64_t shape[] = { 2, 3 }, square[] = { 3, 2 }, other[] = { 2, 3 };
    static const double expected[] = { 7, -1, 16, -1 };
    struct arena arena = { 0 };
    struct tensor in, by, out;
    tensor_wrap(&in, elements, DT_F32, 2, shape);
    tensor_wrap(&by, matrix, DT_F64, 2, square);
    ck_assert_int_eq(tensor_multiply_right(&out, &arena, &in, &by).code, STATUS_OK);
    ck_assert_int_eq(out.shape[1], 2);
    ck_assert_mem_eq(out.data, expected, sizeof expected);
    tensor_wrap(&by, matrix, DT_F64, 2, other);
    ck_assert_int_eq(tensor_multiply_right(&out, &arena, &in, &by).code, STATUS_BAD_INPUT);
    arena_release(&arena);
}
END_TEST

START_TEST(matrices_by_data_name)
{
    double matrix[] = { 1, 2, 3, 4 };
    static const int64_t shape[] = { 2, 2 };
    struct scratch scratch = scratch_make();
    struct arena arena = { 0 };
    struct tensor stored;
    tensor_wrap(&stored, matrix, DT_F64, 2, shape);
    ck_assert_int_eq(npy_write(scratch_path(&scratch, "m.npy"), &stored, &arena).code, STATUS_OK);
    struct tensor_fix fix = read_fix(&scratch, "calibration:\n  mode: right_matmul\n"
                                               "  target_tensor_map: {m.npy: [b.pt, a.pt]}\n");
    const struct tensor *found = tensor_fix_matrix(&fix, FIX_NPU, "a.pt");
    ck_assert_ptr_nonnull(found);
    ck_assert_mem_eq(found->data, matrix, sizeof matrix);
    ck_assert_ptr_null(tensor_fix_matrix(&fix, FIX_NPU, "c.pt"));
    ck_assert_ptr_null(tensor_fix_matrix(&fix, FIX_BENCH, "a.pt"));
    tensor_fix_release(&fix);
    arena_release(&arena);
    scratch_remove(&scratch);
}
END_TEST

static const char *const wrong[] = {
    "- 1\n",
    "padding: 3\n",
    "padding: [{api: x}]\n",
    "padding: [{api: x, key: y, side: left}]\n",
    "calibration: {mode: left}\n",
    "calibration: {mode: right_matmul, target_tensor_map: {no.npy: [a]}}\n",
    "calibration: {mode: right_matmul, target_tensor_map: [a]}\n",
};

START_TEST(wrong_files)
{
    struct scratch scratch = scratch_make();
    struct tensor_fix fix;
    struct status status =
        tensor_fix_read(&fix, scratch_text(&scratch, "fix.yaml", wrong[_i]), FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_fix");
    TCase *tests = tcase_create("tensor_fix");
    tcase_add_test(tests, padding_rules);
    tcase_add_test(tests, rows_are_cleared);
    tcase_add_test(tests, products);
    tcase_add_test(tests, matrices_by_data_name);
    tcase_add_loop_test(tests, wrong_files, 0, (int)(sizeof wrong / sizeof *wrong));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
