/* CRC-32 by formats/crc32.h, MD5 by OpenSSL. MD5 protects nothing here: it is what the client computes, so hosts
 * whose policy bans it as a signature (FIPS) may still use it to find damaged frames. */
#include "online/body_checksum.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef PROBE_HAS_OPENSSL
#include <openssl/evp.h>
#endif

#include "formats/crc32.h"
#include "online/tls_library.h"

size_t checksum_digits(enum checksum_kind kind)
{
    static const size_t digits[] = {
        [CHECKSUM_CRC32] = CHECKSUM_CRC32_DIGITS, [CHECKSUM_MD5] = CHECKSUM_MD5_DIGITS
    };
    return digits[kind];
}

static void write_digits(char *text, const unsigned char *bytes, size_t count)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = hex[bytes[i] >> 4];
        text[2 * i + 1] = hex[bytes[i] & 15];
    }
}

/* ---- MD5 -------------------------------------------------------------------------------- */

#ifdef PROBE_HAS_OPENSSL
static struct status md5_start(struct body_checksum *sum)
{
    TRY(tls_library_load());
    if (!sum->md5) sum->md5 = EVP_MD_CTX_new();
    if (!sum->md5) return status_no_memory(0);
    EVP_MD *md5 = EVP_MD_fetch(NULL, "MD5", "-fips");
    bool started = md5 && EVP_DigestInit_ex2(sum->md5, md5, NULL);
    EVP_MD_free(md5);
    if (started) return status_ok();
    return status_error(STATUS_SKIP,
                        "the client sends MD5 checksums, which OpenSSL does not have here");
}

static void md5_add(struct body_checksum *sum, const void *bytes, size_t count)
{
    (void)EVP_DigestUpdate(sum->md5, bytes, count);
}

static void md5_digits(struct body_checksum *sum, char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
    (void)EVP_DigestFinal_ex(sum->md5, digest, NULL);
    write_digits(text, digest, CHECKSUM_MD5_DIGITS / 2);
}

static void md5_release(struct body_checksum *sum)
{
    if (sum->md5) EVP_MD_CTX_free(sum->md5); /* which would load the library */
}
#else
static struct status md5_start(struct body_checksum *sum)
{
    (void)sum;
    return status_error(STATUS_SKIP, "the client sends MD5 checksums, and this program was built "
                                     "without OpenSSL");
}

static void md5_add(struct body_checksum *sum, const void *bytes, size_t count)
{
    (void)sum, (void)bytes, (void)count;
}

static void md5_digits(struct body_checksum *sum, char *text) { (void)sum, (void)text; }
static void md5_release(struct body_checksum *sum) { (void)sum; }
#endif

/* ---- CRC-32 ----------------------------------------------------------------------------- */

static struct status crc_start(struct body_checksum *sum)
{
    sum->crc = 0;
    return status_ok();
}

static void crc_add(struct body_checksum *sum, const void *bytes, size_t count)
{
    sum->crc = crc32_append(sum->crc, bytes, count);
}

static void crc_digits(struct body_checksum *sum, char *text)
{
    const uint32_t crc = sum->crc;
    const unsigned char bytes[4] = { (unsigned char)(crc >> 24), (unsigned char)(crc >> 16),
                                     (unsigned char)(crc >> 8), (unsigned char)crc };
    write_digits(text, bytes, sizeof bytes);
}

/* ---- both ------------------------------------------------------------------------------- */

static const struct {
    struct status (*start)(struct body_checksum *sum);
    void (*add)(struct body_checksum *sum, const void *bytes, size_t count);
    void (*digits)(struct body_checksum *sum, char *text);
} kinds[] = {
    [CHECKSUM_CRC32] = { crc_start, crc_add, crc_digits },
    [CHECKSUM_MD5] = { md5_start, md5_add, md5_digits },
};

struct status body_checksum_start(struct body_checksum *sum, enum checksum_kind kind)
{
    sum->kind = kind;
    return kinds[kind].start(sum);
}

void body_checksum_add(struct body_checksum *sum, const void *bytes, size_t count)
{
    kinds[sum->kind].add(sum, bytes, count);
}

bool body_checksum_is(struct body_checksum *sum, const char *digits)
{
    char own[CHECKSUM_DIGITS_MAX] = { 0 };
    kinds[sum->kind].digits(sum, own);
    return !memcmp(own, digits, checksum_digits(sum->kind));
}

void body_checksum_release(struct body_checksum *sum)
{
    if (sum->md5) md5_release(sum);
    *sum = (struct body_checksum){ .kind = CHECKSUM_NONE };
}
