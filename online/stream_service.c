/* Puts store, sessions and judge together. */
#include "online/stream_service.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/directory.h"
#include "core/memory.h"

struct stream_service {
    struct stream_service_options options;
    char *spool_path;
    struct stream *stream;
    struct protocol protocol;
    struct judge *judge;
    pthread_mutex_t mutex;      /* of the pointer: set once, on the thread of the server */
    struct stream_store *store; /* NULL before the first client */
};

static char *spool_path_in(const char *directory)
{
    size_t bytes = strlen(directory) + sizeof "/" STREAM_SPOOL_NAME;
    char *path = memory_allocate(bytes);
    if (path) (void)snprintf(path, bytes, "%s/" STREAM_SPOOL_NAME, directory);
    return path;
}

bool stream_service_was_cut_short(const char *out_path)
{
    char *path = spool_path_in(out_path);
    bool is_there = path && directory_exists(path);
    memory_release(path);
    return is_there;
}

static struct stream_store *store_of(struct stream_service *service)
{
    pthread_mutex_lock(&service->mutex);
    struct stream_store *store = service->store;
    pthread_mutex_unlock(&service->mutex);
    return store;
}

/* ---- the judge -------------------------------------------------------------------------- */

static struct status submit(bool *taken, void *context, const struct judge_submission *record)
{
    return judge_submit(taken, ((struct stream_service *)context)->judge, record);
}

static uint64_t committed(void *context, const char *session)
{
    return judge_committed(((struct stream_service *)context)->judge, session);
}

static struct status sync_rows(void *context)
{
    return judge_sync(((struct stream_service *)context)->judge);
}

static bool shall_stop(const struct stream_service *service, enum verdict verdict)
{
    return service->options.may_stop &&
           (verdict == VERDICT_ERROR ||
            (verdict == VERDICT_WARNING && service->options.stop_on == VERDICT_WARNING));
}

static void stop_training(struct stream_service *service, const struct record_done *done)
{
    struct status why = status_error(STATUS_BAD_INPUT, "%s of rank %lld, step %lld: %s: %s",
                                     done->name ? done->name : "a call", (long long)done->rank,
                                     (long long)done->step, verdict_name(done->verdict),
                                     done->sentence ? done->sentence : "see the result files");

    stream_stop_training(service->stream, why.text);
    service->options.wake(service->options.wake_context);
}

bool stream_service_release(struct stream_service *service, const struct judge_submission *record)
{
    if (!record->origin.session) return false;
    stream_store_release(store_of(service), record->ticket);
    return true;
}

void stream_service_done(struct stream_service *service, const struct record_done *done)
{
    if (!done->origin.session) return;
    if (shall_stop(service, done->verdict)) stop_training(service, done);
    stream_store_done(store_of(service), done);
}

void stream_service_room(struct stream_service *service)
{
    struct stream_store *store = store_of(service);
    if (store) stream_store_room(store);
}

/* ---- the store -------------------------------------------------------------------------- */

static struct status open_store(struct stream_store **out, void *context)
{
    struct stream_service *service = context;
    const struct stream_store_options options = {
        .directory = service->spool_path,
        .judge = { service, submit, committed, sync_rows },
        .memory = service->options.memory,
        .wake = service->options.wake,
        .wake_context = service->options.wake_context,
    };

    /* Its feeder may have a record done before it is returned. */
    pthread_mutex_lock(&service->mutex);
    struct status status = stream_store_open(&service->store, &options);
    *out = service->store;
    pthread_mutex_unlock(&service->mutex);
    return status;
}

bool stream_service_is_idle(struct stream_service *service)
{
    struct stream_store *store = store_of(service);
    return !store || stream_store_is_idle(store);
}

struct status stream_service_trouble(struct stream_service *service)
{
    struct stream_store *store = store_of(service);
    return store ? stream_store_trouble(store) : status_ok();
}

struct status stream_service_progress(struct stream_client_progress **clients, size_t *n_clients,
                                      struct stream_store_progress *store, struct arena *arena,
                                      struct stream_service *service)
{
    struct stream_store *open_one = store_of(service);

    *store = open_one ? stream_store_progress(open_one) : (struct stream_store_progress){ 0 };
    return stream_progress(clients, n_clients, arena, service->stream);
}

/* ---- beginning and end ------------------------------------------------------------------ */

const struct protocol *stream_service_protocol(const struct stream_service *service)
{
    return &service->protocol;
}

struct status stream_service_start(struct stream_service *service, struct judge *judge)
{
    struct stream_store *store;

    service->judge = judge;
    if (!directory_exists(service->spool_path)) return status_ok();
    TRY(open_store(&store, service));
    stream_use_store(service->stream, store);
    attendance_expect_back(service->options.attendance, clock_seconds());
    return status_ok();
}

void stream_service_end_run(struct stream_service *service) { stream_end_run(service->stream); }

void stream_service_halt(struct stream_service *service)
{
    if (service && service->store) stream_store_halt(service->store);
}

struct status stream_service_close(struct stream_service *service, bool finished)
{
    if (!service) return status_ok();
    stream_close(service->stream);
    struct status status = stream_store_close(service->store, finished);
    (void)pthread_mutex_destroy(&service->mutex);
    memory_release(service->spool_path);
    memory_release(service);
    return status;
}

struct status stream_service_open(struct stream_service **out,
                                  const struct stream_service_options *options)
{
    *out = NULL;
    struct stream_service *service = memory_allocate_zeroed(1, sizeof *service);
    if (!service) return status_no_memory(sizeof *service);
    service->options = *options;
    (void)pthread_mutex_init(&service->mutex, NULL);
    service->spool_path = spool_path_in(options->out_path);
    const struct stream_options stream = { .token = options->token,
                                           .open_store = open_store,
                                           .open_context = service,
                                           .memory = options->memory,
                                           .attendance = options->attendance,
                                           .arrived = options->arrived,
                                           .arrived_context = options->arrived_context };
    struct status status = service->spool_path ? stream_open(&service->stream, &stream)
                                               : status_no_memory(0);
    if (status.code) {
        (void)stream_service_close(service, false);
        return status;
    }
    service->protocol = stream_protocol(service->stream);
    *out = service;
    return status_ok();
}
