/* What the user should know and what stops nothing, told from below the command line, which alone
 * prints. */
#ifndef PROBE_CORE_WARNINGS_H
#define PROBE_CORE_WARNINGS_H

/* Who is told. All zeros: nobody. */
struct warnings {
    void (*tell)(void *context, const char *text); /* one line of UTF-8, as a status has it */
    void *context;
};

/* Tell a printf-style sentence. */
void warn(struct warnings warnings, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
