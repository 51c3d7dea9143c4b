/* A whole run with kernels that crash, hang, overrun, exit, hog memory and modify inputs: each is an
 * error row with its diagnosis, and every byte of every other row is as if they had been sound. */
#include <check.h>
#include <libgen.h>

#include "support/diagnosis.h"
#include "support/dumps.h"
#include "support/sanitized.h"
#include "support/suite.h"

static const struct {
    const char *api, *text; /* of the message, after "device " */
} misdeeds[] = {
    { "sin", "device crashed: SIGSEGV in crash at address 0x8" },
    { "cos", "device hung for " },
    { "tan", "device wrote past output 0 in overrun (at byte 400 of 400)" },
    { "sinh", "device exited with status 9 in quit" },
    { "cosh", "device ran out of memory (limit 0.07 GB) in hog: SIGSEGV" },
    { "asinh", "device crashed: SIGABRT in complain: kernel: tile size 0 is not possible" },
    { "tanh", "device modified input 0 in scribble" },
};
enum { N_MISDEEDS = sizeof misdeeds / sizeof *misdeeds };

/* The allocators of the sanitizers do not survive being refused memory. */
static bool is_left_out(size_t misdeed)
{
    return SANITIZED && !strcmp(misdeeds[misdeed].api, "cosh");
}

static void write_calls(const char *path)
{
    struct dump_text d;
    dump_begin(&d);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < N_MISDEEDS; i++) {
            if (is_left_out(i)) continue;
            const char *apis[] = { "exp", misdeeds[i].api, "log" };
            for (size_t k = 0; k < 3; k++) {
                char name[64], body[700];
                snprintf(name, sizeof name, "Torch.%s.%zu.forward", apis[k], 10 * round + i);
                snprintf(body, sizeof body,
                         "\"input_args\":[%s],\"input_kwargs\":{},\"output\":[%s]",
                         tensor_text(100, 0.5, 1), tensor_text(100, -1, 3));
                dump_entry(&d, name, body);
            }
        }
    dump_write(&d, path);
}

static void run(const struct workspace *w, const char *manifest, const char *threads,
                const char *out, const char *isolate)
{
    char ut[] = PROBE_UT, backend[700];
    snprintf(backend, sizeof backend, "plugin:%s/tests/plugin/%s", dirname(ut), manifest);
    struct outcome o = run_program(
        w, "-api_info", in(w, "dump.json"), "--backend", backend, "-n", threads, "-o", in(w, out),
        "--case_timeout", emulated() ? "30" : "2", "--isolate", isolate, "--no_progress", NULL);
    ck_assert_msg(o.status == 0, "exit status %d: %s", o.status, o.err);
    outcome_free(&o);
}

/* A details file cut into rows; a cell may hold newlines, a row ends with CR LF. */
static size_t split_rows(char **rows, size_t room, char *text)
{
    size_t count = 0;
    for (char *at = text, *end; (end = strstr(at, "\r\n")) && count < room; at = end + 2) {
        *end = '\0';
        rows[count++] = at;
    }
    return count;
}

static bool is_misdeed(const char *row, size_t *which)
{
    char start[64];
    for (*which = 0; *which < N_MISDEEDS; ++*which) {
        snprintf(start, sizeof start, "Torch.%s.", misdeeds[*which].api);
        if (!strncmp(row, start, strlen(start))) return true;
    }
    return false;
}

static void compare_rows(const struct workspace *w, const char *kind, bool diagnoses)
{
    char pattern[2][100], *rows[2][200];
    snprintf(pattern[0], sizeof pattern[0], "bad/accuracy_checking_%s_*.csv", kind);
    snprintf(pattern[1], sizeof pattern[1], "good/accuracy_checking_%s_*.csv", kind);
    char *bad = read_file(only_match(w, pattern[0]), NULL);
    char *good = read_file(only_match(w, pattern[1]), NULL);
    size_t count = split_rows(rows[0], 200, bad), which, seen = 0;
    ck_assert_uint_eq(count, split_rows(rows[1], 200, good));
    ck_assert_uint_eq(count, 1 + 2 * 3 * (N_MISDEEDS - (size_t)SANITIZED));
    for (size_t i = 0; i < count; i++) {
        if (!is_misdeed(rows[0][i], &which)) {
            ck_assert_str_eq(rows[0][i], rows[1][i]);
            continue;
        }
        seen++;
        ck_assert_msg(strstr(rows[0][i], ",error,") != NULL, "%s", rows[0][i]);
        const char *said = strstr(rows[0][i], "device ");
        ck_assert_msg(!diagnoses || (said && is_diagnosed(said, misdeeds[which].text)), "%s",
                      rows[0][i]);
        ck_assert_msg(strstr(rows[1][i], ",pass,") != NULL, "%s", rows[1][i]);
    }
    ck_assert_uint_eq(seen, 2 * (N_MISDEEDS - (size_t)SANITIZED));
    free(bad);
    free(good);
}

START_TEST(misbehaviour_costs_its_own_row)
{
    struct workspace w = workspace_make();
    write_calls(in(&w, "dump.json"));
    run(&w, "plugin_misdeeds.json", _i ? "4" : "1", "bad", "process");
    run(&w, "plugin_sound.json", "1", "good", "process");
    compare_rows(&w, "details", true);
    compare_rows(&w, "result", false);
    workspace_remove(&w);
}
END_TEST

/* Sound kernels give the same bytes without processes of their own. */
START_TEST(isolation_does_not_show)
{
    struct workspace w = workspace_make();
    write_calls(in(&w, "dump.json"));
    run(&w, "plugin_sound.json", "2", "one", "process");
    run(&w, "plugin_sound.json", "2", "two", "none");
    assert_same_files(only_match(&w, "one/accuracy_checking_details_*.csv"),
                      only_match(&w, "two/accuracy_checking_details_*.csv"));
    workspace_remove(&w);
}
END_TEST

/* What is wrong with a manifest ends the program with status 3 and one line. */
START_TEST(a_bad_manifest_ends_the_run)
{
    struct workspace w = workspace_make();
    char backend[700];
    write_calls(in(&w, "dump.json"));
    write_text(in(&w, "bad.json"), "{\n \"plugin\": 1,\n \"libraries\": { \"m\": 4 } }\n");
    snprintf(backend, sizeof backend, "plugin:%s", in(&w, "bad.json"));
    struct outcome o = run_program(&w, "-api_info", in(&w, "dump.json"), "--backend", backend, "-o",
                                   in(&w, "out"), NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_uint_eq(count_lines(o.err), 1);
    ck_assert_ptr_nonnull(strstr(o.err, "bad.json:"));
    ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* plugin check: a table, and exit status 1 because kernels fail. */
START_TEST(plugin_check_reports)
{
    struct workspace w = workspace_make();
    char ut[] = PROBE_UT, path[700];
    const char *directory = dirname(ut);
    snprintf(path, sizeof path, "%s/tests/plugin/plugin_misdeeds.json", directory);
    struct outcome o = run_program(&w, "plugin", "check", path, "--case_timeout", "2", NULL);
    ck_assert_msg(o.status == 1, "%d: %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "FAILS: device crashed: SIGSEGV in crash"));
    ck_assert_ptr_nonnull(
        strstr(o.out, "Torch.exp                    expf                     runs"));
    ck_assert_ptr_nonnull(strstr(o.out, "0 missing; 2 kernels run, 7 fail, 7 were not run"));
    outcome_free(&o);
    snprintf(path, sizeof path, "%s/tests/plugin/plugin_sound.json", directory);
    o = run_program(&w, "plugin", "check", path, "--case_timeout", "2", NULL);
    ck_assert_msg(strstr(o.out, "9 kernels run, 7 fail") != NULL, "%s", o.out);
    outcome_free(&o);
    write_text(in(&w, "missing.json"),
               "{ \"plugin\": 1, \"libraries\": { \"m\": \"libm.so.6\" }, \"kernels\": [\n"
               "{ \"apis\": [\"Torch.exp\"], \"parameters\": [\"x\"],\n"
               "  \"outputs\": [ { \"name\": \"y\", \"shape\": \"shape(x)\" } ],\n"
               "  \"steps\": [\n"
               "    { \"call\": \"no_such_function\" } ] } ] }\n");
    o = run_program(&w, "plugin", "check", in(&w, "missing.json"), NULL);
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.out,
                                 "missing.json:5: kernels[0].steps[0]: library m: no function "
                                 "no_such_function"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* --- what is said of each kernel ----------------------------------------------------------------------- */

#define OUT   "{ \"name\": \"out\", \"shape\": \"shape(x)\", \"dtype\": \"dtype(x)\" }"
#define TAKES "\"parameters\": [\"x\"], "
#define CALL(name, arguments)                                     \
    "\"steps\": [ { \"call\": \"" name "\", \"library\": \"k\", " \
    "\"arguments\": [ " arguments " ] } ]"
#define OUTPUTS(list)    "\"outputs\": [ " list " ], "
#define SMOKE(arguments) ", \"smoke\": { " arguments " }"
#define RELU                                                                            \
    "\"steps\": [ { \"call\": \"relu_scalar\", \"library\": \"k\", \"loop\": \"out\", " \
    "\"arguments\": "                                                                   \
    "[ { \"element\": \"x\", \"type\": \"f32\" } ], \"returns\": { \"type\": \"f32\", " \
    "\"element\": "                                                                     \
    "\"out\" } } ]"
#define BACKWARD(arguments)                                                            \
    ", \"backward\": { \"gradients\": [ { \"name\": \"dx\", \"of\": \"x\" } ], " CALL( \
        "relu_gradient", arguments) " }"
/* A kernel that takes any arguments and writes nothing; its output starts as 1. */
#define ANYTHING(parameters)                                                                   \
    "\"parameters\": [" parameters "], " OUTPUTS("{ \"name\": \"out\", \"shape\": \"[2]\", "   \
                                                 "\"dtype\": \"'float32'\", \"initial\": 1 }") \
        CALL("give_i32", "{ \"i64\": 1 }")
#define BAD_SMOKE \
    "a smoke argument is \"float32[2, 3]\", a number, a bool, a string, null or a list of these"

static const struct {
    const char *kernel;  /* all but its "apis" */
    const char *verdict; /* after the function's name; what ends in ... is a start */
    /* clang-format off */
} checked[] = {
    { TAKES OUTPUTS(OUT) RELU, "runs" },
    { TAKES OUTPUTS(OUT) RELU BACKWARD("{ \"i64\": \"numel(out)\" }, { \"data\": \"out\" }, "
                                       "{ \"data\": \"cotangent\" }, { \"data\": \"dx\" }"),
      "runs, backward too" },
    { TAKES OUTPUTS(OUT) RELU BACKWARD("{ \"i64\": \"0\" }, { \"null\": true }, { \"null\": true }, "
                                       "{ \"data\": \"dx\" }"),
      "FAILS: 4 elements were not written" },
    { TAKES OUTPUTS(OUT) RELU BACKWARD("{ \"i64\": \"nobody\" }"),
      "FAILS: backward: a.json:..." },
    { TAKES OUTPUTS(OUT) RELU BACKWARD("{ \"i64\": \"numel(out)\" }, { \"null\": true }, { \"null\": true }, "
                                       "{ \"data\": \"dx\" }"),
      "FAILS: backward: device crashed: SIGSEGV in relu_gradient at address 0..." },
    /* Elements that nobody wrote, in each width; integers and bytes cannot tell. */
    { TAKES OUTPUTS(OUT) CALL("give_i32", "{ \"i64\": 1 }"), "FAILS: 4 elements were not written" },
    { "\"parameters\": [\"x\"], " OUTPUTS(OUT) CALL("give_i32", "{ \"i64\": 1 }") SMOKE("\"x\": \"float16[3]\""),
      "FAILS: 3 elements were not written" },
    { "\"parameters\": [\"x\"], " OUTPUTS(OUT) CALL("give_i32", "{ \"i64\": 1 }")
          SMOKE("\"x\": \"complex128[2,2]\""), "FAILS: 4 elements were not written" },
    { "\"parameters\": [\"x\"], " OUTPUTS(OUT) CALL("give_i32", "{ \"i64\": 1 }") SMOKE("\"x\": \"int32[3]\""),
      "runs" },
    { "\"parameters\": [\"x\"], " OUTPUTS(OUT) CALL("give_i32", "{ \"i64\": 1 }")
          SMOKE("\"x\": \"float8_e5m2[3]\""), "runs" },
    /* Calls that are made up: any name that only tensors fit. */
    { ANYTHING("\"x\", \"y = 1\", \"*z\"") ", \"when\": \"rank(x) == 3\"", "runs" },
    { ANYTHING("\"x\"") ", \"when\": \"dtype(x) == 'int64' and shape(x)[0] == 4\"", "runs" },
    { ANYTHING("\"x\"") ", \"let\": { \"n\": \"numel(x)\" }", "runs" },
    { "\"parameters\": [\"x\", \"y\"], \"outputs\": [ { \"name\": \"out\", \"shape\": \"[2]\", \"dtype\": "
      "\"dtype(x)\", \"returns\": \"dtype(y)\", \"initial\": 1 } ], " CALL("give_i32", "{ \"i64\": 1 }"), "runs" },
    { "\"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"out\", \"shape\": \"[1]\", \"dtype\": \"'float32'\", "
      "\"initial\": 1 } ], " CALL("give_i32", "{ \"i64\": \"rank(x)\" }, { \"null\": true }"), "runs" },
    { "\"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"out\", \"shape\": \"[1]\", \"dtype\": \"'float32'\", "
      "\"initial\": 1 } ], " CALL("give_i32", "{ \"data\": \"x\" }"), "runs" },
    { "\"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"out\", \"shape\": \"[1]\", \"dtype\": \"'float32'\", "
      "\"initial\": 1 } ], " CALL("give_i32", "{ \"wrap\": \"w\", \"of\": \"x\" }"), "runs" },
    { ANYTHING("\"x\", \"y\"") ", \"let\": { \"one\": 1, \"n\": \"numel(x)\", \"k\": \"rank(y)\" }", "runs" },
    { "\"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"out\", \"shape\": \"[4]\", \"dtype\": \"'float32'\", "
      "\"initial\": 1 } ], \"steps\": [ { \"call\": \"relu_scalar\", \"library\": \"k\", \"loop\": \"out\", "
      "\"arguments\": [ { \"element\": \"x\", \"type\": \"f32\" } ], \"returns\": { \"type\": \"f32\" } } ]", "runs" },
    { "\"parameters\": [\"x\"], \"outputs\": [ { \"name\": \"out\", \"shape\": \"[1]\", \"dtype\": \"'float32'\", "
      "\"initial\": 1 } ], " CALL("give_i32", "{ \"null\": true }, { \"data\": \"out\" }, { \"data\": \"x\" }"),
      "runs" },
    /* A gradient for one argument of two; a first step that calls nothing. */
    { "\"parameters\": [\"x\", \"y\"], \"when\": \"rank(y) == 1\", " OUTPUTS(OUT) RELU
      BACKWARD("{ \"i64\": \"numel(out)\" }, { \"data\": \"out\" }, { \"data\": \"cotangent\" }, "
               "{ \"data\": \"dx\" }"), "runs, backward too" },
    { "\"parameters\": [], " OUTPUTS("{ \"name\": \"out\", \"shape\": \"[2]\", \"dtype\": \"'float32'\", "
      "\"initial\": 1 }") "\"steps\": [ { \"allocate\": \"w\", \"bytes\": 8 } ]", "runs" },
    { ANYTHING("\"x\""), "runs" }, /* x may be anything */
    { ANYTHING("\"dim\"") ", \"let\": { \"n\": \"dim + 1\" }", "runs" }, /* dim is the last one */
    { ANYTHING("\"x\"") ", \"let\": { \"n\": \"x + 1\" }",
      "not run: give it a \"smoke\": what to pass as x is not clear" },
    /* Faults of the manifest that no call can avoid. */
    { TAKES OUTPUTS(OUT) CALL("give_i32", "{ \"data\": \"nobody\" }"),
      "FAILS: a.json:...column 1: there is no \"nobody\" here" },
    { ANYTHING("\"x\"") ", \"when\": \"rank(x) == 2 and dtype(y) == 'int8'\"" SMOKE("\"x\": \"int8[2, 2]\""),
      "FAILS: ...there is no \"y\" here" },
    { ANYTHING("\"x\"") ", \"when\": \"numel(x) == 5\"",
      "not run: give it a \"smoke\": no tensors of extent 4 fulfil its condition (..." },
    /* Calls that are described. */
    { ANYTHING("\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"")
          ", \"when\": \"a == True and b == 3 and c == 2.5 and d == 'text' and e == None and f == [1, ['x'], []] "
          "and shape(g) == [2, 3]\""
          SMOKE("\"a\": true, \"b\": 3, \"c\": 2.5, \"d\": \"text\", \"e\": null, \"f\": [1, [\"x\"], []], "
                "\"g\": \"float64[ 2 , 3 ]\""),
      "runs" },
    { ANYTHING("\"a\", \"b\"") ", \"when\": \"kind(a) == 'float' and kind(b) == 'float'\""
          SMOKE("\"a\": 9007199254740992, \"b\": -1e300"), "runs" },
    { ANYTHING("\"*rest\"") ", \"when\": \"len(rest) == 2\"" SMOKE("\"rest\": [1, 2]"), "runs" },
    { ANYTHING("\"*rest\"") SMOKE("\"rest\": 5"), "runs" }, /* by its name, which fills nothing */
    { ANYTHING("\"*rest\"") SMOKE("\"more\": [1]"),
      "not run: its \"smoke\" is no call of this kernel: ...: the kernel has no argument more" },
    { ANYTHING("\"x\"") SMOKE("\"y\": 1"),
      "not run: its \"smoke\" is no call of this kernel: ...: the argument x is missing" },
    { ANYTHING("\"x\"") SMOKE("\"x\": { \"a\": 1 }"), "FAILS: a.json:..." BAD_SMOKE },
    { ANYTHING("\"x\"") SMOKE("\"x\": [1, { \"a\": 1 }]"), "FAILS: a.json:..." BAD_SMOKE },
    /* What only looks like a tensor is a string. */
#define STRING(text) { ANYTHING("\"x\"") ", \"when\": \"x == '" text "'\"" SMOKE("\"x\": \"" text "\""), "runs" }
    STRING("float32"), STRING("float33[2]"), STRING("float32["), STRING("float32[2"), STRING("float32[2;3]"),
    STRING("float32[]x["), STRING("float32[-1]"), STRING("float32[x]"), STRING("float32[1,]x"),
    STRING("float32[1048577]"), STRING("float32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
    STRING("a_name_of_more_than_thirty_one_letters[2]"), STRING("float32[4611686018427387904,4]"),
    { ANYTHING("\"x\"") ", \"when\": \"numel(x) == 1048576\"" SMOKE("\"x\": \"int8[1048576]\""), "runs" },
    { ANYTHING("\"x\"") ", \"when\": \"rank(x) == 0\"" SMOKE("\"x\": \"float32[]\""), "runs" },
};
/* clang-format on */
enum { N_CHECKED = sizeof checked / sizeof *checked };

/* An API for each: a kernel is chosen by it. */
static const char *const apis[] = {
    "abs",    "acos",      "acosh",   "add",     "addmm",  "all",    "amax",   "amin",  "angle",
    "any",    "argmax",    "argmin",  "argsort", "asin",   "asinh",  "atan",   "atan2", "atanh",
    "bmm",    "cat",       "ceil",    "chunk",   "clamp",  "clone",  "cos",    "cosh",  "cross",
    "cummax", "cummin",    "cumprod", "cumsum",  "diag",   "diff",   "dist",   "div",   "dot",
    "eq",     "erf",       "erfc",    "erfinv",  "exp",    "exp2",   "expand", "expm1", "flatten",
    "flip",   "floor",     "fmod",    "frac",    "gather", "ge",     "gelu",   "gt",    "histc",
    "isnan",  "kron",      "le",      "lerp",    "lgamma", "linear", "log",    "log10", "log1p",
    "log2",   "logaddexp", "lt",      "matmul",  "max",    "mean",   "median", "min",   "mm",
};
_Static_assert(N_CHECKED <= sizeof apis / sizeof *apis, "every kernel needs an API of its own");

/* "abc...def" is any text that starts with abc and ends in def. */
static bool is_like(const char *text, const char *pattern)
{
    const char *dots = strstr(pattern, "...");
    if (!dots) return !strcmp(text, pattern);
    size_t head = (size_t)(dots - pattern), tail = strlen(dots + 3), length = strlen(text);
    return length >= head + tail && !strncmp(text, pattern, head) &&
           !strcmp(text + length - tail, dots + 3);
}

static void write_kernels(const char *path, size_t from, size_t to)
{
    char ut[] = PROBE_UT;
    FILE *out = fopen(path, "w");
    fprintf(out,
            "{ \"plugin\": 1, \"name\": \"own\", \"libraries\": { \"k\": "
            "\"%s/tests/plugin/libplugin-kernels.so\" },\n"
            "  \"session\": { \"open\": [ { \"allocate\": \"w\", \"bytes\": 8 } ] },\n"
            "  \"wrappers\": { \"w\": { \"value\": \"s\", \"before\": [ { \"call\": "
            "\"give_pointer\", \"arguments\": "
            "[ { \"data\": \"tensor\" } ], \"returns\": { \"type\": \"pointer\", \"ok\": "
            "\"nonnull\", \"explain\": "
            "\"speechless\", \"into\": \"s\" } } ] } },\n  \"kernels\": [\n",
            dirname(ut));
    for (size_t i = from; i < to; i++)
        fprintf(out, "    { \"apis\": [\"%s.%s\"], %s }%s\n", i % 2 ? "Torch" : "*", apis[i],
                checked[i].kernel, i + 1 < to ? "," : "");
    fprintf(out, "  ] }\n");
    fclose(out);
}

/* plugin check, kernel by kernel, in processes and within this one. */
START_TEST(every_kernel_gets_its_verdict)
{
    struct workspace w = workspace_make();
    bool in_process = _i;
    size_t counts[3] = { 0, 0, 0 };
    char last[100], *line, *rest;
    write_kernels(in(&w, "a.json"), 0, N_CHECKED);
    /* Within this process the crash would be its own. */
    if (in_process) write_kernels(in(&w, "a.json"), 5, N_CHECKED);
    struct outcome o = in_process
                           ? run_program(&w, "plugin", "check", "a.json", "--in_process", NULL)
                           : run_program(&w, "plugin", "check", "a.json", NULL);
    ck_assert_msg(o.status == 1, "%d: %s", o.status, o.err);
    line = strtok_r(o.out, "\n", &rest);
    ck_assert_msg(!strncmp(line, "own: 1 library, ", 16), "%s", line);
    for (size_t i = in_process ? 5 : 0; i < N_CHECKED; i++) {
        char api[24], function[40];
        int number, at;
        line = strtok_r(NULL, "\n", &rest);
        ck_assert_msg(sscanf(line, " line %d %23s %39s %n", &number, api, function, &at) == 3, "%s",
                      line);
        ck_assert_int_eq(number, (int)(i - (in_process ? 5 : 0)) + 5);
        ck_assert_msg(is_like(line + at, checked[i].verdict), "kernel %zu: %s", i, line);
        counts[*checked[i].verdict == 'r' ? 0 : *checked[i].verdict == 'F' ? 1 : 2]++;
    }
    snprintf(last, sizeof last, " 0 missing; %zu kernels run, %zu fail, %zu were not run",
             counts[0], counts[1], counts[2]);
    line = strtok_r(NULL, "\n", &rest);
    ck_assert_msg(strstr(line, last) != NULL, "%s instead of %s", line, last);
    outcome_free(&o);
    /* One that runs: exit status 0. */
    write_kernels(in(&w, "a.json"), 0, 1);
    o = run_program(&w, "plugin", "check", "a.json", "--case_timeout", "0", NULL);
    ck_assert_msg(o.status == 0, "%d: %s%s", o.status, o.out, o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* An API that does not exist is refused before anything is loaded, by the run too. */
START_TEST(apis_that_do_not_exist)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "a.json"),
               "{ \"plugin\": 1, \"libraries\": { \"m\": \"libm.so.6\" }, \"kernels\": [\n"
               "{ \"apis\": [\"Torch.exp\", \"Torch.matmull\"], \"parameters\": [\"x\"],\n"
               "  \"outputs\": [ { \"name\": \"y\", \"shape\": \"shape(x)\" } ],\n"
               "  \"steps\": [ { \"call\": \"expf\" } ] } ] }\n");
    for (int i = 0; i < 2; i++) {
        struct outcome o = i ? run_program(&w, "-api_info",
                                           PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json",
                                           "--backend", "plugin:a.json", "-o", "out", NULL)
                             : run_program(&w, "plugin", "check", "a.json", NULL);
        ck_assert_int_eq(o.status, 3);
        ck_assert_msg(strstr(o.err,
                             "a.json:2: kernels[0].apis[1]: there is no API \"matmull\"; the "
                             "nearest is \"matmul\""),
                      "%s", o.err);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(other_words_are_refused)
{
    struct workspace w = workspace_make();
    struct outcome o = run_program(&w, "plugin", "chek", "a.json", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "unknown word 'chek' after 'plugin'; there is check") != NULL, "%s",
                  o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* The name of a function is looked up in another process, which has room for a line of it. */
START_TEST(functions_that_are_not_there)
{
    struct workspace w = workspace_make();
    char ut[] = PROBE_UT, name[1000];
    memset(name, 'f', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const char *const table[][2] = {
        { name, "library k: the name of the function is too long" },
        { "nowhere", "library k: no function nowhere: the symbol is null" },
        { "nobody", "library k: no function nobody: " },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        FILE *out = fopen(in(&w, "a.json"), "w");
        fprintf(
            out,
            "{ \"plugin\": 1, \"libraries\": { \"k\": \"%s/tests/plugin/libplugin-kernels.so\" }, "
            "\"kernels\": [ { \"apis\": [\"Torch.exp\"],\n" ANYTHING(
                "") ", \"backward\": { \"gradients\": "
                    "[ { \"name\": \"d\", \"of\": \"None\" } ],\n \"steps\": [ { \"call\": \"%s\" "
                    "} ] } } ] }",
            i ? ut : dirname(ut), table[i][0]);
        fclose(out);
        struct outcome o = run_program(&w, "plugin", "check", "a.json", NULL);
        ck_assert_int_eq(o.status, 1);
        ck_assert_msg(strstr(o.out, table[i][1]) != NULL, "%s", o.out);
        ck_assert_ptr_nonnull(strstr(o.out, "a.json:3: kernels[0].backward.steps[0]: library k: "));
        ck_assert_ptr_nonnull(strstr(o.out, "2 calls of functions, 1 missing; "));
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_run");
    TCase *tests = tcase_create("plugin_run");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, misbehaviour_costs_its_own_row, 0, 2);
    tcase_add_test(tests, isolation_does_not_show);
    tcase_add_test(tests, a_bad_manifest_ends_the_run);
    tcase_add_test(tests, plugin_check_reports);
    tcase_add_loop_test(tests, every_kernel_gets_its_verdict, 0, 2);
    tcase_add_test(tests, apis_that_do_not_exist);
    tcase_add_test(tests, other_words_are_refused);
    tcase_add_test(tests, functions_that_are_not_there);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
