/* Few requests and small answers: two threads of the library, each answer made whole in memory. The page itself
 * is compiled in. What is served is the same for everybody, so there are no sessions, only a token. */
#include "online/live_view.h"

#ifndef PROBE_HAS_MICROHTTPD

struct status live_view_open(struct live_view **out, const struct live_view_options *options)
{
    (void)options;
    *out = NULL;
    return status_error(STATUS_BAD_ARGUMENT,
                        "--http needs a program that was built with libmicrohttpd");
}

const char *live_view_url(const struct live_view *view)
{
    (void)view;
    return "";
}

void live_view_linger(struct live_view *view) { (void)view; }
void live_view_close(struct live_view *view) { (void)view; }

#else

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/descriptors.h"
#include "core/file.h"
#include "core/memory.h"
#include "online/http_library.h"
#include "online/stream_frames.h"
#include "pages/page.h"

/* Many connections, because browsers hold some open and strangers any number; one that is idle costs its descriptor. */
enum { THREADS = 2, CONNECTIONS = 2048, TIMEOUT_S = 15, TOKEN_BYTES = 256 };
#define REPORT_AGE_S 5.0 /* a report page that is younger is served again */

struct live_view {
    struct live_view_options options;
    struct MHD_Daemon *daemon;
    char url[80];
    pthread_mutex_t report_mutex;
    char report_path[40];
    double report_s;                     /* when it was made; 0: never */
    atomic_bool was_asked, has_told_end; /* for live_view_linger */
};

/* ---- answers ---------------------------------------------------------------------------- */

/* On every answer. The page's own policy stands in it, by the digests of its scripts. */
static const char *const headers[][2] = {
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cache-Control", "no-store" },
};
#define PAGE_POLICY  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'"
#define DATA_POLICY  "default-src 'none'; frame-ancestors 'none'"

static enum MHD_Result send_answer(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response, const char *type,
                                   const char *policy)
{
    if (!response) return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        (void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Content-Security-Policy", policy);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
                                 const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    return send_answer(connection, status, response, "text/plain; charset=utf-8", DATA_POLICY);
}

static enum MHD_Result send_page(struct live_view *view, struct MHD_Connection *connection)
{
    const struct embedded_file *page = page_template("live.html");

    (void)view;
    return send_answer(connection, MHD_HTTP_OK,
                       MHD_create_response_from_buffer(page->bytes, (void *)(uintptr_t)page->text,
                                                       MHD_RESPMEM_PERSISTENT),
                       "text/html; charset=utf-8", PAGE_POLICY);
}

static enum MHD_Result send_facts(struct live_view *view, struct MHD_Connection *connection)
{
    struct arena arena = { 0 };
    struct live_facts facts;
    struct text_out out = { .status = status_ok() };

    struct status status = view->options.look(&facts, &arena, view->options.context);
    if (!status.code) live_json_write(&out, &facts);
    if (!status.code) status = out.status;
    if (!status.code) atomic_store(&view->was_asked, true);
    if (!status.code && facts.is_over) atomic_store(&view->has_told_end, true);
    enum MHD_Result result =
        status.code ? send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, status.text)
                    : send_answer(connection, MHD_HTTP_OK,
                                  MHD_create_response_from_buffer(out.text.length, out.text.data,
                                                                  MHD_RESPMEM_MUST_COPY),
                                  "application/json", DATA_POLICY);
    csv_buffer_release(&out.text);
    arena_release(&arena);
    return result;
}

/* The report page as it is now, or was a moment ago. */
static struct status open_report(int *fd, uint64_t *bytes, struct live_view *view)
{
    struct file file = FILE_NONE;
    struct status status = status_ok();

    pthread_mutex_lock(&view->report_mutex);
    if (view->report_s <= 0 || clock_seconds() - view->report_s > REPORT_AGE_S)
        status = view->options.report(view->report_path, view->options.context);
    if (!status.code) view->report_s = clock_seconds();
    if (!status.code) status = file_open_read(&file, view->report_path, FILES_TRUSTED);
    if (!status.code) status = file_size(bytes, &file);
    if (!status.code) *fd = dup(file.fd);
    (void)file_close(&file);
    pthread_mutex_unlock(&view->report_mutex);
    return status;
}

static enum MHD_Result send_report(struct live_view *view, struct MHD_Connection *connection)
{
    uint64_t bytes;
    int fd = -1;

    if (!view->options.report) return send_text(connection, MHD_HTTP_NOT_FOUND, "no report\n");
    struct status status = open_report(&fd, &bytes, view);
    if (status.code) return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, status.text);
    return send_answer(connection, MHD_HTTP_OK, MHD_create_response_from_fd64(bytes, fd),
                       "text/html; charset=utf-8", PAGE_POLICY);
}

/* ---- who may look ----------------------------------------------------------------------- */

/* Is it a name of this host, as a browser here has it? Port and brackets do not count. */
static bool is_loopback_name(const char *host)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (!strncmp(host, names[i], length) && (!host[length] || host[length] == ':')) return true;
    }
    return false;
}

static bool token_fits(const struct live_view *view, const char *token)
{
    return token &&
           stream_token_is((const unsigned char *)token, strlen(token), view->options.token);
}

/* The token that came with the address: keep it in a cookie, and lead to the page without it. */
static enum MHD_Result send_cookie(struct live_view *view, struct MHD_Connection *connection)
{
    static const char text[] = "see /\n";
    char cookie[TOKEN_BYTES + 80];
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    (void)snprintf(cookie, sizeof cookie, "probe_token=%s; HttpOnly; SameSite=Strict; Path=/",
                   view->options.token);
    if (response) {
        (void)MHD_add_response_header(response, "Set-Cookie", cookie);
        (void)MHD_add_response_header(response, "Location", "/");
    }
    return send_answer(connection, MHD_HTTP_SEE_OTHER, response, "text/plain; charset=utf-8",
                       DATA_POLICY);
}

static const struct {
    const char *path;
    enum MHD_Result (*send)(struct live_view *view, struct MHD_Connection *connection);
} paths[] = {
    { "/", send_page },
    { "/live.json", send_facts },
    { "/report", send_report },
};

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
    struct live_view *view = context;
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    static int seen;

    (void)version, (void)upload;
    /* The library calls once for the headers and once behind the body, which is not wanted. */
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    *upload_bytes = 0;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    if (!view->options.is_public && !is_loopback_name(host))
        return send_text(connection, MHD_HTTP_FORBIDDEN, "this view is for this host only\n");
    if (view->options.token) {
        const char *given = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
        if (token_fits(view, given)) return send_cookie(view, connection);
        if (!token_fits(view,
                        MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, "probe_token")))
            return send_text(connection, MHD_HTTP_UNAUTHORIZED, "a token is needed: /?token=...\n");
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (!strcmp(url, paths[i].path)) return paths[i].send(view, connection);
    return send_text(connection, MHD_HTTP_NOT_FOUND, "not here\n");
}

/* ---- opening and closing ---------------------------------------------------------------- */

struct endpoint {
    struct sockaddr_storage address;
    bool is_loopback;
    char host[INET6_ADDRSTRLEN];
};

/* "127.0.0.1:8080", "[::1]:8080", "8080" */
static bool parse_endpoint(struct endpoint *out, const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *port_text = colon ? colon + 1 : text;
    char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1", *end;
    unsigned long port = strtoul(port_text, &end, 10);
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->address;

    if (*port_text < '0' || *port_text > '9' || *end || port > 65535) return false;
    if (colon) {
        bool brackets = *text == '[' && colon > text + 1 && colon[-1] == ']';
        int length = (int)(colon - text) - (brackets ? 2 : 0);
        if (length < 1 || length > INET6_ADDRSTRLEN) return false;
        (void)snprintf(host, sizeof host, "%.*s", length, text + brackets);
    }
    memset(&out->address, 0, sizeof out->address);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        out->is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        out->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    } else {
        return false;
    }
    (void)snprintf(out->host, sizeof out->host, "%.*s", (int)sizeof out->host - 1, host);
    return true;
}

/* What a cookie can hold. */
static bool token_is_plain(const char *token)
{
    size_t length = strlen(token);
    return length && length <= TOKEN_BYTES &&
           strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") ==
               length;
}

static struct status check_options(struct endpoint *endpoint,
                                   const struct live_view_options *options)
{
    if (!parse_endpoint(endpoint, options->address))
        return status_error(STATUS_BAD_ARGUMENT, "--http '%s' is no ADDRESS:PORT",
                            options->address);
    if (!endpoint->is_loopback && !options->is_public)
        return status_error(STATUS_BAD_ARGUMENT,
                            "--http %s would show the run to other hosts; that takes --http-public",
                            options->address);
    if (options->is_public && !options->token)
        return status_error(STATUS_BAD_ARGUMENT, "--http-public takes a token");
    if (options->token && !token_is_plain(options->token))
        return status_error(
            STATUS_BAD_ARGUMENT,
            "the token of --http may have letters, digits and -_.~ only, %d at most",
            (int)TOKEN_BYTES);
    return status_ok();
}

static struct status start(struct live_view *view, const struct endpoint *endpoint)
{
    bool v6 = endpoint->address.ss_family == AF_INET6;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | (v6 ? MHD_USE_IPv6 : 0);

    TRY(http_library_load());
    descriptors_allow(CONNECTIONS);
    view->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, answer, view, MHD_OPTION_SOCK_ADDR, &endpoint->address,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
    if (!view->daemon)
        return status_error(STATUS_BAD_ARGUMENT, "--http: cannot listen on %s",
                            view->options.address);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(view->daemon, MHD_DAEMON_INFO_BIND_PORT);
    (void)snprintf(view->url, sizeof view->url, v6 ? "http://[%s]:%u/" : "http://%s:%u/",
                   endpoint->host, info ? info->port : 0);
    return status_ok();
}

/* A file of our own that nobody else can put a link in place of. */
static struct status make_report_place(struct live_view *view)
{
    (void)snprintf(view->report_path, sizeof view->report_path, "/tmp/probe-live-XXXXXX");
    if (!mkdtemp(view->report_path)) {
        view->report_path[0] = '\0';
        return status_error(STATUS_IO, "cannot make a directory in /tmp for the report page");
    }
    strcat(view->report_path, "/report.html");
    return status_ok();
}

static void remove_report_place(struct live_view *view)
{
    if (!view->report_path[0]) return;
    if (view->report_s > 0) (void)file_remove(view->report_path);
    *strrchr(view->report_path, '/') = '\0';
    (void)file_remove_directory(view->report_path);
}

struct status live_view_open(struct live_view **out, const struct live_view_options *options)
{
    struct endpoint endpoint;

    *out = NULL;
    TRY(check_options(&endpoint, options));
    struct live_view *view = memory_allocate_zeroed(1, sizeof *view);
    if (!view) return status_no_memory(sizeof *view);
    view->options = *options;
    (void)pthread_mutex_init(&view->report_mutex, NULL);
    struct status status = options->report ? make_report_place(view) : status_ok();
    if (!status.code) status = start(view, &endpoint);
    if (status.code) live_view_close(view);
    else *out = view;
    return status;
}

const char *live_view_url(const struct live_view *view) { return view->url; }

void live_view_linger(struct live_view *view)
{
    enum { WAITS = 25, WAIT_MS = 100 };
    const struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };

    if (!atomic_load(&view->was_asked)) return;
    for (int i = 0; i < WAITS && !atomic_load(&view->has_told_end); i++)
        (void)nanosleep(&pause, NULL);
    (void)nanosleep(&pause, NULL); /* the answer is on its way */
}

void live_view_close(struct live_view *view)
{
    if (!view) return;
    if (view->daemon) MHD_stop_daemon(view->daemon);
    remove_report_place(view);
    (void)pthread_mutex_destroy(&view->report_mutex);
    memory_release(view);
}

#endif
