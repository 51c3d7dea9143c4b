/* Strided tensors against a plain definition of their element order. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/tensor.h"
#include "support/suite.h"

static struct arena arena;

static void start(void) { arena = (struct arena){ 0 }; }

static void finish(void) { arena_release(&arena); }

START_TEST(created_tensors_are_dense)
{
    static const int64_t shape[] = { 2, 3, 4 };
    struct tensor t;
    ck_assert_int_eq(tensor_create(&t, &arena, DT_F16, 3, shape).code, STATUS_OK);
    ck_assert_int_eq(t.dtype, DT_F16);
    ck_assert_int_eq(t.stride[0], 12);
    ck_assert_int_eq(t.stride[1], 4);
    ck_assert_int_eq(t.stride[2], 1);
    ck_assert_uint_eq(tensor_elements(&t), 24);
    ck_assert(tensor_is_dense(&t));
    memset(t.data, 0, 48);
    ck_assert_int_eq(tensor_create(&t, &arena, DT_F64, 0, NULL).code, STATUS_OK);
    ck_assert_uint_eq(tensor_elements(&t), 1);
}
END_TEST

START_TEST(impossible_shapes_have_no_memory)
{
    static const int64_t wide[] = { INT64_C(1) << 40, INT64_C(1) << 40 };
    static const int64_t large[] = { INT64_C(1) << 61 }, negative[] = { -1 };
    struct tensor t = { .rank = 5 };
    ck_assert_int_eq(tensor_create(&t, &arena, DT_F32, 2, wide).code, STATUS_NO_MEMORY);
    ck_assert_int_eq(tensor_create(&t, &arena, DT_F64, 1, large).code, STATUS_NO_MEMORY);
    ck_assert_int_ne(tensor_create(&t, &arena, DT_F32, 1, negative).code, STATUS_OK);
    ck_assert_int_eq(t.rank, 5);
}
END_TEST

/* Dimensions up to 16. Extents whose product overflows have neither memory nor elements, empty or not. */
START_TEST(ranks_and_extents_at_their_ends)
{
    static const int64_t ones[17] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const int64_t wide[4] = { 0, INT64_MAX, INT64_MAX, 3 };
    struct tensor t;
    ck_assert_int_eq(tensor_create(&t, &arena, DT_F32, 16, ones).code, STATUS_OK);
    ck_assert_uint_eq(tensor_elements(&t), 1);
    for (int rank = -1; rank <= 17; rank += 18) {
        struct status status = tensor_create(&t, &arena, DT_F32, rank, ones);
        char text[80];
        snprintf(text, sizeof text, "a tensor of %d dimensions; at most 16 are supported", rank);
        ck_assert_int_eq(status.code, STATUS_SKIP);
        ck_assert_str_eq(status.text, text);
    }
    ck_assert_int_eq(tensor_create(&t, &arena, DT_F32, 4, wide).code, STATUS_NO_MEMORY);
    tensor_wrap(&t, NULL, DT_F32, 4, wide);
    ck_assert_uint_eq(tensor_elements(&t), 0);
    ck_assert_int_eq(t.stride[3], 1);
    ck_assert_int_eq(t.stride[2], 3);
    ck_assert_int_eq(t.stride[1], 0);
    ck_assert(tensor_is_dense(&t));
}
END_TEST

START_TEST(density)
{
    float data[24];
    static const int64_t shape[] = { 2, 3, 4 }, empty[] = { 2, 0, 4 }, ones[] = { 1, 3, 1 };
    struct tensor t;
    tensor_wrap(&t, data, DT_F32, 3, shape);
    ck_assert(tensor_is_dense(&t));
    t.stride[0] = 13;
    ck_assert(!tensor_is_dense(&t));
    t.stride[0] = 0;
    ck_assert(!tensor_is_dense(&t));
    tensor_wrap(&t, data, DT_F32, 3, empty);
    t.stride[0] = -99;
    ck_assert(tensor_is_dense(&t));
    tensor_wrap(&t, data, DT_F32, 3, ones);
    t.stride[0] = 1000, t.stride[2] = -5;
    ck_assert(tensor_is_dense(&t));
}
END_TEST

/* Densifying any view puts element (i, j, k) at place (i * J + j) * K + k. */
START_TEST(densify_follows_strides)
{
    int32_t data[200];
    for (int i = 0; i < 200; i++) data[i] = i * i;
    static const struct {
        int64_t shape[3], stride[3];
        int offset;
        /* clang-format off */
    } views[] = {
        { { 2, 3, 4 }, { 12, 4, 1 }, 0 },   /* dense */
        { { 4, 3, 2 }, { 1, 4, 12 }, 0 },   /* transposed */
        { { 2, 3, 4 }, { 50, 7, 2 }, 5 },   /* strided, offset */
        { { 2, 3, 4 }, { 0, 0, 1 }, 3 },    /* broadcast */
        { { 2, 3, 4 }, { -12, -4, -1 }, 23 }, /* reversed */
        { { 1, 5, 1 }, { 99, 3, -7 }, 1 },
    };
    /* clang-format on */
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        struct tensor view = { .dtype = DT_I32, .rank = 3, .data = data + views[v].offset };
        struct tensor dense;
        memcpy(view.shape, views[v].shape, sizeof views[v].shape);
        memcpy(view.stride, views[v].stride, sizeof views[v].stride);
        ck_assert_int_eq(tensor_densify(&dense, &arena, &view).code, STATUS_OK);
        ck_assert(tensor_is_dense(&dense));
        ck_assert(tensor_same_shape(&dense, &view));
        const int32_t *got = dense.data;
        for (int64_t i = 0; i < view.shape[0]; i++)
            for (int64_t j = 0; j < view.shape[1]; j++)
                for (int64_t k = 0; k < view.shape[2]; k++) {
                    int64_t at = views[v].offset + i * view.stride[0] + j * view.stride[1] +
                                 k * view.stride[2];
                    ck_assert_int_eq(*got++, (int32_t)(at * at));
                }
    }
}
END_TEST

/* A dense tensor is not copied, and its odd strides are made plain. */
START_TEST(densify_keeps_what_is_dense)
{
    double data[3] = { 1, 2, 3 };
    static const int64_t shape[] = { 1, 3 };
    struct tensor t, dense;
    tensor_wrap(&t, data, DT_F64, 2, shape);
    t.stride[0] = 77;
    ck_assert_int_eq(tensor_densify(&dense, &arena, &t).code, STATUS_OK);
    ck_assert_ptr_eq(dense.data, data);
    ck_assert_int_eq(dense.stride[0], 3);
    ck_assert_int_eq(tensor_densify(&t, &arena, &t).code, STATUS_OK); /* in place */
    ck_assert_int_eq(t.stride[0], 3);
}
END_TEST

START_TEST(shapes_compare_and_print)
{
    static const int64_t a[] = { 2, 3 }, b[] = { 2, 4 }, one[] = { 3 };
    struct tensor x, y;
    char text[64];
    tensor_wrap(&x, NULL, DT_F32, 2, a);
    tensor_wrap(&y, NULL, DT_F16, 2, a);
    ck_assert(tensor_same_shape(&x, &y));
    tensor_wrap(&y, NULL, DT_F32, 2, b);
    ck_assert(!tensor_same_shape(&x, &y));
    tensor_wrap(&y, NULL, DT_F32, 1, a);
    ck_assert(!tensor_same_shape(&x, &y));
    shape_format(text, sizeof text, 2, a);
    ck_assert_str_eq(text, "(2, 3)");
    shape_format(text, sizeof text, 1, one);
    ck_assert_str_eq(text, "(3,)");
    shape_format(text, sizeof text, 0, NULL);
    ck_assert_str_eq(text, "()");
    for (size_t bytes = 1; bytes < 8; bytes++) {
        memset(text, 'x', sizeof text);
        shape_format(text, bytes, 2, a);
        ck_assert_uint_lt(strnlen(text, sizeof text), bytes);
        ck_assert_int_eq(text[bytes], 'x');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor");
    TCase *tests = tcase_create("tensor");
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_test(tests, created_tensors_are_dense);
    tcase_add_test(tests, impossible_shapes_have_no_memory);
    tcase_add_test(tests, ranks_and_extents_at_their_ends);
    tcase_add_test(tests, density);
    tcase_add_test(tests, densify_follows_strides);
    tcase_add_test(tests, densify_keeps_what_is_dense);
    tcase_add_test(tests, shapes_compare_and_print);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
