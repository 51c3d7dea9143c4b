/* The terminal of the process, with its echo off for one line. */
#include "cli/password_prompt.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

bool password_can_be_asked(void) { return isatty(STDIN_FILENO) && isatty(STDERR_FILENO); }

bool password_ask(char *password, size_t bytes, const char *path)
{
    struct termios shown, hidden;
    if (tcgetattr(STDIN_FILENO, &shown)) return false;
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    (void)fprintf(stderr, "password of %s: ", path);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    const bool was_read = fgets(password, (int)bytes, stdin) != NULL;
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    (void)fputc('\n', stderr);
    if (was_read) password[strcspn(password, "\n")] = '\0';
    return was_read && *password;
}
