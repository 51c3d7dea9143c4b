/* The command line that gives a command's options their values: what options_parse reads. */
#ifndef PROBE_CLI_OPTIONS_WRITE_H
#define PROBE_CLI_OPTIONS_WRITE_H

#include "cli/options.h"
#include "core/arena.h"

struct option_words {
    const char **items; /* in the arena, as the texts are */
    size_t count, room;
};

/* Append the words of all options that are not as in `defaults`.
 *
 *   rows  ended by one without a name
 */
struct status options_write(struct option_words *words, struct arena *arena,
                            const struct option_row *rows, const void *values,
                            const void *defaults);

#endif
