/* Every form of lines is a pair (stride, count): element i is in line i / stride % count. All forms are added up in
 * one pass, a block of elements at a time: an element counts as four numbers, and so does a line, so that a line's sum is
 * one of vectors of four. Slabs are sums of rows, longer blocks of shorter ones, lanes of columns where they can be, fewer lanes of
 * more. */
#include "standards/error_lines.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor.h"
#include "core/vectorize.h"

enum { FEWEST_LINES = 8, FEWEST_OTHERS = 64 };

/* Errors of a line that count at most: where lines are alike, and where one may share more than others do. */
enum { MOST_INDEPENDENT = 64, MOST_SHARED = 8 };

/* Lines may be off by twice what the others are, and by 0.7 of what is expected where the others are less. */
static const double SPREAD = 2, LEAST_SCALE = 0.7;

/* What an element adds to its line: 1, z^2, z and z signed by the direction away from 0; nothing where z is NaN. */
struct line {
    double count, squares, sums[2];
};

enum { PARTS = sizeof(struct line) / sizeof(double) };

struct form {
    const char *name;
    int dimension;
    size_t stride, count;
    struct line *line;
};

/* The forms of a tensor: slabs along every dimension, of which the last consists of single elements; rows where they are
 * no slabs; and blocks and lanes. */
enum { BLOCKS = 3, LANES = 3 };
static const size_t block_sizes[BLOCKS] = { 16, 64, 256 }, lane_counts[LANES] = { 8, 16, 32 };

struct forms {
    const struct error_field *field;
    struct form slab[TENSOR_MAX_RANK + 1], row, block[BLOCKS], lane[LANES];
    size_t row_length;
    size_t next_row, index[TENSOR_MAX_RANK + 1]; /* and its place, but for the last dimension */
};

struct error_lines {
    struct error_field field;
    struct forms forms;
    struct line row; /* what has been added of the present one */
};

static size_t most_independent(const struct error_field *field)
{
    return field->alike ? MOST_INDEPENDENT : MOST_SHARED;
}

/* All lines of a form. */
struct lines {
    const struct form *form;
    const struct error_field *field;
    double count, squares;           /* of all, */
    double longest;                  /* and the most errors that one of them has */
    double x, least_g, least_h;      /* of the most independent errors */
    bool compared;                   /* with each other, which few forms need: */
    double met;                      /* lines that have errors; sums over them of: */
    double means[2];                 /* the squares of the means, */
    double mean_squares, of_squares; /* the mean squares and their squares */
};

/* ---- adding up ------------------------------------------------------------------------------ */

/* Blocks of all sizes and lanes begin anew with each block of elements. */
enum { AT_ONCE = ERROR_LINES_BLOCK };

VECTORIZED static void take_elements(struct line *restrict out, const float *restrict z,
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
typedef double parts __attribute__((vector_size(sizeof(struct line))));

/* Sums go by pointers: a caller that is compiled for another vector width passes vectors otherwise. */
static inline void add_parts(parts *sum, const struct line *element)
{
    parts x;
    memcpy(&x, element, sizeof x);
    *sum += x;
}

static inline void add_line(struct line *to, const struct line *from)
{
    parts sum;
    memcpy(&sum, to, sizeof sum);
    add_parts(&sum, from);
    memcpy(to, &sum, sizeof sum);
}

/* Line j gets element j. */
VECTORIZED static void add_each(struct line *restrict lines, const struct line *restrict element,
                                size_t n)
{
    double *restrict to = (double *)lines;
    const double *restrict from = (const double *)element;
    for (size_t i = 0; i < n * PARTS; i++) to[i] += from[i];
}

/* Line j gets elements j, j + count, ... */
VECTORIZED static void add_in_turn(struct line *restrict lines, size_t count,
                                   const struct line *restrict element, size_t n)
{
    for (size_t j = 0; j < count && j < n; j++) {
        parts sum;
        memcpy(&sum, &lines[j], sizeof sum);
        for (size_t i = j; i < n; i += count) add_parts(&sum, &element[i]);
        memcpy(&lines[j], &sum, sizeof sum);
    }
}

/* Two elements, or sums of such. */
typedef double pair __attribute__((vector_size(2 * sizeof(struct line))));

static inline void add_pair(pair *sum, const struct line *element)
{
    pair x;
    memcpy(&x, element, sizeof x);
    *sum += x;
}

/* The sum of n elements, of many of them in eight interleaved sums, two in a vector. */
static inline __attribute__((always_inline)) void sum_run(struct line *out,
                                                          const struct line *restrict element,
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
        struct line both[2];
        a = (a + c) + (b + d);
        memcpy(both, &a, sizeof both);
        add_parts(&sum, &both[0]);
        add_parts(&sum, &both[1]);
    }
    for (; n > 0; n--, element++) add_parts(&sum, element);
    memcpy(out, &sum, sizeof sum);
}

/* The sums of runs of `length` elements, the last of which may be shorter. */
VECTORIZED static void sum_runs(struct line *restrict sums, const struct line *restrict element,
                                size_t length, size_t n)
{
    for (size_t i = 0; i < n; i += length)
        sum_run(sums++, element + i, n - i < length ? n - i : length);
}

/* One line gets n elements. */
static void add_run(struct line *line, const struct line *element, size_t n)
{
    struct line sum;
    sum_runs(&sum, element, n, n);
    add_line(line, &sum);
}

/* The place of a row; of the next one it is known. */
static void find_row(struct forms *forms, size_t row)
{
    if (row == forms->next_row) return;
    forms->next_row = row;
    for (int d = forms->field->rank - 2; d >= 0; d--) {
        forms->index[d] = row % forms->slab[d].count;
        row /= forms->slab[d].count;
    }
}

static void move_by_rows(struct forms *forms, size_t rows)
{
    forms->next_row += rows;
    for (int d = forms->field->rank - 2; d >= 0; d--) {
        forms->index[d] += rows;
        if (forms->index[d] < forms->slab[d].count) return;
        forms->index[d] = 0;
        rows = 1;
    }
}

/* Rows that are complete belong to a slab of every dimension but the last; those that lie along the one before it are one sum for
 * the others. */
VECTORIZED static void add_rows(struct forms *forms, const struct line *restrict sums, size_t row,
                                size_t rows)
{
    const int along = forms->field->rank - 2;
    find_row(forms, row);
    if (forms->row.line) memcpy(&forms->row.line[row], sums, rows * sizeof *sums);
    for (size_t n; along >= 0 && rows > 0; rows -= n, sums += n) {
        const struct form *slab = forms->slab;
        size_t left = slab[along].count - forms->index[along];
        struct line *line = slab[along].line ? slab[along].line + forms->index[along] : NULL;
        struct line total = { 0 };
        n = rows < left ? rows : left;
        for (size_t i = 0; i < n; i++) add_line(&total, &sums[i]);
        for (size_t i = 0; line && i < n; i++) add_line(&line[i], &sums[i]);
        for (int d = 0; d < along; d++)
            if (slab[d].line) add_line(&slab[d].line[forms->index[d]], &total);
        move_by_rows(forms, n);
    }
}

/* `rows` whole rows from number `row` on. */
static void add_whole_rows(struct forms *forms, const struct line *element, size_t row, size_t rows)
{
    const size_t length = forms->row_length, n = rows * length;
    const struct form *columns = &forms->slab[forms->field->rank - 1];
    struct line sums[AT_ONCE];
    sum_runs(sums, element, length, n);
    add_rows(forms, sums, row, rows);
    if (columns->line) add_in_turn(columns->line, length, element, n);
}

/* Elements of one row, whose sum so far is `row`. */
static void add_to_row(struct forms *forms, struct line *row, const struct line *element,
                       size_t first, size_t n)
{
    const struct form *columns = &forms->slab[forms->field->rank - 1];
    size_t length = forms->row_length, column = first % length;
    if (columns->line) add_each(columns->line + column, element, n);
    add_run(row, element, n);
    if (column + n < length) return;
    add_rows(forms, row, first / length, 1);
    *row = (struct line){ 0 };
}

/* Elements of rows; `row` is the sum of those of the present one. */
static void add_to_rows(struct forms *forms, struct line *row, const struct line *element,
                        size_t first, size_t count)
{
    size_t length = forms->row_length, begun = (length - first % length) % length, done;
    done = begun < count ? begun : count;
    if (done) add_to_row(forms, row, element, first, done);
    size_t rows = (count - done) / length;
    if (rows) add_whole_rows(forms, element + done, (first + done) / length, rows);
    done += rows * length;
    if (done < count) add_to_row(forms, row, element + done, first + done, count - done);
}

/* Elements of at most one block of the longest size, which no others belong to. */
static void add_to_blocks(struct forms *forms, const struct line *element, size_t first,
                          size_t count)
{
    size_t shorter = 1;
    for (size_t k = 0; k < BLOCKS && forms->block[k].line; k++) {
        struct line *line = forms->block[k].line + first / block_sizes[k];
        sum_runs(line, element, block_sizes[k] / shorter, count);
        count = (count - 1) / (block_sizes[k] / shorter) + 1;
        shorter = block_sizes[k];
        element = line;
    }
}

/* The columns of a tensor, where every one is part of one lane: lanes are then sums of columns, which at least two rows have
 * shortened. */
static const struct form *columns_of_lanes(const struct forms *forms)
{
    int rank = forms->field->rank;
    const struct form *columns = rank ? &forms->slab[rank - 1] : NULL;
    bool part = columns && columns->line && columns->count % lane_counts[LANES - 1] == 0;
    return part && forms->field->n >= 2 * columns->count ? columns : NULL;
}

static void add_to_lanes(struct forms *forms, const struct line *element, size_t count)
{
    const struct form *widest = &forms->lane[LANES - 1];
    if (columns_of_lanes(forms)) return;
    if (widest->line) add_in_turn(widest->line, widest->count, element, count);
}

static void fold_lanes(struct forms *forms)
{
    const struct form *columns = columns_of_lanes(forms), *widest = &forms->lane[LANES - 1];
    for (size_t j = 0; columns && widest->line && j < columns->count; j += widest->count)
        add_each(widest->line, columns->line + j, widest->count);
    for (size_t k = LANES - 1; k-- > 0;) {
        const struct form *more = &forms->lane[k + 1], *fewer = &forms->lane[k];
        for (size_t j = 0; fewer->line && j < more->count; j += fewer->count)
            add_each(fewer->line, more->line + j, fewer->count);
    }
}

void error_lines_add(struct error_lines *lines, size_t first, size_t count)
{
    const struct error_field *field = &lines->field;
    struct line element[AT_ONCE];
    take_elements(element, field->z + first, field->want + first, count);
    if (field->rank) add_to_rows(&lines->forms, &lines->row, element, first, count);
    add_to_blocks(&lines->forms, element, first, count);
    add_to_lanes(&lines->forms, element, count);
}

static void clear_lines(const struct form *form, size_t first, size_t count)
{
    if (form->line) memset(form->line + first, 0, count * sizeof *form->line);
}

void error_lines_pass_over(struct error_lines *lines, size_t first, size_t count)
{
    struct forms *forms = &lines->forms;
    const size_t length = forms->row_length;
    for (size_t k = 0; k < BLOCKS; k++)
        clear_lines(&forms->block[k], first / block_sizes[k], (count - 1) / block_sizes[k] + 1);
    if (!lines->field.rank || count < length - first % length) return;
    size_t row = first / length, end = (first + count) / length;
    add_rows(forms, &lines->row, row, 1);
    clear_lines(&forms->row, row + 1, end - row - 1);
    lines->row = (struct line){ 0 };
}

/* ---- one form ------------------------------------------------------------------------------- */

enum { SIDE_BY_SIDE = 8 }; /* sums of lines */

/* Errors and squares of all lines, in interleaved sums, and the most errors of one. */
VECTORIZED static void sum_lines(struct lines *restrict lines, const struct line *restrict line,
                                 size_t n)
{
    double count[SIDE_BY_SIDE] = { 0 }, squares[SIDE_BY_SIDE] = { 0 },
           longest[SIDE_BY_SIDE] = { 0 };
    for (size_t j = 0; j < n; j += SIDE_BY_SIDE) {
        size_t rest = n - j < SIDE_BY_SIDE ? n - j : SIDE_BY_SIDE;
        for (size_t k = 0; k < rest; k++) {
            count[k] += line[j + k].count;
            squares[k] += line[j + k].squares;
            longest[k] = line[j + k].count > longest[k] ? line[j + k].count : longest[k];
        }
    }
    for (size_t k = 0; k < SIDE_BY_SIDE; k++) {
        lines->count += count[k];
        lines->squares += squares[k];
        lines->longest = longest[k] > lines->longest ? longest[k] : lines->longest;
    }
}

/* What the lines tell of each other, in interleaved sums. */
VECTORIZED static void compare(struct lines *restrict lines, const struct line *restrict line,
                               size_t n)
{
    double met[SIDE_BY_SIDE] = { 0 }, mean_squares[SIDE_BY_SIDE] = { 0 },
           of_squares[SIDE_BY_SIDE] = { 0 }, means[2][SIDE_BY_SIDE] = { { 0 } };
    for (size_t j = 0; j < n; j += SIDE_BY_SIDE) {
        size_t rest = n - j < SIDE_BY_SIDE ? n - j : SIDE_BY_SIDE;
        for (size_t k = 0; k < rest; k++) {
            double count = line[j + k].count, share = count > 0 ? 1 / count : 0;
            double square = line[j + k].squares * share, mean = line[j + k].sums[0] * share,
                   other = line[j + k].sums[1] * share;
            met[k] += count > 0 ? 1 : 0;
            mean_squares[k] += square;
            of_squares[k] += square * square;
            means[0][k] += mean * mean;
            means[1][k] += other * other;
        }
    }
    for (size_t k = 0; k < SIDE_BY_SIDE; k++) {
        lines->met += met[k];
        lines->mean_squares += mean_squares[k];
        lines->of_squares += of_squares[k];
        lines->means[0] += means[0][k];
        lines->means[1] += means[1][k];
    }
}

static void compare_lines(struct lines *lines)
{
    lines->compared = true;
    compare(lines, lines->form->line, lines->form->count);
}

/* Different references among the elements of line j that have an error, as far as they count. */
static size_t distinct_references(const struct lines *lines, size_t j)
{
    const struct form *form = lines->form;
    const struct error_field *field = lines->field;
    double met[MOST_INDEPENDENT];
    size_t count = 0, stride = form->stride, most = most_independent(field);
    for (size_t start = j * stride; start < field->n; start += stride * form->count)
        for (size_t i = start; i < start + stride && i < field->n; i++) {
            size_t k = 0;
            if (isnan(field->z[i])) continue;
            while (k < count && met[k] != field->want[i]) k++;
            if (k == count) met[count++] = field->want[i];
            if (count == most) return count;
        }
    return count;
}

/* The rms or the mean of a line over what `independent` errors and the others explain; which is larger. */
static double quotient_of(const struct line *line, double independent, double others, double x,
                          double *value)
{
    double rms = sqrt(line->squares / line->count);
    double mean = fmax(fabs(line->sums[0]), fabs(line->sums[1])) / line->count;
    double g = sqrt(1 + 2 * sqrt(x / independent) + 2 * x / independent),
           h = sqrt(2 * x / independent), scale = fmax(LEAST_SCALE, SPREAD * others);
    bool by_rms = rms / g >= mean / h;
    *value = by_rms ? rms : mean;
    return (by_rms ? rms / g : mean / h) / scale;
}

/* How many independent errors a line has, to judge by all but line j. */
static double independent_errors(const struct lines *lines, size_t j)
{
    const struct line *line = &lines->form->line[j];
    double others = lines->met - 1, own = line->squares / line->count, independent = line->count;
    double square = fmax(lines->mean_squares - own, 0) / others;
    double variance = fmax(lines->of_squares - own * own, 0) / others - square * square;
    double shared = 0;
    for (int k = 0; k < 2; k++) {
        double mean = line->sums[k] / line->count;
        shared = fmax(shared, fmax(lines->means[k] - mean * mean, 0) / others);
    }
    if (shared > 0) independent = fmin(independent, square / shared);
    if (variance > 0) independent = fmin(independent, 2 * square * square / variance);
    return fmax(fmin(independent, (double)most_independent(lines->field)), 1);
}

/* A line can be beyond a quotient only where
 *
 *     squares / count > g^2 scale    or    (sum / count)^2 > h^2 scale,    scale = max(1, SPREAD^2 of others) quotient^2,
 *
 * with the g and h of the most independent errors, as both grow with fewer; no root or quotient is taken of most lines. */
struct reach {
    double count, squares; /* of all lines */
    double least, of_rms, of_mean;
};

static struct reach reach_of(const struct lines *lines, double quotient)
{
    double scale = quotient * quotient * (1 - 0x1p-40);
    return (struct reach){ .count = lines->count,
                           .squares = lines->squares,
                           .least = LEAST_SCALE * LEAST_SCALE / (SPREAD * SPREAD),
                           .of_rms = SPREAD * SPREAD * scale * lines->least_g * lines->least_g,
                           .of_mean = SPREAD * SPREAD * scale * lines->least_h * lines->least_h };
}

static inline bool is_beyond(const struct line *line, const struct reach *r)
{
    double count = line->count, others = r->count - count, left = r->squares - line->squares;
    double least = r->least * others, scale = left > least ? left : least;
    double a = fabs(line->sums[0]), b = fabs(line->sums[1]), sum = a > b ? a : b;
    return (count > 0) & ((line->squares * others > count * r->of_rms * scale) |
                          (sum * sum * others > count * count * r->of_mean * scale));
}

VECTORIZED static size_t count_beyond(const struct line *restrict line, const struct reach *reach,
                                      size_t n)
{
    const struct reach r = *reach;
    size_t count = 0;
    for (size_t j = 0; j < n; j++) count += is_beyond(&line[j], &r);
    return count;
}

static void try_line(struct line_findings *out, struct lines *lines, size_t j)
{
    const struct line *line = &lines->form->line[j];
    double others = lines->count - line->count, value;
    if (others < FEWEST_OTHERS) return;
    if (!lines->compared) compare_lines(lines);
    if (lines->met < FEWEST_LINES) return;
    double rms = sqrt(fmax(lines->squares - line->squares, 0) / others);
    double independent = independent_errors(lines, j);
    double quotient = quotient_of(line, independent, rms, lines->x, &value);
    if (!(quotient > out->quotient)) return;
    if (quotient > 1) {
        independent = fmin(independent, (double)distinct_references(lines, j));
        quotient = quotient_of(line, independent, rms, lines->x, &value);
        if (!(quotient > out->quotient)) return;
    }
    *out = (struct line_findings){ .quotient = quotient,
                                   .value = value,
                                   .others = rms,
                                   .line = j,
                                   .elements = (size_t)line->count,
                                   .form = lines->form->name,
                                   .dimension = lines->form->dimension };
}

/* Lines are tried a stretch at a time, where one of it can be beyond the worst that has been found. */
static void try_form(struct line_findings *out, const struct error_field *field,
                     const struct form *form)
{
    enum { STRETCH = 64 };
    static const double alarms = 1e-10;
    struct lines lines = { .form = form, .field = field, .x = log((double)field->n / alarms) };
    if (!form->line) return;
    sum_lines(&lines, form->line, form->count);
    double most = fmin((double)most_independent(field), fmax(lines.longest, 1));
    lines.least_g = sqrt(1 + 2 * sqrt(lines.x / most) + 2 * lines.x / most);
    lines.least_h = sqrt(2 * lines.x / most);
    for (size_t first = 0; first < form->count; first += STRETCH) {
        size_t end = form->count - first < STRETCH ? form->count : first + STRETCH;
        struct reach reach = reach_of(&lines, out->quotient);
        if (!count_beyond(form->line + first, &reach, end - first)) continue;
        for (size_t j = first; j < end; j++) {
            if (!is_beyond(&form->line[j], &reach)) continue;
            try_line(out, &lines, j);
            reach = reach_of(&lines, out->quotient);
        }
    }
}

/* ---- all forms ------------------------------------------------------------------------------ */

/* A form that is looked at: `added`, its lines are added to, and begin empty; else each is written once. */
static struct status open_form(struct form *form, struct arena *arena, bool added)
{
    form->line = arena_allocate_array(arena, form->count, sizeof *form->line);
    if (!form->line) return status_no_memory(form->count * sizeof *form->line);
    if (added) memset(form->line, 0, form->count * sizeof *form->line);
    return status_ok();
}

static struct status open_forms(struct forms *forms, struct arena *arena)
{
    const struct error_field *field = forms->field;
    size_t n = field->n, stride = n, row = field->rank ? (size_t)field->shape[field->rank - 1] : 1;
    forms->row_length = row;
    for (int d = 0; d < field->rank; d++) {
        size_t extent = (size_t)field->shape[d];
        stride /= extent;
        forms->slab[d] = (struct form){ "index", d, stride, extent, NULL };
        if (extent >= FEWEST_LINES) TRY(open_form(&forms->slab[d], arena, true));
    }
    forms->row = (struct form){ "row", -1, row, n / row, NULL };
    if (field->rank > 2 && row > 1 && n / row >= FEWEST_LINES)
        TRY(open_form(&forms->row, arena, false));
    for (size_t k = 0; k < BLOCKS; k++) {
        size_t size = block_sizes[k];
        forms->block[k] = (struct form){ "block", -1, size, n / size + (n % size > 0), NULL };
        if (forms->block[k].count >= FEWEST_LINES) TRY(open_form(&forms->block[k], arena, false));
    }
    for (size_t k = 0; k < LANES; k++) {
        forms->lane[k] = (struct form){ "lane", -1, 1, lane_counts[k], NULL };
        if (n >= FEWEST_OTHERS * 2) TRY(open_form(&forms->lane[k], arena, true));
    }
    return status_ok();
}

struct status error_lines_open(struct error_lines **out, struct arena *arena,
                               const struct error_field *field)
{
    struct error_lines *lines = *out = arena_allocate_zeroed(arena, 1, sizeof *lines);
    if (!lines) return status_no_memory(sizeof *lines);
    lines->field = *field;
    lines->forms.field = &lines->field;
    if (field->n) TRY(open_forms(&lines->forms, arena));
    lines->field.shape = NULL; /* the forms have it */
    return status_ok();
}

void error_lines_judge(struct line_findings *out, struct error_lines *lines)
{
    const struct error_field *field = &lines->field;
    struct forms *forms = &lines->forms;
    *out = (struct line_findings){ .dimension = -1 };
    if (!field->n) return;
    fold_lanes(forms);
    for (int d = 0; d < field->rank; d++) try_form(out, field, &forms->slab[d]);
    try_form(out, field, &forms->row);
    for (size_t k = 0; k < BLOCKS; k++) try_form(out, field, &forms->block[k]);
    for (size_t k = 0; k < LANES; k++) try_form(out, field, &forms->lane[k]);
}

struct status error_lines_find(struct line_findings *out, struct arena *arena,
                               const struct error_field *field)
{
    struct arena_mark mark = arena_mark(arena);
    struct error_lines *lines;
    TRY(error_lines_open(&lines, arena, field));
    for (size_t first = 0; first < field->n; first += AT_ONCE)
        error_lines_add(lines, first, field->n - first < AT_ONCE ? field->n - first : AT_ONCE);
    error_lines_judge(out, lines);
    arena_rewind(arena, mark);
    return status_ok();
}
