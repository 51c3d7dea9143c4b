/* Calls whose results are known without a computer, and calls that must be refused. */
#include <check.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/holds.h"
#include "bench/samples.h"
#include "support/suite.h"

/* Plain values. */
static const struct {
    const char *call;
    size_t count;
    enum value_kind kind;
    double values[4];
} questions[] = {
    { "Tensor.size(f32(2,3))", 2, VALUE_INT, { 2, 3 } },
    { "Tensor.size(f32(2,3), -1)", 1, VALUE_INT, { 3 } },
    { "Tensor.stride(f32(2,3,4))", 3, VALUE_INT, { 12, 4, 1 } },
    { "Tensor.dim(f32(2,3))", 1, VALUE_INT, { 2 } },
    { "Torch.numel(f32(2,0))", 1, VALUE_INT, { 0 } },
    { "Tensor.__len__(f32(5,2))", 1, VALUE_INT, { 5 } },
    { "Tensor.element_size(f16(2))", 1, VALUE_INT, { 2 } },
    { "Tensor.item(f32(1)[2.5])", 1, VALUE_FLOAT, { 2.5 } },
    { "Tensor.item(i64()[-7])", 1, VALUE_INT, { -7 } },
    { "Tensor.item(bool()[1])", 1, VALUE_BOOL, { 1 } },
    { "Tensor.__bool__(f32(1)[0])", 1, VALUE_BOOL, { 0 } },
    { "Tensor.__nonzero__(i64()[3])", 1, VALUE_BOOL, { 1 } },
    { "Tensor.tolist(i64(2,2)[1 2 3 4])", 4, VALUE_INT, { 1, 2, 3, 4 } },
    { "Torch.is_floating_point(bf16(1))", 1, VALUE_BOOL, { 1 } },
    { "Tensor.is_complex(f32(1))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_signed(u8(1))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_same_size(f32(2), f32(2,1))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_same_size(f32(2), f32(3))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_same_size(f32(2,0), f32(2,0))", 1, VALUE_BOOL, { 1 } },
    { "Torch.is_floating_point(i64(1))", 1, VALUE_BOOL, { 0 } },
    { "Torch.is_complex(c64(1))", 1, VALUE_BOOL, { 1 } },
    { "Torch.is_signed(bool(1))", 1, VALUE_BOOL, { 0 } },
    { "Torch.is_signed(i8(1))", 1, VALUE_BOOL, { 1 } },
    { "Tensor.is_contiguous(f32(2))", 1, VALUE_BOOL, { 1 } },
    { "Torch.is_conj(c64(2))", 1, VALUE_BOOL, { 0 } },
    { "Torch.is_nonzero(f32(1)[nan])", 1, VALUE_BOOL, { 1 } },
    { "Tensor.__int__(f32()[2.75])", 1, VALUE_INT, { 2 } },
    { "Tensor.__int__(i64()[-7])", 1, VALUE_INT, { -7 } },
    { "Tensor.__int__(c64(1)[2.75 0])", 1, VALUE_INT, { 2 } },
    { "Tensor.__float__(c64(1)[2.75 0])", 1, VALUE_FLOAT, { 2.75 } },
    { "Tensor.__float__(i64()[-7])", 1, VALUE_FLOAT, { -7 } },
    { "Tensor.__bool__(i64()[0])", 1, VALUE_BOOL, { 0 } },
    { "Tensor.tolist(f32(0))", 0, VALUE_INT, { 0 } },
    { "Tensor.tolist(f32()[1.5])", 1, VALUE_FLOAT, { 1.5 } },
    { "Tensor.stride(f32(2,3), 0)", 1, VALUE_INT, { 3 } },
    { "Tensor.size(f32())", 0, VALUE_INT, { 0 } },
    { "Torch.can_cast(torch.bool, torch.uint8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.uint8, torch.bool)", 1, VALUE_BOOL, { 0 } },
    { "Torch.can_cast(torch.uint8, torch.uint8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.uint8, torch.int8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.int8, torch.uint8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.int64, torch.int8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.int64, torch.float16)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.float16, torch.int64)", 1, VALUE_BOOL, { 0 } },
    { "Torch.can_cast(torch.float64, torch.complex64)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.complex64, torch.float64)", 1, VALUE_BOOL, { 0 } },
};

START_TEST(questions_have_plain_answers)
{
    struct arena arena = { 0 };
    struct sample call = { 0 };
    struct bench *bench;

    ck_assert_msg(!sample_parse(&call, questions[_i].call, &arena), "%s", questions[_i].call);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", questions[_i].call, st.text);
    ck_assert_uint_eq(bench_output_count(bench), questions[_i].count);
    for (size_t i = 0; i < questions[_i].count; i++) {
        const struct bench_output *output = bench_output(bench, i);
        ck_assert_int_eq(output->kind, BENCH_OUTPUT_VALUE);
        ck_assert_int_eq(output->value.kind, questions[_i].kind);
        double x = output->value.kind == VALUE_INT    ? (double)output->value.integer
                   : output->value.kind == VALUE_BOOL ? output->value.boolean
                                                      : output->value.real;
        ck_assert_double_eq(x, questions[_i].values[i]);
    }
    arena_release(&arena);
}
END_TEST

/* Calls whose results are known without a computer. */
static const struct {
    const char *call, *outputs;
    /* clang-format off */
} answers[] = {
    { "Torch.as_strided_scatter(f32(6)[0 0 0 0 0 0], f32(2,2)[1 2 3 4], (2,2), (4,1))", "Any.f(f32(6)[1 2 0 0 3 4])" },
    { "Torch.as_strided_scatter(f32(5)[9 9 9 9 9], f32(2)[1 2], (2,), (1,), 2)", "Any.f(f32(5)[9 9 1 2 9])" },
    { "Torch.slice_scatter(f32(4)[1 2 3 4], f32(2)[8 9], 0, 1, 3)", "Any.f(f32(4)[1 8 9 4])" },
    { "Torch.slice_scatter(f32(5)[1 2 3 4 5], f32(2)[8 9], 0, -4, -1, 2)", "Any.f(f32(5)[1 8 3 9 5])" },
    { "Torch.slice_scatter(f32(3)[1 2 3], f32(3)[7 8 9], 0, -9, 9)", "Any.f(f32(3)[7 8 9])" },
    { "Torch.slice_scatter(f32(3)[1 2 3], f32(0), 0, 2, 1)", "Any.f(f32(3)[1 2 3])" },
    { "Torch.slice_scatter(f32(3)[1 2 3], f32(1)[7], 0, 1, None, 9223372036854775807)", "Any.f(f32(3)[1 7 3])" },
    { "Torch.select_scatter(f32(2,2)[1 2 3 4], f32(2)[8 9], 1, -1)", "Any.f(f32(2,2)[1 8 3 9])" },
    { "Tensor.__getitem__(f32(5)[1 2 3 4 5], slice(i64()[1], i64(1)[4], None))", "Any.f(f32(3)[2 3 4])" },
    { "Tensor.__getitem__(f32(3)[1 2 3], [i64()[2], 0])", "Any.f(f32(2)[3 1])" },
    { "Tensor.unfold(f32(4)[1 2 3 4], 0, 2, 9223372036854775807)", "Any.f(f32(1,2)[1 2])" },
    { "Tensor.unfold(f32(4)[1 2 3 4], 0, 1, 3)", "Any.f(f32(2,1)[1 4])" },
    { "Torch.constant_pad_nd(i64(1)[5], (0,1), 9007199254740993)", "Any.f(i64(2)[5 9007199254740993])" },
    { "Torch.constant_pad_nd(bool(1)[0], (0,1), 5)", "Any.f(bool(2)[0 1])" },
    { "Torch.complex(f32(2,1)[1 2], f32(1,2)[3 4])", "Any.f(c64(2,2)[1 3 1 4 2 3 2 4])" },
    { "Torch.vdot(c64(2)[1 2 3 4], c64(2)[5 6 7 8])", "Any.f(c64()[70 -8])" },
    { "Torch.linalg.vecdot(c64(2)[1 2 3 4], c64(2)[5 6 7 8])", "Any.f(c64()[70 -8])" },
    { "Torch.cross(i64(2,3)[1 0 0 0 1 0], i64(2,3)[0 1 0 0 0 1])", "Any.f(i64(2,3)[0 0 1 1 0 0])" },
    { "Torch.linalg.cross(f32(3,3)[1 0 0 0 1 0 0 0 1], f32(3,3)[0 1 0 0 0 1 1 0 0])",
      "Any.f(f32(3,3)[0 0 1 1 0 0 0 1 0])" },
    { "Torch.einsum(\"ab\", f32(2,2)[1 2 3 4])", "Any.f(f32(2,2)[1 2 3 4])" },
    { "Torch.einsum(\"ba\", f32(2,2)[1 2 3 4])", "Any.f(f32(2,2)[1 3 2 4])" },
    { "Torch.einsum(\"aB\", f32(2,2)[1 2 3 4])", "Any.f(f32(2,2)[1 3 2 4])" }, /* capitals sort first */
    { "Torch.tensordot(f32(2,2)[1 2 3 4], f32(2)[1 1], [[1],[0]])", "Any.f(f32(2)[3 7])" },
    { "Functional.conv1d(f32(1,1,3)[1 2 3], f32(1,1,2)[1 1], padding=\"valid\")", "Any.f(f32(1,1,2)[3 5])" },
    { "Functional.conv1d(f32(1,1,3)[1 2 3], f32(1,1,2)[1 1], padding=\"same\")", "Any.f(f32(1,1,3)[3 5 3])" },
    { "Functional.conv1d(f32(1,1,3)[1 2 3], f32(1,1,3)[1 1 1], padding=\"same\")", "Any.f(f32(1,1,3)[3 6 5])" },
    { "Functional.pad(f32(1,2)[1 2], (0,0), mode=\"replicate\")", "Any.f(f32(1,2)[1 2])" },
    { "Functional.pad(f32(1,3)[1 2 3], (-1,2), mode=\"replicate\")", "Any.f(f32(1,4)[2 3 3 3])" },
    { "Functional.conv1d(u8(1,1,2)[200 100], u8(1,1,2)[1 1])", "Any.f(u8(1,1,1)[44])" },
    { "Torch.diff(f32(2)[1 3], 0, prepend=f32(1)[7])", "Any.f(f32(2)[1 3])" },
    { "Torch.isclose(f32(2)[1 2], c64(2)[1 0 2 1])", "Any.f(bool(2)[1 0])" },
    { "Torch.movedim(f32(1,2)[1 2], 0, 1)", "Any.f(f32(2,1)[1 2])" },
    { "Torch.matrix_power(f32(2,2)[1 1 0 1], 5)", "Any.f(f32(2,2)[1 5 0 1])" },
    { "Torch.matrix_power(f32(2,2)[1 1 0 1], 0)", "Any.f(f32(2,2)[1 0 0 1])" },
    { "Aten.embedding_dense_backward(f32(3,2)[1 2 3 4 5 6], i64(3)[1 0 1], 2, 0, False)", "Any.f(f32(2,2)[0 0 6 8])" },
    { "Aten.embedding_dense_backward(f32(3,2)[1 2 3 4 5 6], i64(3)[1 0 1], 2, -1, True)", "Any.f(f32(2,2)[3 4 3 4])" },
    { "Functional.embedding_bag(f32(3,2)[1 2 3 4 5 6], i64(3)[2 0 1], i64(2)[0 2], mode=\"sum\")",
      "Any.f(f32(2,2)[6 8 3 4])" }, /* weight and indices exchanged */
    { "Torch.bitwise_left_shift(i64(3)[1 1 1], i64(3)[-1 63 64])", "Any.f(i64(3)[0 -9223372036854775808 0])" },
    { "Torch.bitwise_right_shift(i64(3)[-8 -8 8], i64(3)[64 -1 64])", "Any.f(i64(3)[-1 -1 0])" },
    { "Tensor.type(f32(2)[1.5 -2.5], \"torch.LongTensor\")", "Any.f(i64(2)[1 -2])" },
    { "Tensor.type(i64(2)[3 0], \"torch.bool\")", "Any.f(bool(2)[1 0])" },
    { "Tensor.type(f32(1)[1.5], torch.float64)", "Any.f(f64(1)[1.5])" },
    /* Far below 0 by reflection, not by so many terms. */
    { "Torch.polygamma(1, f64(1)[-20000000.5])", "Any.f(f64(1)[9.869604351089361])" },
    { "Torch.polygamma(2, f64(1)[-20000000.25])", "Any.f(f64(1)[124.02510672119928])" },
    { "Tensor.type(bf16(1)[1.5])", "Any.f(\"torch.BFloat16Tensor\")" },
};
/* clang-format on */

START_TEST(small_calls_have_known_answers)
{
    struct arena arena = { 0 };
    struct sample call = { 0 }, want = { 0 };
    struct bench *bench;
    const char *problem = sample_parse(&call, answers[_i].call, &arena);
    ck_assert_msg(!problem, "%s: %s", answers[_i].call, problem);
    ck_assert_msg(!sample_parse(&want, answers[_i].outputs, &arena), "%s", answers[_i].outputs);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", answers[_i].call, st.text);
    ck_assert_uint_eq(bench_output_count(bench), want.c.args.list.count);
    for (size_t k = 0; k < want.c.args.list.count; k++) {
        const struct reference *r = &bench_output(bench, k)->reference;
        if (want.c.args.list.items[k].kind == VALUE_STRING) {
            ck_assert_str_eq(bench_output(bench, k)->value.string,
                             want.c.args.list.items[k].string);
            continue;
        }
        const struct tensor *w = want.c.args.list.items[k].tensor.tensor;
        size_t n = tensor_elements(w) * (dtype_is_complex(w->dtype) ? 2 : 1);
        double *x = arena_allocate_array(&arena, n, sizeof *x);
        dtype_to_double(x, w->data, w->dtype, tensor_elements(w));
        ck_assert_int_eq(r->dtype, w->dtype);
        ck_assert_int_eq(r->rank, w->rank);
        for (int d = 0; d < r->rank; d++) ck_assert_int_eq(r->shape[d], w->shape[d]);
        for (size_t i = 0; i < n; i++) {
            double have = r->integer ? (double)r->integer[i] : r->hi[i];
            ck_assert_msg(have == x[i], "%s: element %zu is %.17g, not %.17g", answers[_i].call, i,
                          have, x[i]);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Calls that must be refused, and the word that says why. */
static const struct {
    const char *call, *reason;
    /* clang-format off */
} refusals[] = {
    { "Tensor.resize_(f32(2,3), 3, 3)", "no defined value" },
    { "NPU.npu_scaled_masked_softmax(f32(4), bool(4), 1, True)", "two dimensions" },
    { "NPU.npu_fusion_attention(f32(), f32(), f32(), 2, \"BSH\")", "0 dimensions for the layout" },
    { "NPU.npu_fusion_attention(f32(2,4), f32(2,4), f32(2,4), 2, \"BNSD\")", "2 dimensions for the layout" },
    { "NPU.npu_fusion_attention(f32(1,2,5), f32(1,2,5), f32(1,2,5), 2, \"BSH\")", "do not divide into 2 heads" },
    { "NPU.npu_fusion_attention(f32(1,2,4), f32(1,2,4), f32(1,2,4), 2, \"TND\")", "actual_seq_qlen" },
    { "NPU.npu_fusion_attention(f32(1,2,4), f32(1,2,4), f32(1,2,4), 2, \"BSH\", sparse_mode=9)", "sparse_mode 9" },
    { "NPU.npu_swiglu(f32(4,3))", "" },
    { "NPU.npu_rms_norm(f32(4), f32(2,4))", "" },
    { "NPU.npu_group_norm_silu(f32(2,5,3), None, None, 2)", "" },
    { "NPU.npu_confusion_transpose(f32(2,3), [0], [6], True)", "" },
    { "NPU.npu_moe_gating_top_k_softmax(f32(4,3), None, 5)", "" },
    { "Functional.scaled_dot_product_attention(f32(4), f32(4), f32(4))", "two dimensions" },
    { "Torch.as_strided_scatter(f32(4), f32(2,2), (2,2), (1,1))", "twice" },
    { "Torch.as_strided(f32(4), (3,), (2,))", "outside" },
    { "Tensor.__getitem__(f32(3), 5)", "out of range" },
    { "Tensor.__getitem__(f32(3), slice(None,None,-1))", "step" },
    { "Tensor.__getitem__(f32(3), bool(2)[1 1])", "mask" },
    { "Torch.gather(f32(3), 0, i64(1)[3])", "out of range" },
    { "Functional.embedding(i64(1)[4], f32(4,2))", "out of range" },
    { "Functional.max_pool2d(f32(1,4,4), 5)", "larger than the input" },
    { "Functional.max_pool2d(f32(1,4,4), 2, padding=2)", "out of range" },
    { "Functional.interpolate(f32(1,1,4), 2, mode=\"bilinear\")", "spatial dimensions" },
    { "Functional.pad(f32(1,3), (3,0), mode=\"reflect\")", "this mode" },
    { "Torch.cat([f32(2,3), f32(3,2)])", "differ in shape" },
    { "Torch.split(f32(5), [2,2])", "add up" },
    { "Torch.arange(0, 5, -1)", "not a range" },
};
/* clang-format on */

START_TEST(wrong_calls_are_refused_with_a_reason)
{
    struct arena arena = { 0 };
    struct sample call = { 0 };
    struct bench *bench;
    ck_assert_msg(!sample_parse(&call, refusals[_i].call, &arena), "%s", refusals[_i].call);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(st.code == STATUS_SKIP, "%s was not refused", refusals[_i].call);
    ck_assert_msg(strstr(st.text, refusals[_i].reason) != NULL, "%s: %s", refusals[_i].call,
                  st.text);
    arena_release(&arena);
}
END_TEST

/* An expanded self (stride 0) is not written to; read, it is fine. */
START_TEST(overlapping_writes_are_refused)
{
    static const char *const calls[] = { "Tensor.add_(f32(2,3), 1)",
                                         "Tensor.__setitem__(f32(2,3), 0, 1.0)",
                                         "Tensor.add(f32(2,3), 1)" };
    struct arena arena = { 0 };
    struct bench *bench;

    for (int k = 0; k < 3; k++) {
        struct sample call = { 0 };
        ck_assert(!sample_parse(&call, calls[k], &arena));
        call.c.args.list.items[0].tensor.tensor->stride[0] = 0;
        struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
        ck_assert_int_eq(st.code, k < 2 ? STATUS_SKIP : STATUS_OK);
        if (k < 2) ck_assert(strstr(st.text, "share memory") != NULL);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("known answers");
    TCase *tests = tcase_create("choices");
    tcase_add_loop_test(tests, questions_have_plain_answers, 0,
                        sizeof questions / sizeof *questions);
    tcase_add_loop_test(tests, small_calls_have_known_answers, 0, sizeof answers / sizeof *answers);
    tcase_add_loop_test(tests, wrong_calls_are_refused_with_a_reason, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_test(tests, overlapping_writes_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
