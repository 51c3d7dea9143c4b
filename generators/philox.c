/* Ten rounds on one block; blocks of a stream side by side are in lanes.c. */
#include "generators/philox.h"

#include <assert.h>

void philox_block(uint32_t out[PHILOX_WORDS], const uint32_t counter[PHILOX_WORDS],
                  const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void philox_blocks(uint32_t *out, uint64_t key, uint64_t stream, uint64_t first_block,
                   size_t blocks)
{
    const uint32_t key_words[2] = { (uint32_t)key, (uint32_t)(key >> 32) };

    for (size_t i = 0; i < blocks; i++) {
        uint64_t block = first_block + i;
        const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                      (uint32_t)(stream >> 32) };
        philox_block(out + PHILOX_WORDS * i, counter, key_words);
    }
}

struct philox philox_open(uint64_t key, uint64_t stream)
{
    return (struct philox){ .key = key, .stream = stream, .used = PHILOX_WORDS };
}

uint32_t philox_next(struct philox *philox)
{
    if (philox->used == PHILOX_WORDS) {
        philox_blocks(philox->words, philox->key, philox->stream, philox->block++, 1);
        philox->used = 0;
    }
    return philox->words[philox->used++];
}

uint64_t philox_below(struct philox *philox, uint64_t limit)
{
    assert(limit > 0);
    uint64_t low = philox_next(philox), high = philox_next(philox);
    return (uint64_t)((unsigned __int128)(high << 32 | low) * limit >> 64);
}
