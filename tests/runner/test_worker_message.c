/* The lines of the worker protocol, literally: requests for calls of every kind, and answers right
 * and wrong, without a process at the other end. What a process logs is here too. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/devices/process/process_log.h"
#include "runner/devices/worker/worker_message.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;
static unsigned char bytes[4096];

#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static struct status grow(struct worker_memory *memory, uint64_t wanted)
{
    memory->bytes = wanted;
    return wanted <= 2048 ? status_ok() : status_error(STATUS_IO, "cannot enlarge");
}

static struct worker_memory fresh_memory(void)
{
    return (struct worker_memory){ .base = bytes, .limit = sizeof bytes, .reserve = grow };
}

/* --- requests --------------------------------------------------------------------------------------- */

static char *values_text;

/* The request for a call with this argument; its "args" are compared. */
static void check_argument(struct value argument, const char *want)
{
    struct worker_memory memory = fresh_memory();
    struct text line = { 0 };
    struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 1, argument));
    struct status st = worker_request(&line, &memory, 1, &c, false);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_int_gt(
        asprintf(&values_text,
                 "{\"run\":1,\"api\":\"Torch.f.0\",\"type\":\"Torch\",\"name\":\"f\",\"args\":[%s],"
                 "\"kwargs\":{},\"gradients\":false,\"recorded\":[],\"autocast\":null,"
                 "\"free\":%d}\n",
                 want, (int)memory.used),
        0);
    ck_assert_str_eq(line.bytes, values_text);
    free(values_text);
    text_release(&line);
}

START_TEST(values_are_written_as_documented)
{
    static const double three[] = { 1, 2, 3 };
    struct value size = list_value(&arena, 0),
                 slice = list_value(&arena, 3, none_value(), int_value(-1), int_value(2));
    size.kind = VALUE_SIZE, slice.kind = VALUE_SLICE;
    const struct {
        struct value value;
        const char *text;
        /* clang-format off */
    } table[] = {
        { none_value(), "null" },
        { bool_value(true), "true" },
        { bool_value(false), "false" },
        { int_value((int64_t)1 << 53), "9007199254740992" },
        { int_value(-((int64_t)1 << 53)), "-9007199254740992" },
        { int_value(((int64_t)1 << 53) + 1), "{\"int\":\"9007199254740993\"}" },
        { int_value(-((int64_t)1 << 53) - 1), "{\"int\":\"-9007199254740993\"}" },
        { int_value(INT64_MIN), "{\"int\":\"-9223372036854775808\"}" },
        { float_value(0), "0.0" },
        { float_value(-0.0), "-0.0" },
        { float_value(1e300), "1.0000000000000001e+300" },
        { float_value(0.1), "0.10000000000000001" },
        { float_value(INFINITY), "{\"float\":\"inf\"}" },
        { float_value(-INFINITY), "{\"float\":\"-inf\"}" },
        { float_value(NAN), "{\"float\":\"nan\"}" },
        { string_value(""), "\"\"" },
        { string_value("a\"b\\c\td\x1f\x7f\xc3\xa9"), "\"a\\\"b\\\\c\\u0009d\\u001f\x7f\xc3\xa9\"" },
        { dict_value(&arena, 2, "k\"", int_value(1), "", none_value()), "{\"dict\":{\"k\\\"\":1,\"\":null}}" },
        { list_value(&arena, 2, list_value(&arena, 0), int_value(3)), "[[],3]" },
        { size, "{\"size\":[]}" },
        { slice, "{\"slice\":[null,-1,2]}" },
        { { .kind = VALUE_ELLIPSIS }, "{\"ellipsis\":true}" },
        { dtype_value(DT_BF16), "{\"dtype\":\"torch.bfloat16\"}" },
        { { .kind = VALUE_DEVICE, .string = "npu:0" }, "{\"device\":\"npu:0\"}" },
        { { .kind = VALUE_MEMORY_FORMAT, .string = "channels_last" }, "{\"memory_format\":\"channels_last\"}" },
        { tensor_value(&arena, DT_F32, true, SHAPE(3), three, 3),
          "{\"tensor\":{\"dtype\":\"torch.float32\",\"shape\":[3],\"offset\":0,\"requires_grad\":true}}" },
        { tensor_value(&arena, DT_I64, false, 0, NULL, three, 1),
          "{\"tensor\":{\"dtype\":\"torch.int64\",\"shape\":[],\"offset\":0,\"requires_grad\":false}}" },
        { tensor_value(&arena, DT_F64, false, SHAPE(2, 0), three, 1),
          "{\"tensor\":{\"dtype\":\"torch.float64\",\"shape\":[2,0],\"offset\":0,\"requires_grad\":false}}" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_argument(table[i].value, table[i].text);
    /* A tensor that nothing was recorded about. */
    struct value bare = tensor_value(&arena, DT_F32, true, SHAPE(3), three, 3);
    bare.tensor.record = NULL;
    check_argument(bare, "{\"tensor\":{\"dtype\":\"torch.float32\",\"shape\":[3],\"offset\":0,"
                         "\"requires_grad\":false}}");
    ck_assert_mem_eq(bytes, bare.tensor.tensor->data, 12);
    /* A text longer than the line's first room. */
    char *text = malloc(100001), *quoted = malloc(100003);
    memset(text, 'x', 100000), text[100000] = '\0';
    sprintf(quoted, "\"%s\"", text);
    check_argument(string_value(text), quoted);
    free(text);
    free(quoted);
}
END_TEST

/* Recorded outputs, nested ones flattened; what is no tensor or has no dtype. */
START_TEST(recorded_outputs_are_described)
{
    struct worker_memory memory = fresh_memory();
    struct text line = { 0 };
    struct tensor_record odd = { .dtype = DT_NONE,
                                 .dtype_name = "torch.quint8",
                                 .rank = 2,
                                 .shape = { 2, 3 } },
                         unnamed = { .dtype = DT_NONE };
    struct value strange = { .kind = VALUE_TENSOR, .tensor = { .record = &odd } },
                 nameless = { .kind = VALUE_TENSOR, .tensor = { .record = &unnamed } },
                 lost = { .kind = VALUE_TENSOR };
    struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 0));
    c.outputs = list_value(&arena, 3, list_value(&arena, 2, strange, int_value(5)),
                           dict_value(&arena, 1, "k", nameless), lost);
    ck_assert(!worker_request(&line, &memory, 3, &c, true).code);
    ck_assert_str_eq(
        line.bytes,
        "{\"run\":3,\"api\":\"Torch.f.0\",\"type\":\"Torch\",\"name\":\"f\",\"args\":[],\"kwargs\":"
        "{},"
        "\"gradients\":true,\"cotangents\":[],\"recorded\":[{\"dtype\":\"torch.quint8\",\"shape\":"
        "[2,3]},null,{\"dtype\":\"\",\"shape\":[]},null],\"autocast\":null,\"free\":0}\n");
    /* The same line is used again, and an autocast is asked for where the outputs are narrow. */
    c.args = list_value(&arena, 1, ramp_value(&arena, DT_F32, false, SHAPE(1)));
    c.outputs = list_value(&arena, 1, ramp_value(&arena, DT_BF16, false, SHAPE(1)));
    ck_assert(!worker_request(&line, &memory, 4, &c, false).code);
    ck_assert_ptr_nonnull(strstr(line.bytes, "\"autocast\":\"torch.bfloat16\",\"free\":64}"));
    /* Not where the call itself asks for that dtype. */
    c.kwargs = dict_value(&arena, 1, "dtype", dtype_value(DT_BF16));
    ck_assert(!worker_request(&line, &memory, 5, &c, false).code);
    ck_assert_ptr_nonnull(strstr(line.bytes, "\"autocast\":null"));
    text_release(&line);
}
END_TEST

/* --- calls that no worker can be asked for ----------------------------------------------------------------- */

static struct value nested(int depth)
{
    struct value v = int_value(1);
    for (int i = 0; i < depth; i++) v = list_value(&arena, 1, v);
    return v;
}

START_TEST(calls_that_cannot_be_asked_for)
{
    struct tensor huge, wider; /* by its bytes beyond what a size holds */
    struct tensor_record record = { .dtype = DT_F32 };
    int64_t shape[] = { INT64_MAX / 2 };
    tensor_wrap(&huge, bytes, DT_F32, 1, shape);
    tensor_wrap(&wider, bytes, DT_C128, 1, shape);
    const struct value lost = { .kind = VALUE_UNSUPPORTED, .string = "a generator" },
                       unknown = { .kind = VALUE_UNSUPPORTED },
                       empty = { .kind = VALUE_TENSOR, .tensor = { .record = &record } },
                       beyond = { .kind = VALUE_TENSOR, .tensor = { .tensor = &huge } },
                       beyond_all = { .kind = VALUE_TENSOR, .tensor = { .tensor = &wider } };
    const struct {
        struct value value;
        enum status_code code;
        const char *text;
        /* clang-format off */
    } table[] = {
        { lost, STATUS_SKIP, "an argument was not recorded: a generator" },
        { unknown, STATUS_SKIP, "an argument was not recorded: " },
        { list_value(&arena, 1, lost), STATUS_SKIP, "an argument was not recorded: a generator" },
        { dict_value(&arena, 1, "k", lost), STATUS_SKIP, "an argument was not recorded: a generator" },
        { nested(401), STATUS_SKIP, "arguments are nested too deeply" },
        { nested(399), STATUS_OK, "" },
        { empty, STATUS_INTERNAL, "an input has no elements" },
        { beyond, STATUS_SKIP, "a tensor does not fit into shared memory" },
        { beyond_all, STATUS_SKIP, "a tensor does not fit into shared memory" },
        { ramp_value(&arena, DT_U8, false, SHAPE(4097)), STATUS_SKIP, "a tensor does not fit into shared memory" },
        { ramp_value(&arena, DT_U8, false, SHAPE(4096 - 127)), STATUS_SKIP,
          "a tensor does not fit into shared memory" },
        { ramp_value(&arena, DT_U8, false, SHAPE(4096 - 128)), STATUS_IO, "cannot enlarge" },
        { ramp_value(&arena, DT_U8, false, SHAPE(1984)), STATUS_OK, "" },
    };
    /* clang-format on */
    enum { ARGUMENT, KEYWORD, COTANGENT, PLACES };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int place = 0; place < PLACES; place++) {
            struct worker_memory memory = fresh_memory();
            struct text line = { 0 };
            struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 0));
            if (place == ARGUMENT) c.args = list_value(&arena, 1, table[i].value);
            if (place == KEYWORD) c.kwargs = dict_value(&arena, 1, "k", table[i].value);
            if (place == COTANGENT) c.cotangents = list_value(&arena, 1, table[i].value);
            struct status st = worker_request(&line, &memory, 1, &c, true);
            ck_assert_msg(st.code == table[i].code, "%zu: %s", i, st.text);
            ck_assert_str_eq(st.text, table[i].text);
            text_release(&line);
        }
}
END_TEST

/* A line that found no room stays without it; the next request begins anew. */
START_TEST(lines_without_room)
{
    struct worker_memory memory = fresh_memory();
    struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 0));
    struct text line = { 0 };
    text_append(&line, "%s", "begun");
    text_reserve(&line, SIZE_MAX);
    ck_assert(line.failed);
    text_append(&line, "%2000d", 5); /* more than the room there is */
    ck_assert_uint_eq(line.used, 5);
    ck_assert(line.failed);
    ck_assert(!worker_request(&line, &memory, 1, &c, false).code);
    text_release(&line);
}
END_TEST

/* --- answers ------------------------------------------------------------------------------------------------ */

#define TENSOR(more) "{\"run\":7,\"outputs\":[{\"tensor\":{" more "}}]}"
#define OUTPUT(text) "{\"run\":7,\"outputs\":[" text "]}"
#define NEITHER      "an output that is neither a value nor an object with one key"

static const struct {
    const char *line;
    enum status_code code;
    const char *text; /* after "the worker's reply: " for STATUS_BAD_INPUT */
    /* clang-format off */
} answers[] = {
    { "", STATUS_BAD_INPUT, "an empty line" },
    { "{", STATUS_BAD_INPUT, "not JSON: {" },
    { "nonsense that goes on and on and on and on and on and on and on and on", STATUS_BAD_INPUT,
      "not JSON: nonsense that goes on and on and on and on and on and on and" },
    { "[]", STATUS_BAD_INPUT, "not an object" },
    { "7", STATUS_BAD_INPUT, "not an object" },
    { "{}", STATUS_BAD_INPUT, "it does not answer request 7" },
    { "{\"run\":8}", STATUS_BAD_INPUT, "it does not answer request 7" },
    { "{\"run\":\"7\"}", STATUS_BAD_INPUT, "it does not answer request 7" },
    { "{\"run\":7.5}", STATUS_BAD_INPUT, "it does not answer request 7" },
    { "{\"run\":-7}", STATUS_BAD_INPUT, "it does not answer request 7" },
    { "{\"run\":1e300}", STATUS_BAD_INPUT, "it does not answer request 7" },
    { "{\"run\":7,\"skip\":\"no\"}", STATUS_SKIP, "no" },
    { "{\"run\":7,\"error\":\"bad\"}", STATUS_DEVICE, "bad" },
    { "{\"run\":7,\"skip\":5,\"error\":\"bad\"}", STATUS_DEVICE, "bad" },
    { "{\"run\":7,\"skip\":5,\"error\":5}", STATUS_BAD_INPUT, "\"outputs\" or \"gradients\" is not a list" },
    { "{\"run\":7,\"outputs\":{}}", STATUS_BAD_INPUT, "\"outputs\" or \"gradients\" is not a list" },
    { "{\"run\":7,\"outputs\":[],\"gradients\":5}", STATUS_BAD_INPUT, "\"outputs\" or \"gradients\" is not a list" },
    { "{\"run\":7,\"outputs\":[],\"gradients\":[[]]}", STATUS_BAD_INPUT, NEITHER },
    { "{\"run\":7,\"outputs\":[],\"gradients\":null}", STATUS_BAD_INPUT,
      "neither \"gradients\" nor a reason in \"backward\"" },
    { "{\"run\":7,\"outputs\":[],\"backward\":\"none\"}", STATUS_BAD_INPUT,
      "neither \"gradients\" nor a reason in \"backward\"" },
    { OUTPUT("[1]"), STATUS_BAD_INPUT, NEITHER },
    { OUTPUT("{}"), STATUS_BAD_INPUT, NEITHER },
    { OUTPUT("{\"a\":1,\"b\":2}"), STATUS_BAD_INPUT, NEITHER },
    { OUTPUT("{\"int\":5}"), STATUS_BAD_INPUT, "a value without its text" },
    { OUTPUT("{\"int\":\"\"}"), STATUS_BAD_INPUT, "\"\" is not an int" },
    { OUTPUT("{\"int\":\"5x\"}"), STATUS_BAD_INPUT, "\"5x\" is not an int" },
    { OUTPUT("{\"int\":\"9223372036854775808\"}"), STATUS_BAD_INPUT, "\"9223372036854775808\" is not an int" },
    { OUTPUT("{\"float\":\"\"}"), STATUS_BAD_INPUT, "\"\" is not a float" },
    { OUTPUT("{\"float\":\"1.5x\"}"), STATUS_BAD_INPUT, "\"1.5x\" is not a float" },
    { OUTPUT("{\"dtype\":\"float33\"}"), STATUS_BAD_INPUT, "\"float33\" is not a dtype" },
    { OUTPUT("{\"size\":\"5\"}"), STATUS_BAD_INPUT, "\"size\" is not a kind of value" },
    { TENSOR(""), STATUS_BAD_INPUT, "a tensor without a known dtype" },
    { TENSOR("\"dtype\":5"), STATUS_BAD_INPUT, "a tensor without a known dtype" },
    { TENSOR("\"dtype\":\"float32\""), STATUS_BAD_INPUT, "a tensor without a shape of at most 16 dimensions" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":4"), STATUS_BAD_INPUT,
      "a tensor without a shape of at most 16 dimensions" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), STATUS_BAD_INPUT,
      "a tensor without a shape of at most 16 dimensions" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[\"1\"]"), STATUS_BAD_INPUT, "a shape that is not of whole numbers" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[1.5]"), STATUS_BAD_INPUT, "a shape that is not of whole numbers" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[9007199254740992,1024]"), STATUS_BAD_INPUT,
      "a shape that is too large" },
    { TENSOR("\"dtype\":\"complex128\",\"shape\":[4503599627370496,512]"), STATUS_BAD_INPUT,
      "a shape that is too large" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[1]"), STATUS_BAD_INPUT, "a tensor without an offset" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[1],\"offset\":1025"), STATUS_BAD_INPUT,
      "a tensor outside the shared memory" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[1],\"offset\":1021"), STATUS_BAD_INPUT,
      "a tensor outside the shared memory" },
    { TENSOR("\"dtype\":\"float32\",\"shape\":[257],\"offset\":0"), STATUS_BAD_INPUT,
      "a tensor outside the shared memory" },
    { "{\"run\":7,\"outputs\":[],\"backward\":{\"skip\":\"none\"}}", STATUS_OK, "" },
    { "{\"run\":7,\"outputs\":[],\"backward\":{\"error\":\"none\"}}", STATUS_OK, "" },
    { "{\"run\":7,\"outputs\":[],\"gradients\":[]}", STATUS_OK, "" },
    { " {\"run\" : 7.0 ,\"outputs\":[{\"tensor\":{\"dtype\":\"float32\",\"shape\":[1],\"offset\":1020}}],"
      "\"gradients\":[{\"tensor\":{\"dtype\":\"float32\",\"shape\":[0,5],\"offset\":99999}}]}", STATUS_OK, "" },
};
/* clang-format on */

START_TEST(answers_are_not_believed)
{
    struct worker_memory memory = fresh_memory();
    struct device_result r;
    struct worker_reply reply;
    char want[300];
    memory.bytes = 1024;
    struct status st = worker_read_reply(&r, &reply, &arena, &memory, answers[_i].line,
                                         strlen(answers[_i].line), 7, true);
    snprintf(want, sizeof want, "%s%s",
             answers[_i].code == STATUS_BAD_INPUT ? "the worker's reply: " : "", answers[_i].text);
    ck_assert_msg(st.code == answers[_i].code, "%d: %s", st.code, st.text);
    ck_assert_str_eq(st.text, want);
    ck_assert(!reply.restart);
}
END_TEST

START_TEST(answers_come_as_they_are_written)
{
    struct worker_memory memory = fresh_memory();
    struct device_result r;
    struct worker_reply reply;
    const float three[] = { 1.5f, -2, 3 };
    static const char line[] = "{\"run\":7,\"restart\":true,\"outputs\":[false,2.5,-"
                               "9007199254740992,1e16,{\"float\":\"-inf\"},"
                               "{\"int\":\"-5\"},{\"dtype\":\"torch.int8\"},{\"tensor\":{\"dtype\":"
                               "\"torch.float32\",\"shape\":[3,1],"
                               "\"offset\":64}}],\"gradients\":[null]}";
    memory.bytes = 1024;
    memcpy(bytes + 64, three, sizeof three);
    ck_assert(!worker_read_reply(&r, &reply, &arena, &memory, line, strlen(line), 7, true).code);
    const struct value *v = r.outputs.list.items;
    ck_assert(reply.restart);
    ck_assert_uint_eq(r.outputs.list.count, 8);
    ck_assert(v[0].kind == VALUE_BOOL && !v[0].boolean);
    ck_assert(v[1].kind == VALUE_FLOAT && v[1].real == 2.5);
    ck_assert(v[2].kind == VALUE_INT && v[2].integer == -((int64_t)1 << 53));
    ck_assert(v[3].kind == VALUE_FLOAT && v[3].real == 1e16);
    ck_assert(v[4].kind == VALUE_FLOAT && v[4].real == -INFINITY);
    ck_assert(v[5].kind == VALUE_INT && v[5].integer == -5);
    ck_assert(v[6].kind == VALUE_DTYPE && v[6].dtype == DT_I8);
    ck_assert_int_eq(v[7].tensor.tensor->rank, 2);
    ck_assert_mem_eq(v[7].tensor.tensor->data, three, sizeof three);
    /* A copy: the worker may use the room again. */
    memset(bytes, 0, sizeof bytes);
    ck_assert_mem_eq(v[7].tensor.tensor->data, three, sizeof three);
    ck_assert(r.gradients.list.count == 1 && r.gradients.list.items[0].kind == VALUE_NONE);
    /* Gradients that were not asked for are not looked at. */
    static const char unasked[] = "{\"run\":8,\"outputs\":[],\"gradients\":5}";
    ck_assert(
        !worker_read_reply(&r, &reply, &arena, &memory, unasked, strlen(unasked), 8, false).code);
    ck_assert_int_eq(r.gradients.kind, VALUE_NONE);
}
END_TEST

static const struct {
    const char *line, *text;
    bool forward_only;
    const char *name;
    /* clang-format off */
} greetings[] = {
    { "{\"protocol\":1}", "", false, "" },
    { "{\"protocol\":1,\"name\":\"PyTorch 2.4 npu\"}", "", false, "PyTorch 2.4 npu" },
    { "{\"protocol\":1,\"name\":\"a\\u001b[2Jb\"}", "", false, "a [2Jb" },
    { "{\"protocol\":1,\"name\":5}", "", false, "" },
    { "{\"protocol\":1,\"capabilities\":[\"other\",5,\"backward\"]}", "", false, NULL },
    { "{\"protocol\":1,\"capabilities\":[\"other\",5]}", "", true, NULL },
    { "{\"protocol\":1,\"capabilities\":[]}", "", true, NULL },
    { "{\"protocol\":1,\"capabilities\":\"backward\"}", "", false, NULL },
    { "{\"protocol\":2}", "the worker speaks version 2 of the protocol, this program version 1", false, NULL },
    { "{\"protocol\":1,\"error\":\"no device\"}", "no device", false, NULL },
    { "{\"protocol\":\"1\"}", "the worker does not speak the worker protocol: {\"protocol\":\"1\"}", false, NULL },
    { "", "the worker does not speak the worker protocol: ", false, NULL },
    { "A line of more than eighty letters, of which the message repeats only the first eighty, not these.",
      "the worker does not speak the worker protocol: A line of more than eighty letters, of which the message "
      "repeats only the first ", false, NULL },
};
/* clang-format on */

START_TEST(greetings_are_understood)
{
    struct worker_greeting greeting = { .forward_only = !greetings[_i].forward_only };
    struct status st =
        worker_read_greeting(&greeting, greetings[_i].line, strlen(greetings[_i].line));
    ck_assert_str_eq(st.text, greetings[_i].text);
    ck_assert_int_eq(st.code, *greetings[_i].text ? STATUS_DEVICE : STATUS_OK);
    ck_assert_int_eq(greeting.forward_only, greetings[_i].forward_only);
    if (greetings[_i].name) ck_assert_str_eq(greeting.name, greetings[_i].name);
}
END_TEST

/* --- last words ------------------------------------------------------------------------------------------------ */

/* The last line that says something, as one line of whole characters. */
START_TEST(last_words_are_one_line)
{
    static const struct {
        const char *log, *line;
        size_t room;
        /* clang-format off */
    } table[] = {
        { "", "", 80 },
        { "\n \t\n", "", 80 },
        { "first\nlast", "last", 80 },
        { "first\nlast\n\n  \n", "last", 80 },
        { "a\tb\x01" "c\x7f" "d", "a b c d", 80 },
        { "abcdef", "abcd", 5 },
        { "abcdef", "", 1 },
        { "abc\xc3\xa9", "abc\xc3\xa9", 6 },
        { "abc\xc3\xa9g", "abc\xc3\xa9", 6 }, /* ends with a whole one */
        { "abc\xc3\xa9g", "abc", 5 },
        { "a\xe2\x82\xac" "bc", "a", 3 },
        { "a\xe2\x82\xac" "bc", "a", 4 },
        { "a\xe2\x82\xac" "bc", "a\xe2\x82\xac", 5 },
        { "\xf0\x9f\x98\x80x", "", 4 },
        { "\x80\x80\x80\x80", "", 3 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct process_log log = PROCESS_LOG_NONE;
        char line[100];
        log.used = strlen(table[i].log);
        memcpy(log.text, table[i].log, log.used);
        process_log_last_line(&log, line, table[i].room);
        ck_assert_msg(!strcmp(line, table[i].line), "%zu: \"%s\"", i, line);
    }
}
END_TEST

/* However much is written and however it comes, the end of it is kept; what is not there is not waited
 * for, and at the end of the pipe the descriptor is closed. */
START_TEST(the_end_of_a_log_is_kept)
{
    struct process_log log;
    char line[100], want[100];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    process_log_open(&log, ends[0]);
    process_log_drain(&log);
    ck_assert_int_ge(log.descriptor, 0);
    for (int i = 0; i < 3000; i++) {
        int n = snprintf(want, sizeof want, "line %d%*s", i, i * 37 % 60, "x");
        ck_assert_int_eq(write(ends[1], want, (size_t)n), n);
        ck_assert_int_eq(write(ends[1], "\n", 1), 1);
        if (i % 50) continue;
        process_log_drain(&log);
        process_log_last_line(&log, line, sizeof line);
        ck_assert_str_eq(line, want);
        ck_assert_uint_le(log.used, sizeof log.text);
    }
    char block[3000];
    memset(block, 'b', sizeof block);
    ck_assert_int_eq(write(ends[1], block, sizeof block), sizeof block);
    ck_assert_int_eq(write(ends[1], "\nend", 4), 4);
    close(ends[1]);
    process_log_drain(&log);
    ck_assert_int_eq(log.descriptor, -1);
    process_log_drain(&log);
    process_log_last_line(&log, line, sizeof line);
    ck_assert_str_eq(line, "end");
    process_log_close(&log);
}
END_TEST

/* A process that prints without end does not keep its reader: 256 KB at a time. */
START_TEST(much_is_read_in_turns)
{
    enum { BLOCK = 4096, BLOCKS = 100 };
    struct process_log log;
    char block[BLOCK];
    int ends[2], left;
    memset(block, 'x', BLOCK);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_ge(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
    process_log_open(&log, ends[0]);
    for (int i = 0; i < BLOCKS; i++) ck_assert_int_eq(write(ends[1], block, BLOCK), BLOCK);
    close(ends[1]);
    process_log_drain(&log);
    ck_assert_int_ge(log.descriptor, 0);
    ck_assert_int_eq(ioctl(log.descriptor, FIONREAD, &left), 0);
    ck_assert_int_eq(left, (BLOCKS - 64) * BLOCK);
    process_log_drain(&log);
    ck_assert_int_eq(log.descriptor, -1);
}
END_TEST

START_TEST(signals_have_names)
{
    char text[32];
    ck_assert_str_eq(process_signal_name(SIGSEGV, text, sizeof text), "SIGSEGV");
    ck_assert_str_eq(process_signal_name(64, text, sizeof text), "signal 64");
    ck_assert_str_eq(process_signal_name(0, text, sizeof text), "signal 0");
}
END_TEST

static void release(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("worker_message");
    TCase *tests = tcase_create("worker_message");
    tcase_add_checked_fixture(tests, NULL, release);
    tcase_add_test(tests, values_are_written_as_documented);
    tcase_add_test(tests, recorded_outputs_are_described);
    tcase_add_test(tests, calls_that_cannot_be_asked_for);
    tcase_add_test(tests, lines_without_room);
    tcase_add_loop_test(tests, answers_are_not_believed, 0, sizeof answers / sizeof *answers);
    tcase_add_test(tests, answers_come_as_they_are_written);
    tcase_add_loop_test(tests, greetings_are_understood, 0, sizeof greetings / sizeof *greetings);
    tcase_add_test(tests, last_words_are_one_line);
    tcase_add_test(tests, the_end_of_a_log_is_kept);
    tcase_add_test(tests, much_is_read_in_turns);
    tcase_add_test(tests, signals_have_names);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
