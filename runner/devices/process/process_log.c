/* A pipe that is read without waiting; only its end is kept. */
#include "runner/devices/process/process_log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void process_log_open(struct process_log *log, int descriptor)
{
    log->descriptor = descriptor;
    log->used = 0;
    (void)fcntl(descriptor, F_SETFL, O_NONBLOCK);
}

void process_log_close(struct process_log *log)
{
    if (log->descriptor >= 0) (void)close(log->descriptor);
    log->descriptor = -1;
}

/* Append, dropping the older half when full. */
static void keep(struct process_log *log, const char *text, size_t bytes)
{
    size_t half = sizeof log->text / 2;
    if (bytes > half) {
        text += bytes - half;
        bytes = half;
    }
    if (log->used + bytes > sizeof log->text) {
        memmove(log->text, log->text + log->used - half, half);
        log->used = half;
    }
    memcpy(log->text + log->used, text, bytes);
    log->used += bytes;
}

void process_log_drain(struct process_log *log)
{
    char buffer[4096];
    /* A process that prints without end must not keep us here: a few rounds, then the caller
     * looks at its clock again. */
    for (int round = 0; round < 64 && log->descriptor >= 0; round++) {
        ssize_t got = read(log->descriptor, buffer, sizeof buffer);
        if (got > 0) {
            keep(log, buffer, (size_t)got);
            continue;
        }
        if (got < 0) return; /* the pipe is empty */
        process_log_close(log);
    }
}

void process_log_last_line(const struct process_log *log, char *text, size_t bytes)
{
    size_t end = log->used, start;
    text[0] = '\0';
    while (end > 0 && (unsigned char)log->text[end - 1] <= ' ') end--;
    for (start = end; start > 0 && log->text[start - 1] != '\n';) start--;
    size_t length = end - start < bytes - 1 ? end - start : bytes - 1;
    /* A character of several bytes that would be cut in the middle is dropped whole. */
    while (length > 0 && start + length < end && (log->text[start + length] & 0xc0) == 0x80)
        length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)log->text[start + i];
        text[i] = c < ' ' || c == 0x7f ? ' ' : (char)c;
    }
    text[length] = '\0';
}

const char *process_signal_name(int signal, char *text, size_t bytes)
{
    const char *name = sigabbrev_np(signal);
    if (name) (void)snprintf(text, bytes, "SIG%s", name);
    else (void)snprintf(text, bytes, "signal %d", signal);
    return text;
}
