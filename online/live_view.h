/* The live view: a page over HTTP that shows a run while it lasts (libmicrohttpd).
 *
 *     /            the page (web/live)
 *     /live.json   what it shows, anew each second
 *     /report      the report page of the rows so far
 *
 * It listens on the loopback interface, for those who are on the host, unless it is made public, which takes a
 * token: /?token=... sets a cookie and leads to the page. Requests for other hosts' names are refused, so that no web
 * site can read the view through the browser of somebody who may. It changes nothing: GET and HEAD are all it
 * answers.
 *
 * Where the program was built without libmicrohttpd, live_view_open says so.
 */
#ifndef PROBE_ONLINE_LIVE_VIEW_H
#define PROBE_ONLINE_LIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "online/live_json.h"

struct live_view;

struct live_view_options {
    const char *address; /* "127.0.0.1:8080", "[::1]:0", "8080"; port 0: any that is free */
    bool is_public;      /* other addresses than those of the loopback are allowed */
    const char *token;   /* NULL: none; needed when it is public */
    /* The facts, in `arena`. Called on threads of the view. */
    struct status (*look)(struct live_facts *facts, struct arena *arena, void *context);
    /* Write the report page of the rows so far to a path. NULL: there is none. */
    struct status (*report)(const char *path, void *context);
    void *context;
};

/* Begin to serve. Texts and context must outlive the view.
 *
 *   errors  STATUS_BAD_ARGUMENT: the address is none or not allowed, or cannot be listened on
 */
struct status live_view_open(struct live_view **out, const struct live_view_options *options);

/* "http://127.0.0.1:8080/" */
const char *live_view_url(const struct live_view *view);

/* Wait until those who look have been told that the run is over, for two seconds at most. */
void live_view_linger(struct live_view *view);

/* Stop serving. NULL is closed. */
void live_view_close(struct live_view *view);

#endif
