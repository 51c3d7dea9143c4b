/* What the evidence of a case says of its inputs. */
#ifndef PROBE_GENERATORS_GENERATE_NOTES_H
#define PROBE_GENERATORS_GENERATE_NOTES_H

#include <stddef.h>

/* What was done to the inputs beyond the plain rules, for the evidence; one line each, in
 * the arena of the case. When there are more than fit, the last line says so. */
enum { INPUT_NOTES_MOST = 16 };
struct generate_notes {
    const char *lines[INPUT_NOTES_MOST];
    size_t count;
};

#endif
