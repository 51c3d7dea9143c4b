/* Products with weights of four bits packed for tensor cores: _convert_weight_to_int4pack and _weight_int4pack_mm, by PyTorch's
 * public kernels (aten/src/ATen/native/cuda/int4mm.cu).
 *
 * A matrix of n rows and k columns of numbers 0 to 15 is held as [n / 8][k / (16 tiles)][32][tiles / 2] int32, tiles 2, 4 or
 * 8 of 16 columns each. A word is what one lane of m16n8k16 (on AMD's GPUs m16n16k16, two of the first dimension a tile) has of
 * two tiles: eight numbers of one row, of which the four with even columns lie in the lower half. Shapes do not tell the two
 * orders apart; the device's result does, and without one NVIDIA's counts. What PyTorch's CPU keeps in this shape depends on
 * its vectors' length and is not followed.
 *
 * A number u stands for (u - 8) scale + zero, with a scale and a zero for each group of columns of a row; kernels on GPUs round
 * that to the dtype of the other factor, the CPU's do not. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

/* The order of numbers in the lanes of one vendor. */
struct lanes {
    int64_t rows;                                  /* of a tile, each with four lanes */
    int64_t (*row)(int64_t lane);                  /* of a lane */
    int64_t (*column)(int64_t lane, int64_t pair); /* of the first of pair 0 or 1 in a tile */
};

static int64_t nvidia_row(int64_t lane) { return lane / 4; }
static int64_t nvidia_column(int64_t lane, int64_t pair) { return 8 * pair + 2 * (lane % 4); }
static int64_t amd_row(int64_t lane) { return lane % 16; }
static int64_t amd_column(int64_t lane, int64_t pair) { return 4 * (lane / 16) + 2 * pair; }

static const struct lanes orders[] = {
    { 8, nvidia_row, nvidia_column },
    { 16, amd_row, amd_column },
};
enum { ORDERS = sizeof orders / sizeof *orders };

struct packed {
    int64_t n, k, words; /* rows and columns, words of a lane: half the tiles */
};

/* Where number `nibble` of word `i` stands in the matrix. */
static size_t place_of(const struct packed *p, const struct lanes *order, int64_t i, int64_t nibble)
{
    int64_t word = i % p->words, lane = i / p->words % (4 * order->rows),
            tiles = i / p->words / (4 * order->rows), across = p->k / (32 * p->words),
            pair = nibble % 4,
            column = (tiles % across * 2 * p->words + 2 * word + pair / 2) * 16 +
                     order->column(lane, pair % 2) + nibble / 4;
    return (size_t)((tiles / across * order->rows + order->row(lane)) * p->k + column);
}

static bool has_order(const struct packed *p, const struct lanes *order)
{
    return p->n % order->rows == 0;
}

/* ---- packing ------------------------------------------------------------------------------------------------- */

/* The numbers of a matrix of int32, or of bytes with two each, the even columns in their upper half. */
static uint8_t *numbers_of(struct tape *tape, const struct node *x, const struct packed *p)
{
    uint8_t *u = tape_allocate(tape, (size_t)(p->n * p->k) + 1, sizeof *u);
    for (size_t i = 0; u && i < x->n; i++) {
        uint64_t value = (uint64_t)x->integer[i];
        if (x->dtype == DT_I32) {
            u[i] = value & 15;
            continue;
        }
        u[2 * i] = value >> 4 & 15;
        u[2 * i + 1] = value & 15;
    }
    return u;
}

static void pack_words(const struct packed *p, const struct lanes *order, const uint8_t *u,
                       struct node *y)
{
    for (size_t i = 0; i < y->n; i++) {
        uint32_t word = 0;
        for (int64_t k = 0; k < 8; k++)
            word |= (uint32_t)u[place_of(p, order, (int64_t)i, k)] << 4 * k;
        y->integer[i] = (int32_t)word;
    }
}

static void convert_weight(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t tiles = call_int(call, "innerKTiles");
    bool bytes = x->dtype == DT_U8;
    if (!call_require(call,
                      x->rank == 2 && (bytes || x->dtype == DT_I32) &&
                          (tiles == 2 || tiles == 4 || tiles == 8) && x->shape[0] % 8 == 0 &&
                          x->shape[1] * (bytes ? 2 : 1) % (16 * tiles) == 0,
                      "a matrix of int32 or bytes that fills tiles of 8 rows and 2, 4 or 8 times "
                      "16 columns is needed"))
        return;
    struct packed p = { x->shape[0], x->shape[1] * (bytes ? 2 : 1), tiles / 2 };
    int64_t shape[4] = { p.n / 8, p.k / (16 * tiles), 32, p.words };
    struct node *y = node_new_integer(tape, DT_I32, 4, shape),
                *other = node_new_integer(tape, DT_I32, 4, shape),
                *device = call_device_integers(call, 0, y);
    const uint8_t *u = numbers_of(tape, x, &p);
    if (tape_failed(tape)) return;
    pack_words(&p, &orders[0], u, y);
    for (int o = 1; device && o < ORDERS; o++) {
        if (!has_order(&p, &orders[o])) continue;
        pack_words(&p, &orders[o], u, other);
        if (!memcmp(other->integer, device->integer, y->n * sizeof *y->integer)) y = other;
    }
    call_return(call, y);
}

/* ---- products ------------------------------------------------------------------------------------------------ */

static void unpack_words(const struct packed *p, const struct lanes *order, const struct node *w,
                         double *u)
{
    for (size_t i = 0; i < w->n; i++)
        for (int64_t k = 0; k < 8; k++)
            u[place_of(p, order, (int64_t)i, k)] = (double)((uint64_t)w->integer[i] >> 4 * k & 15) -
                                                   8;
}

/* How far the first row of the device's result is off with these weights. `scales`: (groups, n, 2). */
static double distance(const struct packed *p, const double *u, const double *x,
                       const double *scales, int64_t group, const double *device)
{
    double sum = 0;
    for (int64_t n = 0; n < p->n; n++) {
        double y = 0;
        for (int64_t k = 0; k < p->k; k++) {
            const double *scale = scales + 2 * (k / group * p->n + n);
            y += x[k] * (u[n * p->k + k] * scale[0] + scale[1]);
        }
        sum += fabs(y - device[n]);
    }
    return sum;
}

/* The whole numbers of the weights, in the order that the device's result has. */
static struct node *unpacked(struct call *call, const struct packed *p, struct node *w,
                             struct node *x, struct node *scales, int64_t group)
{
    struct tape *tape = call->tape;
    int64_t shape[2] = { p->n, p->k };
    struct node *best = node_new_real(tape, DT_F32, 2, shape),
                *other = node_new_real(tape, DT_F32, 2, shape),
                *device = call_device_numbers(call, 0, (size_t)(x->shape[0] * p->n));
    const double *row = node_values(tape, x), *scale = node_values(tape, scales);
    if (tape_failed(tape)) return best;
    unpack_words(p, &orders[0], w, best->value);
    if (!device || device->integer || !x->n) return best;
    double least = distance(p, best->value, row, scale, group, device->value);
    for (int o = 1; o < ORDERS; o++) {
        if (!has_order(p, &orders[o])) continue;
        unpack_words(p, &orders[o], w, other->value);
        if (distance(p, other->value, row, scale, group, device->value) < least) best = other;
    }
    return best;
}

/* A weight is rounded once, by 0.4 units in the root mean square; of what a model is told it counts a quarter as typical. */
static const double weight_roundings = 2;

/* (n, groups, 1) of scales (k = 0) or zeros (k = 1). */
static struct node *column_of(struct tape *tape, struct node *scales, int64_t k)
{
    return node_transpose(tape, node_slice(tape, scales, 2, k, 1, 1), 0, 1);
}

static void packed_product(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "mat2"),
                *scales = call_tensor(call, "qScaleAndZeros");
    int64_t group = call_int(call, "qGroupSize");
    if (!call_require(call,
                      x->rank == 2 && !x->integer && !x->imaginary && w->dtype == DT_I32 &&
                          w->rank == 4 && w->shape[2] == 32 && w->shape[3] >= 1 &&
                          w->shape[1] * 32 * w->shape[3] == x->shape[1],
                      "a matrix and weights of [n / 8][k / (16 tiles)][32][tiles / 2] are needed"))
        return;
    struct packed p = { 8 * w->shape[0], x->shape[1], w->shape[3] };
    if (!call_require(call,
                      group >= 1 && p.k % group == 0 && scales->rank == 3 && !scales->integer &&
                          scales->shape[0] == p.k / group && scales->shape[1] == p.n &&
                          scales->shape[2] == 2,
                      "a scale and a zero for each row of each group of columns are needed"))
        return;
    struct node *u = unpacked(call, &p, w, x, scales, group);
    int64_t grouped[3] = { p.n, p.k / group, group }, whole[2] = { p.n, p.k };
    u = node_multiply(tape, node_reshape(tape, u, 3, grouped), column_of(tape, scales, 0));
    u = node_reshape(tape, node_add(tape, u, column_of(tape, scales, 1)), 2, whole);
    if (tape_failed(tape)) return;
    u = node_model_error(tape, u, u, weight_roundings * dtype_ulp(x->dtype, 1) / 2 / 0x1p-24);
    call_return_typed(call, compose_matmul(tape, x, node_transpose(tape, u, 0, 1)), x->dtype);
}

/* clang-format off */
const struct op ops_packed_weights[] = {
    { "_convert_weight_to_int4pack", TORCH, "(Tensor input, int innerKTiles)", convert_weight, OP_NO_GRADIENT, 0, NULL },
    { "_weight_int4pack_mm", TORCH, "(Tensor input, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros)", packed_product, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(packed_weights);
