/* One dimension after the other: fewer additions. A kernel adds the elements of a window in a row, and those of a gradient that meet in one
 * input; that rounds more, and on constants alike. So a model copies the elements of all windows side by side and adds these, as long as
 * they are not too many; elsewhere each dimension counts as if its sums were part of longer ones (bench/primitives/taps.c). */
#include "bench/primitives/window_sums.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/taps.h"

/* Elements of all windows together that a model copies. */
enum { MOST_COPIED = 1 << 20 };

static size_t elements_along(const struct window_axis *axis)
{
    size_t total = 0;
    for (int64_t o = 0; o < axis->outputs; o++)
        total += axis->end[o] > axis->start[o] ? (size_t)(axis->end[o] - axis->start[o]) : 0;
    return total;
}

/* Of the dimensions before `end`: how many windows an input is in, about. */
static double windows_of_input(const struct window_axis *axes, int end)
{
    double count = 1;
    for (int k = 0; k < end; k++)
        count *= fmax(1, (double)elements_along(&axes[k]) / (double)axes[k].inputs);
    return count;
}

static struct node *by_dimension(struct tape *tape, struct node *x, int count,
                                 const struct window_axis *axes)
{
    double summed = 1;
    for (int k = count - 1; k >= 0 && !tape_failed(tape); k--) {
        const struct window_axis *a = &axes[k];
        struct taps *taps =
            taps_windows(tape, (size_t)a->inputs, (size_t)a->outputs, a->start, a->end);
        if (!taps) break;
        taps->summed = summed;
        taps->summed_by_adjoint = windows_of_input(axes, k);
        x = node_taps(tape, x, x->rank - count + k, taps);
        summed *= fmax(1, (double)elements_along(a) / (double)a->outputs);
    }
    return x;
}

/* All dimensions in front of the windows', as one; three axes, the first of which may be missing. */
struct windows {
    struct window_axis axes[WINDOW_MOST_AXES];
    size_t planes, per_plane; /* elements of the windows of one */
};

static struct windows windows_of(const struct node *x, int count, const struct window_axis *axes)
{
    static const int64_t zero = 0, one = 1;
    struct windows w = { .planes = 1, .per_plane = 1 };
    for (int k = 0; k < WINDOW_MOST_AXES; k++) {
        int own = k - (WINDOW_MOST_AXES - count);
        w.axes[k] = own < 0 ? (struct window_axis){ 1, 1, &zero, &one } : axes[own];
        w.per_plane *= elements_along(&w.axes[k]);
    }
    for (int d = 0; d < x->rank - count; d++) w.planes *= (size_t)x->shape[d];
    return w;
}

/* Of the window at output (i, j, k) of a plane: where its elements come from, and that they go to `output`. */
static size_t add_window(int64_t *from, int64_t *to, const struct windows *w, int64_t plane,
                         const int64_t *at, int64_t output)
{
    const struct window_axis *a = w->axes;
    size_t count = 0;
    for (int64_t i = a[0].start[at[0]]; i < a[0].end[at[0]]; i++)
        for (int64_t j = a[1].start[at[1]]; j < a[1].end[at[1]]; j++)
            for (int64_t k = a[2].start[at[2]]; k < a[2].end[at[2]]; k++) {
                from[count] = ((plane * a[0].inputs + i) * a[1].inputs + j) * a[2].inputs + k;
                to[count++] = output;
            }
    return count;
}

static void map_windows(int64_t *from, int64_t *to, const struct windows *w)
{
    int64_t at[WINDOW_MOST_AXES], output = 0;
    size_t n = 0;
    for (int64_t plane = 0; plane < (int64_t)w->planes; plane++)
        for (at[0] = 0; at[0] < w->axes[0].outputs; at[0]++)
            for (at[1] = 0; at[1] < w->axes[1].outputs; at[1]++)
                for (at[2] = 0; at[2] < w->axes[2].outputs; at[2]++)
                    n += add_window(from + n, to + n, w, plane, at, output++);
}

static struct node *at_once(struct tape *tape, struct node *x, int count, const struct windows *w)
{
    int64_t shape[TENSOR_MAX_RANK], total = (int64_t)(w->planes * w->per_plane);
    int64_t *from = tape_allocate(tape, (size_t)total, sizeof *from),
            *to = tape_allocate(tape, (size_t)total, sizeof *to);
    if (!from || !to) return x;
    map_windows(from, to, w);
    memcpy(shape, x->shape, sizeof shape);
    for (int k = 0; k < count; k++)
        shape[x->rank - count + k] = w->axes[WINDOW_MOST_AXES - count + k].outputs;
    struct node *copies = node_gather(tape, x, 1, &total, from, 0);
    return node_scatter_add(tape, copies, x->rank, shape, to);
}

struct node *node_window_sums(struct tape *tape, struct node *x, int count,
                              const struct window_axis *axes)
{
    if (tape_failed(tape)) return tape_failure(tape);
    x = node_to_real(tape, x);
    if (!tape_is_model(tape) || tape->stage > 0) return by_dimension(tape, x, count, axes);
    const struct windows w = windows_of(x, count, axes);
    if (!w.planes || w.per_plane > MOST_COPIED / w.planes)
        return by_dimension(tape, x, count, axes);
    return at_once(tape, x, count, &w);
}
