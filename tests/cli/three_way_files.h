/* Pairs of result files for the tests of probe-ut api_precision_compare, and what it made of them. */
#ifndef PROBE_TESTS_CLI_THREE_WAY_FILES_H
#define PROBE_TESTS_CLI_THREE_WAY_FILES_H

#include <check.h>

#include "cli/three_way_command.h"
#include "core/file.h"
#include "core/memory.h"
#include "support/suite.h"
#include "support/workspace.h"

#define INPUTS   PROBE_TEST_DATA "/three_way/inputs/"
#define EXPECTED PROBE_TEST_DATA "/three_way/expected/"

#define RESULT  "out/api_precision_compare_result_*.csv"
#define DETAILS "out/api_precision_compare_details_*.csv"

static const char details_header[] =
    "\xef\xbb\xbf"
    "API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,双百指标,双千指标,"
    "双万指标,二进制一致错误率,误差均衡性,均方根误差,小值域错误占比,相对误差最大值,相对误差平均值,"
    "inf/nan错误率,"
    "相对误差错误率,绝对误差错误率,ULP误差最大值,ULP误差平均值,ULP误差大于阈值占比,Status,"
    "Message\r\n";

__attribute__((unused)) static struct outcome compare(const struct workspace *w,
                                                      const char *profile, const char *npu,
                                                      const char *gpu)
{
    return run_program(w, "api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", "out",
                       "--profile", profile, "--trust-files", NULL);
}

__attribute__((unused)) static char *output(const struct workspace *w, const char *pattern)
{
    char *text = read_file(only_match(w, pattern), NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* Does the text have this line, whole? */
__attribute__((unused)) static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at++) {
        if ((at == text || at[-1] == '\n') && strncmp(at + length, "\r\n", 2) == 0) return true;
    }
    return false;
}

__attribute__((unused)) static void append(char **text, const char *more)
{
    size_t length = *text ? strlen(*text) : 0;
    *text = realloc(*text, length + strlen(more) + 1);
    strcpy(*text + length, more);
}

/* A details row with five equal benchmark numbers. */
__attribute__((unused)) static void add_benchmark(char **text, const char *name, const char *rmse,
                                                  const char *status)
{
    char row[512];
    snprintf(row, sizeof row,
             "%s,torch.float64,torch.float32,\"(2, 3)\",1,0.1, ,1, , ,0,%s,0,0,0, , , ,"
             " , , ,%s,\r\n",
             name, rmse, status);
    append(text, row);
}

__attribute__((unused)) static void add_binary(char **text, const char *name, const char *rate)
{
    char row[512];
    snprintf(row, sizeof row,
             "%s,torch.int64,torch.int64,(),  , , , , ,%s, , , , , , , , , , , ,pass,x\r\n", name,
             rate);
    append(text, row);
}

struct small {
    struct workspace w;
    char *npu, *gpu;
};

__attribute__((unused)) static struct small small_files(void)
{
    struct small s = { .w = workspace_make() };
    append(&s.npu, details_header);
    append(&s.gpu, details_header);
    return s;
}

__attribute__((unused)) static struct outcome compare_small(struct small *s, const char *profile)
{
    write_text(in(&s->w, "npu.csv"), s->npu);
    write_text(in(&s->w, "gpu.csv"), s->gpu);
    return compare(&s->w, profile, "npu.csv", "gpu.csv");
}

__attribute__((unused)) static void small_done(struct small *s, struct outcome *o)
{
    free(s->npu);
    free(s->gpu);
    outcome_free(o);
    workspace_remove(&s->w);
}

#endif
