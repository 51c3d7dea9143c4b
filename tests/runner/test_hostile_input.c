/* Dumps and data files that lie, unfold, point elsewhere or are no files at all. Each ends in a
 * clear line and an exit status, or in a SKIP row beside a call that is checked as usual, in little
 * memory and time. The parsers have tests of their own; here is what a user sees. */
#include <cjson/cJSON.h>
#include <sys/inotify.h>

#include "formats/zip_maker.h"
#include "hostile_files.h"

/* ---- running ---------------------------------------------------------------------------- */

/* The row of a call in the result file holds these words. */
static void check_row(const struct workspace *w, const char *call, const char *words)
{
    char *text = read_file(only_match(w, "out/accuracy_checking_result_*.csv"), NULL);
    char *row = strstr(text, call);
    ck_assert_msg(row != NULL, "no row of %s in %s", call, text);
    char *end = strstr(row, "\r\n");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    ck_assert_msg(strstr(row, words) != NULL, "'%s' does not say '%s'", row, words);
    free(text);
}

/* ---- dumps ------------------------------------------------------------------------------ */

#define WITH_NUL(text) text, sizeof(text) - 1

/* Whole dumps that are refused. */
static const struct {
    const char *text;
    size_t length; /* 0: of the text */
    const char *says;
} refused_dumps[] = {
    { "", 0, "found the end of the file" },
    { "{}", 0, "L1 or mix is needed" },
    { "[]", 0, "expected '{'" },
    { DUMP(""), 0, "no entries" },
    { "{\"data\":[]}", 0, "expected '{'" },
    { "\xff\xfe{\0}\0", 6, "byte 0xff" }, /* UTF-16 */
    { WITH_NUL(DUMP(GOOD) "\0"), "byte 0x00" },
    { WITH_NUL(HEAD "\"Torch.a\0d.0.forward\":1}}"), "a control character in a string" },
    { DUMP("\"Torch.a\\u0000d.0.forward\":" CALL("[]")), 0, "a NUL character in its name" },
    { DUMP("\"Torch.\\u001b[31madd.0.forward\":" CALL("[]")), 0, "a control character" },
    { DUMP("\"Torch.\\u009b31madd.0.forward\":" CALL("[]")), 0, "a control character" },
    { DUMP("\"=cmd|' /C calc'!A0.add.0.forward\":" CALL("[]")), 0, "a formula in a spreadsheet" },
    { DUMP("\"+Torch.add.0.forward\":" CALL("[]")), 0, "a formula in a spreadsheet" },
    { DUMP("\"-Torch.add.0.forward\":" CALL("[]")), 0, "a formula in a spreadsheet" },
    { DUMP("\"@Torch.add.0.forward\":" CALL("[]")), 0, "a formula in a spreadsheet" },
    { DUMP("\"\xef\xbc\x9dTorch.add.0.forward\":" CALL("[]")), 0, "a formula in a spreadsheet" },
    { DUMP("\"Torch.add.0;\xef\xbc\xa0.forward\":" CALL("[]")), 0, "a formula in a spreadsheet" },
    { DUMP("\"\\tTorch.add.0.forward\":" CALL("[]")), 0, "a control character" },
    { DUMP("\"\\rTorch.add.0.forward\":" CALL("[]")), 0, "a control character" },
    { DUMP("\"Torch.a\xff.0.forward\":" CALL("[]")), 0, "bytes that are not UTF-8" },
    { DUMP("\"Torch.a\xc0\xaf.0.forward\":" CALL("[]")), 0, "bytes that are not UTF-8" },
    { DUMP(GOOD "," GOOD), 0, "twice" },
    { "{\"task\":1,\"task\":2,\"data\":{" GOOD "}}", 0, "duplicate" },
    { DUMP("\"Torch.add.0.forward\":" CALL("[1.e5]")), 0, "expected a digit" },
    { DUMP("\"Torch.add.0.forward\":" CALL("[00]")), 0, "leading zero" },
};

START_TEST(dumps_are_refused_in_one_line)
{
    struct workspace w = workspace_make();
    const char *text = refused_dumps[_i].text;
    size_t length = refused_dumps[_i].length ? refused_dumps[_i].length : strlen(text);
    write_file(in(&w, "dump.json"), text, length);
    check_refused(run_bounded(&w, "-api_info", "dump.json", "-o", "out", NULL), 3,
                  refused_dumps[_i].says, text);
    ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
    workspace_remove(&w);
}
END_TEST

/* Arguments of a call that cannot be: its row is SKIP and says why, the next call is checked. */
static const struct {
    const char *args, *says;
} odd_arguments[] = {
    { TENSOR_OF("torch.float32", "[2147483648,2147483648,2147483648]", ""), "too many elements" },
    { TENSOR_OF("torch.float32", "[9223372036854775807]", ""), "too many elements" },
    { TENSOR_OF("torch.float32", "[0,4611686018427387904,4611686018427387904]", ""),
      "too many elements" },
    { TENSOR_OF("torch.float32", "[4,1099511627776]", ""), "more than the budget" },
    { TENSOR_OF("torch.float32", "[-1]", ""), "a negative extent" },
    { TENSOR_OF("torch.float32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", ""),
      "more than 16 dimensions" },
    { TENSOR_OF("torch.float32", "[1.5]", ""), "not an integer" },
    { TENSOR_OF("torch.float32", "[1e300]", ""), "not an integer" },
    { TENSOR_OF("torch.float32", "[1180591620717411303424]", ""), "not an integer" },
    { TENSOR_OF("torch.float32", "[\"2\"]", ""), "expected a number" },
    { TENSOR_OF("torch.float32", "[true]", ""), "expected a number" },
    { TENSOR_OF("torch.float32", "2", ""), "expected '['" },
    { TENSOR_OF("torch.float32", "null", ""), "without a shape" },
    { TENSOR_OF("\\u001b[31mfloat", "[2]", ""), "[31mfloat is not supported" },
    { TENSOR_OF("=1+1", "[2]", ""), "=1+1 is not supported" },
    { TENSOR_OF("torch.float32", "[2]", ",\"Max\":1"), "duplicate" },
    { "{\"type\":\"=cmd()\",\"value\":1}", "not of the type the API takes" },
    { "{\"type\":\"torch.Tensor\"}", "SKIP" },
    { "[[[[" TENSOR "]]]]", "SKIP" },
};

START_TEST(calls_that_cannot_be_are_skipped)
{
    struct workspace w = workspace_make();
    char text[4000];
    snprintf(text, sizeof text,
             DUMP("\"Torch.add.0.forward\":{\"input_args\":[%s," TENSOR
                  "],\"input_kwargs\":{},\"output\":[]}," GOOD),
             odd_arguments[_i].args);
    write_text(in(&w, "dump.json"), text);
    struct outcome o = run_bounded(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == 0, "%s: status %d: %s", odd_arguments[_i].args, o.status, o.err);
    outcome_free(&o);
    check_row(&w, "Torch.add.0", "Torch.add.0,SKIP");
    check_row(&w, "Torch.add.0", odd_arguments[_i].says);
    check_row(&w, "Torch.add.1", "Torch.add.1,pass");
    workspace_remove(&w);
}
END_TEST

/* Statistics with every number that a text can hold: a value or a reason, never a crash. */
static const char *const numbers[] = { "1e999999",
                                       "-1e999999",
                                       "1e-999999",
                                       "NaN",
                                       "-Infinity",
                                       "-0.0",
                                       "true",
                                       "null",
                                       "\"x\"",
                                       "[1]",
                                       "0.000000000000000000000000000000000000000000000000000001" };

START_TEST(statistics_of_any_size)
{
    struct workspace w = workspace_make();
    FILE *out = fopen(in(&w, "dump.json"), "we");
    ck_assert_ptr_nonnull(out);
    fputs(HEAD, out);
    size_t count = sizeof numbers / sizeof *numbers, call = 2;
    for (size_t i = 0; i <= count; i++)
        for (size_t k = 0; k <= count; k++, call++) {
            char digits[1001];
            memset(digits, '9', 1000);
            digits[1000] = '\0';
            fprintf(out,
                    "\"Torch.add.%zu.forward\":{\"input_args\":[{\"type\":\"torch.Tensor\","
                    "\"dtype\":\"torch.float16\",\"shape\":[3],\"Max\":%s,\"Min\":%s,\"Mean\":0,"
                    "\"Norm\":1},1],\"input_kwargs\":{},\"output\":[]},",
                    call, i < count ? numbers[i] : digits, k < count ? numbers[k] : digits);
        }
    fputs(GOOD "}}", out);
    fclose(out);
    struct outcome o = run_bounded(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    char *rows = read_file(only_match(&w, "out/accuracy_checking_result_*.csv"), NULL);
    ck_assert_uint_eq(count_lines(rows), 1 + call - 2 + 1);
    free(rows);
    check_row(&w, "Torch.add.1,", "Torch.add.1,pass");
    workspace_remove(&w);
}
END_TEST

/* A million levels, in the dump and in an argument. */
START_TEST(deep_nesting)
{
    struct workspace w = workspace_make();
    for (int where = 0; where < 2; where++) {
        FILE *out = fopen(in(&w, "dump.json"), "we");
        ck_assert_ptr_nonnull(out);
        fputs(where ? HEAD "\"Torch.add.0.forward\":{\"input_args\":" : "{\"data\":{\"x\":", out);
        repeat(out, where ? "[" : "{\"a\":", 1000000);
        repeat(out, where ? "]" : "}", 1000000);
        fclose(out);
        check_refused(run_bounded(&w, "-api_info", "dump.json", "-o", "out", NULL), 3,
                      where ? "nesting deeper than" : "deeper", "deep");
    }
    workspace_remove(&w);
}
END_TEST

/* Strings of 256 MB: of a call, whose row is SKIP, and where the dump ends inside. The memory of the
 * program stays small; the pages of the file count as well while they are looked at. */
START_TEST(huge_strings)
{
    struct workspace w = workspace_make();
    size_t megabytes = SANITIZED ? 32 : 256;
    char *block = malloc(1 << 20);
    mapped_kilobytes = (long)megabytes << 10;
    memset(block, 'a', 1 << 20);
    for (int torn = 0; torn < 2; torn++) {
        FILE *out = fopen(in(&w, "dump.json"), "we");
        ck_assert_ptr_nonnull(out);
        fputs(HEAD GOOD ",\"Torch.add.0.forward\":{\"input_args\":[{\"type\":\"str\",\"value\":\"",
              out);
        for (size_t i = 0; i < megabytes; i++)
            ck_assert_uint_eq(fwrite(block, 1, 1 << 20, out), 1 << 20);
        if (!torn) fputs("\"}],\"input_kwargs\":{},\"output\":[]}}}", out);
        fclose(out);
        struct outcome o =
            run_bounded(&w, "-api_info", "dump.json", "-o", "out", "--memory", "64MB", NULL);
        if (torn) {
            check_refused(o, 3, "found the end of the file", "torn string");
            continue;
        }
        ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
        outcome_free(&o);
        check_row(&w, "Torch.add.0", "MB of the dump; the most is 32 MB");
        check_row(&w, "Torch.add.1", "Torch.add.1,pass");
    }
    mapped_kilobytes = 0;
    free(block);
    workspace_remove(&w);
}
END_TEST

/* A dump cut by its owner while calls are read from it: the rows of those that are gone say so. */
START_TEST(a_dump_that_shrinks)
{
    struct workspace w = workspace_make();
    struct dump_text d;
    dump_begin(&d);
    for (size_t i = 0; i < 20000; i++) dump_binary(&d, "add", i, 3);
    dump_write(&d, in(&w, "dump.json"));
    char *argv[] = { (char *)"probe-ut", (char *)"-api_info", (char *)"dump.json", (char *)"-o",
                     (char *)"out",      (char *)"-n",        (char *)"2",         NULL };
    pid_t pid = start_program(&w, argv);
    for (int i = 0; i < 6000; i++) { /* until a first row is there */
        glob_t found;
        struct stat info = { 0 };
        if (!glob(in(&w, "out/accuracy_checking_result_*.csv"), 0, NULL, &found)) {
            (void)stat(found.gl_pathv[0], &info);
            globfree(&found);
        }
        if (info.st_size > 200) break;
        usleep(5000);
    }
    ck_assert_int_eq(truncate(in(&w, "dump.json"), 100), 0);
    struct outcome o = wait_program(&w, pid);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    check_row(&w, "Torch.add.0", "Torch.add.0,pass");
    check_row(&w, "Torch.add.19999", "Torch.add.19999,SKIP");
    check_row(&w, "Torch.add.19999", "the dump became shorter while it was being read");
    workspace_remove(&w);
}
END_TEST

/* A tensor file cut while it is mapped. The cut comes when the file has been opened, which may be
 * before it is mapped (another message) or, on a busy machine, when all has been read: several
 * attempts, of which one must meet the map. */
START_TEST(a_mapped_file_that_shrinks)
{
    struct workspace w = workspace_make();
    bool met = false;
    char header[129];
    snprintf(header, sizeof header, "%-117s\n",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (16777216,), }");
    for (int attempt = 0; attempt < 50 && !met; attempt++) {
        write_npy(in(&w, "a.npy"), header, "", 0);
        write_npy(in(&w, "b.npy"), header, "", 0);
        ck_assert_int_eq(truncate(in(&w, "a.npy"), 128 + (16777216 << 2)), 0);
        ck_assert_int_eq(truncate(in(&w, "b.npy"), 128 + (16777216 << 2)), 0);
        int watch = inotify_init1(IN_CLOEXEC);
        ck_assert_int_ge(inotify_add_watch(watch, in(&w, "b.npy"), IN_OPEN), 0);
        char *argv[] = { (char *)"probe-ut", (char *)"diff", (char *)"a.npy", (char *)"b.npy",
                         NULL };
        pid_t pid = start_program(&w, argv);
        char event[4096];
        ck_assert_int_gt(read(watch, event, sizeof event), 0);
        ck_assert_int_eq(truncate(in(&w, "a.npy"), 128), 0);
        close(watch);
        struct outcome o = wait_program(&w, pid);
        ck_assert_msg(o.status == 0 || o.status == 3, "status %d: %s", o.status, o.err);
        if (strstr(o.err, "SIGBUS")) {
            met = true;
            check_refused(o, 3, "an input file became shorter while it was read", "mapped");
        } else {
            outcome_free(&o);
        }
    }
    ck_assert(met);
    workspace_remove(&w);
}
END_TEST

/* ---- names that go elsewhere ------------------------------------------------------------ */

/* Give the commands of the evidence, which people paste, to a shell, without their first word. How
 * many there are. */
static size_t run_commands_of_evidence(const struct workspace *w)
{
    char *text = read_file(only_match(w, "out/accuracy_checking_evidence_*.jsonl"), NULL), *rest;
    FILE *script = fopen(in(w, "repeat.sh"), "we");
    size_t count = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        cJSON *json = cJSON_Parse(line);
        const cJSON *repeat = cJSON_GetObjectItem(json, "repeat");
        ck_assert_msg(cJSON_IsString(repeat), "%s", line);
        fprintf(script, "true %s\n", repeat->valuestring + strlen("probe-ut"));
        cJSON_Delete(json);
        count++;
    }
    fclose(script);
    free(text);
    char command[400];
    snprintf(command, sizeof command, "cd '%s' && sh ./repeat.sh", w->path);
    ck_assert_int_eq(system(command), 0);
    return count;
}

/* Names with separators, conversions and shell words: no file outside the output directory, and
 * what is to be pasted into a shell is quoted. */
START_TEST(names_are_only_names)
{
    static const char *const names[] = { "Torch.add./x",     "Torch.add.$(touch owned)",
                                         "Torch.add.%s%n%p", "Torch.add.'; touch owned; '",
                                         "Torch.add.*?[a]~", "Torch.add.\xe5\xbc\xa0" };
    struct workspace w = workspace_make();
    struct dump_text d;
    char longest[1000], name[1100];
    dump_begin(&d);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i <= sizeof names / sizeof *names; i++) {
        if (i < sizeof names / sizeof *names) snprintf(name, sizeof name, "%s.forward", names[i]);
        else snprintf(name, sizeof name, "Torch.add.%s.forward", longest);
        dump_entry(&d, name,
                   "\"input_args\":[" TENSOR "," TENSOR "],\"input_kwargs\":{},"
                   "\"output\":[]");
    }
    dump_write(&d, in(&w, "dump.json"));
    write_text(in(&w, "limits.json"), "{\"overrides\":[{\"limits\":{\"cosine\":2}}]}");
    struct outcome o = run_bounded(&w, "-api_info", "dump.json", "-o", "out", "-save_error_data",
                                   "--thresholds", "limits.json", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    ck_assert_uint_eq(count_matches(&w, "ut_error_data*/*.forward.input.0.pt") +
                          count_matches(&w, "out/ut_error_data*/*.forward.input.0.pt"),
                      1 + sizeof names / sizeof *names);
    ck_assert_uint_eq(run_commands_of_evidence(&w), 1 + sizeof names / sizeof *names);
    ck_assert_uint_eq(count_matches(&w, "owned"), 0);
    workspace_remove(&w);
}
END_TEST

/* ---- data files ------------------------------------------------------------------------- */

static void write_archive(const char *path, const void *pickle, size_t bytes)
{
    const float floats[2] = { 0.5f, 1 };
    struct made_entry entries[] = {
        { .name = "a/data.pkl", .data = pickle, .bytes = bytes },
        { .name = "a/data/0", .data = floats, .bytes = sizeof floats },
        { .name = "a/version", .data = "3\n", .bytes = 2 },
    };
    struct made_bytes file = made_archive(&(struct made_zip){ .count = 3, .entries = entries });
    write_file(path, (char *)file.data, file.count);
    free(file.data);
}

/* A gigabyte of zeros in a megabyte. */
static void write_bomb(const char *path)
{
    size_t bytes = (size_t)(SANITIZED ? 64 : 1024) << 20;
    char *zeros = calloc(1, bytes);
    struct made_entry entries[] = {
        { .name = "a/data.pkl", .data = zeros, .bytes = bytes, .deflate = 1 },
        { .name = "a/version", .data = "3\n", .bytes = 2 },
    };
    ck_assert_ptr_nonnull(zeros);
    struct made_bytes file = made_archive(&(struct made_zip){ .count = 2, .entries = entries });
    write_file(path, (char *)file.data, file.count);
    free(file.data);
    free(zeros);
}

static void write_data_files(const struct workspace *w)
{
    static const float two[] = { 0.5f, 1 };
    static const char call[] = "\x80\x02"
                               "cos\nsystem\nX\x0c\0\0\0touch owned2\x85R.";
    static const char spawn[] = "\x80\x02"
                                "csubprocess\nPopen\nX\x0b\0\0\0touch owned\x85R.";
    char deep[100010] = "\x80\x02";
    memset(deep + 2, '(', 100000);

    ck_assert_int_eq(mkdir(in(w, "dump_tensor_data"), 0750), 0);
    ck_assert_int_eq(mkdir(in(w, "dump_tensor_data/sub.npy"), 0750), 0);
    write_npy(in(w, "good.npy"), F4_HEADER, two, sizeof two);
    write_npy(in(w, "dump_tensor_data/good.npy"), F4_HEADER, two, sizeof two);
    write_npy(in(w, "dump_tensor_data/three.npy"),
              "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", "aaaabbbbcccc", 12);
    write_npy(in(w, "dump_tensor_data/long.npy"),
              "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", "aaaaaaaabbbbbbbb",
              16);
    write_npy(in(w, "dump_tensor_data/object.npy"),
              "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", call, sizeof call);
    write_npy(in(w, "dump_tensor_data/huge.npy"),
              "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }\n",
              two, sizeof two);
    write_npy(in(w, "dump_tensor_data/short.npy"),
              "{'descr': '<f4', 'fortran_order': False, 'shape': (2000000,), }\n", two, sizeof two);
    write_npy(in(w, "dump_tensor_data/code.npy"), "__import__('os').system('touch owned')\n", two,
              sizeof two);
    write_archive(in(w, "dump_tensor_data/call.pt"), call, sizeof call - 1);
    write_archive(in(w, "dump_tensor_data/spawn.pt"), spawn, sizeof spawn - 1);
    write_archive(in(w, "dump_tensor_data/deep.pt"), deep, 100002);
    write_bomb(in(w, "dump_tensor_data/bomb.pt"));
    ck_assert_int_eq(symlink("good.npy", in(w, "dump_tensor_data/link.npy")), 0);
    ck_assert_int_eq(symlink("..", in(w, "dump_tensor_data/out")), 0);
    ck_assert_int_eq(mkfifo(in(w, "dump_tensor_data/fifo.npy"), 0640), 0);
    write_text(in(w, "dump_tensor_data/empty.npy"), "");
    write_text(in(w, "dump_tensor_data/text.pt"), "hello");
}

static const struct {
    const char *name, *says;
} data_names[] = {
    { "../good.npy", "leaves the directory" },
    { "sub.npy/../../good.npy", "leaves the directory" },
    { "/etc/passwd", "SKIP" },
    { "/dev/zero", "SKIP" },
    { "link.npy", "link" },
    { "out/good.npy", "link" },
    { "fifo.npy", "FIFO" },
    { "sub.npy", "directory" },
    { "missing.npy", "does not exist" },
    { "", "SKIP" },
    { "empty.npy", "SKIP" },
    { "text.pt", "SKIP" },
    { "three.npy", "(3,)" },
    { "long.npy", "int64" },
    { "object.npy", "object" },
    { "huge.npy", "SKIP" },
    { "short.npy", "SKIP" },
    { "code.npy", "SKIP" },
    { "call.pt", "os.system" },
    { "spawn.pt", "subprocess.Popen" },
    { "deep.pt", "SKIP" },
    { "bomb.pt", "SKIP" },
    { "good\\u0000.npy", "NUL" },
    { "good\\n.npy", "SKIP" },
};

/* A recorded dump whose tensors lie in odd files: one call each, and a good one. With
 * --trust-files what leaves the directory stays refused. */
START_TEST(data_files_are_not_believed)
{
    struct workspace w = workspace_make();
    size_t count = sizeof data_names / sizeof *data_names;
    write_data_files(&w);
    FILE *out = fopen(in(&w, "dump.json"), "we");
    ck_assert_ptr_nonnull(out);
    fputs("{\"task\":\"tensor\",\"level\":\"L1\",\"dump_data_dir\":\"dump_tensor_data\",\"data\":{",
          out);
    for (size_t i = 0; i <= count; i++)
        fprintf(out,
                "%s\"Torch.add.%zu.forward\":{\"input_args\":[" TENSOR_OF(
                    "torch.float32", "[2]",
                    ",\"data_name\":\"%s\"") "," TENSOR "],\"input_kwargs\":{},\"output\":[]}",
                i ? "," : "", i, i < count ? data_names[i].name : "good.npy");
    fputs("}}", out);
    fclose(out);
    struct outcome o =
        _i ? run_bounded(&w, "-api_info", "dump.json", "-o", "out", "--trust-files", NULL)
           : run_bounded(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    for (size_t i = 0; i <= count; i++) {
        char name[64];
        snprintf(name, sizeof name, "Torch.add.%zu,", i);
        check_row(&w, name, i < count ? "SKIP" : "pass");
        if (i < count) check_row(&w, name, data_names[i].says);
    }
    ck_assert_uint_eq(count_matches(&w, "owned*"), 0);
    ck_assert_uint_eq(count_matches(&w, "dump_tensor_data/owned*"), 0);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile_input");
    TCase *tests = tcase_create("hostile_input");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, dumps_are_refused_in_one_line, 0,
                        sizeof refused_dumps / sizeof *refused_dumps);
    tcase_add_loop_test(tests, calls_that_cannot_be_are_skipped, 0,
                        sizeof odd_arguments / sizeof *odd_arguments);
    tcase_add_test(tests, statistics_of_any_size);
    tcase_add_test(tests, deep_nesting);
    tcase_add_test(tests, huge_strings);
    tcase_add_test(tests, a_dump_that_shrinks);
    tcase_add_test(tests, a_mapped_file_that_shrinks);
    tcase_add_test(tests, names_are_only_names);
    tcase_add_loop_test(tests, data_files_are_not_believed, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
