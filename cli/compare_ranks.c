/* The ranks of a folder one after the other, then what they have in common; printed as they come. */
#include "cli/compare_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare/ranks/first_difference.h"
#include "core/memory.h"

/* The ranks of one folder. */
struct folder {
    const struct job_request *request;
    const char *name; /* of the folder below that of the results */
    char *path;
    struct rank_flow *ranks;
    size_t n_ranks;
    struct status failure; /* of the first rank that could not be compared */
};

/* "_rank3": 3; the position where there is no number. */
static int64_t rank_of(const struct dump_job *job, size_t position)
{
    const char *digits = job->suffix + strcspn(job->suffix, "0123456789");
    return *digits ? strtoll(digits, NULL, 10) : (int64_t)position;
}

static struct status compare_rank(struct folder *folder, const struct dump_job *job)
{
    struct comparison_request request = folder->request->comparison;
    size_t bytes = strlen(folder->path) + strlen(job->suffix) + 64;
    char *path = memory_allocate(bytes);
    struct comparison c;

    if (!path) return status_no_memory(bytes);
    (void)snprintf(path, bytes, "%scompare_result%s_%s.json", folder->path, job->suffix,
                   folder->request->stamp.text);
    request.npu_path = job->npu_path;
    request.bench_path = job->bench_path;
    request.by_statistics = true;
    request.highlight = false;
    struct status status = comparison_run(&c, &request);
    if (!status.code) {
        struct rank_flow *flow = &folder->ranks[folder->n_ranks];
        status = rank_flow_make(flow, &c, rank_of(job, folder->n_ranks), path);
        comparison_release(&c);
        if (status.code) rank_flow_release(flow);
        else folder->n_ranks++;
    }
    if (!status.code) (void)printf("%s\n", path);
    memory_release(path);
    return status;
}

/* One that cannot be used does not stop the others. */
static struct status try_rank(struct folder *folder, const struct dump_job *job)
{
    struct status status = compare_rank(folder, job);
    if (status.code != STATUS_BAD_INPUT) return status;
    (void)fprintf(stderr, "warning: %s is skipped: %s\n", file_shown(job->npu_path).text,
                  status.text);
    if (!folder->failure.code) folder->failure = status;
    return status_ok();
}

static void print_found(const struct found_entries *found, const struct rank_flow *ranks)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct rank_flow *flow = &ranks[found->items[i].rank];
        (void)printf("rank %lld: %s\n", (long long)flow->rank,
                     flow->entries[found->items[i].entry].name);
    }
}

static struct status analyze(bool *differs, struct folder *folder)
{
    struct found_entries found;
    struct timespec now;
    size_t bytes = strlen(folder->path) + 64;
    char *path = memory_allocate(bytes);

    if (!path) return status_no_memory(bytes);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(path, bytes, "%sdiff_analyze_%lld%09ld.json", folder->path,
                   (long long)now.tv_sec, now.tv_nsec);
    struct status status = first_difference_find(&found, folder->ranks, folder->n_ranks);
    if (!status.code && found.count) status = first_difference_write(path, &found, folder->ranks);
    if (!status.code && found.count) {
        *differs = true;
        (void)printf("where the ranks begin to differ:\n");
        print_found(&found, folder->ranks);
        (void)printf("%s\n", path);
    } else if (!status.code) {
        (void)printf("no rank differs\n");
    }
    memory_release(found.items);
    memory_release(path);
    return status;
}

static struct status make_folder(struct folder *folder)
{
    const char *output = folder->request->output;
    const char *slash = *output && output[strlen(output) - 1] == '/' ? "" : "/";
    size_t bytes = strlen(output) + strlen(folder->name) + 2;

    folder->path = memory_allocate(bytes);
    if (!folder->path) return status_no_memory(bytes);
    (void)snprintf(folder->path, bytes, "%s%s%s", output, slash, folder->name);
    return file_make_directories(folder->path);
}

/* Jobs begin..end are of one folder. */
static struct status compare_folder(bool *differs, const struct job_request *request,
                                    const struct dump_job *jobs, size_t n, struct stop stop)
{
    struct folder folder = { .request = request, .name = jobs->folder };

    folder.ranks = memory_allocate_zeroed(n, sizeof *folder.ranks);
    struct status status = folder.ranks ? make_folder(&folder) : status_no_memory(0);
    for (size_t i = 0; i < n && !status.code; i++) {
        if (!jobs[i].is_debug) status = try_rank(&folder, &jobs[i]);
        if (!status.code) status = stop_check(stop);
    }
    if (!status.code && !folder.n_ranks)
        status = folder.failure.code ? folder.failure
                                     : status_error(STATUS_BAD_INPUT, "there is no dump.json");
    if (!status.code) status = analyze(differs, &folder);
    for (size_t i = 0; i < folder.n_ranks; i++) rank_flow_release(&folder.ranks[i]);
    memory_release(folder.ranks);
    memory_release(folder.path);
    return status;
}

struct status compare_ranks(int *exit_status, const struct dump_plan *plan,
                            const struct job_request *request, bool fail_on_difference,
                            struct stop stop)
{
    bool differs = false;

    for (size_t begin = 0, end; begin < plan->count; begin = end) {
        end = begin + 1;
        while (end < plan->count && !strcmp(plan->jobs[begin].folder, plan->jobs[end].folder))
            end++;
        TRY(compare_folder(&differs, request, &plan->jobs[begin], end - begin, stop));
    }
    *exit_status = fail_on_difference && differs ? 1 : 0;
    return status_ok();
}
