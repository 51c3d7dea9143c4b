/* The first loop of the vector metrics pass, for one kind of pass. metrics_kernel.h includes this
 * file once for each kind, after defining
 *
 *   KIND(NAME)  the name of a function of this kind
 *   WIDE        1 for float64, whose ulp needs two factors, else 0
 *   HAS_LO      1 when the reference has a second double to each element, else 0
 *   BOUNDS      1 when the bound is followed from element to element, else 0
 *
 * What a kind does not need is not in its code: the loop is the hottest of the program. */

/* Fold one column of a chunk. `got` points at the chunk's first element. */
ALWAYS_INLINE bool KIND(fold_column)(struct pass *pass, struct chunk_counts *chunk,
                                     const struct constants *c, size_t start, size_t column,
                                     const unsigned char *got, size_t got_bytes,
                                     V (*load)(const void *))
{
    struct pass_lanes *lanes = &pass->lanes;
    size_t lane = column * LANES_PER_VECTOR;
    V sum[PASS_FAST_SUMS], max[PASS_FAST_MAXES], bound_max = v_set(0), small_max = v_set(0);
    uint64_t small_count = 0, small_failed = 0, small_over = 0;

    for (int s = 0; s < PASS_FAST_SUMS; s++) sum[s] = v_load(&lanes->sum[s][lane]);
    for (int m = 0; m < PASS_FAST_MAXES; m++) max[m] = v_set(0);
    for (size_t row = 0; row < PASS_ROWS; row++) {
        size_t place = row * PASS_LANES + lane;
        V x = load(got + place * got_bytes), want = v_load(pass->hi + start + place);
        V error = v_sub(x, want);
        if (HAS_LO) error = v_sub(error, v_load(pass->lo + start + place));
        V abs_error = v_abs(error), magnitude = v_abs(want);
        max[MAX_ABS] = v_max_bits(max[MAX_ABS], abs_error);
        max[MAX_WANT] = v_max(max[MAX_WANT], magnitude);
        sum[SUM_WANT_SQUARED] = v_fma(want, want, sum[SUM_WANT_SQUARED]);
        sum[SUM_GOT_SQUARED] = v_fma(x, x, sum[SUM_GOT_SQUARED]);
        sum[SUM_PRODUCT] = v_fma(want, x, sum[SUM_PRODUCT]);

        V relative = v_div(abs_error, v_add(magnitude, c->epsilon));
        V normal_relative = relative, normal_error = abs_error;
        v_store(pass->chunk_relative + place, relative);
        M small = m_le(magnitude, c->small_value);
        if (UNLIKELY(m_any(small))) {
            M nonzero = m_gt(abs_error, v_set(0));
            if (m_any(m_and(m_and(small, nonzero), m_eq(want, v_set(0))))) return false;
            small_count += m_count(small);
            small_failed += m_count(m_and(small, m_gt(abs_error, c->atol)));
            small_over += m_count(m_and(small, m_gt(relative, c->rtol)));
            small_max = v_max(small_max, relative);
            normal_relative = v_zero_where(small, relative);
            normal_error = v_zero_where(small, abs_error);
        }
        max[MAX_RELATIVE] = v_max(max[MAX_RELATIVE], normal_relative);
        sum[SUM_RELATIVE] = v_add(sum[SUM_RELATIVE], normal_relative);
        sum[SUM_ERROR_SQUARED] = v_fma(normal_error, normal_error, sum[SUM_ERROR_SQUARED]);

        V scale = v_from_bits(
            i_sub(c->scale_minus, i_from_bits(v_max(v_exponent(want), c->exponent_min))));
        V signed_ulp = v_mul(error, scale);
        if (WIDE) signed_ulp = v_mul(signed_ulp, c->second_scale);
        V ulp = v_abs(signed_ulp);
        v_store(pass->chunk_ulp + place, signed_ulp);
        max[MAX_ULP] = v_max(max[MAX_ULP], ulp);
        sum[SUM_ULP] = v_add(sum[SUM_ULP], ulp);
        sum[SUM_SIGNED_ULP] = v_add(sum[SUM_SIGNED_ULP], signed_ulp);
        sum[SUM_ULP_SQUARED] = v_fma(ulp, ulp, sum[SUM_ULP_SQUARED]);

        if (BOUNDS) {
            V bound = pass->error
                          ? v_load(pass->error + start + place)
                          : v_add(v_mul(v_set(pass->relative), magnitude), v_set(pass->absolute));
            bound = v_mul(bound, scale);
            if (WIDE) bound = v_mul(bound, c->second_scale);
            bound_max = v_max(bound_max, bound);
        }
    }
    /* Infinities and NaN of either side are in the largest error, as bits above all finite. */
    if (v_largest_bits(max[MAX_ABS]) >= bits_of_double(INFINITY) ||
        !(v_largest(max[MAX_WANT]) < c->finite_below))
        return false;

    for (int s = 0; s < PASS_FAST_SUMS; s++) v_store(&lanes->sum[s][lane], sum[s]);
    for (int m = 0; m < PASS_FAST_MAXES; m++)
        v_store(&lanes->max[m][lane], v_max(v_load(&lanes->max[m][lane]), max[m]));
    chunk->small += small_count;
    chunk->small_failed += small_failed;
    chunk->small_relative_over += small_over;
    chunk->peak[MEASURE_ABS] = fmax(chunk->peak[MEASURE_ABS], v_largest(max[MAX_ABS]));
    chunk->peak[MEASURE_RELATIVE] =
        fmax(chunk->peak[MEASURE_RELATIVE], v_largest(max[MAX_RELATIVE]));
    chunk->peak[MEASURE_ULP] = fmax(chunk->peak[MEASURE_ULP], v_largest(max[MAX_ULP]));
    if (small_count) chunk->max_relative = fmax(chunk->max_relative, v_largest(small_max));
    if (BOUNDS) pass->bound_ulp = fmax(pass->bound_ulp, v_largest(bound_max));
    return true;
}

/* Ask for the part of a later chunk that corresponds to one column. The columns of a chunk jump
 * through memory, which the processor does not foresee by itself. Addresses beyond the arrays
 * are harmless: a prefetch never faults. */
ALWAYS_INLINE void KIND(prefetch_ahead)(const struct pass *pass, size_t start, size_t column)
{
    enum { AHEAD = 4 * PASS_CHUNK, LINE = 64, SHARE = PASS_CHUNK / COLUMNS };
    size_t first = start + AHEAD + column * SHARE;
    const char *got = (const char *)pass->got + first * pass->element_bytes;

    for (size_t byte = 0; byte < SHARE * sizeof(double); byte += LINE) {
        __builtin_prefetch((const char *)(pass->hi + first) + byte);
        if (HAS_LO) __builtin_prefetch((const char *)(pass->lo + first) + byte);
        if (BOUNDS && pass->error) __builtin_prefetch((const char *)(pass->error + first) + byte);
    }
    for (size_t byte = 0; byte < SHARE * pass->element_bytes; byte += LINE)
        __builtin_prefetch(got + byte);
}

ALWAYS_INLINE size_t KIND(fold_chunks)(struct pass *pass, size_t start, size_t count,
                                       size_t got_bytes, V (*load)(const void *),
                                       find_elements *elements)
{
    const struct constants c = make_constants(pass);
    double converted[PASS_CHUNK];
    size_t done = 0;

    for (; done + PASS_CHUNK <= count; done += PASS_CHUNK) {
        struct chunk_counts chunk = { 0 };
        size_t first = start + done;
        const unsigned char *got = elements(converted, pass, first);
        for (size_t column = 0; column < COLUMNS; column++) {
            KIND(prefetch_ahead)(pass, first, column);
            if (!KIND(fold_column)(pass, &chunk, &c, first, column, got, got_bytes, load))
                fold_column_carefully(pass, &chunk, first, column);
        }
        uint64_t compared = PASS_CHUNK - chunk.careful;
        pass->counts.compared += compared;
        pass->counts.classes[CLASS_FINITE][CLASS_FINITE] += compared;
        if (!compared) continue;
        for (int m = 0; m < MEASURES; m++)
            peak_raise(&pass->peaks[m], chunk.peak[m], first / PASS_CHUNK);
        chunk.max_relative = fmax(chunk.max_relative, chunk.peak[MEASURE_RELATIVE]);
        count_relative(pass, &chunk);
        count_ulps(pass, &chunk, first);
    }
    return done;
}

#undef KIND
#undef WIDE
#undef HAS_LO
#undef BOUNDS
