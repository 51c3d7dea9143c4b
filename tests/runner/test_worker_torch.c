/* PyTorch as a device, through the worker that ships with the program. Expected values are computed
 * here from the definitions. Needs Debian's python3-torch; without it there is nothing to test,
 * which is said. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "runner/devices/device.h"
#include "support/device_calls.h"

static struct arena arena;
static struct device *device;

static void open_torch(void)
{
    struct device_options options = { .backend =
                                          "worker:/usr/bin/python3 '" PROBE_SOURCE_DIR
                                          "/runner/devices/worker/torch_worker.py' --device cpu",
                                      .case_timeout_s = 60 };
    const struct device_class *class = device_find(options.backend);
    struct status st = class->open(&device, &options);
    if (!st.code) st = class->ready(device);
    if (st.code) {
        fprintf(stderr, "%s\n", st.text);
        abort();
    }
}

static struct value f32(bool requires_grad, int rank, const int64_t *shape)
{
    return ramp_value(&arena, DT_F32, requires_grad, rank, shape);
}

START_TEST(softmax_and_its_gradient)
{
    enum { M = 3, N = 5 };
    struct value x = f32(true, SHAPE(M, N)), g = f32(false, SHAPE(M, N));
    struct api_case c = make_case(&arena, "Functional", "softmax", list_value(&arena, 1, x));
    c.kwargs = dict_value(&arena, 2, "dim", int_value(-1), "dtype", dtype_value(DT_F64));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run_on(device, &arena, &c);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, DT_F64);
    const double *in = doubles_of(&arena, &x), *d = doubles_of(&arena, &g);
    double y[M * N], dx[M * N];
    for (int i = 0; i < M; i++) {
        double sum = 0, dot = 0;
        for (int k = 0; k < N; k++) sum += exp(in[i * N + k]);
        for (int k = 0; k < N; k++) {
            y[i * N + k] = exp(in[i * N + k]) / sum;
            dot += y[i * N + k] * d[i * N + k];
        }
        for (int k = 0; k < N; k++) dx[i * N + k] = y[i * N + k] * (d[i * N + k] - dot);
    }
    check_elements_of(&arena, &r.outputs.list.items[0], y, M * N, 1e-14);
    check_elements_of(&arena, &r.gradients.list.items[0], dx, M * N, 1e-5);
}
END_TEST

/* Output 0 is the new self; the gradient is that of the old one. */
START_TEST(in_place_calls_are_functions)
{
    struct value x = f32(true, SHAPE(6)), g = f32(false, SHAPE(6));
    struct api_case c = make_case(&arena, "Tensor", "sin_", list_value(&arena, 1, x));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run_on(device, &arena, &c);
    const double *in = doubles_of(&arena, &x), *d = doubles_of(&arena, &g);
    double y[6], dx[6];
    for (int i = 0; i < 6; i++) {
        y[i] = sin(in[i]);
        dx[i] = cos(in[i]) * d[i];
    }
    check_elements_of(&arena, &r.outputs.list.items[0], y, 6, 1e-6);
    check_elements_of(&arena, &r.gradients.list.items[0], dx, 6, 1e-6);
}
END_TEST

/* x[1:, 0] = v: the slices were a tuple; gradients of x and v. */
START_TEST(setitem_and_its_gradients)
{
    struct value x = f32(true, SHAPE(3, 2)), v = f32(true, SHAPE(2)), g = f32(false, SHAPE(3, 2));
    struct value slice = list_value(&arena, 3, int_value(1), none_value(), none_value());
    slice.kind = VALUE_SLICE;
    struct value index = list_value(&arena, 2, slice, int_value(0));
    struct api_case c =
        make_case(&arena, "Tensor", "__setitem__", list_value(&arena, 3, x, index, v));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run_on(device, &arena, &c);
    const double *in = doubles_of(&arena, &x), *w = doubles_of(&arena, &v),
                 *d = doubles_of(&arena, &g);
    check_elements_of(&arena, &r.outputs.list.items[0],
                      (double[]){ in[0], in[1], w[0], in[3], w[1], in[5] }, 6, 0);
    check_elements_of(&arena, &r.gradients.list.items[0],
                      (double[]){ d[0], d[1], 0, d[3], 0, d[5] }, 6, 0);
    check_elements_of(&arena, &r.gradients.list.items[1], (double[]){ d[2], d[4] }, 2, 0);
}
END_TEST

/* [0, 2] is a tuple or a list: the recorded shape tells. */
START_TEST(getitem_follows_the_recorded_shape)
{
    struct value x = f32(false, SHAPE(3, 4)), two = f32(false, SHAPE(2, 4)),
                 one = f32(false, 0, NULL);
    struct value index = list_value(&arena, 2, int_value(0), int_value(2));
    const double *in = doubles_of(&arena, &x);
    struct api_case c = make_case(&arena, "Tensor", "__getitem__", list_value(&arena, 2, x, index));
    c.outputs = list_value(&arena, 1, two);
    struct device_result r = run_on(device, &arena, &c);
    check_elements_of(&arena, &r.outputs.list.items[0],
                      (double[]){ in[0], in[1], in[2], in[3], in[8], in[9], in[10], in[11] }, 8, 0);
    c.outputs = list_value(&arena, 1, one);
    r = run_on(device, &arena, &c);
    check_elements_of(&arena, &r.outputs.list.items[0], &in[2], 1, 0);
}
END_TEST

/* torch has no inv, and its norm takes no ord: both are torch.linalg's. */
START_TEST(linalg_names_are_found)
{
    double elements[4] = { 2, 1, 0, 4 };
    struct value x = tensor_value(&arena, DT_F64, false, SHAPE(2, 2), elements, 4);
    struct api_case c = make_case(&arena, "Torch", "inv", list_value(&arena, 1, x));
    struct device_result r = run_on(device, &arena, &c);
    check_elements_of(&arena, &r.outputs.list.items[0], (double[]){ 0.5, -0.125, 0, 0.25 }, 4,
                      1e-15);
    c = make_case(&arena, "Torch", "linalg.det", list_value(&arena, 1, x));
    r = run_on(device, &arena, &c);
    check_elements_of(&arena, &r.outputs.list.items[0], (double[]){ 8 }, 1, 1e-14);
    c = make_case(&arena, "Torch", "norm", list_value(&arena, 1, x));
    c.kwargs = dict_value(&arena, 1, "ord", int_value(1));
    r = run_on(device, &arena, &c);
    check_elements_of(&arena, &r.outputs.list.items[0], (double[]){ 5 }, 1, 1e-14);
}
END_TEST

/* Several outputs, one without a cotangent; a list of tensors as argument. */
START_TEST(several_outputs_and_lists)
{
    struct value x = f32(true, SHAPE(4)), g = f32(false, SHAPE(2));
    struct api_case c = make_case(&arena, "Torch", "split", list_value(&arena, 2, x, int_value(2)));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 2, none_value(), g);
    struct device_result r = run_on(device, &arena, &c);
    const double *d = doubles_of(&arena, &g);
    ck_assert_uint_eq(r.outputs.list.count, 2);
    check_elements_of(&arena, &r.gradients.list.items[0], (double[]){ 0, 0, d[0], d[1] }, 4, 0);

    struct value y = f32(false, SHAPE(1)), cat = list_value(&arena, 2, y, x);
    c = make_case(&arena, "Torch", "cat", list_value(&arena, 1, cat));
    c.has_backward = true;
    g = f32(false, SHAPE(5));
    c.cotangents = list_value(&arena, 1, g);
    r = run_on(device, &arena, &c);
    d = doubles_of(&arena, &g);
    ck_assert_uint_eq(r.gradients.list.count, 2);
    ck_assert_int_eq(r.gradients.list.items[0].kind, VALUE_NONE);
    check_elements_of(&arena, &r.gradients.list.items[1], (double[]){ d[1], d[2], d[3], d[4] }, 4,
                      0);
}
END_TEST

/* Gradients of keyword tensors come after those of positional ones. */
START_TEST(keyword_tensors_have_gradients)
{
    struct value x = f32(true, SHAPE(2, 3)), w = f32(true, SHAPE(4, 3)), b = f32(true, SHAPE(4));
    struct value g = f32(false, SHAPE(2, 4));
    struct api_case c = make_case(&arena, "Functional", "linear", list_value(&arena, 2, x, w));
    c.kwargs = dict_value(&arena, 1, "bias", b);
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run_on(device, &arena, &c);
    const double *d = doubles_of(&arena, &g);
    double db[4];
    for (int j = 0; j < 4; j++) db[j] = d[j] + d[4 + j];
    ck_assert_uint_eq(r.gradients.list.count, 3);
    check_elements_of(&arena, &r.gradients.list.items[2], db, 4, 1e-6);
}
END_TEST

/* A float32 tensor and a bfloat16 one: the call runs under autocast to bfloat16. */
START_TEST(mixed_dtypes_are_autocast)
{
    struct value x = f32(false, SHAPE(2, 3)), w = ramp_value(&arena, DT_BF16, false, SHAPE(3, 2));
    struct api_case c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, x, w));
    struct device_result r = run_on(device, &arena, &c);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, DT_BF16);
}
END_TEST

/* The CPU of PyTorch before 2.1 autocasts to bfloat16 alone: there the call runs as it is, and the next one is not touched. */
START_TEST(calls_run_where_autocast_is_refused)
{
    struct value x = f32(false, SHAPE(2, 3)), h = ramp_value(&arena, DT_F16, false, SHAPE(2, 3));
    struct api_case c = make_case(&arena, "Torch", "add", list_value(&arena, 2, x, h));
    struct device_result r = run_on(device, &arena, &c);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, DT_F32);
    c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, x, f32(false, SHAPE(3, 2))));
    r = run_on(device, &arena, &c);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, DT_F32);
}
END_TEST

START_TEST(an_accelerator_that_is_not_there)
{
    struct device_options options = { .backend = "worker:/usr/bin/python3 '" PROBE_SOURCE_DIR
                                                 "/runner/devices/worker/torch_worker.py' "
                                                 "--device cuda",
                                      .case_timeout_s = 60 };
    struct device *cuda;
    const struct device_class *class = device_find(options.backend);
    struct status st = class->open(&cuda, &options);
    ck_assert_msg(!st.code, "%s", st.text);
    st = class->ready(cuda);
    if (st.code) /* a host without one */
        ck_assert_msg(strstr(st.text, "finds no CUDA device on this host") != NULL, "%s", st.text);
    class->close(cuda);
}
END_TEST

START_TEST(devices_dtypes_and_sizes_are_arguments)
{
    struct value size = list_value(&arena, 2, int_value(2), int_value(3));
    size.kind = VALUE_SIZE;
    struct api_case c = make_case(&arena, "Torch", "ones", list_value(&arena, 1, size));
    struct value place = { .kind = VALUE_DEVICE, .string = "npu:0" };
    c.kwargs = dict_value(&arena, 2, "dtype", dtype_value(DT_F16), "device", place);
    struct device_result r = run_on(device, &arena, &c);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, DT_F16);
    check_elements_of(&arena, &r.outputs.list.items[0], (double[]){ 1, 1, 1, 1, 1, 1 }, 6, 0);
}
END_TEST

/* Plain values are outputs too. */
START_TEST(plain_outputs)
{
    struct value x = f32(false, SHAPE(2, 3));
    struct api_case c = make_case(&arena, "Tensor", "numel", list_value(&arena, 1, x));
    struct device_result r = run_on(device, &arena, &c);
    ck_assert(r.outputs.list.items[0].kind == VALUE_INT && r.outputs.list.items[0].integer == 6);
    c = make_case(&arena, "Tensor", "is_floating_point", list_value(&arena, 1, x));
    r = run_on(device, &arena, &c);
    ck_assert(r.outputs.list.items[0].kind == VALUE_BOOL && r.outputs.list.items[0].boolean);
    c = make_case(&arena, "Tensor", "item", list_value(&arena, 1, f32(false, 0, NULL)));
    r = run_on(device, &arena, &c);
    ck_assert(r.outputs.list.items[0].kind == VALUE_FLOAT && r.outputs.list.items[0].real == -4);
}
END_TEST

/* What PyTorch refuses is skipped with its words; the worker goes on. */
START_TEST(refusals_are_skipped)
{
    struct value x = f32(false, SHAPE(2, 3));
    struct device_result r;
    struct api_case c = make_case(&arena, "Torch", "no_such_function", list_value(&arena, 1, x));
    struct status st = device->class->run(device, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(st.text, "has no Torch.no_such_function"));
    c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, x, x));
    st = device->class->run(device, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(
        strstr(st.text, "RuntimeError: mat1 and mat2 shapes cannot be multiplied"));
    c = make_case(&arena, "Torch", "argmax", list_value(&arena, 1, x));
    st = device->class->run(device, &r, &arena, &c, true);
    ck_assert_int_eq(st.code, STATUS_OK);
    ck_assert_int_eq(r.backward.code, STATUS_SKIP);
}
END_TEST

/* The same call gives the same random draw, whatever ran before. */
START_TEST(draws_depend_on_the_call_alone)
{
    struct value x = f32(false, SHAPE(100));
    struct api_case c = make_case(&arena, "Functional", "dropout", list_value(&arena, 1, x));
    struct device_result one = run_on(device, &arena, &c), two = run_on(device, &arena, &c);
    ck_assert_mem_eq(one.outputs.list.items[0].tensor.tensor->data,
                     two.outputs.list.items[0].tensor.tensor->data, 400);
}
END_TEST

int main(void)
{
    if (system("/usr/bin/python3 -c 'import torch' 2>/dev/null")) {
        printf("worker_torch: skipped, Debian's python3-torch is not installed\n");
        return 0;
    }
    Suite *suite = suite_create("worker_torch");
    TCase *tests = tcase_create("worker_torch");
    tcase_set_timeout(tests, 120);
    /* One worker for all tests: starting PyTorch takes longer than everything else. */
    tcase_add_test(tests, softmax_and_its_gradient);
    tcase_add_test(tests, in_place_calls_are_functions);
    tcase_add_test(tests, setitem_and_its_gradients);
    tcase_add_test(tests, getitem_follows_the_recorded_shape);
    tcase_add_test(tests, linalg_names_are_found);
    tcase_add_test(tests, several_outputs_and_lists);
    tcase_add_test(tests, keyword_tensors_have_gradients);
    tcase_add_test(tests, mixed_dtypes_are_autocast);
    tcase_add_test(tests, calls_run_where_autocast_is_refused);
    tcase_add_test(tests, an_accelerator_that_is_not_there);
    tcase_add_test(tests, devices_dtypes_and_sizes_are_arguments);
    tcase_add_test(tests, plain_outputs);
    tcase_add_test(tests, refusals_are_skipped);
    tcase_add_test(tests, draws_depend_on_the_call_alone);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    open_torch();
    srunner_run_all(runner, CK_NORMAL);
    device->class->close(device);
    arena_release(&arena);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
