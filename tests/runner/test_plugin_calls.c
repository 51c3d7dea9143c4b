/* How a plugin's kernel is called: results in every type, slots, codes, loops, work space, the
 * environment. */
#include <sys/resource.h>

#include "plugin_calls.h"

/* A device for these kernels of the library "k" and libm, without a process of its own. */
static struct device *open_kernels(const char *kernels)
{
    char ut[] = PROBE_UT, path[] = "/tmp/probe-plugin-XXXXXX", backend[100];
    FILE *out = fdopen(mkstemp(path), "w");
    fprintf(
        out,
        "{ \"plugin\": 1, \"name\": \"own\", \"environment\": { \"PLUGIN_KERNELS_MODE\": \"test\" "
        "}, "
        "\"libraries\": { \"k\": \"%s/tests/plugin/libplugin-kernels.so\", \"m\": \"libm.so.6\" }, "
        "\"kernels\": [ %s ] }",
        dirname(ut), kernels);
    fclose(out);
    snprintf(backend, sizeof backend, "plugin:%s", path);
    struct device_options options = { .backend = backend, .in_process = true };
    struct device *own = NULL;
    struct status st = device_find(backend)->open(&own, &options);
    remove(path);
    ck_assert_msg(!st.code, "%s", st.text);
    return own;
}

static struct status run_on(struct device *own, struct device_result *out, const struct api_case *c)
{
    return own->class->run(own, out, &arena, c, false);
}

static const struct {
    const char *type, *ok;
    int64_t x;
    const char *text; /* NULL: the call went well */
} checked[] = {
    { "i8", "nonnegative", -8, "device: give_i8 returned -8" },
    { "i8", "nonnegative", 256 + 100, NULL }, /* only the low byte counts */
    { "i8", "zero", 256, NULL },
    { "u8", "nonnegative", 200, NULL },
    { "u8", "zero", 200, "device: give_u8 returned 200" },
    { "i16", "nonnegative", -300, "device: give_i16 returned -300" },
    { "u16", "nonnegative", 60000, NULL },
    { "u16", "nonzero", 65536, "device: give_u16 returned 0" },
    { "i32", "nonnegative", -1, "device: give_i32 returned -1" },
    { "i32", "zero", 0, NULL },
    { "i32", "zero", 5, "device: give_i32 returned 5" },
    { "i32", "nonzero", 0, "device: give_i32 returned 0" },
    { "i32", "nonzero", 3, NULL },
    { "i32", "any", -1, NULL },
    { "u32", "nonnegative", 4000000000, NULL },
    { "u32", "zero", 4000000000, "device: give_u32 returned 4000000000" },
    { "i64", "nonnegative", INT64_MIN, "device: give_i64 returned -9223372036854775808" },
    { "i64", "zero", (int64_t)1 << 40, "device: give_i64 returned 1099511627776" },
    { "u64", "nonzero", 7, NULL },
    { "pointer", "nonnull", 0, "device: give_pointer returned 0" },
    { "pointer", "nonnull", 16, NULL },
};

/* What a result means is judged in its own type. */
START_TEST(results_are_judged_in_their_type)
{
    char kernel[500];
    snprintf(
        kernel, sizeof kernel,
        "{ \"apis\": [\"Torch.f\"], \"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"y\", "
        "\"shape\": \"[]\", \"dtype\": \"'float32'\" } ], \"steps\": [ { \"call\": \"give_%s\", "
        "\"library\": \"k\", \"arguments\": [ { \"i64\": \"x\" } ], \"returns\": { \"type\": "
        "\"%s\", \"ok\": \"%s\" } } ] }",
        checked[_i].type, checked[_i].type, checked[_i].ok);
    struct device *own = open_kernels(kernel);
    struct api_case c =
        make_case(&arena, "Torch", "f", list_value(&arena, 1, int_value(checked[_i].x)));
    struct device_result r;
    struct status st = run_on(own, &r, &c);
    if (checked[_i].text) ck_assert_str_eq(st.text, checked[_i].text);
    ck_assert_int_eq(st.code, checked[_i].text ? STATUS_DEVICE : STATUS_OK);
    own->class->close(own);
}
END_TEST

static const struct {
    const char *type, *keep, *as;
    int64_t x;
    double want;
} kept[] = {
    { "i8", "keep_integer", "i64", -8, -8 },
    { "i8", "keep_integer", "i64", 200, 200 - 256 },
    { "u8", "keep_integer", "i64", 200, 200 },
    { "i16", "keep_integer", "i64", -300, -300 },
    { "u16", "keep_integer", "i64", 60000, 60000 },
    { "i32", "keep_integer", "i64", -70000, -70000 },
    { "u32", "keep_integer", "i64", 4000000000, 4000000000 },
    { "i64", "keep_integer", "i64", -((int64_t)1 << 40), -0x1p40 },
    { "u64", "keep_integer", "u64", (int64_t)1 << 40, 0x1p40 },
    { "pointer", "keep_integer", "pointer", 4096, 4096 },
    { "f32", "keep_f32", "f32", -3, -0.75 },
    { "f64", "keep_f64", "f64", -3, -0.75 },
};

/* A slot hands a result on to the next call, with its sign. */
START_TEST(slots_keep_results)
{
    char kernel[900];
    snprintf(
        kernel, sizeof kernel,
        "{ \"apis\": [\"Torch.f\"], \"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"y\", "
        "\"shape\": \"[]\", \"dtype\": \"'float64'\" } ], \"steps\": [ { \"call\": \"give_%s\", "
        "\"library\": \"k\", \"arguments\": [ { \"i64\": \"x\" } ], \"returns\": { \"type\": "
        "\"%s\", \"into\": \"s\" } }, { \"call\": \"%s\", \"library\": \"k\", \"arguments\": "
        "[ { \"slot\": \"s\", \"type\": \"%s\" }, { \"data\": \"y\" } ] } ] }",
        kept[_i].type, kept[_i].type, kept[_i].keep, kept[_i].as);
    struct device *own = open_kernels(kernel);
    struct api_case c =
        make_case(&arena, "Torch", "f", list_value(&arena, 1, int_value(kept[_i].x)));
    struct device_result r;
    struct status st = run_on(own, &r, &c);
    ck_assert_msg(!st.code, "%s", st.text);
    check_doubles(&r.outputs.list.items[0], &kept[_i].want, 1, 0);
    own->class->close(own);
}
END_TEST

/* A library's words for its codes are asked for; where it has none, the code stands alone. */
START_TEST(codes_are_explained_where_they_can_be)
{
    static const char *const table[][2] = {
        { "error_in_words", "device: give_i32 returned 3: dtype is not supported" },
        { "speechless", "device: give_i32 returned 3" },
        { "not_there", "device: give_i32 returned 3" },
        { "nowhere", "device: give_i32 returned 3" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char kernel[600];
        snprintf(
            kernel, sizeof kernel,
            "{ \"apis\": [\"Torch.f\"], \"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"y\", "
            "\"shape\": \"[]\", \"dtype\": \"'float32'\" } ], \"steps\": [ { \"call\": "
            "\"give_i32\", \"library\": \"k\", \"arguments\": [ { \"i64\": \"x\" } ], \"returns\": "
            "{ \"type\": \"i32\", \"ok\": \"zero\", \"explain\": \"%s\", \"library\": \"k\" } } ] "
            "}",
            table[i][0]);
        struct device *own = open_kernels(kernel);
        struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 1, int_value(3)));
        struct device_result r;
        ck_assert_str_eq(run_on(own, &r, &c).text, table[i][1]);
        own->class->close(own);
    }
}
END_TEST

#define HALVES(call, returns)                                                                    \
    "{ \"apis\": [\"Torch.f\"], \"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"whole\", " \
    "\"shape\": \"shape(x)\", \"dtype\": \"'float32'\" }, { \"name\": \"rest\", \"shape\": "     \
    "\"shape(x)\", \"dtype\": \"'float32'\" } ], \"steps\": [ { \"call\": \"" call               \
    "\", \"library\": "                                                                          \
    "\"k\", \"loop\": \"whole\", \"arguments\": [ { \"element\": \"x\", \"type\": \"f32\" }, "   \
    "{ \"element_address\": \"whole\" }, { \"element_address\": \"rest\" } ], " returns " } ] }"

/* A loop goes over none, one and several elements alike; a round that fails is not passed over. */
START_TEST(every_round_of_a_loop_counts)
{
    struct device *own = open_kernels(
        HALVES("positive_halves", "\"returns\": { \"type\": \"i32\", \"ok\": \"zero\" }"));
    struct device *strict = open_kernels(
        HALVES("positive_halves", "\"returns\": { \"type\": \"i32\", \"ok\": \"nonzero\" }"));
    const double x[] = { 2.75, 3.25, -1, 4.5 };
    struct device_result r;
    for (int64_t n = 0; n <= 4; n++) {
        struct value value = tensor_value(&arena, DT_F32, false, 1, &n, x, 4);
        struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 1, value));
        struct status st = run_on(own, &r, &c);
        if (n > 2) {
            ck_assert_str_eq(st.text, "device: positive_halves returned 5");
            continue;
        }
        ck_assert_msg(!st.code, "%s", st.text);
        check_doubles(&r.outputs.list.items[0], (double[]){ 2, 3 }, (size_t)n, 0);
        check_doubles(&r.outputs.list.items[1], (double[]){ 0.75, 0.25 }, (size_t)n, 0);
        /* Where success is a number that is not zero, nothing called is no failure. */
        st = run_on(strict, &r, &c);
        if (n) ck_assert_str_eq(st.text, "device: positive_halves returned 0");
        else ck_assert_msg(!st.code, "%s", st.text);
    }
    own->class->close(own);
    strict->class->close(strict);
}
END_TEST

#define ELEMENTWISE(call, library, result, dtype, arguments)                                   \
    "{ \"apis\": [\"Torch." call "\"], \"parameters\": [\"x\", \"y = None\", \"k = None\"], "  \
    "\"outputs\": [ { \"name\": \"out\", \"shape\": \"shape(x)\", \"dtype\": \"'" dtype        \
    "'\" } ], "                                                                                \
    "\"steps\": [ { \"call\": \"" call "\", \"library\": \"" library "\", \"loop\": \"out\", " \
    "\"arguments\": [ " arguments " ], \"returns\": { \"type\": \"" result "\", \"element\": " \
    "\"out\" } } ] }"
#define X "{ \"element\": \"x\", \"type\": \"f64\" }"

/* Scalar functions of one to three arguments, of one type and of several. */
/* clang-format off */
START_TEST(loops_take_any_function)
{
    struct device *own = open_kernels(
        ELEMENTWISE("cbrt", "m", "f64", "float64", X) ", "
        ELEMENTWISE("atan2", "m", "f64", "float64", X ", { \"element\": \"y\", \"type\": \"f64\" }") ", "
        ELEMENTWISE("fma", "m", "f64", "float64", X ", { \"element\": \"y\", \"type\": \"f64\" }, " X) ", "
        ELEMENTWISE("ldexp", "m", "f64", "float64", X ", { \"element\": \"k\", \"type\": \"i32\" }") ", "
        ELEMENTWISE("scalbn", "m", "f64", "float64", X ", { \"i32\": 3 }") ", "
        ELEMENTWISE("llrint", "m", "i64", "int64", X) ", "
        ELEMENTWISE("narrowed", "k", "f32", "float32", X));
    enum { N = 5 };
    const double xs[N] = { -2.5, 0.1, 1, 3.7, 27 }, ys[N] = { 1, -2, 0.3, 4, 5 }, ks[N] = { 3, -2, 0, 1, 4 };
    struct value x = tensor_value(&arena, DT_F64, false, SHAPE(N), xs, N);
    struct value y = tensor_value(&arena, DT_F64, false, SHAPE(N), ys, N);
    struct value k = tensor_value(&arena, DT_I32, false, SHAPE(N), ks, N);
    static const char *const apis[] = { "cbrt", "atan2", "fma", "ldexp", "scalbn", "llrint", "narrowed" };
    for (size_t a = 0; a < sizeof apis / sizeof *apis; a++) {
        double want[N];
        struct device_result r;
        for (int i = 0; i < N; i++) {
            const double of[] = { cbrt(xs[i]), atan2(xs[i], ys[i]), fma(xs[i], ys[i], xs[i]),
                                  ldexp(xs[i], (int)ks[i]), 8 * xs[i], rint(xs[i]), (float)xs[i] };
            want[i] = of[a];
        }
        struct api_case c = make_case(&arena, "Torch", apis[a], list_value(&arena, 3, x, y, k));
        struct status st = run_on(own, &r, &c);
        ck_assert_msg(!st.code, "%s: %s", apis[a], st.text);
        check_doubles(&r.outputs.list.items[0], want, N, 0);
    }
    own->class->close(own);
}
/* clang-format on */
END_TEST

/* A loop whose results nobody takes leaves the output as it was. */
START_TEST(results_may_be_dropped)
{
    struct device *own = open_kernels("{ \"apis\": [\"Torch.f\"], \"parameters\": [\"x\"], "
                                      "\"outputs\": [ { \"name\": \"y\", \"shape\": "
                                      "\"shape(x)\", \"dtype\": \"'float32'\", \"initial\": 7 } ], "
                                      "\"steps\": [ { \"call\": \"expf\", "
                                      "\"library\": \"m\", \"loop\": \"y\", \"arguments\": [ { "
                                      "\"element\": \"x\", \"type\": \"f32\" } "
                                      "], \"returns\": { \"type\": \"f32\" } } ] }");
    struct api_case c =
        make_case(&arena, "Torch", "f", list_value(&arena, 1, f32(false, SHAPE(3))));
    struct device_result r;
    ck_assert(!run_on(own, &r, &c).code);
    check_doubles(&r.outputs.list.items[0], (double[]){ 7, 7, 7 }, 3, 0);
    own->class->close(own);
}
END_TEST

/* Work space of any size, kept from call to call and grown; what cannot be had is said. */
START_TEST(work_space_of_any_size)
{
    struct device *own = open_kernels(
        "{ \"apis\": [\"Torch.f\"], \"parameters\": [\"n\"], \"outputs\": [ { \"name\": \"y\", "
        "\"shape\": "
        "\"[2]\", \"dtype\": \"'float64'\" } ], \"steps\": [ { \"allocate\": \"w\", \"bytes\": "
        "\"n\" }, "
        "{ \"call\": \"fill_workspace\", \"library\": \"k\", \"arguments\": [ { \"slot\": \"w\" }, "
        "{ \"u64\": \"n\" }, { \"data\": \"y\" } ] } ] }");
    static const struct {
        int64_t bytes;
        const char *text;
        /* clang-format off */
    } table[] = {
        { 4096, NULL }, { 100000, NULL }, { 0, NULL }, { 1, NULL }, { 4097, NULL },
        { (int64_t)1 << 47, "device: asks for a work space of 128 TB" },
        /* One page more than the limit on private memory that is set below. */
        { (int64_t)1 << 46, "device: no memory for a work space of 64 TB" },
        { 4096, NULL }, { 5000, NULL }, { (int64_t)1 << 22, NULL },
    };
    /* clang-format on */
    struct rlimit usual, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &usual), 0);
    limit = usual;
    limit.rlim_cur = (rlim_t)1 << 46;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct api_case c =
            make_case(&arena, "Torch", "f", list_value(&arena, 1, int_value(table[i].bytes)));
        struct device_result r;
        struct status st = run_on(own, &r, &c);
        if (table[i].text) ck_assert_str_eq(st.text, table[i].text);
        else {
            ck_assert_msg(!st.code, "%s", st.text);
            check_doubles(&r.outputs.list.items[0], (double[]){ (double)table[i].bytes, 0 }, 2, 0);
        }
    }
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &usual), 0);
    own->class->close(own);
}
END_TEST

START_TEST(work_spaces_are_counted)
{
    for (int n = 8; n <= 9; n++) {
        char kernel[2000] =
            "{ \"apis\": [\"Torch.f\"], \"parameters\": [], \"outputs\": [ { \"name\": "
            "\"y\", \"shape\": \"[]\", \"dtype\": \"'float32'\", \"initial\": 1 } ], "
            "\"steps\": [ { \"allocate\": \"w\", \"bytes\": 8 }";
        for (int i = 1; i < n; i++) strcat(kernel, ", { \"allocate\": \"w\", \"bytes\": 8 }");
        struct device *own = open_kernels(strcat(kernel, " ] }"));
        struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 0));
        struct device_result r;
        struct status st = run_on(own, &r, &c);
        ck_assert_int_eq(st.code, n == 8 ? STATUS_OK : STATUS_SKIP);
        if (n == 9) ck_assert_str_eq(st.text, "a kernel may allocate at most 8 work spaces");
        own->class->close(own);
    }
}
END_TEST

/* None in a list of tensors is a null pointer; a function may be called in several ways; the
 * environment is what the manifest asks for. */
START_TEST(addresses_signatures_and_environment)
{
    struct device *own = open_kernels(
        "{ \"apis\": [\"Torch.f\"], \"parameters\": [\"x\", \"y\"], \"outputs\": [ { \"name\": "
        "\"o\", "
        "\"shape\": \"[2]\", \"dtype\": \"'float32'\" }, { \"name\": \"e\", \"shape\": \"[]\", "
        "\"dtype\": \"'float64'\" } ], \"steps\": [ { \"call\": \"sum_of_firsts\", \"library\": "
        "\"k\", "
        "\"arguments\": [ { \"data_list\": \"[x, None, y, None, None]\" }, { \"i32\": 5 }, { "
        "\"data\": "
        "\"o\" } ] }, { \"call\": \"environment_mode\", \"library\": \"k\", \"arguments\": [ { "
        "\"data\": "
        "\"e\" } ] }, "
        /* The same function again: with one more argument, another result, another type. */
        "{ \"call\": \"give_i64\", \"library\": \"k\", \"arguments\": [ { \"i64\": 1 } ], "
        "\"returns\": { "
        "\"type\": \"i64\" } }, "
        "{ \"call\": \"give_i64\", \"library\": \"k\", \"arguments\": [ { \"i64\": 2 }, { \"i64\": "
        "2 } ], "
        "\"returns\": { \"type\": \"i64\" } }, "
        "{ \"call\": \"give_i64\", \"library\": \"k\", \"arguments\": [ { \"i64\": 3 } ] }, "
        "{ \"call\": \"give_i64\", \"library\": \"k\", \"arguments\": [ { \"i32\": 4 } ], "
        "\"returns\": { "
        "\"type\": \"i64\", \"into\": \"s\", \"ok\": \"nonzero\" } } ] }");
    struct value x = f32(false, SHAPE(3)), y = f32(false, SHAPE(2, 2));
    struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 2, x, y));
    struct device_result r;
    for (int round = 0; round < 2; round++) {
        struct status st = run_on(own, &r, &c);
        ck_assert_msg(!st.code, "%s", st.text);
        check_doubles(&r.outputs.list.items[0], (double[]){ 3, -8 }, 2, 0);
        check_doubles(&r.outputs.list.items[1], (double[]){ 1 }, 1, 0);
    }
    own->class->close(own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_calls");
    TCase *tests = tcase_create("plugin_calls");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, open_device, close_device);
    tcase_add_loop_test(tests, results_are_judged_in_their_type, 0,
                        sizeof checked / sizeof *checked);
    tcase_add_loop_test(tests, slots_keep_results, 0, sizeof kept / sizeof *kept);
    tcase_add_test(tests, codes_are_explained_where_they_can_be);
    tcase_add_test(tests, every_round_of_a_loop_counts);
    tcase_add_test(tests, loops_take_any_function);
    tcase_add_test(tests, results_may_be_dropped);
    tcase_add_test(tests, work_space_of_any_size);
    tcase_add_test(tests, work_spaces_are_counted);
    tcase_add_test(tests, addresses_signatures_and_environment);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
