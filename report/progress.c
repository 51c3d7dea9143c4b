/* Decides when a line is due and what the rate is; nothing is printed more often than the eye follows. */
#include "report/progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/status.h"

enum { WIDTH_UNKNOWN = 100, WAIT_SHOWN_S = 3, LOG_LINE_S = 2 };

void progress_start(struct progress *progress, FILE *out, bool enabled, size_t total,
                    size_t earlier, size_t failing, double now_s)
{
    *progress = (struct progress){
        .out = out,
        .enabled = enabled,
        .unit = "calls",
        .terminal = isatty(fileno(out)) == 1,
        .total = total,
        .earlier = earlier,
        .done = earlier,
        .failing = failing,
        .tenth = total ? (int)(10 * earlier / total) : 10,
        .started_s = now_s,
        .drawn_s = -1,
        .logged_s = now_s,
    };
}

void progress_expect(struct progress *progress, size_t total, size_t earlier, size_t failing,
                     double now_s)
{
    if (!progress->total) progress->started_s = now_s;
    progress->done += earlier - progress->earlier;
    progress->earlier = earlier;
    progress->total = total > progress->done ? total : progress->done;
    progress->failing = failing;
    progress->tenth = progress->total ? (int)(10 * progress->done / progress->total) : 10;
}

void progress_count(struct progress *progress, bool failing)
{
    progress->done++;
    progress->failing += failing;
}

void progress_wait_for(struct progress *progress, const char *call, double now_s)
{
    if (!strncmp(progress->call, call, sizeof progress->call - 1)) return;
    (void)snprintf(progress->call, sizeof progress->call, "%s", call);
    text_tidy(progress->call);
    progress->waiting_since_s = now_s;
}

/* Columns that a line may have: a longer one would wrap, and only its end could be erased. */
static size_t width_of(const struct progress *progress)
{
    struct winsize size;
    bool known = !ioctl(fileno(progress->out), TIOCGWINSZ, &size) && size.ws_col > 1;
    return known ? size.ws_col - 1u : WIDTH_UNKNOWN;
}

static size_t add_rate(char *line, size_t bytes, const struct progress *progress, double now_s)
{
    double elapsed = now_s - progress->started_s;
    size_t here = progress->done - progress->earlier;
    double rate = elapsed > 0 ? (double)here / elapsed : 0;
    if (rate <= 0) return 0;
    double left = (double)(progress->total - progress->done) / rate;
    bool minutes = left >= 90;
    return (size_t)snprintf(line, bytes, "  %.*f %s/s  %.0f %s left", rate < 10 ? 1 : 0, rate,
                            progress->unit, minutes ? left / 60 : left, minutes ? "min" : "s");
}

static void draw_line(struct progress *progress, double now_s)
{
    char line[3 * PROGRESS_CALL_BYTES];
    double waited_s = now_s - progress->waiting_since_s;
    size_t used = (size_t)snprintf(line, sizeof line, "%zu/%zu", progress->done, progress->total);
    if (!progress->unjudged)
        used +=
            (size_t)snprintf(line + used, sizeof line - used, "  failing %zu", progress->failing);
    used += add_rate(line + used, sizeof line - used, progress, now_s);
    if (progress->call[0])
        used += (size_t)snprintf(line + used, sizeof line - used, "  %s", progress->call);
    if (progress->call[0] && waited_s >= WAIT_SHOWN_S)
        (void)snprintf(line + used, sizeof line - used, " for %.0f s", waited_s);
    fprintf(progress->out, "\r\033[K%.*s", (int)width_of(progress), line);
    fflush(progress->out);
    progress->drawn = true;
    progress->drawn_s = now_s;
}

void progress_show(struct progress *progress, double now_s)
{
    if (!progress->enabled || !progress->total) return;
    if (progress->terminal) {
        if (progress->drawn_s < 0 || now_s - progress->drawn_s >= 0.2) draw_line(progress, now_s);
        return;
    }
    int tenth = (int)(10 * progress->done / progress->total);
    if (tenth <= progress->tenth || now_s - progress->logged_s < LOG_LINE_S) return;
    progress->tenth = tenth;
    progress->logged_s = now_s;
    fprintf(progress->out, "probe-ut: %d %% (%zu of %zu %s)", 10 * tenth, progress->done,
            progress->total, progress->unit);
    if (!progress->unjudged) fprintf(progress->out, ", %zu failing", progress->failing);
    fputc('\n', progress->out);
    fflush(progress->out);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn) fputs("\r\033[K", progress->out);
    fflush(progress->out);
    progress->drawn = false;
}
