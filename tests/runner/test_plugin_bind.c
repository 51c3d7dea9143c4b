/* A manifest's kernel bound to a call, up to the program that a kernel process would carry out:
 * what is wrong for this call is said with file, line and key, and what is right stands in the
 * program and in shared memory as the manual says. Nothing is loaded or called here. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/devices/plugin/plugin_bind.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;
static struct space space;
static struct manifest manifest;
static struct binding *binding;

/* The pieces of the manifest, a line each; a test replaces some of them. ARGUMENTS stand inside
 * STEPS, so they share its line. */
enum piece {
    WRAPPERS,
    SESSION,
    PARAMETERS,
    WHEN,
    LET,
    OUTPUTS,
    STEPS,
    ARGUMENTS,
    BACKWARD,
    PIECES
};

static const char *const usual[PIECES] = {
    [WRAPPERS] = "\"w\": { \"value\": \"s\", \"before\": [ { \"call\": \"g\", "
                 "\"arguments\": [ { \"data\": \"tensor\" }, { \"i32\": \"is_output\" }, "
                 "{ \"i64\": \"numel(x)\" } ], "
                 "\"returns\": { \"type\": \"pointer\", \"into\": \"s\" } } ] }, "
                 "\"empty\": { \"value\": \"s\", \"before\": [] }",
    [SESSION] = "\"open\": [ { \"call\": \"h\", \"arguments\": [ { \"out\": \"handle\" } ] } ]",
    [PARAMETERS] = "\"x\", \"z\", \"i\", \"n = None\", \"l = []\"",
    [WHEN] = "True",
    [LET] = "\"two\": 2",
    [OUTPUTS] = "{ \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\" }",
    [BACKWARD] = "\"gradients\": [ { \"name\": \"dx\", \"of\": \"x\" } ], "
                 "\"steps\": [ { \"call\": \"f\" } ]",
};

static struct status parse(const char *const *pieces)
{
    const char *p[PIECES];
    char *text;
    size_t bytes;
    for (int i = 0; i < PIECES; i++) p[i] = pieces[i] ? pieces[i] : usual[i];
    FILE *out = open_memstream(&text, &bytes);
    fprintf(out,
            "{ \"plugin\": 1, \"name\": \"lib\", \"libraries\": { \"k\": \"./k.so\" },\n"
            "  \"enums\": { \"mode\": { \"sum\": 1, \"7\": 70, \"True\": 71, \"None\": 72, "
            "\"large\": 300 } },\n"
            "  \"wrappers\": { %s },\n"
            "  \"session\": { %s },\n"
            "  \"kernels\": [ { \"apis\": [\"Torch.f\"], \"parameters\": [ %s ],\n"
            "    \"when\": \"%s\",\n"
            "    \"let\": { %s },\n"
            "    \"outputs\": [ %s ],\n",
            p[WRAPPERS], p[SESSION], p[PARAMETERS], p[WHEN], p[LET], p[OUTPUTS]);
    if (p[STEPS]) fprintf(out, "    \"steps\": [ %s ],\n", p[STEPS]);
    else
        fprintf(out, "    \"steps\": [ { \"call\": \"f\", \"arguments\": [ %s ] } ],\n",
                p[ARGUMENTS] ? p[ARGUMENTS] : "");
    fprintf(out, "    \"backward\": { %s } } ] }\n", p[BACKWARD]);
    fclose(out);
    struct program_writer start;
    struct status st = manifest_parse(&manifest, "a.json", text, bytes);
    free(text);
    ck_assert_msg(!st.code, "%s", st.text);
    st = binding_build_start(&start, &manifest);
    if (!st.code) program_writer_release(&start);
    return st;
}

#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

/* f(x float32 [[1, 2, 3], [4, 5, 6]], z complex64 [2, 3], i int64 [3], l=[x's twin, None]). */
static struct api_case usual_case(void)
{
    static const double counting[] = { 1, 2, 3, 4, 5, 6 };
    struct value x = tensor_value(&arena, DT_F32, true, SHAPE(2, 3), counting, 6);
    struct value twin = tensor_value(&arena, DT_F32, true, SHAPE(2, 3), counting, 6);
    struct value i = tensor_value(&arena, DT_I64, false, SHAPE(3), counting, 3);
    struct value z = { .kind = VALUE_TENSOR };
    struct tensor *complex = arena_allocate(&arena, sizeof *complex);
    struct tensor_record *record = arena_allocate_zeroed(&arena, 1, sizeof *record);
    ck_assert(!tensor_create(complex, &arena, DT_C64, SHAPE(2, 3)).code);
    for (int k = 0; k < 12; k++) ((float *)complex->data)[k] = (float)k;
    *record = (struct tensor_record){ .dtype = DT_C64, .rank = 2, .shape = { 2, 3 } };
    z.tensor.tensor = complex, z.tensor.record = record;
    struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 3, x, z, i));
    c.kwargs = dict_value(&arena, 1, "l", list_value(&arena, 2, twin, none_value()));
    return c;
}

static void set_up(void)
{
    binding = calloc(1, sizeof *binding);
    ck_assert(!space_open(&space).code);
}

static void tear_down(void)
{
    binding_close(binding);
    free(binding);
    space_close(&space);
    manifest_close(&manifest);
    arena_release(&arena);
}

static struct status build_forward(const struct api_case *c, const struct program **out)
{
    uint64_t offset, bytes;
    space_begin(&space, 0);
    TRY(binding_open(binding, &arena, &manifest, c));
    TRY(binding_build_forward(binding, &space, &offset, &bytes));
    *out = space_at(&space, offset);
    ck_assert_uint_eq((*out)->bytes, bytes);
    return status_ok();
}

static struct status build_backward(const struct api_case *c, const struct program **out)
{
    const struct program *forward;
    struct value outputs;
    uint64_t offset, bytes;
    TRY(build_forward(c, &forward));
    TRY(binding_collect_outputs(&outputs, binding));
    space_begin(&space, 0);
    TRY(binding_build_backward(binding, &space, &outputs, &offset, &bytes));
    *out = space_at(&space, offset);
    return status_ok();
}

static const struct program_step *step_of(const struct program *p, size_t i)
{
    ck_assert_uint_lt(i, p->step_count);
    return (const struct program_step *)(const void *)((const char *)p + p->steps) + i;
}

static const struct program_argument *argument_of(const struct program *p, size_t step, size_t i)
{
    const struct program_step *s = step_of(p, step);
    ck_assert_uint_lt(i, s->count);
    return (const struct program_argument *)(const void *)((const char *)p + s->arguments) + i;
}

/* --- faults ------------------------------------------------------------------------------------- */

#define AT_ARGUMENT     "a.json:9: kernels[0].steps[0].arguments[0]: "
#define AT_STEP         "a.json:9: kernels[0].steps[0]: "
#define AT_OUTPUT       "a.json:8: kernels[0].outputs[0]: "
#define AT_GRADIENT     "a.json:10: kernels[0].backward.gradients[0]: "
#define LOOP(arguments) "{ \"call\": \"f\", \"loop\": \"y\", \"arguments\": [ " arguments " ] }"
#define ELEMENT_OF(name, type)                                             \
    "{ \"call\": \"f\", \"loop\": \"y\", \"returns\": { \"type\": \"" type \
    "\", \"element\": \"" name "\" } }"
#define Y          "{ \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\""
#define Y_OF(more) "{ \"name\": \"y\", " more " }"
#define GRADIENT(more)                                   \
    "\"gradients\": [ { \"name\": \"d\", " more " } ], " \
    "\"steps\": [ { \"call\": \"f\" } ]"
#define NOT_THESE "lib has no kernel for these arguments of Torch.f: "

static const struct {
    enum piece piece;
    const char *text;
    enum status_code code;
    const char *message;
    /* clang-format off */
} faults[] = {
    /* Numbers that do not fit their C type. */
    { ARGUMENTS, "{ \"i8\": 128 }", STATUS_BAD_INPUT, AT_ARGUMENT "128 does not fit i8" },
    { ARGUMENTS, "{ \"i8\": -129 }", STATUS_BAD_INPUT, AT_ARGUMENT "-129 does not fit i8" },
    { ARGUMENTS, "{ \"u8\": -1 }", STATUS_BAD_INPUT, AT_ARGUMENT "-1 does not fit u8" },
    { ARGUMENTS, "{ \"u8\": 256 }", STATUS_BAD_INPUT, AT_ARGUMENT "256 does not fit u8" },
    { ARGUMENTS, "{ \"i16\": 32768 }", STATUS_BAD_INPUT, AT_ARGUMENT "32768 does not fit i16" },
    { ARGUMENTS, "{ \"u16\": 65536 }", STATUS_BAD_INPUT, AT_ARGUMENT "65536 does not fit u16" },
    { ARGUMENTS, "{ \"i32\": 2147483648 }", STATUS_BAD_INPUT,
      AT_ARGUMENT "2147483648 does not fit i32" },
    { ARGUMENTS, "{ \"u32\": 4294967296 }", STATUS_BAD_INPUT,
      AT_ARGUMENT "4294967296 does not fit u32" },
    { ARGUMENTS, "{ \"u64\": -1 }", STATUS_BAD_INPUT, AT_ARGUMENT "-1 does not fit u64" },
    { ARGUMENTS, "{ \"i32\": 2.5 }", STATUS_BAD_INPUT,
      AT_ARGUMENT "an integer is expected, not 2.5; int(...) cuts" },
    { ARGUMENTS, "{ \"i32\": \"'a'\" }", STATUS_BAD_INPUT, AT_ARGUMENT "the value is not a number" },
    { ARGUMENTS, "{ \"f64\": \"None\" }", STATUS_BAD_INPUT, AT_ARGUMENT "the value is not a number" },
    { ARGUMENTS, "{ \"i32\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "column 1: there is no \"nobody\" here" },
    /* Tensors by address. */
    { ARGUMENTS, "{ \"data\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "column 1: there is no \"nobody\" here" },
    { ARGUMENTS, "{ \"data\": \"shape(x)\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"shape(x)\" is not a tensor" },
    { ARGUMENTS, "{ \"data\": \"x\", \"cast\": \"'float33'\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"float33\" is not a dtype" },
    { ARGUMENTS, "{ \"data\": \"x\", \"cast\": \"5\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"5\" is not a string" },
    { ARGUMENTS, "{ \"data\": \"z\", \"cast\": \"'float32'\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "complex numbers cannot be cast to real ones" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"[3, 2]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "the tensor does not broadcast to the wanted shape" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"[3]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "the tensor does not broadcast to the wanted shape" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"[2, -3]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"[2, -3]\" is not a shape" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"6\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"6\" is not a list of at most 16 integers" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3]\" }",
      STATUS_BAD_INPUT,
      AT_ARGUMENT "\"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3]\" is not a list of at most 16 integers" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"[1152921504606846976, 2, 3]\" }", STATUS_SKIP,
      "a tensor is too large" },
    { ARGUMENTS, "{ \"data\": \"x\", \"broadcast\": \"[34359738368, 2, 3]\" }", STATUS_SKIP,
      "input 0 of 768 GB does not fit into shared memory" },
    { ARGUMENTS, "{ \"data\": \"x\", \"axes\": \"[0]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"axes\" needs 2 numbers" },
    { ARGUMENTS, "{ \"data\": \"x\", \"axes\": \"[]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"axes\" needs 2 numbers" },
    { ARGUMENTS, "{ \"data\": \"x\", \"axes\": \"[0, 2]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"axes\" is not an order of 2 dimensions" },
    { ARGUMENTS, "{ \"data\": \"x\", \"axes\": \"[1, 1]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"axes\" is not an order of 2 dimensions" },
    { ARGUMENTS, "{ \"data\": \"x\", \"axes\": \"'a'\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"'a'\" is not a list of at most 16 integers" },
    { ARGUMENTS, "{ \"data\": \"y\", \"cast\": \"'float64'\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "an output says its dtype and axes itself" },
    { ARGUMENTS, "{ \"data\": \"y\", \"axes\": \"[1, 0]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "an output says its dtype and axes itself" },
    { ARGUMENTS, "{ \"data\": \"y\", \"broadcast\": \"[2, 2, 3]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "an output says its dtype and axes itself" },
    { ARGUMENTS, "{ \"data_list\": \"5\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "a list of tensors is expected" },
    { ARGUMENTS, "{ \"data_list\": \"[x, 5]\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "a list of tensors is expected" },
    { ARGUMENTS, "{ \"data_list\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "column 1: there is no \"nobody\" here" },
    { ARGUMENTS, "{ \"data_list\": \"[x, z]\", \"cast\": \"'float32'\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "complex numbers cannot be cast to real ones" },
    /* Lists, tables, strings, slots, wrappers. */
    { ARGUMENTS, "{ \"list\": \"5\", \"type\": \"i64\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "a list is expected" },
    { ARGUMENTS, "{ \"list\": \"[1, 'a']\", \"type\": \"i64\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "the value is not a number" },
    { ARGUMENTS, "{ \"list\": \"[1]\", \"type\": \"pointer\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "a number cannot have this type" },
    { ARGUMENTS, "{ \"list\": \"nobody\", \"type\": \"i64\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "column 1: there is no \"nobody\" here" },
    { ARGUMENTS, "{ \"enum\": \"mode\", \"key\": \"'mean'\" }", STATUS_SKIP,
      "mode has no value for \"mean\"" },
    { ARGUMENTS, "{ \"enum\": \"mode\", \"key\": \"False\" }", STATUS_SKIP,
      "mode has no value for \"False\"" },
    { ARGUMENTS, "{ \"enum\": \"mode\", \"key\": \"8\" }", STATUS_SKIP, "mode has no value for \"8\"" },
    { ARGUMENTS, "{ \"enum\": \"mode\", \"key\": \"1.5\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "the key is not a string, an integer, a bool or None" },
    { ARGUMENTS, "{ \"enum\": \"mode\", \"key\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "column 1: there is no \"nobody\" here" },
    { ARGUMENTS, "{ \"enum\": \"mode\", \"key\": \"'large'\", \"type\": \"u8\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "300 does not fit u8" },
    { ARGUMENTS, "{ \"string\": \"5\" }", STATUS_BAD_INPUT, AT_ARGUMENT "\"5\" is not a string" },
    { ARGUMENTS, "{ \"slot\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "nothing before this call has set the slot \"nobody\"" },
    { ARGUMENTS, "{ \"wrap\": \"w\", \"of\": \"5\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "\"5\" is not a tensor" },
    { ARGUMENTS, "{ \"wrap\": \"empty\", \"of\": \"x\" }", STATUS_BAD_INPUT,
      AT_ARGUMENT "the wrapper does not set its \"value\"" },
    { WRAPPERS, "\"w\": { \"value\": \"s\", \"before\": [ { \"call\": \"g\", \"arguments\": [ "
                "{ \"i32\": \"rank(nobody)\" } ] } ] }",
      STATUS_BAD_INPUT,
      "a.json:3: wrappers.w.before[0].arguments[0]: column 6: there is no \"nobody\" here" },
    /* Loops. */
    { STEPS, "{ \"call\": \"f\", \"loop\": \"x\" }", STATUS_BAD_INPUT,
      AT_STEP "there is no output \"x\" to loop over" },
    { STEPS, LOOP("{ \"element\": \"5\", \"type\": \"f32\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "\"5\" is not a tensor" },
    { STEPS, LOOP("{ \"element\": \"n\", \"type\": \"f32\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "there is no tensor to take elements of" },
    { STEPS, LOOP("{ \"element\": \"x\", \"type\": \"pointer\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "no tensor has elements of type pointer" },
    { STEPS, LOOP("{ \"element\": \"x\", \"type\": \"u32\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "no tensor has elements of type u32" },
    { STEPS, LOOP("{ \"element\": \"z\", \"type\": \"f32\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "the tensor does not broadcast to the loop's shape" },
    { STEPS, LOOP("{ \"element_address\": \"x\", \"cast\": \"'float33'\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "\"float33\" is not a dtype" },
    { STEPS, LOOP("{ \"element_address\": \"y\", \"cast\": \"'float64'\" }"), STATUS_BAD_INPUT,
      AT_ARGUMENT "the output has another dtype, shape or axes than the loop needs" },
    { STEPS, ELEMENT_OF("nobody", "f32"), STATUS_BAD_INPUT,
      AT_STEP "\"nobody\" is not an output of the result's type and the loop's shape and axes" },
    { STEPS, ELEMENT_OF("y", "f64"), STATUS_BAD_INPUT,
      AT_STEP "\"y\" is not an output of the result's type and the loop's shape and axes" },
    /* Other steps. */
    { STEPS, "{ \"call\": \"f\", \"when\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_STEP "column 1: there is no \"nobody\" here" },
    { STEPS, "{ \"allocate\": \"w\", \"bytes\": -1 }", STATUS_BAD_INPUT,
      AT_STEP "a negative number of bytes" },
    { STEPS, "{ \"allocate\": \"w\", \"bytes\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_STEP "column 1: there is no \"nobody\" here" },
    { STEPS, "{ \"allocate\": \"w\", \"bytes\": \"'a'\" }", STATUS_BAD_INPUT,
      AT_STEP "\"'a'\" is not an integer" },
    /* Outputs. */
    { OUTPUTS, Y_OF("\"shape\": \"'a'\", \"dtype\": \"'float32'\""), STATUS_BAD_INPUT,
      AT_OUTPUT "\"'a'\" is not a list of at most 16 integers" },
    { OUTPUTS, Y_OF("\"shape\": \"[2.5]\", \"dtype\": \"'float32'\""), STATUS_BAD_INPUT,
      AT_OUTPUT "\"[2.5]\" is not a list of integers" },
    { OUTPUTS, Y_OF("\"shape\": \"[2]\", \"dtype\": \"'float33'\""), STATUS_BAD_INPUT,
      AT_OUTPUT "\"float33\" is not a dtype" },
    { OUTPUTS, Y_OF("\"shape\": \"[2]\", \"dtype\": \"5\""), STATUS_BAD_INPUT,
      AT_OUTPUT "\"5\" is not a string" },
    { OUTPUTS, Y_OF("\"dtype\": \"'float32'\""), STATUS_SKIP,
      "the dump has not recorded output 0 and the manifest gives no shape for it" },
    { OUTPUTS, Y_OF("\"shape\": \"[2]\""), STATUS_SKIP,
      "the dump has not recorded the dtype of output 0 and the manifest gives none" },
    { OUTPUTS, Y ", \"returns\": \"'float33'\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "\"float33\" is not a dtype" },
    { OUTPUTS, Y ", \"returns\": \"5\" }", STATUS_BAD_INPUT, AT_OUTPUT "\"5\" is not a string" },
    { OUTPUTS, Y_OF("\"shape\": \"[2]\", \"dtype\": \"'complex64'\", \"returns\": \"'float32'\""),
      STATUS_BAD_INPUT, AT_OUTPUT "complex numbers cannot be returned as real ones" },
    { OUTPUTS, Y ", \"initial\": \"'a'\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "\"initial\" is a tensor or a number" },
    { OUTPUTS, Y ", \"initial\": \"nobody\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "column 1: there is no \"nobody\" here" },
    { OUTPUTS, Y ", \"initial\": \"z\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "\"initial\" does not broadcast to the output" },
    { OUTPUTS, Y_OF("\"shape\": \"[2, 2]\", \"dtype\": \"'float32'\", \"initial\": \"i\""),
      STATUS_BAD_INPUT, AT_OUTPUT "\"initial\" does not broadcast to the output" },
    { OUTPUTS, Y ", \"axes\": \"[0]\" }", STATUS_BAD_INPUT, AT_OUTPUT "\"axes\" needs 2 numbers" },
    { OUTPUTS, Y ", \"axes\": \"[0, 5]\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "\"axes\" is not an order of 2 dimensions" },
    { OUTPUTS, Y ", \"axes\": \"[1, 1]\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "\"axes\" is not an order of 2 dimensions" },
    { OUTPUTS, Y ", \"axes\": \"5\" }", STATUS_BAD_INPUT,
      AT_OUTPUT "\"5\" is not a list of at most 16 integers" },
    { OUTPUTS, Y_OF("\"shape\": \"[1152921504606846976, 4]\", \"dtype\": \"'float32'\""), STATUS_SKIP,
      "output 0 is too large" },
    { OUTPUTS, Y_OF("\"shape\": \"[274877906944]\", \"dtype\": \"'float32'\""), STATUS_SKIP,
      "output 0 of 1 TB does not fit into shared memory" },
    /* Names and arguments of the call. */
    { LET, "\"a\": 1, \"b\": \"nobody\"", STATUS_BAD_INPUT,
      "a.json:7: kernels[0].let.b: column 1: there is no \"nobody\" here" },
    { PARAMETERS, "\"x\", \"z\"", STATUS_SKIP, NOT_THESE "3 arguments, the kernel takes 2" },
    { PARAMETERS, "\"x\", \"z\", \"i\"", STATUS_SKIP, NOT_THESE "the kernel has no argument l" },
    { PARAMETERS, "\"x\", \"z\", \"l\", \"i\"", STATUS_SKIP, NOT_THESE "l is given twice" },
    { PARAMETERS, "\"x\", \"z\", \"i\", \"j\", \"l\"", STATUS_SKIP,
      NOT_THESE "the argument j is missing" },
    { PARAMETERS, "\"*x\", \"l\", \"z\"", STATUS_SKIP, NOT_THESE "the argument z is missing" },
    { PARAMETERS, "\"x\", \"z\", \"i\", \"l\", \"j = 1 // 0\"", STATUS_BAD_INPUT,
      NOT_THESE "a.json:5: kernels[0]: column 7: division by zero" },
    { WHEN, "rank(i) == 2", STATUS_SKIP, NOT_THESE "not rank(i) == 2" },
    { WHEN, "rank(l)", STATUS_BAD_INPUT,
      NOT_THESE "a.json:6: kernels[0].when: column 8: rank: a tensor is expected" },
    /* Gradients. */
    { BACKWARD, GRADIENT("\"of\": \"5\""), STATUS_BAD_INPUT, AT_GRADIENT "\"5\" is not a tensor" },
    { BACKWARD, GRADIENT("\"of\": \"cotangent\""), STATUS_BAD_INPUT,
      AT_GRADIENT "\"of\" is not a tensor argument of the call" },
    { BACKWARD, GRADIENT("\"of\": \"x\", \"dtype\": \"'float33'\""), STATUS_BAD_INPUT,
      AT_GRADIENT "\"float33\" is not a dtype" },
    { BACKWARD, "\"when\": \"rank(cotangents[0]) == 3\", " GRADIENT("\"of\": \"x\""), STATUS_SKIP,
      "lib has no backward kernel for these arguments of Torch.f" },
    { BACKWARD, "\"when\": \"nobody\", " GRADIENT("\"of\": \"x\""), STATUS_BAD_INPUT,
      "a.json:10: kernels[0].backward.when: column 1: there is no \"nobody\" here" },
};
/* clang-format on */

START_TEST(faults_of_a_call_name_their_place)
{
    const char *pieces[PIECES] = { [ARGUMENTS] = "{ \"wrap\": \"w\", \"of\": \"x\" }" };
    const struct program *program;
    pieces[faults[_i].piece] = faults[_i].text;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct status st = build_backward(&c, &program);
    ck_assert_msg(st.code == faults[_i].code, "%d: %s", st.code, st.text);
    ck_assert_str_eq(st.text, faults[_i].message);
    /* The same binding serves the next call. */
    c = make_case(&arena, "Torch", "g", list_value(&arena, 0));
    ck_assert_str_eq(build_backward(&c, &program).text, "lib has no kernel for Torch.g");
}
END_TEST

/* Round i of a loop takes the i-th element as it lies in memory: what it writes beside the loop's
 * own output has to lie there in the same order. */
START_TEST(outputs_of_a_loop_are_stored_alike)
{
    static const struct {
        const char *y, *k; /* axes */
        bool alike;
    } table[] = {
        { "[0, 1]", "[0, 1]", true },
        { "[1, 0]", "[1, 0]", true },
        { "[1, 0]", "[0, 1]", false },
        { "[0, 1]", "[1, 0]", false },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int result = 0; result < 2; result++) {
            char outputs[300];
            snprintf(outputs, sizeof outputs,
                     Y ", \"axes\": \"%s\" }, { \"name\": \"k\", "
                       "\"shape\": \"shape(x)\", \"dtype\": \"'float32'\", \"axes\": \"%s\" }",
                     table[i].y, table[i].k);
            const char *pieces[PIECES] = { [OUTPUTS] = outputs,
                                           [STEPS] = result
                                                         ? ELEMENT_OF("k", "f32")
                                                         : LOOP("{ \"element_address\": \"k\" }") };
            const struct program *program;
            ck_assert(!parse(pieces).code);
            struct api_case c = usual_case();
            struct status st = build_forward(&c, &program);
            if (table[i].alike) ck_assert_msg(!st.code, "%s", st.text);
            else
                ck_assert_str_eq(st.text,
                                 result ? AT_STEP "\"k\" is not an output of the result's type "
                                                  "and the loop's shape and axes"
                                        : AT_ARGUMENT "the output has another dtype, shape or "
                                                      "axes than the loop needs");
            manifest_close(&manifest);
        }
}
END_TEST

/* What a loop goes over has the shape of its output, or broadcasts to it. */
START_TEST(shapes_of_a_loop_agree)
{
    static const struct {
        const char *steps, *text;
        /* clang-format off */
    } table[] = {
        { ELEMENT_OF("k", "f32"), AT_STEP "\"k\" is not an output of the result's type and the loop's shape and "
                                          "axes" },
        { LOOP("{ \"element_address\": \"k\" }"),
          AT_ARGUMENT "the output has another dtype, shape or axes than the loop needs" },
        { LOOP("{ \"element\": \"three\", \"type\": \"i64\" }"),
          AT_ARGUMENT "the tensor does not broadcast to the loop's shape" },
        { LOOP("{ \"element\": \"i\", \"type\": \"i64\" }"), "" },
        { LOOP("{ \"element_address\": \"i\", \"cast\": \"'float16'\" }"), "" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *pieces[PIECES] = {
            [PARAMETERS] = "\"x\", \"z\", \"i\", \"three\", \"l\"",
            [OUTPUTS] = Y
            " }, { \"name\": \"k\", \"shape\": \"[3, 2]\", \"dtype\": \"'float32'\" }",
            [STEPS] = table[i].steps
        };
        const struct program *program;
        ck_assert(!parse(pieces).code);
        struct api_case c = usual_case();
        struct value x = c.args.list.items[0];
        c.args = list_value(&arena, 4, x, c.args.list.items[1], c.args.list.items[2],
                            ramp_value(&arena, DT_I64, false, SHAPE(3, 1)));
        struct status st = build_forward(&c, &program);
        ck_assert_str_eq(st.text, table[i].text);
        if (!st.code) {
            ck_assert_uint_eq(step_of(program, 0)->loop, 6);
            /* The tensor lies there as often as the loop goes over it. */
            const struct program_argument *a = argument_of(program, 0, 0);
            double got[6];
            enum dtype dtype = a->kind == ARGUMENT_ELEMENT ? DT_I64 : DT_F16;
            dtype_to_double(got, space_at(&space, a->bits), dtype, 6);
            for (int k = 0; k < 6; k++) ck_assert_double_eq(got[k], 1 + k % 3);
        }
        manifest_close(&manifest);
    }
}
END_TEST

/* --- limits --------------------------------------------------------------------------------------- */

/* `format`, with its one %d counting from 0, `count` times, separated by commas. */
static char *repeat(const char *format, int count)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", out);
        fprintf(out, format, i);
    }
    fclose(out);
    return text;
}

#define STEP_WITH(argument) "{ \"call\": \"f\", \"arguments\": [ " argument " ] }"

/* The last number of each that is taken, and what one more is told. */
static const struct {
    enum piece piece;
    const char *format;
    int most;
    const char *message;
    /* clang-format off */
} limits[] = {
    { LET, "\"v%d\": 1", BINDING_VARIABLES - 6, "a.json:5: kernels[0]: more than 96 names" },
    { OUTPUTS, "{ \"name\": \"y\", \"shape\": \"[%d]\", \"dtype\": \"'float32'\" }", BINDING_OUTPUTS,
      "a.json:8: kernels[0].outputs[64]: more than 64 outputs" },
    { STEPS, STEP_WITH("{ \"data\": \"x\", \"broadcast\": \"[%d + 1, 2, 3]\" }"), BINDING_PLACED,
      "the call has more than 256 tensors" },
    { STEPS, STEP_WITH("{ \"out\": \"s%d\" }"), PROGRAM_SLOTS - SESSION_SLOTS,
      "a.json:9: kernels[0].steps[224].arguments[0]: more than 256 slots" },
    { STEPS, "{ \"call\": \"f\", \"returns\": { \"type\": \"i32\", \"into\": \"s%d\" } }",
      PROGRAM_SLOTS - SESSION_SLOTS, "a.json:9: kernels[0].steps[224]: more than 256 slots" },
    { STEPS, STEP_WITH("{ \"i32\": %d }"), 512,
      "a.json:9: kernels[0].steps[512]: the call needs more than 512 steps" },
    { SESSION, STEP_WITH("{ \"out\": \"s%d\" }"), SESSION_SLOTS,
      "a.json:4: session.open[32].arguments[0]: more than 32 slots" },
};
/* clang-format on */

START_TEST(numbers_of_things_are_bounded)
{
    for (int more = 0; more < 2; more++) {
        const char *pieces[PIECES] = { NULL };
        const struct program *program;
        char *text = repeat(limits[_i].format, limits[_i].most + more), *session = NULL;
        if (limits[_i].piece == SESSION)
            ck_assert_int_gt(asprintf(&session, "\"open\": [ %s ]", text), 0);
        pieces[limits[_i].piece] = session ? session : text;
        struct status st = parse(pieces);
        struct api_case c = usual_case();
        if (!st.code) st = build_forward(&c, &program);
        if (more) ck_assert_str_eq(st.text, limits[_i].message);
        else ck_assert_msg(!st.code, "%s", st.text);
        free(text);
        free(session);
        manifest_close(&manifest);
    }
}
END_TEST

/* Parameters, what a direction defines and what the forward left share the room for names. */
START_TEST(names_are_bounded_in_both_directions)
{
    /* Backward: y, outputs, cotangents, cotangent and dx beside the parameters. */
    for (int n = BINDING_VARIABLES - 8; n <= BINDING_VARIABLES + 1; n++) {
        char *more = repeat("\"p%d = 1\"", n - 4), *parameters;
        const struct program *program;
        ck_assert_int_gt(asprintf(&parameters, "\"x\", \"z\", \"i\", \"l\", %s", more), 0);
        const char *pieces[PIECES] = { [PARAMETERS] = parameters, [LET] = "" };
        ck_assert(!parse(pieces).code);
        struct api_case c = usual_case();
        struct status st = build_backward(&c, &program);
        ck_assert_str_eq(st.text, n <= BINDING_VARIABLES - 5 ? ""
                                  : n <= BINDING_VARIABLES
                                      ? "a.json:5: kernels[0]: more than 96 names"
                                      : NOT_THESE "a.json:5: kernels[0]: more than 96 names");
        manifest_close(&manifest);
        free(more);
        free(parameters);
    }
}
END_TEST

/* All that a call says beside its tensors has 64 MB. */
START_TEST(programs_are_bounded)
{
    enum { LENGTH = 4096, ARGUMENTS_EACH = PROGRAM_MAX_ARGUMENTS };
    char *arguments = repeat("{ \"data_list\": \"l\" }", ARGUMENTS_EACH), *step, *steps;
    ck_assert_int_gt(asprintf(&step, "{ \"call\": \"f%%d\", \"arguments\": [ %s ] }", arguments),
                     0);
    struct value list = list_value(&arena, 0);
    list.list.items = arena_allocate_zeroed(&arena, LENGTH, sizeof(struct value));
    list.list.count = LENGTH;
    for (int n = 42; n <= 43; n++) { /* 42.6 of 1.5 MB */
        const struct program *program;
        steps = repeat(step, n);
        const char *pieces[PIECES] = { [STEPS] = steps };
        ck_assert(!parse(pieces).code);
        struct api_case c = usual_case();
        c.kwargs = dict_value(&arena, 1, "l", list);
        struct status st = build_forward(&c, &program);
        ck_assert_str_eq(st.text, n == 42 ? "" : "the call's arguments take more than 64 MB");
        ck_assert_int_eq(st.code, n == 42 ? STATUS_OK : STATUS_SKIP);
        manifest_close(&manifest);
        free(steps);
    }
    free(step);
    free(arguments);
}
END_TEST

START_TEST(wrapped_tensors_are_bounded)
{
    for (int more = 0; more < 2; more++) {
        const char *pieces[PIECES] = { NULL };
        const struct program *program;
        char *wrappers = repeat("\"w%d\": { \"value\": \"s\", \"before\": [ { \"allocate\": \"s\", "
                                "\"bytes\": 8 } ] }",
                                BINDING_WRAPPED + more);
        char *steps =
            repeat(STEP_WITH("{ \"wrap\": \"w%d\", \"of\": \"x\" }"), BINDING_WRAPPED + more);
        pieces[WRAPPERS] = wrappers;
        pieces[STEPS] = steps;
        ck_assert(!parse(pieces).code);
        struct api_case c = usual_case();
        struct status st = build_forward(&c, &program);
        if (more)
            ck_assert_str_eq(st.text, "a.json:9: kernels[0].steps[64].arguments[0]: more than 64 "
                                      "wrapped tensors");
        else ck_assert_msg(!st.code, "%s", st.text);
        free(wrappers);
        free(steps);
        manifest_close(&manifest);
    }
}
END_TEST

/* --- values --------------------------------------------------------------------------------------- */

static uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Arguments by value: type, kind and bits. */
START_TEST(numbers_by_value)
{
    const struct {
        const char *text;
        enum program_type type;
        uint64_t bits;
    } table[] = {
        { "{ \"i8\": -128 }", TYPE_I8, (uint64_t)-128 },
        { "{ \"i8\": 127 }", TYPE_I8, 127 },
        { "{ \"u8\": 255 }", TYPE_U8, 255 },
        { "{ \"u16\": 65535 }", TYPE_U16, 65535 },
        { "{ \"u32\": 4294967295 }", TYPE_U32, 4294967295 },
        { "{ \"i64\": \"-9223372036854775807 - 1\" }", TYPE_I64, (uint64_t)1 << 63 },
        { "{ \"u64\": \"9223372036854775807\" }", TYPE_U64, INT64_MAX },
        { "{ \"i32\": true }", TYPE_I32, 1 },
        { "{ \"i32\": \"rank(x) == 3\" }", TYPE_I32, 0 },
        { "{ \"f64\": 0.1 }", TYPE_F64, bits_of_double(0.1) },
        { "{ \"f64\": \"two\" }", TYPE_F64, bits_of_double(2) },
        { "{ \"f32\": 0.5 }", TYPE_F32, 0x3f000000 },
        { "{ \"f32\": 1e300 }", TYPE_F32, 0x7f800000 },
        { "{ \"enum\": \"mode\", \"key\": \"'sum'\" }", TYPE_I32, 1 },
        { "{ \"enum\": \"mode\", \"key\": \"7\", \"type\": \"u8\" }", TYPE_U8, 70 },
        { "{ \"enum\": \"mode\", \"key\": \"True\" }", TYPE_I32, 71 },
        { "{ \"enum\": \"mode\", \"key\": \"n\" }", TYPE_I32, 72 },
        { "{ \"null\": true }", TYPE_POINTER, 0 },
        { "{ \"data\": \"n\" }", TYPE_POINTER, 0 },
        { "{ \"list\": \"n\", \"type\": \"i64\" }", TYPE_POINTER, 0 },
        { "{ \"wrap\": \"w\", \"of\": \"n\" }", TYPE_POINTER, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *pieces[PIECES] = { [ARGUMENTS] = table[i].text };
        const struct program *program;
        ck_assert(!parse(pieces).code);
        struct api_case c = usual_case();
        struct status st = build_forward(&c, &program);
        ck_assert_msg(!st.code, "%s: %s", table[i].text, st.text);
        const struct program_argument *a = argument_of(program, 0, 0);
        ck_assert_msg(a->type == table[i].type && a->kind == ARGUMENT_BITS &&
                          a->bits == table[i].bits,
                      "%s: type %u, kind %u, bits %llx", table[i].text, a->type, a->kind,
                      (unsigned long long)a->bits);
        manifest_close(&manifest);
    }
}
END_TEST

/* What lies in shared memory for a tensor: converted, broadcast, in another order. */
static const struct {
    const char *text;
    enum dtype dtype;
    int count;
    double elements[12];
    /* clang-format off */
} layouts[] = {
    { "{ \"data\": \"x\" }", DT_F32, 6, { 1, 2, 3, 4, 5, 6 } },
    { "{ \"data\": \"x\", \"axes\": \"[1, 0]\" }", DT_F32, 6, { 1, 4, 2, 5, 3, 6 } },
    { "{ \"data\": \"x\", \"cast\": \"'float64'\", \"axes\": \"[1, 0]\" }", DT_F64, 6,
      { 1, 4, 2, 5, 3, 6 } },
    { "{ \"data\": \"x\", \"cast\": \"'int64'\" }", DT_I64, 6, { 1, 2, 3, 4, 5, 6 } },
    { "{ \"data\": \"x\", \"cast\": \"'complex64'\" }", DT_C64, 6,
      { 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0 } },
    { "{ \"data\": \"z\", \"cast\": \"'complex128'\" }", DT_C128, 6,
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } },
    { "{ \"data\": \"z\", \"axes\": \"[1, 0]\" }", DT_C64, 6,
      { 0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11 } },
    { "{ \"data\": \"i\", \"cast\": \"'int32'\" }", DT_I32, 3, { 1, 2, 3 } },
    { "{ \"data\": \"i\", \"cast\": \"'float32'\" }", DT_F32, 3, { 1, 2, 3 } },
    { "{ \"data\": \"i\", \"broadcast\": \"[2, 3]\" }", DT_I64, 6, { 1, 2, 3, 1, 2, 3 } },
    { "{ \"data\": \"i\", \"broadcast\": \"[2, 3]\", \"axes\": \"[1, 0]\", \"cast\": \"'uint8'\" }",
      DT_U8, 6, { 1, 1, 2, 2, 3, 3 } },
    { "{ \"data\": \"i\", \"broadcast\": \"[0, 3]\" }", DT_I64, 0, { 0 } },
    { "{ \"data\": \"i\", \"broadcast\": \"[3, 0, 3]\", \"axes\": \"[2, 1, 0]\" }", DT_I64, 0, { 0 } },
    { "{ \"data\": \"l[0]\" }", DT_F32, 6, { 1, 2, 3, 4, 5, 6 } },
};
/* clang-format on */

START_TEST(tensors_in_the_form_asked_for)
{
    const char *pieces[PIECES] = { [ARGUMENTS] = layouts[_i].text };
    const struct program *program;
    double got[12];
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct status st = build_forward(&c, &program);
    ck_assert_msg(!st.code, "%s", st.text);
    const struct program_argument *a = argument_of(program, 0, 0);
    ck_assert_int_eq(a->kind, ARGUMENT_SPACE);
    const struct space_buffer *buffer = space_find(&space, a->bits);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(buffer->offset, a->bits);
    ck_assert_int_eq(buffer->role, SPACE_INPUT);
    ck_assert_uint_eq(buffer->bytes,
                      (size_t)layouts[_i].count * dtype_info(layouts[_i].dtype)->bytes);
    dtype_to_double(got, space_at(&space, a->bits), layouts[_i].dtype, (size_t)layouts[_i].count);
    for (int k = 0; k < layouts[_i].count * (dtype_is_complex(layouts[_i].dtype) ? 2 : 1); k++)
        ck_assert_msg(got[k] == layouts[_i].elements[k], "%s: element %d is %g", layouts[_i].text,
                      k, got[k]);
}
END_TEST

/* A tensor is placed once for each form in which it is asked for. */
START_TEST(the_same_form_is_placed_once)
{
    static const char *const forms[] = {
        "",
        ", \"cast\": \"'float64'\"",
        ", \"broadcast\": \"[1, 2, 3]\"",
        ", \"broadcast\": \"[2, 2, 3]\"",
        ", \"axes\": \"[1, 0]\"",
    };
    enum { N = sizeof forms / sizeof *forms };
    char text[2000] = "";
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            strcat(text, *text ? ", { \"data\": \"x\"" : "{ \"data\": \"x\"");
            strcat(strcat(text, forms[i]), " }");
        }
    strcat(text, ", { \"data\": \"l[0]\" }"); /* an equal tensor is not the same one */
    const char *pieces[PIECES] = { [ARGUMENTS] = text };
    const struct program *program;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct status st = build_forward(&c, &program);
    ck_assert_msg(!st.code, "%s", st.text);
    for (size_t i = 0; i < 2 * N + 1; i++)
        for (size_t k = 0; k < i; k++) {
            bool same = argument_of(program, 0, i)->bits == argument_of(program, 0, k)->bits;
            ck_assert_msg(same == (i < 2 * N && k == i % N), "arguments %zu and %zu", i, k);
        }
}
END_TEST

/* Work space of as many bytes as an expression says, or as a slot will hold. */
START_TEST(work_space_by_expression_or_slot)
{
    static const struct {
        const char *bytes;
        enum argument_kind kind;
        uint64_t bits;
    } table[] = {
        { "8", ARGUMENT_BITS, 8 },          { "\"numel(x) * 4\"", ARGUMENT_BITS, 24 },
        { "0", ARGUMENT_BITS, 0 },          { "\"rank(x) == 2\"", ARGUMENT_BITS, 1 },
        { "\"handle\"", ARGUMENT_SLOT, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char steps[100];
        snprintf(steps, sizeof steps, "{ \"allocate\": \"w\", \"bytes\": %s }", table[i].bytes);
        const char *pieces[PIECES] = { [STEPS] = steps };
        const struct program *program;
        ck_assert(!parse(pieces).code);
        struct api_case c = usual_case();
        struct status st = build_forward(&c, &program);
        ck_assert_msg(!st.code, "%s", st.text);
        const struct program_argument *a = argument_of(program, 0, 0);
        ck_assert_int_eq(step_of(program, 0)->kind, STEP_ALLOCATE);
        ck_assert_uint_eq(step_of(program, 0)->result_slot, SESSION_SLOTS);
        ck_assert(a->type == TYPE_U64 && a->kind == table[i].kind && a->bits == table[i].bits);
        manifest_close(&manifest);
    }
}
END_TEST

/* A writer that cannot have what it is asked for stays as it is, and says so from then on. */
START_TEST(writers_fail_for_good)
{
    const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 20 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct program_writer w = { 0 };
        ck_assert_uint_eq(program_append_string(&w, "eleven char"), 0);
        ck_assert_uint_eq(program_append(&w, "x", 1), 16);
        ck_assert_uint_eq(program_append(&w, "", 0), 24);
        ck_assert(!w.failed);
        (void)program_reserve(&w, sizes[i]);
        ck_assert(w.failed);
        (void)program_append_string(&w, "more");
        ck_assert(w.failed);
        ck_assert_uint_eq(w.used, 24);
        ck_assert_str_eq((char *)w.bytes, "eleven char");
        program_writer_release(&w);
    }
}
END_TEST

START_TEST(lists_strings_and_addresses)
{
    /* clang-format off */
    const char *pieces[PIECES] = {
        [ARGUMENTS] = "{ \"list\": \"[1, -2, True]\", \"type\": \"i16\" }, { \"string\": \"dtype(x)\" }, "
                      "{ \"data_list\": \"[x, None, y]\" }, { \"data\": \"y\" }, { \"data\": \"x\" }, "
                      "{ \"data_list\": \"[]\" }" };
    const struct program *program;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct status st = build_forward(&c, &program);
    ck_assert_msg(!st.code, "%s", st.text);
    const char *base = (const char *)program;
    const struct program_argument *a = argument_of(program, 0, 0);
    const int16_t numbers[3] = { 1, -2, 1 };
    ck_assert_int_eq(a[0].kind, ARGUMENT_CONSTANT);
    ck_assert_mem_eq(base + a[0].bits, numbers, sizeof numbers);
    ck_assert_int_eq(a[1].kind, ARGUMENT_CONSTANT);
    ck_assert_str_eq(base + a[1].bits, "float32");
    ck_assert_int_eq(a[2].kind, ARGUMENT_ADDRESSES);
    ck_assert_uint_eq(a[2].count, 3);
    const uint64_t offsets[3] = { a[4].bits, PROGRAM_NOTHING, a[3].bits };
    ck_assert_mem_eq(base + a[2].bits, offsets, sizeof offsets);
    ck_assert_int_eq(a[5].kind, ARGUMENT_ADDRESSES);
    ck_assert_uint_eq(a[5].count, 0);
}
END_TEST

/* A wrapper's steps stand before the first step that uses it for a tensor, once for each tensor,
 * and what undoes them after all others, in the reverse order. */
START_TEST(wrappers_surround_the_call)
{
    const char *pieces[PIECES] = {
        [WRAPPERS] = "\"w\": { \"value\": \"s\", \"before\": [ { \"call\": \"make\", "
                     "\"arguments\": [ { \"out\": \"s\" }, { \"data\": \"tensor\" }, "
                     "{ \"i32\": \"is_output\" }, { \"i64\": \"two\" } ] } ], "
                     "\"after_output\": [ { \"call\": \"fetch\", \"arguments\": [ { \"slot\": \"s\" } ] } ], "
                     "\"after\": [ { \"call\": \"drop\", \"arguments\": [ { \"slot\": \"s\" } ] } ] }, "
                     "\"v\": { \"value\": \"s\", \"before\": [ { \"call\": \"make\", "
                     "\"arguments\": [ { \"out\": \"s\" }, { \"data\": \"tensor\" }, "
                     "{ \"i32\": \"is_output\" }, { \"i64\": 3 } ] } ] }",
        [ARGUMENTS] = "{ \"wrap\": \"w\", \"of\": \"x\" }, { \"wrap\": \"w\", \"of\": \"y\" }, "
                      "{ \"wrap\": \"w\", \"of\": \"x\" }, { \"wrap\": \"v\", \"of\": \"x\" }, "
                      "{ \"slot\": \"handle\" }" };
    static const struct {
        const char *symbol;
        bool always;
        int use, output, number; /* of the tensor: 0 is x, 1 is y, 2 is x under v */
    } want[] = {
        { "make", false, 0, 0, 2 }, { "make", false, 1, 1, 2 }, { "make", false, 2, 0, 3 },
        { "f", false, 0, 0, 0 },    { "fetch", false, 1, 0, 0 }, { "drop", true, 1, 0, 0 },
        { "drop", true, 0, 0, 0 },
    };
    /* clang-format on */
    const struct program *program;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct status st = build_forward(&c, &program);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(program->step_count, sizeof want / sizeof *want);
    const struct program_argument *f = argument_of(program, 3, 0);
    const uint64_t slots[3] = { f[0].bits, f[1].bits, f[3].bits };
    ck_assert(slots[0] != slots[1] && slots[0] != slots[2] && slots[1] != slots[2]);
    ck_assert_uint_eq(f[2].bits, slots[0]);
    ck_assert_uint_eq(f[4].bits, 0); /* the session's first slot */
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct program_step *s = step_of(program, i);
        ck_assert_str_eq((const char *)program + s->symbol, want[i].symbol);
        ck_assert_int_eq((int)s->always, want[i].always);
        const struct program_argument *a = argument_of(program, i, 0);
        ck_assert_uint_eq(a->bits, slots[want[i].use]);
        if (strcmp(want[i].symbol, "make")) continue;
        ck_assert_uint_eq(a[2].bits, (uint64_t)want[i].output);
        ck_assert_uint_eq(a[3].bits, (uint64_t)want[i].number);
    }
}
END_TEST

/* --- outputs ---------------------------------------------------------------------------------------- */

/* What an output holds before the kernel runs, as the device would return it. */
static const struct {
    const char *text;
    enum dtype dtype;
    int count;
    double elements[6]; /* NAN: not written */
    /* clang-format off */
} initials[] = {
    { Y " }", DT_F32, 6, { NAN, NAN, NAN, NAN, NAN, NAN } },
    { Y ", \"initial\": \"n\" }", DT_F32, 6, { NAN, NAN, NAN, NAN, NAN, NAN } },
    { Y ", \"initial\": 3 }", DT_F32, 6, { 3, 3, 3, 3, 3, 3 } },
    { Y ", \"initial\": 2.5, \"returns\": \"'float16'\" }", DT_F16, 6, { 2.5, 2.5, 2.5, 2.5, 2.5, 2.5 } },
    { Y ", \"initial\": \"x\", \"axes\": \"[1, 0]\" }", DT_F32, 6, { 1, 2, 3, 4, 5, 6 } },
    { Y ", \"initial\": \"i\", \"returns\": \"'int64'\" }", DT_I64, 6, { 1, 2, 3, 1, 2, 3 } },
    { Y_OF("\"shape\": \"[2]\", \"dtype\": \"'complex64'\", \"returns\": \"'complex128'\", \"initial\": 2"),
      DT_C128, 2, { 2, 0 } },
    { Y_OF("\"shape\": \"[2, 3]\", \"dtype\": \"'complex64'\", \"initial\": \"z\""), DT_C64, 6,
      { 0, 1, 2, 3, 4, 5 } },
    { "{ \"name\": \"y\", \"initial\": \"i\" }", DT_F64, 3, { 1, 2, 3 } }, /* as recorded: float64 [3] */
};
/* clang-format on */

START_TEST(outputs_start_as_the_manifest_says)
{
    const char *pieces[PIECES] = { [OUTPUTS] = initials[_i].text };
    const struct program *program;
    struct value outputs;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct value recorded = ramp_value(&arena, DT_F64, false, SHAPE(3));
    c.outputs = list_value(&arena, 1, dict_value(&arena, 1, "k", recorded));
    struct status st = build_forward(&c, &program);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert(!binding_collect_outputs(&outputs, binding).code);
    const struct value *y = &outputs.list.items[0];
    ck_assert_int_eq(y->tensor.tensor->dtype, initials[_i].dtype);
    ck_assert_uint_eq(tensor_elements(y->tensor.tensor), (size_t)initials[_i].count);
    const double *got = doubles_of(&arena, y);
    for (int k = 0; k < initials[_i].count; k++)
        ck_assert_msg(isnan(initials[_i].elements[k]) ? isnan(got[k])
                                                      : got[k] == initials[_i].elements[k],
                      "element %d is %g", k, got[k]);
}
END_TEST

/* Recorded outputs that say nothing usable: no tensor, no dtype, sizes beyond memory. */
START_TEST(recorded_outputs_are_not_believed)
{
    const char *pieces[PIECES] = { [OUTPUTS] = "{ \"name\": \"y\" }" };
    const struct program *program;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    c.outputs = list_value(&arena, 1, float_value(1));
    ck_assert_str_eq(build_forward(&c, &program).text,
                     "the dump has not recorded output 0 and the manifest gives no shape for it");
    struct tensor_record record = { .dtype = DT_NONE, .rank = 1, .shape = { 3 } };
    const struct value recorded = { .kind = VALUE_TENSOR, .tensor = { .record = &record } };
    c.outputs = list_value(&arena, 1, recorded);
    ck_assert_str_eq(build_forward(&c, &program).text,
                     "the dump has not recorded the dtype of output 0 and the manifest gives none");
    record.dtype = DT_F64;
    record.shape[0] = INT64_MAX;
    ck_assert_str_eq(build_forward(&c, &program).text, "output 0 is too large");
    record.rank = 2;
    record.shape[1] = 3;
    ck_assert_str_eq(build_forward(&c, &program).text, "output 0 is too large");
}
END_TEST

/* --- the call's arguments and the other direction --------------------------------------------------------- */

START_TEST(the_rest_of_the_arguments)
{
    const char *pieces[PIECES] = {
        [PARAMETERS] = "\"x\", \"*more\", \"l\"", [ARGUMENTS] = "{ \"i32\": \"len(more)\" }"
    };
    const struct program *program;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    for (size_t rest = 2; rest < 3; rest--) { /* 2, 1, 0 */
        c.args.list.count = 1 + rest;
        struct status st = build_forward(&c, &program);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_uint_eq(argument_of(program, 0, 0)->bits, rest);
    }
    /* No positional arguments at all: x is missing by name. */
    c.args.list.count = 0;
    ck_assert_str_eq(build_forward(&c, &program).text, NOT_THESE "the argument x is missing");
}
END_TEST

static void check_gradient(const struct value *gradient, const double *want)
{
    const double *got = doubles_of(&arena, gradient);
    ck_assert_uint_eq(tensor_elements(gradient->tensor.tensor), 6);
    for (int k = 0; k < 6; k++) ck_assert_double_eq(got[k], want[k]);
}

/* Gradients stand where their argument does, also one in kwargs; one of a None argument is left
 * out and its name is None; cotangents that the dump does not have are zeros. */
START_TEST(gradients_stand_where_their_arguments_do)
{
    const char *pieces[PIECES] = {
        [OUTPUTS] =
            "{ \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\", \"initial\": "
            "\"x\" }, "
            "{ \"name\": \"k\", \"shape\": \"[3]\", \"dtype\": \"'float32'\", \"initial\": 8 }",
        [BACKWARD] = "\"when\": \"len(outputs) == 2\", \"let\": { \"g\": \"cotangents[1]\" }, "
                     "\"gradients\": ["
                     "{ \"name\": \"dl\", \"of\": \"l[0]\", \"initial\": \"cotangent\" }, "
                     "{ \"name\": \"dn\", \"of\": \"n\" }, "
                     "{ \"name\": \"di\", \"of\": \"i\" }, "
                     "{ \"name\": \"dx\", \"of\": \"x\", \"initial\": \"g\" } ], "
                     "\"steps\": [ { \"call\": \"f\", \"arguments\": [ { \"data\": \"dn\" }, "
                     "{ \"data\": \"y\" }, { \"data\": \"outputs[1]\" }, { \"data\": \"dl\" }, "
                     "{ \"data\": \"cotangents[1]\" } ] } ]"
    };
    static const double nines[] = { 9, 8, 7, 6, 5, 4 };
    const struct program *program;
    struct value gradients;
    ck_assert(!parse(pieces).code);
    struct api_case c = usual_case();
    struct value g = tensor_value(&arena, DT_F32, false, SHAPE(2, 3), nines, 6);
    struct value unstored = { .kind = VALUE_TENSOR };
    c.cotangents = list_value(&arena, 2, list_value(&arena, 1, g), unstored);
    struct status st = build_backward(&c, &program);
    ck_assert_msg(!st.code, "%s", st.text);
    const struct program_argument *a = argument_of(program, 0, 0);
    ck_assert(a[0].kind == ARGUMENT_BITS && a[0].bits == 0);
    static const char *const labels[] = { "", "forward output", "forward output", "gradient 3",
                                          "forward output" };
    for (int i = 1; i < 5; i++) ck_assert_str_eq(space_find(&space, a[i].bits)->label, labels[i]);
    ck_assert_double_eq(*(float *)space_at(&space, a[1].bits), 1);
    ck_assert_double_eq(*(float *)space_at(&space, a[2].bits), 8);
    ck_assert(!binding_collect_gradients(&gradients, binding).code);
    ck_assert_uint_eq(gradients.list.count, 4);
    check_gradient(&gradients.list.items[3], nines);
    ck_assert_int_eq(gradients.list.items[1].kind, VALUE_NONE); /* z: no kernel for it */
    ck_assert_int_eq(gradients.list.items[2].kind, VALUE_NONE); /* i: requires none */
    check_gradient(&gradients.list.items[0], (double[]){ 0, 0, 0, 0, 0, 0 });
    /* Where nothing says that none is required, one is. */
    c.args.list.items[2].tensor.record = NULL;
    ck_assert(!build_backward(&c, &program).code);
    ck_assert(!binding_collect_gradients(&gradients, binding).code);
    ck_assert_int_eq(gradients.list.items[2].kind, VALUE_TENSOR);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_bind");
    TCase *tests = tcase_create("plugin_bind");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, faults_of_a_call_name_their_place, 0,
                        sizeof faults / sizeof *faults);
    tcase_add_test(tests, shapes_of_a_loop_agree);
    tcase_add_test(tests, outputs_of_a_loop_are_stored_alike);
    tcase_add_loop_test(tests, numbers_of_things_are_bounded, 0, sizeof limits / sizeof *limits);
    tcase_add_test(tests, names_are_bounded_in_both_directions);
    tcase_add_test(tests, programs_are_bounded);
    tcase_add_test(tests, wrapped_tensors_are_bounded);
    tcase_add_test(tests, numbers_by_value);
    tcase_add_loop_test(tests, tensors_in_the_form_asked_for, 0, sizeof layouts / sizeof *layouts);
    tcase_add_test(tests, the_same_form_is_placed_once);
    tcase_add_test(tests, work_space_by_expression_or_slot);
    tcase_add_test(tests, writers_fail_for_good);
    tcase_add_test(tests, lists_strings_and_addresses);
    tcase_add_test(tests, wrappers_surround_the_call);
    tcase_add_loop_test(tests, outputs_start_as_the_manifest_says, 0,
                        sizeof initials / sizeof *initials);
    tcase_add_test(tests, recorded_outputs_are_not_believed);
    tcase_add_test(tests, the_rest_of_the_arguments);
    tcase_add_test(tests, gradients_stand_where_their_arguments_do);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
