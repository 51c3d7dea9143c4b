/* What is in a page of `report`: its blocks, decoded without the code that wrote them. */
#ifndef PROBE_TESTS_SUPPORT_HTML_PAGE_H
#define PROBE_TESTS_SUPPORT_HTML_PAGE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static inline int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    ck_assert_ptr_nonnull(at);
    return (int)(at - digits);
}

/* The bytes of a block, with a NUL behind them; free them. */
static inline char *html_block(const char *html, const char *id, size_t *bytes)
{
    char mark[64];
    snprintf(mark, sizeof mark, "id=\"block-%s\">", id);
    const char *at = strstr(html, mark);
    ck_assert_msg(at != NULL, "there is no block %s", id);
    at += strlen(mark);
    size_t length = strcspn(at, "<"), used = 0;
    ck_assert_uint_eq(length % 4, 0);
    unsigned char *packed = malloc(length + 1);
    for (size_t i = 0; i < length; i += 4) {
        int pad = (at[i + 2] == '=') + (at[i + 3] == '=');
        unsigned group = (unsigned)base64_digit(at[i]) << 18 | (unsigned)base64_digit(at[i + 1])
                                                                   << 12;
        if (pad < 2) group |= (unsigned)base64_digit(at[i + 2]) << 6;
        if (pad < 1) group |= (unsigned)base64_digit(at[i + 3]);
        for (int byte = 0; byte < 3 - pad; byte++)
            packed[used++] = (unsigned char)(group >> (16 - 8 * byte));
    }
    uLongf size = 1 << 22;
    char *out = malloc(size + 1);
    ck_assert_int_eq(uncompress((Bytef *)out, &size, packed, used), Z_OK);
    out[size] = '\0';
    *bytes = size;
    free(packed);
    return out;
}

#endif
