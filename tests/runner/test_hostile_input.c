/* The whole program against inputs made to harm: dumps, data files, configurations and result files
 * that lie, unfold, point elsewhere or are no files at all. Each ends in a clear line and an exit
 * status, or in a SKIP row beside a call that is checked as usual, in little memory and time. The
 * parsers have tests of their own; here is what a user sees. */
#include <cjson/cJSON.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "formats/zip_maker.h"
#include "support/dumps.h"
#include "support/sanitized.h"
#include "support/suite.h"

enum { SECONDS_MOST = 120, KILOBYTES_MOST = 100 << 10 };

/* ---- running ---------------------------------------------------------------------------- */

/* Kilobytes beyond KILOBYTES_MOST: of the pages of a mapped file, which the system can take back. */
static long mapped_kilobytes;

static struct outcome run_words(const struct workspace *w, char *const *argv)
{
    struct rusage usage;
    struct outcome o;
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        alarm(SECONDS_MOST); /* outlives execv: what hangs is killed */
        if (chdir(w->path)) _exit(99);
        int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(98);
        execv(PROBE_UT, argv);
        _exit(97);
    }
    while (wait4(pid, &status, 0, &usage) < 0) ck_assert_int_eq(errno, EINTR);
    o.status = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
    o.out = read_file(in(w, "stdout.txt"), NULL);
    o.err = read_errors(in(w, "stderr.txt"));
    if (!SANITIZED)
        ck_assert_msg(usage.ru_maxrss < KILOBYTES_MOST + mapped_kilobytes, "%ld KB of memory",
                      usage.ru_maxrss);
    return o;
}

/* Run within bounds, with these arguments (ended by NULL). */
static struct outcome run_bounded(const struct workspace *w, ...)
{
    char *argv[32] = { (char *)"probe-ut" };
    int argc = 1;
    va_list arguments;
    va_start(arguments, w);
    while (argc < 31 && (argv[argc] = va_arg(arguments, char *))) argc++;
    va_end(arguments);
    return run_words(w, argv);
}

/* One line on standard error, without control characters, that has these words. */
static void check_refused(struct outcome o, int status, const char *words, const char *what)
{
    ck_assert_msg(o.status == status, "%s: status %d: %s%s", what, o.status, o.out, o.err);
    ck_assert_msg(strstr(o.err, words) != NULL, "%s: '%s' does not say '%s'", what, o.err, words);
    ck_assert_msg(count_lines(o.err) == 1, "%s: '%s' is no single line", what, o.err);
    for (const char *c = o.err; c[1]; c++)
        ck_assert_msg((unsigned char)*c >= ' ' && *c != 0x7f, "%s: '%s'", what, o.err);
    outcome_free(&o);
}

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

/* A .npy file of format 1.0. */
static void write_npy(const char *path, const char *header, const void *data, size_t bytes)
{
    unsigned char file[4096] = "\x93NUMPY\1";
    size_t length = strlen(header);
    file[8] = (unsigned char)(length & 0xff);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, bytes);
    write_file(path, (char *)file, 10 + length + bytes);
}

#define TENSOR_OF(dtype, shape, more)                                                     \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"" dtype "\",\"shape\":" shape ",\"Max\":1.0," \
    "\"Min\":0.5,\"Mean\":0.75,\"Norm\":1.0,\"requires_grad\":true" more "}"
#define TENSOR        TENSOR_OF("torch.float32", "[2]", "")
#define CALL(args)    "{\"input_args\":" args ",\"input_kwargs\":{},\"output\":[" TENSOR "]}"
#define GOOD          "\"Torch.add.1.forward\":" CALL("[" TENSOR "," TENSOR "]")
#define HEAD          "{\"task\":\"statistics\",\"level\":\"L1\",\"dump_data_dir\":null,\"data\":{"
#define DUMP(entries) HEAD entries "}}"

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

static void repeat(FILE *out, const char *text, size_t times)
{
    while (times--) fputs(text, out);
}

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

#define F4_HEADER "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"

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

/* ---- every file that is read ------------------------------------------------------------ */

/* The files that commands read, each with a command that reads it. %s is the file at fault. */
enum { MOST_WORDS = 12 };
static const struct {
    const char *what, *good; /* a good file, in the workspace */
    const char *words[MOST_WORDS];
    /* clang-format off */
} readers[] = {
    { "dump", "dump.json", { "-api_info", "%s", "-o", "out" } },
    { "configuration", "config.json",
      { "-api_info", "dump.json", "-o", "out", "--config_path", "%s" } },
    { "thresholds", "limits.json",
      { "-api_info", "dump.json", "-o", "out", "--thresholds", "%s" } },
    { "thresholds of diff", "limits.json", { "diff", "a.npy", "a.npy", "--thresholds", "%s" } },
    { "reference of diff", "a.npy", { "diff", "%s", "a.npy" } },
    { "result of diff", "a.npy", { "diff", "a.npy", "%s" } },
    { "NPU file", "details.csv",
      { "api_precision_compare", "-npu", "%s", "-gpu", "details.csv", "-o", "out" } },
    { "GPU file", "details.csv",
      { "api_precision_compare", "-npu", "details.csv", "-gpu", "%s", "-o", "out" } },
    { "thresholds of compare", "limits.json",
      { "api_precision_compare", "-npu", "details.csv", "-gpu", "details.csv", "-o", "out",
        "--thresholds", "%s" } },
    { "baseline", "details.csv", { "-api_info", "dump.json", "-o", "out", "--baseline", "%s" } },
    { "manifest", "manifest.json", { "plugin", "check", "%s" } },
};
/* clang-format on */

static void write_good_files(const struct workspace *w)
{
    static const float two[] = { 0.5f, 1 };
    write_text(in(w, "dump.json"), DUMP(GOOD));
    write_text(in(w, "config.json"), "{\"run_ut\":{\"precision\":10}}");
    write_text(in(w, "limits.json"), "{\"overrides\":[]}");
    write_text(
        in(w, "manifest.json"),
        "{\"plugin\":1,\"name\":\"none\",\"libraries\":{\"m\":\"libm.so.6\"},\"kernels\":[]}");
    write_npy(in(w, "a.npy"), F4_HEADER, two, sizeof two);
    struct outcome o = run_program(w, "-api_info", "dump.json", "-o", "first", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *text = read_file(only_match(w, "first/accuracy_checking_details_*.csv"), NULL);
    write_text(in(w, "details.csv"), text);
    free(text);
}

static struct outcome run_reader(const struct workspace *w, size_t reader, const char *path,
                                 bool trust)
{
    char *argv[MOST_WORDS + 3] = { (char *)"probe-ut" };
    int argc = 1;
    for (size_t i = 0; i < MOST_WORDS && readers[reader].words[i]; i++) {
        const char *word = readers[reader].words[i];
        argv[argc++] = (char *)(strcmp(word, "%s") ? word : path);
    }
    if (trust) argv[argc++] = (char *)"--trust-files";
    return run_words(w, argv);
}

/* The suffix of the good file, so that the names at fault are of the same kind. */
static const char *suffix_of(size_t reader) { return strrchr(readers[reader].good, '.'); }

/* Faults that --trust-files forgives: what refuses, and says so, runs as with the good file. */
START_TEST(file_rules_of_every_input)
{
    struct workspace w = workspace_make();
    char path[300], target[300];
    write_good_files(&w);
    struct outcome good = run_reader(&w, (size_t)_i, readers[_i].good, false);
    ck_assert_msg(good.status <= 1, "%s: status %d: %s", readers[_i].what, good.status, good.err);

    for (int fault = 0; fault < 3; fault++) {
        static const char *const says[] = { "symbolic link", "can be written by every user",
                                            "every user" };
        snprintf(target, sizeof target, "%s", in(&w, readers[_i].good));
        if (fault == 0) {
            snprintf(path, sizeof path, "link%s", suffix_of((size_t)_i));
            ck_assert_int_eq(symlink(readers[_i].good, in(&w, path)), 0);
        } else {
            size_t length;
            char *bytes = read_file(target, &length);
            snprintf(path, sizeof path, fault == 1 ? "open%s" : "open/x%s", suffix_of((size_t)_i));
            if (fault == 2) ck_assert_int_eq(mkdir(in(&w, "open"), 0750), 0);
            write_file(in(&w, path), bytes, length);
            if (fault == 1) ck_assert_int_eq(chmod(in(&w, path), 0666), 0);
            if (fault == 2) ck_assert_int_eq(chmod(in(&w, "open"), 0777), 0);
            free(bytes);
        }
        struct outcome o = run_reader(&w, (size_t)_i, path, false);
        ck_assert_msg(strstr(o.err, fault == 2 ? "open/" : path) != NULL, "%s: '%s' names no %s",
                      readers[_i].what, o.err, path);
        check_refused(o, 3, says[fault], readers[_i].what);
        o = run_reader(&w, (size_t)_i, path, true);
        ck_assert_msg(o.status == good.status, "%s trusted: status %d: %s", readers[_i].what,
                      o.status, o.err);
        outcome_free(&o);
    }
    outcome_free(&good);
    workspace_remove(&w);
}
END_TEST

/* What is no file is refused whatever is trusted, and without waiting for it. */
START_TEST(only_regular_files_are_read)
{
    struct workspace w = workspace_make();
    char fifo[64], folder[64], socket_name[64], zero[64], null[64], missing[64];
    write_good_files(&w);
    const char *suffix = suffix_of((size_t)_i);
    snprintf(fifo, sizeof fifo, "fifo%s", suffix);
    snprintf(folder, sizeof folder, "folder%s", suffix);
    snprintf(socket_name, sizeof socket_name, "socket%s", suffix);
    snprintf(zero, sizeof zero, "zero%s", suffix);
    snprintf(null, sizeof null, "null%s", suffix);
    snprintf(missing, sizeof missing, "missing%s", suffix);
    ck_assert_int_eq(mkfifo(in(&w, fifo), 0640), 0);
    ck_assert_int_eq(mkdir(in(&w, folder), 0750), 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in(&w, socket_name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(symlink("/dev/zero", in(&w, zero)), 0);
    ck_assert_int_eq(symlink("/dev/null", in(&w, null)), 0);
    const char *const paths[] = { fifo, folder, socket_name, zero, null, missing };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int trust = 0; trust < 2; trust++)
            check_refused(run_reader(&w, (size_t)_i, paths[i], trust), 3, paths[i],
                          readers[_i].what);
    close(fd);
    workspace_remove(&w);
}
END_TEST

/* Texts that people write: NUL bytes, more than such a file has, depth, what is no JSON. */
START_TEST(small_texts_are_bounded)
{
    struct workspace w = workspace_make();
    char path[64];
    const char *suffix = suffix_of((size_t)_i);
    if (strcmp(suffix, ".json") || !strcmp(readers[_i].what, "dump")) {
        workspace_remove(&w); /* only small texts */
        return;
    }
    write_good_files(&w);
    snprintf(path, sizeof path, "bad%s", suffix);
    char *good = read_file(in(&w, readers[_i].good), NULL);

    good[strlen(good) - 1] = '\0'; /* a NUL for the last brace */
    write_file(in(&w, path), good, strlen(good) + 2);
    check_refused(run_reader(&w, (size_t)_i, path, false), 3, "NUL", readers[_i].what);
    free(good);

    write_text(in(&w, path), "");
    ck_assert_int_eq(truncate(in(&w, path), (off_t)9 << 30), 0); /* sparse */
    check_refused(run_reader(&w, (size_t)_i, path, true), 3, "has 9 GB", readers[_i].what);

    FILE *out = fopen(in(&w, path), "we");
    repeat(out, "[", 1000000);
    fclose(out);
    check_refused(run_reader(&w, (size_t)_i, path, false), 3, path, readers[_i].what);

    write_text(in(&w, path), "\x1b[2J{\"run_ut\":\xff}");
    check_refused(run_reader(&w, (size_t)_i, path, false), 3, path, readers[_i].what);
    workspace_remove(&w);
}
END_TEST

/* An owner other than the caller and root, seen by a caller who is not root. */
START_TEST(files_of_other_users)
{
    if (geteuid() != 0) return;
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), DUMP(GOOD));
    ck_assert_int_eq(chmod(in(&w, "dump.json"), 0644), 0);
    ck_assert_int_eq(chown(in(&w, "dump.json"), 12345, 12345), 0);
    ck_assert_int_eq(chmod(w.path, 0755), 0);
    ck_assert_int_eq(mkdir(in(&w, "mine"), 0750), 0);
    ck_assert_int_eq(chown(in(&w, "mine"), 54321, 54321), 0);
    for (int trust = 0; trust < 2; trust++) {
        pid_t pid = fork();
        if (!pid) {
            if (chdir(in(&w, "mine")) || setgid(54321) || setuid(54321)) _exit(99);
            if (access(PROBE_UT, X_OK)) _exit(77); /* a build that only root can reach */
            int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (dup2(err, 2) < 0 || dup2(err, 1) < 0) _exit(98);
            execl(PROBE_UT, "probe-ut", "-api_info", "../dump.json", "-o", "out",
                  trust ? "--trust-files" : NULL, NULL);
            _exit(97);
        }
        int status;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) break;
        char *err = read_errors(in(&w, "mine/stderr.txt"));
        ck_assert_msg(WEXITSTATUS(status) == (trust ? 0 : 3), "%s", err);
        if (!trust) ck_assert_ptr_nonnull(strstr(err, "another user (uid 12345)"));
        free(err);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- results that are read again -------------------------------------------------------- */

/* Rows of another's file: names and messages with formulas and escape sequences do not come back as
 * such, neither in what is written nor on the terminal. */
START_TEST(rows_of_others_are_disarmed)
{
    struct workspace w = workspace_make();
    write_good_files(&w);
    size_t length;
    char *details = read_file(in(&w, "details.csv"), &length);
    char *end_of_header = strstr(details, "\r\n") + 2;
    FILE *out = fopen(in(&w, "evil.csv"), "we");
    fwrite(details, 1, (size_t)(end_of_header - details), out);
    static const char *const names[] = {
        "=1+1", "\357\274\2351", "@x", "+x", "-x", "\"\tx\"", "Torch.\x1b[31madd.9.forward.output.0"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fputs(names[i], out);
        for (int c = 1; c < 21; c++) fputs(", ", out);
        fputs(",error,\"=HYPERLINK(\"\"x\"\")\"\r\n", out);
    }
    fclose(out);
    free(details);
    struct outcome o = run_bounded(&w, "api_precision_compare", "-npu", "evil.csv", "-gpu",
                                   "evil.csv", "-o", "out", NULL);
    ck_assert_msg(o.status == 5, "%s", o.err); /* no row has a name, nothing is judged */
    ck_assert_ptr_null(strchr(o.out, '\x1b'));
    outcome_free(&o);
    char *written = read_file(only_match(&w, "out/api_precision_compare_details_*.csv"), NULL);
    static const char *const raw[] = { "\n=1",           "\n@x",   "\n+x",  "\n-x",
                                       "\n\xef\xbc\x9d", "\"=HYP", ",=HYP", "\n\"\t" };
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++)
        ck_assert_msg(!strstr(written, raw[i]), "%s in %s", raw[i], written);
    ck_assert_ptr_nonnull(strstr(written, "'=1+1"));
    free(written);
    o = run_bounded(&w, "-api_info", "dump.json", "-o", "out", "--baseline", "evil.csv", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_null(strchr(o.out, '\x1b'));
    ck_assert_ptr_nonnull(strstr(o.out, "[31madd.9"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A result file, a details file and a run file of any bytes, to be resumed. What could be a file of
 * ours that was cut or overwritten costs what it held; what says that it is something else is refused. */
static const struct {
    const char *kind, *text;
    size_t size;         /* the file is made this long, with a hole; 0: as the text */
    const char *refused; /* what the refusal says; NULL: the run is resumed */
    const char *warned;  /* what the warning says; NULL: there is none */
} odd_results[] = {
    { "run", "{\"version\":\"\\u001b[31m9\"}", 0, "version", NULL },
    { "run", "[]", 0, NULL, "no readable" },
    { "run", "{}", (size_t)9 << 30, NULL, "no readable" },
    { "run", "{\"a\":1}x", 0, NULL, "no readable" },
    { "result", "\"", 0, NULL, NULL },
    { "result", "API name,x\r\n", 0, "does not start with the header", NULL },
    { "result", "a", 100 << 20, NULL, NULL },
    { "details", "a", 100 << 20, NULL, NULL },
};

START_TEST(results_of_others_are_not_believed)
{
    struct workspace w = workspace_make();
    char pattern[80], result[512];
    write_good_files(&w);
    snprintf(pattern, sizeof pattern, "first/accuracy_checking_%s_*", odd_results[_i].kind);
    write_text(only_match(&w, pattern), odd_results[_i].text);
    if (odd_results[_i].size)
        ck_assert_int_eq(truncate(only_match(&w, pattern), (off_t)odd_results[_i].size), 0);
    snprintf(result, sizeof result, "%s", only_match(&w, "first/accuracy_checking_result_*"));
    struct outcome o = run_bounded(&w, "-api_info", "dump.json", "-csv_path", result, NULL);
    if (odd_results[_i].refused) {
        check_refused(o, 3, odd_results[_i].refused, odd_results[_i].kind);
    } else {
        ck_assert_msg(o.status == 0, "%s", o.err);
        if (odd_results[_i].warned)
            ck_assert_msg(strstr(o.err, odd_results[_i].warned) != NULL, "%s", o.err);
        outcome_free(&o);
        char *rows = read_file(result, NULL);
        ck_assert_ptr_nonnull(strstr(rows, "Torch.add.1,pass"));
        free(rows);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- outputs ---------------------------------------------------------------------------- */

static void check_mode(const char *path, mode_t most, mode_t mask)
{
    struct stat info;
    ck_assert_int_eq(lstat(path, &info), 0);
    ck_assert_msg((info.st_mode & 07777) == (most & ~mask), "%s has mode %o under umask %o", path,
                  info.st_mode & 07777, mask);
}

/* Files 0640 in directories 0750, less what the umask takes and never more; nothing is put beside
 * the inputs, which may lie in a directory that cannot be written. */
START_TEST(outputs_are_private)
{
    static const mode_t masks[] = { 0000, 0022, 0027, 0077 };
    struct workspace w = workspace_make();
    mode_t mask = masks[_i], before;
    glob_t found;
    write_good_files(&w);
    ck_assert_int_eq(mkdir(in(&w, "in"), 0750), 0);
    write_text(in(&w, "in/dump.json"), DUMP(GOOD));
    write_text(in(&w, "in/limits.json"), "{\"overrides\":[{\"limits\":{\"cosine\":2}}]}");
    ck_assert_int_eq(chmod(in(&w, "in"), 0550), 0);

    before = umask(mask);
    struct outcome o = run_bounded(&w, "-api_info", "in/dump.json", "--thresholds",
                                   "in/limits.json", "-save_error_data", "-o", "out/of/run",
                                   "--junit", "junit.xml", "--timings", "timings.csv", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = run_bounded(&w, "api_precision_compare", "-npu", "details.csv", "-gpu", "details.csv", "-o",
                    "out/of/compare", NULL);
    ck_assert_msg(o.status <= 1, "%s", o.err);
    outcome_free(&o);
    (void)umask(before);

    ck_assert_uint_eq(count_matches(&w, "in/*") + count_matches(&w, "in/.[!.]*"), 2);
    check_mode(in(&w, "out"), 0750, mask);
    check_mode(in(&w, "out/of"), 0750, mask);
    check_mode(in(&w, "out/of/run"), 0750, mask);
    check_mode(in(&w, "out/of/compare"), 0750, mask);
    check_mode(in(&w, "junit.xml"), 0640, mask);
    check_mode(in(&w, "timings.csv"), 0640, mask);
    static const char *const patterns[] = { "out/of/run/*.csv", "out/of/run/*.json*",
                                            "out/of/compare/*", "*/ut_error_data*/*",
                                            "ut_error_data*/*", "out/of/run/ut_error_data*/*" };
    size_t files = 0, saved = 0;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        if (glob(in(&w, patterns[p]), 0, NULL, &found)) continue;
        for (size_t i = 0; i < found.gl_pathc; i++, files++)
            check_mode(found.gl_pathv[i], 0640, mask);
        saved += p >= 3 ? found.gl_pathc : 0;
        globfree(&found);
    }
    ck_assert_uint_ge(files, 6 + saved);
    ck_assert_uint_ge(saved, 3);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile_input");
    TCase *tests = tcase_create("hostile_input");
    int n_readers = sizeof readers / sizeof *readers;
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
    tcase_add_loop_test(tests, file_rules_of_every_input, 0, n_readers);
    tcase_add_loop_test(tests, only_regular_files_are_read, 0, n_readers);
    tcase_add_loop_test(tests, small_texts_are_bounded, 0, n_readers);
    tcase_add_test(tests, files_of_other_users);
    tcase_add_test(tests, rows_of_others_are_disarmed);
    tcase_add_loop_test(tests, results_of_others_are_not_believed, 0,
                        sizeof odd_results / sizeof *odd_results);
    tcase_add_loop_test(tests, outputs_are_private, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
