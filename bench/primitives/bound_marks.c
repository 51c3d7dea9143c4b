/* Rows of bounds, and bits of what they leave open. Loops over elements are vectors; what is special about some elements comes after them. */
#include "bench/primitives/bound_marks.h"

#include <math.h>
#include <string.h>

#include "core/vectorize.h"

VECTORIZED size_t exact_row_bounds(double *restrict error, const double *restrict value,
                                   const double *restrict column, double factor, double tiny,
                                   const struct certificate *certificate, size_t n)
{
    double relative = certificate->relative, least = certificate->least;
    size_t open = 0;
    for (size_t j = 0; j < n; j++) {
        double magnitude = fabs(value[j]), bound = factor * column[j] * (1 + 0x1p-50) + tiny;
        bound = magnitude < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;
        open += (bound > relative * magnitude) & (bound > least);
        error[j] = bound;
    }
    return open;
}

/* Elements first .. first + count - 1 of a row. */
static void marked_row_bounds(double *error, const struct bound_marks *b, size_t row, size_t first,
                              size_t count)
{
    size_t product = row / b->m;
    const double *value = b->values + row * b->n + first;
    const uint64_t *words = b->recomputed + row * b->words;
    double norm = b->rows[product * b->row_step + row % b->m];
    (void)exact_row_bounds(error, value, b->columns + product * b->column_step + first,
                           b->gamma * norm * (1 + 0x1p-40), b->tiny, &b->certificate, count);
    for (size_t word = first / 64; word * 64 < first + count; word++)
        for (uint64_t bits = words[word]; bits; bits &= bits - 1) {
            size_t j = word * 64 + (size_t)__builtin_ctzll(bits);
            if (j < first || j >= first + count) continue;
            double magnitude = fabs(value[j - first]);
            error[j - first] = fmax(b->certificate.relative * magnitude, b->certificate.least);
        }
}

void bound_marks_elements(const struct node *node, size_t start, size_t count, double *value,
                          double *error)
{
    const struct bound_marks *b = node->deferral->context;
    if (value != b->values + start) memcpy(value, b->values + start, count * sizeof *value);
    for (size_t at = start; error && at < start + count;) {
        size_t first = at % b->n, left = start + count - at;
        size_t length = b->n - first < left ? b->n - first : left;
        marked_row_bounds(error + at - start, b, at / b->n, first, length);
        at += length;
    }
}

VECTORIZED uint64_t exact_open_bits(const double *restrict value, const double *restrict column,
                                    double factor, double tiny,
                                    const struct certificate *certificate, size_t n)
{
    const double relative = certificate->relative, least = certificate->least;
    bool open[64];
    uint64_t any = 0, bits = 0;
#define IS_OPEN(j)                                                               \
    ((fabs(value[j]) < INFINITY) &                                               \
     !(factor * column[j] * (1 + 0x1p-50) + tiny <= relative * fabs(value[j])) & \
     !(factor * column[j] * (1 + 0x1p-50) + tiny <= least))
    for (size_t j = 0; j < n; j++) any |= IS_OPEN(j);
    for (size_t j = 0; any && j < n; j++) open[j] = IS_OPEN(j);
    for (size_t j = 0; any && j < n; j++) bits |= (uint64_t)open[j] << j;
#undef IS_OPEN
    return bits;
}

bool mark_open(uint64_t *words, double *error, const double *value, const double *column,
               double factor, double tiny, const struct certificate *certificate, size_t n)
{
    uint64_t any = 0;
    for (size_t first = 0; first < n; first += 64) {
        uint64_t open = exact_open_bits(value + first, column + first, factor, tiny, certificate,
                                        n - first < 64 ? n - first : 64);
        any |= words[first / 64] = open;
        for (uint64_t bits = open; bits; bits &= bits - 1) {
            size_t j = first + (size_t)__builtin_ctzll(bits);
            double bound = factor * column[j] * (1 + 0x1p-50) + tiny;
            error[j] = bound >= 0 ? bound : INFINITY;
        }
    }
    return any;
}

void unmark_open(uint64_t *words, const double *value, const double *error, size_t n,
                 const struct certificate *certificate)
{
    for (size_t word = 0; word * 64 < n; word++)
        for (uint64_t bits = words[word]; bits; bits &= bits - 1) {
            size_t j = word * 64 + (size_t)__builtin_ctzll(bits);
            if (!certificate_passes_quickly(certificate, value[j], error[j]))
                words[word] &= ~((uint64_t)1 << j % 64);
        }
}
