/* What the committer of a run takes for a call, by itself: it is one thread, so this bounds the calls a second of any number of
 * cores.
 *
 *   bench_commit DUMP DIRECTORY [BATCH]
 *
 * The first BATCH (256) calls of the dump are checked; then their rows are committed over and over, as those of all
 * calls of the dump, into files in DIRECTORY, which are removed. Beside it: the same bytes written to one file, a mebibyte at a time. Seconds are
 * those of the thread; the best of several rounds each. What is made durable in the background is not in them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "runner/checkers.h"
#include "runner/committer.h"

enum { BATCH_MAX = 512, ROUNDS = 5, CHUNK = 1 << 20 };

static struct case_outcome outcomes[BATCH_MAX];
static const struct case_outcome *in_order[BATCH_MAX];

static void stop(struct status status)
{
    if (!status.code) return;
    fprintf(stderr, "bench_commit: %s\n", status.text);
    exit(1);
}

static void check_calls(struct checkers *checkers, struct run_part *part, size_t batch)
{
    struct checker *checker = &checkers->items[0];
    checker->setup = &part->setup;
    for (size_t i = 0; i < batch; i++) {
        if (!case_check(&outcomes[i], checker, part->batch.positions[i])) exit(1);
        stop(outcomes[i].fatal);
        in_order[i] = &outcomes[i];
    }
}

static uint64_t remove_files(const struct result_files *files)
{
    const char *const paths[] = { files->evidence_path, files->details_path, files->result_path,
                                  files->run_path };
    const struct file *const rows[] = { &files->evidence, &files->details, &files->result };
    uint64_t bytes = 0, size;
    for (int i = 0; i < 3; i++) {
        stop(file_size(&size, rows[i]));
        bytes += size;
    }
    for (int i = 0; i < 4; i++) stop(file_remove(paths[i]));
    return bytes;
}

/* Seconds, and the bytes written, of one round over all calls. */
static double commit_all(uint64_t *bytes, size_t *calls, const struct run_options *options,
                         size_t batch)
{
    struct run_part part;
    struct checkers checkers;
    struct summary summary = { 0 };
    struct progress progress;
    stop(run_part_open_inputs(&part, options, NULL, NULL));
    stop(checkers_open(&checkers, options, part.inputs.backend, 1));
    stop(run_part_open_output(&part, &checkers, &summary));
    progress_start(&progress, stderr, false, 0, 0, 0, clock_seconds());
    if (batch > part.batch.count) batch = part.batch.count;
    check_calls(&checkers, &part, batch);
    const struct committer committer = { &summary, &progress, &options->told };
    double begin_s = clock_thread_seconds();
    for (size_t left; (left = run_part_calls_left(&part));)
        stop(committer_take(&committer, &part, in_order, left < batch ? left : batch));
    double seconds = clock_thread_seconds() - begin_s;
    *calls = part.committed;
    *bytes = remove_files(&part.output.files);
    run_part_close(&part);
    checkers_close(&checkers);
    summary_release(&summary);
    return seconds;
}

static double write_plainly(const char *directory, uint64_t bytes)
{
    static char chunk[CHUNK];
    char path[4096];
    memset(chunk, 'x', sizeof chunk);
    snprintf(path, sizeof path, "%s/plain", directory);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    double begin_s = clock_thread_seconds();
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = write(fd, chunk, bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK);
        if (n <= 0) exit(1);
        done += (uint64_t)n;
    }
    double seconds = clock_thread_seconds() - begin_s;
    close(fd);
    unlink(path);
    return seconds;
}

int main(int argc, char **argv)
{
    struct run_options options = RUN_OPTIONS_DEFAULTS;
    if (argc < 3) return fprintf(stderr, "usage: bench_commit DUMP DIRECTORY [BATCH]\n"), 2;
    options.api_info = argv[1];
    options.out_path = argv[2];
    options.file_policy = FILES_TRUSTED;
    options.threads = 1;
    size_t batch = argc > 3 ? (size_t)atol(argv[3]) : 256, calls = 0;
    if (!batch || batch > BATCH_MAX) return fprintf(stderr, "BATCH is 1 to %d\n", BATCH_MAX), 2;
    double commit_s = 1e300, plain_s = 1e300;
    uint64_t bytes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double seconds = commit_all(&bytes, &calls, &options, batch);
        if (seconds < commit_s) commit_s = seconds;
        seconds = write_plainly(argv[2], bytes);
        if (seconds < plain_s) plain_s = seconds;
    }
    printf(
        "%zu calls of %.0f bytes, %zu at a time: %.3f us a call; the same bytes written: %.3f us\n",
        calls, (double)bytes / (double)calls, batch, 1e6 * commit_s / (double)calls,
        1e6 * plain_s / (double)calls);
    return 0;
}
