/* Every form of lines is a pair (stride, count): element i is in line i / stride % count. */
#include "standards/error_lines.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_LINES = 8, FEWEST_OTHERS = 64, MOST_INDEPENDENT = 8 };

static const double SPREAD = 2;

struct line {
    double count, squares, sums[2]; /* signed; signed by the direction away from 0 */
};

struct form {
    const char *name;
    int dimension;
    size_t stride, count;
};

/* All lines of a form. */
struct lines {
    const struct form *form;
    const struct error_field *field;
    struct line *line, total;
    double met;                 /* lines that have errors; sums over them of: */
    double means[2];            /* the squares of the means, */
    double squares, of_squares; /* the mean squares and their squares */
    double x;
};

static void add_run(struct line *line, const struct error_field *field, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        double z = field->z[i];
        if (isnan(z)) continue;
        line->count++;
        line->squares += z * z;
        line->sums[0] += z;
        line->sums[1] += field->want[i] < 0 ? -z : z;
    }
}

static void add_up(struct lines *lines)
{
    const struct form *form = lines->form;
    size_t n = lines->field->n, at = 0;
    for (size_t start = 0; start < n; start += form->stride) {
        size_t count = n - start < form->stride ? n - start : form->stride;
        add_run(&lines->line[at], lines->field, start, count);
        if (++at == form->count) at = 0;
    }
    for (size_t j = 0; j < form->count; j++) {
        const struct line *line = &lines->line[j];
        if (!(line->count > 0)) continue;
        lines->met++;
        lines->total.count += line->count;
        lines->total.squares += line->squares;
        double square = line->squares / line->count;
        lines->squares += square;
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
    size_t count = 0, stride = form->stride;
    for (size_t start = j * stride; start < field->n; start += stride * form->count)
        for (size_t i = start; i < start + stride && i < field->n; i++) {
            size_t k = 0;
            if (isnan(field->z[i])) continue;
            while (k < count && met[k] != field->want[i]) k++;
            if (k == count) met[count++] = field->want[i];
            if (count == MOST_INDEPENDENT) return count;
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
           h = sqrt(2 * x / independent), scale = fmax(1, SPREAD * others);
    bool by_rms = rms / g >= mean / h;
    *value = by_rms ? rms : mean;
    return (by_rms ? rms / g : mean / h) / scale;
}

/* How many independent errors a line has, to judge by all but line j. */
static double independent_errors(const struct lines *lines, size_t j)
{
    const struct line *line = &lines->line[j];
    double others = lines->met - 1, own = line->squares / line->count, independent = line->count;
    double square = fmax(lines->squares - own, 0) / others;
    double variance = fmax(lines->of_squares - own * own, 0) / others - square * square;
    double shared = 0;
    for (int k = 0; k < 2; k++) {
        double mean = line->sums[k] / line->count;
        shared = fmax(shared, fmax(lines->means[k] - mean * mean, 0) / others);
    }
    if (shared > 0) independent = fmin(independent, square / shared);
    if (variance > 0) independent = fmin(independent, 2 * square * square / variance);
    return fmax(fmin(independent, MOST_INDEPENDENT), 1);
}

static void try_line(struct line_findings *out, const struct lines *lines, size_t j)
{
    const struct line *line = &lines->line[j];
    double others = lines->total.count - line->count, value;
    if (!(line->count > 0) || others < FEWEST_OTHERS || lines->met < FEWEST_LINES) return;
    double rms = sqrt(fmax(lines->total.squares - line->squares, 0) / others);
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

static struct status try_form(struct line_findings *out, struct arena *arena,
                              const struct error_field *field, const struct form *form)
{
    static const double alarms = 1e-10;
    struct lines lines = { .form = form, .field = field, .x = log((double)field->n / alarms) };
    struct arena_mark mark = arena_mark(arena);
    lines.line = arena_allocate_zeroed(arena, form->count, sizeof *lines.line);
    if (!lines.line) return status_no_memory(form->count * sizeof *lines.line);
    add_up(&lines);
    for (size_t j = 0; j < form->count; j++) try_line(out, &lines, j);
    arena_rewind(arena, mark);
    return status_ok();
}

struct status error_lines_find(struct line_findings *out, struct arena *arena,
                               const struct error_field *field)
{
    static const size_t tiles[] = { 16, 64, 256 }, lanes[] = { 8, 16, 32 };
    size_t n = field->n, stride = n;
    *out = (struct line_findings){ .dimension = -1 };
    for (int d = 0; d < field->rank && n; d++) {
        size_t extent = (size_t)field->shape[d];
        stride /= extent;
        const struct form slabs = { "index", d, stride, extent };
        if (extent >= FEWEST_LINES) TRY(try_form(out, arena, field, &slabs));
    }
    size_t row = n && field->rank ? (size_t)field->shape[field->rank - 1] : 1;
    const struct form rows = { "row", -1, row, n / row };
    if (field->rank > 2 && row > 1 && n / row >= FEWEST_LINES)
        TRY(try_form(out, arena, field, &rows));
    for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++) {
        const struct form form = { "block", -1, tiles[k], n / tiles[k] + (n % tiles[k] > 0) };
        if (form.count >= FEWEST_LINES) TRY(try_form(out, arena, field, &form));
    }
    for (size_t k = 0; k < sizeof lanes / sizeof *lanes; k++) {
        const struct form form = { "lane", -1, 1, lanes[k] };
        if (n >= FEWEST_OTHERS * 2) TRY(try_form(out, arena, field, &form));
    }
    return status_ok();
}
