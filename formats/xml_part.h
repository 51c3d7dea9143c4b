/* One XML part of a zip archive as a sequence of the elements that its reader asked for.
 *
 * The part is inflated and parsed (by expat) piece by piece; the reader can stop it between two
 * elements and go on later. Which elements mean something, and below which others, is a table; what
 * is not in it is passed over with all that is inside, and so are prefixes of names: the schemas of
 * such parts use one name for one thing.
 *
 * Refused, with their place: what is no XML, document types (and with them entities of the file's
 * own), more than XML_MAX_DEPTH open elements, a tag of more than XML_MAX_MARKUP bytes, a part that
 * inflates to more than XML_MAX_BYTES.
 */
#ifndef PROBE_FORMATS_XML_PART_H
#define PROBE_FORMATS_XML_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "formats/zip.h"

enum { XML_MAX_DEPTH = 32, XML_MAX_MARKUP = 1 << 20 };
#define XML_MAX_BYTES ((uint64_t)4 << 30)

/* An element that the reader wants: `code` is 1..31, `parents` a set of (1u << code of the parent), 1
 * for the root. A table ends with a NULL name. */
struct xml_element {
    const char *name;
    unsigned code;
    unsigned parents;
};

struct xml_part;

/* What the reader does at an element; members may be NULL. `attributes` are name, value, name, value,
 * ..., NULL, with prefixes. Text comes in pieces, only of elements of the table. */
struct xml_reader {
    const struct xml_element *elements;
    void (*start)(void *context, struct xml_part *part, unsigned code, const char **attributes);
    void (*end)(void *context, struct xml_part *part, unsigned code);
    void (*text)(void *context, struct xml_part *part, unsigned code, const char *text,
                 size_t length);
};

/* Begin to read an entry. The part ends with xml_part_close; all arguments must outlive it. */
struct status xml_part_open(struct xml_part **out, const struct zip *zip,
                            const struct zip_entry *entry, const struct xml_reader *reader,
                            void *context);

/* Parse until the reader suspends (*more is true) or to the end of the part. */
struct status xml_part_continue(struct xml_part *part, bool *more);

/* For the functions of the reader. The first ends xml_part_continue after the current element; the
 * others make it fail: with a sentence about this place, with a status as it is unless that is OK. */
void xml_part_suspend(struct xml_part *part);
void xml_part_refuse(struct xml_part *part, const char *problem);
void xml_part_fail(struct xml_part *part, struct status status);

/* The value of an attribute by its name without prefix; NULL when it is not there. */
const char *xml_attribute(const char **attributes, const char *name);

void xml_part_close(struct xml_part *part);

#endif
