/* Lists folders and pairs what they hold, by number where both sides have the same numbers. */
#include "compare/dumps/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/directory.h"
#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"

enum { NAMES_MAX = 65536, MIXED_DEPTH = 1 };

static const char *const mixed_folders[] = { "graph", "pynative" };
enum { MIXED_FOLDERS = 2 };

struct planning {
    struct dump_plan *plan;
    const struct plan_request *request;
    struct warnings warnings;
};

static char *join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = memory_allocate(bytes);
    const char *slash = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/";
    if (path) (void)snprintf(path, bytes, "%s%s%s", folder, slash, name);
    return path;
}

/* ---- jobs ------------------------------------------------------------------------------- */

static void release_job(struct dump_job *job)
{
    memory_release(job->npu_path);
    memory_release(job->bench_path);
    memory_release(job->folder);
    memory_release(job->suffix);
}

void dump_plan_release(struct dump_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) release_job(&plan->jobs[i]);
    memory_release(plan->jobs);
    *plan = (struct dump_plan){ 0 };
}

/* The paths are taken over. */
static struct status add_job(struct dump_plan *plan, char *npu_path, char *bench_path,
                             const char *folder, const char *suffix, bool is_debug)
{
    struct dump_job job = { .npu_path = npu_path,
                            .bench_path = bench_path,
                            .folder = memory_copy_string(folder),
                            .suffix = memory_copy_string(suffix),
                            .is_debug = is_debug };
    bool complete = job.npu_path && job.bench_path && job.folder && job.suffix;

    struct status status = status_no_memory(0);
    if (complete)
        status = array_make_room(&plan->jobs, &plan->room, plan->count, sizeof *plan->jobs);
    if (status.code) {
        release_job(&job);
        return status;
    }
    plan->jobs[plan->count++] = job;
    return status_ok();
}

/* ---- ranks ------------------------------------------------------------------------------ */

/* "rank", "rank0", "rank12", "proc77": the number; -1 for "rank"; false for anything else. */
static bool rank_of(int64_t *rank, const char *name)
{
    const char *digits = name + 4;
    bool is_process = !strncmp(name, "proc", 4);

    if (strncmp(name, "rank", 4) && !is_process) return false;
    *rank = -1;
    if (!*digits) return !is_process;
    if (strlen(digits) > 9 || (digits[0] == '0' && digits[1])) return false;
    for (const char *at = digits; *at; at++)
        if (!isdigit((unsigned char)*at)) return false;
    *rank = strtol(digits, NULL, 10);
    return true;
}

/* Names and numbers of the ranks of a side, by number. */
struct ranks {
    struct directory_names names;
    int64_t *numbers;
};

static void release_ranks(struct ranks *ranks)
{
    directory_release(&ranks->names);
    memory_release(ranks->numbers);
}

static struct status list_ranks(struct ranks *out, const char *path)
{
    *out = (struct ranks){ .numbers = NULL };
    TRY(directory_list(&out->names, path, NAMES_MAX));
    out->numbers = memory_allocate((out->names.count + 1) * sizeof *out->numbers);
    if (!out->numbers) return status_no_memory(0);
    for (size_t i = 0; i < out->names.count; i++)
        if (!rank_of(&out->numbers[i], out->names.items[i]))
            return status_error(STATUS_BAD_INPUT,
                                "'%s' holds '%s', which is no rank folder (rank0, rank1, ...); "
                                "remove it or name the folder of a step",
                                file_shown(path).text, file_shown(out->names.items[i]).text);
    if (!out->names.count)
        return status_error(STATUS_BAD_INPUT, "'%s' is empty", file_shown(path).text);
    return status_ok();
}

static bool is_wanted(const int64_t *wanted, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (wanted[i] == number) return true;
    return count == 0;
}

/* The jobs of one pair of rank folders. */
static struct status plan_rank(struct planning *p, const char *npu, const char *bench,
                               const char *folder, const char *suffix)
{
    static const char *const files[] = { "dump.json", "debug.json" };
    bool any = false;

    for (int i = 0; i < 2; i++) {
        char *npu_path = join(npu, files[i]), *bench_path = join(bench, files[i]);
        bool both = npu_path && bench_path && file_exists(npu_path) && file_exists(bench_path);
        if (npu_path && bench_path && !both) {
            memory_release(npu_path);
            memory_release(bench_path);
            continue;
        }
        bool second = any;
        any = true;
        TRY(add_job(p->plan, npu_path, bench_path, folder, suffix, i == 1));
        p->plan->jobs[p->plan->count - 1].beside_dump = second;
    }
    if (!any)
        warn(p->warnings, "'%s' and '%s' do not both hold dump.json or debug.json; skipped",
             file_shown(npu).text, file_shown(bench).text);
    return status_ok();
}

/* Ranks meet by number; where the numbers are not the same on both sides, by position. */
static struct status pair_ranks(struct planning *p, const struct ranks *npu,
                                const struct ranks *bench, const char *npu_path,
                                const char *bench_path, const char *folder)
{
    if (npu->names.count != bench->names.count)
        return status_error(STATUS_BAD_INPUT, "'%s' has %zu ranks, '%s' has %zu",
                            file_shown(npu_path).text, npu->names.count,
                            file_shown(bench_path).text, bench->names.count);
    for (size_t i = 0; i < npu->names.count; i++)
        if (npu->numbers[i] != bench->numbers[i]) {
            warn(p->warnings,
                 "the ranks of '%s' and '%s' have different numbers; they are paired by position",
                 file_shown(npu_path).text, file_shown(bench_path).text);
            break;
        }
    for (size_t i = 0; i < npu->names.count; i++) {
        const char *npu_name = npu->names.items[i], *bench_name = bench->names.items[i];
        bool both = p->request->name_both_ranks;
        char suffix[64]; /* names of ranks are short */
        if (!is_wanted(p->request->ranks, p->request->n_ranks, npu->numbers[i])) continue;
        (void)snprintf(suffix, sizeof suffix, "_%s%s%s", npu_name, both ? "-" : "",
                       both ? bench_name : "");
        char *a = join(npu_path, npu_name), *b = join(bench_path, bench_name);
        struct status status = a && b ? plan_rank(p, a, b, folder, suffix) : status_no_memory(0);
        memory_release(a);
        memory_release(b);
        TRY(status);
    }
    return status_ok();
}

static struct status plan_ranks(struct planning *p, const char *npu_path, const char *bench_path,
                                const char *folder)
{
    struct ranks npu, bench = { .numbers = NULL };

    struct status status = list_ranks(&npu, npu_path);
    if (!status.code) status = list_ranks(&bench, bench_path);
    if (!status.code) status = pair_ranks(p, &npu, &bench, npu_path, bench_path, folder);
    release_ranks(&npu);
    release_ranks(&bench);
    return status;
}

/* ---- steps and modes -------------------------------------------------------------------- */

static bool step_of(int64_t *step, const char *name)
{
    if (strncmp(name, "step", 4) || !isdigit((unsigned char)name[4]) || strlen(name) > 13)
        return false;
    char *end;
    *step = strtol(name + 4, &end, 10);
    return !*end;
}

static bool has_folder(const char *path, const char *name)
{
    char *folder = join(path, name);
    bool has = folder && directory_exists(folder);
    memory_release(folder);
    return has;
}

static struct status plan_folder(struct planning *p, const char *npu_path, const char *bench_path,
                                 const char *folder, int depth);

/* The same sub-folder of both sides. */
static struct status plan_below(struct planning *p, const char *npu_path, const char *bench_path,
                                const char *folder, const char *name, int depth)
{
    char *npu = join(npu_path, name), *bench = join(bench_path, name), *below = NULL;
    size_t bytes = strlen(folder) + strlen(name) + 2;

    below = memory_allocate(bytes);
    struct status status = status_no_memory(bytes);
    if (npu && bench && below) {
        (void)snprintf(below, bytes, "%s%s/", folder, name);
        status = plan_folder(p, npu, bench, below, depth + 1);
    }
    memory_release(npu);
    memory_release(bench);
    memory_release(below);
    return status;
}

bool dump_plan_is_mixed(const char *npu_path, const char *bench_path)
{
    for (int i = 0; i < MIXED_FOLDERS; i++)
        if (has_folder(npu_path, mixed_folders[i]) && has_folder(bench_path, mixed_folders[i]))
            return true;
    return false;
}

/* One of several sub-folders: when it cannot be used, the others still can. `failure` keeps the first
 * reason. */
static struct status try_below(struct planning *p, struct status *failure, const char *npu_path,
                               const char *bench_path, const char *folder, const char *name,
                               int depth)
{
    struct status status = plan_below(p, npu_path, bench_path, folder, name, depth);
    if (status.code != STATUS_BAD_INPUT) return status;
    warn(p->warnings, "%s%s is skipped: %s", folder, name, status.text);
    if (!failure->code) *failure = status;
    return status_ok();
}

static struct status plan_mixed(struct planning *p, const char *npu_path, const char *bench_path,
                                const char *folder, int depth)
{
    struct status failure = status_ok();

    for (int i = 0; i < MIXED_FOLDERS; i++)
        if (has_folder(npu_path, mixed_folders[i]) && has_folder(bench_path, mixed_folders[i]))
            TRY(try_below(p, &failure, npu_path, bench_path, folder, mixed_folders[i], depth));
    return p->plan->count ? status_ok() : failure;
}

/* Do the names include steps? Others beside them are passed over. */
static bool has_steps(const struct directory_names *names)
{
    int64_t step;
    for (size_t i = 0; i < names->count; i++)
        if (step_of(&step, names->items[i])) return true;
    return false;
}

static struct status plan_steps(struct planning *p, const struct directory_names *names,
                                const char *npu_path, const char *bench_path, const char *folder,
                                int depth)
{
    struct status failure = status_ok();
    size_t before = p->plan->count;
    int64_t step;

    for (size_t i = 0; i < names->count; i++) {
        if (!step_of(&step, names->items[i]) ||
            !is_wanted(p->request->steps, p->request->n_steps, step))
            continue;
        if (!has_folder(bench_path, names->items[i]))
            warn(p->warnings, "'%s' has no %s; the step is skipped", file_shown(bench_path).text,
                 names->items[i]);
        else TRY(try_below(p, &failure, npu_path, bench_path, folder, names->items[i], depth));
    }
    if (p->plan->count > before) return status_ok();
    if (failure.code) return failure;
    return status_error(STATUS_BAD_INPUT, "'%s' and '%s' have no step in common",
                        file_shown(npu_path).text, file_shown(bench_path).text);
}

static bool has_dump(const char *path)
{
    char *dump = join(path, "dump.json"), *debug = join(path, "debug.json");
    bool has = dump && debug && (file_exists(dump) || file_exists(debug));
    memory_release(dump);
    memory_release(debug);
    return has;
}

static struct status plan_folder(struct planning *p, const char *npu_path, const char *bench_path,
                                 const char *folder, int depth)
{
    struct directory_names names;

    if (depth < MIXED_DEPTH && dump_plan_is_mixed(npu_path, bench_path))
        return plan_mixed(p, npu_path, bench_path, folder, depth);
    if (has_dump(npu_path) && has_dump(bench_path))
        return plan_rank(p, npu_path, bench_path, folder, "");
    TRY(directory_list(&names, npu_path, NAMES_MAX));
    struct status status = has_steps(&names)
                               ? plan_steps(p, &names, npu_path, bench_path, folder, depth)
                               : plan_ranks(p, npu_path, bench_path, folder);
    directory_release(&names);
    return status;
}

/* ---- the whole -------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), n = strlen(suffix);
    return length >= n && !strcmp(path + length - n, suffix);
}

static struct status plan_files(struct dump_plan *plan, const char *npu_path,
                                const char *bench_path)
{
    bool is_debug = ends_in(npu_path, "debug.json");
    const char *name = is_debug ? "debug.json" : "dump.json";

    if (!ends_in(npu_path, name) || !ends_in(bench_path, name))
        return status_error(STATUS_BAD_INPUT,
                            "'%s' and '%s' must both be dump.json or both debug.json, or folders",
                            file_shown(npu_path).text, file_shown(bench_path).text);
    return add_job(plan, memory_copy_string(npu_path), memory_copy_string(bench_path), "", "",
                   is_debug);
}

static struct status check_exists(const char *path)
{
    if (file_exists(path)) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s' does not exist", file_shown(path).text);
}

struct status dump_plan_make(struct dump_plan *out, const char *npu_path, const char *bench_path,
                             const struct plan_request *request, struct warnings warnings)
{
    static const struct plan_request everything = { .ranks = NULL };
    struct planning p = { .plan = out,
                          .request = request ? request : &everything,
                          .warnings = warnings };
    bool npu_is_folder = directory_exists(npu_path), bench_is_folder = directory_exists(bench_path);

    *out = (struct dump_plan){ 0 };
    TRY(check_exists(npu_path));
    TRY(check_exists(bench_path));
    if (npu_is_folder != bench_is_folder)
        return status_error(STATUS_BAD_INPUT, "one of '%s' and '%s' is a file, the other a folder",
                            file_shown(npu_path).text, file_shown(bench_path).text);
    struct status status = npu_is_folder ? plan_folder(&p, npu_path, bench_path, "", 0)
                                         : plan_files(out, npu_path, bench_path);
    if (!status.code && !out->count)
        status = status_error(STATUS_BAD_INPUT, "'%s' and '%s' have nothing to compare in common",
                              file_shown(npu_path).text, file_shown(bench_path).text);
    if (status.code) dump_plan_release(out);
    return status;
}
