/* Text eight bytes at a time, as one word; shared by the parsers of JSON, of numbers and of names. */
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

/* The top bit of each byte of a word that is `byte`. */
static inline uint64_t find_byte(uint64_t word, char byte)
{
    uint64_t x = word ^ ones * (unsigned char)byte;
    return ~(((x & ~tops) + ~tops) | x) & tops;
}

/* Number of decimal digits at the start of a word. */
static inline int count_digits(uint64_t word)
{
    uint64_t x = word ^ ones * '0'; /* 0 to 9 for digits */
    return count_unflagged(((x & ~tops) + ones * (0x80 - 10)) | x);
}

/* The number that eight digits are. Neighbours are added: pairs, quadruples, all eight. */
static inline uint64_t read_digits8(uint64_t word)
{
    word &= ones * 0x0f;
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
}

#endif
