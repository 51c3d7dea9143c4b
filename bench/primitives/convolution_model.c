/* Lines of terms are walked several at once, those of all images and groups one after the other. Bounds of exact operands are
 * products of norms, so a model neither multiplies matrices nor unfolds them: it reads the lines that it looks at. */
#include "bench/primitives/convolution_model.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/sum_spread.h"
#include "bench/primitives/convolution_columns.h"
#include "bench/primitives/convolution_elements.h"
#include "bench/primitives/product_terms.h"
#include "bench/tape/bounds.h"
#include "bench/tape/known_values.h"
#include "core/vectorize.h"

/* ---- growth -------------------------------------------------------------------------------------- */

/* Of one of so many lines the sums are imitated. Where terms repeat, all lines are, and more are looked at, as each errs its own way. */
enum {
    TERMS_LOOKED_AT = 1 << 14,
    REPEATED_LOOKED_AT = 1 << 18,
    LEAST_LOOKED_AT = 16,
    IMITATED = 4,
    WIDTH = SUM_SPREAD_LINES
};

/* Products that are looked at together, and the matrices that they are of. */
struct looks {
    struct sum_spread_factors factors;
    size_t matrix[WIDTH], count;
    bool imitates;
    double *term, *room;
};

/* The spread of each line, whatever it is looked at with, and whether its terms repeat. */
static void spread_lines(double *spread, bool *repeats, const struct looks *looks, size_t k,
                         bool single)
{
    struct sum_spread parts[WIDTH];
    bool any = looks->imitates;
    sum_spread_repeats(repeats, looks->term, k);
    for (size_t w = 0; w < looks->count; w++) any |= repeats[w];
    sum_spread_parts_of_lines(parts, looks->term, k, true,
                              any ? sum_imitation(single) : SUM_NOT_IMITATED);
    for (size_t w = 0; w < looks->count; w++)
        spread[w] = looks->imitates || repeats[w] ? fmax(parts[w].formula, parts[w].imitated)
                                                  : parts[w].formula;
}

/* What is found of a matrix. */
struct looked_at {
    double worst; /* of its lines */
    bool repeats; /* some of them */
};

static void look(struct looked_at *found, struct looks *looks,
                 const struct sampled_products *products)
{
    double x[WIDTH], y[WIDTH], spread[WIDTH];
    bool repeats[WIDTH];
    struct sum_spread_factors *f = &looks->factors;
    if (!looks->count) return;
    for (size_t w = looks->count; w < WIDTH; w++) { /* lines that are not there */
        f->x[w] = f->x[0];
        f->y[w] = f->y[0];
    }
    sum_spread_multiply(looks->term, x, y, f);
    spread_lines(spread, repeats, looks, products->k, products->single);
    for (size_t w = 0; w < looks->count; w++) {
        struct looked_at *matrix = &found[looks->matrix[w]];
        double norms = x[w] * y[w];
        if (norms > 0 && isfinite(spread[w]))
            matrix->worst = fmax(matrix->worst, spread[w] / norms);
        matrix->repeats |= repeats[w];
    }
    looks->count = 0;
}

/* Terms, and lines that have to be made, of those that are imitated and those that are not. */
size_t convolution_growth_room(size_t k) { return 2 * 2 * WIDTH * k; }

static struct looks looks_open(const struct sampled_products *products, bool imitates, double *room)
{
    size_t k = products->k;
    if (imitates) room += 2 * WIDTH * k;
    return (struct looks){
        .factors = { .n = k, .step_x = products->step_first, .step_y = products->step_second },
        .imitates = imitates,
        .term = room,
        .room = room + WIDTH * k
    };
}

/* Lines of the matrices from `first` on, evenly spread; `again`: of those whose terms repeat. */
static void look_at_matrices(struct looked_at *found, struct looks looks[2],
                             const struct sampled_products *products, size_t first, size_t count,
                             bool again)
{
    const size_t terms = again ? REPEATED_LOOKED_AT : TERMS_LOOKED_AT,
                 all = products->m * products->n,
                 stride = all / (terms / products->k / products->matrices + LEAST_LOOKED_AT) + 1;
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0, line = 0; at < all && (!again || found[i].repeats);
             at += stride, line++) {
            struct looks *of = &looks[again || line % IMITATED == 0];
            size_t w = of->count++;
            of->matrix[w] = i;
            products->lines(&of->factors.x[w], &of->factors.y[w], products->context, first + i,
                            at / products->n, at % products->n, of->room + w);
            if (of->count == WIDTH) look(found, of, products);
        }
    for (int i = 0; i < 2; i++) look(found, &looks[i], products);
}

void convolution_growths(double *growth, const struct sampled_products *products, size_t first,
                         size_t count, double *room)
{
    struct looked_at found[MATRICES_AT_ONCE] = { { 0 } };
    struct looks looks[2] = { looks_open(products, false, room), looks_open(products, true, room) };
    for (int again = 0; products->k && again < 2; again++)
        look_at_matrices(found, looks, products, first, count, again);
    for (size_t i = 0; i < count; i++) growth[i] = sqrt(found[i].worst);
}

/* ---- what is known ------------------------------------------------------------------------------- */

struct known {
    struct tape *tape;
    const struct convolution *c;
    const struct node *x, *w, *y; /* the operands; NULL: what is made, */
    struct node *out;
    const double *first, *second; /* the norms, */
    const double *magnitudes;     /* and the sums of an adjoint of the input */
    const int64_t *map;
    double *growth; /* per image and group */
    size_t together;
};

static size_t matrices_of(const struct convolution *c) { return c->images * c->groups; }

/* Elements of a line of X, WIDTH apart: of a channel the pixels that a tap has at some points, 0 in the padding. */
#define DEFINE_PUT_PIXELS(NAME, REAL)                                                        \
    static double *NAME(double *out, const REAL *channel, const int64_t *pixel, size_t step, \
                        size_t count)                                                        \
    {                                                                                        \
        for (size_t i = 0; i < count; i++, pixel += step, out += WIDTH)                      \
            *out = *pixel < 0 ? 0 : (double)channel[*pixel];                                 \
        return out;                                                                          \
    }

DEFINE_PUT_PIXELS(put_doubles, double)
DEFINE_PUT_PIXELS(put_floats, float)

/* The channel that begins at element `start`. */
static double *put_pixels(double *out, const struct known *k, size_t start, const int64_t *pixel,
                          size_t step, size_t count)
{
    if (k->x->value) return put_doubles(out, k->x->value + start, pixel, step, count);
    return put_floats(out, (const float *)k->x->source->data + start, pixel, step, count);
}

/* A row of W and a column of X. */
static void lines_of_result(const double **first, const double **second, const void *context,
                            size_t matrix, size_t i, size_t j, double *room)
{
    const struct known *k = context;
    const struct convolution *c = k->c;
    size_t group = matrix % c->groups, start = x_start(c, matrix / c->groups, group);
    *first = k->w->value + w_start(c, group) + i * depth_of(c);
    *second = room;
    for (size_t channel = 0; channel < c->channels; channel++)
        room = put_pixels(room, k, start + channel * c->pixels, k->map + j, c->points, c->taps);
}

/* Rows of Y and of X. */
static void lines_of_weight(const double **first, const double **second, const void *context,
                            size_t matrix, size_t i, size_t j, double *room)
{
    const struct known *k = context;
    const struct convolution *c = k->c;
    size_t group = matrix % c->groups, image = matrix / c->groups;
    *first = k->y->value + y_start(c, image, group) + i * c->points;
    *second = room;
    (void)put_pixels(room, k, x_start(c, image, group) + j / c->taps * c->pixels,
                     k->map + j % c->taps * c->points, 1, c->points);
}

/* Columns of W and of Y. */
static void lines_of_input(const double **first, const double **second, const void *context,
                           size_t matrix, size_t i, size_t j, double *room)
{
    const struct known *k = context;
    const struct convolution *c = k->c;
    (void)room;
    *first = k->w->value + w_start(c, matrix % c->groups) + i;
    *second = k->y->value + matrix * c->filters * c->points + j;
}

static struct sampled_products products_of(const struct known *k)
{
    const struct convolution *c = k->c;
    struct sampled_products p = { .context = k,
                                  .matrices = matrices_of(c),
                                  .single = !k->tape->wide };
    switch (c->role) {
    case CONVOLVE:
        p.lines = lines_of_result;
        p.m = c->filters, p.n = c->points, p.k = depth_of(c);
        p.step_first = 1, p.step_second = WIDTH;
        break;
    case CONVOLVE_INPUT_ADJOINT:
        p.lines = lines_of_input;
        p.m = depth_of(c), p.n = c->points, p.k = c->filters;
        p.step_first = depth_of(c), p.step_second = c->points;
        break;
    case CONVOLVE_WEIGHT_ADJOINT:
        p.lines = lines_of_weight;
        p.m = c->filters, p.n = depth_of(c), p.k = c->points;
        p.step_first = 1, p.step_second = WIDTH;
        break;
    }
    return p;
}

static struct status growths_part(void *context, size_t number, void *scratch)
{
    const struct known *k = context;
    const struct sampled_products products = products_of(k);
    size_t first = number * k->together, left = products.matrices - first;
    convolution_growths(k->growth + first, &products, first,
                        left < k->together ? left : k->together, scratch);
    return status_ok();
}

static void find_growths(struct known *k)
{
    const struct sampled_products products = products_of(k);
    k->growth = tape_allocate(k->tape, products.matrices, sizeof *k->growth);
    if (!k->growth) return;
    if (!tape_is_typical(k->tape)) {
        for (size_t i = 0; i < products.matrices; i++)
            k->growth[i] = dot_growth(k->tape, products.k);
        return;
    }
    k->together = MATRICES_AT_ONCE;
    tape_parallel(k->tape, &(struct parallel){ (products.matrices - 1) / MATRICES_AT_ONCE + 1,
                                               convolution_growth_room(products.k) * sizeof(double),
                                               growths_part, k });
}

/* ---- bounds -------------------------------------------------------------------------------------- */

/* Add bound_of exact lines, `factor` is gamma times the norm of one of them. */
VECTORIZED static void add_bounds(double *restrict error, double factor, double tiny,
                                  const double *restrict norm, size_t n)
{
    for (size_t j = 0; j < n; j++) error[j] += (factor * norm[j] + tiny) * (1 + 0x1p-40);
}

VECTORIZED static void tidy(double *restrict error, const double *restrict value, size_t n)
{
    for (size_t j = 0; j < n; j++)
        error[j] = fabs(value[j]) < INFINITY ? (error[j] >= 0 ? error[j] : INFINITY) : 0;
}

/* The rows of Y of an image and group. */
static void bound_result(const struct known *k, size_t matrix)
{
    const struct convolution *c = k->c;
    const struct norm_bound bound = norm_bound_of(k->tape, k->growth[matrix], depth_of(c));
    for (size_t i = 0; i < c->filters; i++) {
        size_t at = (matrix * c->filters + i) * c->points;
        double norm = k->first[matrix % c->groups * c->filters + i], *error = k->out->error + at;
        memset(error, 0, c->points * sizeof *error);
        add_bounds(error, bound.gamma * norm, bound.tiny, k->second + matrix * c->points,
                   c->points);
        tidy(error, k->out->value + at, c->points);
    }
}

/* The rows of the adjoint of W of a group, from all images. Partial sums of one sign grow over the images, too. */
static void bound_weight(const struct known *k, size_t group)
{
    const struct convolution *c = k->c;
    size_t depth = depth_of(c), at = w_start(c, group);
    double growing = tape_is_typical(k->tape) ? sqrt((double)c->images) : (double)c->images;
    double *error = k->out->error + at;
    memset(error, 0, c->filters * depth * sizeof *error);
    for (size_t image = 0; image < c->images; image++) {
        size_t matrix = image * c->groups + group;
        const struct norm_bound bound =
            norm_bound_of(k->tape, k->growth[matrix] * growing, c->points);
        for (size_t i = 0; i < c->filters; i++)
            add_bounds(error + i * depth, bound.gamma * k->first[matrix * c->filters + i],
                       bound.tiny, k->second + matrix * depth, depth);
    }
    tidy(error, k->out->value + at, c->filters * depth);
}

/* Bounds of one row of columns folded into the channel that it is of: along the last dimension pixels are `step` apart. */
static void fold_bounds(double *error, const struct known *k, const int64_t *map, double factor,
                        double tiny, const double *norm)
{
    const size_t width = (size_t)k->c->g.y[4], step = (size_t)k->c->g.stride[2];
    for (size_t row = 0; row < k->c->points; row += width) {
        size_t first = 0, end = width;
        while (first < end && map[row + first] < 0) first++;
        while (end > first && map[row + end - 1] < 0) end--;
        if (first == end) continue;
        double *to = error + map[row + first];
        if (step == 1) add_bounds(to, factor, tiny, norm + row + first, end - first);
        else
            for (size_t j = first; j < end; j++, to += step)
                *to += (factor * norm[row + j] + tiny) * (1 + 0x1p-40);
    }
}

VECTORIZED static void add_folded(double *restrict error, const double *restrict magnitude,
                                  double fold_error, size_t n)
{
    for (size_t i = 0; i < n; i++)
        error[i] = (error[i] + fold_error * magnitude[i]) * (1 + 0x1p-40);
}

/* The channels of an image and group. */
static void bound_input(const struct known *k, size_t matrix)
{
    const struct convolution *c = k->c;
    size_t at = matrix * c->channels * c->pixels, n = c->channels * c->pixels;
    const struct norm_bound bound = norm_bound_of(k->tape, k->growth[matrix], c->filters);
    const double *norms = k->first + matrix % c->groups * depth_of(c);
    double *error = k->out->error + at;
    memset(error, 0, n * sizeof *error);
    for (size_t row = 0; row < depth_of(c); row++)
        fold_bounds(error + row / c->taps * c->pixels, k, k->map + row % c->taps * c->points,
                    bound.gamma * norms[row], bound.tiny, k->second + matrix * c->points);
    add_folded(error, k->magnitudes + at,
               tape_sum_growth(k->tape, c->taps * c->filters) * k->tape->unit * (1 + 0x1p-20), n);
    tidy(error, k->out->value + at, n);
}

static struct status bounds_part(void *context, size_t number, void *scratch)
{
    static void (*const by_role[])(const struct known *k, size_t number) = {
        [CONVOLVE] = bound_result,
        [CONVOLVE_INPUT_ADJOINT] = bound_input,
        [CONVOLVE_WEIGHT_ADJOINT] = bound_weight,
    };
    const struct known *k = context;
    (void)scratch;
    by_role[k->c->role](k, number);
    return status_ok();
}

static void make_bounds(struct tape *tape, struct known *k)
{
    const struct convolution *c = k->c;
    struct arena_mark before = arena_mark(tape->arena);
    k->map = convolution_pixel_map(tape, c);
    if (k->map && convolution_looks_at_all(tape, c)) {
        convolution_element_errors(tape, k->out, c, k->x, k->w, k->y, k->map);
        arena_rewind(tape->arena, before);
        return;
    }
    if (k->map) find_growths(k);
    if (!tape_failed(tape))
        tape_parallel(tape, &(struct parallel){ .parts = c->role == CONVOLVE_WEIGHT_ADJOINT
                                                             ? c->groups
                                                             : matrices_of(c),
                                                .part = bounds_part,
                                                .context = k });
    arena_rewind(tape->arena, before);
}

/* ---- the node ------------------------------------------------------------------------------------ */

static bool is_alike(const struct node *a, const struct node *b)
{
    const struct convolution *c = a->parameters, *d = b->parameters;
    return c->role == d->role && !memcmp(&c->g, &d->g, sizeof c->g);
}

bool convolution_take_known(struct tape *tape, struct node *node, struct convolution *c)
{
    struct node *a = node->inputs[0], *b = node->inputs[1];
    if (!tape_is_model(tape) || !node_is_exact(a) || !node_is_exact(b)) return false;
    const struct node *other = known_values_find(tape, node, is_alike);
    const struct convolution *known = other ? other->parameters : NULL;
    if (!known || !known->first_norms) return false;
    node->value = known_values_of(other);
    if (c->role == CONVOLVE_INPUT_ADJOINT && !known->magnitudes) return false;
    c->first_norms = known->first_norms;
    c->second_norms = known->second_norms;
    c->magnitudes = known->magnitudes;
    if (!node_need_errors(tape, node)) return true;
    struct known k = { .tape = tape,
                       .c = c,
                       .out = node,
                       .first = c->first_norms,
                       .second = c->second_norms,
                       .magnitudes = c->magnitudes };
    k.x = c->role == CONVOLVE_INPUT_ADJOINT ? NULL : a;
    k.w = c->role == CONVOLVE_WEIGHT_ADJOINT ? NULL : b;
    k.y = c->role == CONVOLVE_INPUT_ADJOINT ? a : c->role == CONVOLVE_WEIGHT_ADJOINT ? b : NULL;
    if (tape_is_typical(tape)) { /* which looks at terms, of X as they are stored */
        if (!k.x || !convolution_reads_floats(a) || convolution_looks_at_all(tape, c))
            (void)node_values(tape, a);
        (void)node_values(tape, b);
    }
    if (!tape_failed(tape)) make_bounds(tape, &k);
    known_values_enter(tape, node);
    return true;
}
