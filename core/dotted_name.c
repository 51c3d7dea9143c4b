/* Parts of dotted names. Names have some ten parts and 1,024 bytes at most, so each question scans
 * the name anew. */
#include "core/dotted_name.h"

#include <string.h>

static const char *const direction_words[] = {
    [DIRECTION_NONE] = "", [DIRECTION_FORWARD] = "forward", [DIRECTION_BACKWARD] = "backward"
};

struct name_slice name_slice_of(const char *text, size_t length)
{
    return (struct name_slice){ text, length };
}

bool name_slice_is(struct name_slice slice, const char *word)
{
    return strlen(word) == slice.length && !memcmp(slice.text, word, slice.length);
}

bool name_slices_equal(struct name_slice a, struct name_slice b)
{
    return a.length == b.length && !memcmp(a.text, b.text, a.length);
}

bool name_starts_with(struct name_slice name, const char *prefix)
{
    size_t length = strlen(prefix);
    return name.length >= length && !memcmp(name.text, prefix, length);
}

size_t name_part_count(struct name_slice name)
{
    size_t count = 1;
    for (size_t i = 0; i < name.length; i++) count += name.text[i] == '.';
    return count;
}

struct name_slice name_part(struct name_slice name, size_t index)
{
    const char *at = name.text, *end = name.text + name.length;
    for (;;) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        const char *stop = dot ? dot : end;
        if (!index--) return name_slice_of(at, (size_t)(stop - at));
        if (!dot) return name_slice_of(end, 0);
        at = dot + 1;
    }
}

struct name_slice name_without_last(struct name_slice name, size_t count)
{
    while (count--) {
        const char *dot = memrchr(name.text, '.', name.length);
        name.length = dot ? (size_t)(dot - name.text) : 0;
        if (!dot) break;
    }
    return name;
}

struct name_slice name_part_from_end(struct name_slice name, size_t index)
{
    size_t count = name_part_count(name);
    return index && index <= count ? name_part(name, count - index)
                                   : name_slice_of(name.text + name.length, 0);
}

bool name_is_number(struct name_slice part)
{
    for (size_t i = 0; i < part.length; i++)
        if (part.text[i] < '0' || part.text[i] > '9') return false;
    return part.length > 0;
}

bool name_read_number(struct name_slice part, unsigned *value)
{
    enum { MOST_DIGITS = 9 };
    if (!name_is_number(part) || part.length > MOST_DIGITS) return false;
    unsigned number = 0;
    for (size_t i = 0; i < part.length; i++) number = number * 10 + (unsigned)(part.text[i] - '0');
    *value = number;
    return true;
}

/* The part that names the direction, if any part does. */
static struct name_slice direction_part(struct name_slice name)
{
    struct name_slice last = name_part_from_end(name, 1);
    return name_is_number(last) ? name_part_from_end(name, 2) : last;
}

enum name_direction name_direction(struct name_slice name)
{
    struct name_slice part = direction_part(name);
    for (int i = DIRECTION_FORWARD; i <= DIRECTION_BACKWARD; i++)
        if (name_slice_is(part, direction_words[i])) return (enum name_direction)i;
    return DIRECTION_NONE;
}

size_t name_turn(char buffer[NAME_BUFFER], struct name_slice name, enum name_direction direction)
{
    if (name_direction(name) == DIRECTION_NONE) return 0;
    struct name_slice part = direction_part(name);
    const char *word = direction_words[direction];
    size_t before = (size_t)(part.text - name.text), length = strlen(word);
    size_t behind = name.length - before - part.length, total = before + length + behind;
    if (total >= NAME_BUFFER) return 0;
    memcpy(buffer, name.text, before);
    memcpy(buffer + before, word, length);
    memcpy(buffer + before + length, part.text + part.length, behind);
    buffer[total] = '\0';
    return total;
}
