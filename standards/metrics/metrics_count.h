/* The second loop of the vector metrics pass: what the errors of a chunk add to the counts, done only as
 * far as the chunk's largest error asks for it. metrics_kernel.h includes this file after the constants and
 * the chunk. */

/* A count of compared elements whose error is above a threshold. */
struct tally {
    I words;         /* a lane each: of all chunks of a call, so that lanes are added up once */
    uint64_t others; /* counted without the loops over keys */
};

struct tallies {
    uint64_t compared, small, small_failed, small_relative_over;
    uint64_t binned; /* above half a unit, and in the histogram already */
    struct tally relative[RELATIVE_THRESHOLDS];
    struct tally nonzero, above, ulp_over; /* ulp; `above`: beyond pass_unit.half, and positive */
    struct tally beyond;                   /* of either sign, where pass_unit.half is not 1/2 */
    struct tally level[LEVELS];            /* ulp above 2^(k - 1) */
};

/* ---- keys of errors in ulp ---------------------------------------------------------------- */

/* The second loop reads errors as words of 32 bits: the upper half of the double.
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

static uint32_t key_away_from_zero(double x)
{
    return (uint32_t)((bits_of_double(x) + 0xffffffff) >> 32);
}

static uint32_t key_to_zero(double x) { return (uint32_t)(bits_of_double(x) >> 32); }

static bool key_is_exact(double x) { return (uint32_t)bits_of_double(x) == 0; }

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

/* The key of an error of `ulp`. */
static uint32_t key_of_ulp(const struct pass *pass, double ulp)
{
    return key_away_from_zero(ulp / pass->unit.ulps_folded);
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

/* ---- counting -------------------------------------------------------------------------------- */

static void tallies_clear(struct tallies *tallies)
{
    const struct tally none = { .words = i_set(0) };
    memset(tallies, 0, sizeof *tallies);
    tallies->nonzero = tallies->above = tallies->ulp_over = tallies->beyond = none;
    for (int k = 0; k < RELATIVE_THRESHOLDS; k++) tallies->relative[k] = none;
    for (int k = 0; k < LEVELS; k++) tallies->level[k] = none;
}

/* Thresholds of the loops over a chunk as keys, and the counts of what is above them. */
struct thresholds {
    size_t n;
    uint32_t key[LEVELS + 3];
    struct tally *tally[LEVELS + 3];
};

static void thresholds_add(struct thresholds *list, uint32_t key, struct tally *tally)
{
    list->key[list->n] = key;
    list->tally[list->n++] = tally;
}

/* Count all elements of a chunk that are not counted already. */
static void tally_all(struct tally *tally, const struct chunk *chunk)
{
    tally->others += chunk->count - chunk->careful;
}

/* The same for a threshold in ulp that all errors of the chunk may be above. */
static void thresholds_add_ulp(struct thresholds *list, const struct chunk *chunk, uint32_t key,
                               struct tally *tally)
{
    if (m_all(m_above(chunk->least_ulp, i_set((uint64_t)key << 32 | 0xffffffff))))
        tally_all(tally, chunk);
    else thresholds_add(list, key, tally);
}

/* Before a loop over the keys of a chunk: the fewer turns it has, the better their end is foreseen. */
#if defined(__clang__)
#define FEW_TURNS _Pragma("clang loop unroll_count(4)")
#else
#define FEW_TURNS _Pragma("GCC unroll 4")
#endif

/* Counters of a loop over n thresholds. No lane of 32 bits carries into the next. */
struct counters {
    I count[MOST_COUNTERS][AT_A_TIME];
};

/* Of each threshold, as many as registers hold. */
ALWAYS_INLINE size_t counters_of(int n) { return n <= AT_A_TIME / 2 ? MOST_COUNTERS : COUNTERS; }

ALWAYS_INLINE void counters_clear(struct counters *counters, int n)
{
    for (size_t c = 0; c < counters_of(n); c++)
        for (int k = 0; k < n; k++) counters->count[c][k] = i_set(0);
}

ALWAYS_INLINE void counters_add(const struct thresholds *list, size_t from, int n,
                                const struct counters *counters)
{
    for (size_t c = 0; c < counters_of(n); c++)
        for (int k = 0; k < n; k++) {
            I *total = &list->tally[from + (size_t)k]->words;
            *total = i_add(*total, counters->count[c][k]);
        }
}

/* Count the keys of a vector above each of n limits, and take the least distance from one to `nearest`. */
ALWAYS_INLINE void count_vector(I *counter, I *nearest, I value, const I *limit, int n)
{
    I distance = w_sub(value, limit[0]);
    for (int k = 0; k < n; k++) {
        counter[k] = w_count_above(counter[k], value, limit[k]);
        distance = w_min(distance, w_sub(value, limit[k]));
    }
    *nearest = w_min(*nearest, distance);
}

/* Count keys above each of n thresholds from `from` on. `exact`: no key but those above is the larger one of two
 * errors; magnitudes are compared. Else tell whether a key is equal to a threshold. */
ALWAYS_INLINE bool count_words(const struct thresholds *list, size_t from, int n,
                               const uint32_t *keys, size_t count, bool exact)
{
    const I bits = w_set(MAGNITUDE);
    I limit[AT_A_TIME], nearest[MOST_COUNTERS] = { bits, bits };
    struct counters counters;
    counters_clear(&counters, n);
    for (int k = 0; k < n; k++) limit[k] = w_set(list->key[from + (size_t)k]);
    FEW_TURNS for (size_t i = 0; i < count; i += counters_of(n) * WORDS_PER_VECTOR)
    {
        for (size_t c = 0; c < counters_of(n); c++) {
            I value = i_load(keys + i + c * WORDS_PER_VECTOR);
            if (exact) value = i_and(value, bits);
            count_vector(counters.count[c], &nearest[c], value, limit, n);
        }
    }
    counters_add(list, from, n, &counters);
    return !exact && w_any_zero(w_min(nearest[0], nearest[1]));
}

ALWAYS_INLINE bool count_above(const struct thresholds *list, const uint32_t *keys, size_t count,
                               bool exact)
{
    bool equal = false;
    for (size_t from = 0; from < list->n; from += AT_A_TIME) switch (list->n - from) {
        case 1: equal |= count_words(list, from, 1, keys, count, exact); break;
        case 2: equal |= count_words(list, from, 2, keys, count, exact); break;
        case 3: equal |= count_words(list, from, 3, keys, count, exact); break;
        default: equal |= count_words(list, from, 4, keys, count, exact); break;
        }
    return equal;
}

/* Count the errors above a threshold in ulp with their sign; has one the key of half a unit? */
ALWAYS_INLINE bool count_positive(struct tally *above, uint32_t key, uint32_t half,
                                  const uint32_t *keys, size_t count, bool ties)
{
    const I bits = w_set(MAGNITUDE), limit = w_set(key), tie = w_set(half);
    I counter[2] = { i_set(0), i_set(0) }, nearest[2] = { bits, bits };
    FEW_TURNS for (size_t i = 0; i < count; i += 2 * WORDS_PER_VECTOR)
    {
        for (size_t c = 0; c < 2; c++) {
            I value = i_load(keys + i + c * WORDS_PER_VECTOR);
            counter[c] = w_count_above(counter[c], value, limit);
            if (ties) nearest[c] = w_min(nearest[c], w_sub(i_and(value, bits), tie));
        }
    }
    above->words = i_add(above->words, i_add(counter[0], counter[1]));
    return w_any_zero(w_min(nearest[0], nearest[1]));
}

/* Ties: an odd result half a unit away is not what rounding to even gives. */
static void count_odd_ties(struct pass *pass, size_t start, size_t count)
{
    uint32_t half = key_of_ulp(pass, 0.5);
    for (size_t i = 0; i < count; i++) {
        if ((pass->chunk_ulp[i] & MAGNITUDE) != half) continue;
        size_t place = start + place_of_key(i);
        double ulp = pass_signed_ulp(pass, place);
        if (fabs(ulp) != 0.5 || !(pass->got[place * pass->element_bytes] & 1)) continue;
        pass->counts.unequal++;
        if (!pass->unit.parity_matters) continue;
        pass->counts.above += ulp > 0;
        pass->counts.below += ulp < 0;
    }
}

/* The histogram above half a unit of a chunk whose errors are beyond the levels. */
static void count_bins(struct pass *pass, struct tallies *tallies, size_t count)
{
    uint64_t *histogram = pass->counts.ulp_histogram;
    uint32_t half = key_of_ulp(pass, 0.5);
    for (size_t i = 0; i < count; i++) {
        uint32_t key = pass->chunk_ulp[i] & MAGNITUDE;
        if (key <= half) continue;
        int bin = 2 + (int)((key - 1) >> 20) - (int)(half >> 20); /* a power of two ends its bin */
        histogram[bin < ULP_BINS ? bin : ULP_BINS - 1]++;
        tallies->binned++;
    }
}

/* ulp_limit is any double: of one with a lower half not 0, keys tell only the errors away from it. */
static void count_over_limit(struct pass *pass, size_t start, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((pass->chunk_ulp[i] & MAGNITUDE) != 0)
            pass->counts.ulp_over += fabs(pass_signed_ulp(pass, start + place_of_key(i))) >
                                     pass->parameters.ulp_limit;
}

/* Count the elements whose relative error has the key of a threshold. */
static void count_close(const struct pass *pass, struct tallies *tallies, const struct constants *c,
                        size_t start, size_t count, uint32_t (*key_of)(double))
{
    for (int k = 0; k < RELATIVE_THRESHOLDS; k++) {
        uint32_t key = key_of(c->threshold[k]);
        for (size_t i = 0; i < count; i++)
            if (pass->chunk_relative[i] == key)
                tallies->relative[k].others += pass_relative_error(pass, start + place_of_key(i)) >
                                               c->threshold[k];
    }
}

static void count_relative(const struct pass *pass, struct tallies *tallies,
                           const struct constants *c, const struct chunk *chunk, double largest)
{
    uint32_t (*key_of)(double) = pass->lo ? key_away_from_zero : key_to_zero;
    struct thresholds list = { .n = 0 };

    for (int k = 0; k < RELATIVE_THRESHOLDS; k++)
        if (c->threshold[k] < 0) tally_all(&tallies->relative[k], chunk);
        else if (largest > c->threshold[k])
            thresholds_add(&list, key_of(c->threshold[k]), &tallies->relative[k]);
    if (count_above(&list, pass->chunk_relative, chunk->count, false))
        count_close(pass, tallies, c, chunk->start, chunk->count, key_of);
}

static void count_ulps(struct pass *pass, struct tallies *tallies, const struct chunk *chunk,
                       double largest)
{
    struct thresholds list = { .n = 0 };
    size_t start = chunk->start, count = chunk->count;
    double limit = pass->parameters.ulp_limit, half = pass->unit.half, level = 0.5;
    uint32_t key_of_half = key_of_ulp(pass, half), tie = key_of_ulp(pass, 0.5);

    if (largest > 0) thresholds_add_ulp(&list, chunk, 0, &tallies->nonzero);
    if (half != 0.5 && largest > half)
        thresholds_add_ulp(&list, chunk, key_of_half, &tallies->beyond);
    if (largest > limit && !key_is_exact(limit)) count_over_limit(pass, start, count);
    else if (largest > limit)
        thresholds_add_ulp(&list, chunk, key_of_ulp(pass, limit), &tallies->ulp_over);
    if (largest > LARGEST_LEVEL) count_bins(pass, tallies, count);
    else
        for (int k = 0; largest > level; k++, level *= 2)
            thresholds_add_ulp(&list, chunk, key_of_ulp(pass, level), &tallies->level[k]);
    count_above(&list, pass->chunk_ulp, count, true);
    if (largest >= 0.5) {
        if (count_positive(&tallies->above, key_of_half, tie, pass->chunk_ulp, count, true))
            count_odd_ties(pass, start, count);
    } else if (largest > half) {
        count_positive(&tallies->above, key_of_half, tie, pass->chunk_ulp, count, false);
    }
}

static inline void raise_bound(struct pass *pass, double bound)
{
    if (bound > pass->bound_ulp) pass->bound_ulp = bound;
}

/* The chunk's part of peaks, maxima and tallies. */
static void finish_chunk(struct pass *pass, struct tallies *tallies, const struct chunk *chunk,
                         const struct constants *c)
{
    static const enum pass_max source[MEASURES] = {
        [MEASURE_ABS] = MAX_ABS, [MEASURE_RELATIVE] = MAX_RELATIVE, [MEASURE_ULP] = MAX_ULP
    };
    double max[PASS_FAST_MAXES];

    for (int m = 0; m < PASS_FAST_MAXES; m++) {
        max[m] = v_largest(chunk->max[m]);
        if (max[m] > pass->lanes.max[m][0]) pass->lanes.max[m][0] = max[m];
    }
    max[MAX_ULP] *= pass->unit.ulps_folded;
    for (int m = 0; m < MEASURES; m++)
        peak_raise(&pass->peaks[m], max[source[m]], chunk->start / PASS_CHUNK);
    double relative = max[MAX_RELATIVE];
    if (chunk->small) {
        double small = v_largest(chunk->small_relative);
        relative = relative > small ? relative : small;
    }
    tallies->compared += chunk->count - chunk->careful;
    tallies->small += chunk->small;
    tallies->small_failed += chunk->small_failed;
    tallies->small_relative_over += chunk->small_relative_over;
    count_relative(pass, tallies, c, chunk, relative);
    count_ulps(pass, tallies, chunk, max[MAX_ULP]);
}

static uint64_t counted(const struct tally *tally)
{
    uint32_t lanes[WORDS_PER_VECTOR];
    uint64_t count = tally->others;
    i_store(lanes, tally->words);
    for (size_t k = 0; k < WORDS_PER_VECTOR; k++) count += lanes[k];
    return count;
}

/* Hand a call's tallies to the counts of the pass. */
static void finish_tallies(struct pass *pass, const struct tallies *tallies)
{
    struct pass_counts *counts = &pass->counts;
    uint64_t compared = tallies->compared, nonzero = counted(&tallies->nonzero);
    uint64_t level[LEVELS + 1] = { 0 }, above = counted(&tallies->above);

    for (int k = 0; k < LEVELS; k++) level[k] = counted(&tallies->level[k]);
    counts->compared += compared;
    counts->classes[CLASS_FINITE][CLASS_FINITE] += compared;
    uint64_t over[RELATIVE_THRESHOLDS];
    for (int k = 0; k < RELATIVE_THRESHOLDS; k++) over[k] = counted(&tallies->relative[k]);
    for (int k = 0; k < 3; k++) counts->within[k] += compared - over[NOT_WITHIN + k];
    counts->small += tallies->small;
    counts->small_failed += tallies->small_failed;
    counts->normal += compared - tallies->small;
    counts->relative_failed += over[OVER_TOLERANCE] - tallies->small_relative_over;
    counts->differ += nonzero;
    uint64_t unequal = level[0] + tallies->binned;
    uint64_t beyond = pass->unit.half == 0.5 ? unequal : counted(&tallies->beyond);
    counts->unequal += unequal;
    counts->above += above;
    counts->below += beyond - above;
    counts->ulp_over += counted(&tallies->ulp_over);
    counts->ulp_histogram[0] += compared - nonzero;
    counts->ulp_histogram[1] += nonzero - unequal;
    for (int k = 0; k < LEVELS; k++) counts->ulp_histogram[k + 2] += level[k] - level[k + 1];
}
