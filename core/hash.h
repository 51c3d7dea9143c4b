/* FNV-1a with 64 bits: tells texts apart and is the same on every host. It is no protection
 * against somebody who looks for two texts of the same hash; tables of names that come from files
 * use a keyed hash (core/text_table.h). */
#ifndef PROBE_CORE_HASH_H
#define PROBE_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` stands for (HASH_START: nothing) and `bytes` more bytes. */
uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes);

#endif
