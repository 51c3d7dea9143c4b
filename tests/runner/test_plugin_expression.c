/* Expressions against what Python gives for the same text. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/devices/plugin/plugin_expression.h"
#include "support/cases.h"

static struct arena arena;
static struct value image, vector;

/* Other arguments that a call may have; tensors are filled in by main. */
static struct value pair[2] = { { .kind = VALUE_INT, .integer = 2 },
                                { .kind = VALUE_INT, .integer = 3 } };
static struct value half[2] = { { .kind = VALUE_SIZE, .list = { .items = pair, .count = 2 } },
                                { .kind = VALUE_FLOAT, .real = 0.5 } };
static struct value bounds[2] = { { .kind = VALUE_INT, .integer = 1 }, { .kind = VALUE_NONE } };
static struct {
    const char *name;
    struct value value;
    /* clang-format off */
} others[] = {
    { "one", { .kind = VALUE_NONE } },       { "empty", { .kind = VALUE_NONE } },     { "seven", { .kind = VALUE_NONE } },
    { "scalar", { .kind = VALUE_NONE } },    { "imaginary", { .kind = VALUE_NONE } },
    { "dots", { .kind = VALUE_ELLIPSIS } },
    { "place", { .kind = VALUE_DEVICE, .string = "npu:0" } },
    { "format", { .kind = VALUE_MEMORY_FORMAT, .string = "channels_last" } },
    { "lost", { .kind = VALUE_UNSUPPORTED } },
    { "unloaded", { .kind = VALUE_TENSOR } },
    { "slice", { .kind = VALUE_SLICE, .list = { .items = bounds, .count = 2 } } },
    { "size", { .kind = VALUE_SIZE, .list = { .items = pair, .count = 2 } } },
    { "yes", { .kind = VALUE_BOOL, .boolean = true } },
    { "mapping", { .kind = VALUE_DICT, .list = { .items = half, .count = 2 } } },
    { "a_dtype", { .kind = VALUE_DTYPE, .dtype = DT_BF16 } },
    { "no_dtype", { .kind = VALUE_DTYPE, .dtype = DT_NONE } },
};
/* clang-format on */

static bool find(struct expression_value *out, void *context, const char *name)
{
    (void)context;
    memset(out, 0, sizeof *out);
    if (!strcmp(name, "x")) return !expression_from_value(out, &arena, &image).code;
    if (!strcmp(name, "v")) return !expression_from_value(out, &arena, &vector).code;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i].name))
            return !expression_from_value(out, &arena, &others[i].value).code;
    if (!strcmp(name, "dim")) out->kind = EXPRESSION_INT, out->integer = -1;
    else if (strcmp(name, "nothing")) return false;
    return true;
}

/* A value as text, floats with 17 digits. */
static void show(char *text, size_t bytes, const struct expression_value *v)
{
    size_t used = 0;
    switch (v->kind) {
    case EXPRESSION_NONE: snprintf(text, bytes, "None"); break;
    case EXPRESSION_BOOL: snprintf(text, bytes, v->boolean ? "True" : "False"); break;
    case EXPRESSION_INT: snprintf(text, bytes, "%lld", (long long)v->integer); break;
    case EXPRESSION_FLOAT: snprintf(text, bytes, "%.17g", v->real); break;
    case EXPRESSION_STRING: snprintf(text, bytes, "'%s'", v->string); break;
    case EXPRESSION_TENSOR: snprintf(text, bytes, "tensor"); break;
    case EXPRESSION_LIST:
        used += (size_t)snprintf(text, bytes, "[");
        for (size_t i = 0; i < v->list.count; i++) {
            if (i) used += (size_t)snprintf(text + used, bytes - used, ", ");
            show(text + used, bytes - used, &v->list.items[i]);
            used += strlen(text + used);
        }
        snprintf(text + used, bytes - used, "]");
        break;
    }
}

static const struct {
    const char *text, *value;
} good[] = {
    { "1 + 2 * 3", "7" },
    { "(1 + 2) * 3", "9" },
    { "7 // 2", "3" },
    { "-7 // 2", "-4" },
    { "-7 % 3", "2" },
    { "7 % -3", "-2" },
    { "(-9223372036854775807 - 1) % 7", "6" },
    { "(-9223372036854775807 - 1) % -1", "0" },
    { "(-9223372036854775807 - 1) // 7", "-1317624576693539402" },
    { "1 / 4", "0.25" },
    { "2 - 3 - 4", "-5" },
    { "--3", "3" },
    { "1e3", "1000" },
    { "-0.0", "-0" },
    { "1.5 // 1", "1" },
    { "-1.5 % 1", "0.5" },
    { "True + 1", "2" },
    { "shape(x)", "[2, 3, 4, 5]" },
    { "shape(x)[1:]", "[3, 4, 5]" },
    { "shape(x)[:-1]", "[2, 3, 4]" },
    { "shape(x)[1:3]", "[3, 4]" },
    { "shape(x)[-1]", "5" },
    { "shape(x)[dim]", "5" },
    { "shape(x)[:1] + [7]", "[2, 7]" },
    { "shape(x)[3:1]", "[]" },
    { "strides(x)", "[60, 20, 5, 1]" },
    { "rank(x) == 4 and dtype(x) == 'float32'", "True" },
    { "dtype(v) in ['float16', 'float32']", "True" },
    { "dtype(v) not in ['float16', 'float32']", "False" },
    { "not rank(x) == 4", "False" },
    { "nothing == None or shape(nothing)[0] > 3", "True" },
    { "has(nothing) and shape(nothing)[0]", "False" },
    { "0 or 5", "5" },
    { "3 and 0", "0" },
    { "dim if dim >= 0 else dim + rank(x)", "3" },
    { "1 if 0 else 2 if 0 else 3", "3" },
    { "1 if 1 else shape(nothing)", "1" },
    { "shape(nothing) if 0 else 4", "4" },
    { "1 < 2 < 3", "True" },
    { "1 < 3 < 2", "False" },
    { "3 > 2 >= 2 != 1", "True" },
    { "[1, 'a', None, 2.5]", "[1, 'a', None, 2.5]" },
    { "prod(shape(x))", "120" },
    { "numel(x)", "120" },
    { "numel(v)", "5" },
    { "leading(x)", "5" },
    { "broadcast(shape(v), [3, 1])", "[3, 5]" },
    { "broadcast([2, 1, 4], [3, 1])", "[2, 3, 4]" },
    { "without(shape(x), -1)", "[2, 3, 4]" },
    { "without(shape(x), [0, 2], True)", "[1, 3, 1, 5]" },
    { "without([4], 0)", "[]" },
    { "repeat(3, 2)", "[3, 3]" },
    { "repeat([3, 4], 2)", "[3, 4]" },
    { "repeat([3], 2)", "[3, 3]" },
    { "range(3)", "[0, 1, 2]" },
    { "reversed(range(3))", "[2, 1, 0]" },
    { "max(1, 5, 3)", "5" },
    { "min(shape(x))", "2" },
    { "sum([1, 2, 3])", "6" },
    { "ceil_div(7, 2)", "4" },
    { "ceil_div(-7, 2)", "-3" },
    { "int(2.9)", "2" },
    { "int(-2.9)", "-2" },
    { "float(2) / 4", "0.5" },
    { "abs(-3)", "3" },
    { "sqrt(16)", "4" },
    { "item(v[0])", NULL },
    { "kind(v)", "'tensor'" },
    { "kind(1.5)", "'float'" },
    { "itemsize(x)", "4" },
    { "itemsize('bfloat16')", "2" },
    { "len(shape(x))", "4" },
    { "(shape(x)[2] + 2 * 1 - 1 * (3 - 1) - 1) // 2 + 1", "2" },
    { "inf", "inf" },
    { "'it' == 'it'", "True" },
    { "[1, 2] == [1, 2.0]", "True" },
    { "1 == '1'", "False" },
    { "True == 1.0", "True" },
    { "9007199254740993 > 9007199254740992", "True" },
    { "9007199254740992 >= 9007199254740993", "False" },
    { "9007199254740993 <= 9007199254740993", "True" },
    { "9223372036854775807 < 9223372036854775806", "False" },
    { "2 <= 1.5", "False" },
    { "1 <= 2", "True" },
    { "2 >= 1", "True" },
    { "3 < 2 < 9", "False" },
    { "2.5 * 0", "0" },
    { "0.0 / 2", "0" },
    { "2 > 1.5", "True" },
    { "1.5 >= 1.5", "True" },
    { "nan <= nan", "False" },
    { "nan >= 1", "False" },
    { "1.5 == 1", "False" },
    { "1 == 1.5", "False" },
    { "\t1\n+ 2", "3" },
    { "1E3", "1000" },
    { ".5", "0.5" },
    { "2.", "2" },
    { "-7.5 % -2", "-1.5" },
    { "7.5 % -2", "-0.5" },
    { "-7 % -3", "-1" },
    { "6 % -3", "0" },
    { "-6 // 3", "-2" },
    { "[1, 2, 3][-9:9]", "[1, 2, 3]" },
    { "[1, 2, 3][9:]", "[]" },
    { "[1, 2, 3][:-9]", "[]" },
    { "[1, 2, 3][None:2]", "[1, 2]" },
    { "[1, 2, 3][1:None]", "[2, 3]" },
    { "[[1, 2], 3][0][1]", "2" },
    { "1 < 2 and 2 in [1, 2] and 3 not in [1]", "True" },
    { "1 < 2 == True", "False" },
    { "['a'] == ['b']", "False" },
    { "[1] == [1, 2]", "False" },
    { "x == x", "True" },
    { "x == v", "False" },
    { "None == None", "True" },
    { "not None", "True" },
    { "not 'a'", "False" },
    { "not ''", "True" },
    { "not []", "True" },
    { "not 0.0", "True" },
    { "not x", "False" },
    { "leading(one)", "1" },
    { "leading(empty)", "3" },
    { "strides(empty)", "[3, 3, 1]" },
    { "numel(empty)", "0" },
    { "item(one)", "-4" },
    { "item(seven)", "7" },
    { "item(scalar)", "2.5" },
    { "rank(scalar)", "0" },
    { "shape(scalar)", "[]" },
    { "strides(scalar)", "[]" },
    { "prod([])", "1" },
    { "sum([])", "0" },
    { "reversed([])", "[]" },
    { "len([])", "0" },
    { "range(0)", "[]" },
    { "range(16)[-1]", "15" },
    { "repeat('a', 0)", "[]" },
    { "repeat([], 0)", "[]" },
    { "without([4, 5], 0, True)", "[1, 5]" },
    { "without([4, 5], 0, False)", "[5]" },
    { "without([4, 5], 0, 1)", "[5]" },
    { "without([4, 5], [])", "[4, 5]" },
    { "without([], [])", "[]" },
    { "broadcast([])", "[]" },
    { "broadcast([0], [1])", "[0]" },
    { "int(True)", "1" },
    { "int(7)", "7" },
    { "float(True)", "1" },
    { "abs(-2.5)", "2.5" },
    { "abs(0)", "0" },
    { "sqrt(True)", "1" },
    { "min(3)", "3" },
    { "max(2.5, 1)", "2.5" },
    { "max(False, True)", "True" },
    { "kind(nothing)", "'none'" },
    { "kind(True)", "'bool'" },
    { "kind(1)", "'int'" },
    { "kind('a')", "'str'" },
    { "kind([])", "'list'" },
    { "has(0)", "True" },
    { "itemsize('complex128')", "16" },
    { "dots", "'...'" },
    { "place", "'npu:0'" },
    { "format", "'channels_last'" },
    { "lost", "''" },
    { "kind(unloaded)", "'none'" },
    { "slice", "[1, None]" },
    { "size", "[2, 3]" },
    { "yes", "True" },
    { "mapping", "[[2, 3], 0.5]" },
    { "a_dtype", "'bfloat16'" },
    { "no_dtype", "'none'" },
};

START_TEST(values_are_those_of_python)
{
    struct expression_scope scope = { &arena, find, NULL };
    struct expression_value value;
    char text[512];
    struct status st = expression_evaluate(&value, &scope, good[_i].text);
    if (!good[_i].value) {
        ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
        return;
    }
    ck_assert_msg(!st.code, "%s: %s", good[_i].text, st.text);
    show(text, sizeof text, &value);
    ck_assert_str_eq(text, good[_i].value);
    ck_assert_msg(!expression_check(good[_i].text).code, "%s", good[_i].text);
}
END_TEST

static const struct {
    const char *text, *message;
    /* clang-format off */
} bad[] = {
    { "", "column 1: the expression ends too early" },
    { "1 +", "column 4: the expression ends too early" },
    { "1 2", "column 3: an operator or the end is expected" },
    { "(1", "column 3: \")\" is expected" },
    { "[1, 2", "column 6: a comma or the end of the list is expected" },
    { "'abc", "column 5: the string does not end" },
    { "unknown + 1", "column 1: there is no \"unknown\" here" },
    { "length(x)", "column 1: there is no function \"length\"; the nearest is \"len\"" },
    { "shape()", "column 8: wrong number of arguments for the function" },
    { "shape(1)", "column 9: shape: a tensor is expected" },
    { "1 // 0", "column 7: division by zero" },
    { "1 % 0", "column 6: division by zero" },
    { "(-9223372036854775807 - 1) // -1", "column 33: the number does not fit 64 bits" },
    { "9223372036854775807 + 1", "column 24: the number does not fit 64 bits" },
    { "99999999999999999999", "column 1: the number does not fit 64 bits" },
    { "shape(x)[4]", "column 12: the index is outside the list" },
    { "shape(x)[-5]", "column 13: the index is outside the list" },
    { "shape(x)['a']", "column 14: an index is an integer" },
    { "1 + 'a'", "column 8: arithmetic needs numbers" },
    { "'a' < 'b'", "column 10: an order comparison needs numbers" },
    { "1 if 2", "column 7: \"else\" is expected" },
    { "broadcast([2], [3])", "column 20: broadcast: shapes that broadcast is expected" },
    { "x = 1", "column 3: an operator or the end is expected" },
    { "12ab", "column 3: an operator is expected after a number" },
    { "range(99)", "column 10: range: an integer between 0 and 16 is expected" },
    { ".", "column 1: a value is expected" },
    { "1 // 0 if 1 else 2", "column 8: division by zero" },
    { "1 </ 2", "column 3: an operator or the end is expected" },
    { "1 >= = 2", "column 6: a value is expected" },
    { ".a", "column 1: a value is expected" },
    { "1 if (2", "column 8: \")\" is expected" },
    { "1 if ) else 2", "column 6: a value is expected" },
    { "1 if 1 else )", "column 13: a value is expected" },
    { "[1] + 1", "column 8: arithmetic needs numbers" },
    { "1 + [1]", "column 8: arithmetic needs numbers" },
    { "'a' + 'b'", "column 10: arithmetic needs numbers" },
    { "1 < [1]", "column 8: an order comparison needs numbers" },
    { "1[0]", "column 5: only lists can be indexed" },
    { "[1]['a':]", "column 10: an index is an integer" },
    { "[1][:'a']", "column 10: an index is an integer" },
    { "[1][None]", "column 10: an index is an integer" },
    { "[1][0", "column 6: \"]\" is expected" },
    { "1.0 // 0", "column 9: division by zero" },
    { "1 / 0", "column 6: division by zero" },
    { "1.0 % 0.0", "column 10: division by zero" },
    { "a_name_of_sixty_four_letters_is_longer_than_what_an_expression_takes",
      "column 64: the name is too long" },
    { "range(-1)", "column 10: range: an integer between 0 and 16 is expected" },
    { "range(1.0)", "column 11: range: an integer between 0 and 16 is expected" },
    { "strides(1)", "column 11: strides: a tensor is expected" },
    { "rank(1)", "column 8: rank: a tensor is expected" },
    { "numel([])", "column 10: numel: a tensor is expected" },
    { "dtype('a')", "column 11: dtype: a tensor is expected" },
    { "leading(1)", "column 11: leading: a tensor is expected" },
    { "leading(scalar)", "column 16: leading: a tensor is expected" },
    { "item(1)", "column 8: item: a real tensor of one element is expected" },
    { "item(x)", "column 8: item: a real tensor of one element is expected" },
    { "item(imaginary)", "column 16: item: a real tensor of one element is expected" },
    { "itemsize(1)", "column 12: itemsize: a tensor or the name of a dtype is expected" },
    { "itemsize('a')", "column 14: itemsize: a tensor or the name of a dtype is expected" },
    { "len('abc')", "column 11: len: a list is expected" },
    { "prod(1)", "column 8: prod: a list of integers is expected" },
    { "prod([2.0])",
      "column 12: prod: a list of integers with a product of 64 bits is expected" },
    { "prod([9223372036854775807, 2])",
      "column 31: prod: a list of integers with a product of 64 bits is expected" },
    { "sum(1)", "column 7: sum: a list of integers is expected" },
    { "sum([True])", "column 12: sum: a list of integers with a sum of 64 bits is expected" },
    { "sum([9223372036854775807, 1])",
      "column 30: sum: a list of integers with a sum of 64 bits is expected" },
    { "reversed(1)", "column 12: reversed: a list is expected" },
    { "repeat(1, 17)", "column 14: repeat: a count between 0 and 16 is expected" },
    { "repeat(1, -1)", "column 14: repeat: a count between 0 and 16 is expected" },
    { "repeat(1, 'a')", "column 15: repeat: a count between 0 and 16 is expected" },
    { "repeat([1, 2], 3)", "column 18: repeat: one item, or as many as the count is expected" },
    { "broadcast(1)", "column 13: broadcast: a shape is expected" },
    { "broadcast([1.5])", "column 17: broadcast: a shape is expected" },
    { "broadcast(range(16) + [1])", "column 27: broadcast: a shape is expected" },
    { "without(1, 0)", "column 14: without: a list of integers is expected" },
    { "without([4], 'a')", "column 18: without: a place or a list of places is expected" },
    { "without([4], 1)", "column 16: without: a place inside the list is expected" },
    { "without([4], [-2])", "column 19: without: a place inside the list is expected" },
    { "int('a')", "column 9: int: a number is expected" },
    { "int(1e30)", "column 10: int: a number is expected" },
    { "int(inf - inf)", "column 15: int: a number is expected" },
    { "float('a')", "column 11: float: a number is expected" },
    { "abs('a')", "column 9: abs: a number is expected" },
    { "abs(-9223372036854775807 - 1)", "column 30: abs: a number is expected" },
    { "sqrt('a')", "column 10: sqrt: a number is expected" },
    { "min(1, 'a')", "column 12: min: a number is expected" },
    { "max([])", "column 8: max: a list that is not empty is expected" },
    { "ceil_div(1, 0)", "column 15: ceil_div: an integer and a positive integer is expected" },
    { "ceil_div(1.5, 2)", "column 17: ceil_div: an integer and a positive integer is expected" },
    { "ceil_div(1, 2.5)", "column 17: ceil_div: an integer and a positive integer is expected" },
};
/* clang-format on */

START_TEST(faults_name_the_column)
{
    struct expression_scope scope = { &arena, find, NULL };
    struct expression_value value;
    struct status st = expression_evaluate(&value, &scope, bad[_i].text);
    ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(st.text, bad[_i].message);
}
END_TEST

/* Lists are bounded, written out and joined. */
START_TEST(long_lists_end)
{
    struct expression_scope scope = { &arena, find, NULL };
    struct expression_value value;
    enum { MOST = 4096 };
    char *text = malloc(4 * MOST);
    for (int more = 0; more < 2; more++) {
        strcpy(text, "[0");
        for (int i = 1; i < MOST + more; i++) strcpy(text + 2 * i, ",0");
        strcat(text, "]");
        struct status st = expression_evaluate(&value, &scope, text);
        ck_assert_str_eq(st.text, more ? "column 8195: the list is too long" : "");
        if (!more) ck_assert_uint_eq(value.list.count, MOST);
        if (!more) {
            strcat(text, " + [0]");
            st = expression_evaluate(&value, &scope, text);
            ck_assert_str_eq(st.text, "column 8200: the list is too long");
        }
    }
    free(text);
}
END_TEST

/* Depth, length and time are bounded: none of these crashes or takes long. */
START_TEST(hostile_texts_end)
{
    struct expression_scope scope = { &arena, find, NULL };
    struct expression_value value;
    static const char *const pieces[] = {
        "(", "-", "not ", "[", "1 if 1 else ", "shape(", "(1 if "
    };
    char *text = malloc(1 << 20);
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        size_t length = strlen(pieces[p]), used = 0;
        while (used + length < (1 << 20) - 1) {
            memcpy(text + used, pieces[p], length);
            used += length;
        }
        text[used] = '\0';
        ck_assert_int_eq(expression_evaluate(&value, &scope, text).code, STATUS_BAD_INPUT);
        ck_assert_int_eq(expression_check(text).code, STATUS_BAD_INPUT);
    }
    free(text);
}
END_TEST

/* Random texts made of the grammar's tokens: any result, no fault of memory (run under ASan), and
 * what evaluates also checks. */
START_TEST(random_texts_do_no_harm)
{
    static const char *const tokens[] = { "1",   "x",     "v",    "(",   ")",    "[",    "]",
                                          ",",   ":",     "+",    "-",   "*",    "//",   "%",
                                          "if ", "else ", "and ", "or ", "not ", "in ",  "shape(",
                                          "'a'", "==",    "<",    "dim", "2.5",  "prod(" };
    struct expression_scope scope = { &arena, find, NULL };
    uint64_t state = 1234 + (uint64_t)_i;
    for (int round = 0; round < 20000; round++) {
        char text[200] = "";
        int count = 1 + round % 12;
        for (int k = 0; k < count; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            strcat(text, tokens[(state >> 33) % (sizeof tokens / sizeof *tokens)]);
        }
        struct expression_value value;
        if (!expression_evaluate(&value, &scope, text).code)
            ck_assert_msg(!expression_check(text).code, "%s", text);
        if (round % 1000 == 0) arena_reset(&arena);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_expression");
    TCase *tests = tcase_create("plugin_expression");
    struct arena lasting = { 0 };
    image = ramp_value(&lasting, DT_F32, false, 4, (int64_t[]){ 2, 3, 4, 5 });
    vector = ramp_value(&lasting, DT_F16, false, 1, (int64_t[]){ 5 });
    others[0].value = ramp_value(&lasting, DT_F32, false, 1, (int64_t[]){ 1 });
    others[1].value = ramp_value(&lasting, DT_F32, false, 3, (int64_t[]){ 2, 0, 3 });
    others[2].value =
        tensor_value(&lasting, DT_I32, false, 1, (int64_t[]){ 1 }, (double[]){ 7 }, 1);
    others[3].value = tensor_value(&lasting, DT_F64, false, 0, NULL, (double[]){ 2.5 }, 1);
    struct tensor *complex = arena_allocate(&lasting, sizeof *complex);
    if (tensor_create(complex, &lasting, DT_C64, 0, NULL).code) return 1;
    others[4].value = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = complex } };
    tcase_add_loop_test(tests, values_are_those_of_python, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tests, faults_name_the_column, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tests, long_lists_end);
    tcase_add_test(tests, hostile_texts_end);
    tcase_add_loop_test(tests, random_texts_do_no_harm, 0, 3);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    arena_release(&arena);
    arena_release(&lasting);
    return failed ? 1 : 0;
}
