/* The worker device against a peer that echoes and misbehaves (worker_peer.c), and against the
 * example worker in C. */
#include <check.h>
#include <libgen.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "runner/devices/autocast.h"
#include "runner/devices/device.h"
#include "runner/devices/worker/worker_message.h"
#include "runner/devices/worker/worker_process.h"
#include "runner/devices/worker/worker_words.h"
#include "support/cases.h"
#include "support/diagnosis.h"
#include "support/sanitized.h"
#include "support/suite.h"

static struct arena arena;
static struct device *device;

#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static struct device *open_with(const char *program, const char *arguments,
                                struct device_options options)
{
    char ut[] = PROBE_UT, backend[2000];
    snprintf(backend, sizeof backend, "worker:'%s/%s' %s", dirname(ut), program, arguments);
    options.backend = backend;
    options.device_id = 7;
    const struct device_class *class = device_find(backend);
    struct device *out = NULL;
    struct status st = class->open(&out, &options);
    ck_assert_msg(!st.code, "%s", st.text);
    return out;
}

static struct device *open_worker(const char *program, const char *arguments)
{
    return open_with(program, arguments, (struct device_options){ .case_timeout_s = 3 });
}

static void open_peer(void)
{
    device = open_worker("tests/plugin/worker-peer", "well");
    ck_assert(!device->class->ready(device).code);
}

static void close_peer(void)
{
    device->class->close(device);
    arena_release(&arena);
}

static struct status run(struct device_result *out, const struct api_case *c, bool gradients)
{
    return device->class->run(device, out, &arena, c, gradients);
}

static char caller_text[300000];

/* --- words --------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *words; /* joined by | */
} splits[] = {
    { "python3 worker.py", "python3|worker.py" },
    { "  a\tb\n c ", "a|b|c" },
    { "'a b' \"c d\"", "a b|c d" },
    { "a'b'\"c\"d", "abcd" },
    { "a\\ b", "a b" },
    { "'a\\b'", "a\\b" },
    { "\"a\\\"b\\c\\$\"", "a\"b\\c$" },
    { "a '' b", "a||b" },
    { "$HOME *.c ~ `x`", "$HOME|*.c|~|`x`" },
    { "'unended", NULL },
    { "\"unended\\\"", NULL },
    { "end\\", NULL },
    { "   ", NULL },
};

START_TEST(commands_are_split_as_a_shell_does)
{
    const char *const *words;
    char joined[200] = "";
    size_t count;
    struct status st = worker_words(&words, &count, &arena, splits[_i].text);
    if (!splits[_i].words) {
        ck_assert_int_eq(st.code, STATUS_BAD_ARGUMENT);
        return;
    }
    ck_assert(!st.code);
    for (size_t i = 0; i < count; i++) {
        if (i) strcat(joined, "|");
        strcat(joined, words[i]);
    }
    ck_assert_ptr_null(words[count]);
    ck_assert_str_eq(joined, splits[_i].words);
}
END_TEST

/* --- what goes there and back ------------------------------------------------------------------------ */

/* Tensors of every dtype, empty ones and scalars too, come back as they were. */
START_TEST(tensors_go_there_and_back)
{
    for (int dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
        const int64_t shapes[][3] = { { 2, 3, 4 }, { 1, 1, 1 }, { 3, 0, 2 } };
        for (int s = 0; s < 4; s++) {
            struct value x = s < 3 ? ramp_value(&arena, (enum dtype)dtype, false, 3, shapes[s])
                                   : ramp_value(&arena, (enum dtype)dtype, false, 0, NULL);
            struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
            struct device_result r;
            struct status st = run(&r, &c, false);
            ck_assert_msg(!st.code, "%s", st.text);
            const struct tensor *in = x.tensor.tensor, *out = r.outputs.list.items[0].tensor.tensor;
            ck_assert_int_eq(out->dtype, in->dtype);
            ck_assert(tensor_same_shape(in, out));
            ck_assert_mem_eq(in->data, out->data,
                             tensor_elements(in) * dtype_info(in->dtype)->bytes);
        }
    }
}
END_TEST

/* Several tensors, one of them strided, and cotangents; a large one makes the memory grow. */
START_TEST(several_tensors)
{
    struct value a = ramp_value(&arena, DT_F32, true, SHAPE(3, 4));
    struct value b = ramp_value(&arena, DT_F16, true, SHAPE(1000, 1500));
    struct value g = ramp_value(&arena, DT_F32, true, SHAPE(3, 4));
    const double *in = doubles_of(&arena, &a);
    struct tensor *t = a.tensor.tensor;
    t->shape[0] = 4, t->shape[1] = 3, t->stride[0] = 1, t->stride[1] = 4;
    struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 2, a, b));
    c.cotangents = list_value(&arena, 2, g, none_value());
    struct device_result r;
    struct status st = run(&r, &c, true);
    ck_assert_msg(!st.code, "%s", st.text);
    const double *out = doubles_of(&arena, &r.outputs.list.items[0]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) ck_assert_double_eq(out[i * 3 + k], in[k * 4 + i]);
    ck_assert_mem_eq(b.tensor.tensor->data, r.outputs.list.items[1].tensor.tensor->data, 3000000);
    ck_assert_mem_eq(g.tensor.tensor->data, r.gradients.list.items[0].tensor.tensor->data, 48);
    ck_assert_int_eq(r.gradients.list.items[1].kind, VALUE_NONE);
}
END_TEST

static struct status grow(struct worker_memory *memory, uint64_t bytes)
{
    memory->bytes = bytes;
    return bytes <= memory->limit ? status_ok() : status_error(STATUS_IO, "too small");
}

/* The line that a worker gets, literally. */
START_TEST(the_request_is_as_documented)
{
    struct value x = ramp_value(&arena, DT_BF16, true, SHAPE(2, 3));
    struct value slice = list_value(&arena, 3, int_value(1), none_value(), none_value());
    struct value size = list_value(&arena, 2, int_value(2), int_value(-1));
    slice.kind = VALUE_SLICE;
    size.kind = VALUE_SIZE;
    struct value ellipsis = { .kind = VALUE_ELLIPSIS };
    struct value place = { .kind = VALUE_DEVICE, .string = "npu:0" };
    struct api_case c = make_case(
        &arena, "Torch", "raw",
        list_value(&arena, 9, x, int_value(((int64_t)1 << 53) + 1), float_value(2),
                   float_value(NAN), string_value("a\"\n"), list_value(&arena, 2, slice, ellipsis),
                   size, dtype_value(DT_F32), place));
    c.kwargs = dict_value(&arena, 1, "keepdim", bool_value(true));
    struct value recorded = ramp_value(&arena, DT_F32, false, SHAPE(6));
    c.outputs = list_value(&arena, 2, recorded, none_value());
    c.cotangents = list_value(&arena, 1, none_value());
    static unsigned char bytes[4096];
    struct worker_memory memory = { .base = bytes, .limit = sizeof bytes, .reserve = grow };
    struct text line = { 0 };
    ck_assert(!worker_request(&line, &memory, 5, &c, true).code);
    ck_assert_str_eq(
        line.bytes,
        "{\"run\":5,\"api\":\"Torch.raw.0\",\"type\":\"Torch\",\"name\":\"raw\",\"args\":["
        "{\"tensor\":{\"dtype\":\"torch.bfloat16\",\"shape\":[2,3],\"offset\":0,"
        "\"requires_grad\":true}},{\"int\":\"9007199254740993\"},2.0,{\"float\":\"nan\"},"
        "\"a\\\"\\u000a\",[{\"slice\":[1,null,null]},{\"ellipsis\":true}],{\"size\":[2,-1]},"
        "{\"dtype\":\"torch.float32\"},{\"device\":\"npu:0\"}],\"kwargs\":{\"keepdim\":true},"
        "\"gradients\":true,\"cotangents\":[null],"
        "\"recorded\":[{\"dtype\":\"torch.float32\",\"shape\":[6]},null],"
        "\"autocast\":null,\"free\":64}\n");
    ck_assert_mem_eq(bytes, x.tensor.tensor->data, 12);
    text_release(&line);
}
END_TEST

START_TEST(values_come_as_documented)
{
    struct api_case c = make_case(&arena, "Torch", "values", list_value(&arena, 0));
    struct device_result r;
    ck_assert(!run(&r, &c, true).code);
    const struct value *v = r.outputs.list.items;
    ck_assert_uint_eq(r.outputs.list.count, 8);
    ck_assert_int_eq(v[0].kind, VALUE_NONE);
    ck_assert(v[1].kind == VALUE_BOOL && v[1].boolean);
    ck_assert(v[2].kind == VALUE_INT && v[2].integer == 7);
    ck_assert(v[3].kind == VALUE_FLOAT && v[3].real == 7);
    ck_assert(v[4].kind == VALUE_FLOAT && isnan(v[4].real));
    ck_assert(v[5].kind == VALUE_INT && v[5].integer == 9007199254740993);
    ck_assert(v[6].kind == VALUE_STRING && !strcmp(v[6].string, "text"));
    ck_assert(v[7].kind == VALUE_DTYPE && v[7].dtype == DT_F16);
}
END_TEST

/* --- refusals and misbehaviour ------------------------------------------------------------------------- */

static const struct {
    const char *deed;
    enum status_code code;
    const char *text;
} misdeeds[] = {
    { "skip", STATUS_SKIP, "not for me" },
    { "error", STATUS_DEVICE, "bad things" },
    { "poisoned", STATUS_DEVICE, "context lost" },
    { "crash", STATUS_DEVICE, "device crashed: SIGSEGV in Torch.crash.0: about to crash" },
    { "exit", STATUS_DEVICE,
      "device exited with status 5 in Torch.exit.0: ValueError: 3 is not a dtype" },
    { "hang", STATUS_DEVICE, "device hung for 3 s in Torch.hang.0" },
    { "close", STATUS_DEVICE, "device crashed: SIGKILL in Torch.close.0" },
    { "killed", STATUS_DEVICE, "device crashed: SIGKILL in Torch.killed.0" },
    { "garbage", STATUS_DEVICE, "the worker's reply: not JSON: {\"run\":" },
    { "another", STATUS_DEVICE, "the worker's reply: it does not answer request" },
    { "nothing", STATUS_DEVICE, "the worker's reply: \"outputs\" or \"gradients\" is not a list" },
    { "no_list", STATUS_DEVICE, "the worker's reply: \"outputs\" or \"gradients\" is not a list" },
    { "no_gradients", STATUS_DEVICE, "the worker's reply: neither \"gradients\" nor a reason" },
    { "outside", STATUS_DEVICE, "the worker's reply: a tensor outside the shared memory" },
    { "overflow", STATUS_DEVICE, "the worker's reply: a shape that is too large" },
    { "negative", STATUS_DEVICE, "the worker's reply: a shape that is not of whole numbers" },
    { "fraction", STATUS_DEVICE, "the worker's reply: a tensor without an offset" },
    { "no_dtype", STATUS_DEVICE, "the worker's reply: a tensor without a known dtype" },
    { "two_keys", STATUS_DEVICE, "the worker's reply: an output that is neither a value nor" },
};

/* Each is told, and the next call works: the worker is replaced where it has to be. */
START_TEST(misbehaviour_costs_one_call)
{
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(5));
    struct api_case good = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
    struct api_case bad = make_case(&arena, "Torch", misdeeds[_i].deed, list_value(&arena, 1, x));
    struct device_result r;
    for (int round = 0; round < 2; round++) {
        ck_assert(!run(&r, &good, false).code);
        struct status st = run(&r, &bad, true);
        ck_assert_int_eq(st.code, misdeeds[_i].code);
        ck_assert_msg(is_diagnosed(st.text, misdeeds[_i].text), "%s", st.text);
    }
    struct status st = run(&r, &good, false);
    ck_assert_msg(!st.code, "%s", st.text);
}
END_TEST

/* A backward that the worker does not have is a reason beside good outputs. */
START_TEST(outputs_without_gradients)
{
    struct api_case c = make_case(&arena, "Torch", "no_backward", list_value(&arena, 0));
    struct device_result r;
    ck_assert(!run(&r, &c, true).code);
    ck_assert_int_eq(r.backward.code, STATUS_SKIP);
    ck_assert_str_eq(r.backward.text, "forward only");
    ck_assert_int_eq(r.gradients.kind, VALUE_NONE);
    ck_assert_uint_eq(r.outputs.list.count, 1);
}
END_TEST

/* One that says it has no backward is never asked for one. */
START_TEST(forward_only_workers)
{
    struct device *other = open_worker("tests/plugin/worker-peer", "forward");
    ck_assert(!other->class->ready(other).code);
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(5));
    struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!other->class->run(other, &r, &arena, &c, true).code);
    ck_assert_int_eq(r.backward.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(r.backward.text, "computes no gradients"));
    ck_assert_int_eq(r.gradients.kind, VALUE_NONE);
    ck_assert_uint_eq(r.outputs.list.count, 1);
    other->class->close(other);
}
END_TEST

/* A worker that logs more than a pipe holds, and one that tries to shrink the memory under us. */
START_TEST(harmless_habits)
{
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(5));
    struct device_result r;
    const char *deeds[] = { "chatty", "shrink" };
    for (int i = 0; i < 2; i++) {
        struct api_case c = make_case(&arena, "Torch", deeds[i], list_value(&arena, 1, x));
        struct status st = run(&r, &c, false);
        ck_assert_msg(!st.code, "%s", st.text);
    }
}
END_TEST

/* A line without end is cut off before it fills the memory. */
START_TEST(endless_lines_end)
{
    struct device *patient = open_with("tests/plugin/worker-peer", "well",
                                       (struct device_options){ .case_timeout_s = 60 });
    struct api_case c = make_case(&arena, "Torch", "endless", list_value(&arena, 0));
    struct device_result r;
    struct status st = patient->class->run(patient, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_DEVICE);
    ck_assert_str_eq(st.text, "device sent more than 64 MB without a newline");
    c = make_case(&arena, "Torch", "echo", list_value(&arena, 0));
    ck_assert(!patient->class->run(patient, &r, &arena, &c, false).code);
    patient->class->close(patient);
}
END_TEST

static const struct {
    const char *greeting, *text;
} refusals[] = {
    { "old", "speaks version 0 of the protocol, this program version 1" },
    { "mumbling", "does not speak the worker protocol: hello there" },
    { "unwilling", "no such device: 7" },
    { "dying", "device exited with status 4 in its start" },
};

START_TEST(workers_that_do_not_greet)
{
    struct device *other = open_worker("tests/plugin/worker-peer", refusals[_i].greeting);
    struct status st = other->class->ready(other);
    ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(st.text, refusals[_i].text) != NULL, "%s", st.text);
    other->class->close(other);
}
END_TEST

START_TEST(commands_that_are_not_there)
{
    struct device_options options = { .backend = "worker:/nonexistent/worker --x" };
    struct device *other;
    ck_assert(!device->class->open(&other, &options).code);
    struct status st = other->class->ready(other);
    ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(st.text, "cannot run /nonexistent/worker: No such file") != NULL, "%s",
                  st.text);
    other->class->close(other);
    options.backend = "worker:'x";
    ck_assert_int_eq(device->class->open(&other, &options).code, STATUS_BAD_ARGUMENT);
}
END_TEST

/* --- the autocast rule, clause by clause (mixed dtypes; one dtype and another output) --------------- */

START_TEST(autocast_follows_the_dtypes)
{
    struct value f32 = ramp_value(&arena, DT_F32, false, SHAPE(1));
    struct value f16 = ramp_value(&arena, DT_F16, false, SHAPE(1));
    struct value bf16 = ramp_value(&arena, DT_BF16, false, SHAPE(1));
    struct value i64 = ramp_value(&arena, DT_I64, false, SHAPE(1));
    struct api_case c = make_case(&arena, "Torch", "x", list_value(&arena, 1, i64));
    ck_assert_int_eq(case_autocast(&c), DT_NONE);
    c.args = list_value(&arena, 2, f32, bf16);
    ck_assert_int_eq(case_autocast(&c), DT_BF16);
    c.args = list_value(&arena, 1, f32);
    c.kwargs = dict_value(&arena, 1, "weight", f16);
    ck_assert_int_eq(case_autocast(&c), DT_F16);
    c.kwargs = dict_value(&arena, 0);
    ck_assert_int_eq(case_autocast(&c), DT_NONE);
    c.outputs = list_value(&arena, 1, bf16);
    ck_assert_int_eq(case_autocast(&c), DT_BF16);
    c.outputs = list_value(&arena, 1, f32);
    ck_assert_int_eq(case_autocast(&c), DT_NONE);
    c.args = list_value(&arena, 1, f16);
    ck_assert_int_eq(case_autocast(&c), DT_NONE); /* nobody autocasts to float32 */
    c.outputs = list_value(&arena, 1, i64);
    ck_assert_int_eq(case_autocast(&c), DT_NONE);
    c.outputs = list_value(&arena, 1, f16);
    ck_assert_int_eq(case_autocast(&c), DT_NONE); /* it has that dtype already */
    c.args = list_value(&arena, 1, f32);
    ck_assert_int_eq(case_autocast(&c), DT_F16);
    c.outputs = list_value(&arena, 1, int_value(5));
    ck_assert_int_eq(case_autocast(&c), DT_NONE);
    c.outputs = list_value(&arena, 1, (struct value){ .kind = VALUE_TENSOR });
    ck_assert_int_eq(case_autocast(&c), DT_NONE);
}
END_TEST

/* --- the example -------------------------------------------------------------------------------------- */

START_TEST(the_example_in_c_computes)
{
    struct device *example = open_worker("examples/worker-c", "");
    ck_assert(!example->class->ready(example).code);
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(4, 9));
    struct value g = ramp_value(&arena, DT_F32, false, SHAPE(4, 9));
    const double *in = doubles_of(&arena, &x), *d = doubles_of(&arena, &g);
    struct api_case c = make_case(&arena, "Torch", "tanh", list_value(&arena, 1, x));
    c.cotangents = list_value(&arena, 1, g);
    struct device_result r;
    struct status st = example->class->run(example, &r, &arena, &c, true);
    ck_assert_msg(!st.code, "%s", st.text);
    const double *y = doubles_of(&arena, &r.outputs.list.items[0]);
    const double *dx = doubles_of(&arena, &r.gradients.list.items[0]);
    for (int i = 0; i < 36; i++) {
        ck_assert_double_eq_tol(y[i], tanh(in[i]), 1e-6);
        ck_assert_double_eq_tol(dx[i], d[i] * (1 - tanh(in[i]) * tanh(in[i])), 1e-5);
    }
    c = make_case(&arena, "Torch", "conv2d", list_value(&arena, 1, x));
    ck_assert_int_eq(example->class->run(example, &r, &arena, &c, true).code, STATUS_SKIP);
    example->class->close(example);
}
END_TEST

/* --- processes ------------------------------------------------------------------------------------------ */

/* What the worker is told first. */
START_TEST(the_greeting_says_who_and_where)
{
    for (int jit = 0; jit < 2; jit++) {
        struct device *other =
            open_with("tests/plugin/worker-peer", "proud",
                      (struct device_options){ .case_timeout_s = 9, .jit_compile = jit });
        char want[200];
        snprintf(want, sizeof want,
                 "device exited with status 4 in its start: {\"hello\":\"probe-ut\",\"protocol\":1,"
                 "\"device\":7,\"jit_compile\":%s,\"memory\":\"/proc/self/fd/3\"}",
                 jit ? "true" : "false");
        struct status st = other->class->ready(other);
        ck_assert_msg(strstr(st.text, want) != NULL, "%s", st.text);
        other->class->close(other);
    }
}
END_TEST

/* One that ended between two calls. */
START_TEST(a_worker_that_is_gone_is_missed_and_replaced)
{
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(5));
    struct api_case c = make_case(&arena, "Torch", "dies_later", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!run(&r, &c, false).code);
    usleep(300000);
    c = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
    ck_assert_str_eq(run(&r, &c, false).text, "device crashed: SIGALRM in Torch.echo.0");
    struct status st = run(&r, &c, false);
    ck_assert_msg(!st.code, "%s", st.text);
}
END_TEST

/* Lines longer than a socket or a pipe holds, without a time limit and with one of months. */
START_TEST(long_lines_go_both_ways)
{
    const double limits[] = { 0, 1e7, 60 };
    enum { N = 3 << 20 };
    char *text = malloc(N + 1);
    for (int i = 0; i < N; i++) text[i] = (char)('a' + i % 23);
    text[N] = '\0';
    struct api_case c =
        make_case(&arena, "Torch", "echo", list_value(&arena, 1, string_value(text)));
    for (int i = 0; i < 3; i++) {
        struct device *other = open_with("tests/plugin/worker-peer", "well",
                                         (struct device_options){ .case_timeout_s = limits[i] });
        struct device_result r;
        struct status st = other->class->run(other, &r, &arena, &c, false);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_str_eq(r.outputs.list.items[0].string, text);
        other->class->close(other);
    }
    free(text);
}
END_TEST

static void tick(int signal) { (void)signal; }

/* Signals of the program's own interrupt the waiting and change nothing. */
START_TEST(signals_change_nothing)
{
    const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = tick }, before;
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(500, 1000));
    struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
    struct device *patient = open_with("tests/plugin/worker-peer", "well",
                                       (struct device_options){ .case_timeout_s = 60 });
    struct device_result r;
    ck_assert_int_eq(sigaction(SIGALRM, &action, &before), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
    for (int i = 0; i < 10; i++) {
        struct status st = patient->class->run(patient, &r, &arena, &c, false);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_mem_eq(r.outputs.list.items[0].tensor.tensor->data, x.tensor.tensor->data,
                         2000000);
    }
    struct api_case hang = make_case(&arena, "Torch", "hang", list_value(&arena, 0));
    ck_assert_str_eq(run(&r, &hang, false).text, "device hung for 3 s in Torch.hang.0");
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    ck_assert_int_eq(sigaction(SIGALRM, &before, NULL), 0);
    patient->class->close(patient);
}
END_TEST

/* The limit on memory is the worker's, not the program's. */
START_TEST(memory_is_limited)
{
    struct device *other =
        open_with("tests/plugin/worker-peer", "well",
                  (struct device_options){ .case_timeout_s = 60, .memory_limit_bytes = 64 << 20 });
    struct api_case c = make_case(&arena, "Torch", "hog", list_value(&arena, 0));
    struct device_result r;
    ck_assert_str_eq(other->class->run(other, &r, &arena, &c, false).text,
                     "device exited with status 6 in Torch.hog.0: no memory left");
    other->class->close(other);
}
END_TEST

/* A command has at most 255 words. */
START_TEST(commands_of_many_words)
{
    for (int n = 255; n <= 256; n++) {
        char words[1000] = "well";
        for (int i = 2; i < n; i++) strcat(words, " w");
        struct device *other = open_worker("tests/plugin/worker-peer", words);
        struct status st = other->class->ready(other);
        if (n == 255) ck_assert_msg(!st.code, "%s", st.text);
        else
            ck_assert_msg(strstr(st.text, "device exited with status 127 in its start") != NULL,
                          "%s", st.text);
        other->class->close(other);
    }
}
END_TEST

/* Starts that come to nothing are made at growing distances, and an end. */
START_TEST(starts_in_vain_come_to_an_end)
{
    struct device *other = open_worker("tests/plugin/worker-peer", "old");
    struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 0));
    struct device_result r;
    struct timespec from, to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 6; i++) {
        struct status st = other->class->run(other, &r, &arena, &c, false);
        ck_assert_int_eq(st.code, STATUS_DEVICE);
        ck_assert_str_eq(st.text,
                         "the worker speaks version 0 of the protocol, this program version 1");
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_int_ge(to.tv_sec - from.tv_sec, 5); /* 0.4 + 0.8 + 1.6 + 3.2 s */
    for (int i = 0; i < 2; i++) {
        struct status st = other->class->run(other, &r, &arena, &c, false);
        ck_assert_int_eq(st.code, STATUS_SKIP);
        ck_assert_msg(
            strstr(st.text, "cannot be kept running: 6 starts in a row came to nothing") != NULL,
            "%s", st.text);
    }
    other->class->close(other);
}
END_TEST

/* Without the process that forks workers there is no telling, and no other worker. */
START_TEST(without_a_zygote_nothing_starts)
{
    struct device *other = open_worker("tests/plugin/worker-peer", "well");
    struct api_case c = make_case(&arena, "Torch", "parricide", list_value(&arena, 0));
    struct device_result r;
    struct status st = other->class->run(other, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_IO);
    ck_assert_msg(!strncmp(st.text, "cannot tell how kernel process ", 31), "%s", st.text);
    st = other->class->run(other, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_IO);
    ck_assert_msg(!strncmp(st.text, "cannot start a kernel process: ", 31), "%s", st.text);
    other->class->close(other);
}
END_TEST

/* Memory beyond what is kept is given back, and no less than a page is. */
START_TEST(shared_memory_is_trimmed)
{
    struct worker_process process = { .words = NULL };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 64 * page;
    ck_assert(!worker_process_open(&process).code);
    worker_memory_trim(&process.memory, 0); /* nothing yet */
    ck_assert(!process.memory.reserve(&process.memory, bytes - 5).code);
    ck_assert_uint_eq(process.memory.bytes, bytes);
    ck_assert(!process.memory.reserve(&process.memory, 3).code); /* it does not shrink */
    ck_assert_uint_eq(process.memory.bytes, bytes);
    memset(process.memory.base, 1, bytes);
    worker_memory_trim(&process.memory, bytes);
    ck_assert_int_eq(process.memory.base[bytes - 1], 1);
    worker_memory_trim(&process.memory, 2 * page + 7);
    for (size_t i = 0; i < bytes && !emulated();
         i++) /* qemu-user takes advice without heeding it */
        ck_assert_int_eq(process.memory.base[i], i < 2 * page);
    /* What another has lengthened is seen, and seals keep it from being shortened. */
    process.memory.bytes = page;
    ck_assert(!process.memory.reserve(&process.memory, 2 * page).code);
    ck_assert_uint_eq(process.memory.bytes, bytes);
    ck_assert_int_ne(ftruncate(process.memory_descriptor, 0), 0);
    /* A limit on the sizes of files is one on this, too. */
    struct rlimit usual, small;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = usual;
    small.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct status st = process.memory.reserve(&process.memory, bytes + 1);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
    (void)signal(SIGXFSZ, before);
    ck_assert_str_eq(st.text, "cannot enlarge shared memory: File too large");
    worker_process_close(&process);
    worker_process_close(&process);
}
END_TEST

/* Where addresses are few, less shared memory will do; where there are none, it says so. */
START_TEST(few_addresses_will_do)
{
    if (SANITIZED || emulated()) return; /* their shadow takes all addresses there are */
    struct worker_process process = { .words = NULL };
    struct rlimit usual, few;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    uint64_t now = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
    few = usual;
    few.rlim_cur = now + ((rlim_t)3 << 32);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    struct status st = worker_process_open(&process);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(process.memory.limit, (uint64_t)1 << 33);
    worker_process_close(&process);
    few.rlim_cur = now + ((rlim_t)1 << 29);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert_str_eq(worker_process_open(&process).text,
                     "cannot map shared memory: Cannot allocate memory");
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &usual), 0);
}
END_TEST

/* --- two devices, one process ---------------------------------------------------------------------- */

enum { CALLS = 210 };

struct caller {
    struct device *device;
    const char *bad; /* what one of `every` calls asks for; or NULL */
    unsigned every;
    unsigned wrong, failed, bad_failed;
};

/* Calls of growing size: small requests go ahead, large ones do not. */
static void *call_often(void *context)
{
    struct caller *caller = context;
    for (unsigned i = 0; i < CALLS; i++) {
        struct arena own = { 0 };
        struct device_result r = { 0 };
        bool is_bad = caller->bad && i % caller->every == 3;
        struct value x = ramp_value(&own, DT_F32, true, SHAPE(1 + i, 3));
        struct value text = string_value(i % 10 == 9 ? caller_text : "short");
        struct api_case c =
            make_case(&own, "Torch", is_bad ? caller->bad : "f", list_value(&own, 2, x, text));
        struct status st = caller->device->class->run(caller->device, &r, &own, &c, false);
        caller->bad_failed += is_bad && st.code == STATUS_DEVICE;
        caller->failed += !is_bad && st.code;
        if (!is_bad && !st.code) {
            const struct value *got = &r.outputs.list.items[0];
            caller->wrong +=
                got->kind != VALUE_TENSOR ||
                memcmp(got->tensor.tensor->data, x.tensor.tensor->data, (size_t)(1 + i) * 12) != 0;
        }
        arena_release(&own);
    }
    return NULL;
}

/* Two threads with a device each, on one process: each gets its own answers, and whoever asks for trouble has it alone,
 * whether requests wait in the pipe ("ahead") or not. */
static const struct {
    const char *greeting, *bad;
    unsigned every;
} shared_processes[] = {
    { "ahead", NULL, 7 },       { "well", NULL, 7 },       { "ahead", "exit", 7 },
    { "well", "exit", 7 },      { "ahead", "garbage", 7 }, { "ahead", "another", 7 },
    { "ahead", "poisoned", 7 }, { "ahead", "hang", 105 },
};

START_TEST(two_devices_share_a_process)
{
    const unsigned every = shared_processes[_i].every;
    struct caller callers[2] = { { .bad = shared_processes[_i].bad, .every = every },
                                 { .every = every } };
    pthread_t threads[2];
    struct device_options options = { .case_timeout_s = 3 };
    memset(caller_text, 'x', sizeof caller_text - 1);
    for (int i = 0; i < 2; i++) {
        options.beside = i ? callers[0].device : NULL;
        callers[i].device =
            open_with("tests/plugin/worker-peer", shared_processes[_i].greeting, options);
    }
    for (int i = 0; i < 2; i++) ck_assert(!callers[i].device->class->ready(callers[i].device).code);
    for (int i = 0; i < 2; i++)
        ck_assert(!pthread_create(&threads[i], NULL, call_often, &callers[i]));
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(callers[i].wrong, 0);
        ck_assert_uint_eq(callers[i].failed, 0);
        ck_assert_uint_eq(callers[i].bad_failed, callers[i].bad ? CALLS / every : 0);
    }
    for (int i = 0; i < 2; i++) callers[i].device->class->close(callers[i].device);
}
END_TEST

/* Of three devices the last has a process of its own; all of them serve. */
START_TEST(a_third_device_has_its_own_process)
{
    struct device_options options = { .case_timeout_s = 3 };
    struct device *devices[3];
    for (int i = 0; i < 3; i++) {
        options.beside = i ? devices[i - 1] : NULL;
        devices[i] = open_with("tests/plugin/worker-peer", "ahead", options);
    }
    for (int i = 0; i < 3; i++) {
        struct device_result r;
        struct value x = ramp_value(&arena, DT_F32, true, SHAPE(2, 3));
        struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 1, x));
        ck_assert(!devices[i]->class->ready(devices[i]).code);
        ck_assert(!devices[i]->class->run(devices[i], &r, &arena, &c, false).code);
        devices[i]->class->close(devices[i]); /* the others go on */
    }
}
END_TEST

/* With no descriptor left, one, two ... until the worker greets: each refusal is told, and leaves none open. */
START_TEST(descriptors_may_run_out)
{
    static const char *const texts[] = {
        "cannot make the socket to kernel processes: Too many open files",
        "cannot make a pipe: Too many open files"
    };
    enum { N = sizeof texts / sizeof *texts };
    char ut[] = PROBE_UT, backend[1000];
    bool seen[N] = { false };
    struct rlimit usual, few;
    snprintf(backend, sizeof backend, "worker:'%s/tests/plugin/worker-peer' well", dirname(ut));
    struct device_options options = { .backend = backend, .case_timeout_s = 60 };
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    int lowest = dup(0);
    close(lowest);
    for (few.rlim_cur = (rlim_t)lowest;; few.rlim_cur++) {
        struct device *other = NULL;
        size_t i = 0;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        struct status st = device_find(backend)->open(&other, &options);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        int next = dup(0);
        close(next);
        if (!st.code) {
            st = other->class->ready(other);
            ck_assert_msg(!st.code, "%s", st.text);
            other->class->close(other);
            break;
        }
        ck_assert_int_eq(st.code, STATUS_IO);
        ck_assert_int_eq(next, lowest);
        while (i < N && strcmp(texts[i], st.text) != 0) i++;
        ck_assert_msg(i < N, "%s", st.text);
        seen[i] = true;
    }
    for (size_t i = 0; i < N; i++) ck_assert_msg(seen[i], "never said: %s", texts[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker");
    TCase *tests = tcase_create("worker");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, open_peer, close_peer);
    tcase_add_loop_test(tests, commands_are_split_as_a_shell_does, 0,
                        sizeof splits / sizeof *splits);
    tcase_add_test(tests, tensors_go_there_and_back);
    tcase_add_test(tests, several_tensors);
    tcase_add_test(tests, the_request_is_as_documented);
    tcase_add_test(tests, values_come_as_documented);
    tcase_add_loop_test(tests, misbehaviour_costs_one_call, 0, sizeof misdeeds / sizeof *misdeeds);
    tcase_add_test(tests, outputs_without_gradients);
    tcase_add_test(tests, forward_only_workers);
    tcase_add_test(tests, harmless_habits);
    tcase_add_test(tests, endless_lines_end);
    tcase_add_loop_test(tests, workers_that_do_not_greet, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(tests, commands_that_are_not_there);
    tcase_add_test(tests, autocast_follows_the_dtypes);
    tcase_add_test(tests, the_example_in_c_computes);
    tcase_add_test(tests, the_greeting_says_who_and_where);
    tcase_add_test(tests, a_worker_that_is_gone_is_missed_and_replaced);
    tcase_add_test(tests, long_lines_go_both_ways);
    tcase_add_test(tests, signals_change_nothing);
    tcase_add_test(tests, memory_is_limited);
    tcase_add_test(tests, commands_of_many_words);
    tcase_add_test(tests, starts_in_vain_come_to_an_end);
    tcase_add_test(tests, without_a_zygote_nothing_starts);
    tcase_add_test(tests, shared_memory_is_trimmed);
    tcase_add_test(tests, few_addresses_will_do);
    tcase_add_test(tests, descriptors_may_run_out);
    tcase_add_loop_test(tests, two_devices_share_a_process, 0,
                        (int)(sizeof shared_processes / sizeof *shared_processes));
    tcase_add_test(tests, a_third_device_has_its_own_process);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
