/* probe-ut compare: exit statuses, names of files, folders of ranks and steps, the same bytes for any
 * number of threads, input that cannot be used, interruption. */
#include <check.h>
#include <sys/stat.h>

#include "support/suite.h"
#include "support/workspace.h"

#define DUMPS  PROBE_TEST_DATA "/compare/dumps/"
#define COMMON PROBE_TEST_DATA "/dumps/"

static const char perturbed[] = DUMPS "m2_perturbed/L1_statistics/dump.json";
static const char original[] = COMMON "m2/L1_statistics/dump.json";

static struct outcome compare(const struct workspace *w, const char *npu, const char *bench,
                              const char *option, const char *value)
{
    return run_program(w, "compare", "-tp", npu, "-gp", bench, "-o", "out", "--trust-files",
                       "--no-progress", option ? option : "-n", option ? value : "2", NULL);
}

static void expect(struct outcome outcome, int status, const char *text)
{
    ck_assert_msg(outcome.status == status, "status %d instead of %d: %s%s", outcome.status, status,
                  outcome.err, outcome.out);
    ck_assert_msg(!text || strstr(outcome.out, text) || strstr(outcome.err, text),
                  "'%s' lacks '%s'", outcome.status ? outcome.err : outcome.out, text);
    outcome_free(&outcome);
}

/* What is found changes the status only with --fail-on. */
START_TEST(exit_statuses)
{
    struct workspace w = workspace_make();
    expect(compare(&w, perturbed, original, NULL, NULL), 0, "6 warning");
    expect(compare(&w, perturbed, original, "--fail-on", "warning"), 1, NULL);
    expect(compare(&w, perturbed, original, "--fail-on", "error"), 0, NULL);
    expect(compare(&w, original, original, "--fail-on", "warning"), 0, "0 warning");
    expect(compare(&w, perturbed, "nowhere/dump.json", NULL, NULL), 3, "nowhere");
    expect(compare(&w, perturbed, original, "--result-schema", "g9"), 2, "g9");
    expect(run_program(&w, "compare", "-o", "out", NULL), 2, "-i FILE");
    expect(run_program(&w, "-f", "mindspore", "compare", "-f", "-tp", perturbed, "-gp", original,
                       "-o", "out", "--trust-files", NULL),
           0, NULL);
    workspace_remove(&w);
}
END_TEST

static const char no_entries[] =
    "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {}}";
static const char checksums[] =
    "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {\"Torch.f.0.forward\": "
    "{\"output\": "
    "[{\"type\": \"torch.Tensor\", \"dtype\": \"x\", \"shape\": [], \"md5\": \"00000000\"}]}}}";

/* A dump without entries has nothing to show, whatever the other holds; against one all is alone. */
START_TEST(empty_dumps)
{
    struct workspace w = workspace_make();
    ck_assert_int_eq(mkdir(in(&w, "none"), 0750), 0);
    write_file(in(&w, "none/dump.json"), no_entries, sizeof no_entries - 1);
    write_file(in(&w, "dump.json"), checksums, sizeof checksums - 1);
    expect(compare(&w, in(&w, "none/dump.json"), in(&w, "dump.json"), NULL, NULL), 0,
           "there is no result");
    expect(compare(&w, in(&w, "dump.json"), in(&w, "none/dump.json"), NULL, NULL), 0,
           "1 without a partner");
    workspace_remove(&w);
}
END_TEST

/* An entry that no other meets is told with the nearest name, or that its name is there and more differs. */
START_TEST(entries_without_a_partner)
{
    static const char form[] =
        "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {\"%s\": {\"output\": "
        "[{\"type\": \"torch.Tensor\", \"dtype\": \"x\", \"shape\": [%d]}]}}}";
    struct workspace w = workspace_make();
    char text[400];
    for (int i = 0; i < 3; i++) {
        char folder[2] = { (char)('a' + i), 0 }, name[20];
        snprintf(name, sizeof name, "%s/dump.json", folder);
        ck_assert_int_eq(mkdir(in(&w, folder), 0750), 0);
        snprintf(text, sizeof text, form, i == 2 ? "Torch.ff.0.forward" : "Torch.f.0.forward", i);
        write_file(in(&w, name), text, strlen(text));
    }
    expect(compare(&w, in(&w, "a/dump.json"), in(&w, "b/dump.json"), NULL, NULL), 0,
           "Torch.f.0.forward (there too, with other shapes");
    expect(compare(&w, in(&w, "a/dump.json"), in(&w, "c/dump.json"), NULL, NULL), 0,
           "Torch.f.0.forward (did you mean Torch.ff.0.forward?)");
    workspace_remove(&w);
}
END_TEST

/* A line of a mapping file that no row has is told. */
START_TEST(idle_names_of_mappings)
{
    static const char map[] = "Torch.typo.0.forward.input.0: x\n";
    struct workspace w = workspace_make();
    write_file(in(&w, "map.yaml"), map, sizeof map - 1);
    expect(compare(&w, perturbed, original, "-dm", in(&w, "map.yaml")), 0,
           "1, the first is 'Torch.typo.0.forward.input.0'");
    workspace_remove(&w);
}
END_TEST

/* Training against inference: what is not known is said. */
START_TEST(consistency_of_training_and_inference)
{
    struct workspace w = workspace_make();
    expect(run_program(&w, "compare", "-tp", perturbed, "-gp", original, "-o", "out",
                       "--trust-files", "--consistent_check", "--backend", "fsdp", NULL),
           0, "give -dm FILE");
    workspace_remove(&w);
}
END_TEST

START_TEST(the_first_output_whose_inputs_agree)
{
    struct workspace w = workspace_make();
    expect(compare(&w, perturbed, original, NULL, NULL), 0,
           "first output that differs while its inputs agree: "
           "Functional.layer_norm.2.forward.output.0 (line 125)");
    /* and in what it differs */
    expect(compare(&w, perturbed, original, NULL, NULL), 0, "(line 125)\n  mean: ");
    workspace_remove(&w);
}
END_TEST

/* A pipeline is not told that all is well when nothing could be compared. */
START_TEST(nothing_compared_is_no_success)
{
    struct workspace w = workspace_make();
    mkdir(in(&w, "empty"), 0750);
    write_text(in(&w, "empty/dump.json"),
               "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {}}");
    expect(compare(&w, in(&w, "empty/dump.json"), original, NULL, NULL), 0, "no result");
    expect(compare(&w, in(&w, "empty/dump.json"), original, "--fail-on", "error"), 5, NULL);
    expect(compare(&w, original, in(&w, "empty/dump.json"), "--fail-on", "error"), 5, NULL);
    expect(compare(&w, original, in(&w, "empty/dump.json"), "--fail-on", "warning"), 1, NULL);
    workspace_remove(&w);
}
END_TEST

/* A dump that was copied without its tensors. */
START_TEST(missing_tensors_are_told)
{
    struct workspace w = workspace_make();
    static const char tensors[] = COMMON "m2/L1_tensor/dump.json";
    mkdir(in(&w, "copy"), 0750);
    size_t length;
    char *text = read_file(tensors, &length);
    write_file(in(&w, "copy/dump.json"), text, length);
    free(text);
    expect(compare(&w, in(&w, "copy/dump.json"), tensors, NULL, NULL), 0,
           "dump_tensor_data' does not exist");
    expect(compare(&w, in(&w, "copy/dump.json"), tensors, "--fail-on", "error"), 0, NULL);
    expect(compare(&w, in(&w, "copy/dump.json"), tensors, "--fail-on", "warning"), 1, NULL);
    workspace_remove(&w);
}
END_TEST

/* Color needs a workbook; who asks for CSV all the same has the reasons. */
START_TEST(color_makes_a_workbook)
{
    struct workspace w = workspace_make();
    expect(compare(&w, perturbed, original, "-hl", NULL), 0, "compare_result_");
    ck_assert_ptr_nonnull(only_match(&w, "out/compare_result_*.xlsx"));
    expect(run_program(&w, "compare", "-tp", perturbed, "-gp", original, "-o", "csv",
                       "--trust-files", "-hl", "--format", "csv", NULL),
           0, NULL);
    ck_assert_ptr_nonnull(only_match(&w, "csv/compare_result_*.csv"));
    workspace_remove(&w);
}
END_TEST

/* One file of each kind, mode 0640, and nothing half done. */
START_TEST(names_and_modes)
{
    struct workspace w = workspace_make();
    struct stat info;
    expect(compare(&w, perturbed, original, NULL, NULL), 0, NULL);
    ck_assert_int_eq(stat(only_match(&w, "out/compare_result_??????????????.csv"), &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0640);
    ck_assert_ptr_nonnull(only_match(&w, "out/advisor_??????????????.txt"));
    workspace_remove(&w);
}
END_TEST

static char *result(const struct workspace *w, const char *npu, const char *bench,
                    const char *threads)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s/out'", w->path);
    ck_assert_int_eq(system(command), 0);
    expect(compare(w, npu, bench, "-n", threads), 0, NULL);
    return read_file(only_match(w, "out/compare_result*.csv"), NULL);
}

START_TEST(threads_change_nothing)
{
    static const char tensors[] = COMMON "m2/L1_tensor/dump.json";
    struct workspace w = workspace_make();
    char *one = result(&w, tensors, tensors, "1"), *many = result(&w, tensors, tensors, "32");
    ck_assert_str_eq(one, many);
    free(one);
    free(many);
    workspace_remove(&w);
}
END_TEST

/* ---- folders ---------------------------------------------------------------------------- */

static void copy_rank(const struct workspace *w, const char *side, const char *folder,
                      const char *dump)
{
    char command[1200];
    snprintf(command, sizeof command,
             "mkdir -p '%s/%s/%s' && cp '%s' '%s/%s/%s/dump.json' && chmod -R g-w,o-w '%s/%s'",
             w->path, side, folder, dump, w->path, side, folder, w->path, side);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(ranks_meet_by_number)
{
    struct workspace w = workspace_make();
    copy_rank(&w, "a", "rank10", perturbed);
    copy_rank(&w, "a", "rank2", original);
    copy_rank(&w, "b", "rank2", original);
    copy_rank(&w, "b", "rank10", original);
    expect(compare(&w, in(&w, "a"), in(&w, "b"), NULL, NULL), 0, "rank10\n");
    ck_assert_ptr_nonnull(only_match(&w, "out/compare_result_rank2_*.csv"));
    ck_assert_ptr_nonnull(only_match(&w, "out/compare_result_rank10_*.csv"));
    /* the first generation names both */
    expect(compare(&w, in(&w, "a"), in(&w, "b"), "--result-schema", "g1"), 0, "rank2-rank2\n");
    ck_assert_ptr_nonnull(only_match(&w, "out/compare_result_rank2-rank2_*.csv"));
    /* other numbers: by position, and said so */
    copy_rank(&w, "c", "rank0", original);
    copy_rank(&w, "c", "rank1", original);
    expect(compare(&w, in(&w, "a"), in(&w, "c"), NULL, NULL), 0, "paired by position");
    /* another number of ranks */
    copy_rank(&w, "c", "rank2", original);
    expect(compare(&w, in(&w, "a"), in(&w, "c"), NULL, NULL), 3, "3");
    /* anything else beside them */
    copy_rank(&w, "a", "old_rank3", original);
    expect(compare(&w, in(&w, "a"), in(&w, "b"), NULL, NULL), 3, "old_rank3");
    workspace_remove(&w);
}
END_TEST

START_TEST(a_broken_rank_is_skipped)
{
    struct workspace w = workspace_make();
    copy_rank(&w, "a", "rank0", original);
    copy_rank(&w, "a", "rank1", original);
    copy_rank(&w, "b", "rank0", original);
    copy_rank(&w, "b", "rank1", original);
    write_file(in(&w, "a/rank1/dump.json"), "{\"data\": {}}", 12);
    expect(compare(&w, in(&w, "a"), in(&w, "b"), NULL, NULL), 0, "is skipped");
    ck_assert_ptr_nonnull(only_match(&w, "out/compare_result_rank0_*.csv"));
    workspace_remove(&w);
}
END_TEST

START_TEST(mixed_trees_and_steps)
{
    struct workspace w = workspace_make();
    for (int side = 0; side < 2; side++) {
        copy_rank(&w, side ? "b" : "a", "graph/step0/rank0", original);
        copy_rank(&w, side ? "b" : "a", "pynative/step0/rank0", original);
        copy_rank(&w, side ? "b" : "a", "pynative/step3/rank0", original);
    }
    copy_rank(&w, "a", "pynative/step4/rank0", original);
    expect(compare(&w, in(&w, "a"), in(&w, "b"), NULL, NULL), 0, NULL);
    ck_assert_ptr_nonnull(only_match(&w, "out/graph/step0/compare_result_rank0_*.csv"));
    ck_assert_ptr_nonnull(only_match(&w, "out/pynative/step3/compare_result_rank0_*.csv"));
    /* a step with something else in it costs itself, all of them the comparison */
    copy_rank(&w, "a", "graph/step0/old", original);
    expect(compare(&w, in(&w, "a"), in(&w, "b"), NULL, NULL), 0, "graph/step0 is skipped: ");
    copy_rank(&w, "a", "pynative/step0/old", original);
    copy_rank(&w, "a", "pynative/step3/old", original);
    expect(compare(&w, in(&w, "a"), in(&w, "b"), NULL, NULL), 3, "old");
    workspace_remove(&w);
}
END_TEST

/* ---- bad input -------------------------------------------------------------------------- */

static const struct {
    const char *text, *message;
} inputs[] = {
    { "[]", "object" },
    { "{\"npu_path\": \"a\"}", "bench_path" },
    { "{\"bench_path\": \"a\"}", "npu_path" },
    { "{\"npu_path\": 1, \"bench_path\": \"b\"}", "must be a text" },
    { "{\"npu_path\": \"a\"", "c.json:1:" },
    { "{\"npu_path\": \"a\", \"bench_path\": \"b\", \"rank_id\": 1}", "must be a list" },
    { "{\"npu_path\": \"a\", \"bench_path\": \"b\", \"rank_id\": [true]}", "numbers" },
    { "{\"npu_path\": \"a\", \"bench_path\": \"b\", \"common\": 1}", "true or false" },
    { "{\"npu_path\": \"a\", \"bench_path\": \"b\"}", "does not exist" },
};

START_TEST(comparison_files)
{
    struct workspace w = workspace_make();
    write_file(in(&w, "c.json"), inputs[_i].text, strlen(inputs[_i].text));
    expect(run_program(&w, "compare", "-i", "c.json", "-o", "out", "--trust-files", NULL), 3,
           inputs[_i].message);
    workspace_remove(&w);
}
END_TEST

START_TEST(stacks_that_are_not_there)
{
    struct workspace w = workspace_make();
    char text[1200];
    snprintf(text, sizeof text,
             "{\"npu_path\": \"%s\", \"bench_path\": \"%s\", \"stack_path\": \"no.json\"}",
             perturbed, original);
    write_file(in(&w, "c.json"), text, strlen(text));
    expect(run_program(&w, "compare", "-i", "c.json", "-s", "--trust-files", NULL), 3, "no.json");
    expect(run_program(&w, "compare", "-i", "c.json", "--trust-files", "-o", NULL), 0, "./output/");
    workspace_remove(&w);
}
END_TEST

/* A data_name that leaves its folder, and a file that is no tensor, cost their rows. */
START_TEST(lying_data_names)
{
    static const char dump[] =
        "{\"task\": \"tensor\", \"framework\": \"pytorch\", \"data\": {\"Torch.f.0.forward\": "
        "{\"input_args\": [{\"type\": \"torch.Tensor\", \"dtype\": \"x\", \"shape\": [1], "
        "\"data_name\": "
        "\"../../etc/passwd.pt\"}, {\"type\": \"torch.Tensor\", \"dtype\": \"x\", \"shape\": [1], "
        "\"data_name\": \"no.pt\"}, {\"type\": \"torch.Tensor\", \"dtype\": \"x\", \"shape\": [1], "
        "\"data_name\": \"text.npy\"}]}}}";
    struct workspace w = workspace_make();
    write_file(in(&w, "dump.json"), dump, sizeof dump - 1);
    ck_assert_int_eq(mkdir(in(&w, "dump_tensor_data"), 0750), 0);
    write_file(in(&w, "dump_tensor_data/text.npy"), "no tensor", 9);
    expect(compare(&w, in(&w, "dump.json"), in(&w, "dump.json"), NULL, NULL), 0, "3 not judged");
    char *text = read_file(only_match(&w, "out/compare_result*.csv"), NULL);
    ck_assert_ptr_nonnull(strstr(text, "passwd"));
    ck_assert_ptr_nonnull(strstr(text, "Dump file of NPU cannot be used"));
    free(text);
    workspace_remove(&w);
}
END_TEST

/* Names that start formulas: the row says so, and the cell is disarmed. */
START_TEST(formulas_in_names)
{
    static const char dump[] =
        "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {\"=1+1.f.0.forward\": "
        "{\"input_args\": [{\"type\": \"int\", \"value\": 1}]}, \"Torch.f.0.forward\": "
        "{\"input_args\": "
        "[{\"type\": \"int\", \"value\": 1}]}}}";
    struct workspace w = workspace_make();
    write_file(in(&w, "dump.json"), dump, sizeof dump - 1);
    expect(compare(&w, in(&w, "dump.json"), in(&w, "dump.json"), NULL, NULL), 0, "1 pass");
    char *text = read_file(only_match(&w, "out/compare_result*.csv"), NULL);
    ck_assert_ptr_nonnull(strstr(text, "\n\"'=1+1"));
    ck_assert_ptr_nonnull(strstr(text, "formula"));
    free(text);
    workspace_remove(&w);
}
END_TEST

START_TEST(summary_as_json)
{
    struct workspace w = workspace_make();
    struct outcome outcome = compare(&w, perturbed, original, "--json", NULL);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_int_eq(outcome.out[0], '{');
    ck_assert_ptr_nonnull(strstr(outcome.out, "\"first_output_with_agreeing_inputs\""));
    ck_assert_ptr_nonnull(strstr(outcome.out, "\"warning\":\t6"));
    outcome_free(&outcome);
    workspace_remove(&w);
}
END_TEST

/* The cells of the workbook, read by openpyxl, are those of the CSV. */
START_TEST(workbook_equals_csv)
{
    static const char script[] =
        "import csv, glob, openpyxl, sys\n"
        "out = sys.argv[1]\n"
        "book = openpyxl.load_workbook(glob.glob(out + '/x/*.xlsx')[0]).worksheets[0]\n"
        "with open(glob.glob(out + '/c/*.csv')[0], encoding='utf-8-sig', newline='') as f: rows = "
        "list(csv.reader(f))\n"
        "def same(a, b):\n"
        "    b = '' if b is None else str(b)\n"
        "    if a == b: return True\n"
        "    try: return abs(float(a) - float(b)) <= 1e-15 * abs(float(a))\n"
        "    except ValueError: return False\n"
        "n = 0\n"
        "for a, b in zip(rows, book.iter_rows(values_only=True)):\n"
        "    assert len(a) == len(b)\n"
        "    for x, y in zip(a, b): assert same(x, y), (x, y); n += 1\n"
        "assert n > 9000 and len(rows) == book.max_row\n";
    struct workspace w = workspace_make();
    char command[700];

    if (system("/usr/bin/python3 -c 'import openpyxl' 2>/dev/null")) return;
    write_file(in(&w, "same.py"), script, sizeof script - 1);
    expect(run_program(&w, "compare", "-tp", perturbed, "-gp", original, "-o", "out/c",
                       "--trust-files", NULL),
           0, NULL);
    expect(run_program(&w, "compare", "-tp", perturbed, "-gp", original, "-o", "out/x", "--xlsx",
                       "--trust-files", NULL),
           0, NULL);
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s'", in(&w, "same.py"),
             in(&w, "out"));
    ck_assert_int_eq(system(command), 0);
    workspace_remove(&w);
}
END_TEST

/* ---- interruption ----------------------------------------------------------------------- */

enum { CALLS = 12000 };

/* A dump whose workbook takes a second or so. */
static void make_large(const struct workspace *w)
{
    FILE *f = fopen(in(w, "dump.json"), "w");
    ck_assert_ptr_nonnull(f);
    fputs("{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {", f);
    for (int i = 0; i < CALLS; i++)
        fprintf(f,
                "%s\"Torch.f.%d.forward\": {\"output\": [{\"type\": \"torch.Tensor\", \"dtype\": "
                "\"torch.float32\", \"shape\": [2], \"Max\": %d.5, \"Min\": 0.25, \"Mean\": 1.5, "
                "\"Norm\": 3.5}]}",
                i ? ", " : "", i, i);
    fputs("}}", f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(in(w, "dump.json"), 0640), 0);
}

/* Start the comparison and send it a signal after some time. */
static pid_t start_and_signal(const struct workspace *w, int milliseconds, int signal)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in(w, "dump.json"));
    char *arguments[] = {
        (char *)"probe-ut", (char *)"compare", (char *)"-tp",    path, (char *)"-gp", path,
        (char *)"-o",       (char *)"out",     (char *)"--xlsx", NULL
    };
    pid_t pid = start_program(w, arguments);
    usleep((useconds_t)milliseconds * 1000);
    kill(pid, signal);
    return pid;
}

/* Workbooks that have their name end as archives do. */
static void check_whole(const struct workspace *w)
{
    glob_t found;
    if (glob(in(w, "out/compare_result_*.xlsx"), 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t length;
        char *bytes = read_file(found.gl_pathv[i], &length);
        ck_assert_uint_gt(length, 22);
        ck_assert_int_eq(memcmp(bytes + length - 22, "PK\5\6", 4), 0);
        free(bytes);
    }
    globfree(&found);
}

START_TEST(killed_at_any_moment)
{
    struct workspace w = workspace_make();
    make_large(&w);
    for (int ms = 5; ms < 700; ms += ms / 3 + 5) {
        int status;
        pid_t pid = start_and_signal(&w, ms, SIGKILL);
        while (waitpid(pid, &status, 0) < 0) ck_assert_int_eq(errno, EINTR);
        check_whole(&w);
    }
    workspace_remove(&w);
}
END_TEST

/* An interrupted comparison says so and leaves nothing unfinished; one whose table was done has it. */
START_TEST(interrupted)
{
    struct workspace w = workspace_make();
    make_large(&w);
    struct outcome outcome = wait_program(&w, start_and_signal(&w, 200, SIGINT));
    ck_assert_msg(outcome.status == 130 || outcome.status == 0 || outcome.status == 1000 + SIGINT,
                  "status %d", outcome.status);
    if (outcome.status == 130) ck_assert_uint_eq(count_matches(&w, "out/*.part"), 0);
    check_whole(&w);
    outcome_free(&outcome);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_command");
    TCase *tests = tcase_create("compare_command");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, exit_statuses);
    tcase_add_test(tests, empty_dumps);
    tcase_add_test(tests, consistency_of_training_and_inference);
    tcase_add_test(tests, entries_without_a_partner);
    tcase_add_test(tests, idle_names_of_mappings);
    tcase_add_test(tests, the_first_output_whose_inputs_agree);
    tcase_add_test(tests, nothing_compared_is_no_success);
    tcase_add_test(tests, missing_tensors_are_told);
    tcase_add_test(tests, color_makes_a_workbook);
    tcase_add_test(tests, names_and_modes);
    tcase_add_test(tests, threads_change_nothing);
    tcase_add_test(tests, ranks_meet_by_number);
    tcase_add_test(tests, a_broken_rank_is_skipped);
    tcase_add_test(tests, mixed_trees_and_steps);
    tcase_add_loop_test(tests, comparison_files, 0, (int)(sizeof inputs / sizeof *inputs));
    tcase_add_test(tests, stacks_that_are_not_there);
    tcase_add_test(tests, lying_data_names);
    tcase_add_test(tests, formulas_in_names);
    tcase_add_test(tests, summary_as_json);
    tcase_add_test(tests, workbook_equals_csv);
    tcase_add_test(tests, killed_at_any_moment);
    tcase_add_test(tests, interrupted);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
