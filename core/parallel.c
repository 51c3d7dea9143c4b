/* Shared work lies on the stack of the thread that has it, and is in the list of its team while there are parts to take.
 * Parts are taken in order: when one fails all before it have been taken, so the first that fails is always found. */
#include "core/parallel.h"

#include <assert.h>

#include "core/clock.h"

struct shared_work {
    const struct parallel *work;
    size_t next;   /* part to be taken */
    size_t doing;  /* parts that were taken and are not done */
    size_t failed; /* the first part that failed; work->parts: none */
    struct status status;
    double parts_s, longest_s;
    struct shared_work *following;
    bool listed;
};

/* ---- parts ------------------------------------------------------------------------------ */

static void enlist(struct team *team, struct shared_work *shared)
{
    *team->end = shared;
    team->end = &shared->following;
    shared->listed = true;
}

static void unlist(struct team *team, struct shared_work *shared)
{
    struct shared_work **link = &team->first;
    if (!shared->listed) return;
    while (*link != shared) link = &(*link)->following;
    *link = shared->following;
    if (!*link) team->end = link;
    shared->listed = false;
}

static bool has_parts(const struct shared_work *shared)
{
    return shared->next < shared->work->parts && shared->failed == shared->work->parts;
}

static void note_part(struct shared_work *shared, size_t number, double seconds,
                      const struct status *status)
{
    shared->parts_s += seconds;
    if (seconds > shared->longest_s) shared->longest_s = seconds;
    if (!status->code || number > shared->failed) return;
    shared->failed = number;
    shared->status = *status;
}

/* Take a part and do it. The lock of the team is held before and after; then the work may be gone when it has no
 * parts and the lock is given back. */
static void do_part(struct team *team, struct shared_work *shared, void *scratch)
{
    size_t number = shared->next++;
    shared->doing++;
    if (!has_parts(shared)) unlist(team, shared);
    pthread_mutex_unlock(&team->mutex);
    double start_s = clock_thread_seconds();
    struct status status = shared->work->part(shared->work->context, number, scratch);
    double seconds = clock_thread_seconds() - start_s;
    pthread_mutex_lock(&team->mutex);
    shared->doing--;
    note_part(shared, number, seconds, &status);
    if (has_parts(shared)) return;
    unlist(team, shared);
    if (!shared->doing) pthread_cond_broadcast(&team->done);
}

/* ---- helping ---------------------------------------------------------------------------- */

static struct shared_work *find_work(const struct team *team, size_t room)
{
    struct shared_work *shared = team->first;
    while (shared && shared->work->scratch_bytes > room) shared = shared->following;
    return shared;
}

/* Parts of one work, as long as there are some. False when there is no room for them. */
static bool help_with(struct team *team, struct shared_work *shared, struct arena *scratch,
                      bool (*waits)(void *context), void *context)
{
    const size_t bytes = shared->work->scratch_bytes;
    void *room = bytes ? arena_allocate(scratch, bytes) : NULL;
    if (bytes && !room) return false;
    do do_part(team, shared, room);
    while (has_parts(shared) && waits(context));
    arena_reset(scratch);
    return true;
}

void team_help(struct team *team, struct arena *scratch, bool (*waits)(void *context),
               void *context)
{
    size_t room = team->room;
    pthread_mutex_lock(&team->mutex);
    while (waits(context)) {
        struct shared_work *shared = find_work(team, room);
        if (shared) {
            const size_t bytes = shared->work->scratch_bytes;
            if (!help_with(team, shared, scratch, waits, context)) room = bytes - 1;
            continue;
        }
        team->idle++;
        pthread_cond_wait(&team->changed, &team->mutex);
        team->idle--;
    }
    pthread_mutex_unlock(&team->mutex);
}

void team_wake(struct team *team)
{
    pthread_mutex_lock(&team->mutex);
    if (team->idle) pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
}

/* ---- spare threads ---------------------------------------------------------------------- */

static bool is_open(void *context)
{
    const struct team *team = context;
    return !team->closing;
}

/* What the arena of a spare thread takes beside the room of a part. */
enum { SLACK = 1 << 16 };

static void *spare_thread(void *context)
{
    struct team *team = context;
    struct arena scratch = { 0 };
    arena_reserve(&scratch, team->room + SLACK);
    team_help(team, &scratch, is_open, team);
    arena_release(&scratch);
    if (team->leave) team->leave();
    return NULL;
}

/* With the lock of the team held, for work with so many parts for others. Fewer threads do as well. */
static void call_helpers(struct team *team, size_t parts)
{
    size_t called = 0;
    for (; called < team->idle && called < parts; called++) pthread_cond_signal(&team->changed);
    for (; called < parts && team->spares_started < team->spares; called++)
        if (pthread_create(&team->spare[team->spares_started], NULL, spare_thread, team))
            team->spares = team->spares_started;
        else team->spares_started++;
}

void team_open(struct team *team, size_t spares, size_t room, void (*leave)(void))
{
    assert(spares <= TEAM_SPARES_MAX);
    *team = (struct team){ .spares = spares, .room = room, .leave = leave };
    team->end = &team->first;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    pthread_cond_init(&team->done, NULL);
}

void team_close(struct team *team)
{
    assert(!team->first);
    pthread_mutex_lock(&team->mutex);
    team->closing = true;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
    for (size_t i = 0; i < team->spares_started; i++) (void)pthread_join(team->spare[i], NULL);
    pthread_cond_destroy(&team->changed);
    pthread_cond_destroy(&team->done);
    pthread_mutex_destroy(&team->mutex);
}

/* ---- work ------------------------------------------------------------------------------- */

static void run_with_team(struct team *team, struct shared_work *shared, void *scratch)
{
    pthread_mutex_lock(&team->mutex);
    enlist(team, shared);
    call_helpers(team, shared->work->parts - 1);
    while (has_parts(shared)) do_part(team, shared, scratch);
    while (shared->doing) pthread_cond_wait(&team->done, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

static void run_alone(struct shared_work *shared, void *scratch)
{
    while (has_parts(shared)) {
        size_t number = shared->next++;
        double start_s = clock_thread_seconds();
        struct status status = shared->work->part(shared->work->context, number, scratch);
        note_part(shared, number, clock_thread_seconds() - start_s, &status);
    }
}

static void do_parts(struct help *help, struct shared_work *shared, void *scratch)
{
    const struct parallel *work = shared->work;
    if (work->parts == 1) shared->status = work->part(work->context, 0, scratch);
    else if (help && help->team) run_with_team(help->team, shared, scratch);
    else run_alone(shared, scratch);
    if (!help) return;
    help->parts_s += shared->parts_s;
    help->longest_parts_s += shared->longest_s;
}

struct status parallel_run(struct help *help, struct arena *arena, const struct parallel *work)
{
    struct shared_work shared = { .work = work, .failed = work->parts };
    if (!work->parts) return status_ok();
    if (!work->scratch_bytes) {
        do_parts(help, &shared, NULL);
        return shared.status;
    }
    struct arena_mark mark = arena_mark(arena);
    void *scratch = arena_allocate(arena, work->scratch_bytes);
    if (!scratch) return status_no_memory(work->scratch_bytes);
    do_parts(help, &shared, scratch);
    arena_rewind(arena, mark);
    return shared.status;
}

/* ---- elements --------------------------------------------------------------------------- */

enum { ELEMENTS = 1 << 16 }; /* of a part: a tenth of a millisecond of additions and more */

struct elements {
    size_t n;
    void (*some)(void *context, size_t start, size_t count);
    void *context;
};

static struct status elements_part(void *context, size_t number, void *scratch)
{
    const struct elements *e = context;
    size_t start = number * ELEMENTS, left = e->n - start;
    (void)scratch;
    e->some(e->context, start, left < ELEMENTS ? left : ELEMENTS);
    return status_ok();
}

void parallel_elements(struct help *help, size_t n,
                       void (*some)(void *context, size_t start, size_t count), void *context)
{
    struct elements elements = { n, some, context };
    (void)parallel_run(
        help, NULL,
        &(struct parallel){ n ? (n - 1) / ELEMENTS + 1 : 0, 0, elements_part, &elements });
}

/* ---- lines ------------------------------------------------------------------------------ */

struct lines {
    const struct parallel_lines *work;
    size_t together; /* lines of a part */
};

static struct status lines_part(void *context, size_t number, void *scratch)
{
    const struct lines *l = context;
    size_t start = number * l->together, left = l->work->count - start;
    l->work->some(l->work->context, start, left < l->together ? left : l->together, scratch);
    return status_ok();
}

struct status parallel_lines_run(struct help *help, struct arena *arena,
                                 const struct parallel_lines *work)
{
    struct lines lines = { work, work->length < ELEMENTS ? ELEMENTS / (work->length + 1) + 1 : 1 };
    size_t parts = work->count ? (work->count - 1) / lines.together + 1 : 0;
    return parallel_run(help, arena,
                        &(struct parallel){ parts, work->scratch_bytes, lines_part, &lines });
}
