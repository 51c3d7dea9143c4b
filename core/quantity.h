/* Numbers with what they count, as sentences have them: "1 call", "3 libraries", "1.5 GB". */
#ifndef PROBE_CORE_QUANTITY_H
#define PROBE_CORE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

struct quantity {
    char text[64];
};

/* A count and its noun, given in the singular: "1 call", "0 calls", "2 libraries". */
struct quantity quantity_of(uint64_t count, const char *noun);

/* A size in the units of --memory (powers of 1024), with three digits: "12 bytes", "4 KB", "1.47 GB".
 * Rounded up, so that memory of the size that is asked for suffices. */
struct quantity quantity_bytes(uint64_t bytes);

#endif
