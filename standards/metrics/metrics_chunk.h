/* The first loop of the vector metrics pass, for one kind of pass. metrics_kernel.h includes this
 * file once for each kind, after defining
 *
 *   KIND(NAME)  the name of a function of this kind
 *   WIDE        1 for float64, of which twice as much is read, else 0
 *   HAS_LO      1 when the reference has a second double to each element, else 0
 *   BOUNDS      1 when the bound is followed from element to element, else 0
 *
 * What a kind does not need is not in its code: the loop is the hottest of the program. */

/* Where the vectors of a column are. */
ALWAYS_INLINE size_t KIND(place_of)(size_t row, size_t number)
{
    return row * PASS_LANES + number * LANES_PER_VECTOR;
}

/* What small values, subnormals and zeros among the elements of a vector change; false when
 * pass_fold_elements must fold them. */
ALWAYS_INLINE bool KIND(look)(struct column *column, const struct constants *c, V want, V abs_error,
                              V relative, V *normal_error, V *normal_relative, V *scale)
{
    V magnitude = v_abs(want);
    if (usual(c, i_from_bits(magnitude))) return true;
    column->unusual = true;
    if (m_any(m_and(m_gt(abs_error, v_set(0)), m_eq(want, v_set(0))))) return false;
    M small = m_le(magnitude, c->small_value);
    column->small += m_count(small);
    column->small_failed += m_count(m_and(small, m_gt(abs_error, c->atol)));
    column->small_relative_over += m_count(m_and(small, m_gt(relative, c->rtol)));
    V small_error = v_only_where(small, abs_error);
    column->small_squared = v_fma(small_error, small_error, column->small_squared);
    *normal_relative = v_zero_where(small, relative);
    *normal_error = v_zero_where(small, abs_error);
    *scale = v_min(*scale, c->largest_scale);
    return true;
}

/* Fold the vector at `place` of the chunk, its elements `x`, into a column. `looking`: with a look at what is unusual;
 * false when it is not for the vector form. */
ALWAYS_INLINE bool KIND(fold_vector)(V *ulp, V *relative, struct column *column,
                                     const struct chunk_source *from, const struct constants *c,
                                     size_t place, V x, bool looking)
{
    V *sum = column->sum;
    V want = v_load(from->hi + place);
    sum[SUM_WANT_SQUARED] = v_fma(want, want, sum[SUM_WANT_SQUARED]);
    sum[SUM_GOT_SQUARED] = v_fma(x, x, sum[SUM_GOT_SQUARED]);
    V error = v_sub(x, want), scale = v_reciprocal_power(want), magnitude = v_abs(want);
    if (HAS_LO) error = v_sub(error, v_load(from->lo + place));
    V abs_error = v_abs(error);
    column->max_abs = v_max(column->max_abs, abs_error);

    *relative = v_div(abs_error, v_add(magnitude, c->epsilon));
    V normal_relative = *relative, normal_error = abs_error;
    if (!looking) column->least = w_min(column->least, i_from_bits(magnitude));
    else if (!KIND(look)(column, c, want, abs_error, *relative, &normal_error, &normal_relative,
                         &scale))
        return false;
    sum[SUM_ERROR_SQUARED] = v_fma(normal_error, normal_error, sum[SUM_ERROR_SQUARED]);
    sum[SUM_ULP] = v_fma(abs_error, scale, sum[SUM_ULP]);
    *ulp = v_mul(error, scale);
    sum[SUM_SIGNED_ULP] = v_add(sum[SUM_SIGNED_ULP], *ulp);
    sum[SUM_ULP_SQUARED] = v_fma(*ulp, *ulp, sum[SUM_ULP_SQUARED]);
    sum[SUM_RELATIVE] = v_add(sum[SUM_RELATIVE], normal_relative);
    if (BOUNDS) {
        V bound = from->error ? v_load(from->error + place)
                              : v_add(v_mul(c->relative, magnitude), c->absolute);
        column->bound = v_max(column->bound, v_mul(bound, scale));
    }
    return true;
}

/* The same for two rows from `row` on of column `number`, with the keys of their errors. */
ALWAYS_INLINE bool KIND(fold_two)(struct column *column, struct pass *pass,
                                  const struct chunk_source *from, const struct constants *c,
                                  size_t number, size_t row, V (*load)(const void *), bool looking)
{
    V ulp[2], relative[2];
    for (size_t r = 0; r < 2; r++) {
        V x = load(from->got + (row + r) * from->row_bytes);
        size_t place = KIND(place_of)(row + r, number);
        if (!KIND(fold_vector)(&ulp[r], &relative[r], column, from, c, place, x, looking))
            return false;
    }
    I keys = HAS_LO ? keys_away_from_zero(relative[0], relative[1])
                    : keys_to_zero(relative[0], relative[1]);
    i_store(pass->chunk_relative + keys_at(row, number), keys);
    i_store(pass->chunk_ulp + keys_at(row, number), keys_away_from_zero(ulp[0], ulp[1]));
    return true;
}

/* Are all elements of a column finite, those of the reference in the dtype? Sums of squares tell, unless they are large. */
ALWAYS_INLINE bool KIND(all_finite)(const struct column *column, const struct chunk_source *from,
                                    const struct constants *c, size_t number, size_t rows,
                                    V (*load)(const void *))
{
    if (m_all(m_gt(c->squares_below, column->sum[SUM_WANT_SQUARED])) &&
        m_all(m_gt(v_set(INFINITY), column->sum[SUM_GOT_SQUARED])))
        return true;
    V want = v_set(0), got = v_set(0);
    for (size_t row = 0; row < rows; row++) {
        want = v_max_bits(want, v_abs(v_load(from->hi + KIND(place_of)(row, number))));
        got = v_max_bits(got, v_abs(load(from->got + row * from->row_bytes)));
    }
    return m_all(m_gt(c->finite_below, want)) && m_all(m_gt(v_set(0x1p1023), got));
}

/* Fold one column of a chunk; false when it must be folded in another way. */
ALWAYS_INLINE bool KIND(try_column)(struct column *column, struct pass *pass,
                                    const struct chunk_source *from, const struct constants *c,
                                    size_t number, size_t rows, V (*load)(const void *),
                                    bool looking)
{
    column_begin(column, pass, number);
    for (size_t row = 0; row < rows; row += 2)
        if (!KIND(fold_two)(column, pass, from, c, number, row, load, looking)) return false;
    return (looking || usual(c, column->least)) &&
           KIND(all_finite)(column, from, c, number, rows, load);
}

ALWAYS_INLINE void KIND(fold_column)(struct pass *pass, struct chunk *chunk,
                                     const struct chunk_source *from, const struct constants *c,
                                     size_t number, V (*load)(const void *))
{
    size_t rows = chunk->count / PASS_LANES;
    struct column column;
    bool done = !chunk->unusual &&
                KIND(try_column)(&column, pass, from, c, number, rows, load, false);
    if (!done) {
        done = KIND(try_column)(&column, pass, from, c, number, rows, load, true);
        chunk->unusual = column.unusual;
    }
    if (done) column_end(&column, pass, chunk, number);
    else fold_column_carefully(pass, chunk, number);
}

/* Ask for the part of a later chunk that corresponds to one column. The columns of a chunk jump
 * through memory, which the processor does not foresee by itself. Addresses beyond the arrays
 * are harmless: a prefetch never faults. */
ALWAYS_INLINE void KIND(prefetch_ahead)(const struct pass *pass, size_t start, size_t column,
                                        size_t got_bytes)
{
    enum {
        SIZE = CHUNK_SIZE(WIDE),
        AHEAD = WIDE ? SIZE * 2 : SIZE * 3 / 2,
        SHARE = SIZE / COLUMNS
    };
    size_t first = start + AHEAD + column * SHARE;

    prefetch_lines(pass->hi + first, SHARE * sizeof(double));
    if (HAS_LO) prefetch_lines(pass->lo + first, SHARE * sizeof(double));
    if (BOUNDS && pass->error) prefetch_lines(pass->error + first, SHARE * sizeof(double));
    prefetch_lines(pass->got + first * got_bytes, SHARE * got_bytes);
}

ALWAYS_INLINE size_t KIND(fold_chunks)(struct pass *pass, size_t start, size_t count,
                                       const struct reading reading)
{
    const struct constants c = make_constants(pass);
    struct tallies tallies;
    alignas(64) double converted[PASS_CHUNK];
    alignas(64) float floats[ROWS * WIDENED];
    size_t done = 0;
    bool unusual = false;

    tallies_clear(&tallies);
    for (size_t size; (size = chunk_size(count - done, CHUNK_SIZE(WIDE))); done += size) {
        size_t first = start + done;
        const unsigned char *got = pass->got + first * pass->element_bytes;
        struct chunk chunk;
        struct chunk_source from = { .row_bytes = (reading.widen ? WIDENED : PASS_LANES) *
                                                  reading.bytes,
                                     .hi = pass->hi + first,
                                     .lo = HAS_LO ? pass->lo + first : NULL,
                                     .error = pass->error ? pass->error + first : NULL };
        if (reading.convert) {
            dtype_to_double(converted, got, pass->dtype, size);
            got = (const unsigned char *)converted;
        }
        chunk_begin(&chunk, first, size, unusual);
        for (size_t column = 0; column < COLUMNS; column++) {
            size_t lane = column * LANES_PER_VECTOR;
            KIND(prefetch_ahead)(pass, first, column, pass->element_bytes);
            if (!reading.widen) {
                from.got = got + lane * reading.bytes;
            } else {
                if (column % WIDENED_COLUMNS == 0)
                    widen_columns(floats, got + lane * 2, size / PASS_LANES, reading.widen);
                from.got = (const unsigned char *)(floats + lane % WIDENED);
            }
            KIND(fold_column)(pass, &chunk, &from, &c, column, reading.load);
        }
        unusual = chunk.unusual;
        if (chunk.careful == size) continue;
        finish_chunk(pass, &tallies, &chunk, &c);
        if (BOUNDS) raise_bound(pass, v_largest(chunk.bound) * pass->unit.ulps_folded);
    }
    finish_tallies(pass, &tallies);
    return done;
}

#undef KIND
#undef WIDE
#undef HAS_LO
#undef BOUNDS
