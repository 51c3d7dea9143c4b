/* Errors as values.
 *
 * Every function that can fail returns a struct status. Its text is a sentence for the user
 * that says what was being done, with which file or API, and where inside it. Nothing below
 * main() prints or exits.
 */
#ifndef PROBE_CORE_STATUS_H
#define PROBE_CORE_STATUS_H

/* The first five are also the exit status of the program. */
enum status_code {
    STATUS_OK = 0,
    STATUS_BAD_ARGUMENT = 2, /* the command line or a config value */
    STATUS_BAD_INPUT = 3,    /* a file that cannot be used */
    STATUS_INTERNAL = 4,     /* a promise of ours was broken */
    STATUS_SKIP = 5,         /* this case cannot run; the run goes on, the row says why */
    STATUS_NO_MEMORY = 6,
    STATUS_IO = 7,     /* a system call on a file failed */
    STATUS_DEVICE = 8, /* the device failed on this case: an `error` row */
    STATUS_INTERRUPTED = 130
};

struct status {
    enum status_code code;
    char text[508];
};

struct status status_ok(void);

/* A failure with a printf-style sentence. Its text is one line of UTF-8 whatever the arguments hold:
 * control characters become blanks and bytes that are no UTF-8 question marks; what is too long is
 * cut behind a character. */
struct status status_error(enum status_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same failure with "<context>: " put before its text. */
struct status status_within(struct status inner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The failure of an allocation of `bytes` bytes (0: size unknown). */
struct status status_no_memory(unsigned long long bytes);

/* Make a text of others fit for a terminal, in place: what status_error does with its text. */
void text_tidy(char *text);

/* Leave the calling function with the status of `expression` unless it is OK. */
#define TRY(expression)                                        \
    do {                                                       \
        struct status try_status_ = (expression);              \
        if (try_status_.code != STATUS_OK) return try_status_; \
    } while (0)

#endif
