/* Keys of tensors, draws of each kind of dtype, and values that are put in place by hand. */
#include "generators/fill.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "generators/lanes.h"
#include "generators/philox.h"

/* Elements made at a time: words and doubles of a chunk stay in the first-level cache. */
enum { CHUNK = 1024 };

/* ---- keys --------------------------------------------------------------------------- */

/* The finaliser of MurmurHash3 in the constants of Stafford's variant 13: a bijection in
 * which every input bit flips each output bit about half the time. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Bytes eight at a time, the first the lowest, closed by the length. */
static uint64_t absorb(uint64_t hash, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && i + k < length; k++)
            word |= (uint64_t)(unsigned char)text[i + k] << 8 * k;
        hash = mix(hash + 0x9e3779b97f4a7c15u) ^ word;
    }
    return mix(hash + 0x9e3779b97f4a7c15u) ^ length;
}

uint64_t fill_key(uint64_t seed, const char *full_name, const char *path)
{
    return mix(absorb(absorb(mix(seed + 0x9e3779b97f4a7c15u), full_name), path));
}

uint64_t fill_key_derive(uint64_t key, uint64_t i)
{
    return mix(mix(key + 0x9e3779b97f4a7c15u) + i);
}

/* ---- permutations ------------------------------------------------------------------- */

/* A Feistel network permutes 2^(2 half_bits) numbers, at most 4 * size; whoever lands
 * outside `size` walks on along the cycle until inside, which keeps it a bijection (J.
 * Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). With four
 * rounds the places of a handful of elements were measurably unequal; with six or more they
 * are not. */
enum { SHUFFLE_ROUNDS = 8 };

struct shuffle shuffle_create(uint64_t key, uint64_t size)
{
    unsigned half_bits = 1;
    while (half_bits < 32 && (uint64_t)1 << 2 * half_bits < size) half_bits++;
    return (struct shuffle){ key, size, half_bits };
}

uint64_t shuffle_at(const struct shuffle *shuffle, uint64_t i)
{
    const uint64_t mask = ((uint64_t)1 << shuffle->half_bits) - 1;

    assert(i < shuffle->size);
    do {
        uint64_t left = i >> shuffle->half_bits, right = i & mask;
        for (uint64_t round = 0; round < SHUFFLE_ROUNDS; round++) {
            uint64_t next = left ^ (mix(mix(shuffle->key + round) + right) & mask);
            left = right;
            right = next;
        }
        i = left << shuffle->half_bits | right;
    } while (i >= shuffle->size);
    return i;
}

/* ---- draws -------------------------------------------------------------------------- */

/* Words first, first + 1, ... of a stream. `first` and the room in `words` are multiples
 * of 4. */
static void draw_words(const struct lanes *lanes, uint32_t *words, uint64_t key,
                       enum fill_stream stream, size_t first, size_t n)
{
    size_t blocks = (n + PHILOX_WORDS - 1) / PHILOX_WORDS;
    lanes->philox(words, key, stream, first / PHILOX_WORDS, blocks);
}

/* Floats of a tensor. */
struct drawn {
    struct tensor *out;
    const struct lanes *lanes;
    struct interval interval;
    uint64_t key;
};

static void draw_floats(void *context, size_t first, size_t n)
{
    const struct drawn *d = context;
    struct tensor *out = d->out;
    const size_t bytes = dtype_info(out->dtype)->bytes, words_each = out->dtype == DT_F64 ? 2 : 1;
    uint32_t words[2 * CHUNK];
    double values[CHUNK];

    for (size_t i = first; i < first + n; i += CHUNK) {
        size_t count = first + n - i < CHUNK ? first + n - i : CHUNK;
        draw_words(d->lanes, words, d->key, STREAM_VALUE, words_each * i, words_each * count);
        (words_each == 2 ? d->lanes->fine_reals : d->lanes->reals)(values, words, count,
                                                                   &d->interval);
        d->lanes->encode((unsigned char *)out->data + i * bytes, out->dtype, values, count);
    }
}

static void fill_floats(struct tensor *out, size_t n, const struct range *range, uint64_t key,
                        struct help *help)
{
    struct drawn drawn = { out, lanes_best(), interval_between(range->lo, range->hi), key };
    parallel_elements(help, n, draw_floats, &drawn);
}

/* clang-format off */
static void fill_integers(struct tensor *out, size_t n, const struct range *range,
                          uint64_t key)
{
    const struct lanes *lanes = lanes_best();
    const struct integer_interval interval = {
        range->integer_lo, (uint64_t)range->integer_hi - (uint64_t)range->integer_lo
    };
    const size_t bytes = dtype_info(out->dtype)->bytes;
    uint32_t words[2 * CHUNK];

    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = n - i < CHUNK ? n - i : CHUNK;
        unsigned char *to = (unsigned char *)out->data + i * bytes;
        if (interval.last <= UINT32_MAX) {
            draw_words(lanes, words, key, STREAM_VALUE, i, count);
            lanes->integers(to, out->dtype, words, count, &interval);
            continue;
        }
        /* Only int64 has so many values: the high half of a 64-bit draw times their number,
         * last + 1, which may be 2^64. */
        draw_words(lanes, words, key, STREAM_VALUE, 2 * i, 2 * count);
        for (size_t k = 0; k < count; k++) {
            uint64_t word = (uint64_t)words[2 * k + 1] << 32 | words[2 * k];
            unsigned __int128 scaled = (unsigned __int128)word * interval.last + word;
            uint64_t value = (uint64_t)interval.lo + (uint64_t)(scaled >> 64);
            memcpy(to + k * sizeof value, &value, sizeof value);
        }
    }
}
/* clang-format on */

/* (re, im) * i^quarter */
static void turn(double pair[2], unsigned quarter)
{
    double re = pair[0], im = pair[1];
    if (quarter & 1) {
        pair[0] = -im;
        pair[1] = re;
    }
    if (quarter & 2) {
        pair[0] = -pair[0];
        pair[1] = -pair[1];
    }
}

static void fill_complex(struct tensor *out, size_t n, const struct range *range, uint64_t key)
{
    const struct lanes *lanes = lanes_best();
    /* Rounding both components to p bits moves |x| by at most 2^-p of itself, so magnitudes
     * that far inside the range stay inside. Where the range is narrower than that, or so
     * small that components could be subnormal, every element lies on an axis: exact. */
    const double margin = out->dtype == DT_C64 ? 0x1p-22 : 0x1p-50;
    const double tiny = out->dtype == DT_C64 ? 0x1p-100 : 0x1p-960;
    const double inner_lo = range->lo * (1 + margin), inner_hi = range->hi * (1 - margin);
    const bool on_axes = inner_lo > inner_hi || range->hi < tiny;
    const struct interval interval = on_axes ? interval_between(range->lo, range->hi)
                                             : interval_between(inner_lo, inner_hi);
    const size_t bytes = dtype_info(out->dtype)->bytes;
    const double reach = 0x1.a827999fcef32p-2; /* sqrt(2) - 1 = tan(pi / 8) */
    uint32_t words[2 * CHUNK];
    double magnitude[CHUNK], pairs[2 * CHUNK];

    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = n - i < CHUNK ? n - i : CHUNK;
        draw_words(lanes, words, key, STREAM_VALUE, 2 * i, 2 * count);
        lanes->fine_reals(magnitude, words, count, &interval);
        draw_words(lanes, words, key, STREAM_DIRECTION, 2 * i, 2 * count);
        for (size_t k = 0; k < count; k++) {
            double t = reach * 0x1p-31 * ((double)(int32_t)(words[2 * k] ^ 0x80000000u) + 0.5);
            double *pair = pairs + 2 * k;
            pair[0] = on_axes ? magnitude[k] : magnitude[k] * ((1 - t * t) / (1 + t * t));
            pair[1] = on_axes ? 0 : magnitude[k] * (2 * t / (1 + t * t));
            turn(pair, words[2 * k + 1] >> 30);
        }
        dtype_from_double((unsigned char *)out->data + i * bytes, out->dtype, pairs, count);
    }
}

/* ---- placed values ------------------------------------------------------------------ */

static void put_real(struct tensor *out, size_t i, double x)
{
    const double pair[2] = { x, 0 };
    dtype_from_double((unsigned char *)out->data + i * dtype_info(out->dtype)->bytes, out->dtype,
                      pair, 1);
}

static void put_integer(struct tensor *out, size_t i, int64_t x)
{
    dtype_from_int64((unsigned char *)out->data + i * dtype_info(out->dtype)->bytes, out->dtype, &x,
                     1);
}

/* The recorded extremes occur: the first element is lo, the last hi (the only one is hi).
 */
static void pin(struct tensor *out, size_t n, const struct range *range)
{
    if (dtype_is_integral(out->dtype)) {
        put_integer(out, 0, range->integer_lo);
        put_integer(out, n - 1, range->integer_hi);
        return;
    }
    put_real(out, 0, range->has_first ? range->first : range->lo);
    if (range->has_second) put_real(out, 1, range->second);
    if (n > 1 || !range->has_first) put_real(out, n - 1, range->has_last ? range->last : range->hi);
}

void fill_tensor(struct tensor *out, const struct range *range, uint64_t key, struct help *help)
{
    size_t n = tensor_elements(out);

    if (n == 0) return;
    if (range->constant) {
        for (size_t i = 0; i < n; i++) put_real(out, i, range->constant_value);
        return;
    }
    switch (dtype_info(out->dtype)->kind) {
    case KIND_FLOAT: fill_floats(out, n, range, key, help); break;
    case KIND_COMPLEX: fill_complex(out, n, range, key); break;
    default: fill_integers(out, n, range, key); break;
    }
    pin(out, n, range);
}
