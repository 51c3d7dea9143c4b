/* Diagonals of matrices in bands, laid out as MindSpore has them: those of TensorFlow's ops of these names, which the reference pages of
 * mindspore.ops repeat. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"

/* Diagonals low .. high (0: the main one, above: positive) of matrices rows x columns, each in a row of `longest`, the
 * highest first; shorter ones at the left, or at the right by `right`. */
struct band {
    int64_t low, high, rows, columns, longest;
    bool right_above, right_below;
};

static bool read_band(struct call *call, struct band *b)
{
    int64_t k[2] = { 0, 0 };
    const struct value *value = call_value(call, "k");
    int count = 1;
    if (value->kind == VALUE_TENSOR) {
        struct node *given = call_node(call, value);
        if (!call_require(call, given->integer && given->n >= 1 && given->n <= 2,
                          "k is one number or two"))
            return false;
        count = (int)given->n;
        for (int i = 0; i < count; i++) k[i] = given->integer[i];
    } else {
        count = call_ints(call, "k", k, 2);
    }
    b->low = k[0];
    b->high = count == 2 ? k[1] : k[0];
    const char *align = call_string(call, "align");
    b->right_above = !strncmp(align, "RIGHT", 5);
    b->right_below = strstr(align, "_RIGHT") != NULL;
    return call_require(call, b->low <= b->high && b->low > -INT32_MAX && b->high < INT32_MAX,
                        "k names no diagonals");
}

/* How long diagonal d is. */
static int64_t length_of(const struct band *b, int64_t d)
{
    int64_t rows = b->rows + (d < 0 ? d : 0), columns = b->columns - (d > 0 ? d : 0);
    return rows < columns ? rows : columns;
}

/* Where element (row, column) lies among the diagonals, -1 outside of them. */
static int64_t place_of(const struct band *b, int64_t row, int64_t column)
{
    int64_t d = column - row;
    if (d < b->low || d > b->high) return -1;
    bool right = (d >= 0 && b->right_above) || (d <= 0 && b->right_below);
    int64_t at = (d > 0 ? row : column) + (right ? b->longest - length_of(b, d) : 0);
    return (b->high - d) * b->longest + at;
}

/* Do the diagonals of a tensor have the band's shape: their number, where there may be several, and the longest? */
static bool diagonals_fit(const struct band *b, const struct node *x, int lead)
{
    int64_t count = b->high - b->low + 1;
    bool several = b->low != b->high;
    return x->rank == lead + (several ? 2 : 1) && x->shape[x->rank - 1] == b->longest &&
           (!several || x->shape[lead] == count);
}

static void matrix_diag(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *fill = call_tensor(call, "padding_value");
    struct band b = { .rows = call_int(call, "num_rows"), .columns = call_int(call, "num_cols") };
    if (!read_band(call, &b)) return;
    int lead = x->rank - (b.low != b.high ? 2 : 1);
    if (!call_require(call, lead >= 0 && x->n && lead + 2 <= TENSOR_MAX_RANK && fill->n == 1,
                      "diagonals are needed"))
        return;
    b.longest = x->shape[x->rank - 1];
    int64_t rows = b.longest - (b.high < 0 ? b.high : 0),
            columns = b.longest + (b.low > 0 ? b.low : 0);
    if (b.rows == -1 && b.columns == -1) b.rows = b.columns = rows > columns ? rows : columns;
    else if (b.rows == -1) b.rows = rows;
    else if (b.columns == -1) b.columns = columns;
    if (!call_require(call,
                      b.rows >= rows && b.columns >= columns && b.rows <= INT32_MAX &&
                          b.columns <= INT32_MAX && diagonals_fit(&b, x, lead),
                      "the diagonals do not fit a matrix of %lld x %lld", (long long)b.rows,
                      (long long)b.columns))
        return;
    int64_t shape[TENSOR_MAX_RANK], of_each = (b.high - b.low + 1) * b.longest,
                                    each = b.rows * b.columns, count = (int64_t)x->n / of_each;
    memcpy(shape, x->shape, sizeof shape);
    shape[lead] = b.rows;
    shape[lead + 1] = b.columns;
    int64_t *map = tape_allocate(tape, (size_t)(count * each) + 1, sizeof *map);
    struct node *mask = node_new_integer(tape, DT_BOOL, lead + 2, shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < count * each; i++) {
        int64_t place = place_of(&b, i % each / b.columns, i % b.columns);
        map[i] = place < 0 ? -1 : i / each * of_each + place;
        mask->integer[i] = place >= 0;
    }
    struct node *y = node_gather(tape, x, lead + 2, shape, map, 0);
    call_return_typed(call, node_select(tape, mask, y, node_reshape(tape, fill, 0, NULL)),
                      x->dtype);
}

/* The matrices' extents and the longest of the diagonals. */
static bool band_of_matrices(struct call *call, struct band *b, const struct node *x)
{
    if (!read_band(call, b) || !call_require(call, x->rank >= 2 && x->n, "matrices are needed"))
        return false;
    b->rows = x->shape[x->rank - 2];
    b->columns = x->shape[x->rank - 1];
    if (!call_require(call, b->low > -b->rows && b->high < b->columns,
                      "a matrix of %lld x %lld does not have the diagonals", (long long)b->rows,
                      (long long)b->columns))
        return false;
    int64_t tall = b->rows + (b->high < 0 ? b->high : 0),
            wide = b->columns - (b->low > 0 ? b->low : 0);
    b->longest = tall < wide ? tall : wide;
    return true;
}

static void matrix_diag_part(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *fill = call_tensor(call, "padding_value");
    struct band b = { 0 };
    if (!band_of_matrices(call, &b, x) ||
        !call_require(call, fill->n == 1, "one padding_value is needed"))
        return;
    int lead = x->rank - 2, rank = lead;
    int64_t shape[TENSOR_MAX_RANK], of_each = (b.high - b.low + 1) * b.longest,
                                    each = b.rows * b.columns, count = (int64_t)x->n / each;
    memcpy(shape, x->shape, sizeof shape);
    if (b.low != b.high) shape[rank++] = b.high - b.low + 1;
    shape[rank++] = b.longest;
    int64_t *map = tape_allocate(tape, (size_t)(count * of_each) + 1, sizeof *map);
    struct node *mask = node_new_integer(tape, DT_BOOL, rank, shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < count * of_each; i++) mask->integer[i] = (map[i] = -1) >= 0;
    for (int64_t i = 0; i < count * each; i++) {
        int64_t place = place_of(&b, i % each / b.columns, i % b.columns);
        if (place < 0) continue;
        map[i / each * of_each + place] = i;
        mask->integer[i / each * of_each + place] = 1;
    }
    struct node *y = node_gather(tape, x, rank, shape, map, 0);
    call_return_typed(call, node_select(tape, mask, y, node_reshape(tape, fill, 0, NULL)),
                      x->dtype);
}

static void matrix_set_diag(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *diagonal = call_tensor(call, "diagonal");
    struct band b = { 0 };
    if (!band_of_matrices(call, &b, x) ||
        !call_require(call, diagonals_fit(&b, diagonal, x->rank - 2),
                      "the diagonals do not have the matrices' shape"))
        return;
    int64_t of_each = (b.high - b.low + 1) * b.longest, each = b.rows * b.columns;
    if (!call_require(call, (int64_t)diagonal->n == (int64_t)x->n / each * of_each,
                      "as many diagonals as matrices are needed"))
        return;
    int64_t *map = tape_allocate(tape, x->n + 1, sizeof *map);
    struct node *mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        int64_t place = place_of(&b, i % each / b.columns, i % b.columns);
        map[i] = place < 0 ? -1 : i / each * of_each + place;
        mask->integer[i] = place >= 0;
    }
    struct node *y = node_gather(tape, diagonal, x->rank, x->shape, map, 0);
    call_return_typed(call, node_select(tape, mask, y, x), x->dtype);
}

/* Elements up to `lower` diagonals below and `upper` above the main one; negative ones take all. The rest is 0. */
static void matrix_band_part(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    int64_t lower = call_int(call, "lower"), upper = call_int(call, "upper");
    if (!call_require(call, x->rank >= 2, "matrices are needed")) return;
    struct node *band = node_band(tape, x->shape[x->rank - 2], x->shape[x->rank - 1],
                                  upper < 0 ? INT64_MAX : upper, lower < 0 ? INT64_MAX : lower);
    call_return_typed(
        call,
        node_select(tape, band, x,
                    node_cast(tape, node_integer_constant(tape, DT_BOOL, 0, 0, NULL), x->dtype)),
        x->dtype);
}

/* clang-format off */
const struct op ops_mindspore_bands[] = {
    { "matrix_diag", MINDSPORE, "(Tensor x, Any k, int num_rows, int num_cols, Tensor padding_value, str align)", matrix_diag, 0, 0, NULL },
    { "matrix_diag_part", MINDSPORE, "(Tensor x, Any k, Tensor padding_value, str align)", matrix_diag_part, 0, 0, NULL },
    { "matrix_set_diag", MINDSPORE, "(Tensor x, Tensor diagonal, Any k, str align)", matrix_set_diag, 0, 0, NULL },
    { "matrix_band_part", MINDSPORE, "(Tensor x, int lower, int upper)", matrix_band_part, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(mindspore_bands);
