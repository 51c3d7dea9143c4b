/* The worker device against a peer that echoes and misbehaves (worker_peer.c), and against the
 * example worker in C: what goes there and back, and what is refused. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "runner/devices/autocast.h"
#include "runner/devices/device.h"
#include "runner/devices/worker/worker_message.h"
#include "runner/devices/worker/worker_words.h"
#include "runner/worker_calls.h"
#include "support/cases.h"
#include "support/diagnosis.h"
#include "support/sanitized.h"
#include "support/suite.h"

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
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
