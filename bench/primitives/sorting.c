/* Merge sort of (key, position) pairs. Runs of up to 16 are sorted by insertion first: most
 * lines that are sorted in training are short. */
#include "bench/primitives/sorting.h"

#include <math.h>
#include <string.h>

enum { RUN = 16 };

uint64_t sort_key_real(double x)
{
    uint64_t bits;
    if (isnan(x)) return SORT_KEY_NAN;
    x += 0.0; /* -0 becomes +0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

uint64_t sort_key_integer(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }

static void insertion_sort(struct sort_item *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sort_item item = items[i];
        size_t k = i;
        for (; k && items[k - 1].key > item.key; k--) items[k] = items[k - 1];
        items[k] = item;
    }
}

static void merge(struct sort_item *out, const struct sort_item *a, size_t m,
                  const struct sort_item *b, size_t n)
{
    size_t i = 0, k = 0;
    while (i < m && k < n)
        if (b[k].key < a[i].key) *out++ = b[k++];
        else *out++ = a[i++];
    memcpy(out, a + i, (m - i) * sizeof *out);
    memcpy(out + (m - i), b + k, (n - k) * sizeof *out);
}

void sort_items(struct sort_item *items, struct sort_item *scratch, size_t n)
{
    struct sort_item *from = items, *to = scratch;
    for (size_t i = 0; i < n; i += RUN) insertion_sort(items + i, n - i < RUN ? n - i : RUN);
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t m = n - i < width ? n - i : width;
            size_t rest = n - i - m < width ? n - i - m : width;
            merge(to + i, from + i, m, from + i + m, rest);
        }
        struct sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

void sort_line(struct sort_item *items, const struct node *x, const struct lines *lines,
               size_t line, bool descending)
{
    size_t start = line_start(lines, line);
    for (size_t k = 0; k < lines->extent; k++) {
        uint64_t key = sort_key(x, start + k * lines->step);
        items[k] = (struct sort_item){ descending ? ~key : key, (int64_t)k };
    }
    sort_items(items, items + lines->extent, lines->extent);
}

struct node *sort_positions(struct tape *tape, struct node *x, int dim, bool descending)
{
    struct node *out = node_new_integer(tape, DT_I64, x->rank, x->shape);
    struct lines lines = lines_along(x, dim);
    struct sort_item *items = tape_allocate(tape, 2 * lines.extent, sizeof *items);

    if (!x->integer) (void)node_values(tape, x);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t line = 0; out->n && line < lines.count; line++) {
        size_t start = line_start(&lines, line);
        sort_line(items, x, &lines, line, descending);
        for (size_t k = 0; k < lines.extent; k++)
            out->integer[start + k * lines.step] = items[k].position;
    }
    return out;
}
