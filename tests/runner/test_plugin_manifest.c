/* What is wrong with a manifest is said with file, line and key. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/devices/plugin_manifest.h"
#include "suite.h"

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

static struct status parse(struct manifest *m, int line, const char *replacement)
{
    char text[4096] = "";
    for (int i = 0; i < LINES; i++) {
        strcat(text, i + 1 == line ? replacement : sound[i]);
        strcat(text, "\n");
    }
    return manifest_parse(m, "dir/a.json", text, strlen(text));
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
    ck_assert_int_eq(json_line(&m.file, m.kernels[1].forward.steps.items[0].node), 12);
    manifest_close(&m);
    st = parse(&m, 6, "\"each\": [ { \"f\": \"exp\" } ], \"apis\": [\"Torch.{g}\"],");
    ck_assert_str_eq(st.text,
                     "dir/a.json:6: kernels[0].apis[0]: there is no word for \"{g}\"");
    st = parse(&m, 6, "\"each\": [ { \"f\": \"exp\" } ], \"apis\": [\"{f}\"],");
    ck_assert_str_eq(st.text, "dir/a.json:6: kernels[0].apis[0]: an API is written "
                              "\"Torch.matmul\" or \"*.matmul\"");
}
END_TEST

static const struct {
    int line;
    const char *replacement, *message;
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
      "dir/a.json:3: enums.mode.sum: a number is expected" },
    { 4, "\"wrappers\": { \"w\": { \"before\": [] } },",
      "dir/a.json:4: wrappers.w: the key \"value\" is missing" },
    { 6, "\"apis\": [\"exp\"],",
      "dir/a.json:6: kernels[0].apis[0]: an API is written \"Torch.matmul\" or \"*.matmul\"" },
    { 7, "\"parameters\": [\"x\", \"2dim\"],",
      "dir/a.json:7: kernels[0].parameters[1]: a parameter is \"name\", \"name = default\" or "
      "\"*name\"" },
    { 7, "\"parameters\": [\"x\", \"dim = )\"],",
      "dir/a.json:7: kernels[0].parameters[1]: the default: column 1: a value is expected" },
    { 8, "\"when\": \"rank(x) = 1\",",
      "dir/a.json:8: kernels[0].when: column 9: an operator or the end is expected" },
    { 8, "\"when\": \"ranks(x)\",", "dir/a.json:8: kernels[0].when: column 7: no such function" },
    { 9, "\"let\": { \"n\": [] },",
      "dir/a.json:9: kernels[0].let.n: an expression is expected: a string or a number" },
    { 11, "{ \"shape\": \"shape(x)\" } ],",
      "dir/a.json:11: kernels[0].outputs[0]: the key \"name\" is missing" },
    { 11, "{ \"name\": \"y\", \"of\": \"x\" } ],",
      "dir/a.json:11: kernels[0].outputs[0].of: only gradients are \"of\" something" },
    { 11, "],", "dir/a.json:10: kernels[0].outputs: the list is empty" },
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
    { 17, "{ \"enum\": \"modes\", \"key\": \"'sum'\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].enum: there is no such table in \"enums\"" },
    { 17, "{ \"wrap\": \"w\", \"of\": \"x\" } ],",
      "dir/a.json:17: kernels[0].steps[0].arguments[2].wrap: there is no such wrapper in "
      "\"wrappers\"" },
    { 18, "\"returns\": { \"type\": \"i32\", \"ok\": \"fine\" }",
      "dir/a.json:18: kernels[0].steps[0].returns.ok: any, zero, nonzero, nonnegative or nonnull "
      "is expected" },
    { 18, "\"returns\": { \"type\": \"i32\", \"element\": \"y\" }",
      "dir/a.json:18: kernels[0].steps[0].returns: \"element\" needs a \"loop\" in the call" },
    { 20, "} ", "dir/a.json:21:1: not JSON from here on" },
};

START_TEST(faults_name_file_line_and_key)
{
    struct manifest m;
    struct status st = parse(&m, faults[_i].line, faults[_i].replacement);
    ck_assert_int_eq(st.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(st.text, faults[_i].message);
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
        "plugin", "name", "libraries", "environment", "memory_limit", "enums", "wrappers", "session", "kernels",
        "open", "close", "value", "before", "after", "after_output", "apis", "parameters", "when",
        "let", "outputs", "steps", "backward", "smoke", "each", "gradients", "shape", "dtype", "returns",
        "initial", "axes", "of", "call", "library", "arguments", "loop", "allocate", "bytes",
        "type", "ok", "into", "element", "explain", "data", "data_list", "element_address", "list",
        "enum", "string", "slot", "out", "wrap", "null", "key", "cast", "broadcast", "i8", "u8",
        "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64" };
    struct json_file schema;
    struct status st = json_file_open(&schema, PROBE_SOURCE_DIR "/config/plugin.schema.json", false);
    ck_assert_msg(!st.code, "%s", st.text);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\":", keys[i]);
        ck_assert_msg(strstr(schema.text, quoted) != NULL, "the schema has no %s", quoted);
    }
    json_file_close(&schema);
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
    tcase_add_test(tests, damaged_texts_do_no_harm);
    tcase_add_test(tests, the_schema_knows_every_key);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
