/* probe-ut: from the command line to the exit status. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "runner/environment.h"

/* Exit statuses by what went wrong; the manual lists them. */
static int exit_status_of(enum status_code code)
{
    switch (code) {
    case STATUS_OK: return 0;
    case STATUS_BAD_ARGUMENT: return 2;
    case STATUS_BAD_INPUT:
    case STATUS_IO:
    case STATUS_DEVICE: return 3;
    case STATUS_INTERRUPTED: return 130;
    case STATUS_INTERNAL:
    case STATUS_SKIP:
    case STATUS_NO_MEMORY: return 4;
    }
    return 4;
}

/* Dumps and tensors are mapped. When somebody cuts a file under the map, touching what is gone ends
 * the program, which can say so: what was committed stays whole, as after a kill. */
static void input_is_gone(int signal)
{
    static const char text[] = "probe-ut: SIGBUS: an input file became shorter while it was read, "
                               "or memory that is shared "
                               "with a device ran out; the results so far can be resumed\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written, (void)signal;
    _exit(3);
}

int main(int count, char **arguments)
{
    int exit_status = 0;
    const struct sigaction gone = { .sa_handler = input_is_gone };
    (void)sigaction(SIGBUS, &gone, NULL);
    struct status status = environment_prepare(arguments);
    if (!status.code) status = commands_run(&exit_status, count, arguments);
    (void)fflush(stdout);
    if (!status.code) return exit_status;
    (void)fprintf(stderr, "probe-ut: %s\n", status.text);
    /* Threads may still be at work: leave without the libraries' own cleaning up. */
    if (status.code == STATUS_INTERRUPTED) _exit(exit_status_of(status.code));
    return exit_status_of(status.code);
}
