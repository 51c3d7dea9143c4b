/* Philox 4x32-10: a counter-based random number generator.
 *
 * J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011. A block of four 32-bit words is a keyed bijection of a 128-bit
 * counter, so word k of a stream costs the same whether or not the words before it were
 * ever drawn.
 *
 * Here the counter is (block, stream), 64 bits each, low word first, and the key is 64
 * bits, low word first. Word i of a stream is word i % 4 of block i / 4.
 */
#ifndef PROBE_GENERATORS_PHILOX_H
#define PROBE_GENERATORS_PHILOX_H

#include <stddef.h>
#include <stdint.h>

enum { PHILOX_ROUNDS = 10, PHILOX_WORDS = 4 };

#define PHILOX_M0 0xD2511F53u /* the multipliers */
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u /* what the key words grow by from round to round */
#define PHILOX_W1 0xBB67AE85u

/* One block: the definition. */
void philox_block(uint32_t out[PHILOX_WORDS], const uint32_t counter[PHILOX_WORDS],
                  const uint32_t key[2]);

/* `blocks` consecutive blocks of a stream, 4 * blocks words. The block number wraps at
 * 2^64. */
void philox_blocks(uint32_t *out, uint64_t key, uint64_t stream, uint64_t first_block,
                   size_t blocks);

/* A reader of one stream, word after word, for code that draws a few numbers at a time. */
struct philox {
    uint64_t key, stream, block;
    uint32_t words[PHILOX_WORDS];
    unsigned used; /* words already handed out */
};

struct philox philox_open(uint64_t key, uint64_t stream);
uint32_t philox_next(struct philox *philox);

/* A number below `limit` (at least 1): the high half of a 64-bit draw times `limit`, so no
 * value is off its fair share by more than limit / 2^64. */
uint64_t philox_below(struct philox *philox, uint64_t limit);

#endif
