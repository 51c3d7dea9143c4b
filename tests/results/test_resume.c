/* Runs as their user meets them again: resumed without some of the files or with those of others,
 * files in odd places, warnings that count as failures, and what a terminal shows. */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include <cjson/cJSON.h>

#include "support/dumps.h"
#include "support/suite.h"

#define RESULT   "accuracy_checking_result_*.csv"
#define DETAILS  "accuracy_checking_details_*.csv"
#define EVIDENCE "accuracy_checking_evidence_*.jsonl"
#define RUN      "accuracy_checking_run_*.json"

static void succeeded(struct outcome o)
{
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
}

static const char *file_of(const struct workspace *w, const char *directory, const char *pattern)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, pattern);
    return only_match(w, path);
}

/* Two runs of twelve calls; of the second one a file is taken away. */
struct pair {
    struct workspace w;
    char result[512]; /* of the second run */
};

static struct pair pair_make(const char *missing)
{
    struct pair p = { .w = workspace_make() };
    write_many_calls(in(&p.w, "dump.json"), 12, 5);
    succeeded(run_program(&p.w, "-api_info", "dump.json", "-o", "whole", NULL));
    succeeded(run_program(&p.w, "-api_info", "dump.json", "-o", "part", NULL));
    snprintf(p.result, sizeof p.result, "%s", file_of(&p.w, "part", RESULT));
    ck_assert_int_eq(unlink(file_of(&p.w, "part", missing)), 0);
    return p;
}

static void same_files(const struct pair *p, const char *pattern)
{
    assert_same_files(file_of(&p->w, "whole", pattern), file_of(&p->w, "part", pattern));
}

/* Without its details file no result row is believed, and all are made again. */
START_TEST(without_details)
{
    struct pair p = pair_make(DETAILS);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 0 of 12 calls are done, "));
    ck_assert_ptr_nonnull(
        strstr(o.out, " of unfinished rows were cut off, the details file is written anew\n"));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    same_files(&p, EVIDENCE);
    workspace_remove(&p.w);
}
END_TEST

/* Rows outlive their evidence, and its place says how to see it again. */
START_TEST(without_evidence)
{
    struct pair p = pair_make(EVIDENCE);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done"));
    ck_assert_ptr_nonnull(strstr(o.err, "the evidence of 11 finished calls is lost"));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    char *evidence = read_file(file_of(&p.w, "part", EVIDENCE), NULL);
    static const char first[] = "{\"name\":\"Torch.add.0.forward.output.0\",\"verdict\":\"pass\","
                                "\"repeat\":\"probe-ut case "
                                "-api_info dump.json --name Torch.add.0\",\"lost\":true}\n";
    ck_assert_int_eq(strncmp(evidence, first, sizeof first - 1), 0);
    size_t lines = 0;
    for (const char *at = evidence; (at = strchr(at, '\n')); at++) lines++;
    char *whole = read_file(file_of(&p.w, "whole", EVIDENCE), NULL);
    for (const char *at = whole; (at = strchr(at, '\n')); at++) lines--;
    ck_assert_uint_eq(lines, 0);
    free(evidence);
    free(whole);
    /* And once more: lines that tell of a loss are evidence as good as any. */
    o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done"));
    ck_assert_ptr_null(strstr(o.err, "is lost"));
    outcome_free(&o);
    workspace_remove(&p.w);
}
END_TEST

/* A result file is made again from the others. */
START_TEST(without_results)
{
    struct pair p = pair_make(RESULT);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done, "));
    ck_assert_ptr_nonnull(strstr(o.out, "11 result rows made again"));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    same_files(&p, EVIDENCE);
    workspace_remove(&p.w);
}
END_TEST

/* A run file that is torn is as good as none, and is written again. */
START_TEST(torn_run_files)
{
    static const char *const texts[] = { "", "{\"version\": ", "[]", "\"version\"" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct pair p = pair_make(RUN);
        char run[512];
        snprintf(run, sizeof run, "%s", p.result);
        memcpy(strstr(run, "result_"), "run_", 4);
        memmove(strstr(run, "run_") + 4, strstr(run, "run_") + 7, 15);
        memcpy(strstr(run, "run_") + 18, ".json", 6);
        write_text(run, texts[i]);
        struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        ck_assert_ptr_nonnull(strstr(o.err, "there is no readable "));
        ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done"));
        outcome_free(&o);
        same_files(&p, RESULT);
        same_files(&p, DETAILS);
        same_files(&p, EVIDENCE);
        char *record = read_file(run, NULL);
        ck_assert_ptr_nonnull(strstr(record, "\"dump_digest\""));
        free(record);
        workspace_remove(&p.w);
    }
}
END_TEST

/* The timings of a run are continued with it; a file of something else is not touched. */
START_TEST(timings_are_continued)
{
    static const char header[] = "API name,inputs s,reference s,device s,comparison s\r\n";
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 5);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "out", "--timings", "t.csv", NULL));
    char result[512];
    snprintf(result, sizeof result, "%s", file_of(&w, "out", RESULT));
    for (int torn = 0; torn < 4; torn++) {
        size_t length;
        char *before = read_file(in(&w, "t.csv"), &length);
        if (torn == 1) write_file(in(&w, "t.csv"), before, length - 20); /* in its last row */
        if (torn == 2) write_file(in(&w, "t.csv"), before, 10);          /* in its header */
        if (torn == 3) { /* whole pages of its header never reached the disk */
            memset(before + 10, 0, length - 10);
            write_file(in(&w, "t.csv"), before, length);
        }
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-csv_path", result,
                                       "--timings", "t.csv", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        char *after = read_file(in(&w, "t.csv"), NULL);
        size_t rows = 0;
        for (const char *at = after; (at = strstr(at, "\r\n")); at += 2) rows++;
        ck_assert_uint_eq(rows, torn >= 2 ? 2 : 13);
        ck_assert_int_eq(strncmp(after, header, sizeof header - 1), 0);
        free(before);
        free(after);
    }
    write_text(in(&w, "t.csv"), "mine\n");
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-csv_path", result, "--timings", "t.csv", NULL);
    ck_assert_int_eq(o.status, 2);
    outcome_free(&o);
    char *mine = read_file(in(&w, "t.csv"), NULL);
    ck_assert_str_eq(mine, "mine\n");
    free(mine);
    workspace_remove(&w);
}
END_TEST

/* Without a run file nobody knows the options of the run: all but the last call are kept, with a
 * warning. */
START_TEST(without_a_run_file)
{
    struct pair p = pair_make(RUN);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.err, "/part/accuracy_checking_run_"));
    ck_assert_ptr_nonnull(
        strstr(o.err, "so nothing tells whether these files are of the same run"));
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done, "));
    ck_assert_ptr_nonnull(strstr(o.out, "\n1 call in "));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    workspace_remove(&p.w);
}
END_TEST

/* Rows of the peer, with its verdicts and spellings, count as the others do. */
START_TEST(verdicts_of_the_peer_count)
{
    static const char *const rows[] = { "Torch.add.0,Warning,pass", "Torch.mul.1,error,SKIP",
                                        "Torch.sub.2,pass,pass" };
    static const char *const options[] = { "error", "warning" };
    for (int k = 0; k < 2; k++) {
        struct workspace w = workspace_make();
        char result[1000] = "API name,Forward Test Success,Backward Test Success,Message\n";
        char details[4000] = "API Name";
        write_many_calls(in(&w, "dump.json"), 12, 5);
        for (int i = 0; i < 22; i++) strcat(details, ",x");
        for (int i = 0; i < 3; i++) {
            size_t name = strlen("Torch.add.0");
            if (i == 1 && k) continue; /* without its error */
            snprintf(result + strlen(result), sizeof result - strlen(result), "%s\n", rows[i]);
            snprintf(details + strlen(details), sizeof details - strlen(details),
                     "\n%.*s.forward.output.0", (int)name, rows[i]);
            for (int c = 0; c < 22; c++) strcat(details, ", ");
        }
        strcat(details, "\n");
        write_text(in(&w, "accuracy_checking_result_20240102030405.csv"), result);
        write_text(in(&w, "accuracy_checking_details_20240102030405.csv"), details);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-csv_path",
                                       "accuracy_checking_result_20240102030405.csv", "--fail-on",
                                       options[k], NULL);
        ck_assert_msg(o.status == 1, "%d: %s", o.status, o.err);
        ck_assert_ptr_nonnull(strstr(o.out, k ? "resuming: 1 of 12" : "resuming: 2 of 12"));
        ck_assert_ptr_nonnull(
            strstr(o.out, k ? "forward          11        1        0        0        0\n"
                              "backward         12        0        0        0        0\n"
                            : "forward          10        1        1        0        0\n"
                              "backward         11        0        0        1        0\n"));
        ck_assert_ptr_nonnull(strstr(o.out, "\nreferences (of this part of the run): "));
        outcome_free(&o);
        /* The other direction: a warning alone is no failure for --fail-on error. */
        if (k) {
            o = run_program(&w, "-api_info", "dump.json", "-csv_path",
                            "accuracy_checking_result_20240102030405.csv", "--fail-on", "error",
                            NULL);
            ck_assert_int_eq(o.status, 0);
            outcome_free(&o);
        }
        workspace_remove(&w);
    }
}
END_TEST

/* The run file says for people what was run, where and when; a run that is resumed elsewhere, by another
 * path or later is the same run. */
START_TEST(run_files_tell_runs_apart)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "my dump.json"), 4, 5);
    succeeded(run_program(&w, "-api_info", "my dump.json", "-o", "out", NULL));
    char *text = read_file(only_match(&w, "out/" RUN), NULL);
    cJSON *record = cJSON_Parse(text);
    const cJSON *about = cJSON_GetObjectItem(record, "about");
    ck_assert_str_eq(cJSON_GetObjectItem(about, "dump")->valuestring, in(&w, "my dump.json"));
    const char *command = cJSON_GetObjectItem(about, "command")->valuestring;
    ck_assert_ptr_nonnull(strstr(command, " -api_info 'my dump.json' -o out"));
    static const char form[] = "0000-00-00T00:00:00";
    const char *date = cJSON_GetObjectItem(about, "date")->valuestring;
    for (size_t i = 0; i < sizeof form - 1; i++)
        ck_assert_msg(form[i] == '0' ? date[i] >= '0' && date[i] <= '9' : date[i] == form[i], "%s",
                      date);
    char host[256];
    ck_assert_int_eq(gethostname(host, sizeof host), 0);
    ck_assert_str_eq(cJSON_GetObjectItem(about, "host")->valuestring, host);
    cJSON_Delete(record);
    free(text);
    ck_assert_int_eq(rename(in(&w, "my dump.json"), in(&w, "moved.json")), 0);
    struct outcome o = run_program(&w, "-api_info", "moved.json", "-csv_path",
                                   only_match(&w, "out/" RESULT), NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A limit for an API that does not exist is a mistake in writing, at its place. */
START_TEST(thresholds_name_apis)
{
    static const struct {
        const char *api, *says;
    } rows[] = { { "\"addd\"",
                   "limits.json:1: overrides[0].api: there is no API 'addd', the nearest "
                   "is 'add'" },
                 { "[\"add\", \"Torch.add\"]", "overrides[0].api[1]: there is no API 'Torch.add'" },
                 { "[\"add\", \"linalg.inv\", \"__iadd__\"]", NULL } };
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"overrides\":[{\"api\":%s,\"limits\":{\"thousandth\":0}}]}",
                 rows[i].api);
        write_text(in(&w, "limits.json"), text);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--thresholds",
                                       "limits.json", NULL);
        ck_assert_msg(o.status == (rows[i].says ? 3 : 0), "%d %s", o.status, o.err);
        if (rows[i].says) ck_assert_msg(strstr(o.err, rows[i].says) != NULL, "%s", o.err);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* A directory with a slash at its end, and files named without a directory. */
START_TEST(names_with_and_without_a_directory)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 5);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out/", NULL);
    ck_assert_msg(!strncmp(o.out, "results: out/accuracy_checking_result_", 38), "%s", o.out);
    outcome_free(&o);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", ".", NULL));
    const char *path = only_match(&w, RESULT);
    o = run_program(&w, "-api_info", "dump.json", "-csv_path", strrchr(path, '/') + 1, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 3 of 4 calls are done"));
    outcome_free(&o);
    assert_same_files(path, only_match(&w, "out/" RESULT));
    assert_same_files(only_match(&w, DETAILS), only_match(&w, "out/" DETAILS));
    workspace_remove(&w);
}
END_TEST

/* A warning: no value may be off at all. Its tensors are saved, where the configuration says, it is a failure when
 * asked for, and the command in the evidence that repeats it says how the run was. */
START_TEST(warnings)
{
    struct workspace w = workspace_make();
    struct dump_text d;
    char body[1000];
    static const char *const half =
        "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float16\",\"shape\":[400],\"Max\":2,"
        "\"Min\":-2,\"Mean\":0,\"Norm\":1,\"requires_grad\":true}";
    dump_begin(&d);
    snprintf(body, sizeof body, "\"input_args\":[%s],\"input_kwargs\":{},\"output\":[]", half);
    dump_entry(&d, "Torch.exp.0.forward", body);
    snprintf(body, sizeof body, "\"input\":[%s],\"output\":[]", half);
    dump_entry(&d, "Torch.exp.0.backward", body);
    dump_write(&d, in(&w, "dump.json"));
    write_text(in(&w, "limits.json"),
               "{\"overrides\":[{\"limits\":{\"thousandth\":0,\"max_abs_error\":0}}]}");
    write_text(in(&w, "config.json"), "{\"run_ut\":{\"error_data_path\":\"saved\"}}");
    ck_assert_int_eq(mkdir(in(&w, "saved"), 0750), 0);
    static const int statuses[] = { 0, 1 };
    for (int k = 0; k < 2; k++) {
        char directory[16], pattern[64];
        snprintf(directory, sizeof directory, "out%d", k);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", directory, "--profile",
                                       "v2", "--thresholds", "limits.json", "-config",
                                       "config.json", "--seed", "77", "-save_error_data",
                                       "--fail-on", k ? "warning" : "error", NULL);
        ck_assert_msg(o.status == statuses[k], "status %d: %s", o.status, o.err);
        ck_assert_ptr_nonnull(strstr(o.out,
                                     "forward           0        1        0        0        0\n"
                                     "backward          0        1        0        0        0\n"));
        ck_assert_ptr_nonnull(strstr(o.out, "\n  saved/ut_error_data"));
        outcome_free(&o);
        snprintf(pattern, sizeof pattern, "%s/" EVIDENCE, directory);
        char *evidence = read_file(only_match(&w, pattern), NULL);
        ck_assert_ptr_nonnull(strstr(
            evidence, "\"repeat\":\"probe-ut case -api_info dump.json --profile v2 --thresholds "
                      "limits.json --config_path config.json --seed 77 --name Torch.exp.0\""));
        ck_assert_ptr_nonnull(strstr(evidence, "\"error over what rounding explains\":"));
        free(evidence);
    }
    ck_assert_uint_eq(
        count_matches(&w, "saved/ut_error_data*/Torch.exp.0.backward.output.device.0.pt"),
        count_matches(&w, "saved/*"));
    workspace_remove(&w);
}
END_TEST

/* Calls of groups that cannot run alone, by their type. */
START_TEST(groups_that_are_never_checked)
{
    static const struct {
        const char *call, *message;
        /* clang-format off */
    } rows[] = {
        { "Distributed.all_reduce.0", "API Distributed.all_reduce.0 not support for run ut. SKIP. It needs the ranks of its process group; check its inputs and outputs by comparing the dumps of the "
          "ranks." },
        { "MindSpeed.swiglu.0", "API MindSpeed.swiglu.0 not support for run ut. SKIP. MindSpeed operators are checked with --profile strict." },
        { "VF.lstm.0", "Bench output is None, skip this test. (VF.lstm.0 is a call of torch._VF, which is not executed; record the model with its cell operators, or compare dumps.)" },
        { "Mint.add.0", "API Mint.add.0 not support for run ut. SKIP. It belongs to MindSpore." },
        { "a.b", "API a.b not support for run ut. SKIP." },
        { "Torch.a.b.c.0", "API Torch.a.b.c.0 not support for run ut. SKIP." },
        { "Tensor.new_empty.0", "API Tensor.new_empty.0 not support for run ut. SKIP. It returns uninitialised memory, there is nothing to compare." },
    };
    /* clang-format on */
    struct workspace w = workspace_make();
    struct dump_text d;
    dump_begin(&d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s.forward", rows[i].call);
        dump_entry(&d, name, "\"input_args\":[],\"input_kwargs\":{},\"output\":[]");
    }
    dump_write(&d, in(&w, "dump.json"));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == 5, "status %d: %s", o.status, o.err); /* no verdict */
    outcome_free(&o);
    char *result = read_file(only_match(&w, "out/" RESULT), NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[300], quoted[300];
        snprintf(line, sizeof line, "%s,SKIP,SKIP,%s\r\n", rows[i].call, rows[i].message);
        snprintf(quoted, sizeof quoted, "%s,SKIP,SKIP,\"%s\"\r\n", rows[i].call, rows[i].message);
        ck_assert_msg(strstr(result, line) || strstr(result, quoted), "%s", result);
    }
    free(result);
    /* Strict runs torch._VF and MindSpeed: the faults of these calls are others. */
    o = run_program(&w, "-api_info", "dump.json", "-o", "strict", "--profile", "strict", NULL);
    outcome_free(&o);
    result = read_file(only_match(&w, "strict/" RESULT), NULL);
    ck_assert_msg(strstr(result, "VF.lstm.0,SKIP,SKIP,argument 'input' is missing"), "%s", result);
    ck_assert_msg(
        strstr(result,
               "MindSpeed.swiglu.0,SKIP,SKIP,there is no bench function for MindSpeed.swiglu"),
        "%s", result);
    free(result);
    workspace_remove(&w);
}
END_TEST

/* An interruption does not wait for a device that hangs: the program ends with 130 and a hint. A signal that it was
 * started to ignore is none. */
START_TEST(interrupted_while_a_device_hangs)
{
    struct workspace w = workspace_make();
    struct timespec begin, end;
    write_many_calls(in(&w, "dump.json"), 3, 5);
    char *argv[] = { (char *)"probe-ut",
                     (char *)"-api_info",
                     (char *)"dump.json",
                     (char *)"-o",
                     (char *)"out",
                     (char *)"--backend",
                     (char *)"worker:sh -c 'read hello; echo {\\\"protocol\\\":1}; read call; "
                             "touch called; sleep 20'",
                     NULL };
    ck_assert(signal(SIGHUP, SIG_IGN) != SIG_ERR); /* as nohup does; children inherit it */
    pid_t pid = start_program(&w, argv);
    ck_assert(signal(SIGHUP, SIG_DFL) != SIG_ERR);
    while (access(in(&w, "called"), F_OK)) ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(kill(pid, SIGHUP), 0);
    const struct timespec longer_than_grace = { .tv_sec = 1, .tv_nsec = 500 * 1000 * 1000 };
    nanosleep(&longer_than_grace, NULL);
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &begin), 0);
    ck_assert_int_eq(kill(pid, SIGINT), 0);
    struct outcome o = wait_program(&w, pid);
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &end), 0);
    ck_assert_msg(o.status == 130, "status %d: %s", o.status, o.err);
    ck_assert_int_lt((int)(end.tv_sec - begin.tv_sec), 15);
    ck_assert_ptr_nonnull(
        strstr(o.err, "interrupted, with 0 of 3 calls done; to resume, give the same options and "
                      "-csv_path out/accuracy_checking_result_"));
    outcome_free(&o);
    ck_assert_uint_eq(count_matches(&w, "out/*"), 4);
    workspace_remove(&w);
}
END_TEST

/* What fails and what is skipped, as a summary lists it with and without a tree of dumps. */
static char *told_of(const struct outcome *o)
{
    const char *start = strstr(o->out, "\nfailing: "),
               *end = start ? strstr(start, "\nfiles\n") : 0;
    if (start && !end) end = strstr(start, "\n2 dumps of ");
    ck_assert_msg(start && end, "%s", o->out);
    return strndup(start, (size_t)(end - start));
}

static void copy_dump(const struct workspace *w, const char *name)
{
    size_t bytes;
    char path[300],
        *text = read_file(PROBE_TEST_DATA "/dumps/m2_bf16/L1_statistics/dump.json", &bytes);
    snprintf(path, sizeof path, "dumps/%s", name);
    ck_assert(!mkdir(in(w, path), 0755));
    snprintf(path, sizeof path, "dumps/%s/dump.json", name);
    write_text(in(w, path), text);
    free(text);
}

/* A run that is resumed tells of all its calls, not only of those that it did last. */
START_TEST(the_summary_is_of_all_calls)
{
    struct workspace w = workspace_make();
    ck_assert(!mkdir(in(&w, "dumps"), 0755));
    copy_dump(&w, "rank0");
    copy_dump(&w, "rank1");
    const char *input = _i ? "dumps" : "dumps/rank1/dump.json";
    struct outcome o = run_program(&w, "-api_info", input, "-o", "out", NULL);
    char *whole = told_of(&o);
    outcome_free(&o);
    const char *result = file_of(&w, _i ? "out/rank1" : "out", RESULT);
    struct stat st;
    ck_assert(!stat(result, &st) && !truncate(result, st.st_size / 2));
    ck_assert(!truncate(file_of(&w, _i ? "out/rank1" : "out", DETAILS), st.st_size));
    o = run_program(&w, "-api_info", input, "-csv_path", "out", NULL);
    char *resumed = told_of(&o);
    ck_assert_str_eq(resumed, whole);
    outcome_free(&o);
    free(whole);
    free(resumed);
    workspace_remove(&w);
}
END_TEST

/* ---- terminals ------------------------------------------------------------------------------ */

/* Run the program on a pseudo-terminal; all that it shows there. */
static char *shown_on_a_terminal(const struct workspace *w, const char *option, const char *value,
                                 bool no_color)
{
    static char text[100000];
    size_t length = 0;
    int status, terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    ck_assert_int_eq(grantpt(terminal), 0);
    ck_assert_int_eq(unlockpt(terminal), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        int own = open(ptsname(terminal), O_RDWR);
        if (own < 0 || dup2(own, 1) < 0 || dup2(own, 2) < 0 || chdir(w->path)) _exit(98);
        if (no_color ? setenv("NO_COLOR", "1", 1) : unsetenv("NO_COLOR")) _exit(97);
        execl(PROBE_UT, "probe-ut", "-api_info", "dump.json", "-o", "out", option, value,
              (char *)NULL);
        _exit(96);
    }
    for (;;) { /* until EIO: the other end is closed */
        ssize_t got = read(terminal, text + length, sizeof text - 1 - length);
        if (got < 0 && errno == EINTR) continue;
        /* Nobody has opened the other end yet, or nobody has it open any more. */
        if (got <= 0 && waitpid(pid, &status, WNOHANG) == 0) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    close(terminal);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    text[length] = '\0';
    return text;
}

/* Colours and a progress line that is redrawn and taken away, unless they are not wanted. */
START_TEST(terminals)
{
    static const struct {
        const char *option, *value;
        bool no_color, colors, progress;
        /* clang-format off */
    } rows[] = {
        { NULL, NULL, false, true, true },          { NULL, NULL, true, false, true },
        { "--color", "never", false, false, true }, { "--color", "always", true, true, true },
        { "--no-progress", NULL, false, true, false },
    };
    /* clang-format on */
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        printf("no pseudo-terminals here: not tested\n");
        return;
    }
    close(terminal);
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = shown_on_a_terminal(&w, rows[i].option, rows[i].value, rows[i].no_color);
        ck_assert_msg((strstr(text, "\033[32m      12\033[0m") != NULL) == rows[i].colors,
                      "row %zu: %s", i, text);
        ck_assert_msg((strstr(text, "/12  failing 0") != NULL) == rows[i].progress, "row %zu: %s",
                      i, text);
        ck_assert_int_eq(strstr(text, "\r\033[K") != NULL, rows[i].progress);
        ck_assert_ptr_null(strstr(text, " % (")); /* the lines of a log */
        if (!rows[i].colors) ck_assert_ptr_null(strstr(text, "\033[3"));
    }
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "out", "--color", "always", NULL);
    ck_assert_ptr_nonnull(strstr(o.out, "\033[32m      12\033[0m"));
    ck_assert_ptr_null(strstr(o.err, "\r\033[K")); /* the line of a terminal */
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_ptr_null(strstr(o.out, "\033"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* "blas_core" of the run file in `directory`: whether there is one that is not empty. */
static bool names_core(const struct workspace *w, const char *directory)
{
    char *text = read_file(file_of(w, directory, RUN), NULL);
    cJSON *record = cJSON_Parse(text);
    const cJSON *core = cJSON_GetObjectItemCaseSensitive(record, "blas_core");
    bool named = core && cJSON_IsString(core) && *core->valuestring;
    cJSON_Delete(record);
    free(text);
    return named;
}

/* Sums of two tensors owe the kernels of BLAS nothing, which are not even loaded; products do. The end of the report
 * says the same. */
START_TEST(kernels_are_named_once_they_are_used)
{
    static const char *const products = PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json";
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 5);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "sums", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(!strstr(o.out, "BLAS core"), "%s", o.out);
    outcome_free(&o);
    ck_assert(!names_core(&w, "sums"));
    o = run_program(&w, "-api_info", products, "-o", "products", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(strstr(o.out, "BLAS core") != NULL, "%s", o.out);
    outcome_free(&o);
    ck_assert(names_core(&w, "products"));
    workspace_remove(&w);
}
END_TEST

/* What is left of a run that died before it used the kernels is continued on any, and names them then. */
START_TEST(kernels_are_named_by_a_run_that_goes_on)
{
    struct workspace w = workspace_make();
    char path[512];
    write_many_calls(in(&w, "dump.json"), 12, 5);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "sums", NULL));
    snprintf(path, sizeof path, "%s", file_of(&w, "sums", RESULT));
    unlink(file_of(&w, "sums", DETAILS));
    succeeded(run_program(&w, "-api_info", "dump.json", "-csv_path", path, NULL));
    ck_assert(!names_core(&w, "sums"));

    static const char *const products = PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json";
    succeeded(run_program(&w, "-api_info", products, "-o", "products", NULL));
    snprintf(path, sizeof path, "%s", file_of(&w, "products", RESULT));
    const char *run = file_of(&w, "products", RUN);
    char *text = read_file(run, NULL);
    cJSON *record = cJSON_Parse(text);
    cJSON_DeleteItemFromObjectCaseSensitive(record, "blas_core");
    char *without = cJSON_Print(record);
    write_file(run, without, strlen(without));
    unlink(file_of(&w, "products", DETAILS));
    succeeded(run_program(&w, "-api_info", products, "-csv_path", path, NULL));
    ck_assert(names_core(&w, "products"));
    cJSON_free(without);
    cJSON_Delete(record);
    free(text);
    workspace_remove(&w);
}
END_TEST

/* Rows of other kernels are not mixed with ours. */
START_TEST(other_kernels_are_refused)
{
    struct pair p = pair_make(DETAILS);
    const char *run = file_of(&p.w, "part", RUN);
    char *text = read_file(run, NULL);
    cJSON *record = cJSON_Parse(text);
    cJSON_AddStringToObject(record, "blas_core", "Abacus");
    char *with = cJSON_Print(record);
    write_file(run, with, strlen(with));
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "blas_core was \"Abacus\", is ") != NULL, "%s", o.err);
    outcome_free(&o);
    cJSON_free(with);
    cJSON_Delete(record);
    free(text);
    workspace_remove(&p.w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resume");
    TCase *tests = tcase_create("resume");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, without_details);
    tcase_add_test(tests, without_evidence);
    tcase_add_test(tests, without_results);
    tcase_add_test(tests, torn_run_files);
    tcase_add_test(tests, timings_are_continued);
    tcase_add_test(tests, thresholds_name_apis);
    tcase_add_test(tests, run_files_tell_runs_apart);
    tcase_add_test(tests, without_a_run_file);
    tcase_add_test(tests, verdicts_of_the_peer_count);
    tcase_add_test(tests, names_with_and_without_a_directory);
    tcase_add_test(tests, warnings);
    tcase_add_test(tests, groups_that_are_never_checked);
    tcase_add_test(tests, interrupted_while_a_device_hangs);
    tcase_add_loop_test(tests, the_summary_is_of_all_calls, 0, 2);
    tcase_add_test(tests, terminals);
    tcase_add_test(tests, kernels_are_named_once_they_are_used);
    tcase_add_test(tests, kernels_are_named_by_a_run_that_goes_on);
    tcase_add_test(tests, other_kernels_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
