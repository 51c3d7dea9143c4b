/* Frames of msprobe's client, made for tests. Checksums come from zlib and, for MD5, from the answers that
 * RFC 1321 prints. */
#ifndef PROBE_TESTS_ONLINE_FRAMES_H
#define PROBE_TESTS_ONLINE_FRAMES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

static inline unsigned char *put_integer(unsigned char *out, uint64_t value)
{
    for (int shift = 56; shift >= 0; shift -= 8) *out++ = (unsigned char)(value >> shift);
    return out;
}

/* A frame whose checksum has these digits; how long it is. */
static inline size_t frame_with(unsigned char *out, uint64_t length, uint64_t sequence,
                                uint64_t rank, uint64_t step, const char *digits, const void *body,
                                size_t bytes)
{
    unsigned char *at = put_integer(out, length);
    at = put_integer(at, sequence);
    at = put_integer(at, rank);
    at = put_integer(at, step);
    memcpy(at, digits, strlen(digits));
    at += strlen(digits);
    if (bytes) memcpy(at, body, bytes);
    return (size_t)(at - out) + bytes;
}

/* A good frame with CRC-32. */
static inline size_t frame_of(unsigned char *out, uint64_t sequence, uint64_t rank, uint64_t step,
                              const void *body, size_t bytes)
{
    char digits[9];
    snprintf(digits, sizeof digits, "%08lx", crc32(crc32(0, NULL, 0), body, (uInt)bytes));
    return frame_with(out, bytes, sequence, rank, step, digits, body, bytes);
}

#endif
