/* The loops of the vector metrics pass over the errors of a chunk: what they add to maxima and counts, done only as
 * far as the chunk's largest error asks for it. metrics_kernel.h includes this file after the constants and
 * the chunk. */

/* A count of compared elements whose error is above a threshold: others + above - below. What is counted in lanes is
 * counted for all chunks of a call, so that lanes are added up once. */
struct tally {
    C above, below;
    uint64_t others;
};

/* The keys of a chunk's errors at their least and largest. */
struct survey {
    uint32_t least_ulp, largest_ulp, largest_relative;
};

struct tallies {
    uint64_t compared, small, small_failed, small_relative_over;
    uint64_t binned; /* above half a unit, and in their bins already */
    struct tally relative[RELATIVE_THRESHOLDS];
    struct tally nonzero, above, ulp_over; /* ulp; `above`: beyond pass_unit.half, and positive */
    struct tally beyond;                   /* of either sign, where pass_unit.half is not 1/2 */
    struct tally level[LEVELS];            /* ulp above 2^(k - 1) */
};

/* Before a loop over the keys of a chunk: the fewer turns it has, the better their end is foreseen. */
#if defined(__clang__)
#define FEW_TURNS _Pragma("clang loop unroll_count(4)")
#else
#define FEW_TURNS _Pragma("GCC unroll 4")
#endif

static uint32_t largest_word(I words)
{
    uint32_t word[WORDS_PER_VECTOR], largest = 0;
    i_store(word, words);
    for (size_t k = 0; k < WORDS_PER_VECTOR; k++)
        if (word[k] > largest) largest = word[k];
    return largest;
}

/* Keys of magnitudes are positive as signed words, KEY_OF_NONE is not. */
static struct survey survey_chunk(const struct pass *pass, size_t count)
{
    const I bits = w_set(MAGNITUDE), none = i_set(0);
    I least[COUNTERS] = { bits, bits }, ulp[COUNTERS] = { none, none };
    I relative[COUNTERS] = { none, none };
    FEW_TURNS for (size_t i = 0; i < count; i += COUNTERS * WORDS_PER_VECTOR)
    {
        for (size_t c = 0; c < COUNTERS; c++) {
            size_t at = i + c * WORDS_PER_VECTOR;
            I value = i_and(i_load(pass->chunk_ulp + at), bits);
            ulp[c] = w_max_signed(ulp[c], value);
            least[c] = w_min(least[c], value);
            relative[c] = w_max_signed(relative[c], i_load(pass->chunk_relative + at));
        }
    }
    return (struct survey){ MAGNITUDE - largest_word(w_sub(bits, w_min(least[0], least[1]))),
                            largest_word(w_max_signed(ulp[0], ulp[1])),
                            largest_word(w_max_signed(relative[0], relative[1])) };
}

/* ---- maxima --------------------------------------------------------------------------------- */

/* The largest errors of the chunk's compared elements, but those that pass_fold_elements took. */
static void find_maxima(V *relative, V *ulp, const struct pass *pass, const struct chunk *chunk,
                        const struct constants *c)
{
    alignas(64) double got[PASS_LANES];
    *relative = *ulp = v_set(0);
    for (size_t row = chunk->start; row < chunk->start + chunk->count; row += PASS_LANES) {
        dtype_to_double(got, pass->got + row * pass->element_bytes, pass->dtype, PASS_LANES);
        for (size_t column = 0; column < COLUMNS; column++) {
            size_t lane = column * LANES_PER_VECTOR;
            if (chunk->careful_columns >> column & 1) continue;
            V want = v_load(pass->hi + row + lane), error = v_sub(v_load(got + lane), want);
            if (pass->lo) error = v_sub(error, v_load(pass->lo + row + lane));
            V abs_error = v_abs(error), magnitude = v_abs(want);
            V quotient = v_div(abs_error, v_add(magnitude, c->epsilon));
            *relative = v_max(*relative, v_zero_where(m_le(magnitude, c->small_value), quotient));
            V scale = v_min(v_reciprocal_power(want), c->largest_scale);
            *ulp = v_max(*ulp, v_mul(abs_error, scale));
        }
    }
}

static void raise_maximum(struct pass *pass, enum pass_max max, enum measure measure, double value,
                          double unit, size_t chunk)
{
    if (value > pass->lanes.max[max][0]) pass->lanes.max[max][0] = value;
    peak_raise(&pass->peaks[measure], value * unit, chunk);
}

static double folded_ulp(const struct pass *pass, size_t i)
{
    return fabs(pass_signed_ulp(pass, i)) / pass->unit.ulps_folded;
}

/* The largest of the chunk's errors that have the largest key, of magnitudes or whole words by `bits`. False when there
 * are so many of them that find_maxima is faster. */
static bool largest_of_key(double *largest, const struct pass *pass, const struct chunk *chunk,
                           const uint32_t *keys, uint32_t bits, uint32_t key,
                           double (*error)(const struct pass *, size_t))
{
    int left = 16;
    *largest = 0;
    for (size_t i = 0; i < chunk->count; i += WORDS_PER_VECTOR) {
        if (!w_any_zero(w_sub(i_and(i_load(keys + i), w_set(bits)), w_set(key)))) continue;
        for (size_t k = i; k < i + WORDS_PER_VECTOR; k++) {
            if ((keys[k] & bits) != key) continue;
            if (left-- == 0) return false;
            *largest = fmax(*largest, error(pass, chunk->start + place_of_key(k)));
        }
    }
    return true;
}

/* Few chunks have an error above all before them, and keys tell most that have not: a key that is smaller than that of
 * the maximum, or equal to it when all that has this key is at most the maximum. Relative errors of small elements have
 * keys and no part in the maximum. */
static void raise_maxima(struct pass *pass, const struct chunk *chunk, const struct constants *c,
                         const struct survey *survey)
{
    double *max_ulp = &pass->lanes.max[MAX_ULP][0],
           *max_relative = &pass->lanes.max[MAX_RELATIVE][0];
    uint32_t ulp_key = key_away_from_zero(*max_ulp);
    bool ulp_grows = survey->largest_ulp > ulp_key ||
                     (survey->largest_ulp == ulp_key && !key_is_exact(*max_ulp));
    bool relative_grows = survey->largest_relative >= key_of_relative(pass, *max_relative);
    size_t number = chunk->start / PASS_CHUNK;
    double ulp = 0, relative = 0;

    raise_maximum(pass, MAX_ABS, MEASURE_ABS, v_largest(chunk->max_abs), 1, number);
    if (!(ulp_grows || relative_grows) || survey->largest_ulp == 0) return;
    bool found = !chunk->small;
    if (found && ulp_grows)
        found = largest_of_key(&ulp, pass, chunk, pass->chunk_ulp, MAGNITUDE, survey->largest_ulp,
                               folded_ulp);
    if (found && relative_grows)
        found = largest_of_key(&relative, pass, chunk, pass->chunk_relative, UINT32_MAX,
                               survey->largest_relative, pass_relative_error);
    if (!found) {
        V all_relative, all_ulp;
        find_maxima(&all_relative, &all_ulp, pass, chunk, c);
        relative = v_largest(all_relative);
        ulp = v_largest(all_ulp);
    }
    raise_maximum(pass, MAX_RELATIVE, MEASURE_RELATIVE, relative, 1, number);
    raise_maximum(pass, MAX_ULP, MEASURE_ULP, ulp, pass->unit.ulps_folded, number);
}

/* ---- counting -------------------------------------------------------------------------------- */

static void tallies_clear(struct tallies *tallies)
{
    const struct tally none = { .above = c_none(), .below = c_none() };
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
static void thresholds_add_ulp(struct thresholds *list, const struct chunk *chunk,
                               const struct survey *survey, uint32_t key, struct tally *tally)
{
    if (survey->least_ulp > key) tally_all(tally, chunk);
    else thresholds_add(list, key, tally);
}

/* Counts of a loop over n thresholds. */
struct counters {
    C below[COUNTERS][AT_A_TIME];
};

ALWAYS_INLINE void counters_clear(struct counters *counters, int n)
{
    for (size_t c = 0; c < COUNTERS; c++)
        for (int k = 0; k < n; k++) counters->below[c][k] = c_none();
}

ALWAYS_INLINE void counters_add(const struct thresholds *list, size_t from, int n,
                                const struct counters *counters, size_t count)
{
    for (int k = 0; k < n; k++) {
        struct tally *tally = list->tally[from + (size_t)k];
        tally->others += count;
        for (size_t c = 0; c < COUNTERS; c++)
            tally->below = c_add(tally->below, counters->below[c][k]);
    }
}

/* Count the keys of a vector below each of n limits, and take the least distance from one to `nearest`. */
ALWAYS_INLINE void count_vector(C *below, I *nearest, I value, const I *limit, int n, bool exact)
{
    I least = w_set(MAGNITUDE);
    for (int k = 0; k < n; k++) {
        I distance = w_sub(value, limit[k]);
        below[k] = w_count_negative(below[k], distance);
        least = k ? w_min(least, distance) : distance;
    }
    if (!exact) *nearest = w_min(*nearest, least);
}

/* Count keys above each of n thresholds from `from` on. `exact`: no key but those above is the larger one of two
 * errors; magnitudes are compared. Else keys equal to a threshold are counted as well; tell whether there is one. */
ALWAYS_INLINE bool count_words(const struct thresholds *list, size_t from, int n,
                               const uint32_t *keys, size_t count, bool exact)
{
    const I bits = w_set(MAGNITUDE);
    I limit[AT_A_TIME], nearest[COUNTERS] = { bits, bits };
    struct counters counters;
    counters_clear(&counters, n);
    for (int k = 0; k < n; k++) limit[k] = w_set(list->key[from + (size_t)k] + exact);
    FEW_TURNS for (size_t i = 0; i < count; i += COUNTERS * WORDS_PER_VECTOR)
    {
        for (size_t c = 0; c < COUNTERS; c++) {
            I value = i_load(keys + i + c * WORDS_PER_VECTOR);
            if (exact) value = i_and(value, bits);
            count_vector(counters.below[c], &nearest[c], value, limit, n, exact);
        }
    }
    counters_add(list, from, n, &counters, count);
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

/* Count the errors above a threshold in ulp with their sign; `all`: the others are below minus the threshold. */
ALWAYS_INLINE void count_positive(struct tally *above, uint32_t key, const uint32_t *keys,
                                  size_t count, bool all)
{
    const I limit = w_set(key);
    C counter[COUNTERS] = { c_none(), c_none() };
    FEW_TURNS for (size_t i = 0; i < count; i += COUNTERS * WORDS_PER_VECTOR)
    {
        for (size_t c = 0; c < COUNTERS; c++) {
            I value = i_load(keys + i + c * WORDS_PER_VECTOR);
            counter[c] = all ? w_count_negative(counter[c], value)
                             : w_count_above(counter[c], value, limit);
        }
    }
    C both = c_add(counter[0], counter[1]);
    if (all) above->others += count, above->below = c_add(above->below, both);
    else above->above = c_add(above->above, both);
}

/* Count the errors above half a unit, and those that have its key as well; tell whether there is one. */
static bool count_unequal(struct tally *unequal, uint32_t half, const uint32_t *keys, size_t count)
{
    const I bits = w_set(MAGNITUDE), limit = w_set(half);
    I nearest[COUNTERS] = { bits, bits };
    C below[COUNTERS] = { c_none(), c_none() };
    FEW_TURNS for (size_t i = 0; i < count; i += COUNTERS * WORDS_PER_VECTOR)
    {
        for (size_t c = 0; c < COUNTERS; c++) {
            I value = i_and(i_load(keys + i + c * WORDS_PER_VECTOR), bits);
            count_vector(&below[c], &nearest[c], value, &limit, 1, false);
        }
    }
    unequal->others += count;
    unequal->below = c_add(unequal->below, c_add(below[0], below[1]));
    return w_any_zero(w_min(nearest[0], nearest[1]));
}

/* Errors with the key of half a unit are not above it. Ties: an odd result half a unit away is not what rounding to even
 * gives. */
static void count_ties(struct pass *pass, struct tally *unequal, uint32_t half, size_t start,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((pass->chunk_ulp[i] & MAGNITUDE) != half) continue;
        unequal->others--;
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
static void count_bins(struct pass *pass, struct tallies *tallies, uint32_t half, size_t count)
{
    uint64_t *histogram = pass->counts.ulp_histogram;
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

/* Of the elements whose relative error has the key of a threshold, take off those that are not above it. */
static void count_close(const struct pass *pass, const struct thresholds *list,
                        const double *threshold, size_t start, size_t count)
{
    for (size_t k = 0; k < list->n; k++)
        for (size_t i = 0; i < count; i++)
            if (pass->chunk_relative[i] == list->key[k] &&
                !(pass_relative_error(pass, start + place_of_key(i)) > threshold[k]))
                list->tally[k]->others--;
}

static void count_relative(const struct pass *pass, struct tallies *tallies,
                           const struct constants *c, const struct chunk *chunk, uint32_t largest)
{
    struct thresholds list;
    double threshold[RELATIVE_THRESHOLDS];

    list.n = 0;
    for (int k = 0; k < RELATIVE_THRESHOLDS; k++)
        if (c->threshold[k] < 0) {
            tally_all(&tallies->relative[k], chunk);
        } else if (largest >= c->threshold_key[k]) {
            threshold[list.n] = c->threshold[k];
            thresholds_add(&list, c->threshold_key[k], &tallies->relative[k]);
        }
    if (count_above(&list, pass->chunk_relative, chunk->count, false))
        count_close(pass, &list, threshold, chunk->start, chunk->count);
}

/* The errors above half a unit, and those beyond pass_unit.half by their sign. */
static void count_roundings(struct pass *pass, struct tallies *tallies, const struct constants *c,
                            const struct chunk *chunk, const struct survey *survey)
{
    const uint32_t *keys = pass->chunk_ulp, half = c->half_key, beyond = c->beyond_key;
    size_t count = chunk->count;

    if (survey->least_ulp > half) tally_all(&tallies->level[0], chunk);
    else if (survey->largest_ulp >= half && count_unequal(&tallies->level[0], half, keys, count))
        count_ties(pass, &tallies->level[0], half, chunk->start, count);
    if (survey->least_ulp > beyond) count_positive(&tallies->above, beyond, keys, count, true);
    else if (survey->largest_ulp > beyond)
        count_positive(&tallies->above, beyond, keys, count, false);
}

static void count_ulps(struct pass *pass, struct tallies *tallies, const struct constants *c,
                       const struct chunk *chunk, const struct survey *survey)
{
    enum { DOUBLE = 1 << 20 }; /* what a power of two adds to a key */
    struct thresholds list;
    double limit = pass->parameters.ulp_limit;
    uint32_t largest = survey->largest_ulp, level = c->half_key + DOUBLE;

    if (limit < 0) tally_all(&tallies->ulp_over, chunk);
    if (largest == 0) return;
    list.n = 0;
    thresholds_add_ulp(&list, chunk, survey, 0, &tallies->nonzero);
    if (c->beyond_key != c->half_key && largest > c->beyond_key)
        thresholds_add_ulp(&list, chunk, survey, c->beyond_key, &tallies->beyond);
    if (largest >= c->limit_key && !key_is_exact(limit))
        count_over_limit(pass, chunk->start, chunk->count);
    else if (largest > c->limit_key)
        thresholds_add_ulp(&list, chunk, survey, c->limit_key, &tallies->ulp_over);
    if (largest > c->half_key + LEVELS * DOUBLE)
        count_bins(pass, tallies, c->half_key, chunk->count);
    else
        for (int k = 1; largest > level; k++, level += DOUBLE)
            thresholds_add_ulp(&list, chunk, survey, level, &tallies->level[k]);
    count_above(&list, pass->chunk_ulp, chunk->count, true);
    count_roundings(pass, tallies, c, chunk, survey);
}

static inline void raise_bound(struct pass *pass, double bound)
{
    if (bound > pass->bound_ulp) pass->bound_ulp = bound;
}

/* The chunk's part of peaks, maxima and tallies. */
static void finish_chunk(struct pass *pass, struct tallies *tallies, const struct chunk *chunk,
                         const struct constants *c)
{
    const struct survey survey = survey_chunk(pass, chunk->count);
    raise_maxima(pass, chunk, c, &survey);
    tallies->compared += chunk->count - chunk->careful;
    tallies->small += chunk->small;
    tallies->small_failed += chunk->small_failed;
    tallies->small_relative_over += chunk->small_relative_over;
    count_relative(pass, tallies, c, chunk, survey.largest_relative);
    count_ulps(pass, tallies, c, chunk, &survey);
}

static uint64_t counted(const struct tally *tally)
{
    return tally->others + c_total(tally->above) - c_total(tally->below);
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
    uint64_t unequal = level[0];
    uint64_t beyond = pass->unit.half == 0.5 ? unequal : counted(&tallies->beyond);
    counts->unequal += unequal;
    counts->above += above;
    counts->below += beyond - above;
    counts->ulp_over += counted(&tallies->ulp_over);
    counts->ulp_histogram[0] += compared - nonzero;
    counts->ulp_histogram[1] += nonzero - unequal;
    for (int k = 0; k < LEVELS; k++) counts->ulp_histogram[k + 2] += level[k] - level[k + 1];
    counts->ulp_histogram[2] -= tallies->binned; /* is in the bins already */
}
