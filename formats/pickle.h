/* Pickles as data: a reader that builds values and never calls anything.
 *
 * A pickle is a program for a stack machine whose REDUCE instruction calls functions by name.
 * This machine has the instructions that torch.save uses (protocols 2 to 5). Names and calls are
 * given to the hooks of the caller, who knows a closed list of them; any other name ends the
 * reading. Values are never walked recursively and never copied through the memo, so nesting and
 * sharing cost nothing: time and memory are linear in the length of the pickle, which is
 * limited.
 */
#ifndef PROBE_FORMATS_PICKLE_H
#define PROBE_FORMATS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"

enum { PICKLE_MAX_BYTES = 256 << 10 }; /* of one tensor, whose pickle has a few hundred */

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_LONG, /* an integer beyond 64 bits, as bytes */
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_SET,
    PICKLE_DICT,   /* keys and values alternate */
    PICKLE_GLOBAL, /* a name the hooks know, as `object.id` */
    PICKLE_OBJECT  /* made by the hooks */
};

struct pickle_value {
    enum pickle_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct {
            const char *bytes; /* in the pickle itself, not terminated */
            size_t count;
        } text; /* and BYTES, and LONG: little-endian two's complement */
        struct pickle_sequence {
            struct pickle_value *items;
            size_t count, room;
        } * sequence;
        struct {
            int id;
            void *object;
        } object;
    };
};

/* What a hook returns when memory ran out. */
extern const char pickle_no_memory[];

/* What the names in a pickle mean. Each returns NULL, or what is wrong in words, or
 * pickle_no_memory. */
struct pickle_hooks {
    void *context;
    size_t most_bytes; /* that a pickle may have; 0: PICKLE_MAX_BYTES */
    /* A name: set `id`. */
    const char *(*global)(void *context, int *id, const struct pickle_value *module,
                          const struct pickle_value *name);
    /* Make the value of calling the global `id`, or of a new object of it, with `arguments` (a tuple). */
    const char *(*reduce)(void *context, struct pickle_value *out, int id,
                          const struct pickle_sequence *arguments);
    /* Make the value of a persistent id. NULL: there are none. */
    const char *(*persistent)(void *context, struct pickle_value *out,
                              const struct pickle_value *id);
    /* Give an object its state. NULL: none takes any. */
    const char *(*build)(void *context, const struct pickle_value *object,
                         const struct pickle_value *state);
};

/* Run the pickle at `bytes`. `*used` is its length (more may follow). The value lives in `arena`
 * and in `bytes`. `name` is the file's, for messages. STATUS_BAD_INPUT for anything else than a
 * well-formed pickle of known names. */
struct status pickle_read(struct pickle_value *out, size_t *used, struct arena *arena,
                          const void *bytes, size_t size, const struct pickle_hooks *hooks,
                          const char *name);

bool pickle_text_is(const struct pickle_value *value, const char *text);

#endif
