/* Two elements of a row are summed together. Sums of the parts that extraction takes from the terms are exact in any pieces, and those of the rests
 * pass through an addition more for each piece, as dot.h has it for groups. */
#include "bench/arithmetic/sparse_dots.h"

#include <math.h>

#include "bench/arithmetic/dot.h"

enum { PIECE = 512, SHARE = 32, CACHE_LINE = 64 };

size_t sparse_dots_most(size_t rows, size_t columns) { return rows * columns / SHARE; }

struct sum {
    size_t row, column;
    double hi, lo;
};

/* A piece of all lines, and the sums of the open elements, row after row. */
struct pieces {
    struct dot dot;
    struct dot_lines a, b;
    struct sum *sums;
    size_t count;
};

static struct factor terms_of(const struct factor *f, size_t first)
{
    struct factor terms = *f;
    terms.x = (const char *)f->x + first * f->term * dtype_info(f->dtype)->bytes;
    return terms;
}

static size_t piece_of(size_t k) { return k < PIECE ? k : PIECE; }

static size_t sums_elements(size_t rows, size_t columns)
{
    return sparse_dots_most(rows, columns) * (sizeof(struct sum) / sizeof(double));
}

size_t sparse_dots_scratch(const struct factor *a, const struct factor *b, size_t k)
{
    return sums_elements(a->lines, b->lines) + dot_lines_scratch(a, piece_of(k), true) +
           dot_lines_scratch(b, piece_of(k), true);
}

static void list_open(struct pieces *p, const struct sparse_dots *s)
{
    for (size_t i = 0; i < s->a.lines; i++)
        for (size_t word = 0; word * 64 < s->b.lines; word++)
            for (uint64_t bits = s->open[i * s->open_step + word]; bits; bits &= bits - 1) {
                size_t j = word * 64 + (size_t)__builtin_ctzll(bits);
                p->sums[p->count++] = (struct sum){ i, j, 0, 0 };
            }
}

static double scale_of(const struct pieces *p, const struct sum *sum)
{
    return p->a.scale[sum->row] * p->b.scale[sum->column];
}

static void add_one(const struct pieces *p, struct sum *sum)
{
    const float *x = (const float *)p->a.x + sum->row * p->a.step;
    const float *y = (const float *)p->b.x + sum->column * p->b.step;
    double hi, lo;
    (void)dot_extracted_single(&hi, &lo, &p->dot, x, y, scale_of(p, sum));
    sum->hi += hi;
    sum->lo += lo;
}

/* Two of a row. */
static void add_two(const struct pieces *p, struct sum *sums)
{
    const float *x = (const float *)p->a.x + sums->row * p->a.step, *y = p->b.x;
    double sigma[2], hi[2], lo[2];
    bool sum[2];
    for (int n = 0; n < 2; n++) {
        (void)dot_extraction_bound(&sum[n], &p->dot, scale_of(p, &sums[n]));
        sigma[n] = p->dot.start * scale_of(p, &sums[n]);
    }
    if (!sum[0] || !sum[1]) {
        for (int n = 0; n < 2; n++) add_one(p, &sums[n]);
        return;
    }
    dot_extracted_pair(hi, lo, &p->dot, y + sums[0].column * p->b.step,
                       y + sums[1].column * p->b.step, x, sigma);
    for (int n = 0; n < 2; n++) {
        sums[n].hi += hi[n];
        sums[n].lo += lo[n];
    }
}

/* The row after that of an element: rows lie so far apart that the processor does not fetch them unasked. Memory beyond the last one is not
 * touched. */
static void prefetch_next(const struct pieces *p, const struct sum *sum)
{
    const float *next = (const float *)p->a.x + (sum->row + 1) * p->a.step;
    for (size_t l = 0; l < p->dot.k; l += CACHE_LINE / sizeof *next) __builtin_prefetch(next + l);
}

static void add_piece(const struct pieces *p)
{
    for (size_t n = 0; n < p->count;) {
        if (n == 0 || p->sums[n].row != p->sums[n - 1].row) prefetch_next(p, &p->sums[n]);
        bool two = n + 1 < p->count && p->sums[n + 1].row == p->sums[n].row;
        if (two) add_two(p, &p->sums[n]);
        else add_one(p, &p->sums[n]);
        n += two ? 2 : 1;
    }
}

/* Take a sum for its element where it is certified. */
static bool settle(const struct sparse_dots *s, const struct pieces *p, const struct sum *sum)
{
    bool sums;
    double bound = dot_extraction_bound(&sums, &p->dot, scale_of(p, sum));
    double value = sum->hi + sum->lo, z = value - sum->hi;
    double total = ((fabs(sum->hi - (value - z)) + fabs(sum->lo - z)) + bound) * (1 + 0x1p-50);
    if (!certificate_passes_quickly(&s->certificate, value, total)) return false;
    s->value[sum->row * s->step + sum->column] = value;
    return true;
}

bool sparse_dots_recompute(const struct sparse_dots *s, double *scratch)
{
    double *room = scratch + sums_elements(s->a.lines, s->b.lines);
    double *more = room + dot_lines_scratch(&s->a, piece_of(s->k), true);
    struct pieces p = { .dot = dot_of_length(s->k, true), .sums = (struct sum *)(void *)scratch };
    bool all = true;
    list_open(&p, s);
    if (!p.count) return true;
    for (size_t first = 0; first < s->k; first += PIECE) {
        struct factor a = terms_of(&s->a, first), b = terms_of(&s->b, first);
        p.dot.k = piece_of(s->k - first);
        p.a = dot_lines_prepare(room, &a, p.dot.k, true, s->a_norms);
        p.b = dot_lines_prepare(more, &b, p.dot.k, true, s->b_norms);
        add_piece(&p);
    }
    for (size_t n = 0; n < p.count; n++) all = settle(s, &p, &p.sums[n]) && all;
    return all;
}
