/* The checksum of a frame's body, computed while it arrives. Clients of msprobe up to 2025-05-27 send
 * MD5, later ones CRC-32 (as zlib has it), both as lower-case hexadecimal digits. */
#ifndef PROBE_ONLINE_BODY_CHECKSUM_H
#define PROBE_ONLINE_BODY_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum checksum_kind { CHECKSUM_NONE, CHECKSUM_CRC32, CHECKSUM_MD5 };
enum { CHECKSUM_CRC32_DIGITS = 8, CHECKSUM_MD5_DIGITS = 32, CHECKSUM_DIGITS_MAX = 32 };

struct body_checksum {
    enum checksum_kind kind;
    uint32_t crc;
    void *md5; /* OpenSSL's state; kept from body to body */
};

/* Digits of a kind; 0 for CHECKSUM_NONE. */
size_t checksum_digits(enum checksum_kind kind);

/* Start with a new body. The first start is from all zeros.
 *
 *   errors  STATUS_SKIP: MD5 in a program built without OpenSSL, or where it is switched off
 */
struct status body_checksum_start(struct body_checksum *sum, enum checksum_kind kind);
void body_checksum_add(struct body_checksum *sum, const void *bytes, size_t count);

/* Is it the one of these digits (as many as its kind has)? Ends the body. */
bool body_checksum_is(struct body_checksum *sum, const char *digits);

void body_checksum_release(struct body_checksum *sum);

#endif
