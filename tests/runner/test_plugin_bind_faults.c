/* What is wrong in a manifest for a call, or beyond its limits, is said with file, line and key. */
#include "bound_calls.h"

/* --- faults ------------------------------------------------------------------------------------- */

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

int main(void)
{
    Suite *suite = suite_create("plugin_bind_faults");
    TCase *tests = tcase_create("plugin_bind_faults");
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
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
