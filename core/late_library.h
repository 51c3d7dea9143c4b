/* Shared libraries that are loaded when a function of theirs is first called, and not by the dynamic linker when the
 * program starts. Most commands and most runs never call into the large ones, whose symbols take longer to bind than
 * a small run takes.
 *
 * The program defines the functions that it uses itself, under their names and with their prototypes, so that callers
 * include the library's header and notice nothing: LATE_FUNCTION makes a definition that hands the call on.
 */
#ifndef PROBE_CORE_LATE_LIBRARY_H
#define PROBE_CORE_LATE_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/status.h"

struct late_library {
    const char *name; /* as the linker would record it: "libflint-arb.so.2" */
    /* Called once with the handle of dlopen, before any of its functions; or NULL. */
    void (*prepare)(void *handle);
    bool binds_as_called; /* its own symbols, too, when they are first used: for those of many */
    pthread_mutex_t lock;
    _Atomic(void *) handle;
};
#define LATE_LIBRARY(file_name, ...)                                        \
    {                                                                       \
        .name = (file_name), .lock = PTHREAD_MUTEX_INITIALIZER, __VA_ARGS__ \
    }

/* Load it; again: nothing. For those who can say that it is not there.
 *
 *   errors   STATUS_INTERNAL with what the dynamic linker says
 *   threads  safe
 */
struct status late_library_load(struct late_library *library);

bool late_library_is_loaded(const struct late_library *library);

/* The address of a function or an object of the library, or of one that it is linked with. What is not there ends
 * the process with a line and status 4: callers of a library's functions have no way to be told. */
void *late_library_symbol(struct late_library *library, const char *name);

/* The function `name` of a library, whose header is included: `LATE_FUNCTION(library, double, cos, (double x), (x))`.
 * It is looked up at its first call. */
#define LATE_FUNCTION(library, result, name, parameters, arguments)                    \
    static result first_##name parameters;                                             \
    static _Atomic(__typeof__(&(name))) place_of_##name = first_##name;                \
    static result first_##name parameters                                              \
    {                                                                                  \
        __typeof__(&(name)) function;                                                  \
        void *symbol = late_library_symbol(&(library), #name);                         \
        memcpy((void *)&function, (void *)&symbol, sizeof function);                   \
        atomic_store_explicit(&place_of_##name, function, memory_order_release);       \
        return function arguments;                                                     \
    }                                                                                  \
    result name parameters                                                             \
    {                                                                                  \
        return atomic_load_explicit(&place_of_##name, memory_order_acquire) arguments; \
    }

#endif
