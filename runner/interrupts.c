#include "runner/interrupts.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct status interrupts_open(struct interrupts *out)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action;
        /* What nohup or a shell made the process ignore stays ignored: blocking would undo that. */
        if (!sigaction(signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
            sigaddset(&set, signals[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, &out->before);
    out->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (out->fd >= 0) return status_ok();
    (void)pthread_sigmask(SIG_SETMASK, &out->before, NULL);
    return status_error(STATUS_IO, "cannot make a signal descriptor: %s", strerror(errno));
}

int interrupts_take(const struct interrupts *interrupts)
{
    struct signalfd_siginfo info;
    if (read(interrupts->fd, &info, sizeof info) != (ssize_t)sizeof info) return 0;
    return (int)info.ssi_signo;
}

void interrupts_close(struct interrupts *interrupts)
{
    while (interrupts_take(interrupts)) continue;
    (void)close(interrupts->fd);
    (void)pthread_sigmask(SIG_SETMASK, &interrupts->before, NULL);
}
