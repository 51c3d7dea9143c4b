/* Headers of result files in the words of the pre-check, which are Chinese where they name a metric, or
 * in English. Whatever reads such files takes both. */
#ifndef PROBE_STANDARDS_HEADER_LANGUAGE_H
#define PROBE_STANDARDS_HEADER_LANGUAGE_H

#include <stddef.h>

enum header_language { HEADERS_MSPROBE, HEADERS_ENGLISH };

/* "msprobe", "english", ended by NULL; and what one of them means, HEADERS_MSPROBE for NULL. */
const char *const *header_language_names(void);
enum header_language header_language_from_name(const char *name);

/* The English name of a column that has a Chinese one; any other header is its own. */
const char *header_in_english(const char *header);

/* Put `count` headers into a language, in place. */
void headers_translate(const char **headers, size_t count, enum header_language language);

#endif
