/* The program as a user meets it before anything is computed: help, version, wrong arguments and
 * unusable files, each with its exit status and one line on standard error. */
#include <sys/stat.h>

#include "support/suite.h"
#include "support/workspace.h"

static const char small_dump[] =
    "{\"task\":\"statistics\",\"level\":\"L1\",\"dump_data_dir\":null,\"data\":{"
    "\"Torch.add.0.forward\":{\"input_args\":["
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[3],\"Max\":2.0,\"Min\":1.0,"
    "\"Mean\":1.5,\"Norm\":2.0,\"requires_grad\":false},"
    "{\"type\":\"float\",\"value\":1.5}],\"input_kwargs\":{},\"output\":[]}}}";

/* Exit status, one line on standard error that holds `text`, no result files. */
static void refused(const struct workspace *w, struct outcome o, int status, const char *text)
{
    ck_assert_msg(o.status == status, "status %d, expected %d: %s", o.status, status, o.err);
    ck_assert_msg(count_lines(o.err) == 1, "standard error is not one line:\n%s", o.err);
    ck_assert_msg(!strncmp(o.err, "probe-ut: ", 10) && strstr(o.err, text), "'%s' lacks '%s'",
                  o.err, text);
    ck_assert_uint_eq(count_matches(w, "accuracy_checking_*"), 0);
    outcome_free(&o);
}

START_TEST(help_and_version)
{
    struct workspace w = workspace_make();
    static const char *const arguments[] = {
        "--help",           "-h", "--version", "--man", "--completion=bash", "--completion=zsh",
        "--completion=fish"
    };
    static const char *const expected[] = {
        "api_precision_compare", "run_ut",      "BLAS core",
        ".TH PROBE-UT",          "complete -o", "#compdef probe-ut",
        "complete -c probe-ut"
    };
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        struct outcome o = run_program(&w, arguments[i], NULL);
        ck_assert_int_eq(o.status, 0);
        ck_assert_msg(strstr(o.out, expected[i]) != NULL, "%s lacks %s", arguments[i], expected[i]);
        ck_assert_str_eq(o.err, "");
        outcome_free(&o);
    }
    static const char *const words[] = { "run_ut", "multi_run_ut", "acc_check", "multi_acc_check" };
    for (size_t i = 0; i < 4; i++) {
        struct outcome o = run_program(&w, words[i], "--help", NULL);
        ck_assert_int_eq(o.status, 0);
        ck_assert_ptr_nonnull(strstr(o.out, "--api_info"));
        outcome_free(&o);
    }
    struct outcome o = run_program(&w, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "Commands:"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

START_TEST(wrong_arguments_exit_2)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), small_dump);
#define REFUSED(text, ...) refused(&w, run_program(&w, __VA_ARGS__, NULL), 2, text)
    REFUSED("unknown command 'rnu_ut', the nearest is 'run_ut'", "rnu_ut");
    REFUSED("unknown option '-api_inof', the nearest is '--api_info'", "run_ut", "-api_inof", "x");
    REFUSED("unknown option '--foo'", "--foo");
    REFUSED("option '-api_info FILE' is missing", "run_ut");
    REFUSED("from 1 to 64, not '65'", "-api_info", "dump.json", "-n", "65");
    REFUSED("does not know 'cpuu'; it takes cpu, ", "-api_info", "dump.json", "--backend", "cpuu");
    REFUSED("does not know 'dox'; it takes doc, ", "-api_info", "dump.json", "--profile", "dox");
    REFUSED("the nearest is '-api_info dump.json'", "run_ut", "dump.json");
    REFUSED("does not know 'tcsh'; it takes bash, zsh or fish", "--completion", "tcsh");
    REFUSED("does not know ''; it takes bash, zsh or fish", "--completion");
    REFUSED("unknown option '--versions'", "--versions");
    REFUSED("unexpected argument 'x'", "-f", "-api_info", "dump.json", "x");
    REFUSED("does not know 'msadapter'", "--framework", "msadapter", "run_ut", "--help");
    REFUSED("ops knows the framework pytorch only", "-f", "mindspore", "ops", "--json");
    ck_assert_int_eq(mkdir(in(&w, "nothing"), 0750), 0);
    REFUSED("there is no dump.json in 'nothing' or below", "-api_info", "nothing");
    REFUSED("option '-api_info' takes a .json file, not 'json'", "-api_info", "json");
    REFUSED("option '--api_info_file' takes a .json file", "--api_info_file=dump.json.bak");
    REFUSED("option '--config' takes a .json file, not 'config.yaml'", "-api_info", "dump.json",
            "--config", "config.yaml");
    REFUSED("option '-csv_path' takes a .csv file, not 'dump.json'", "-api_info", "dump.json",
            "-csv_path", "dump.json");
    REFUSED("option '-npu' takes a .csv file, not 'a.xlsx'", "api_precision_compare", "-npu",
            "a.xlsx", "-gpu", "b.csv");
    REFUSED("option '-gpu' takes a .csv file, not 'b.xlsx'", "api_precision_compare", "-npu",
            "a.csv", "-gpu", "b.xlsx");
    REFUSED("option '--api_info' takes a .json file", "case", "--api_info", "dump", "--name", "x");
    REFUSED("must have its first name", "-api_info", "dump.json", "-csv_path", "results.csv");
#undef REFUSED
    workspace_remove(&w);
}
END_TEST

START_TEST(unusable_dumps_exit_3)
{
    struct workspace w = workspace_make();
    /* clang-format off */
    static const struct { const char *text, *expected; } cases[] = {
        { "", "dump.json" },
        { "{\"data\": {\"Torch.add.0.forward\": }}", "dump.json" },
        { "[1, 2]", "dump.json" },
        { "{\"task\":\"statistics\",\"level\":\"L1\",\"data\":{}}", "L1 or mix" },
        { "{\"task\":\"statistics\",\"level\":\"L0\",\"data\":{\"Module.a.A.forward.0\":{}}}",
          "L1 or mix" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(in(&w, "dump.json"), cases[i].text);
        refused(&w, run_program(&w, "-api_info", "dump.json", NULL), 3, cases[i].expected);
    }
    refused(&w, run_program(&w, "-api_info", "missing.json", NULL), 3, "missing.json");
    ck_assert_int_eq(mkfifo(in(&w, "fifo.json"), 0600), 0);
    refused(&w, run_program(&w, "-api_info", "fifo.json", NULL), 3, "fifo.json");
    ck_assert_int_eq(symlink("dump.json", in(&w, "link.json")), 0);
    refused(&w, run_program(&w, "-api_info", "link.json", NULL), 3, "link");
    ck_assert_int_eq(mkdir(in(&w, "folder.json"), 0750), 0);
    refused(&w, run_program(&w, "-api_info", "folder.json", NULL), 3,
            "'folder.json' is a directory");
    write_text(in(&w, "dump.json"), small_dump);
    ck_assert_int_eq(chmod(in(&w, "dump.json"), 0666), 0);
    refused(&w, run_program(&w, "-api_info", "dump.json", NULL), 3, "dump.json");
    struct outcome o = run_program(&w, "-api_info", "link.json", "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Root is warned before anything is read, others are not; neither for help. */
START_TEST(root_is_warned)
{
    struct workspace w = workspace_make();
    static const char warning[] = "probe-ut: warning: running as root";
    write_text(in(&w, "dump.json"), small_dump);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    char *text = read_file(in(&w, "stderr.txt"), NULL);
    ck_assert_msg(!strncmp(text, warning, strlen(warning)) == (geteuid() == 0), "'%s'", text);
    free(text);
    o = run_program(&w, "--help", NULL);
    outcome_free(&o);
    text = read_file(in(&w, "stderr.txt"), NULL);
    ck_assert_str_eq(text, "");
    free(text);

    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(w.path, 0755), 0);
        ck_assert_int_eq(chmod(in(&w, "dump.json"), 0644), 0);
        ck_assert_int_eq(mkdir(in(&w, "counters"), 0700), 0);
        ck_assert_int_eq(chown(in(&w, "counters"), 54321, 54321), 0);
        pid_t child = fork();
        if (child == 0) {
            int err = open(in(&w, "stderr.txt"), O_WRONLY | O_TRUNC);
            if (chdir(w.path) || dup2(err, 2) < 0 || setgid(54321) || setuid(54321)) _exit(9);
            if (access(PROBE_UT, X_OK)) _exit(77); /* a build that only root can reach */
            /* The counters of a coverage build go where this user may write. */
            if (setenv("GCOV_PREFIX", in(&w, "counters"), 1)) _exit(10);
            execl(PROBE_UT, "probe-ut", "case", "-api_info", "dump.json", "--name", "Torch.add.0",
                  (char *)NULL);
            _exit(8);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        text = read_file(in(&w, "stderr.txt"), NULL);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 77)
            ck_assert_msg(status == 0 && !*text, "status %d: '%s'", status, text);
        free(text);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(recorded_needs_stored_tensors)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), small_dump);
    refused(&w, run_program(&w, "-api_info", "dump.json", "--backend", "recorded", NULL), 3,
            "this dump stores none");
    workspace_remove(&w);
}
END_TEST

/* Every way to write a configuration that cannot be meant. */
START_TEST(configurations_are_validated)
{
    struct workspace w = workspace_make();
    /* clang-format off */
    static const struct { const char *text; int status; const char *expected; } cases[] = {
        { "{\"run_ut\": {\"white_list\": [\"conv2\"]}}", 2, "'conv2', which is no API" },
        { "{\"acc_check\": {\"black_list\": [\"softmaxx\"]}}", 2,
          "acc_check.black_list has 'softmaxx'" },
        { "{\"run_ut\": {\"white_lst\": []}}", 2,
          "unknown key 'white_lst', the nearest is 'white_list'" },
        { "{\"run_ut\": {\"white_list\": \"add\"}}", 2, "must be a list of names of APIs or calls" },
        { "{\"run_ut\": {\"white_list\": [1]}}", 2, "must be a list of names of APIs or calls" },
        { "{\"run_ut\": {\"precision\": 21}}", 2, "from 0 to 20" },
        { "{\"run_ut\": {\"precision\": 1.5}}", 2, "from 0 to 20" },
        { "{\"run_ut\": {\"precision\": -1}}", 2, "from 0 to 20" },
        { "{\"run_ut\": {\"precision\": \"3\"}}", 2, "from 0 to 20" },
        { "{\"run_ut\": {\"precision\": 1e300}}", 2, "from 0 to 20" },
        { "{\"run_ut\": {\"error_data_path\": 3}}", 2, "run_ut.error_data_path must be a text" },
        { "{\"acc_check\": []}", 2, "has no object \"run_ut\"" },
        { "[]", 2, "has no object \"run_ut\"" },
        { "{\n\"run_ut\":\n  {,}}", 3, "config.json:3:" },
        { "", 3, "config.json:1:1: this is not JSON" },
        { "{\"run_ut\": {\"error_data_path\": \"./missing\"}}", 2, "error_data_path" },
        { "{\"run_ut\": {\"is_online\": true}}", 2, "is_online" },
        { "{\"task\": \"statistics\"}", 2, "has no object \"run_ut\"" },
        { "{\"run_ut\": {\"white_list\": [}", 3, "config.json:1:" },
        { "{\"run_ut\": {}} x", 3, "config.json:1:" },
    };
    /* clang-format on */
    write_text(in(&w, "dump.json"), small_dump);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(in(&w, "config.json"), cases[i].text);
        refused(&w, run_program(&w, "-api_info", "dump.json", "-config", "config.json", NULL),
                cases[i].status, cases[i].expected);
    }
    refused(&w, run_program(&w, "-api_info", "dump.json", "-config", "none.json", NULL), 3,
            "none.json");
    write_text(in(&w, "config.json"),
               "{\"task\":\"run_ut\",\"dump_path\":\"x\",\"run_ut\":{\"white_list\":[\"add\"],"
               "\"black_list\":[\"to\",\"empty\"],\"error_data_path\":\"\",\"precision\":3,\"is_"
               "online\":false,"
               "\"host\":\"\",\"port\":-1,\"rank_list\":[0]}}");
    struct outcome o = run_program(&w, "-f", "pytorch", "run_ut", "-api_info", "dump.json",
                                   "-config_path", "config.json", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* An output directory that cannot be: exit 3, and the message names it. */
START_TEST(unusable_output_exits_3)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), small_dump);
    write_text(in(&w, "file"), "");
    refused(&w, run_program(&w, "-api_info", "dump.json", "-o", "file/sub", NULL), 3,
            "option '-o': 'file' is no directory");
    refused(&w, run_program(&w, "-api_info", "dump.json", "--timings", "none/t.csv", NULL), 3,
            "option '--timings': there is no directory 'none'");
    /* All of it before anything is read. */
    refused(&w, run_program(&w, "-api_info", "missing.json", "-o", "file/sub", NULL), 3, "'file'");
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command_line");
    TCase *tests = tcase_create("command_line");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, help_and_version);
    tcase_add_test(tests, wrong_arguments_exit_2);
    tcase_add_test(tests, unusable_dumps_exit_3);
    tcase_add_test(tests, root_is_warned);
    tcase_add_test(tests, recorded_needs_stored_tensors);
    tcase_add_test(tests, configurations_are_validated);
    tcase_add_test(tests, unusable_output_exits_3);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
