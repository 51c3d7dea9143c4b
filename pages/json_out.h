/* JSON into a growing text. Like all of text_out, what follows a failure is dropped.
 */
#ifndef PROBE_PAGES_JSON_OUT_H
#define PROBE_PAGES_JSON_OUT_H

#include "formats/text_out.h"

/* Punctuation, keys and whole numbers, as printf has them; at most 255 bytes. */
void json_out_format(struct text_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A string in quotes; see formats/json_write.h. */
void json_out_string(struct text_out *out, const char *text, size_t length);

/* A number; "inf", "-inf" and null for what JSON has no number for. */
void json_out_number(struct text_out *out, double value);

#endif
