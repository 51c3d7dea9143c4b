/* Which of 64 bytes end a cell, as the bits of a word: sixteen bytes are compared at once, and whoever reads a row then
 * goes from bit to bit.
 */
#ifndef PROBE_FORMATS_CSV_FLAGS_H
#define PROBE_FORMATS_CSV_FLAGS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CSV_BLOCK = 64 };

typedef unsigned char csv_bytes16 __attribute__((vector_size(16)));

/* The top bits of sixteen bytes that are 0 or 255; bit i is that of byte i. */
#ifdef __SSE2__
#include <emmintrin.h>
static inline uint64_t csv_top_bits(csv_bytes16 bytes)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8((__m128i)bytes);
}
#else
static inline uint64_t csv_top_bits(csv_bytes16 bytes)
{
    /* Byte i keeps its bit i, and the product adds all bytes up in the highest one. */
    const uint64_t own_bit = UINT64_C(0x8040201008040201), sum = UINT64_C(0x0101010101010101);
    uint64_t words[2];
    memcpy(words, &bytes, sizeof words);
    return ((words[0] & own_bit) * sum >> 56) | ((words[1] & own_bit) * sum >> 56) << 8;
}
#endif

/* Bit i is set where text[i] is a comma, a line feed or a carriage return. */
static inline uint64_t csv_cell_ends(const char text[CSV_BLOCK])
{
    uint64_t flags = 0;
    for (unsigned i = 0; i < CSV_BLOCK; i += sizeof(csv_bytes16)) {
        csv_bytes16 bytes;
        memcpy(&bytes, text + i, sizeof bytes);
        flags |= csv_top_bits((csv_bytes16)((bytes == ',') | (bytes == '\n') | (bytes == '\r')))
                 << i;
    }
    return flags;
}

#endif
