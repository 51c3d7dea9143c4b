/* The worker for MindSpore against a stand-in for the module (stub_mindspore): the protocol, the
 * conversions of every dtype both ways, and which functions and gradients are asked of it. What
 * MindSpore itself answers is not tested here. Needs Debian's python3-numpy. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "runner/devices/device.h"
#include "support/device_calls.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct arena arena;
static struct device *device;

#define STUB   PROBE_SOURCE_DIR "/tests/runner/stub_mindspore"
#define WORKER PROBE_SOURCE_DIR "/runner/devices/worker/mindspore_worker.py"

static struct status open_worker(struct device_options options)
{
    const struct device_class *class = device_find(options.backend);
    struct status status = class->open(&device, &options);
    return status.code ? status : device->class->ready(device);
}

static void setup(void)
{
    struct device_options options = { .backend = "worker:/usr/bin/python3 '" WORKER
                                                 "' --device cpu",
                                      .case_timeout_s = 60 };
    setenv("PYTHONPATH", STUB, 1);
    struct status status = open_worker(options);
    ck_assert_msg(!status.code, "%s", status.text);
}

static void teardown(void)
{
    device->class->close(device);
    arena_release(&arena);
}

static struct value tensor(enum dtype dtype, bool requires_grad, int rank, const int64_t *shape)
{
    return ramp_value(&arena, dtype, requires_grad, rank, shape);
}

START_TEST(greeting_names_the_device)
{
    ck_assert_str_eq(device->class->describe(device), "MindSpore 2.6.0-stub cpu");
}
END_TEST

START_TEST(product_and_its_gradients)
{
    struct value x = tensor(DT_F32, true, SHAPE(2, 3)), y = tensor(DT_F32, true, SHAPE(3)),
                 g = tensor(DT_F32, false, SHAPE(2, 3));
    struct api_case c = make_case(&arena, "Mint", "mul", list_value(&arena, 2, x, y));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run_on(device, &arena, &c);
    const double *a = doubles_of(&arena, &x), *b = doubles_of(&arena, &y),
                 *d = doubles_of(&arena, &g);
    double product[6], da[6], db[3] = { 0 };
    for (int i = 0; i < 6; i++) {
        product[i] = a[i] * b[i % 3];
        da[i] = d[i] * b[i % 3];
        db[i % 3] += d[i] * a[i];
    }
    check_elements_of(&arena, &r.outputs.list.items[0], product, 6, 1e-6);
    check_elements_of(&arena, &r.gradients.list.items[0], da, 6, 1e-6);
    check_elements_of(&arena, &r.gradients.list.items[1], db, 3, 1e-5);
}
END_TEST

/* Every dtype there and back: a product with 1 is the same tensor, in the same dtype. */
static const enum dtype dtypes[] = { DT_F64, DT_F32, DT_F16, DT_BF16, DT_I64,
                                     DT_I32, DT_I16, DT_I8,  DT_U8,   DT_BOOL };

START_TEST(dtypes_come_back)
{
    static const double values[] = { 1, 0, 3, 1, 2, 0 };
    enum dtype dtype = dtypes[_i];
    struct value x = tensor_value(&arena, dtype, false, 2, (int64_t[]){ 2, 3 }, values, 6);
    struct value one = tensor_value(&arena, dtype, false, 0, NULL, (double[]){ 1 }, 1);
    struct api_case c = make_case(&arena, "Mint", "mul", list_value(&arena, 2, x, one));
    struct device_result r = run_on(device, &arena, &c);
    const struct tensor *got = r.outputs.list.items[0].tensor.tensor;
    ck_assert_int_eq(got->dtype, dtype);
    check_elements_of(&arena, &r.outputs.list.items[0], doubles_of(&arena, &x), 6, 0);
}
END_TEST

/* NaN, infinities, subnormals and signed zeros of bfloat16. */
START_TEST(bfloat16_keeps_its_bits)
{
    static const uint16_t bits[] = {
        0x0001, 0x8001, 0x8000, 0x7f80, 0xff80, 0x7fc1, 0x3f81, 0x7f7f
    };
    struct value x = tensor_value(&arena, DT_BF16, false, 1, (int64_t[]){ 8 }, (double[]){ 0 }, 1);
    memcpy(x.tensor.tensor->data, bits, sizeof bits);
    struct value parts = list_value(&arena, 1, x);
    struct api_case c = make_case(&arena, "Mint", "cat", list_value(&arena, 1, parts));
    struct device_result r = run_on(device, &arena, &c);
    const struct tensor *got = r.outputs.list.items[0].tensor.tensor;
    ck_assert_int_eq(got->dtype, DT_BF16);
    ck_assert_int_eq(memcmp(got->data, bits, sizeof bits), 0);
}
END_TEST

/* Two outputs, of which one has a cotangent. */
START_TEST(missing_cotangents_are_zeros)
{
    struct value x = tensor(DT_F32, true, SHAPE(4)), g = tensor(DT_F32, false, SHAPE(2));
    struct api_case c = make_case(&arena, "Mint", "split", list_value(&arena, 2, x, int_value(2)));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 2, none_value(), g);
    struct device_result r = run_on(device, &arena, &c);
    const double *d = doubles_of(&arena, &g);
    ck_assert_uint_eq(r.outputs.list.count, 2);
    check_elements_of(&arena, &r.gradients.list.items[0], (double[]){ 0, 0, d[0], d[1] }, 4, 0);
}
END_TEST

/* Output 0 is the new tensor; what was sent stays for the gradient. */
START_TEST(in_place_calls_get_copies)
{
    struct value x = tensor(DT_F32, false, SHAPE(3)), y = tensor(DT_F32, false, SHAPE(3));
    struct api_case c = make_case(&arena, "Tensor", "add_", list_value(&arena, 2, x, y));
    struct device_result r = run_on(device, &arena, &c);
    const double *a = doubles_of(&arena, &x), *b = doubles_of(&arena, &y);
    check_elements_of(&arena, &r.outputs.list.items[0],
                      (double[]){ a[0] + b[0], a[1] + b[1], a[2] + b[2] }, 3, 1e-6);
}
END_TEST

START_TEST(namespaces_are_found)
{
    struct value x = tensor(DT_F32, true, SHAPE(5)), g = tensor(DT_F32, false, SHAPE(5));
    struct api_case c = make_case(&arena, "MintFunctional", "relu", list_value(&arena, 1, x));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run_on(device, &arena, &c);
    const double *a = doubles_of(&arena, &x), *d = doubles_of(&arena, &g);
    double y[5], dx[5];
    for (int i = 0; i < 5; i++) {
        y[i] = a[i] > 0 ? a[i] : 0;
        dx[i] = a[i] > 0 ? d[i] : 0;
    }
    check_elements_of(&arena, &r.outputs.list.items[0], y, 5, 0);
    check_elements_of(&arena, &r.gradients.list.items[0], dx, 5, 0);
    c = make_case(&arena, "Tensor", "mul", list_value(&arena, 2, x, float_value(2.5)));
    r = run_on(device, &arena, &c);
    for (int i = 0; i < 5; i++) y[i] = 2.5 * a[i];
    check_elements_of(&arena, &r.outputs.list.items[0], y, 5, 1e-6);
    c = make_case(&arena, "Functional", "zeros_like", list_value(&arena, 1, x));
    r = run_on(device, &arena, &c);
    check_elements_of(&arena, &r.outputs.list.items[0], (double[]){ 0, 0, 0, 0, 0 }, 5, 0);
    c = make_case(&arena, "Mint", "full",
                  list_value(&arena, 2, list_value(&arena, 1, int_value(2)), float_value(0.5)));
    c.kwargs = dict_value(&arena, 1, "dtype", dtype_value(DT_BF16));
    r = run_on(device, &arena, &c);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, DT_BF16);
}
END_TEST

/* Failures and what they become. */
static const struct {
    const char *type, *api, *says;
    enum status_code code;
} failures[] = {
    { "Mint", "fail", "ValueError: a bad argument", STATUS_SKIP },
    { "Mint", "nothing", "has no Mint.nothing", STATUS_SKIP },
    { "Torch", "add", "does not run Torch APIs", STATUS_SKIP },
    { "Mint", "lose", "device: RuntimeError: AICORE exception", STATUS_DEVICE },
    { "Mint", "crash", "9", STATUS_DEVICE },
};

START_TEST(failures_are_told)
{
    struct device_result r;
    struct api_case c =
        make_case(&arena, failures[_i].type, failures[_i].api, list_value(&arena, 0));
    struct status status = device->class->run(device, &r, &arena, &c, false);
    ck_assert_int_eq(status.code, failures[_i].code);
    ck_assert_msg(strstr(status.text, failures[_i].says), "%s", status.text);
    /* The next call is answered, by a new worker where the old one is gone. */
    struct value x = tensor(DT_F32, false, SHAPE(2));
    c = make_case(&arena, "Mint", "exp", list_value(&arena, 1, x));
    run_on(device, &arena, &c);
}
END_TEST

/* The program finds the worker, and the calls go out under MindSpore's names. */
START_TEST(backend_of_the_program)
{
    static const char dump[] =
        "{\"task\":\"statistics\",\"framework\":\"mindspore\",\"dump_data_dir\":null,\"data\":{"
        "\"Mint.exp.0.forward\":{\"input_args\":[{\"type\":\"mindspore.Tensor\",\"dtype\":"
        "\"Float32\",\"shape\":[64],\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}],"
        "\"input_kwargs\":{},\"output\":[]},"
        "\"Mint.exp.0.backward\":{\"input\":[{\"type\":\"mindspore.Tensor\",\"dtype\":"
        "\"Float32\",\"shape\":[64],\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}],\"output\":[]}"
        "}}";
    struct workspace w = workspace_make();
    setenv("PROBE_UT_PYTHON", "/usr/bin/python3", 1);
    write_text(in(&w, "dump.json"), dump);
    for (int strict = 0; strict < 2; strict++) {
        struct outcome o = run_program(&w, "-api_info", "dump.json", "--backend", "mindspore:cpu",
                                       "-o", strict ? "strict" : "doc", "--profile",
                                       strict ? "strict" : "doc", NULL);
        ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
        ck_assert_ptr_nonnull(strstr(o.err, "mindspore_worker.py"));
        char *result = read_file(only_match(&w, strict ? "strict/accuracy_checking_result_*.csv"
                                                       : "doc/accuracy_checking_result_*.csv"),
                                 NULL);
        ck_assert_msg(strstr(result, "Mint.exp.0,pass,pass"), "%s", result);
        free(result);
        outcome_free(&o);
    }
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "--backend", "mindspore:npu", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "mindspore:ascend[:N]"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker_mindspore");
    TCase *tests = tcase_create("worker_mindspore");
    setenv("PYTHONPATH", STUB, 1);
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null")) {
        printf("python3-numpy is not installed: nothing to test\n");
        return 0;
    }
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, greeting_names_the_device);
    tcase_add_test(tests, product_and_its_gradients);
    tcase_add_loop_test(tests, dtypes_come_back, 0, sizeof dtypes / sizeof *dtypes);
    tcase_add_test(tests, bfloat16_keeps_its_bits);
    tcase_add_test(tests, missing_cotangents_are_zeros);
    tcase_add_test(tests, in_place_calls_get_copies);
    tcase_add_test(tests, namespaces_are_found);
    tcase_add_loop_test(tests, failures_are_told, 0, sizeof failures / sizeof *failures);
    tcase_add_test(tests, backend_of_the_program);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
