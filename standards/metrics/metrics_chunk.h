/* The first loop of the vector metrics pass, for one kind of pass. metrics_kernel.h includes this
 * file once for each kind, after defining
 *
 *   KIND(NAME)  the name of a function of this kind
 *   WIDE        1 for float64, whose ulp needs two factors, else 0
 *   HAS_LO      1 when the reference has a second double to each element, else 0
 *   BOUNDS      1 when the bound is followed from element to element, else 0
 *
 * What a kind does not need is not in its code: the loop is the hottest of the program. */

/* Fold errors of the vector at `place` of the chunk, its elements `x`, into a column: all but those in ulp, which are
 * set. False when an element is unusual. */
ALWAYS_INLINE bool KIND(fold_errors)(V *ulp_out, struct column *column,
                                     const struct chunk_source *from, const struct constants *c,
                                     double *relative_errors, size_t place, V x)
{
    V *sum = column->sum, *max = column->max;
    V want = v_load(from->hi + place), error = v_sub(x, want);
    if (HAS_LO) error = v_sub(error, v_load(from->lo + place));
    V abs_error = v_abs(error), magnitude = v_abs(want), exponent = v_exponent(want);
    max[MAX_ABS] = WIDE ? v_max_bits(max[MAX_ABS], abs_error) : v_max(max[MAX_ABS], abs_error);
    sum[SUM_WANT_SQUARED] = v_fma(want, want, sum[SUM_WANT_SQUARED]);
    sum[SUM_GOT_SQUARED] = v_fma(x, x, sum[SUM_GOT_SQUARED]);
    sum[SUM_PRODUCT] = v_fma(want, x, sum[SUM_PRODUCT]);

    V relative = v_div(abs_error, v_add(magnitude, c->epsilon));
    V normal_relative = relative, normal_error = abs_error;
    v_store(relative_errors + place, relative);
    if (UNLIKELY(m_any(outside(c, magnitude)))) {
        M small = m_le(magnitude, c->small_value), nonzero = m_gt(abs_error, v_set(0));
        if (!m_all(m_gt(c->finite_below, magnitude)) ||
            m_any(m_and(m_and(small, nonzero), m_eq(want, v_set(0)))))
            return false;
        column->small += m_count(small);
        column->small_failed += m_count(m_and(small, m_gt(abs_error, c->atol)));
        column->small_relative_over += m_count(m_and(small, m_gt(relative, c->rtol)));
        column->small_relative = v_max(column->small_relative, v_only_where(small, relative));
        normal_relative = v_zero_where(small, relative);
        normal_error = v_zero_where(small, abs_error);
        exponent = v_max(exponent, c->exponent_min);
    }
    max[MAX_RELATIVE] = v_max(max[MAX_RELATIVE], normal_relative);
    sum[SUM_RELATIVE] = v_add(sum[SUM_RELATIVE], normal_relative);
    sum[SUM_ERROR_SQUARED] = v_fma(normal_error, normal_error, sum[SUM_ERROR_SQUARED]);

    V scale = v_from_bits(i_sub(c->scale_minus, i_from_bits(exponent)));
    V ulp = v_mul(error, scale);
    *ulp_out = WIDE ? v_mul(ulp, c->second_scale) : ulp;
    if (BOUNDS) {
        V bound = from->error ? v_load(from->error + place)
                              : v_add(v_mul(c->relative, magnitude), c->absolute);
        bound = v_mul(bound, scale);
        if (WIDE) bound = v_mul(bound, c->second_scale);
        column->bound = v_max(column->bound, bound);
    }
    return true;
}

/* Fold errors in ulp into a column. */
ALWAYS_INLINE void KIND(fold_ulps)(struct column *column, V signed_ulp)
{
    V *sum = column->sum, *max = column->max;
    V ulp = v_abs(signed_ulp);
    max[MAX_ULP] = v_max(max[MAX_ULP], ulp);
    sum[SUM_ULP] = v_add(sum[SUM_ULP], ulp);
    sum[SUM_SIGNED_ULP] = v_add(sum[SUM_SIGNED_ULP], signed_ulp);
    sum[SUM_ULP_SQUARED] = v_fma(ulp, ulp, sum[SUM_ULP_SQUARED]);
}

/* Fold the errors of `rows` rows from `row` on of column `number`; false when one is unusual. */
ALWAYS_INLINE bool KIND(fold_rows)(V *ulp, struct column *column, struct pass *pass,
                                   const struct chunk_source *from, const struct constants *c,
                                   size_t number, size_t row, size_t rows, size_t got_bytes,
                                   V (*load)(const void *))
{
    for (size_t r = 0; r < rows; r++) {
        size_t place = (row + r) * PASS_LANES + number * LANES_PER_VECTOR;
        if (!KIND(fold_errors)(&ulp[r], column, from, c, pass->chunk_relative, place,
                               load(from->got + place * got_bytes)))
            return false;
    }
    return true;
}

/* Then fold them in ulp. */
ALWAYS_INLINE void KIND(fold_rows_in_ulp)(struct column *column, struct pass *pass, const V *ulp,
                                          size_t number, size_t row, size_t rows)
{
    for (size_t r = 0; r < rows; r += 2) {
        KIND(fold_ulps)(column, ulp[r]);
        KIND(fold_ulps)(column, ulp[r + 1]);
        i_store(pass->chunk_ulp + keys_at(row + r, number), ulp_keys(ulp[r], ulp[r + 1]));
    }
}

/* Where got is not finite, neither is the largest error, as bits above all finite, nor the sum of
 * squares, which no finite value of a narrower dtype makes overflow. */
ALWAYS_INLINE bool KIND(all_finite)(const struct column *column)
{
    const V infinity = v_set(INFINITY);
    return m_all(m_gt(infinity, column->max[MAX_ABS])) &&
           (WIDE || m_all(m_gt(infinity, column->sum[SUM_GOT_SQUARED])));
}

/* Fold one column of a chunk; false, and nothing is folded, when an element is unusual. */
ALWAYS_INLINE bool KIND(fold_column)(struct pass *pass, struct chunk *chunk,
                                     const struct chunk_source *from, const struct constants *c,
                                     size_t number, size_t got_bytes, V (*load)(const void *))
{
    size_t rows = chunk->count / PASS_LANES;
    V ulp[GROUP];
    struct column column;

    column_begin(&column);
    sums_load(&column, pass, number, 0, SUM_ULP);
    if (GROUP == 2) {
        sums_load(&column, pass, number, SUM_ULP, PASS_FAST_SUMS);
        for (size_t row = 0; row < rows; row += GROUP) {
            if (!KIND(fold_rows)(ulp, &column, pass, from, c, number, row, GROUP, got_bytes, load))
                return false;
            KIND(fold_rows_in_ulp)(&column, pass, ulp, number, row, GROUP);
        }
        if (!KIND(all_finite)(&column)) return false;
        sums_store(pass, &column, number, 0, PASS_FAST_SUMS);
    } else {
        if (!KIND(fold_rows)(ulp, &column, pass, from, c, number, 0, rows, got_bytes, load) ||
            !KIND(all_finite)(&column))
            return false;
        sums_store(pass, &column, number, 0, SUM_ULP);
        sums_load(&column, pass, number, SUM_ULP, PASS_FAST_SUMS);
        KIND(fold_rows_in_ulp)(&column, pass, ulp, number, 0, rows);
        sums_store(pass, &column, number, SUM_ULP, PASS_FAST_SUMS);
    }
    chunk_add(chunk, &column);
    return true;
}

/* Ask for the part of a later chunk that corresponds to one column. The columns of a chunk jump
 * through memory, which the processor does not foresee by itself. Addresses beyond the arrays
 * are harmless: a prefetch never faults. */
ALWAYS_INLINE void KIND(prefetch_ahead)(const struct pass *pass, size_t start, size_t column,
                                        size_t got_bytes)
{
    enum { SIZE = CHUNK_SIZE(WIDE), AHEAD = WIDE ? SIZE * 3 / 2 : SIZE, SHARE = SIZE / COLUMNS };
    size_t first = start + AHEAD + column * SHARE;

    prefetch_lines(pass->hi + first, SHARE * sizeof(double));
    if (HAS_LO) prefetch_lines(pass->lo + first, SHARE * sizeof(double));
    if (BOUNDS && pass->error) prefetch_lines(pass->error + first, SHARE * sizeof(double));
    prefetch_lines(pass->got + first * got_bytes, SHARE * got_bytes);
}

ALWAYS_INLINE size_t KIND(fold_chunks)(struct pass *pass, size_t start, size_t count,
                                       size_t got_bytes, V (*load)(const void *),
                                       find_elements *elements)
{
    const struct constants c = make_constants(pass);
    struct tallies tallies;
    alignas(64) double converted[PASS_CHUNK];
    size_t done = 0;

    tallies_clear(&tallies);
    for (size_t size; (size = chunk_size(count - done, CHUNK_SIZE(WIDE))); done += size) {
        size_t first = start + done;
        struct chunk chunk;
        struct chunk_source from = { .got = elements(converted, pass, first, size),
                                     .hi = pass->hi + first,
                                     .lo = HAS_LO ? pass->lo + first : NULL,
                                     .error = pass->error ? pass->error + first : NULL };
        chunk_begin(&chunk, first, size);
        for (size_t column = 0; column < COLUMNS; column++) {
            KIND(prefetch_ahead)(pass, first, column, pass->element_bytes);
            if (!KIND(fold_column)(pass, &chunk, &from, &c, column, got_bytes, load))
                fold_column_carefully(pass, &chunk, column);
        }
        if (chunk.careful == size) continue;
        finish_chunk(pass, &tallies, &chunk, &c);
        if (BOUNDS) raise_bound(pass, v_largest(chunk.bound));
    }
    finish_tallies(pass, &tallies);
    return done;
}

#undef KIND
#undef WIDE
#undef HAS_LO
#undef BOUNDS
