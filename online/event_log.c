/* Lines of the log, counted by the second. */
#include "online/event_log.h"

#include <stdio.h>

#include "core/clock.h"
#include "core/quantity.h"

void event_log_tick(struct event_log *log)
{
    const double now_s = clock_seconds();
    if (now_s - log->second_s < 1) return;
    if (log->left_out)
        warn(log->out, "%s of the last second left out",
             quantity_of(log->left_out, "more event").text);
    log->second_s = now_s;
    log->written = log->left_out = 0;
}

void event_log_write_list(struct event_log *log, const char *who, const char *format,
                          va_list arguments)
{
    char sentence[500];
    event_log_tick(log);
    if (log->written >= EVENTS_A_SECOND) {
        log->left_out++;
        return;
    }
    log->written++;
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    warn(log->out, "%s%s%s", who ? who : "", who ? ": " : "", sentence);
}

void event_log_write(struct event_log *log, const char *who, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    event_log_write_list(log, who, format, arguments);
    va_end(arguments);
}
