/* Arrays in generated source: small ones as initializers, large ones as files beside it. */
#ifndef PROBE_REPRO_SOURCE_DATA_H
#define PROBE_REPRO_SOURCE_DATA_H

#include "core/dtype.h"
#include "formats/text_out.h"

/* From so many bytes on an array is a file: a reader wants to see the calls. */
enum { SOURCE_DATA_BYTES = 16384 };

/* A C source in the making: declarations, and what loads the files. */
struct source_arrays {
    const char *directory; /* files go there */
    struct text_out declarations, loads;
    struct status status;
};

/* The C type of the numbers of a dtype, two of which make a complex element. */
const char *source_c_type(enum dtype dtype);

/* Declare `static const TYPE name[n]`, or for a large array a pointer that is set when files are
 * loaded. The last without numbers is NULL. */
void source_array(struct source_arrays *arrays, const char *name, enum dtype dtype,
                  const void *data, size_t elements);

#endif
