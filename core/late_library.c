/* dlopen under a lock; the handle is never given back. */
#include "core/late_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static void *loaded_handle(const struct late_library *library)
{
    return atomic_load_explicit(&library->handle, memory_order_acquire);
}

bool late_library_is_loaded(const struct late_library *library)
{
    return loaded_handle(library) != NULL;
}

struct status late_library_load(struct late_library *library)
{
    struct status status = status_ok();
    if (loaded_handle(library)) return status;
    pthread_mutex_lock(&library->lock);
    if (!loaded_handle(library)) {
        int binding = library->binds_as_called ? RTLD_LAZY : RTLD_NOW;
        void *handle = dlopen(library->name, binding | RTLD_LOCAL);
        if (!handle)
            status =
                status_error(STATUS_INTERNAL, "%s cannot be loaded: %s", library->name, dlerror());
        if (handle && library->prepare) library->prepare(handle);
        atomic_store_explicit(&library->handle, handle, memory_order_release);
    }
    pthread_mutex_unlock(&library->lock);
    return status;
}

static _Noreturn void end_process(const char *reason)
{
    char text[512];
    int length =
        snprintf(text, sizeof text, "probe-ut: %s; the results so far can be resumed\n", reason);
    size_t bytes = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
    ssize_t written = write(STDERR_FILENO, text, bytes);
    (void)written;
    _exit(4);
}

void *late_library_symbol(struct late_library *library, const char *name)
{
    struct status status = late_library_load(library);
    if (status.code) end_process(status.text);
    void *symbol = dlsym(loaded_handle(library), name);
    if (symbol) return symbol;
    char reason[256];
    (void)snprintf(reason, sizeof reason, "%s has no %s", library->name, name);
    end_process(reason);
}
