/* A password from the terminal. */
#ifndef PROBE_CLI_PASSWORD_PROMPT_H
#define PROBE_CLI_PASSWORD_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a terminal to ask on? */
bool password_can_be_asked(void);

/* Ask for the password of a file; what is typed is not shown. False when nothing was typed. */
bool password_ask(char *password, size_t bytes, const char *path);

#endif
