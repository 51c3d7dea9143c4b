/* CRC-32 of zip archives, gzip and Ethernet: of libdeflate, which uses the processor's carry-less products
 * (some 20 GB/s against 1 to 3 of zlib's tables), where it was there at build time, and of zlib otherwise.
 */
#ifndef PROBE_FORMATS_CRC32_H
#define PROBE_FORMATS_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The sum of what `crc` is the sum of (0: nothing) with `bytes` behind it. */
uint32_t crc32_append(uint32_t crc, const void *bytes, size_t count);

#endif
