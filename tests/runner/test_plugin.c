/* The plugin device on a library with every calling convention (plugin_kernels.c). Expected values
 * are computed here from the definitions. */
#include "plugin_calls.h"

static struct status failure_of(const struct api_case *c)
{
    struct device_result result;
    struct status st = device->class->run(device, &result, &arena, c, true);
    ck_assert_msg(st.code, "%s did not fail", c->full_name);
    return st;
}

/* CBLAS-like call with leading dimensions; gradients from two calls with transposed storage. */
START_TEST(matmul_forward_and_backward)
{
    enum { M = 3, K = 4, N = 5 };
    struct value a = f32(true, SHAPE(M, K)), b = f32(true, SHAPE(K, N));
    struct api_case c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, a, b));
    c.has_backward = true;
    struct value g = f32(false, SHAPE(M, N));
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run(&c);
    const double *x = doubles_of(&arena, &a), *y = doubles_of(&arena, &b),
                 *d = doubles_of(&arena, &g);
    double out[M * N] = { 0 }, da[M * K] = { 0 }, db[K * N] = { 0 };
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++) {
                out[i * N + j] += x[i * K + k] * y[k * N + j];
                da[i * K + k] += d[i * N + j] * y[k * N + j];
                db[k * N + j] += x[i * K + k] * d[i * N + j];
            }
    check_doubles(&r.outputs.list.items[0], out, M * N, 0);
    ck_assert_int_eq(r.backward.code, STATUS_OK);
    ck_assert_uint_eq(r.gradients.list.count, 2);
    check_doubles(&r.gradients.list.items[0], da, M * K, 0);
    check_doubles(&r.gradients.list.items[1], db, K * N, 0);
}
END_TEST

/* A tensor that does not require a gradient gets none. */
START_TEST(gradients_follow_requires_grad)
{
    struct api_case c =
        make_case(&arena, "Torch", "matmul",
                  list_value(&arena, 2, f32(false, SHAPE(2, 2)), f32(true, SHAPE(2, 2))));
    c.cotangents = list_value(&arena, 1, f32(false, SHAPE(2, 2)));
    struct device_result r = run(&c);
    ck_assert_int_eq(r.gradients.list.items[0].kind, VALUE_NONE);
    ck_assert_int_eq(r.gradients.list.items[1].kind, VALUE_TENSOR);
}
END_TEST

/* The second kernel of the same API is chosen by its condition; storage is column-major. */
START_TEST(column_major_storage)
{
    struct value a = f32(false, SHAPE(3, 4)), b = f32(false, SHAPE(4));
    struct api_case c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, a, b));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    const double *x = doubles_of(&arena, &a), *y = doubles_of(&arena, &b);
    double want[3] = { 0 };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) want[i] += x[i * 4 + k] * y[k];
    check_doubles(&r.outputs.list.items[0], want, 3, 0);
    /* This kernel has no backward: a reason, not a failure. */
    r = run(&c);
    ck_assert_int_eq(r.backward.code, STATUS_SKIP);
    ck_assert_int_eq(r.gradients.kind, VALUE_NONE);
}
END_TEST

/* An in-place API: the output starts as a copy of self; the input itself stays as it was. */
START_TEST(in_place_and_broadcast)
{
    struct value self = f32(false, SHAPE(2, 3)), other = f32(false, SHAPE(3));
    struct api_case c = make_case(&arena, "Tensor", "add_", list_value(&arena, 2, self, other));
    c.kwargs = dict_value(&arena, 1, "alpha", float_value(0.5));
    const double *x = doubles_of(&arena, &self), *y = doubles_of(&arena, &other);
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    double want[6];
    for (int i = 0; i < 6; i++) want[i] = x[i] + 0.5 * y[i % 3];
    check_doubles(&r.outputs.list.items[0], want, 6, 0);
    check_doubles(&self, x, 6, 0);
}
END_TEST

/* Shapes and strides as arrays, an output that starts at 0, also for a scalar and for nothing. */
START_TEST(shapes_and_strides)
{
    const int64_t shapes[][3] = { { 2, 3, 4 }, { 1, 1, 7 }, { 0, 3, 4 } };
    for (int s = 0; s < 4; s++) {
        struct value x = s < 3 ? f32(false, 3, shapes[s]) : f32(false, 0, NULL);
        struct api_case c = make_case(&arena, "Torch", "sum", list_value(&arena, 1, x));
        struct device_result r;
        ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
        double want = 0;
        const double *in = doubles_of(&arena, &x);
        for (size_t i = 0; i < tensor_elements(x.tensor.tensor); i++) want += in[i];
        check_doubles(&r.outputs.list.items[0], &want, 1, 0);
    }
}
END_TEST

/* An input that is not dense is given to the kernel dense. */
START_TEST(strided_inputs_are_made_dense)
{
    struct value x = f32(false, SHAPE(4, 3));
    const double *in = doubles_of(&arena, &x);
    struct tensor *t = x.tensor.tensor;
    t->shape[0] = 3, t->shape[1] = 2; /* the transposed left part */
    t->stride[0] = 1, t->stride[1] = 6;
    struct api_case c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    double want[6];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) want[i * 2 + k] = expf((float)in[i + 6 * k]);
    check_doubles(&r.outputs.list.items[0], want, 6, 0);
}
END_TEST

/* A scalar function of libm over all elements, in three dtypes: narrow ones are computed in
 * float32 and rounded once. */
START_TEST(scalar_functions_are_looped)
{
    static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16 };
    enum dtype dtype = dtypes[_i];
    struct value x = ramp_value(&arena, dtype, false, SHAPE(5, 7));
    struct api_case c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    ck_assert_int_eq(r.outputs.list.items[0].tensor.tensor->dtype, dtype);
    const double *in = doubles_of(&arena, &x);
    double want[35];
    for (int i = 0; i < 35; i++) {
        unsigned char narrow[8];
        double y = expf((float)in[i]);
        dtype_from_double(narrow, dtype, &y, 1);
        dtype_to_double(&want[i], narrow, dtype, 1);
    }
    check_doubles(&r.outputs.list.items[0], want, 35, 0);
}
END_TEST

START_TEST(two_element_arguments_broadcast)
{
    double base[2] = { 2, 3 }, exponent[3] = { 0, 1, 2 };
    struct value x = tensor_value(&arena, DT_F32, false, SHAPE(2, 1), base, 2);
    struct value y = tensor_value(&arena, DT_F32, false, SHAPE(3), exponent, 3);
    struct api_case c = make_case(&arena, "Torch", "pow", list_value(&arena, 2, x, y));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    check_doubles(&r.outputs.list.items[0], (double[]){ 1, 2, 4, 1, 3, 9 }, 6, 0);

    /* The other kernel: a scalar exponent, and the shape comes from the dump. */
    c = make_case(&arena, "Torch", "pow", list_value(&arena, 2, x, float_value(3)));
    ck_assert_int_eq(failure_of(&c).code, STATUS_SKIP);
    struct value recorded = x;
    recorded.tensor.tensor = NULL;
    c.outputs = list_value(&arena, 1, recorded);
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    check_doubles(&r.outputs.list.items[0], (double[]){ 8, 27 }, 2, 0);
}
END_TEST

START_TEST(out_parameters_in_a_loop)
{
    struct value x = f32(false, SHAPE(4, 9));
    struct api_case c = make_case(&arena, "Torch", "halves", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    const double *in = doubles_of(&arena, &x);
    double whole[36], rest[36];
    for (int i = 0; i < 36; i++) {
        whole[i] = trunc(in[i]);
        rest[i] = in[i] - whole[i];
    }
    check_doubles(&r.outputs.list.items[0], whole, 36, 0);
    check_doubles(&r.outputs.list.items[1], rest, 36, 0);
}
END_TEST

/* Inputs and outputs in channels-last storage. */
START_TEST(other_orders_of_dimensions)
{
    struct value x = f32(false, SHAPE(2, 3, 4, 5));
    struct api_case c = make_case(&arena, "Torch", "channels", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    const double *in = doubles_of(&arena, &x);
    double twice[120];
    for (int i = 0; i < 120; i++) twice[i] = 2 * in[i];
    check_doubles(&r.outputs.list.items[0], twice, 120, 0);
    check_doubles(&r.outputs.list.items[1], (double[]){ in[0], in[20], in[40] }, 3, 0);
}
END_TEST

/* dtypes as names and as numbers, steps that are left out, a code that means failure. */
START_TEST(dtype_names_enums_and_codes)
{
    struct value size = { .kind = VALUE_SIZE };
    size.list = list_value(&arena, 2, int_value(2), int_value(2)).list;
    struct api_case c =
        make_case(&arena, "Torch", "full", list_value(&arena, 2, size, float_value(1)));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    check_doubles(&r.outputs.list.items[0], (double[]){ 32, 32, 32, 32 }, 4, 0);
    c.kwargs = dict_value(&arena, 1, "dtype", dtype_value(DT_I64));
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    check_doubles(&r.outputs.list.items[0], (double[]){ 64, 64, 64, 64 }, 4, 0);
    c.kwargs = dict_value(&arena, 1, "dtype", dtype_value(DT_F16));
    struct status st = failure_of(&c);
    ck_assert_int_eq(st.code, STATUS_DEVICE);
    ck_assert_str_eq(st.text, "device: fill_by_number returned 5");
}
END_TEST

START_TEST(lists_of_tensors)
{
    struct value a = f32(false, SHAPE(2)), b = f32(false, SHAPE(3)), recorded;
    struct value list = list_value(&arena, 2, a, b);
    struct api_case c = make_case(&arena, "Torch", "cat", list_value(&arena, 1, list));
    recorded = f32(false, SHAPE(5));
    c.outputs = list_value(&arena, 1, recorded);
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    const double *x = doubles_of(&arena, &a), *y = doubles_of(&arena, &b);
    check_doubles(&r.outputs.list.items[0], (double[]){ x[0], x[1], y[0], y[1], y[2] }, 5, 0);
}
END_TEST

/* A backward that uses what the forward returned; a missing cotangent is zero. */
START_TEST(backward_sees_outputs)
{
    struct value x = f32(true, SHAPE(37));
    struct api_case c = make_case(&arena, "Functional", "relu", list_value(&arena, 1, x));
    struct value g = f32(false, SHAPE(37));
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r = run(&c);
    const double *in = doubles_of(&arena, &x), *d = doubles_of(&arena, &g);
    double want[37];
    for (int i = 0; i < 37; i++) want[i] = in[i] > 0 ? d[i] : 0;
    check_doubles(&r.gradients.list.items[0], want, 37, 0);
    c.cotangents = list_value(&arena, 1, none_value());
    r = run(&c);
    for (int i = 0; i < 37; i++) want[i] = 0;
    check_doubles(&r.gradients.list.items[0], want, 37, 0);
}
END_TEST

/* Two phases with a work space and a context that lives as long as the process; descriptors are
 * made for each call and destroyed after it, also when the call fails. */
START_TEST(two_phases_handles_and_wrappers)
{
    struct device_result r;
    for (int i = 0; i < 3; i++) {
        struct value a = f32(false, SHAPE(3, 4)), b = f32(false, SHAPE(3, 4));
        struct api_case c = make_case(&arena, "Torch", "add", list_value(&arena, 2, a, b));
        ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
        const double *x = doubles_of(&arena, &a), *y = doubles_of(&arena, &b);
        double want[12];
        for (int k = 0; k < 12; k++) want[k] = x[k] + y[k];
        check_doubles(&r.outputs.list.items[0], want, 12, 0);
    }
    struct value h = ramp_value(&arena, DT_F16, false, SHAPE(3));
    struct api_case c = make_case(&arena, "Torch", "add", list_value(&arena, 2, h, h));
    struct status st = failure_of(&c);
    ck_assert_str_eq(st.text, "device: add_get_workspace returned 3: dtype is not supported");
    c = make_case(&arena, "Torch", "report", list_value(&arena, 0));
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    check_doubles(&r.outputs.list.items[0], (double[]){ 3, 0 }, 2, 0);
}
END_TEST

/* What the manifest has no kernel for is skipped with a reason. */
START_TEST(missing_kernels_are_skipped)
{
    struct value x = f32(false, SHAPE(2, 2)), d = ramp_value(&arena, DT_F64, false, SHAPE(2, 2));
    struct api_case c = make_case(&arena, "Torch", "conv2d", list_value(&arena, 1, x));
    struct status st = failure_of(&c);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert_str_eq(st.text, "test kernels has no kernel for Torch.conv2d");
    c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, d));
    st = failure_of(&c);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(st.text, "not dtype(input) in"));
    c = make_case(&arena, "Torch", "exp", list_value(&arena, 2, x, x));
    ck_assert_ptr_nonnull(strstr(failure_of(&c).text, "2 arguments, the kernel takes 1"));
    c = make_case(&arena, "Torch", "exp", list_value(&arena, 0));
    ck_assert_ptr_nonnull(strstr(failure_of(&c).text, "the argument input is missing"));
    c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, x));
    c.kwargs = dict_value(&arena, 1, "out", x);
    ck_assert_ptr_nonnull(strstr(failure_of(&c).text, "the kernel has no argument out"));
}
END_TEST

static const struct {
    const char *api, *text;
    /* clang-format off */
} misdeeds[] = {
    { "crash", "device crashed: SIGSEGV in crash at address 0x8" },
    { "hang", "device hung for " },
    { "overrun", "device wrote past output 0 in overrun (at byte 24 of 24)" },
    { "scribble", "device modified input 1 in scribble" },
    { "quit", "device exited with status 9 in quit" },
    { "hog", "device ran out of memory (limit 0.07 GB) in hog" },
    { "complain",
      "device crashed: SIGABRT in complain: kernel: tile size 0 is not possible" },
};
/* clang-format on */

/* A kernel that misbehaves is diagnosed, and the next call is right. */
START_TEST(misbehaviour_costs_one_call)
{
    /* The allocators of the sanitizers do not survive being refused memory. */
    if (SANITIZED && !strcmp(misdeeds[_i].api, "hog")) return;
    struct value x = f32(false, SHAPE(2, 3));
    struct api_case c = make_case(&arena, "Torch", misdeeds[_i].api,
                                  !strcmp(misdeeds[_i].api, "scribble")
                                      ? list_value(&arena, 2, x, f32(false, SHAPE(2, 3)))
                                      : list_value(&arena, 1, x));
    if (!strcmp(misdeeds[_i].api, "scribble")) c.args.list.items[0] = f32(false, SHAPE(1));
    struct status st = failure_of(&c);
    ck_assert_int_eq(st.code, STATUS_DEVICE);
    ck_assert_msg(is_diagnosed(st.text, misdeeds[_i].text), "%s", st.text);
    c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &c, false).code);
    ck_assert_double_eq(doubles_of(&arena, &r.outputs.list.items[0])[0], expf(-4));
}
END_TEST

/* Elements that a kernel does not write are NaN, not what an earlier call left there. */
START_TEST(unwritten_elements_show)
{
    struct value x = f32(false, SHAPE(8));
    struct api_case exp = make_case(&arena, "Torch", "exp", list_value(&arena, 1, x));
    struct api_case lazy = make_case(&arena, "Torch", "lazy", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!device->class->run(device, &r, &arena, &exp, false).code);
    ck_assert(!device->class->run(device, &r, &arena, &lazy, false).code);
    const double *out = doubles_of(&arena, &r.outputs.list.items[0]);
    for (int i = 0; i < 8; i++) ck_assert(isnan(out[i]));
}
END_TEST

/* The same results without a process of its own. */
START_TEST(in_process_gives_the_same)
{
    char backend[1000];
    manifest_path(backend, sizeof backend, "plugin:");
    struct device_options options = { .backend = backend, .in_process = true };
    struct device *inside;
    ck_assert(!device->class->open(&inside, &options).code);
    struct value a = f32(true, SHAPE(3, 4)), b = f32(true, SHAPE(4, 5));
    struct api_case c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, a, b));
    c.cotangents = list_value(&arena, 1, f32(false, SHAPE(3, 5)));
    struct device_result one = run(&c), two;
    ck_assert(!inside->class->run(inside, &two, &arena, &c, true).code);
    check_doubles(&two.outputs.list.items[0], doubles_of(&arena, &one.outputs.list.items[0]), 15,
                  0);
    check_doubles(&two.gradients.list.items[1], doubles_of(&arena, &one.gradients.list.items[1]),
                  20, 0);
    struct api_case over = make_case(&arena, "Torch", "overrun", list_value(&arena, 1, a));
    ck_assert_int_eq(inside->class->run(inside, &two, &arena, &over, false).code, STATUS_DEVICE);
    inside->class->close(inside);
}
END_TEST

/* What is wrong with a library or a symbol is said when the device is opened or the call made. */
START_TEST(missing_libraries_and_symbols)
{
    char path[] = "/tmp/probe-plugin-XXXXXX", backend[100];
    static const char text[] = "{ \"plugin\": 1, \"libraries\": { \"m\": \"%s\" }, \"kernels\": [ "
                               "{ \"apis\": [\"Torch.exp\"], \"parameters\": [\"x\"], "
                               "\"outputs\": [ { \"name\": \"y\", \"shape\": \"shape(x)\", "
                               "\"dtype\": \"'float32'\" } ], "
                               "\"steps\": [ { \"call\": \"no_such_function\" } ] } ] }";
    for (int round = 0; round < 2; round++) {
        int file = mkstemp(path);
        FILE *out = fdopen(file, "w");
        fprintf(out, text, round ? "libm.so.6" : "libnothere.so.1");
        fclose(out);
        snprintf(backend, sizeof backend, "plugin:%s", path);
        struct device_options options = { .backend = backend, .case_timeout_s = 5 };
        struct device *other = NULL;
        struct status st = device->class->open(&other, &options);
        if (!round) {
            ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
            ck_assert_ptr_nonnull(strstr(st.text, "cannot load the library libnothere.so.1"));
        } else {
            ck_assert_msg(!st.code, "%s", st.text);
            struct api_case c =
                make_case(&arena, "Torch", "exp", list_value(&arena, 1, f32(false, SHAPE(2))));
            struct device_result r;
            st = other->class->run(other, &r, &arena, &c, false);
            ck_assert_int_eq(st.code, STATUS_SKIP);
            ck_assert_ptr_nonnull(strstr(st.text, "no function no_such_function"));
            other->class->close(other);
        }
        remove(path);
        memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    }
}
END_TEST

/* A device is named whole, or by what stands before its colon when something stands behind. */
START_TEST(devices_are_found_by_name)
{
    static const struct {
        const char *backend, *class;
        /* clang-format off */
    } table[] = {
        { "cpu", "cpu" },       { "recorded", "recorded" }, { "plugin:x", "plugin" }, { "worker:x", "worker" },
        { "plugin:", NULL },    { "worker", NULL },         { "plugin", NULL },       { "cp", NULL },
        { "cpu2", NULL },       { "", NULL },               { ":x", NULL },           { "plug:x", NULL },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct device_class *class = device_find(table[i].backend);
        if (!table[i].class) ck_assert_msg(class == NULL, "%s", table[i].backend);
        else ck_assert_msg(class && !strcmp(class->name, table[i].class), "%s", table[i].backend);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin");
    TCase *tests = tcase_create("plugin");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, open_device, close_device);
    tcase_add_test(tests, matmul_forward_and_backward);
    tcase_add_test(tests, gradients_follow_requires_grad);
    tcase_add_test(tests, column_major_storage);
    tcase_add_test(tests, in_place_and_broadcast);
    tcase_add_test(tests, shapes_and_strides);
    tcase_add_test(tests, strided_inputs_are_made_dense);
    tcase_add_loop_test(tests, scalar_functions_are_looped, 0, 3);
    tcase_add_test(tests, two_element_arguments_broadcast);
    tcase_add_test(tests, out_parameters_in_a_loop);
    tcase_add_test(tests, other_orders_of_dimensions);
    tcase_add_test(tests, dtype_names_enums_and_codes);
    tcase_add_test(tests, lists_of_tensors);
    tcase_add_test(tests, backward_sees_outputs);
    tcase_add_test(tests, two_phases_handles_and_wrappers);
    tcase_add_test(tests, missing_kernels_are_skipped);
    tcase_add_loop_test(tests, misbehaviour_costs_one_call, 0, sizeof misdeeds / sizeof *misdeeds);
    tcase_add_test(tests, unwritten_elements_show);
    tcase_add_test(tests, in_process_gives_the_same);
    tcase_add_test(tests, missing_libraries_and_symbols);
    tcase_add_test(tests, devices_are_found_by_name);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
