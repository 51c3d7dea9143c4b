/* The functions of libmicrohttpd that the program calls, each handed on to the library. One that is missing here is
 * undefined when the program is linked: add its row. */
#include "online/http_library.h"

#ifdef PROBE_HTTP_LIBRARY /* cmake/dependencies.cmake: the name under which it is loaded */

#include <microhttpd.h>
#include <stdarg.h>

#include "core/late_library.h"

static struct late_library microhttpd = LATE_LIBRARY(PROBE_HTTP_LIBRARY, .prepare = NULL);

struct status http_library_load(void) { return late_library_load(&microhttpd); }

#define LATE(...) LATE_FUNCTION(microhttpd, __VA_ARGS__)

/* clang-format off */
LATE(enum MHD_Result, MHD_add_response_header, (struct MHD_Response *response, const char *header, const char *content), (response, header, content))
LATE(struct MHD_Response *, MHD_create_response_from_buffer, (size_t size, void *buffer, enum MHD_ResponseMemoryMode mode), (size, buffer, mode))
LATE(struct MHD_Response *, MHD_create_response_from_fd64, (uint64_t size, int fd), (size, fd))
LATE(void, MHD_destroy_response, (struct MHD_Response *response), (response))
LATE(const union MHD_DaemonInfo *, MHD_get_daemon_info, (struct MHD_Daemon *daemon, enum MHD_DaemonInfoType info_type, ...), (daemon, info_type))
LATE(const char *, MHD_lookup_connection_value, (struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *key), (connection, kind, key))
LATE(enum MHD_Result, MHD_queue_response, (struct MHD_Connection *connection, unsigned status_code, struct MHD_Response *response), (connection, status_code, response))
LATE(void, MHD_stop_daemon, (struct MHD_Daemon *daemon), (daemon))
LATE(struct MHD_Daemon *, MHD_start_daemon_va, (unsigned flags, uint16_t port, MHD_AcceptPolicyCallback apc, void *apc_cls, MHD_AccessHandlerCallback dh, void *dh_cls, va_list ap), (flags, port, apc, apc_cls, dh, dh_cls, ap))
/* clang-format on */

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept,
                                    void *accept_context, MHD_AccessHandlerCallback answer,
                                    void *answer_context, ...)
{
    va_list options;
    va_start(options, answer_context);
    struct MHD_Daemon *daemon =
        MHD_start_daemon_va(flags, port, accept, accept_context, answer, answer_context, options);
    va_end(options);
    return daemon;
}

#endif
