/* The one place that says whose CRC-32 it is. */
#include "formats/crc32.h"

#if defined(PROBE_HAS_LIBDEFLATE)
#include <libdeflate.h>

uint32_t crc32_append(uint32_t crc, const void *bytes, size_t count)
{
    return count ? libdeflate_crc32(crc, bytes, count) : crc;
}
#else
#include <zlib.h>

uint32_t crc32_append(uint32_t crc, const void *bytes, size_t count)
{
    return count ? (uint32_t)crc32_z(crc, bytes, count) : crc;
}
#endif
