/* Names of calls and modules: parts joined by dots, such as
 * "Module.layers.0.attention.Attention.forward.3" or "Functional.softmax.1.backward".
 */
#ifndef PROBE_CORE_DOTTED_NAME_H
#define PROBE_CORE_DOTTED_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a name, or the whole of it. Not NUL-terminated. */
struct name_slice {
    const char *text;
    size_t length;
};

struct name_slice name_slice_of(const char *text, size_t length);
bool name_slice_is(struct name_slice slice, const char *word);
bool name_slices_equal(struct name_slice a, struct name_slice b);
bool name_starts_with(struct name_slice name, const char *prefix);

size_t name_part_count(struct name_slice name);

/* Part `index` from the front (0: the first) or from the back (1: the last). Empty when there are
 * fewer. */
struct name_slice name_part(struct name_slice name, size_t index);
struct name_slice name_part_from_end(struct name_slice name, size_t index);

/* The name without its last `count` parts: "" when it has no more than that. */
struct name_slice name_without_last(struct name_slice name, size_t count);

/* Digits only, at least one. */
bool name_is_number(struct name_slice part);

/* The number a part is; false when it is none, or larger than 10^9. */
bool name_read_number(struct name_slice part, unsigned *value);

/* Which way a call goes: by the last part, or the last but one when the last is a number. */
enum name_direction { DIRECTION_NONE, DIRECTION_FORWARD, DIRECTION_BACKWARD };
enum name_direction name_direction(struct name_slice name);

enum { NAME_BUFFER = 1100 };

/* `name` with its direction (as above) turned into `direction`: NUL-terminated in `buffer`; its
 * length, 0 when the name has no direction or does not fit. */
size_t name_turn(char buffer[NAME_BUFFER], struct name_slice name, enum name_direction direction);

#endif
