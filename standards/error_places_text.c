/* Places in words: "all in rows 128-255 and every 16th column from 8 on". */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "standards/error_places.h"

/* What an index along an axis is called. */
struct noun {
    const char *one, *many;
    int axis; /* -1: the name says it */
};

static void append(char out[PLACES_TEXT_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(char out[PLACES_TEXT_BYTES], const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out + used, PLACES_TEXT_BYTES - used, format, arguments);
    va_end(arguments);
}

/* "nd" of 2nd, 22nd; "th" of 12th. */
static const char *ordinal_suffix(int64_t n)
{
    static const char *const suffixes[] = { "th", "st", "nd", "rd" };
    bool teen = n % 100 / 10 == 1;
    return n % 10 < 4 && !teen ? suffixes[n % 10] : "th";
}

static void append_axis(char out[PLACES_TEXT_BYTES], const struct noun *noun)
{
    if (noun->axis >= 0) append(out, " of axis %d", noun->axis);
}

static void append_range(char out[PLACES_TEXT_BYTES], const struct axis_places *places,
                         const struct noun *noun)
{
    if (places->count == 1) append(out, "%s %lld", noun->one, (long long)places->first);
    else append(out, "%s %lld-%lld", noun->many, (long long)places->first, (long long)places->last);
    append_axis(out, noun);
}

static void append_step(char out[PLACES_TEXT_BYTES], const struct axis_places *places,
                        const struct noun *noun)
{
    append(out, "every %lld%s %s", (long long)places->step, ordinal_suffix(places->step),
           noun->one);
    append_axis(out, noun);
    append(out, " from %lld ", (long long)places->first);
    if (places->last + places->step >= places->extent) append(out, "on");
    else append(out, "to %lld", (long long)places->last);
}

static void append_few(char out[PLACES_TEXT_BYTES], const struct axis_places *places,
                       const struct noun *noun)
{
    if (places->count > PLACES_LISTED) {
        append(out, "%lld of %lld %s", (long long)places->count, (long long)places->extent,
               noun->many);
    } else {
        append(out, "%s", noun->many);
        for (int64_t i = 0; i < places->count; i++)
            append(out, "%s %lld", i ? "," : "", (long long)places->listed[i]);
    }
    append_axis(out, noun);
}

static void append_form(char out[PLACES_TEXT_BYTES], const struct axis_places *places,
                        const struct noun *noun)
{
    switch (places->form) {
    case PLACE_ANYWHERE: break;
    case PLACE_RANGE: append_range(out, places, noun); break;
    case PLACE_STEP: append_step(out, places, noun); break;
    case PLACE_FEW: append_few(out, places, noun); break;
    }
}

/* Before a form: "all in", " and", or how many of them when these are not all. */
static void append_share(char out[PLACES_TEXT_BYTES], size_t inside, size_t off, bool *says_all)
{
    if (inside == off) {
        append(out, "%s", *says_all ? " and " : *out ? ", all in " : "all in ");
        *says_all = true;
    } else {
        append(out, "%s%zu of %zu in ", *out ? ", " : "", inside, off);
        *says_all = false;
    }
}

static int wide_axes(const struct places_found *found)
{
    int wide = 0;
    for (int d = 0; d < found->rank; d++) wide += found->axes[d].extent > 1;
    return wide;
}

static struct noun noun_of(int axis, int which, int wide)
{
    static const struct noun names[] = { { "element", "elements", -1 },
                                         { "row", "rows", -1 },
                                         { "column", "columns", -1 } };
    if (wide == 1) return names[0];
    if (wide == 2) return names[1 + which];
    return (struct noun){ "index", "indices", axis };
}

void places_text(char out[PLACES_TEXT_BYTES], const struct places_found *found)
{
    static const struct noun flat = { "element in flat order", "elements in flat order", -1 };
    int wide = wide_axes(found), which = 0;
    bool says_all = false;
    out[0] = '\0';
    if (found->flat.form != PLACE_ANYWHERE) {
        append_share(out, found->flat.inside, found->off, &says_all);
        append_form(out, &found->flat, &flat);
        return;
    }
    if (found->blocks.side) {
        append(out, "all in %zu of %zu blocks of %lld x %lld", found->blocks.count,
               found->blocks.total, (long long)found->blocks.side, (long long)found->blocks.side);
        return;
    }
    for (int d = 0; d < found->rank; d++) {
        const struct axis_places *places = &found->axes[d];
        if (places->extent < 2) continue;
        struct noun noun = noun_of(d, which++, wide);
        if (places->form == PLACE_ANYWHERE) continue;
        append_share(out, places->inside, found->off, &says_all);
        append_form(out, places, &noun);
    }
}
