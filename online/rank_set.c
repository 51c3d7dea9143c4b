/* Ranks are few, so they stand in a list; sessions have numbers by name. */
#include "online/rank_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/descriptors.h"
#include "core/directory.h"
#include "core/growing.h"
#include "core/memory.h"

/* ---- sessions ----------------------------------------------------------------------------- */

static struct status note_session(struct rank_set *set, const struct rank_entry *entry)
{
    uint32_t number;
    bool added;
    if (!entry->session) return status_ok();
    TRY(text_table_add(&number, &added, &set->sessions, entry->session, strlen(entry->session)));
    TRY(array_make_zeroed_room(&set->committed, &set->capacity, number, sizeof *set->committed));
    if (entry->sequence >= set->committed[number]) set->committed[number] = entry->sequence + 1;
    return status_ok();
}

uint64_t rank_set_committed(struct rank_set *set, const char *session)
{
    pthread_mutex_lock(&set->lock);
    uint32_t number = text_table_find(&set->sessions, session, strlen(session));
    uint64_t committed = number == TEXT_NONE ? 0 : set->committed[number];
    pthread_mutex_unlock(&set->lock);
    return committed;
}

static struct status take_entry(void *context, int64_t rank, const struct rank_entry *entry)
{
    struct rank_set *set = context;
    TRY(note_session(set, entry));
    return set->visit ? set->visit(set->context, rank, entry) : status_ok();
}

/* ---- ranks -------------------------------------------------------------------------------- */

bool rank_set_wants(const struct rank_set *set, int64_t rank)
{
    for (size_t i = 0; i < set->n_wanted; i++)
        if (set->wanted[i] == rank) return true;
    return !set->n_wanted && rank >= 0;
}

static struct rank_files *find(const struct rank_set *set, int64_t rank)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i]->rank == rank) return set->items[i];
    return NULL;
}

const struct rank_files *rank_set_find(struct rank_set *set, int64_t rank)
{
    pthread_mutex_lock(&set->lock);
    const struct rank_files *files = find(set, rank);
    pthread_mutex_unlock(&set->lock);
    return files;
}

struct status rank_set_admit(struct rank_set *set, int64_t rank)
{
    pthread_mutex_lock(&set->lock);
    bool admitted = set->count < RANKS_UNNAMED_MOST || find(set, rank);
    pthread_mutex_unlock(&set->lock);
    if (admitted) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "rank %lld is one more than the %d that have files, and none of them was "
                        "named (rank_list)",
                        (long long)rank, RANKS_UNNAMED_MOST);
}

static struct status open_rank(struct rank_files **out, struct rank_set *set, int64_t rank)
{
    const struct result_rank place = { set->directory, *set->timestamp ? set->timestamp : NULL,
                                       rank };
    if (set->count == RANKS_MOST)
        return status_error(STATUS_BAD_ARGUMENT, "there are more than %d ranks", RANKS_MOST);
    struct rank_files *files = memory_allocate(sizeof *files);
    if (!files) return status_no_memory(sizeof *files);
    struct status status = set->resumes
                               ? rank_files_resume(files, &place, &set->options, take_entry, set)
                               : rank_files_create(files, &place, &set->options);
    if (status.code) {
        rank_files_close(files);
        memory_release(files);
        return status;
    }
    memcpy(set->timestamp, files->files.timestamp, sizeof set->timestamp);
    set->items[set->count++] = *out = files;
    return status_ok();
}

static struct status open_ranks(struct rank_set *set)
{
    struct rank_files *files;
    for (size_t i = 0; i < set->n_wanted; i++)
        if (!find(set, set->wanted[i])) TRY(open_rank(&files, set, set->wanted[i]));
    return status_ok();
}

/* Is it the result file of a rank of this run? */
static bool is_of_run(int64_t *rank, const struct rank_set *set, const char *name)
{
    char again[96];
    const char *digits = strstr(name, "_rank");

    *rank = digits ? strtoll(digits + strlen("_rank"), NULL, 10) : -1;
    (void)snprintf(again, sizeof again, "accuracy_checking_result_%s_rank%lld.csv", set->timestamp,
                   (long long)*rank);
    return *rank >= 0 && !strcmp(again, name);
}

/* Ranks that nobody named have their files, and sessions that are in them, from the start. */
static struct status open_earlier_ranks(struct rank_set *set)
{
    struct directory_names names;
    struct rank_files *files;
    struct status status = directory_list(&names, set->directory, 1000000);
    int64_t rank;

    for (size_t i = 0; !status.code && i < names.count; i++)
        if (is_of_run(&rank, set, names.items[i]) && !find(set, rank))
            status = open_rank(&files, set, rank);
    directory_release(&names);
    return status;
}

static struct status take_wanted(struct rank_set *set, const struct rank_set_request *request)
{
    if (!request->n_ranks) return status_ok();
    set->wanted = memory_allocate(request->n_ranks * sizeof *set->wanted);
    if (!set->wanted) return status_no_memory(request->n_ranks * sizeof *set->wanted);
    memcpy(set->wanted, request->ranks, request->n_ranks * sizeof *set->wanted);
    set->n_wanted = request->n_ranks;
    return status_ok();
}

struct status rank_set_open(struct rank_set *out, const struct rank_set_request *request)
{
    *out = (struct rank_set){ .options = request->options,
                              .resumes = request->earlier != NULL,
                              .visit = request->visit,
                              .context = request->context };
    pthread_mutex_init(&out->lock, NULL);
    TRY(text_table_create(&out->sessions));
    descriptors_allow(RANK_DESCRIPTORS *
                      (request->n_ranks ? request->n_ranks : RANKS_UNNAMED_MOST));
    TRY(take_wanted(out, request));
    if (request->earlier) {
        TRY(rank_files_find_run(out->timestamp, &out->directory, request->earlier));
        if (!out->n_wanted) TRY(open_earlier_ranks(out));
    } else {
        out->directory = memory_copy_string(request->out_path);
        if (!out->directory) return status_no_memory(0);
    }
    return open_ranks(out);
}

void rank_set_close(struct rank_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        rank_files_close(set->items[i]);
        memory_release(set->items[i]);
    }
    text_table_release(&set->sessions);
    memory_release(set->committed);
    memory_release(set->wanted);
    memory_release(set->directory);
    pthread_mutex_destroy(&set->lock);
}

/* ---- rows --------------------------------------------------------------------------------- */

struct status rank_set_append(struct rank_set *set, int64_t rank, const struct rank_entry *entry,
                              const struct case_outcome *outcome, const struct second_rows *second)
{
    pthread_mutex_lock(&set->lock);
    struct rank_files *files = find(set, rank);
    struct status status = files ? status_ok() : open_rank(&files, set, rank);
    pthread_mutex_unlock(&set->lock);
    if (!status.code) status = rank_files_append(files, entry, outcome, second);
    if (status.code) return status;
    pthread_mutex_lock(&set->lock);
    status = note_session(set, entry);
    pthread_mutex_unlock(&set->lock);
    return status;
}

struct status rank_set_sync(struct rank_set *set)
{
    struct status status = status_ok();
    pthread_mutex_lock(&set->lock);
    size_t count = set->count;
    pthread_mutex_unlock(&set->lock);
    for (size_t i = 0; !status.code && i < count; i++) status = rank_files_sync(set->items[i]);
    return status;
}
