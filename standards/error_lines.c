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

/* Line j gets element j. */
VECTORIZED static void add_each(struct line *restrict lines, const struct line *restrict element,
                                size_t n)
{
    double *restrict to = (double *)lines;
    const double *restrict from = (const double *)element;
    for (size_t i = 0; i < n * PARTS; i++) to[i] += from[i];
}

/* Two elements, or sums of such. Vectors, because sums of a loop over parts would wait for memory. */
typedef double pair __attribute__((vector_size(2 * sizeof(struct line))));

static inline void add_pair(pair *sum, const struct line *element)
{
    pair x;
    memcpy(&x, element, sizeof x);
    *sum += x;
}

/* One line gets n elements, in eight interleaved sums: two each. */
VECTORIZED static void add_run(struct line *line, const struct line *restrict element, size_t n)
{
    enum { AT_A_TIME = 8 };
    pair a = { 0 }, b = a, c = a, d = a;
    for (; n >= AT_A_TIME; n -= AT_A_TIME, element += AT_A_TIME) {
        add_pair(&a, element);
        add_pair(&b, element + 2);
        add_pair(&c, element + 4);
        add_pair(&d, element + 6);
    }
    if (n >= 2) add_pair(&a, element);
    if (n >= 4) add_pair(&b, element + 2);
    if (n >= 6) add_pair(&c, element + 4);
    if (n % 2) {
        pair last = { 0 };
        memcpy(&last, element + n - 1, sizeof *element);
        if (n == 1) a += last;
        else if (n == 3) b += last;
        else if (n == 5) c += last;
        else d += last;
    }
    a = (a + c) + (b + d);
    double *to = (double *)line;
    for (size_t k = 0; k < PARTS; k++) to[k] += a[k] + a[k + PARTS];
}

static inline void add_line(struct line *to, const struct line *from)
{
    to->count += from->count;
    to->squares += from->squares;
    to->sums[0] += from->sums[0];
    to->sums[1] += from->sums[1];
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

static void move_to_next_row(struct forms *forms)
{
    forms->next_row++;
    for (int d = forms->field->rank - 2; d >= 0; d--) {
        if (++forms->index[d] < forms->slab[d].count) return;
        forms->index[d] = 0;
    }
}

/* A row that is complete belongs to a slab of every dimension but the last. */
static void add_row(struct forms *forms, const struct line *sums, size_t row)
{
    find_row(forms, row);
    for (int d = 0; d + 1 < forms->field->rank; d++)
        if (forms->slab[d].line) add_line(&forms->slab[d].line[forms->index[d]], sums);
    if (forms->row.line) add_line(&forms->row.line[row], sums);
    move_to_next_row(forms);
}

/* Elements of rows; `row` is the sum of those of the present one. */
static void add_to_rows(struct forms *forms, struct line *row, const struct line *element,
                        size_t first, size_t count)
{
    size_t length = forms->row_length, column = first % length, number = first / length;
    const struct form *columns = &forms->slab[forms->field->rank - 1];
    for (size_t i = 0, n; i < count; i += n) {
        n = length - column < count - i ? length - column : count - i;
        if (columns->line) add_each(columns->line + column, element + i, n);
        add_run(row, element + i, n);
        column += n;
        if (column < length) continue;
        add_row(forms, row, number++);
        *row = (struct line){ 0 };
        column = 0;
    }
}

/* Elements of at most one block of the longest size. */
static void add_to_blocks(struct forms *forms, const struct line *element, size_t first,
                          size_t count)
{
    const struct form *blocks = forms->block;
    if (!blocks[0].line) return;
    for (size_t i = 0; i < count; i += block_sizes[0]) {
        size_t rest = count - i < block_sizes[0] ? count - i : block_sizes[0];
        struct line *shortest = &blocks[0].line[(first + i) / block_sizes[0]];
        add_run(shortest, element + i, rest);
        for (size_t k = 1; k < BLOCKS; k++)
            if (blocks[k].line) add_line(&blocks[k].line[(first + i) / block_sizes[k]], shortest);
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
    for (size_t i = 0; widest->line && i < count; i += widest->count)
        add_each(widest->line, element + i, count - i < widest->count ? count - i : widest->count);
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

void error_lines_pass_over(struct error_lines *lines, size_t first, size_t count)
{
    if (!lines->field.rank || count < lines->forms.row_length - first % lines->forms.row_length)
        return;
    add_row(&lines->forms, &lines->row, first / lines->forms.row_length);
    lines->row = (struct line){ 0 };
}

/* ---- one form ------------------------------------------------------------------------------- */

/* Errors and squares of all lines, in interleaved sums, and the most errors of one. */
VECTORIZED static void sum_lines(struct lines *restrict lines, const struct line *restrict line,
                                 size_t n)
{
    enum { LANES_OF_LINES = 8 };
    double count[LANES_OF_LINES] = { 0 }, squares[LANES_OF_LINES] = { 0 },
           longest[LANES_OF_LINES] = { 0 };
    for (size_t j = 0; j < n; j += LANES_OF_LINES) {
        size_t rest = n - j < LANES_OF_LINES ? n - j : LANES_OF_LINES;
        for (size_t k = 0; k < rest; k++) {
            count[k] += line[j + k].count;
            squares[k] += line[j + k].squares;
            longest[k] = line[j + k].count > longest[k] ? line[j + k].count : longest[k];
        }
    }
    for (size_t k = 0; k < LANES_OF_LINES; k++) {
        lines->count += count[k];
        lines->squares += squares[k];
        lines->longest = longest[k] > lines->longest ? longest[k] : lines->longest;
    }
}

/* What the lines tell of each other. */
static void compare_lines(struct lines *lines)
{
    const struct form *form = lines->form;
    lines->compared = true;
    for (size_t j = 0; j < form->count; j++) {
        const struct line *line = &form->line[j];
        if (!(line->count > 0)) continue;
        lines->met++;
        double square = line->squares / line->count;
        lines->mean_squares += square;
        lines->of_squares += square * square;
        for (int k = 0; k < 2; k++)
            lines->means[k] += line->sums[k] / line->count * (line->sums[k] / line->count);
    }
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

/* A form that is looked at, all of whose lines are empty. */
static struct status open_form(struct form *form, struct arena *arena)
{
    form->line = arena_allocate_zeroed(arena, form->count, sizeof *form->line);
    return form->line ? status_ok() : status_no_memory(form->count * sizeof *form->line);
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
        if (extent >= FEWEST_LINES) TRY(open_form(&forms->slab[d], arena));
    }
    forms->row = (struct form){ "row", -1, row, n / row, NULL };
    if (field->rank > 2 && row > 1 && n / row >= FEWEST_LINES) TRY(open_form(&forms->row, arena));
    for (size_t k = 0; k < BLOCKS; k++) {
        size_t size = block_sizes[k];
        forms->block[k] = (struct form){ "block", -1, size, n / size + (n % size > 0), NULL };
        if (forms->block[k].count >= FEWEST_LINES) TRY(open_form(&forms->block[k], arena));
    }
    for (size_t k = 0; k < LANES; k++) {
        forms->lane[k] = (struct form){ "lane", -1, 1, lane_counts[k], NULL };
        if (n >= FEWEST_OTHERS * 2) TRY(open_form(&forms->lane[k], arena));
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
