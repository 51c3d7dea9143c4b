/* The line that made a call, out of stacks of both layouts. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "formats/source_line.h"
#include "support/suite.h"
#include "support/workspace.h"

#define RECORDER                                                                           \
    "\"File msprobe/core/data_dump/api_registry.py, line 96, in api_function, \\n return " \
    "call(*args)\""
#define LAYER                                                                                      \
    "\"File /usr/lib/python3/dist-packages/torch/nn/modules/sparse.py, line 160, in forward, \\n " \
    "return F.embedding(\""
#define MODEL "\"File models.py, line 73, in forward, \\n x = s.drop(s.wte(idx))\""
#define LIBRARY                                                                                    \
    "\"File /opt/venv/lib/python3.11/site-packages/transformers/models/gpt.py, line 5, in f, \\n " \
    "y = x\""
#define STANDARD \
    "\"File /usr/lib/python3.11/contextlib.py, line 81, in inner, \\n return func(*args)\""

static const struct {
    const char *frames, *line;
} stacks_of_one[] = {
    { RECORDER "," MODEL, "models.py:73 in forward: x = s.drop(s.wte(idx))" },
    { RECORDER "," LAYER "," MODEL, "models.py:73 in forward: x = s.drop(s.wte(idx))" },
    { RECORDER "," LAYER "," STANDARD "," LIBRARY "," MODEL,
      "/opt/venv/lib/python3.11/site-packages/transformers/models/gpt.py:5 in f: y = x" },
    { RECORDER "," LAYER, "/usr/lib/python3/dist-packages/torch/nn/modules/sparse.py:160 in "
                          "forward: return F.embedding(" },
    { RECORDER, "" },
    { "", "" },
    { "\"<frozen importlib>\"", "<frozen importlib>" },
    { "\"File /home/u/torch/train.py, line 3, in <module>, \\n loss = f()\"",
      "/home/u/torch/train.py:3 in <module>: loss = f()" },
    { "\"File a.py, line 3, in f\"", "a.py:3 in f" },
    { "\"File a\\u001b[31m.py, line 3, in f, \\n x\\ny\"", "a [31m.py:3 in f: x y" },
};

static struct workspace here;
static void make(void) { here = workspace_make(); }
static void clear(void) { workspace_remove(&here); }

static void expect(const char *json, const char *call, const char *line)
{
    char source[SOURCE_LINE_BYTES];
    struct stacks *stacks = NULL;
    write_text(in(&here, "stack.json"), json);
    ck_assert_int_eq(stacks_open_beside(&stacks, in(&here, "dump.json"), FILES_CHECKED).code,
                     STATUS_OK);
    ck_assert_ptr_nonnull(stacks);
    ck_assert_int_eq(source_line_of_call(source, stacks, call), *line != '\0');
    ck_assert_str_eq(source, line);
    stacks_close(stacks);
}

START_TEST(both_layouts)
{
    char json[4096];
    (void)snprintf(json, sizeof json, "{\"Torch.add.0.forward\": [%s]}", stacks_of_one[_i].frames);
    expect(json, "Torch.add.0", stacks_of_one[_i].line);
    (void)snprintf(json, sizeof json,
                   "{\"0\": [[\"Torch.mul.0.forward\", \"Torch.add.0.forward\"], [%s]]}",
                   stacks_of_one[_i].frames);
    expect(json, "Torch.add.0", stacks_of_one[_i].line);
    expect(json, "Torch.add.1", "");
}
END_TEST

/* Some dumps have the call without a direction, some only its backward. */
START_TEST(other_keys)
{
    expect("{\"Torch.add.0\": [\"one\"]}", "Torch.add.0", "one");
    expect("{\"Torch.add.0.backward\": [\"two\"]}", "Torch.add.0", "two");
    expect("{\"Torch.add.0.backward\": [\"two\"], \"Torch.add.0.forward\": [\"three\"]}",
           "Torch.add.0", "three");
}
END_TEST

START_TEST(long_lines_are_cut)
{
    char json[3000], frame[2000], source[SOURCE_LINE_BYTES];
    struct stacks *stacks = NULL;
    memset(frame, 'x', sizeof frame - 1);
    frame[sizeof frame - 1] = '\0';
    (void)snprintf(json, sizeof json,
                   "{\"Torch.add.0.forward\": [\"File a.py, line 3, in f, \\n %s\"]}", frame);
    write_text(in(&here, "stack.json"), json);
    ck_assert_int_eq(stacks_open_beside(&stacks, in(&here, "dump.json"), FILES_CHECKED).code,
                     STATUS_OK);
    ck_assert(source_line_of_call(source, stacks, "Torch.add.0"));
    ck_assert_uint_eq(strlen(source), SOURCE_LINE_BYTES - 1);
    stacks_close(stacks);
}
END_TEST

START_TEST(missing_and_broken_files)
{
    struct stacks *stacks = NULL;
    (void)remove(in(&here, "stack.json"));
    ck_assert_int_eq(stacks_open_beside(&stacks, in(&here, "dump.json"), FILES_CHECKED).code,
                     STATUS_OK);
    ck_assert_ptr_null(stacks);
    write_text(in(&here, "stack.json"), "{\"Torch.add.0.forward\": [1]}");
    ck_assert_int_eq(stacks_open_beside(&stacks, in(&here, "dump.json"), FILES_CHECKED).code,
                     STATUS_BAD_INPUT);
    ck_assert_ptr_null(stacks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("source line");
    TCase *tests = tcase_create("lines");
    tcase_add_checked_fixture(tests, make, clear);
    tcase_add_loop_test(tests, both_layouts, 0, sizeof stacks_of_one / sizeof *stacks_of_one);
    tcase_add_test(tests, other_keys);
    tcase_add_test(tests, long_lines_are_cut);
    tcase_add_test(tests, missing_and_broken_files);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
