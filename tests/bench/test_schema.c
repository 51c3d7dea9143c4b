/* Schemas: every sentence of the parser at the position it names, what is parsed, and how calls bind.
 *
 * The texts of the catalogue are ours, so a fault in one is an internal error; the arguments are foreign, so
 * what does not fit is a reason to skip the call.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/schema.h"
#include "bench/samples.h"
#include "support/suite.h"

#define TEN "int a,int b,int c,int d,int e,int f,int g,int h,int i,int j,"
static const struct {
    const char *text, *what;
    int position;
    /* clang-format off */
} faults[] = {
    { "", "'(' was expected", 0 },
    { "Tensor x)", "'(' was expected", 0 },
    { "(", "a type was expected", 1 },
    { "(,)", "a type was expected", 1 },
    { "(Sensor x)", "an unknown type", 7 },
    { "(Tensor)", "a parameter name was expected", 7 },
    { "(Tensor(a!) )", "a parameter name was expected", 12 },
    { "(Tensor(a!", "a parameter name was expected", 10 },
    { "(int[2", "a parameter name was expected", 6 },
    { "(Tensor x", "',' or ')' was expected", 9 },
    { "(Tensor x Tensor y)", "',' or ')' was expected", 10 },
    { "(int x=)", "a default value was expected", 7 },
    { "(bool x=Maybe)", "an unknown default value", 13 },
    { "(int[] x=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17])", "a default list of more than 16 items", 49 },
    { "(int[] x=[1,?])", "a default value was expected", 12 },
    { "(" TEN TEN TEN TEN "int x)", "too many parameters", 241 },
};
/* clang-format on */

START_TEST(faults_are_told_with_their_place)
{
    struct arena arena = { 0 };
    struct schema *schema;
    char want[600];
    struct status st = schema_parse(&schema, &arena, faults[_i].text);
    snprintf(want, sizeof want, "schema \"%s\", position %d: %s", faults[_i].text,
             faults[_i].position, faults[_i].what);
    ck_assert_int_eq(st.code, STATUS_INTERNAL);
    ck_assert_msg(!strncmp(st.text, want, sizeof st.text - 1), "%s\n%s", st.text, want);
    arena_release(&arena);
}
END_TEST

/* One parameter of each kind, and what it is parsed to. */
static const struct {
    const char *text;
    struct parameter want; /* its default is `kind` and `number` */
    enum value_kind kind;
    double number;
    const char *string;
    /* clang-format off */
} parameters[] = {
    { "(Tensor x)", { .name = "x", .type = TYPE_TENSOR }, VALUE_NONE, 0, NULL },
    { "( Tensor ( a! ) ?\n x )", { .name = "x", .type = TYPE_TENSOR, .optional = true }, VALUE_NONE, 0, NULL },
    { "(int[2]? x=None)", { .name = "x", .type = TYPE_INT, .list = true, .optional = true, .has_default = true }, VALUE_NONE, 0, NULL },
    { "(*int[] x)", { .name = "x", .type = TYPE_INT, .list = true, .variadic = true }, VALUE_NONE, 0, NULL },
    { "(*, float x=-.5)", { .name = "x", .type = TYPE_FLOAT, .keyword_only = true, .has_default = true }, VALUE_FLOAT, -0.5, NULL },
    { "(* , int x=-3)", { .name = "x", .type = TYPE_INT, .keyword_only = true, .has_default = true }, VALUE_INT, -3, NULL },
    { "(float x=1e-05)", { .name = "x", .type = TYPE_FLOAT, .has_default = true }, VALUE_FLOAT, 1e-5, NULL },
    { "(Scalar x=inf)", { .name = "x", .type = TYPE_SCALAR, .has_default = true }, VALUE_FLOAT, INFINITY, NULL },
    { "(bool x=True)", { .name = "x", .type = TYPE_BOOL, .has_default = true }, VALUE_BOOL, 1, NULL },
    { "(bool x=False)", { .name = "x", .type = TYPE_BOOL, .has_default = true }, VALUE_BOOL, 0, NULL },
    { "(str x='mean')", { .name = "x", .type = TYPE_STRING, .has_default = true }, VALUE_STRING, 0, "mean" },
    { "(str x=\"a'b\")", { .name = "x", .type = TYPE_STRING, .has_default = true }, VALUE_STRING, 0, "a'b" },
    { "(int[] x=[ 1, 2 3])", { .name = "x", .type = TYPE_INT, .list = true, .has_default = true }, VALUE_LIST, 3, NULL },
    { "(int[] x=[])", { .name = "x", .type = TYPE_INT, .list = true, .has_default = true }, VALUE_LIST, 0, NULL },
    { "(ScalarType x)", { .name = "x", .type = TYPE_DTYPE }, VALUE_NONE, 0, NULL },
    { "(Any x=0)", { .name = "x", .type = TYPE_ANY, .has_default = true }, VALUE_INT, 0, NULL },
};
/* clang-format on */

START_TEST(parameters_are_what_is_written)
{
    struct arena arena = { 0 };
    struct schema *schema;
    struct status st = schema_parse(&schema, &arena, parameters[_i].text);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_int_eq(schema->count, 1);
    ck_assert(!schema->any_keyword);
    const struct parameter *p = schema->parameters, *want = &parameters[_i].want;
    ck_assert_str_eq(p->name, want->name);
    ck_assert_int_eq(p->type, want->type);
    ck_assert(p->optional == want->optional && p->list == want->list &&
              p->keyword_only == want->keyword_only && p->variadic == want->variadic &&
              p->has_default == want->has_default);
    ck_assert_int_eq(p->fallback.kind, parameters[_i].kind);
    double number = p->fallback.kind == VALUE_INT    ? (double)p->fallback.integer
                    : p->fallback.kind == VALUE_BOOL ? p->fallback.boolean
                    : p->fallback.kind == VALUE_LIST ? (double)p->fallback.list.count
                                                     : p->fallback.real;
    if (p->fallback.kind == VALUE_STRING)
        ck_assert_str_eq(p->fallback.string, parameters[_i].string);
    else if (p->fallback.kind != VALUE_NONE) ck_assert_double_eq(number, parameters[_i].number);
    arena_release(&arena);
}
END_TEST

/* A schema, a call in the notation of bench/samples.h, and the reason why it does not fit, or NULL. */
static const struct {
    const char *schema, *call, *reason;
} bindings[] = {
    { "()", "Any.f()", NULL },
    { "()", "Any.f(1)", "1 positional arguments; the API takes fewer" },
    { "(...)", "Any.f(other=1)", NULL },
    { "(Tensor x)", "Any.f(f32(2))", NULL },
    { "(Tensor x)", "Any.f(2.5)", NULL },
    { "(Tensor x)", "Any.f(\"a\")", "argument 'x' is not of the type the API takes" },
    { "(Tensor x)", "Any.f(None)", "argument 'x' is not of the type the API takes" },
    { "(Tensor? x)", "Any.f(None)", NULL },
    { "(Tensor x=None)", "Any.f(None)", NULL },
    { "(int x=1)", "Any.f(None)", "argument 'x' is not of the type the API takes" },
    { "(bool x)", "Any.f(None)", NULL },
    { "(bool x)", "Any.f(1)", NULL },
    { "(bool x)", "Any.f(1.5)", "argument 'x' is not of the type the API takes" },
    { "(Any x)", "Any.f(None)", NULL },
    { "(Tensor x)", "Any.f()", "argument 'x' is missing" },
    { "(int x)", "Any.f(True)", NULL },
    { "(int x)", "Any.f(i64()[3])", NULL },
    { "(int x)", "Any.f(i64(2))", "argument 'x' is not of the type the API takes" },
    { "(int x)", "Any.f(2.5)", "argument 'x' is not of the type the API takes" },
    { "(float x)", "Any.f(3)", NULL },
    { "(float x)", "Any.f(f32(1))", NULL },
    { "(float x)", "Any.f(f32(2))", "argument 'x' is not of the type the API takes" },
    { "(Scalar x)", "Any.f(True)", NULL },
    { "(Scalar x)", "Any.f(f32(1))", NULL },
    { "(Scalar x)", "Any.f([1])", "argument 'x' is not of the type the API takes" },
    { "(str x)", "Any.f(\"a\")", NULL },
    { "(str x)", "Any.f(1)", "argument 'x' is not of the type the API takes" },
    { "(ScalarType x)", "Any.f(torch.float16)", NULL },
    { "(ScalarType x)", "Any.f(1)", "argument 'x' is not of the type the API takes" },
    { "(Device x)", "Any.f(\"cpu\")", NULL },
    { "(Layout x)", "Any.f(f32(2))", "argument 'x' is not of the type the API takes" },
    { "(MemoryFormat x)", "Any.f(f32(2))", "argument 'x' is not of the type the API takes" },
    { "(Generator x)", "Any.f(f32(2))", "argument 'x' is not of the type the API takes" },
    { "(int[] x)", "Any.f([1, 2])", NULL },
    { "(int[] x)", "Any.f(1)", NULL },
    { "(float[] x)", "Any.f(1.5)", NULL },
    { "(int[] x)", "Any.f(1.5)", "argument 'x' is not of the type the API takes" },
    { "(Tensor[] x)", "Any.f(f32(2))", "argument 'x' is not of the type the API takes" },
    { "(Tensor[] x)", "Any.f([f32(2), f32(3)])", NULL },
    { "(Tensor[] x)", "Any.f([f32(2), None])", "argument 'x' is not of the type the API takes" },
    { "(Tensor[]? x)", "Any.f([f32(2), None])", NULL },
    { "(int[] x)", "Any.f([1, \"a\"])", "argument 'x' is not of the type the API takes" },
    { "(Any[] x)", "Any.f(\"a\")", NULL },
    { "(*int[] x)", "Any.f(1, 2, 3)", NULL },
    { "(*int[] x)", "Any.f([1, 2, 3])", NULL },
    { "(*int[] x)", "Any.f(1)", NULL },
    { "(*int[] x)", "Any.f()", NULL },
    { "(*int[] x)", "Any.f(1, 2.5)", "argument 'x' is not of the type the API takes" },
    { "(*int[] x)", "Any.f(x=[1, 2])", NULL },
    { "(Tensor x, *, int y)", "Any.f(f32(2), 1)", "2 positional arguments; the API takes fewer" },
    { "(Tensor x, *, int y)", "Any.f(f32(2), y=1)", NULL },
    { "(Tensor x, *, int y)", "Any.f(f32(2))", "argument 'y' is missing" },
    { "(Tensor x)", "Any.f(f32(2), x=f32(2))", "argument 'x' is given twice" },
    { "(Tensor x)", "Any.f(f32(2), z=1)", "the API takes no argument 'z'" },
    { "(Tensor x)", "Any.f(f32(2), pin_memory=True)", NULL }, /* changes no value */
    { "(Tensor input)", "Any.f(self=f32(2))", NULL },         /* other names of the same */
    { "(Tensor self)", "Any.f(input=f32(2))", NULL },
    { "(int[] dim)", "Any.f(axis=0)", NULL },
    { "(int x)", "Any.f(x=\"a\")", "argument 'x' is not of the type the API takes" },
};

START_TEST(calls_bind_or_say_why_not)
{
    struct arena arena = { 0 };
    struct schema *schema;
    struct sample sample;
    struct value bound[4];
    bool given[4];
    ck_assert(!schema_parse(&schema, &arena, bindings[_i].schema).code);
    ck_assert(!sample_parse(&sample, bindings[_i].call, &arena));
    struct status st = schema_bind(bound, given, schema, &sample.c.args, &sample.c.kwargs, &arena);
    ck_assert_msg(st.code == (bindings[_i].reason ? STATUS_SKIP : STATUS_OK), "%s of %s: %s",
                  bindings[_i].call, bindings[_i].schema, st.text);
    if (bindings[_i].reason) ck_assert_str_eq(st.text, bindings[_i].reason);
    arena_release(&arena);
}
END_TEST

/* What the recorder could not encode is named. */
START_TEST(what_was_not_recorded_is_named)
{
    static const struct {
        const char *schema, *reason;
        bool in_list;
    } cases[] = {
        { "(Tensor x)",
          "argument 'x' is not of the type the API takes: it is recorded as a quantized tensor",
          false },
        { "(int[] x)",
          "argument 'x' is not of the type the API takes: it is recorded as a quantized tensor",
          true },
        { "(Generator x)", NULL, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = { 0 };
        struct schema *schema;
        struct value lost = { .kind = VALUE_UNSUPPORTED, .string = "a quantized tensor" };
        struct value items[2] = { { .kind = VALUE_INT }, lost }, bound[1];
        if (cases[i].in_list)
            lost = (struct value){ .kind = VALUE_LIST, .list = { .items = items, .count = 2 } };
        struct value args = { .kind = VALUE_LIST, .list = { .items = &lost, .count = 1 } };
        struct value kwargs = { .kind = VALUE_DICT };
        bool given[1];
        ck_assert(!schema_parse(&schema, &arena, cases[i].schema).code);
        struct status st = schema_bind(bound, given, schema, &args, &kwargs, &arena);
        ck_assert_int_eq(st.code, cases[i].reason ? STATUS_SKIP : STATUS_OK);
        if (cases[i].reason) ck_assert_str_eq(st.text, cases[i].reason);
        arena_release(&arena);
    }
}
END_TEST

/* What is bound: the positional arguments, the keywords by any of their names, the defaults. */
START_TEST(arguments_come_where_they_belong)
{
    struct arena arena = { 0 };
    struct schema *schema;
    struct sample sample;
    struct value bound[5];
    bool given[5];
    ck_assert(!schema_parse(
                   &schema, &arena,
                   "(Tensor input, int dim=-1, bool keepdim=False, *, float p=2.5, int[] rest=[7])")
                   .code);
    ck_assert(!sample_parse(&sample, "Any.f(f32(2), keepdims=True, axis=3)", &arena));
    ck_assert(!schema_bind(bound, given, schema, &sample.c.args, &sample.c.kwargs, &arena).code);
    ck_assert_int_eq(bound[0].kind, VALUE_TENSOR);
    ck_assert_int_eq(bound[1].integer, 3);
    ck_assert(bound[2].boolean);
    ck_assert_double_eq(bound[3].real, 2.5);
    ck_assert_uint_eq(bound[4].list.count, 1);
    ck_assert_int_eq(bound[4].list.items[0].integer, 7);
    ck_assert(given[0] && given[1] && given[2] && !given[3] && !given[4]);

    ck_assert(!schema_parse(&schema, &arena, "(Tensor input, *int[] size)").code);
    ck_assert(!sample_parse(&sample, "Any.f(f32(2), 4, 5)", &arena));
    ck_assert(!schema_bind(bound, given, schema, &sample.c.args, &sample.c.kwargs, &arena).code);
    ck_assert_uint_eq(bound[1].list.count, 2);
    ck_assert_int_eq(bound[1].list.items[1].integer, 5);
    ck_assert(!sample_parse(&sample, "Any.f(f32(2))", &arena));
    ck_assert(!schema_bind(bound, given, schema, &sample.c.args, &sample.c.kwargs, &arena).code);
    ck_assert_int_eq(bound[1].kind, VALUE_LIST);
    ck_assert_uint_eq(bound[1].list.count, 0);
    arena_release(&arena);
}
END_TEST

static size_t requests, refused_at;

static bool refuse(size_t bytes)
{
    (void)bytes;
    return ++requests == refused_at;
}

START_TEST(refused_memory_is_told)
{
    struct arena arena = { 0 };
    struct schema *schema = NULL;
    size_t total = 0;
    for (refused_at = 0; refused_at <= total; refused_at++) {
        requests = 0;
        arena_fault = refuse;
        struct status st =
            schema_parse(&schema, &arena, "(Tensor x, str y='mean', int[] z=[1,2], bool b=True)");
        arena_fault = NULL;
        if (!refused_at) total = requests;
        ck_assert_int_eq(st.code, refused_at ? STATUS_NO_MEMORY : STATUS_OK);
    }
    ck_assert_uint_gt(total, 8);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema");
    TCase *tests = tcase_create("schema");
    tcase_add_loop_test(tests, faults_are_told_with_their_place, 0, sizeof faults / sizeof *faults);
    tcase_add_loop_test(tests, parameters_are_what_is_written, 0,
                        sizeof parameters / sizeof *parameters);
    tcase_add_loop_test(tests, calls_bind_or_say_why_not, 0, sizeof bindings / sizeof *bindings);
    tcase_add_test(tests, what_was_not_recorded_is_named);
    tcase_add_test(tests, arguments_come_where_they_belong);
    tcase_add_test(tests, refused_memory_is_told);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
