/* FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv): xor a byte in, multiply by the prime. */
#include "core/hash.h"

uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *text = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ text[i]) * UINT64_C(0x100000001b3);
    return hash;
}
