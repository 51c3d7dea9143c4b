/* The handler writes to a pipe; whoever polls reads from it. */
#include "runner/interrupts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const int signals[INTERRUPT_SIGNALS] = { SIGINT, SIGTERM, SIGHUP };

/* Where the handler writes. A handler gets no argument, so this one cannot be a member. Atomic
 * and not sig_atomic_t: the handler may run on any thread. */
static atomic_int handler_fd = -1;
static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may not take a lock");

static void note_signal(int number)
{
    int saved = errno;
    const char byte = (char)number;
    ssize_t written = write(handler_fd, &byte, 1);
    (void)written;
    errno = saved;
}

struct status interrupts_open(struct interrupts *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return status_error(STATUS_IO, "cannot make a pipe for signals: %s", strerror(errno));
    out->fd = ends[0];
    out->write_fd = ends[1];
    handler_fd = ends[1];
    struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
    for (int i = 0; i < INTERRUPT_SIGNALS; i++) {
        (void)sigaction(signals[i], NULL, &out->before[i]);
        /* What nohup or a shell made the process ignore stays ignored. */
        if (out->before[i].sa_handler != SIG_IGN) (void)sigaction(signals[i], &action, NULL);
    }
    return status_ok();
}

bool interrupts_take(const struct interrupts *interrupts)
{
    char byte;
    return read(interrupts->fd, &byte, 1) == 1;
}

static bool is_asked_for(void *context) { return interrupts_take(context); }

struct stop interrupts_stop(const struct interrupts *interrupts)
{
    return (struct stop){ is_asked_for, (void *)(uintptr_t)interrupts };
}

void interrupts_close(struct interrupts *interrupts)
{
    for (int i = 0; i < INTERRUPT_SIGNALS; i++)
        (void)sigaction(signals[i], &interrupts->before[i], NULL);
    handler_fd = -1;
    (void)close(interrupts->fd);
    (void)close(interrupts->write_fd);
}
