/* Decides when a line is due and what the rate is; nothing is printed more often than the eye follows. */
#include "report/progress.h"

#include <unistd.h>

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

static void draw_line(struct progress *progress, double now_s)
{
    double elapsed = now_s - progress->started_s;
    size_t here = progress->done - progress->earlier;
    double rate = elapsed > 0 ? (double)here / elapsed : 0;

    fprintf(progress->out, "\r\033[K%zu/%zu", progress->done, progress->total);
    if (!progress->unjudged) fprintf(progress->out, "  failing %zu", progress->failing);
    if (rate > 0) {
        double left = (double)(progress->total - progress->done) / rate;
        fprintf(progress->out, "  %.*f %s/s", rate < 10 ? 1 : 0, rate, progress->unit);
        if (left < 90) fprintf(progress->out, "  %.0f s left", left);
        else fprintf(progress->out, "  %.0f min left", left / 60);
    }
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
    if (tenth <= progress->tenth) return;
    progress->tenth = tenth;
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
