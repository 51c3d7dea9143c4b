/* Keys of errors: words of 32 bits, the upper halves of doubles, which the loops over the errors of a chunk read
 * (metrics_count.h). metrics_kernel.h includes this file before the constants of a pass.
 *
 * Those of (folded) errors in ulp are rounded away from zero: a key is 0 only for 0, and it is above that of a
 * double whose lower half is 0, as in all powers of two, exactly when the error is above that double.
 *
 * Thresholds of relative errors are any doubles. What has a larger key than the threshold is above it, what has a
 * smaller one is not, and where keys are equal, one element in a million, the errors are compared. These
 * keys are rounded to zero, which is free; but where the reference has two doubles to an element, errors may be
 * so small that only keys rounded away from zero tell them from 0. */
enum { MAGNITUDE = 0x7fffffff };

/* Of elements that are not counted: as a signed word above no threshold. */
#define KEY_OF_NONE UINT32_MAX

static uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t key_away_from_zero(double x)
{
    return (uint32_t)((bits_of_double(x) + 0xffffffff) >> 32);
}

static uint32_t key_to_zero(double x) { return (uint32_t)(bits_of_double(x) >> 32); }

static bool key_is_exact(double x) { return (uint32_t)bits_of_double(x) == 0; }

static uint32_t key_of_relative(const struct pass *pass, double x)
{
    return pass->lo ? key_away_from_zero(x) : key_to_zero(x);
}

/* The keys of two vectors of errors. */
ALWAYS_INLINE I keys_to_zero(V first, V second)
{
    return i_upper_halves(i_from_bits(first), i_from_bits(second));
}

ALWAYS_INLINE I keys_away_from_zero(V first, V second)
{
    const I carry = i_set(0xffffffff);
    return i_upper_halves(i_add(i_from_bits(first), carry), i_add(i_from_bits(second), carry));
}

/* Where the keys of a column's rows `row` and `row + 1` stand, one vector of words. */
ALWAYS_INLINE size_t keys_at(size_t row, size_t column)
{
    return row / 2 * PAIR + column * WORDS_PER_VECTOR;
}

/* Where the element of key i stands in the chunk: i_upper_halves takes two words of either vector
 * in turn. */
static size_t place_of_key(size_t i)
{
    size_t row = i / PAIR * 2, column = i % PAIR / WORDS_PER_VECTOR;
    size_t word = i % WORDS_PER_VECTOR;
    row += word / 2 % 2;
    return row * PASS_LANES + column * LANES_PER_VECTOR + word / 4 * 2 + word % 2;
}
