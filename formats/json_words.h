/* Text eight bytes at a time, as one word; shared by the files of the JSON parser. */
#ifndef PROBE_FORMATS_JSON_WORDS_H
#define PROBE_FORMATS_JSON_WORDS_H

#include <stdint.h>
#include <string.h>

/* The lowest flagged byte of a word must be the first of the text. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian hosts only");

static const uint64_t ones = UINT64_C(0x0101010101010101);
static const uint64_t tops = UINT64_C(0x8080808080808080);

static inline uint64_t load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Number of bytes before the first one whose top bit is set; 8 when there is none. */
static inline int count_unflagged(uint64_t flags)
{
    flags &= tops;
    return flags ? __builtin_ctzll(flags) / 8 : 8;
}

/* Number of decimal digits at the start of a word. */
static inline int count_digits(uint64_t word)
{
    uint64_t x = word ^ ones * '0'; /* 0 to 9 for digits */
    return count_unflagged(((x & ~tops) + ones * (0x80 - 10)) | x);
}

#endif
