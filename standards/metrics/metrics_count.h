/* The second loop of the vector metrics pass: what the errors of a chunk add to the counts, done only as
 * far as the chunk's largest error asks for it. metrics_kernel.h includes this file after the constants and
 * the chunk. */

/* Counts of compared elements whose error is above a threshold, a lane each: of all chunks of a
 * call, so that lanes are added up once. */
struct tallies {
    uint64_t compared, small, small_failed, small_relative_over;
    uint64_t binned;            /* above half a unit, and in the histogram already */
    I within[3], relative_over; /* relative error; `within`: not below */
    I nonzero, above, ulp_over; /* ulp; `above`: beyond pass_unit.half, and positive */
    I beyond;                   /* of either sign, where pass_unit.half is not 1/2 */
    I level[LEVELS];            /* ulp above 2^(k - 1) */
};

/* ---- keys of errors in ulp ---------------------------------------------------------------- */

/* The second loop reads errors in ulp as words of 32 bits: the upper half of the double, rounded
 * away from zero. A key is 0 only for 0, and it is above that of a double whose lower half is 0,
 * as in all powers of two, exactly when the error is above that double. */
enum { MAGNITUDE = 0x7fffffff, KEY_OF_HALF = 0x3fe00000 };

static uint32_t key_of(double x) { return (uint32_t)((bits_of_double(x) + 0xffffffff) >> 32); }

static bool key_is_exact(double x) { return (uint32_t)bits_of_double(x) == 0; }

/* The keys of two vectors of errors. */
ALWAYS_INLINE I ulp_keys(V first, V second)
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

/* ---- counting -------------------------------------------------------------------------------- */

static void tallies_clear(struct tallies *tallies)
{
    I *const counters[] = { &tallies->within[0], &tallies->within[1],     &tallies->within[2],
                            &tallies->nonzero,   &tallies->relative_over, &tallies->beyond,
                            &tallies->above,     &tallies->ulp_over };
    for (size_t k = 0; k < sizeof counters / sizeof counters[0]; k++) *counters[k] = i_set(0);
    for (int k = 0; k < LEVELS; k++) tallies->level[k] = i_set(0);
    tallies->compared = tallies->binned = 0;
    tallies->small = tallies->small_failed = tallies->small_relative_over = 0;
}

/* Thresholds of the loops over a chunk, and the counters of what is above them. */
struct thresholds {
    size_t n;
    double value[LEVELS + 3];
    I *counter[LEVELS + 3];
};

/* A threshold that the chunk's largest error exceeds; of others nothing is above. */
static void thresholds_add(struct thresholds *list, double value, double largest, I *counter)
{
    if (!(largest > value)) return;
    list->value[list->n] = value;
    list->counter[list->n++] = counter;
}

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
            I *total = list->counter[from + (size_t)k];
            *total = i_add(*total, counters->count[c][k]);
        }
}

/* Count the chunk's relative errors above each of n thresholds. */
ALWAYS_INLINE void count_doubles(const struct thresholds *list, int n, const double *x,
                                 size_t count)
{
    V limit[AT_A_TIME];
    struct counters counters;
    counters_clear(&counters, n);
    for (int k = 0; k < n; k++) limit[k] = v_set(list->value[k]);
    for (size_t i = 0; i < count; i += counters_of(n) * LANES_PER_VECTOR)
        for (size_t c = 0; c < counters_of(n); c++) {
            V value = v_load(x + i + c * LANES_PER_VECTOR);
            for (int k = 0; k < n; k++)
                counters.count[c][k] = i_count(counters.count[c][k], m_gt(value, limit[k]));
        }
    counters_add(list, 0, n, &counters);
}

/* Count the chunk's errors in ulp above each of n thresholds from `from` on. */
ALWAYS_INLINE void count_words(const struct thresholds *list, size_t from, int n,
                               const uint32_t *keys, size_t count)
{
    const I bits = w_set(MAGNITUDE);
    I limit[AT_A_TIME];
    struct counters counters;
    counters_clear(&counters, n);
    for (int k = 0; k < n; k++) limit[k] = w_set(key_of(list->value[from + (size_t)k]));
    for (size_t i = 0; i < count; i += counters_of(n) * WORDS_PER_VECTOR)
        for (size_t c = 0; c < counters_of(n); c++) {
            I value = i_and(i_load(keys + i + c * WORDS_PER_VECTOR), bits);
            for (int k = 0; k < n; k++)
                counters.count[c][k] = w_count_above(counters.count[c][k], value, limit[k]);
        }
    counters_add(list, from, n, &counters);
}

static void count_relative_above(const struct thresholds *list, const double *x, size_t count)
{
    switch (list->n) {
    case 0: return;
    case 1: count_doubles(list, 1, x, count); return;
    case 2: count_doubles(list, 2, x, count); return;
    case 3: count_doubles(list, 3, x, count); return;
    default: count_doubles(list, 4, x, count); return;
    }
}

static void count_keys_above(const struct thresholds *list, const uint32_t *keys, size_t count)
{
    for (size_t from = 0; from < list->n; from += AT_A_TIME) switch (list->n - from) {
        case 1: count_words(list, from, 1, keys, count); break;
        case 2: count_words(list, from, 2, keys, count); break;
        case 3: count_words(list, from, 3, keys, count); break;
        default: count_words(list, from, 4, keys, count); break;
        }
}

/* Count the errors above `half` with their sign; is the magnitude of one half a unit, or next to it? */
static bool count_positive(I *above, double half, const uint32_t *keys, size_t count)
{
    const I bits = w_set(MAGNITUDE), tie = w_set(KEY_OF_HALF), limit = w_set(key_of(half));
    I counter[2] = { i_set(0), i_set(0) }, ties = i_set(0);
    for (size_t i = 0; i < count; i += 2 * WORDS_PER_VECTOR)
        for (size_t c = 0; c < 2; c++) {
            I key = i_load(keys + i + c * WORDS_PER_VECTOR);
            counter[c] = w_count_above(counter[c], key, limit);
            ties = w_count_equal(ties, i_and(key, bits), tie);
        }
    *above = i_add(*above, i_add(counter[0], counter[1]));
    return i_any(ties);
}

/* Ties: an odd result half a unit away is not what rounding to even gives. */
static void count_odd_ties(struct pass *pass, size_t start, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((pass->chunk_ulp[i] & MAGNITUDE) != KEY_OF_HALF) continue;
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
    for (size_t i = 0; i < count; i++) {
        uint32_t key = pass->chunk_ulp[i] & MAGNITUDE;
        if (key <= KEY_OF_HALF) continue;
        int bin = (int)((key - 1) >> 20) - 1020; /* a power of two ends its bin */
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

static void count_relative(const struct pass *pass, struct tallies *tallies,
                           const struct constants *c, const struct chunk *chunk, double largest)
{
    struct thresholds list = { .n = 0 };

    for (int k = 0; k < 3; k++)
        thresholds_add(&list, c->not_within[k], largest, &tallies->within[k]);
    thresholds_add(&list, pass->parameters.relative_tolerance, largest, &tallies->relative_over);
    count_relative_above(&list, pass->chunk_relative, chunk->count);
}

static void count_ulps(struct pass *pass, struct tallies *tallies, const struct chunk *chunk,
                       double largest)
{
    struct thresholds list = { .n = 0 };
    size_t start = chunk->start, count = chunk->count;
    double limit = pass->parameters.ulp_limit, half = pass->unit.half, level = 0.5;

    thresholds_add(&list, 0, largest, &tallies->nonzero);
    if (half != 0.5) thresholds_add(&list, half, largest, &tallies->beyond);
    if (key_is_exact(limit)) thresholds_add(&list, limit, largest, &tallies->ulp_over);
    else if (largest > limit) count_over_limit(pass, start, count);
    if (largest > LARGEST_LEVEL) count_bins(pass, tallies, count);
    else
        for (int k = 0; largest > level; k++, level *= 2)
            thresholds_add(&list, level, largest, &tallies->level[k]);
    count_keys_above(&list, pass->chunk_ulp, count);
    if (largest < half && largest < 0.5) return;
    if (count_positive(&tallies->above, half, pass->chunk_ulp, count))
        count_odd_ties(pass, start, count);
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

/* The lanes of a counter, added up: of 64 bits, and of 32. */
static uint64_t counted(I counter)
{
    uint64_t lanes[LANES_PER_VECTOR], count = 0;
    i_store(lanes, counter);
    for (size_t k = 0; k < LANES_PER_VECTOR; k++) count += lanes[k];
    return count;
}

static uint64_t counted_words(I counter)
{
    uint32_t lanes[WORDS_PER_VECTOR];
    uint64_t count = 0;
    i_store(lanes, counter);
    for (size_t k = 0; k < WORDS_PER_VECTOR; k++) count += lanes[k];
    return count;
}

/* Hand a call's tallies to the counts of the pass. */
static void finish_tallies(struct pass *pass, const struct tallies *tallies)
{
    struct pass_counts *counts = &pass->counts;
    uint64_t compared = tallies->compared, nonzero = counted_words(tallies->nonzero);
    uint64_t level[LEVELS + 1] = { 0 }, above = counted_words(tallies->above);

    for (int k = 0; k < LEVELS; k++) level[k] = counted_words(tallies->level[k]);
    counts->compared += compared;
    counts->classes[CLASS_FINITE][CLASS_FINITE] += compared;
    for (int k = 0; k < 3; k++) counts->within[k] += compared - counted(tallies->within[k]);
    counts->small += tallies->small;
    counts->small_failed += tallies->small_failed;
    counts->normal += compared - tallies->small;
    counts->relative_failed += counted(tallies->relative_over) - tallies->small_relative_over;
    counts->differ += nonzero;
    uint64_t unequal = level[0] + tallies->binned;
    uint64_t beyond = pass->unit.half == 0.5 ? unequal : counted_words(tallies->beyond);
    counts->unequal += unequal;
    counts->above += above;
    counts->below += beyond - above;
    counts->ulp_over += counted_words(tallies->ulp_over);
    counts->ulp_histogram[0] += compared - nonzero;
    counts->ulp_histogram[1] += nonzero - unequal;
    for (int k = 0; k < LEVELS; k++) counts->ulp_histogram[k + 2] += level[k] - level[k + 1];
}
