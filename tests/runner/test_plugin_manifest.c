/* What is wrong with a manifest is said with file, line and key. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/devices/plugin/plugin_manifest.h"
#include "support/suite.h"

/* A sound manifest in pieces; a test replaces one line. Line 1 is the first entry. */
static const char *const sound[] = {
    "{ \"plugin\": 1,",
    "  \"libraries\": { \"m\": \"libm.so.6\" },",
    "  \"enums\": { \"mode\": { \"sum\": 1 } },",
    "  \"wrappers\": {},",
    "  \"kernels\": [ {",
    "    \"apis\": [\"Torch.exp\"],",
    "    \"parameters\": [\"x\", \"dim = -1\"],",
    "    \"when\": \"rank(x) == 1\",",
    "    \"let\": { \"n\": \"numel(x)\" },",
    "    \"outputs\": [",
    "      { \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\" } ],",
    "    \"steps\": [ {",
    "      \"call\": \"f\",",
    "      \"arguments\": [",
    "        { \"data\": \"x\" },",
    "        { \"i32\": \"n\" },",
    "        { \"enum\": \"mode\", \"key\": \"'sum'\" } ],",
    "      \"returns\": { \"type\": \"i32\" }",
    "    } ]",
    "  } ]",
    "}",
};
enum { LINES = sizeof sound / sizeof *sound };

static struct status parse_two(struct manifest *m, int line, const char *replacement, int other,
                               const char *other_replacement)
{
    char text[4096] = "";
    for (int i = 0; i < LINES; i++) {
        strcat(text, i + 1 == line ? replacement : i + 1 == other ? other_replacement : sound[i]);
        strcat(text, "\n");
    }
    return manifest_parse(m, "dir/a.json", text, strlen(text));
}

static struct status parse(struct manifest *m, int line, const char *replacement)
{
    return parse_two(m, line, replacement, 0, "");
}

START_TEST(the_sound_one_is_read)
{
    struct manifest m;
    struct status st = parse(&m, 0, "");
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(m.n_kernels, 1);
    const struct manifest_kernel *k = &m.kernels[0];
    ck_assert(manifest_serves(k, "Torch", "exp"));
    ck_assert(!manifest_serves(k, "Torch", "expm1"));
    ck_assert(!manifest_serves(k, "Tensor", "exp"));
    ck_assert_str_eq(k->parameters[1].name, "dim");
    ck_assert_str_eq(k->parameters[1].fallback, "-1");
    ck_assert_uint_eq(k->forward.steps.items[0].count, 3);
    ck_assert_int_eq(k->forward.steps.items[0].arguments[1].role, ROLE_SCALAR);
    ck_assert_int_eq(k->forward.steps.items[0].arguments[1].type, TYPE_I32);
    manifest_close(&m);
}
END_TEST

/* "each" makes several kernels of one; a fault in a copy is located in the text. */
START_TEST(each_makes_several)
{
    struct manifest m;
    const char *api = "\"each\": [ { \"f\": \"exp\" }, { \"f\": \"log\" } ], "
                      "\"apis\": [\"Torch.{f}\", \"Tensor.{f}_\"],";
    struct status st = parse(&m, 6, api);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(m.n_kernels, 2);
    ck_assert(manifest_serves(&m.kernels[0], "Torch", "exp"));
    ck_assert(manifest_serves(&m.kernels[1], "Tensor", "log_"));
    ck_assert(!manifest_serves(&m.kernels[1], "Torch", "exp"));
    ck_assert_int_eq(config_json_line(&m.file, m.kernels[1].forward.steps.items[0].node), 12);
    manifest_close(&m);
    st = parse(&m, 6, "\"each\": [ { \"f\": \"exp\" } ], \"apis\": [\"Torch.{g}\"],");
    ck_assert_str_eq(st.text, "dir/a.json:6: kernels[0].apis[0]: there is no word for \"{g}\"");
    st = parse(&m, 6, "\"each\": [ { \"f\": \"exp\" } ], \"apis\": [\"{f}\"],");
    ck_assert_str_eq(st.text, "dir/a.json:6: kernels[0].apis[0]: an API is written "
                              "\"Torch.matmul\" or \"*.matmul\"");
}
END_TEST

static const struct {
    int line;
    const char *replacement, *message;
    /* clang-format off */
} faults[] = {
    { 1, "{ \"plugin\": 2,",
      "dir/a.json:1: plugin: this program reads version 1 of the manifest language" },
    { 1, "{", "dir/a.json:1: the key \"plugin\" is missing" },
    { 1, "{ \"plugin\": 1, \"plugin\": 1,", "dir/a.json:1: plugin: the key is there twice" },
    { 1, "{ \"plugin\": \"1\",", "dir/a.json:1: plugin: a number is expected" },
    { 2, "\"libraries\": {},", "dir/a.json:2: libraries: at least one library is needed" },
    { 2, "\"libraries\": { \"m\": 5 },",
      "dir/a.json:2: libraries.m: the file name of a library is expected" },
    { 2, "\"libraries\": [],", "dir/a.json:2: libraries: an object is expected" },
    { 2, "\"librarys\": {},",
      "dir/a.json:2: librarys: no such key; known here: plugin, name, libraries, environment, "
      "enums, wrappers, session, kernels, memory_limit" },
    { 3, "\"enums\": { \"mode\": { \"sum\": \"1\" } },",
      "dir/a.json:3: enums.mode.sum: a whole number is expected" },
    { 3, "\"enums\": { \"mode\": { \"sum\": 1.5 } },",
      "dir/a.json:3: enums.mode.sum: a whole number is expected" },
    { 3, "\"enums\": { \"mode\": { \"sum\": 1e300 } },",
      "dir/a.json:3: enums.mode.sum: a whole number is expected" },
    { 3, "\"enums\": { \"mode\": 5 },",
      "dir/a.json:3: enums.mode: an object from keys to numbers is expected" },
    { 3, "\"enums\": 5,", "dir/a.json:3: enums: an object is expected" },
    { 3, "\"environment\": { \"A\": 5 },",
      "dir/a.json:3: environment.A: a string is expected" },
    { 3, "\"memory_limit\": 1048575,",
      "dir/a.json:3: memory_limit: a number of bytes of at least 1048576 is expected" },
    { 3, "\"memory_limit\": 1e16,",
      "dir/a.json:3: memory_limit: a number of bytes of at least 1048576 is expected" },
    { 3, "\"session\": { \"open\": {} },", "dir/a.json:3: session.open: a list is expected" },
    { 3, "\"session\": { \"open\": [ { \"call\": 5 } ] },",
      "dir/a.json:3: session.open[0].call: a string is expected" },
    { 3, "\"session\": { \"close\": [ { } ] },",
      "dir/a.json:3: session.close[0]: a step has either \"call\" or \"allocate\"" },
    { 4, "\"wrappers\": { \"w\": { \"before\": [] } },",
      "dir/a.json:4: wrappers.w: the key \"value\" is missing" },
    { 4, "\"wrappers\": { \"w\": { \"value\": \"s\", \"before\": [ 5 ] } },",
      "dir/a.json:4: wrappers.w.before[0]: an object is expected here" },
    { 4, "\"wrappers\": { \"w\": { \"value\": \"s\", \"before\": [], \"after\": [ 5 ] } },",
      "dir/a.json:4: wrappers.w.after[0]: an object is expected here" },
    { 4, "\"wrappers\": { \"w\": { \"value\": \"s\", \"before\": [], \"after_output\": [ 5 ] } },",
      "dir/a.json:4: wrappers.w.after_output[0]: an object is expected here" },
    { 5, "\"kernels\": [ 5, {", "dir/a.json:5: kernels[0]: an object is expected here" },
    { 6, "\"apis\": [\"exp\"],",
      "dir/a.json:6: kernels[0].apis[0]: an API is written \"Torch.matmul\" or \"*.matmul\"" },
    { 6, "\"apis\": [],", "dir/a.json:6: kernels[0].apis: the list is empty" },
    { 6, "\"apis\": [5],",
      "dir/a.json:6: kernels[0].apis[0]: an API is written \"Torch.matmul\" or \"*.matmul\"" },
    { 6, "\"apis\": [\"Torch.exp\"], \"each\": [],",
      "dir/a.json:6: kernels[0].each: a list of objects with words is expected" },
    { 6, "\"apis\": [\"Torch.exp\"], \"each\": 5,",
      "dir/a.json:6: kernels[0].each: a list of objects with words is expected" },
    { 6, "\"apis\": [\"Torch.exp\"], \"each\": [ [] ],",
      "dir/a.json:6: kernels[0].each[0]: an object is expected" },
    { 6, "\"apis\": [\"Torch.exp\"], \"each\": [ { \"f\": 5 } ],",
      "dir/a.json:6: kernels[0].each[0].f: a string is expected" },
    { 6, "\"apis\": [\"Torch.{f\"], \"each\": [ { \"f\": \"g\" } ],",
      "dir/a.json:6: kernels[0].apis[0]: there is no word for \"{f\"" },
    { 7, "\"parameters\": [5],", "dir/a.json:7: kernels[0].parameters[0]: a string is expected" },
    { 7, "\"parameters\": [\"\"],",
      "dir/a.json:7: kernels[0].parameters[0]: a parameter is \"name\", \"name = default\" or "
      "\"*name\"" },
    { 7, "\"parameters\": [\"x-y\"],",
      "dir/a.json:7: kernels[0].parameters[0]: a parameter is \"name\", \"name = default\" or "
      "\"*name\"" },
    { 7, "\"parameters\": [\"x\", \"2dim\"],",
      "dir/a.json:7: kernels[0].parameters[1]: a parameter is \"name\", \"name = default\" or "
      "\"*name\"" },
    { 7, "\"parameters\": [\"x\", \"dim = )\"],",
      "dir/a.json:7: kernels[0].parameters[1]: the default: column 1: a value is expected" },
    { 8, "\"when\": \"rank(x) = 1\",",
      "dir/a.json:8: kernels[0].when: column 9: an operator or the end is expected" },
    { 8, "\"when\": \"ranks(x)\",", "dir/a.json:8: kernels[0].when: column 1: there is no function \"ranks\"; the nearest is \"rank\"" },
    { 9, "\"let\": { \"n\": [] },",
      "dir/a.json:9: kernels[0].let.n: an expression is expected: a string or a number" },
    { 11, "{ \"shape\": \"shape(x)\" } ],",
      "dir/a.json:11: kernels[0].outputs[0]: the key \"name\" is missing" },
    { 11, "{ \"name\": \"y\", \"of\": \"x\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].of: only gradients are \"of\" something" },
    { 11, "],", "dir/a.json:10: kernels[0].outputs: the list is empty" },
    { 11, "{ \"name\": \"y\", \"shape\": \"(\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].shape: column 2: the expression ends too early" },
    { 19, "} ], \"backward\": { \"gradients\": [ { \"name\": \"d\" } ], \"steps\": [] }",
      "dir/a.json:19: kernels[0].backward.gradients[0]: a gradient needs \"of\": whose gradient it "
      "is" },
    { 19, "} ], \"backward\": { \"gradients\": [ { \"name\": \"d\", \"of\": \"x\" } ], "
          "\"steps\": [] }",
      "dir/a.json:19: kernels[0].backward: \"steps\" with at least one call is missing" },
    { 19, "} ], \"backward\": { \"when\": \"(\", \"gradients\": [], \"steps\": [] }",
      "dir/a.json:19: kernels[0].backward.when: column 2: the expression ends too early" },
    { 13, "\"call\": \"f\", \"bytes\": 8,",
      "dir/a.json:13: kernels[0].steps[0].bytes: this key goes with \"allocate\"" },
    { 12, "\"steps\": [ { \"allocate\": \"w\" }, {",
      "dir/a.json:12: kernels[0].steps[0]: the key \"bytes\" is missing" },
    { 2, "\"libraries\": { \"m\": \"libm.so.6\", \"c\": \"libc.so.6\" },",
      "dir/a.json:12: kernels[0].steps[0]: the key \"library\" is missing; there is more than one "
      "to choose from" },
    { 2, "\"libraries\": { \"m\": \"\" },",
      "dir/a.json:2: libraries.m: the file name of a library is expected" },
    { 13, "\"allocate\": \"w\", \"call\": \"f\",",
      "dir/a.json:12: kernels[0].steps[0]: a step has either \"call\" or \"allocate\"" },
    { 13, "\"call\": \"f\", \"library\": \"n\",",
      "dir/a.json:13: kernels[0].steps[0].library: there is no such name in \"libraries\"" },
    { 15, "{ \"dat\": \"x\" },",
      "dir/a.json:15: kernels[0].steps[0].arguments[0].dat: no such key; known here: data, "
      "data_list, element, element_address, list, enum, string, slot, out, wrap, null, type, key, "
      "cast, axes, broadcast, of, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64" },
    { 15, "{ \"cast\": \"'float32'\" },",
      "dir/a.json:15: kernels[0].steps[0].arguments[0]: the argument has no role (\"data\", "
      "\"i32\", ...)" },
    { 15, "{ \"data\": \"x\", \"i32\": 1 },",
      "dir/a.json:15: kernels[0].steps[0].arguments[0].i32: an argument has one role; \"data\" is "
      "another" },
    { 15, "{ \"i32\": 1, \"cast\": \"'float32'\" },",
      "dir/a.json:15: kernels[0].steps[0].arguments[0].cast: this key does not go with \"i32\"" },
    { 15, "{ \"list\": \"shape(x)\" },",
      "dir/a.json:15: kernels[0].steps[0].arguments[0]: \"list\" needs a \"type\"" },
    { 15, "{ \"element\": \"x\", \"type\": \"f32\" },",
      "dir/a.json:15: kernels[0].steps[0].arguments[0]: an element needs a \"loop\" in the call" },
    { 15, "5,", "dir/a.json:15: kernels[0].steps[0].arguments[0]: an object is expected here" },
    { 16, "{ \"slot\": \"s\", \"type\": \"int\" },",
      "dir/a.json:16: kernels[0].steps[0].arguments[1].type: no such type; known are void, i8, u8, "
      "i16, u16, i32, u32, i64, u64, f32, f64 and pointer" },
    { 16, "{ \"slot\": \"s\", \"type\": \"void\" },",
      "dir/a.json:16: kernels[0].steps[0].arguments[1].type: an argument is not void" },
    { 16, "{ \"element_address\": \"x\" },",
      "dir/a.json:16: kernels[0].steps[0].arguments[1]: an element needs a \"loop\" in the call" },
    { 17, "{ \"enum\": \"mode\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2]: \"enum\" needs \"key\"" },
    { 17, "{ \"wrap\": \"w\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2]: \"wrap\" needs \"of\"" },
    { 17, "{ \"data\": \"x\", \"axes\": \"(\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].axes: column 2: the expression ends too early" },
    { 17, "{ \"data\": \"x\", \"broadcast\": \"(\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].broadcast: column 2: the expression ends too early" },
    { 13, "\"call\": \"f\", \"when\": \"(\",",
      "dir/a.json:13: kernels[0].steps[0].when: column 2: the expression ends too early" },
    { 11, "{ \"name\": \"y\", \"dtype\": \"(\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].dtype: column 2: the expression ends too early" },
    { 11, "{ \"name\": \"y\", \"returns\": \"(\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].returns: column 2: the expression ends too early" },
    { 11, "{ \"name\": \"y\", \"initial\": \"(\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].initial: column 2: the expression ends too early" },
    { 11, "{ \"name\": \"y\", \"axes\": \"(\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].axes: column 2: the expression ends too early" },
    { 11, "{ \"name\": \"y\", \"of\": \"(\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].of: column 2: the expression ends too early" },
    { 19, "} ], \"backward\": { \"outputs\": [] }",
      "dir/a.json:19: kernels[0].backward.outputs: no such key; known here: when, let, gradients, steps" },
    { 17, "{ \"data\": \"x\", \"cast\": \"(\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].cast: column 2: the expression ends too early" },
    { 17, "{ \"enum\": \"modes\", \"key\": \"'sum'\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].enum: there is no such table in \"enums\"" },
    { 17, "{ \"wrap\": \"w\", \"of\": \"x\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].wrap: there is no such wrapper in "
      "\"wrappers\"" },
    { 18, "\"returns\": { \"type\": \"i32\", \"ok\": \"fine\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.ok: any, zero, nonzero, nonnegative or nonnull "
      "is expected" },
    { 18, "\"returns\": { \"type\": \"int\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.type: no such type; known are void, i8, u8, i16, "
      "u16, i32, u32, i64, u64, f32, f64 and pointer" },
    { 18, "\"returns\": { \"type\": \"f64\", \"ok\": \"nonnegative\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.ok: only an integer or a pointer says whether a "
      "call went well" },
    { 18, "\"returns\": { \"type\": \"f32\", \"ok\": \"zero\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.ok: only an integer or a pointer says whether a "
      "call went well" },
    { 18, "\"returns\": { \"type\": \"void\", \"ok\": \"nonnull\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.ok: only an integer or a pointer says whether a "
      "call went well" },
    { 18, "\"returns\": { \"type\": \"i32\", \"explain\": \"f\", \"library\": \"n\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.library: there is no such name in \"libraries\"" },
    { 18, "\"returns\": { \"type\": \"i32\", \"element\": \"y\" }",
      "dir/a.json:18: kernels[0].steps[0].returns: \"element\" needs a \"loop\" in the call" },
    { 20, "} ", "dir/a.json:21:1: not JSON from here on" },
};
/* clang-format on */

START_TEST(faults_name_file_line_and_key)
{
    struct manifest m;
    struct status st = parse(&m, faults[_i].line, faults[_i].replacement);
    ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(st.text, faults[_i].message);
}
END_TEST

/* More arguments than a call may have. */
START_TEST(arguments_are_bounded)
{
    for (int more = 0; more < 2; more++) {
        struct manifest m;
        char arguments[2000] = "{ \"data\": \"x\" },";
        for (int i = 0; i < PROGRAM_MAX_ARGUMENTS - 3 + more; i++)
            strcat(arguments, "{ \"i32\": 1 },");
        struct status st = parse(&m, 15, arguments);
        if (more)
            ck_assert_str_eq(st.text, "dir/a.json:14: kernels[0].steps[0].arguments: more than 48 "
                                      "arguments");
        else {
            ck_assert_msg(!st.code, "%s", st.text);
            ck_assert_uint_eq(m.kernels[0].forward.steps.items[0].count, PROGRAM_MAX_ARGUMENTS);
            manifest_close(&m);
        }
    }
}
END_TEST

static const struct {
    int line;
    const char *replacement;
    int other;
    const char *other_replacement;
} others[] = {
    { 3, "\"enums\": { \"mode\": { \"sum\": 1 } }, \"$note\": [], \"_note\": 5,", 0, "" },
    { 15, "{ \"_first\": true, \"data\": \"x\", \"$why\": \"a comment\" },", 0, "" },
    { 9, "", 8, "" },
    { 18, "\"returns\": { \"type\": \"void\", \"ok\": \"any\" }", 0, "" },
    { 18, "\"returns\": { \"type\": \"f64\", \"ok\": \"any\" }", 0, "" },
    { 18, "\"returns\": { \"type\": \"i32\", \"explain\": \"f\", \"library\": \"m\" }", 0, "" },
    { 15, "{ \"element\": \"x\", \"type\": \"f32\" },", 18,
      "\"loop\": \"y\", \"returns\": { \"type\": \"pointer\", \"ok\": \"nonnull\" }" },
};

/* Comments, keys that are left out and the rarer ways to say things. */
START_TEST(other_sound_ones_are_read)
{
    struct manifest m;
    struct status st = parse_two(&m, others[_i].line, others[_i].replacement, others[_i].other,
                                 others[_i].other_replacement);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(m.n_kernels, 1);
    ck_assert_str_eq(m.kernels[0].apis[0], "Torch.exp");
    manifest_close(&m);
}
END_TEST

/* Places are found whatever the text has between its values and in its strings. */
START_TEST(places_are_found_in_any_text)
{
    /* clang-format off */
    static const char *const table[][2] = {
        { "\xef\xbb\xbf{ \"plugin\": 1,\n \"x\": 1 }", "a.json:2: x: no such key" },
        { "{\f\"plugin\"\v:\x01 1 \t,\r\n\"x\"\x02:\x03[\x04] }", "a.json:2: x: no such key" },
        { "{ \"_\\\"}\": \"{\\\\\", \"_\": \"a\\\"]b\nc\",\n \"x\": 1 }", "a.json:3: x: no such key" },
        { "{ \"_\": [1e5,-2.5,true,false,null,{},[],{ \"a\" :[ ] }],\n\n\"x\": 1 }",
          "a.json:3: x: no such key" },
        { "\n[]", "a.json:2: an object is expected here" },
        { "{ \"plugin\": 1,\n \"a_key_that_is_longer_than_the_place_that_a_message_has_for_the_path_of_a_value_in_the_file_"
          "so_that_only_its_start_can_be_told_there_and_not_its_end_which_nobody_misses\": 1 }",
          "a.json:2: a_key_that_is_longer_than_the_place_that_a_message_has_for_the_path_of_a_value_in_the_file_"
          "so_that_only_its_start_can_be_told_there_and_not_its_end_which_nobod: no such key" },
        { "", "a.json:1:1: not JSON from here on" },
        { "\n\n {", "a.json:3:2: not JSON from here on" },
        { "{ \"a\": 1 } x", "a.json:1:12: not JSON from here on" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct manifest m;
        struct status st = manifest_parse(&m, "a.json", table[i][0], strlen(table[i][0]));
        ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
        ck_assert_msg(!strncmp(st.text, table[i][1], strlen(table[i][1])), "%s", st.text);
    }
    /* A NUL is nowhere in JSON. */
    struct manifest m;
    static const char text[] = "{ \"plugin\":\0 1,\n \"x\": 1 }";
    ck_assert_str_eq(manifest_parse(&m, "a.json", text, sizeof text - 1).text,
                     "a.json:1:12: not JSON from here on");
}
END_TEST

START_TEST(a_kernel_has_steps)
{
    struct manifest m;
    struct status st =
        parse_two(&m, 12,
                  "\"steps\": [], \"backward\": { \"gradients\": [ { \"name\": \"d\", "
                  "\"of\": \"x\" } ], \"steps\": [ {",
                  19, "} ] }");
    ck_assert_str_eq(st.text,
                     "dir/a.json:5: kernels[0]: \"steps\" with at least one call is missing");
}
END_TEST

/* Numbers and bools stand for the expressions they are in Python. */
START_TEST(numbers_are_expressions)
{
    /* clang-format off */
    static const char *const table[][2] = {
        { "{ \"i32\": 7 },", "7" },          { "{ \"i32\": -0 },", "0" },
        { "{ \"i64\": 9007199254740991 },", "9007199254740991" },
        { "{ \"f64\": 9007199254740992 },", "9007199254740992" },
        { "{ \"f64\": 1e300 },", "1.0000000000000001e+300" },
        { "{ \"f64\": 0.1 },", "0.10000000000000001" },
        { "{ \"u8\": true },", "True" },     { "{ \"u8\": false },", "False" },
        { "{ \"f32\": \"1 + 1\" },", "1 + 1" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct manifest m;
        struct status st = parse(&m, 15, table[i][0]);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_str_eq(m.kernels[0].forward.steps.items[0].arguments[0].text, table[i][1]);
        manifest_close(&m);
    }
}
END_TEST

/* A bare name is the loader's to find; a relative path counts from the manifest. */
START_TEST(libraries_are_found_from_the_manifest)
{
    static const char *const table[][3] = {
        { "dir/a.json", "libm.so.6", "libm.so.6" },
        { "dir/a.json", "./lib.so", "dir/./lib.so" },
        { "/x/dir/a.json", "sub/lib.so", "/x/dir/sub/lib.so" },
        { "dir/a.json", "/opt/lib.so", "/opt/lib.so" },
        { "a.json", "sub/lib.so", "./sub/lib.so" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct manifest m;
        char text[200];
        snprintf(text, sizeof text,
                 "{ \"plugin\": 1, \"libraries\": { \"m\": \"%s\" }, \"kernels\": [] }",
                 table[i][1]);
        struct status st = manifest_parse(&m, table[i][0], text, strlen(text));
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_str_eq(m.libraries[0].path, table[i][2]);
        ck_assert_uint_eq(m.n_kernels, 0);
        ck_assert_str_eq(m.title, table[i][0]);
        manifest_close(&m);
    }
}
END_TEST

/* An API is served under its own group, or under every group when the kernel says "*". */
START_TEST(groups_and_names_are_matched_whole)
{
    struct manifest m;
    struct status st = parse(&m, 6, "\"apis\": [\"Torch.exp\", \"*.log\", \"*log\", \"*x.sin\"],");
    ck_assert_msg(st.code == STATUS_BAD_INPUT, "%s", st.text); /* "*log" has no point */
    st = parse(&m, 6, "\"apis\": [\"Torch.exp\", \"*.log\", \"*x.sin\"],");
    ck_assert_msg(!st.code, "%s", st.text);
    static const struct {
        const char *group, *name;
        bool served;
        /* clang-format off */
    } table[] = {
        { "Torch", "exp", true },   { "Tensor", "exp", false }, { "Torch", "exp2", false },
        { "Torc", "exp", false },   { "Torch.e", "xp", false }, { "Tensor", "log", true },
        { "NPU", "log", true },     { "Torch", "log2", false }, { "Torch", "sin", false },
        { "*x", "sin", true },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        ck_assert_msg(manifest_serves(&m.kernels[0], table[i].group, table[i].name) ==
                          table[i].served,
                      "%s.%s", table[i].group, table[i].name);
    manifest_close(&m);
}
END_TEST

/* Every prefix of a manifest, and every manifest with one byte changed, is read or refused; run
 * under ASan this shows that nothing else happens. */
START_TEST(damaged_texts_do_no_harm)
{
    char text[4096] = "";
    struct manifest m;
    for (int i = 0; i < LINES; i++) {
        strcat(text, sound[i]);
        strcat(text, "\n");
    }
    size_t bytes = strlen(text);
    for (size_t cut = 0; cut < bytes; cut++)
        if (!manifest_parse(&m, "a.json", text, cut).code) manifest_close(&m);
    for (size_t i = 0; i < bytes; i++) {
        static const char replacements[] = "\"{}[]:,0'x\\";
        char saved = text[i];
        for (const char *r = replacements; *r; r++) {
            text[i] = *r;
            if (!manifest_parse(&m, "a.json", text, bytes).code) manifest_close(&m);
        }
        text[i] = saved;
    }
}
END_TEST

/* Every key of the language is described in the schema. */
START_TEST(the_schema_knows_every_key)
{
    static const char *const keys[] = {
        "plugin",   "name",       "libraries", "environment", "memory_limit",
        "enums",    "wrappers",   "session",   "kernels",     "open",
        "close",    "value",      "before",    "after",       "after_output",
        "apis",     "parameters", "when",      "let",         "outputs",
        "steps",    "backward",   "smoke",     "each",        "gradients",
        "shape",    "dtype",      "returns",   "initial",     "axes",
        "of",       "call",       "library",   "arguments",   "loop",
        "allocate", "bytes",      "type",      "ok",          "into",
        "element",  "explain",    "data",      "data_list",   "element_address",
        "list",     "enum",       "string",    "slot",        "out",
        "wrap",     "null",       "key",       "cast",        "broadcast",
        "i8",       "u8",         "i16",       "u16",         "i32",
        "u32",      "i64",        "u64",       "f32",         "f64"
    };
    struct config_json schema;
    struct status st =
        config_json_open(&schema, PROBE_SOURCE_DIR "/config/plugin.schema.json", FILES_CHECKED);
    ck_assert_msg(!st.code, "%s", st.text);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\":", keys[i]);
        ck_assert_msg(strstr(schema.text, quoted) != NULL, "the schema has no %s", quoted);
    }
    config_json_close(&schema);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_manifest");
    TCase *tests = tcase_create("plugin_manifest");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_sound_one_is_read);
    tcase_add_test(tests, each_makes_several);
    tcase_add_loop_test(tests, faults_name_file_line_and_key, 0, sizeof faults / sizeof *faults);
    tcase_add_test(tests, arguments_are_bounded);
    tcase_add_loop_test(tests, other_sound_ones_are_read, 0, sizeof others / sizeof *others);
    tcase_add_test(tests, places_are_found_in_any_text);
    tcase_add_test(tests, a_kernel_has_steps);
    tcase_add_test(tests, numbers_are_expressions);
    tcase_add_test(tests, libraries_are_found_from_the_manifest);
    tcase_add_test(tests, groups_and_names_are_matched_whole);
    tcase_add_test(tests, damaged_texts_do_no_harm);
    tcase_add_test(tests, the_schema_knows_every_key);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
