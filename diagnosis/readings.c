/* One function per misreading; the table gives each its class and its words. */
#include "diagnosis/readings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t stride_of(const struct reading *r)
{
    size_t stride = 1;
    for (int d = r->rank - 1; d > r->axis; d--) stride *= (size_t)r->shape[d];
    return stride;
}

static int64_t index_of(const struct reading *r, size_t i)
{
    return (int64_t)(i / stride_of(r) % (size_t)r->shape[r->axis]);
}

/* ---- what can become of a tensor: false when it would be itself ---------------------------------------- */

static bool is_floating(const struct reading *r) { return dtype_is_float(r->dtype); }

static bool doubled(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = 2 * r->x[i];
    return is_floating(r);
}

static bool zeroed(struct reading *r)
{
    memset(r->y, 0, r->n * sizeof *r->y);
    return is_floating(r);
}

static bool ones(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = 1;
    return is_floating(r);
}

static bool negated(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = -r->x[i];
    return is_floating(r);
}

static bool flushed(struct reading *r)
{
    bool any = false;
    if (!is_floating(r)) return false;
    double least = ldexp(1, dtype_info(r->dtype)->exponent_min);
    for (size_t i = 0; i < r->n; i++) {
        r->y[i] = fabs(r->x[i]) < least ? 0 : r->x[i];
        any |= r->x[i] != 0 && r->y[i] == 0;
    }
    return any;
}

static bool without_nan(struct reading *r)
{
    bool any = false;
    for (size_t i = 0; i < r->n; i++) {
        r->y[i] = isnan(r->x[i]) ? 0 : r->x[i];
        any |= isnan(r->x[i]);
    }
    return any;
}

static bool nan_is_least(struct reading *r)
{
    bool any = without_nan(r);
    for (size_t i = 0; i < r->n; i++)
        if (isnan(r->x[i])) r->y[i] = -INFINITY;
    return any;
}

static bool inverted(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = r->x[i] == 0;
    return r->dtype == DT_BOOL;
}

/* Indices that count from one, or from minus one. */
static bool stepped(struct reading *r)
{
    if (!dtype_is_integral(r->dtype) || r->dtype == DT_BOOL) return false;
    for (size_t i = 0; i < r->n; i++) r->y[i] = r->x[i] + (double)r->count;
    return true;
}

/* The same; those that leave the range of what occurs go round. */
static bool stepped_round(struct reading *r)
{
    double most = 0;
    if (!stepped(r)) return false;
    for (size_t i = 0; i < r->n; i++) most = fmax(most, r->x[i]);
    for (size_t i = 0; i < r->n; i++)
        if (r->y[i] < 0 || r->y[i] > most) r->y[i] = r->y[i] < 0 ? most : 0;
    return true;
}

static bool rolled(struct reading *r)
{
    int64_t extent = r->shape[r->axis];
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i), from = ((at + r->count) % extent + extent) % extent;
        r->y[i] = r->x[i + (size_t)(from - at) * stride_of(r)];
    }
    return extent > 1;
}

/* The edge stays. */
static bool clamped_shift(struct reading *r)
{
    int64_t extent = r->shape[r->axis];
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i), from = at + r->count;
        from = from < 0 ? 0 : from >= extent ? extent - 1 : from;
        r->y[i] = r->x[i + (size_t)(from - at) * stride_of(r)];
    }
    return extent > 1;
}

/* One element further in memory. */
static bool memory_shift(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        int64_t from = (int64_t)i + r->count;
        r->y[i] = r->x[from < 0 || from >= (int64_t)r->n ? (int64_t)i : from];
    }
    return r->n > 1;
}

static bool first_repeated(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = r->x[i - (size_t)index_of(r, i) * stride_of(r)];
    return r->shape[r->axis] > 1;
}

static bool only_first(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = index_of(r, i) ? 0 : r->x[i];
    return r->shape[r->axis] > 1 && is_floating(r);
}

static bool reversed(struct reading *r)
{
    int64_t extent = r->shape[r->axis];
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i);
        r->y[i] = r->x[i + (size_t)(extent - 1 - 2 * at) * stride_of(r)];
    }
    return extent > 1;
}

static bool halves_swapped(struct reading *r)
{
    int64_t half = r->shape[r->axis] / 2;
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i), from = at < half ? at + half : at < 2 * half ? at - half : at;
        r->y[i] = r->x[i + (size_t)(from - at) * stride_of(r)];
    }
    return half > 0;
}

static bool last_two_swapped(struct reading *r)
{
    int64_t extent = r->shape[r->axis];
    if (extent < 3) return false; /* of two it is a roll */
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i), from = at < extent - 2 ? at : 2 * extent - 3 - at;
        r->y[i] = r->x[i + (size_t)(from - at) * stride_of(r)];
    }
    return true;
}

/* How many indices the last part of the axis has: `count`, or what is behind the last multiple of a negative one. 0 when
 * another row of the table has the same. */
static int64_t tail_of(const struct reading *r)
{
    int64_t extent = r->shape[r->axis];
    int64_t block = -r->count;
    if (block < 4) return r->count > 0 && r->count < extent ? r->count : 0;
    int64_t tail = extent % block, of_half = extent % (block / 2);
    return tail < extent && tail > 1 && (tail != of_half || block == 4) ? tail : 0;
}

static int64_t head_of(const struct reading *r)
{
    return r->count < r->shape[r->axis] ? r->count : 0;
}

/* The part, at the end or at the start of the axis, times a factor, or in the place of least values. */
static bool part_times(struct reading *r, int64_t part, bool end, double factor)
{
    int64_t extent = r->shape[r->axis];
    r->part = part;
    if (!part || !is_floating(r)) return false;
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i);
        bool inside = end ? at >= extent - part : at < part;
        r->y[i] = !inside ? r->x[i] : factor == 0 ? 0 : isinf(factor) ? factor : factor * r->x[i];
    }
    return true;
}

static bool tail_dropped(struct reading *r) { return part_times(r, tail_of(r), true, 0); }
static bool tail_doubled(struct reading *r) { return part_times(r, tail_of(r), true, 2); }
static bool head_dropped(struct reading *r) { return part_times(r, head_of(r), false, 0); }
static bool head_doubled(struct reading *r) { return part_times(r, head_of(r), false, 2); }

/* What is left out of a maximum or of a sum of exponentials. */
static bool tail_least(struct reading *r) { return part_times(r, tail_of(r), true, -INFINITY); }

/* The first of `count` parts of the axis read for all of them. */
static bool first_part_repeated(struct reading *r)
{
    int64_t extent = r->shape[r->axis], part = extent / r->count;
    if (extent % r->count || part < 1) return false;
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i);
        r->y[i] = r->x[i + (size_t)(at % part - at) * stride_of(r)];
    }
    return true;
}

/* The last two axes exchanged, of square matrices; otherwise read in the memory order of the transpose. */
static bool transposed(struct reading *r)
{
    if (r->rank < 2) return false;
    size_t columns = (size_t)r->shape[r->rank - 1], rows = (size_t)r->shape[r->rank - 2];
    size_t matrix = rows * columns;
    for (size_t i = 0; i < r->n; i++) {
        size_t at = i % matrix;
        r->y[i] = r->x[i - at + at % rows * columns + at / rows];
    }
    return rows > 1 && columns > 1;
}

/* Its bits taken for another dtype of the same width: float16 and bfloat16. */
static bool reinterpreted(struct reading *r)
{
    if (r->dtype != DT_F16 && r->dtype != DT_BF16) return false;
    enum dtype other = r->dtype == DT_F16 ? DT_BF16 : DT_F16;
    for (size_t i = 0; i < r->n; i++) {
        uint16_t bits;
        dtype_from_double(&bits, r->dtype, &r->x[i], 1);
        dtype_to_double(&r->y[i], &bits, other, 1);
    }
    return true;
}

void reading_drop(struct reading *r, int64_t k)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = index_of(r, i) == k ? 0 : r->x[i];
}

bool reading_round(struct reading *r, const struct rounding *rounding)
{
    bool any = false;
    for (size_t i = 0; i < r->n; i++) {
        r->y[i] = rounding_apply(rounding, r->x[i]);
        any |= r->y[i] != r->x[i];
    }
    return any && is_floating(r);
}

const struct input_format input_formats[] = {
    { "rounded to 10 bits (TF32)", 0, { 11, -126, 0x1.ffcp127, false } },
    { "rounded to 7 bits (bfloat16)", 0, { 8, -126, 0x1.fep127, false } },
    { "rounded to 10 bits (float16)", 3, { 11, -14, 65504, false } },
    { "rounded to 11 bits (HF32)", 1, { 12, -126, 0x1.ffep127, false } },
    { "cut off to 10 bits (TF32)", 1, { 11, -126, 0x1.ffcp127, true } },
    { "cut off to 7 bits (bfloat16)", 1, { 8, -126, 0x1.fep127, true } },
    { "rounded to 3 bits (float8_e4m3)", 1, { 4, -6, 448, false } },
    { "rounded to 2 bits (float8_e5m2)", 1, { 3, -14, 57344, false } },
    { .words = NULL },
};

/* ---- the table ------------------------------------------------------------------------------------------ */

/* clang-format off */
const struct misreading misreadings[] = {
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, -4, false },
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, -8, false },
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, -16, false },
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, -32, false },
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, -64, false },
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, -128, false },
    { "missing operand",   2, "%s missing (taken for 0)",                           zeroed, false, 0, false },
    { "missing operand",   2, "%s missing (taken for 1)",                           ones, false, 0, false },
    { "doubled operand",   3, "%s counted twice",                                   doubled, false, 0, false },
    { "wrong sign",        3, "%s with the wrong sign",                             negated, false, 0, false },
    { "flushed subnormals",1, "subnormal elements of %s read as zero",              flushed, false, 0, false },
    { "nan swallowed",     3, "NaN in %s read as 0",                                without_nan, false, 0, false },
    { "nan swallowed",     2, "NaN in %s ignored",                                  nan_is_least, false, 0, false },
    { "inverted condition",2, "%s with true and false exchanged",                   inverted, false, 0, false },
    { "index off by one",  1, "indices in %s read as one more",                     stepped, false, 1, false },
    { "index off by one",  1, "indices in %s read as one less",                     stepped, false, -1, false },
    { "index off by one",  2, "indices in %s read as one more, the last as 0",      stepped_round, false, 1, false },
    { "index off by one",  2, "indices in %s read as one less, 0 as the last",      stepped_round, false, -1, false },
    { "shifted",           4, "%s read one further along axis %d, wrapped around",  rolled, true, 1, false },
    { "shifted",           4, "%s read one before along axis %d, wrapped around",   rolled, true, -1, false },
    { "shifted",           5, "%s read one further along axis %d",                  clamped_shift, true, 1, false },
    { "shifted",           5, "%s read one before along axis %d",                   clamped_shift, true, -1, false },
    { "index off by one",  5, "%s read one element further in memory",              memory_shift, false, 1, false },
    { "index off by one",  5, "%s read one element before in memory",               memory_shift, false, -1, false },
    { "repeated slice",    4, "%s: the first index of axis %d read for all",        first_repeated, true, 0, false },
    { "dropped part",      5, "%s: only the first index of axis %d read",           only_first, true, 0, false },
    { "reversed",          5, "%s read backwards along axis %d",                    reversed, true, 0, false },
    { "swapped",           5, "%s: halves of axis %d swapped",                      halves_swapped, true, 0, false },
    { "swapped",           5, "%s: the last two indices of axis %d swapped",        last_two_swapped, true, 0, false },
    { "dropped part",        4, "%s: the last %t along axis %d left out",               tail_dropped, true, 1, false },
    { "dropped part",        6, "%s: the last %t along axis %d left out",               tail_dropped, true, 16, false },
    { "dropped part",        6, "%s: the last %t along axis %d left out",               tail_dropped, true, 32, false },
    { "dropped part",        6, "%s: the last %t along axis %d left out",               tail_dropped, true, 64, false },
    { "dropped part",        6, "%s: the last %t along axis %d left out",               tail_dropped, true, 128, false },
    { "dropped part",        5, "%s: the first %t along axis %d left out",              head_dropped, true, 1, false },
    { "dropped part",        5, "%s: the first %t along axis %d left out",              head_dropped, true, 16, false },
    { "dropped part",        5, "%s: the first %t along axis %d left out",              head_dropped, true, 32, false },
    { "dropped part",        5, "%s: the first %t along axis %d left out",              head_dropped, true, 64, false },
    { "dropped part",        5, "%s: the first %t along axis %d left out",              head_dropped, true, 128, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, 1, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, -4, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, -8, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, -16, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, -32, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, -64, false },
    { "counted twice",       5, "%s: the last %t along axis %d counted twice",          tail_doubled, true, -128, false },
    { "counted twice",       6, "%s: the first %t along axis %d counted twice",         head_doubled, true, 1, false },
    { "counted twice",       6, "%s: the first %t along axis %d counted twice",         head_doubled, true, 16, false },
    { "counted twice",       6, "%s: the first %t along axis %d counted twice",         head_doubled, true, 32, false },
    { "counted twice",       6, "%s: the first %t along axis %d counted twice",         head_doubled, true, 64, false },
    { "counted twice",       6, "%s: the first %t along axis %d counted twice",         head_doubled, true, 128, false },
    { "dropped part",        5, "%s: the last %t along axis %d not seen",               tail_least, true, 1, true },
    { "dropped part",        5, "%s: the last %t along axis %d not seen",               tail_least, true, -4, true },
    { "dropped part",        5, "%s: the last %t along axis %d not seen",               tail_least, true, -8, true },
    { "dropped part",        5, "%s: the last %t along axis %d not seen",               tail_least, true, -16, true },
    { "dropped part",        5, "%s: the last %t along axis %d not seen",               tail_least, true, -32, true },
    { "dropped part",        5, "%s: the last %t along axis %d not seen",               tail_least, true, -64, true },
    { "repeated slice",    5, "%s: the first half of axis %d read for both",        first_part_repeated, true, 2, false },
    { "repeated slice",    5, "%s: the first third of axis %d read for all",        first_part_repeated, true, 3, false },
    { "repeated slice",    5, "%s: the first quarter of axis %d read for all",      first_part_repeated, true, 4, false },
    { "repeated slice",    5, "%s: the first eighth of axis %d read for all",       first_part_repeated, true, 8, false },
    { "transposed",        3, "%s read in the memory order of its transpose",       transposed, false, 0, false },
    { "wrong dtype",       4, "%s read as another dtype of two bytes",              reinterpreted, false, 0, false },
    { .words = NULL },
};
/* clang-format on */

void misreading_text(char *out, size_t bytes, const struct misreading *row, const char *name,
                     const struct reading *reading)
{
    size_t used = 0;
    for (const char *at = row->words; *at && used < bytes; at++) {
        const bool mark = *at == '%';
        int length = 0;
        if (mark) at++;
        if (!mark) length = snprintf(out + used, bytes - used, "%c", *at);
        else if (*at == 's') length = snprintf(out + used, bytes - used, "%s", name);
        else if (*at == 'd') length = snprintf(out + used, bytes - used, "%d", reading->axis);
        else
            length = snprintf(out + used, bytes - used, "%lld of %lld", (long long)reading->part,
                              (long long)reading->shape[reading->axis]);
        used += (size_t)length;
    }
}

struct status reading_open(struct reading *out, bool *readable, struct arena *arena,
                           const struct tensor *tensor)
{
    struct tensor dense;
    *readable = tensor && !dtype_is_complex(tensor->dtype) && tensor_elements(tensor);
    if (!*readable) return status_ok();
    *out = (struct reading){ .dtype = tensor->dtype,
                             .rank = tensor->rank,
                             .shape = tensor->shape,
                             .n = tensor_elements(tensor) };
    double *x = arena_allocate_array(arena, out->n, sizeof *x);
    out->y = arena_allocate_array(arena, out->n, sizeof *out->y);
    if (!x || !out->y) return status_no_memory(out->n * sizeof *x);
    TRY(tensor_densify(&dense, arena, tensor));
    dtype_to_double(x, dense.data, dense.dtype, out->n);
    out->x = x;
    return status_ok();
}

struct status reading_close(struct tensor *out, struct arena *arena, const struct reading *reading)
{
    TRY(tensor_create(out, arena, reading->dtype, reading->rank, reading->shape));
    dtype_from_double(out->data, reading->dtype, reading->y, reading->n);
    return status_ok();
}
