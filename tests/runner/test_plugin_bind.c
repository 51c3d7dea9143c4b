/* What is right in a manifest for a call stands in the program and in shared memory as the manual
 * says. */
#include "bound_calls.h"

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
