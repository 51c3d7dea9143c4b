/* The scripts of a job: what stands in them, and that a shell and Slurm's own lines can live with any path. */
#include "cluster/scripts.h"

#include <stdio.h>
#include <string.h>

#include "support/scratch.h"
#include "support/suite.h"

static char *text_of(const struct scratch *scratch, const char *name)
{
    static char texts[2][16384];
    static int next;
    char *text = texts[next++ % 2];
    FILE *file = fopen(scratch_path(scratch, name), "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof texts[0] - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void write_scripts(const struct scratch *scratch, const char *job,
                          struct scripts_request request)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch->path, job);
    ck_assert_int_eq(mkdir(path, 0750), 0);
    request.job = path;
    if (!request.dump_root) request.dump_root = scratch->path;
    struct status status = scripts_write(&request);
    ck_assert_msg(!status.code, "%s", status.text);
}

#define HAS(text, part)     ck_assert_msg(strstr(text, part) != NULL, "no '%s' in\n%s", part, text)
#define HAS_NOT(text, part) ck_assert_msg(strstr(text, part) == NULL, "'%s' in\n%s", part, text)

/* No @NAME@ is left. */
static void check_filled_in(const char *text)
{
    for (const char *at = text; (at = strchr(at, '@')); at++)
        ck_assert_msg(at[1] < 'A' || at[1] > 'Z', "left: %.20s", at);
}

/* Exit status of a command in which %s is the directory. */
static int shell(const struct scratch *scratch, const char *format)
{
    char command[2048];
    snprintf(command, sizeof command, format, scratch->path, scratch->path, scratch->path);
    return WEXITSTATUS(system(command));
}

START_TEST(what_is_asked_for_stands_there)
{
    struct scratch scratch = scratch_make();
    write_scripts(
        &scratch, "Job_7 of.May",
        (struct scripts_request){
            .shards = 12, .threads = 8, .memory_bytes = (uint64_t)3 << 30, .longest_s = 7200 });
    const char *slurm = text_of(&scratch, "Job_7 of.May/slurm.sh");
    HAS(slurm, "#SBATCH --array=0-11%12\n");
    HAS(slurm, "#SBATCH --cpus-per-task=8\n");
    HAS(slurm, "#SBATCH --mem=3072M\n");
    HAS(slurm, "#SBATCH --time=60\n"); /* four times two hours, on eight threads */
    HAS(slurm, "#SBATCH --requeue\n");
    HAS(slurm, "/Job_7 of.May/logs/slurm-%a.log\"\n");
    check_filled_in(slurm);
    const char *kubernetes = text_of(&scratch, "Job_7 of.May/kubernetes.yaml");
    HAS(kubernetes, "  name: probe-ut-job-7-of-may\n");
    HAS(kubernetes, "  completions: 12\n");
    HAS(kubernetes, "cpu: \"8\", memory: 3072Mi }");
    HAS(kubernetes, "--dump-root, \"/dumps\",");
    check_filled_in(kubernetes);
    scratch_remove(&scratch);
}
END_TEST

/* What is not said is not asked for; the time of a task has a floor and a ceiling. */
START_TEST(what_is_not_said_is_left_to_the_engine)
{
    struct scratch scratch = scratch_make();
    write_scripts(&scratch, "a", (struct scripts_request){ .shards = 1, .longest_s = 0.5 });
    HAS(text_of(&scratch, "a/slurm.sh"), "#SBATCH --array=0-0%1\n");
    HAS(text_of(&scratch, "a/slurm.sh"), "#SBATCH --time=30\n");
    HAS_NOT(text_of(&scratch, "a/slurm.sh"), "--mem=");
    HAS_NOT(text_of(&scratch, "a/kubernetes.yaml"), "memory:");
    write_scripts(&scratch, "b", (struct scripts_request){ .shards = 1, .longest_s = 1e12 });
    HAS(text_of(&scratch, "b/slurm.sh"), "#SBATCH --time=1440\n");
    scratch_remove(&scratch);
}
END_TEST

/* One dump is mounted by its directory. */
START_TEST(a_single_dump_keeps_its_name)
{
    struct scratch scratch = scratch_make();
    FILE *dump = fopen(scratch_path(&scratch, "my \"dump\".json"), "w");
    ck_assert_ptr_nonnull(dump);
    fclose(dump);
    write_scripts(&scratch, "job",
                  (struct scripts_request){
                      .shards = 1, .dump_root = scratch_path(&scratch, "my \"dump\".json") });
    HAS(text_of(&scratch, "job/kubernetes.yaml"), "\"/dumps/my \\\"dump\\\".json\"");
    scratch_remove(&scratch);
}
END_TEST

/* The script as bash runs it, with a program in the place of ours that writes down what it is told:
 * 2,500 shards are 1,000 tasks, and task 999 has two of them. */
START_TEST(the_script_works_its_shards)
{
    struct scratch scratch = scratch_make();
    write_scripts(&scratch, "it's $a job",
                  (struct scripts_request){ .shards = 2500, .threads = 2 });
    ck_assert_int_eq(shell(&scratch, "cd '%s' && printf '#!/bin/sh\\necho \"$@\" >>told\\n[ \"$4\" "
                                     "!= 1600 ] || exit 3\\n' >program && chmod +x program"),
                     0);
    const char *slurm = text_of(&scratch, "it's $a job/slurm.sh");
    HAS(slurm, "#SBATCH --array=0-999%1000\n");
    ck_assert_int_eq(shell(&scratch, "cd '%s' && PROBE_UT=./program SLURM_ARRAY_TASK_ID=999 "
                                     "bash 'it'\\''s $a job/slurm.sh' --dump-root 'x y'"),
                     0);
    char want[512], *told = text_of(&scratch, "told");
    snprintf(want, sizeof want,
             "work %1$s/it's $a job --shard 999 --no-progress -n 2 --dump-root x y\n"
             "work %1$s/it's $a job --shard 1999 --no-progress -n 2 --dump-root x y\n",
             scratch.path);
    ck_assert_str_eq(told, want);
    /* What Slurm grants; a shard that fails keeps none of the others, and its status is the task's. */
    ck_assert_int_eq(shell(&scratch,
                           "cd '%s' && rm told && PROBE_UT=./program SLURM_ARRAY_TASK_ID=600 "
                           "SLURM_CPUS_PER_TASK=5 SLURM_MEM_PER_NODE=700 "
                           "bash 'it'\\''s $a job/slurm.sh'"),
                     3);
    told = text_of(&scratch, "told");
    HAS(told, "--shard 1600 --no-progress -n 5 --memory 700M\n");
    ck_assert_ptr_nonnull(strstr(told, "--shard 600 "));
    /* Not in an array. */
    ck_assert_int_eq(shell(&scratch, "cd '%s' && bash 'it'\\''s $a job/slurm.sh' 2>/dev/null"), 2);
    scratch_remove(&scratch);
}
END_TEST

#define WHEN_STARTED "until [ -e started ]; do sleep 0.05; done; "

/* USR1 (the time limit) stops the shard and puts the task back; a shard that was killed is put back three
 * times; TERM is left to Slurm. */
START_TEST(a_stopped_task_goes_back_into_the_queue)
{
    struct scratch scratch = scratch_make();
    write_scripts(&scratch, "job", (struct scripts_request){ .shards = 4 });
    ck_assert_int_eq(
        shell(&scratch,
              "cd '%s' && printf '#!/bin/sh\\necho $1 $2 >>queue\\n' >scontrol && "
              "printf '#!/bin/bash\\ntrap \"kill \\$!; exit 130\" TERM\\nsleep 99 &\\n: "
              ">started\\nwait\\n' >stoppable && "
              "printf '#!/bin/sh\\nkill -9 $$\\n' >killed && chmod +x scontrol stoppable killed"),
        0);
    static const char run[] = "cd '%%s' && rm -f queue started && export PATH=\"$PWD:$PATH\" "
                              "SLURM_ARRAY_TASK_ID=1 SLURM_JOB_ID=77 %s; "
                              "bash job/slurm.sh 2>/dev/null & task=$!; %s wait $task; exit $?";
    char command[1024];
    snprintf(command, sizeof command, run, "PROBE_UT=./stoppable",
             WHEN_STARTED "kill -USR1 $task;");
    ck_assert_int_eq(shell(&scratch, command), 130);
    ck_assert_str_eq(text_of(&scratch, "queue"), "requeue 77\n");
    snprintf(command, sizeof command, run, "PROBE_UT=./stoppable",
             WHEN_STARTED "kill -TERM $task;");
    ck_assert_int_eq(shell(&scratch, command), 130);
    ck_assert_int_ne(access(scratch_path(&scratch, "queue"), F_OK), 0);
    snprintf(command, sizeof command, run, "PROBE_UT=./killed SLURM_RESTART_COUNT=2", "");
    ck_assert_int_eq(shell(&scratch, command), 137);
    ck_assert_str_eq(text_of(&scratch, "queue"), "requeue 77\n");
    snprintf(command, sizeof command, run, "PROBE_UT=./killed SLURM_RESTART_COUNT=3", "");
    ck_assert_int_eq(shell(&scratch, command), 137);
    ck_assert_int_ne(access(scratch_path(&scratch, "queue"), F_OK), 0);
    scratch_remove(&scratch);
}
END_TEST

/* A % of a path would be a number of Slurm's. */
START_TEST(signs_of_slurm_are_doubled)
{
    struct scratch scratch = scratch_make();
    write_scripts(&scratch, "90%a \"x\"", (struct scripts_request){ .shards = 4 });
    HAS(text_of(&scratch, "90%a \"x\"/slurm.sh"), "/90%%a \\\"x\\\"/logs/slurm-%a.log\"\n");
    scratch_remove(&scratch);
}
END_TEST

START_TEST(a_missing_directory_is_named)
{
    const struct scripts_request request = { .job = "/no/such/job", .dump_root = "/", .shards = 1 };
    struct status status = scripts_write(&request);
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert_ptr_nonnull(strstr(status.text, "/no/such/job"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster/scripts");
    TCase *cases = tcase_create("texts");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, what_is_asked_for_stands_there);
    tcase_add_test(cases, what_is_not_said_is_left_to_the_engine);
    tcase_add_test(cases, a_single_dump_keeps_its_name);
    tcase_add_test(cases, the_script_works_its_shards);
    tcase_add_test(cases, a_stopped_task_goes_back_into_the_queue);
    tcase_add_test(cases, signs_of_slurm_are_doubled);
    tcase_add_test(cases, a_missing_directory_is_named);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
