/* A judge for a test, who counts what it is told, and the files that it has written. */
#ifndef PROBE_TESTS_ONLINE_JUDGING_H
#define PROBE_TESTS_ONLINE_JUDGING_H

#include <pthread.h>

#include "online/captures.h"
#include "online/judge.h"
#include "results/details_file.h"
#include "support/cases.h"
#include "support/workspace.h"

struct told {
    pthread_mutex_t lock;
    size_t fates[3], verdicts[VERDICT_SKIP + 1], released;
    int64_t last_sequence[8]; /* by rank */
    bool out_of_order;
};

static inline void take_done(void *context, const struct record_done *done)
{
    struct told *told = context;
    pthread_mutex_lock(&told->lock);
    told->fates[done->fate]++;
    told->verdicts[done->verdict]++;
    if (done->rank < 8 && (int64_t)done->origin.sequence < told->last_sequence[done->rank])
        told->out_of_order = true;
    if (done->rank < 8) told->last_sequence[done->rank] = (int64_t)done->origin.sequence;
    pthread_mutex_unlock(&told->lock);
}

static inline void take_body(void *context, const struct judge_submission *record)
{
    struct told *told = context;
    memset(record->body, 0xdd, record->bytes); /* whoever still reads it sees nonsense */
    memory_release(record->body);
    pthread_mutex_lock(&told->lock);
    told->released++;
    pthread_mutex_unlock(&told->lock);
}

struct judging {
    struct run_options options;
    const char *second; /* backend, or NULL */
    struct told told;
    struct judge *judge;
};

static inline void open_judge(struct judging *j, const char *out_path, int64_t threads,
                              const int64_t *ranks, size_t n_ranks)
{
    struct run_options earlier = j->options;
    const char *second = j->second;
    const struct run_options defaults = RUN_OPTIONS_DEFAULTS;
    memset(j, 0, sizeof *j);
    j->options = defaults;
    j->second = second;
    j->options.result_csv_path = earlier.result_csv_path;
    j->options.config_path = earlier.config_path;
    j->options.profile = earlier.profile;
    j->options.report = earlier.report;
    j->options.junit = earlier.junit;
    j->options.out_path = out_path;
    j->options.threads = threads;
    j->options.memory_bytes = (uint64_t)1 << 30;
    j->options.no_diagnose = true;
    pthread_mutex_init(&j->told.lock, NULL);
    const struct judge_config config = {
        .options = &j->options,
        .second_backend = second,
        .ranks = ranks,
        .n_ranks = n_ranks,
        .listener = { .context = &j->told, .release = take_body, .done = take_done }
    };
    struct status status = judge_open(&j->judge, &config);
    ck_assert_msg(!status.code, "%s", status.text);
}

static inline void submit(struct judging *j, const struct judge_submission *submission)
{
    bool taken = false;
    while (!taken) {
        struct status status = judge_submit(&taken, j->judge, submission);
        ck_assert_msg(!status.code, "%s", status.text);
        if (!taken) usleep(1000);
    }
}

/* Submit the records of a session from number `first` on. */
static inline size_t submit_session(struct judging *j, const char *session, const char *id,
                                    size_t first)
{
    struct capture capture;
    const cJSON *expected;
    size_t number = 0;
    capture_open(&capture, session);
    cJSON_ArrayForEach(expected, cJSON_GetObjectItem(capture.expect, "records"))
    {
        struct captured_record record;
        if (number++ < first) continue;
        capture_record(&record, &capture, expected);
        const cJSON *rank = cJSON_GetObjectItem(expected, "header_rank");
        submit(j, &(struct judge_submission){
                      .origin = { .address = "10.0.0.7:4711",
                                  .sequence = number - 1,
                                  .rank = rank ? rank->valueint : 0,
                                  .session = id },
                      .decode = record_decode,
                      .body = record.body,
                      .bytes = record.bytes,
                  });
    }
    capture_close(&capture);
    return number;
}

static inline int finish(struct judging *j)
{
    int exit_status = -1;
    struct status status = judge_finish(&exit_status, j->judge);
    ck_assert_msg(!status.code, "%s", status.text);
    judge_close(j->judge);
    ck_assert(!j->told.out_of_order);
    return exit_status;
}

static inline char *rows_of(const struct workspace *w, const char *pattern, size_t *length)
{
    char *text = read_file(only_match(w, pattern), length);
    ck_assert_ptr_nonnull(text);
    return text;
}

static inline size_t count_rows(const struct workspace *w, const char *pattern)
{
    char *text = rows_of(w, pattern, NULL);
    size_t rows = count_lines(text) - 1;
    free(text);
    return rows;
}

#endif
