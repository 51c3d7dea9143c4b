/* Runs of the program: the names of their files, and how they ended. */
#ifndef PROBE_TESTS_SUPPORT_RUNS_H
#define PROBE_TESTS_SUPPORT_RUNS_H

#include "support/dumps.h"
#include "support/suite.h"

#define RESULT   "accuracy_checking_result_*.csv"
#define DETAILS  "accuracy_checking_details_*.csv"
#define EVIDENCE "accuracy_checking_evidence_*.jsonl"
#define RUN_FILE "accuracy_checking_run_*.json"

__attribute__((unused)) static void succeeded(struct outcome o)
{
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
}

/* Every call was skipped. */
__attribute__((unused)) static void no_verdict(struct outcome o)
{
    ck_assert_msg(o.status == 5, "status %d: %s", o.status, o.err);
    outcome_free(&o);
}

/* The one file of `directory` with a name like `pattern`. */
__attribute__((unused)) static const char *file_of(const struct workspace *w, const char *directory,
                                                   const char *pattern)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, pattern);
    return only_match(w, path);
}

__attribute__((unused)) static char *result_text(const struct workspace *w, const char *directory)
{
    char pattern[256];
    snprintf(pattern, sizeof pattern, "%s/" RESULT, directory);
    return read_file(only_match(w, pattern), NULL);
}

/* Rows and evidence of two output directories are the same bytes. */
__attribute__((unused)) static void same_runs(const struct workspace *w, const char *a,
                                              const char *b)
{
    static const char *const kinds[] = { RESULT, DETAILS, EVIDENCE };
    for (int i = 0; i < 3; i++) {
        char pattern_a[256], pattern_b[256];
        snprintf(pattern_a, sizeof pattern_a, "%s/%s", a, kinds[i]);
        snprintf(pattern_b, sizeof pattern_b, "%s/%s", b, kinds[i]);
        assert_same_files(only_match(w, pattern_a), only_match(w, pattern_b));
    }
}

#endif
