/* Whole runs of the program: order, lists, filter, saved data, exit statuses, and what goes on while a worker starts. */
#include <libgen.h>

#include "formats/tensor_file.h"
#include "support/dumps.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/suite.h"

/* A row per call in dump order, header and mark first, CR LF at each end. */
START_TEST(rows_stand_in_dump_order)
{
    struct workspace w = workspace_make();
    struct dump_text d;
    dump_begin(&d);
    dump_binary(&d, "sub", 7, 5);
    dump_binary(&d, "add", 3, 5);
    dump_binary(&d, "nonexistent_function", 0, 5);
    dump_binary(&d, "empty", 1, 5);
    dump_binary(&d, "add", 1, 5);
    dump_write(&d, in(&w, "dump.json"));
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "out", "-n", "2", NULL));

    char *result = result_text(&w, "out");
    static const char start[] = "\xef\xbb\xbf"
                                "API name,Forward Test Success,Backward Test Success,Message\r\n"
                                "Torch.sub.7,pass,pass\r\nTorch.add.3,pass,pass\r\n"
                                "Torch.nonexistent_function.0,SKIP,SKIP,";
    ck_assert_msg(!strncmp(result, start, strlen(start)), "%s", result);
    ck_assert_ptr_nonnull(strstr(result, "\r\nTorch.empty.1,SKIP,SKIP,"));
    ck_assert_ptr_nonnull(strstr(result, "uninitialised"));
    ck_assert_str_eq(strrchr(result, 'T'), "Torch.add.1,pass,pass\r\n");
    free(result);
    char *details = read_file(only_match(&w, "out/" DETAILS), NULL);
    static const char details_start[] = "\xef\xbb\xbf"
                                        "API Name,Bench Dtype,DEVICE Dtype,Shape,";
    ck_assert_msg(!strncmp(details, details_start, strlen(details_start)), "%s", details);
    static const char *const rows[] = {
        "Torch.sub.7.forward.output.0,torch.float64,torch.float32,\"(5,)\",",
        "Torch.sub.7.backward.output.0,torch.float64,torch.float32,\"(5,)\",",
        "Torch.sub.7.backward.output.1,torch.float64,torch.float32,\"(5,)\",",
        "Torch.add.3.forward.output.0,",
        "Torch.nonexistent_function.0.forward.output.0, , ,",
        "Torch.empty.1.forward.output.0, , ,",
        "Torch.add.1.forward.output.0,",
    };
    const char *at = details;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *row = strstr(at, rows[i]);
        ck_assert_msg(row && row[-1] == '\n', "row %s is not in its place", rows[i]);
        at = row;
    }
    free(details);

    struct stat st;
    ck_assert_int_eq(stat(in(&w, "out"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777 & ~0750u, 0);
    ck_assert_int_eq(stat(only_match(&w, "out/" RESULT), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777 & ~0640u, 0);
    workspace_remove(&w);
}
END_TEST

/* The number of threads changes nothing. */
START_TEST(threads_do_not_change_bytes)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), SANITIZED ? 60 : 600, 300);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "one", "-n", "1", NULL));
    static const char *const threads[] = { "2", "5", "32", "64" };
    for (int i = 0; i < 4; i++) {
        succeeded(run_program(&w, "multi_run_ut", "-api_info", "dump.json", "-o", threads[i], "-n",
                              threads[i], NULL));
        same_runs(&w, "one", threads[i]);
    }
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "seed", "--seed", "99", NULL));
    char *a = read_file(only_match(&w, "one/" DETAILS), NULL);
    char *b = read_file(only_match(&w, "seed/" DETAILS), NULL);
    ck_assert_str_ne(a, b);
    free(a);
    free(b);
    workspace_remove(&w);
}
END_TEST

static size_t count_text(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) count++;
    return count;
}

START_TEST(lists)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 8, 4);
    /* clang-format off */
    static const struct { const char *config; size_t skipped; const char *absent; } cases[] = {
        { "{\"run_ut\":{\"white_list\":[\"add\",\"mul\"]}}", 4, "Torch.add.0,SKIP" },
        { "{\"acc_check\":{\"black_list\":[\"add\"]}}", 2, "Torch.sub.2,SKIP" },
        /* The black list wins. */
        { "{\"run_ut\":{\"white_list\":[\"add\",\"sub\"],\"black_list\":[\"add\"]}}", 6,
          "Torch.sub.2,SKIP" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char directory[16];
        snprintf(directory, sizeof directory, "out%zu", i);
        write_text(in(&w, "config.json"), cases[i].config);
        succeeded(run_program(&w, "-api_info", "dump.json", "-config", "config.json", "-o",
                              directory, NULL));
        char *result = result_text(&w, directory);
        ck_assert_uint_eq(count_text(result, "in black list or not in white list. SKIP."),
                          cases[i].skipped);
        ck_assert_ptr_null(strstr(result, cases[i].absent));
        ck_assert_uint_eq(count_lines(result), 9);
        free(result);
    }
    workspace_remove(&w);
}
END_TEST

/* -f keeps the first of calls with equal structure. */
START_TEST(filter)
{
    struct workspace w = workspace_make();
    struct dump_text d;
    dump_begin(&d);
    dump_binary(&d, "add", 0, 4);
    dump_binary(&d, "add", 1, 4);
    dump_binary(&d, "add", 2, 5);
    dump_binary(&d, "mul", 0, 4);
    dump_write(&d, in(&w, "dump.json"));
    succeeded(run_program(&w, "-api_info", "dump.json", "-f", "-o", "out", NULL));
    char *result = result_text(&w, "out");
    ck_assert_ptr_nonnull(strstr(result, "Torch.add.0,"));
    ck_assert_ptr_null(strstr(result, "Torch.add.1,"));
    ck_assert_ptr_nonnull(strstr(result, "Torch.add.2,"));
    ck_assert_ptr_nonnull(strstr(result, "Torch.mul.0,"));
    free(result);
    workspace_remove(&w);
}
END_TEST

/* Precision of the configuration sets the decimals of the cells. */
START_TEST(precision)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 1, 4);
    write_text(in(&w, "config.json"), "{\"run_ut\":{\"precision\":3}}");
    succeeded(
        run_program(&w, "-api_info", "dump.json", "-config", "config.json", "-o", "out", NULL));
    char *details = read_file(only_match(&w, "out/" DETAILS), NULL);
    ck_assert_ptr_nonnull(strstr(details, ",1.000,"));
    ck_assert_ptr_null(strstr(details, "1.00000000000000"));
    free(details);
    workspace_remove(&w);
}
END_TEST

/* ---- saved data and exit statuses ------------------------------------------------------- */

/* A saved tensor: shape and dtype as expected. */
static void saved(const struct workspace *w, const char *name, enum dtype dtype, int rank,
                  const int64_t *shape)
{
    char pattern[256];
    struct arena arena = { 0 };
    struct file_map map;
    struct tensor tensor;
    snprintf(pattern, sizeof pattern, "ut_error_data*/%s.pt", name);
    struct status status =
        tensor_file_read(&tensor, &map, &arena, only_match(w, pattern), FILES_TRUSTED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(tensor.dtype, dtype);
    ck_assert_int_eq(tensor.rank, rank);
    for (int i = 0; i < rank; i++) ck_assert_int_eq(tensor.shape[i], shape[i]);
    file_unmap(&map);
    arena_release(&arena);
}

/* Tensors of calls that are no pass, with keyword tensors counted on behind the positional ones.
 * A cosine above 2 is asked for here, so every call is an error. */
START_TEST(error_data)
{
    static const int64_t matrix[] = { 2, 3 }, vector[] = { 3 };
    struct workspace w = workspace_make();
    struct dump_text d;
    dump_begin(&d);
    dump_entry(&d, "Functional.layer_norm.0.forward",
               "\"input_args\":[{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float16\","
               "\"shape\":[2,3],\"Max\":4.0,\"Min\":-4.0,\"Mean\":0.0,\"Norm\":1.0,"
               "\"requires_grad\":true},[{\"type\":\"int\",\"value\":3}]],\"input_kwargs\":{"
               "\"weight\":{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float16\",\"shape\":[3],"
               "\"Max\":2.0,\"Min\":1.0,\"Mean\":1.0,\"Norm\":1.0,\"requires_grad\":true}},"
               "\"output\":[]");
    dump_entry(&d, "Functional.layer_norm.0.backward",
               "\"input\":[{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float16\",\"shape\":[2,3],"
               "\"Max\":1.0,\"Min\":-1.0,\"Mean\":0.0,\"Norm\":1.0,\"requires_grad\":false}],"
               "\"output\":[]");
    dump_write(&d, in(&w, "dump.json"));
    write_text(in(&w, "limits.json"), "{\"overrides\":[{\"limits\":{\"cosine\":2}}]}");
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "-save_error_data",
                                   "--thresholds", "limits.json", "--fail-on", "error", NULL);
    ck_assert_msg(o.status == 1, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    saved(&w, "Functional.layer_norm.0.forward.input.0", DT_F16, 2, matrix);
    saved(&w, "Functional.layer_norm.0.forward.input.2", DT_F16, 1, vector);
    saved(&w, "Functional.layer_norm.0.forward.output.bench.0", DT_F32, 2, matrix);
    saved(&w, "Functional.layer_norm.0.forward.output.device.0", DT_F16, 2, matrix);
    saved(&w, "Functional.layer_norm.0.backward.input.0", DT_F16, 2, matrix);
    saved(&w, "Functional.layer_norm.0.backward.output.bench.0", DT_F32, 2, matrix);
    saved(&w, "Functional.layer_norm.0.backward.output.bench.1", DT_F32, 1, vector);
    saved(&w, "Functional.layer_norm.0.backward.output.device.1", DT_F16, 1, vector);
    workspace_remove(&w);
}
END_TEST

START_TEST(fail_on)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 4);
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "out", "--fail-on", "warning", NULL);
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* The stack.json beside a dump says which line made a call that fails: in the summary, the evidence, a JUnit
 * report and `case`. One that cannot be read is a warning and changes nothing else. */
START_TEST(lines_that_made_the_calls)
{
    static const char line[] = "called from models.py:73 in forward: x = a + b";
    struct workspace w = workspace_make();
    char command[900];
    snprintf(command, sizeof command, "cp '%s/dumps/m2_bf16/L1_statistics/dump.json' '%s/'",
             PROBE_TEST_DATA, w.path);
    ck_assert_int_eq(system(command), 0);
    write_text(in(&w, "stack.json"),
               "{\"0\": [[\"Tensor.__add__.0.forward\", \"Tensor.__add__.1.forward\", "
               "\"Tensor.__add__.2.forward\", \"Tensor.__add__.3.forward\", "
               "\"Tensor.__add__.4.forward\"], "
               "[\"File msprobe/core/x.py, line 96, in f, \\n return call()\", "
               "\"File models.py, line 73, in forward, \\n x = a + b\"]]}");
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "with", "--junit", "report.xml", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_msg(strstr(o.out, line) != NULL, "%s", o.out);
    outcome_free(&o);
    char *evidence = read_file(only_match(&w, "with/*evidence*"), NULL);
    ck_assert_ptr_nonnull(
        strstr(evidence, "\"called from\":\"models.py:73 in forward: x = a + b\""));
    free(evidence);
    char *report = read_file(in(&w, "report.xml"), NULL);
    ck_assert_ptr_nonnull(strstr(report, line));
    free(report);

    write_text(in(&w, "stack.json"), "{\"0\": [[\"Tensor.__add__.0.forward\"");
    o = run_program(&w, "-api_info", "dump.json", "-o", "without", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, "stack.json") && strstr(o.err, "lines that made the calls"), "%s",
                  o.err);
    ck_assert_ptr_null(strstr(o.out, line));
    outcome_free(&o);
    assert_same_files(only_match(&w, "with/*details*"), only_match(&w, "without/*details*"));
    workspace_remove(&w);
}
END_TEST

/* What a device calls itself stands in the run file and in the summary, once for all threads. */
START_TEST(the_device_says_what_it_is)
{
    struct workspace w = workspace_make();
    char backend[600], ut[] = PROBE_UT;
    snprintf(backend, sizeof backend, "worker:%s/tests/plugin/worker-peer well", dirname(ut));
    write_many_calls(in(&w, "dump.json"), 3, 5);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--backend", backend,
                                   "-n", "2", NULL);
    ck_assert_msg(o.status == 0 || o.status == 5, "%d %s", o.status, o.err);
    ck_assert_msg(strstr(o.out, ", device peer\n") != NULL, "%s", o.out);
    outcome_free(&o);
    char *record = read_file(only_match(&w, "out/accuracy_checking_run_*.json"), NULL);
    ck_assert_msg(strstr(record, "\"peer\"") != NULL, "%s", record);
    free(record);
    workspace_remove(&w);
}
END_TEST

/* A run of 20 calls on one worker that greets in some way, when the program has ten threads. */
static struct outcome run_late(const struct workspace *w, const char *greeting, const char *out)
{
    char backend[600], ut[] = PROBE_UT;
    snprintf(backend, sizeof backend, "worker:%s/tests/plugin/worker-peer %s 10", dirname(ut),
             greeting);
    return run_program(w, "-api_info", "dump.json", "-o", out, "--backend", backend, "-n", "1",
                       NULL);
}

/* While a worker starts there is work for more calls than it will take at a time. The files are the same. */
START_TEST(calls_go_ahead_of_a_worker)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 20, 5);
    struct outcome late = run_late(&w, "late", "late"), well = run_late(&w, "well", "well");
    ck_assert_msg(late.status == 0 || late.status == 5, "%d %s", late.status, late.err);
    ck_assert_int_eq(well.status, late.status);
    outcome_free(&late);
    outcome_free(&well);
    assert_same_files(only_match(&w, "late/*details*"), only_match(&w, "well/*details*"));
    assert_same_files(only_match(&w, "late/*result*"), only_match(&w, "well/*result*"));
    workspace_remove(&w);
}
END_TEST

/* What is known by then is in no file: a worker that does not start is a line and leaves nothing. */
START_TEST(a_worker_that_does_not_start_leaves_nothing)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 20, 5);
    struct outcome o = run_late(&w, "too_late", "out");
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "no such device: 7") != NULL, "%s", o.err);
    outcome_free(&o);
    ck_assert_int_ne(access(in(&w, "out"), F_OK), 0);
    workspace_remove(&w);
}
END_TEST

/* Nor does one that is interrupted before the worker has started. */
START_TEST(a_start_can_be_interrupted)
{
    struct workspace w = workspace_make();
    char backend[600], ut[] = PROBE_UT;
    snprintf(backend, sizeof backend, "worker:%s/tests/plugin/worker-peer never", dirname(ut));
    write_many_calls(in(&w, "dump.json"), 20, 5);
    pid_t child = fork();
    if (!child) {
        if (chdir(w.path)) _exit(1);
        execl(PROBE_UT, PROBE_UT, "-api_info", "dump.json", "-o", "out", "--backend", backend,
              (char *)NULL);
        _exit(1);
    }
    int status = 0;
    usleep(500000);
    ck_assert_int_eq(kill(child, SIGINT), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) ? WTERMSIG(status) == SIGINT : WEXITSTATUS(status) == 130,
                  "status %x", status);
    ck_assert_int_ne(access(in(&w, "out"), F_OK), 0);
    workspace_remove(&w);
}
END_TEST

/* Large libraries are loaded by the first call into them: sums need none, and of a decoder whose references pairs
 * certify no element needs balls. (FLINT 3 is linked and has no library of this name.) */
START_TEST(libraries_come_when_they_are_used)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 4);
    unsetenv("OMP_NUM_THREADS"); /* with which the build of OpenBLAS is asked for */
    setenv("LD_DEBUG", "files", 1);
    struct outcome sums = run_program(&w, "-api_info", "dump.json", "-o", "sums", NULL);
    struct outcome decoder = run_program(&w, "-api_info",
                                         PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json", "-o",
                                         "decoder", NULL);
    unsetenv("LD_DEBUG");
    ck_assert_ptr_nonnull(strstr(sums.err, "libsleef")); /* the linker does tell */
    ck_assert_ptr_null(strstr(sums.err, "libopenblas"));
    ck_assert_ptr_null(strstr(sums.err, "libflint-arb"));
    ck_assert_ptr_nonnull(strstr(decoder.err, "libopenblas"));
    ck_assert_ptr_null(strstr(decoder.err, "libflint-arb"));
    outcome_free(&sums);
    outcome_free(&decoder);
    workspace_remove(&w);
}
END_TEST

START_TEST(timings_have_a_row_per_call)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 4);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "out", "--timings", "t.csv", NULL));
    char *text = read_file(in(&w, "t.csv"), NULL);
    ck_assert_uint_eq(count_lines(text), 5);
    ck_assert_ptr_nonnull(strstr(text, "\r\nTorch.mul.1,0."));
    free(text);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, rows_stand_in_dump_order);
    tcase_add_test(tests, threads_do_not_change_bytes);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, filter);
    tcase_add_test(tests, precision);
    tcase_add_test(tests, error_data);
    tcase_add_test(tests, fail_on);
    tcase_add_test(tests, lines_that_made_the_calls);
    tcase_add_test(tests, the_device_says_what_it_is);
    tcase_add_test(tests, calls_go_ahead_of_a_worker);
    tcase_add_test(tests, a_worker_that_does_not_start_leaves_nothing);
    tcase_add_test(tests, a_start_can_be_interrupted);
    tcase_add_test(tests, libraries_come_when_they_are_used);
    tcase_add_test(tests, timings_have_a_row_per_call);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
