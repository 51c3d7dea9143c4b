/* A line is tried where the sums of its form show that it can be beyond the worst that has been found. */
#include "standards/error_lines.h"

#include <math.h>

#include "core/vectorize.h"

/* Errors of a line that count at most: where lines are alike, and where one may share more than others do. */
enum { MOST_INDEPENDENT = 64, MOST_SHARED = 8 };

/* Lines may be off by twice what the others are, and by 0.7 of what is expected where the others are less. */
static const double SPREAD = 2, LEAST_SCALE = 0.7;

static size_t most_independent(const struct error_field *field)
{
    return field->alike ? MOST_INDEPENDENT : MOST_SHARED;
}

/* All lines of a form. */
struct lines {
    const struct line_form *form;
    const struct error_field *field;
    double count, squares;           /* of all, */
    double longest;                  /* and the most errors that one of them has */
    double x, least_g, least_h;      /* of the most independent errors */
    bool compared;                   /* with each other, which few forms need: */
    double met;                      /* lines that have errors; sums over them of: */
    double means[2];                 /* the squares of the means, */
    double mean_squares, of_squares; /* the mean squares and their squares */
};

enum { SIDE_BY_SIDE = 8 }; /* sums of lines */

/* Errors and squares of all lines, in interleaved sums, and the most errors of one. */
VECTORIZED static void sum_lines(struct lines *restrict lines, const struct line_sum *restrict line,
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
VECTORIZED static void compare(struct lines *restrict lines, const struct line_sum *restrict line,
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
    const struct line_form *form = lines->form;
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
static double quotient_of(const struct line_sum *line, double independent, double others, double x,
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
    const struct line_sum *line = &lines->form->line[j];
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

static inline bool is_beyond(const struct line_sum *line, const struct reach *r)
{
    double count = line->count, others = r->count - count, left = r->squares - line->squares;
    double least = r->least * others, scale = left > least ? left : least;
    double a = fabs(line->sums[0]), b = fabs(line->sums[1]), sum = a > b ? a : b;
    return (count > 0) & ((line->squares * others > count * r->of_rms * scale) |
                          (sum * sum * others > count * count * r->of_mean * scale));
}

VECTORIZED static size_t count_beyond(const struct line_sum *restrict line,
                                      const struct reach *reach, size_t n)
{
    const struct reach r = *reach;
    size_t count = 0;
    for (size_t j = 0; j < n; j++) count += is_beyond(&line[j], &r);
    return count;
}

static void try_line(struct line_findings *out, struct lines *lines, size_t j)
{
    const struct line_sum *line = &lines->form->line[j];
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
                     const struct line_form *form)
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

void error_lines_judge(struct line_findings *out, struct line_sums *sums)
{
    const struct error_field *field = &sums->field;
    *out = (struct line_findings){ .dimension = -1 };
    if (!field->n) return;
    line_sums_close(sums);
    for (int d = 0; d < field->rank; d++) try_form(out, field, &sums->slab[d]);
    try_form(out, field, &sums->row);
    for (size_t k = 0; k < LINE_BLOCKS; k++) try_form(out, field, &sums->block[k]);
    for (size_t k = 0; k < LINE_LANES; k++) try_form(out, field, &sums->lane[k]);
}

struct status error_lines_find(struct line_findings *out, struct arena *arena,
                               const struct error_field *field)
{
    struct arena_mark mark = arena_mark(arena);
    struct line_sums *sums;
    TRY(line_sums_open(&sums, arena, field));
    for (size_t first = 0, count; first < field->n; first += count) {
        count = field->n - first < LINE_SUMS_BLOCK ? field->n - first : LINE_SUMS_BLOCK;
        line_sums_add(sums, first, count);
    }
    error_lines_judge(out, sums);
    arena_rewind(arena, mark);
    return status_ok();
}
