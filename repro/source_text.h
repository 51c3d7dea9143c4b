/* Pieces of generated source. Names come from dumps and manifests, which may hold anything: they get
 * into a source as string literals with everything but plain characters escaped, as identifiers and in comments
 * with everything else replaced. */
#ifndef PROBE_REPRO_SOURCE_TEXT_H
#define PROBE_REPRO_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "core/tensor.h"
#include "formats/text_out.h"

/* As printf. What is formatted has less than 4 KiB. */
void source_put(struct text_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A string literal, which C and Python read alike. */
void source_put_string(struct text_out *out, const char *text);

/* A text for a comment, a heading or a docstring of either language: one line of plain characters. */
void source_put_comment(struct text_out *out, const char *text);

/* An identifier of at most 60 characters that starts with a letter, made of `text`. */
void source_identifier(char out[64], const char *text);

/* Is it a dotted Python name: letters, digits and "_", none of its parts a keyword? */
bool source_is_python_name(const char *text);

/* A double so that it reads back as the same, always with a point or an exponent; NAN and INFINITY as
 * `nan` and `inf` spell them. */
void source_put_real(struct text_out *out, double x, int digits, const char *nan, const char *inf);

#endif
