/* Products of the sums that single heads have with what does not depend on choices. */
#include "bench/ops/dropped_heads.h"

#include <math.h>
#include <string.h>

#include "bench/ops/dropped_attention.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* One head of one batch, (1, 1, ...), on a tape of its own that is forgotten when its sums are added: those of all heads would be
 * as large as all heads' projections of all arguments. cotangent: (1, 1, target, channels). */
struct head {
    const struct dropped_heads *of;
    struct tape *tape;
    int64_t b, n;
    struct node *w, *q, *k, *v, *c, *a, *cotangent;
};

static struct node *turned(struct tape *tape, struct node *x)
{
    return node_transpose(tape, x, 2, 3);
}

static struct node *magnitude(struct tape *tape, struct node *x)
{
    return node_apply(tape, "abs", x);
}

static struct node *squared(struct tape *tape, struct node *x) { return node_multiply(tape, x, x); }

/* ---- operands ----------------------------------------------------------------------------------------------------- */

/* `rows` of `columns` elements, `step` elements from one to the next, as (1, 1, rows, columns). */
static struct node *copied(const struct head *head, const double *from, int64_t rows,
                           int64_t columns, int64_t step)
{
    struct node *y = node_new_real(head->tape, DT_F32, 4, (int64_t[]){ 1, 1, rows, columns });
    for (int64_t i = 0; !tape_failed(head->tape) && i < rows; i++)
        memcpy(y->value + i * columns, from + i * step, (size_t)columns * sizeof *from);
    return y;
}

/* The head's matrix of (batch * heads, rows, columns). */
static struct node *of_head(const struct head *head, const struct node *x)
{
    int64_t rows = x->shape[1], columns = x->shape[2],
            at = (head->b * head->of->heads + head->n) * rows * columns;
    return copied(head, x->value + at, rows, columns, columns);
}

/* The head's rows of a projection, (1, 1, width, channels). */
static struct node *projection_of(const struct head *head, int which)
{
    const struct node *w = head->of->projection[which];
    int64_t channels = w->shape[1];
    return copied(head, w->value + head->n * head->of->width * channels, head->of->width, channels,
                  channels);
}

/* The argument with a channel of ones, which a bias multiplies, and zeros where keys have no row in it. */
static struct node *with_ones(const struct head *head, int which)
{
    const struct node *x = head->of->x[which];
    struct tape *tape = head->tape;
    int64_t channels = x->shape[2], rows = which ? head->of->source : head->of->target;
    struct node *y = node_new_real(tape, DT_F32, 4, (int64_t[]){ 1, 1, rows, channels + 1 });
    if (tape_failed(tape)) return tape_failure(tape);
    memset(y->value, 0, y->n * sizeof *y->value);
    for (int64_t i = 0; i < x->shape[0]; i++) {
        double *row = y->value + i * (channels + 1);
        memcpy(row, x->value + (i * head->of->batch + head->b) * channels,
               (size_t)channels * sizeof *row);
        row[channels] = 1;
    }
    return y;
}

/* cotangent: (target, batch, channels). */
static void open_head(struct head *head, const double *cotangent)
{
    const struct dropped_heads *h = head->of;
    struct tape *tape = head->tape;
    int64_t channels = h->out->shape[0], features = h->heads * h->width;
    head->cotangent =
        copied(head, cotangent + head->b * channels, h->target, channels, h->batch * channels);
    head->w = of_head(head, h->weights);
    head->q = of_head(head, h->q);
    head->k = of_head(head, h->k);
    head->v = of_head(head, h->v);
    head->c = compose_matmul(
        tape, head->cotangent,
        copied(head, h->out->value + head->n * h->width, channels, h->width, features));
    head->a = node_multiply(tape, head->w, compose_matmul(tape, head->c, turned(tape, head->v)));
}

/* ---- sums ------------------------------------------------------------------------------------------------------------ */

enum { SUMS = 4, LARGEST = 3, ROWS = 4 };

static void list_sums(struct node **out[SUMS], struct dropped_sums *sums)
{
    struct node **const list[SUMS] = { &sums->mean, &sums->squares, &sums->size, &sums->largest };
    memcpy(out, list, sizeof list);
}

static struct dropped_sums scaled(struct tape *tape, struct dropped_sums sums, double factor)
{
    struct node **list[SUMS];
    list_sums(list, &sums);
    for (int s = 0; s < SUMS; s++)
        *list[s] = node_scale(tape, *list[s], s == 1 ? factor * factor : factor);
    return sums;
}

/* For each pair of columns of `known` and of the sums the products, added over rows: (1, 1, columns of known, columns of the
 * sums), or the other way round. */
static struct dropped_sums across(struct tape *tape, struct node *known, struct dropped_sums sums,
                                  bool known_first)
{
    struct node *size = magnitude(tape, known),
                *factors[SUMS] = { known, squared(tape, known), size,
                                   node_extremum(tape, size, ROWS, true, 1) },
                **list[SUMS];
    list_sums(list, &sums);
    *list[LARGEST] = node_extremum(tape, *list[LARGEST], ROWS, true, 1);
    for (int s = 0; s < SUMS; s++)
        *list[s] = known_first ? compose_matmul(tape, turned(tape, factors[s]), *list[s])
                               : compose_matmul(tape, turned(tape, *list[s]), factors[s]);
    return sums;
}

/* Of query, key or value: (1, 1, rows, channels). */
static struct dropped_sums of_argument(const struct head *head, int which)
{
    struct tape *tape = head->tape;
    struct node *weight = projection_of(head, which);
    if (which == 0)
        return scaled(
            tape, dropped_query_sums(tape, head->w, head->a, compose_matmul(tape, head->k, weight)),
            1 / sqrt((double)head->of->width));
    if (which == 1)
        return dropped_key_sums(tape, head->w, head->a, compose_matmul(tape, head->q, weight));
    return dropped_product(tape, turned(tape, head->w), compose_matmul(tape, head->c, weight));
}

/* Of a projection, with that of its bias as one more channel: (1, 1, width, channels + 1). */
static struct dropped_sums of_projection(const struct head *head, int which)
{
    struct tape *tape = head->tape;
    struct node *x = with_ones(head, which);
    if (which == 0)
        return scaled(tape,
                      across(tape, x, dropped_query_sums(tape, head->w, head->a, head->k), false),
                      1 / sqrt((double)head->of->width));
    if (which == 1)
        return across(tape, head->q, dropped_query_sums(tape, head->w, head->a, x), true);
    return across(tape, head->c, dropped_product(tape, head->w, x), true);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------- */

/* Where sums of a head belong: element (i, j), the first `columns` of them, goes to start + i * step + j. */
struct place {
    int64_t start, step, rows, first, columns;
};

/* Added: choices of heads and batches are independent. */
static void add_sums(struct node *const *all, const struct head *head, struct dropped_sums sums,
                     struct place place)
{
    struct node **list[SUMS];
    list_sums(list, &sums);
    for (int s = 0; s < SUMS; s++) {
        const double *value = node_values(head->tape, *list[s]);
        if (tape_failed(head->tape)) return;
        int64_t width = (*list[s])->shape[3];
        for (int64_t i = 0; i < place.rows; i++)
            for (int64_t j = 0; j < place.columns; j++) {
                double *to = &all[s]->value[place.start + i * place.step + j],
                       own = value[i * width + place.first + j];
                *to = s == LARGEST ? fmax(*to, own) : *to + own;
            }
    }
}

/* Which gradient of the call a leaf asks for. */
enum gradient { OF_ARGUMENT, OF_PROJECTION, OF_JOINT, OF_JOINT_BIAS, OF_OUT, OF_OUT_BIAS, OF_NONE };

static enum gradient gradient_of_leaf(const struct dropped_heads *h, const struct node *leaf,
                                      int *which)
{
    for (*which = 0; *which < 3; ++*which) {
        if (leaf == h->own[*which]) return OF_ARGUMENT;
        if (leaf == h->own_projection[*which]) return OF_PROJECTION;
    }
    return leaf == h->joint_weight ? OF_JOINT
           : leaf == h->joint_bias ? OF_JOINT_BIAS
           : leaf == h->out_weight ? OF_OUT
           : leaf == h->out_bias   ? OF_OUT_BIAS
                                   : OF_NONE;
}

static void add_head(struct node *const *all, const struct head *head, enum gradient gradient,
                     int which)
{
    const struct dropped_heads *h = head->of;
    int64_t width = h->width, features = h->heads * width, row = head->n * width;
    if (gradient == OF_ARGUMENT) {
        int64_t channels = h->x[which]->shape[2];
        add_sums(all, head, of_argument(head, which),
                 (struct place){ head->b * channels, h->batch * channels, h->x[which]->shape[0], 0,
                                 channels });
    } else if (gradient == OF_OUT) {
        add_sums(all, head,
                 across(head->tape, head->cotangent, dropped_product(head->tape, head->w, head->v),
                        true),
                 (struct place){ row, features, h->out->shape[0], 0, width });
    } else if (gradient != OF_OUT_BIAS) {
        bool bias = gradient == OF_JOINT_BIAS;
        int first = gradient == OF_PROJECTION ? which : 0,
            end = gradient == OF_PROJECTION ? which + 1 : 3;
        for (int k = first; k < end; k++) {
            int64_t channels = h->x[k]->shape[2], step = bias ? 1 : channels;
            add_sums(all, head, of_projection(head, k),
                     (struct place){ ((k - first) * features + row) * step, step, width,
                                     bias ? channels : 0, step });
        }
    }
}

/* Of the last bias nothing is dropped. */
static void add_cotangent(struct node *const *all, const struct dropped_heads *h,
                          const double *cotangent)
{
    int64_t channels = h->out->shape[0];
    for (int64_t i = 0; i < h->target * h->batch * channels; i++) {
        all[0]->value[i % channels] += cotangent[i];
        all[2]->value[i % channels] += fabs(cotangent[i]);
    }
}

/* Sums over terms of scores: what roundings of them are measured by. */
static double size_of_scores(const struct head *head)
{
    struct tape *tape = head->tape;
    struct node *sizes =
        compose_matmul(tape, magnitude(tape, head->q), turned(tape, magnitude(tape, head->k)));
    const double *value = node_values(tape, sizes);
    double most = 0;
    for (size_t i = 0; !tape_failed(tape) && i < sizes->n; i++) most = fmax(most, value[i]);
    return most;
}

static const struct bench_property *gradient_of_heads(struct call *call, struct node *cotangent,
                                                      size_t leaf)
{
    struct tape *tape = call->tape;
    const struct dropped_heads *h = call->results.gradient_context;
    const struct node *own = call->arguments.leaves[leaf].node;
    int which;
    enum gradient gradient = gradient_of_leaf(h, own, &which);
    struct node *const operands[] = { h->weights,
                                      h->q,
                                      h->k,
                                      h->v,
                                      h->out,
                                      h->x[0],
                                      h->x[1],
                                      h->x[2],
                                      h->projection[0],
                                      h->projection[1],
                                      h->projection[2],
                                      cotangent };
    if (gradient == OF_NONE ||
        !call_require(call, cotangent->n == (size_t)(h->target * h->batch * h->out->shape[0]),
                      "the cotangent does not have the shape of the result"))
        return NULL;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        (void)node_values(tape, operands[i]);
    struct node *all[SUMS], *scores = node_new_real(tape, DT_F32, 0, NULL);
    for (int s = 0; s < SUMS; s++) all[s] = node_constant(tape, DT_F32, 0, own->rank, own->shape);
    if (tape_failed(tape)) return NULL;
    scores->value[0] = 0;
    if (gradient == OF_OUT_BIAS) add_cotangent(all, h, cotangent->value);
    for (int64_t i = 0; i < h->batch * h->heads; i++) {
        struct arena arena = { 0 };
        struct tape scratch;
        struct head head = { .of = h, .tape = &scratch, .b = i / h->heads, .n = i % h->heads };
        tape_open(&scratch, &arena, BENCH_REFERENCE, false);
        scratch.help = tape->help;
        open_head(&head, cotangent->value);
        if (!tape_failed(&scratch)) add_head(all, &head, gradient, which);
        if (!tape_failed(&scratch))
            scores->value[0] = fmax(scores->value[0], size_of_scores(&head));
        bool failed = tape_failed(&scratch);
        arena_release(&arena);
        if (!call_require(call, !failed, "there is no memory for the law of a gradient"))
            return NULL;
    }
    struct dropped_sums sums = {
        .mean = all[0], .squares = all[1], .size = all[2], .largest = all[3]
    };
    struct dropped_block block = { .rows = h->target * h->batch,
                                   .columns = h->source,
                                   .scores = scores };
    struct dropped_attention law = {
        .p = h->p, .width = 4 * h->heads * h->width, .blocks = &block, .count = 1, .dtype = h->dtype
    };
    return dropped_property(tape, &law, &sums);
}

void call_gradients_of_dropped_heads(struct call *call, const struct dropped_heads *heads)
{
    call->results.gradient_property = gradient_of_heads;
    call->results.gradient_context = heads;
}
