/* All forms are added up in one pass, a block of elements at a time: an element counts as four numbers, and so does a line, so that a
 * line's sum is one of vectors of four. Slabs are sums of rows, longer blocks of shorter ones, lanes of columns where they can be,
 * fewer lanes of more. */
#include "standards/line_sums.h"

#include <string.h>

#include "core/vectorize.h"

enum { PARTS = sizeof(struct line_sum) / sizeof(double) };

static const size_t block_sizes[LINE_BLOCKS] = { 16, 64, 256 },
                    lane_counts[LINE_LANES] = { 8, 16, 32 };

/* ---- elements and runs of them ---------------------------------------------------------------- */

VECTORIZED static void take_elements(struct line_sum *restrict out, const float *restrict z,
                                     const double *restrict want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool has = z[i] == z[i];
        double error = has ? (double)z[i] : 0;
        out[i].count = has ? 1 : 0;
        out[i].squares = error * error;
        out[i].sums[0] = error;
        out[i].sums[1] = want[i] < 0 ? -error : error;
    }
}

/* An element or a line as a vector: sums of a loop over its parts would wait for memory. */
typedef double parts __attribute__((vector_size(sizeof(struct line_sum))));

/* Sums go by pointers: a caller that is compiled for another vector width passes vectors otherwise. */
static inline void add_parts(parts *sum, const struct line_sum *element)
{
    parts x;
    memcpy(&x, element, sizeof x);
    *sum += x;
}

static inline void add_line(struct line_sum *to, const struct line_sum *from)
{
    parts sum;
    memcpy(&sum, to, sizeof sum);
    add_parts(&sum, from);
    memcpy(to, &sum, sizeof sum);
}

/* Line j gets element j. */
VECTORIZED static void add_each(struct line_sum *restrict lines,
                                const struct line_sum *restrict element, size_t n)
{
    double *restrict to = (double *)lines;
    const double *restrict from = (const double *)element;
    for (size_t i = 0; i < n * PARTS; i++) to[i] += from[i];
}

/* Line j gets elements j, j + count, ... */
VECTORIZED static void add_in_turn(struct line_sum *restrict lines, size_t count,
                                   const struct line_sum *restrict element, size_t n)
{
    for (size_t j = 0; j < count && j < n; j++) {
        parts sum;
        memcpy(&sum, &lines[j], sizeof sum);
        for (size_t i = j; i < n; i += count) add_parts(&sum, &element[i]);
        memcpy(&lines[j], &sum, sizeof sum);
    }
}

/* Two elements, or sums of such. */
typedef double pair __attribute__((vector_size(2 * sizeof(struct line_sum))));

static inline void add_pair(pair *sum, const struct line_sum *element)
{
    pair x;
    memcpy(&x, element, sizeof x);
    *sum += x;
}

/* The sum of n elements, of many of them in eight interleaved sums, two in a vector. */
static inline __attribute__((always_inline)) void sum_run(struct line_sum *out,
                                                          const struct line_sum *restrict element,
                                                          size_t n)
{
    enum { AT_A_TIME = 8, LONG = 32 };
    parts sum = { 0 };
    if (n >= LONG) {
        pair a = { 0 }, b = a, c = a, d = a;
        for (; n >= AT_A_TIME; n -= AT_A_TIME, element += AT_A_TIME) {
            add_pair(&a, element);
            add_pair(&b, element + 2);
            add_pair(&c, element + 4);
            add_pair(&d, element + 6);
        }
        struct line_sum both[2];
        a = (a + c) + (b + d);
        memcpy(both, &a, sizeof both);
        add_parts(&sum, &both[0]);
        add_parts(&sum, &both[1]);
    }
    for (; n > 0; n--, element++) add_parts(&sum, element);
    memcpy(out, &sum, sizeof sum);
}

/* The sums of runs of `length` elements, the last of which may be shorter. */
VECTORIZED static void sum_runs(struct line_sum *restrict sums,
                                const struct line_sum *restrict element, size_t length, size_t n)
{
    for (size_t i = 0; i < n; i += length)
        sum_run(sums++, element + i, n - i < length ? n - i : length);
}

/* One line gets n elements. */
static void add_run(struct line_sum *line, const struct line_sum *element, size_t n)
{
    struct line_sum sum;
    sum_runs(&sum, element, n, n);
    add_line(line, &sum);
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* The place of a row; of the next one it is known. */
static void find_row(struct line_sums *lines, size_t row)
{
    if (row == lines->next_row) return;
    lines->next_row = row;
    for (int d = lines->field.rank - 2; d >= 0; d--) {
        lines->index[d] = row % lines->slab[d].count;
        row /= lines->slab[d].count;
    }
}

static void move_by_rows(struct line_sums *lines, size_t rows)
{
    lines->next_row += rows;
    for (int d = lines->field.rank - 2; d >= 0; d--) {
        lines->index[d] += rows;
        if (lines->index[d] < lines->slab[d].count) return;
        lines->index[d] = 0;
        rows = 1;
    }
}

/* Rows that are complete belong to a slab of every dimension but the last; those that lie along the one before it are one sum for
 * the others. */
VECTORIZED static void add_rows(struct line_sums *lines, const struct line_sum *restrict sums,
                                size_t row, size_t rows)
{
    const int along = lines->field.rank - 2;
    find_row(lines, row);
    if (lines->row.line) memcpy(&lines->row.line[row], sums, rows * sizeof *sums);
    for (size_t n; along >= 0 && rows > 0; rows -= n, sums += n) {
        const struct line_form *slab = lines->slab;
        size_t left = slab[along].count - lines->index[along];
        struct line_sum *line = slab[along].line ? slab[along].line + lines->index[along] : NULL;
        struct line_sum total = { 0 };
        n = rows < left ? rows : left;
        for (size_t i = 0; i < n; i++) add_line(&total, &sums[i]);
        for (size_t i = 0; line && i < n; i++) add_line(&line[i], &sums[i]);
        for (int d = 0; d < along; d++)
            if (slab[d].line) add_line(&slab[d].line[lines->index[d]], &total);
        move_by_rows(lines, n);
    }
}

/* `rows` whole rows from number `row` on. */
static void add_whole_rows(struct line_sums *lines, const struct line_sum *element, size_t row,
                           size_t rows)
{
    const size_t length = lines->row_length, n = rows * length;
    const struct line_form *columns = &lines->slab[lines->field.rank - 1];
    struct line_sum sums[LINE_SUMS_BLOCK];
    sum_runs(sums, element, length, n);
    add_rows(lines, sums, row, rows);
    if (columns->line) add_in_turn(columns->line, length, element, n);
}

/* Elements of one row, whose sum so far is `begun`. */
static void add_to_row(struct line_sums *lines, const struct line_sum *element, size_t first,
                       size_t n)
{
    const struct line_form *columns = &lines->slab[lines->field.rank - 1];
    size_t length = lines->row_length, column = first % length;
    if (columns->line) add_each(columns->line + column, element, n);
    add_run(&lines->begun, element, n);
    if (column + n < length) return;
    add_rows(lines, &lines->begun, first / length, 1);
    lines->begun = (struct line_sum){ 0 };
}

/* Elements of rows. */
static void add_to_rows(struct line_sums *lines, const struct line_sum *element, size_t first,
                        size_t count)
{
    size_t length = lines->row_length, begun = (length - first % length) % length, done;
    done = begun < count ? begun : count;
    if (done) add_to_row(lines, element, first, done);
    size_t rows = (count - done) / length;
    if (rows) add_whole_rows(lines, element + done, (first + done) / length, rows);
    done += rows * length;
    if (done < count) add_to_row(lines, element + done, first + done, count - done);
}

/* Elements of at most one block of the longest size, which no others belong to. */
static void add_to_blocks(struct line_sums *lines, const struct line_sum *element, size_t first,
                          size_t count)
{
    size_t shorter = 1;
    for (size_t k = 0; k < LINE_BLOCKS && lines->block[k].line; k++) {
        struct line_sum *line = lines->block[k].line + first / block_sizes[k];
        sum_runs(line, element, block_sizes[k] / shorter, count);
        count = (count - 1) / (block_sizes[k] / shorter) + 1;
        shorter = block_sizes[k];
        element = line;
    }
}

/* The columns of a tensor, where every one is part of one lane: lanes are then sums of columns, which at least two rows have
 * shortened. */
static const struct line_form *columns_of_lanes(const struct line_sums *lines)
{
    int rank = lines->field.rank;
    const struct line_form *columns = rank ? &lines->slab[rank - 1] : NULL;
    bool part = columns && columns->line && columns->count % lane_counts[LINE_LANES - 1] == 0;
    return part && lines->field.n >= 2 * columns->count ? columns : NULL;
}

static void add_to_lanes(struct line_sums *lines, const struct line_sum *element, size_t count)
{
    const struct line_form *widest = &lines->lane[LINE_LANES - 1];
    if (columns_of_lanes(lines)) return;
    if (widest->line) add_in_turn(widest->line, widest->count, element, count);
}

void line_sums_add(struct line_sums *lines, size_t first, size_t count)
{
    const struct error_field *field = &lines->field;
    struct line_sum element[LINE_SUMS_BLOCK];
    take_elements(element, field->z + first, field->want + first, count);
    if (field->rank) add_to_rows(lines, element, first, count);
    add_to_blocks(lines, element, first, count);
    add_to_lanes(lines, element, count);
}

static void clear_lines(const struct line_form *form, size_t first, size_t count)
{
    if (form->line) memset(form->line + first, 0, count * sizeof *form->line);
}

void line_sums_pass_over(struct line_sums *lines, size_t first, size_t count)
{
    const size_t length = lines->row_length;
    for (size_t k = 0; k < LINE_BLOCKS; k++)
        clear_lines(&lines->block[k], first / block_sizes[k], (count - 1) / block_sizes[k] + 1);
    if (!lines->field.rank || count < length - first % length) return;
    size_t row = first / length, end = (first + count) / length;
    add_rows(lines, &lines->begun, row, 1);
    clear_lines(&lines->row, row + 1, end - row - 1);
    lines->begun = (struct line_sum){ 0 };
}

/* ---- beginning and end ------------------------------------------------------------------------ */

void line_sums_close(struct line_sums *lines)
{
    const struct line_form *columns = columns_of_lanes(lines),
                           *widest = &lines->lane[LINE_LANES - 1];
    for (size_t j = 0; columns && widest->line && j < columns->count; j += widest->count)
        add_each(widest->line, columns->line + j, widest->count);
    for (size_t k = LINE_LANES - 1; k-- > 0;) {
        const struct line_form *more = &lines->lane[k + 1], *fewer = &lines->lane[k];
        for (size_t j = 0; fewer->line && j < more->count; j += fewer->count)
            add_each(fewer->line, more->line + j, fewer->count);
    }
}

/* A form that is looked at: `added`, its lines are added to, and begin empty; else each is written once. */
static struct status open_form(struct line_form *form, struct arena *arena, bool added)
{
    form->line = arena_allocate_array(arena, form->count, sizeof *form->line);
    if (!form->line) return status_no_memory(form->count * sizeof *form->line);
    if (added) memset(form->line, 0, form->count * sizeof *form->line);
    return status_ok();
}

static struct status open_forms(struct line_sums *lines, struct arena *arena)
{
    const struct error_field *field = &lines->field;
    size_t n = field->n, stride = n, row = field->rank ? (size_t)field->shape[field->rank - 1] : 1;
    lines->row_length = row;
    for (int d = 0; d < field->rank; d++) {
        size_t extent = (size_t)field->shape[d];
        stride /= extent;
        lines->slab[d] = (struct line_form){ "index", d, stride, extent, NULL };
        if (extent >= FEWEST_LINES) TRY(open_form(&lines->slab[d], arena, true));
    }
    lines->row = (struct line_form){ "row", -1, row, n / row, NULL };
    if (field->rank > 2 && row > 1 && n / row >= FEWEST_LINES)
        TRY(open_form(&lines->row, arena, false));
    for (size_t k = 0; k < LINE_BLOCKS; k++) {
        size_t size = block_sizes[k];
        lines->block[k] = (struct line_form){ "block", -1, size, n / size + (n % size > 0), NULL };
        if (lines->block[k].count >= FEWEST_LINES) TRY(open_form(&lines->block[k], arena, false));
    }
    for (size_t k = 0; k < LINE_LANES; k++) {
        lines->lane[k] = (struct line_form){ "lane", -1, 1, lane_counts[k], NULL };
        if (n >= FEWEST_OTHERS * 2) TRY(open_form(&lines->lane[k], arena, true));
    }
    return status_ok();
}

struct status line_sums_open(struct line_sums **out, struct arena *arena,
                             const struct error_field *field)
{
    struct line_sums *lines = *out = arena_allocate_zeroed(arena, 1, sizeof *lines);
    if (!lines) return status_no_memory(sizeof *lines);
    lines->field = *field;
    if (field->n) TRY(open_forms(lines, arena));
    lines->field.shape = NULL; /* the forms have it */
    return status_ok();
}
