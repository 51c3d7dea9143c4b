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
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = index_of(r, i), from = at < extent - 2 ? at : 2 * extent - 3 - at;
        r->y[i] = r->x[i + (size_t)(from - at) * stride_of(r)];
    }
    return extent > 2; /* of two it is a roll */
}

/* The last `count` indices, or those behind the last multiple of a negative one, are zero. */
static bool tail_dropped(struct reading *r)
{
    int64_t extent = r->shape[r->axis];
    int64_t tail = r->count > 0 ? r->count : extent % -r->count;
    if (tail < 1 || tail >= extent || !is_floating(r)) return false;
    for (size_t i = 0; i < r->n; i++) r->y[i] = index_of(r, i) >= extent - tail ? 0 : r->x[i];
    return true;
}

/* The same, least instead of zero: what is left out of a maximum or a sum of exponentials. */
static bool tail_least(struct reading *r)
{
    if (!tail_dropped(r)) return false;
    int64_t extent = r->shape[r->axis], tail = r->count > 0 ? r->count : extent % -r->count;
    for (size_t i = 0; i < r->n; i++)
        if (index_of(r, i) >= extent - tail) r->y[i] = -INFINITY;
    return true;
}

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

/* The first `count` indices are zero. */
static bool head_dropped(struct reading *r)
{
    if (r->count >= r->shape[r->axis] || !is_floating(r)) return false;
    for (size_t i = 0; i < r->n; i++) r->y[i] = index_of(r, i) < r->count ? 0 : r->x[i];
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
    { "rounded to 10 bits (TF32)", { 11, -126, 0x1.ffcp127, false } },
    { "rounded to 7 bits (bfloat16)", { 8, -126, 0x1.fep127, false } },
    { "rounded to 10 bits (float16)", { 11, -14, 65504, false } },
    { "rounded to 11 bits (HF32)", { 12, -126, 0x1.ffep127, false } },
    { "cut off to 10 bits (TF32)", { 11, -126, 0x1.ffcp127, true } },
    { "cut off to 7 bits (bfloat16)", { 8, -126, 0x1.fep127, true } },
    { "rounded to 3 bits (float8_e4m3)", { 4, -6, 448, false } },
    { "rounded to 2 bits (float8_e5m2)", { 3, -14, 57344, false } },
    { .words = NULL },
};

/* ---- the table ------------------------------------------------------------------------------------------ */

/* clang-format off */
const struct misreading misreadings[] = {
    { "missing operand",   2, "%s missing (taken for 0)",                           zeroed, false, 0 },
    { "missing operand",   2, "%s missing (taken for 1)",                           ones, false, 0 },
    { "doubled operand",   3, "%s counted twice",                                   doubled, false, 0 },
    { "wrong sign",        3, "%s with the wrong sign",                             negated, false, 0 },
    { "flushed subnormals",1, "subnormal elements of %s read as zero",              flushed, false, 0 },
    { "nan swallowed",     3, "NaN in %s read as 0",                                without_nan, false, 0 },
    { "nan swallowed",     2, "NaN in %s ignored",                                  nan_is_least, false, 0 },
    { "inverted condition",2, "%s with true and false exchanged",                   inverted, false, 0 },
    { "index off by one",  1, "indices in %s read as one more",                     stepped, false, 1 },
    { "index off by one",  1, "indices in %s read as one less",                     stepped, false, -1 },
    { "index off by one",  2, "indices in %s read as one more, the last as 0",      stepped_round, false, 1 },
    { "index off by one",  2, "indices in %s read as one less, 0 as the last",      stepped_round, false, -1 },
    { "shifted",           4, "%s read one further along axis %d, wrapped around",  rolled, true, 1 },
    { "shifted",           4, "%s read one before along axis %d, wrapped around",   rolled, true, -1 },
    { "shifted",           5, "%s read one further along axis %d",                  clamped_shift, true, 1 },
    { "shifted",           5, "%s read one before along axis %d",                   clamped_shift, true, -1 },
    { "index off by one",  5, "%s read one element further in memory",              memory_shift, false, 1 },
    { "index off by one",  5, "%s read one element before in memory",               memory_shift, false, -1 },
    { "repeated slice",    4, "%s: the first index of axis %d read for all",        first_repeated, true, 0 },
    { "dropped part",      5, "%s: only the first index of axis %d read",           only_first, true, 0 },
    { "reversed",          5, "%s read backwards along axis %d",                    reversed, true, 0 },
    { "swapped",           5, "%s: halves of axis %d swapped",                      halves_swapped, true, 0 },
    { "swapped",           5, "%s: the last two indices of axis %d swapped",        last_two_swapped, true, 0 },
    { "dropped part",      4, "%s: the last index of axis %d left out",             tail_dropped, true, 1 },
    { "dropped part",      4, "%s: what is behind the last 2 of axis %d left out",  tail_dropped, true, -2 },
    { "dropped part",      4, "%s: what is behind the last 4 of axis %d left out",  tail_dropped, true, -4 },
    { "dropped part",      4, "%s: what is behind the last 8 of axis %d left out",  tail_dropped, true, -8 },
    { "dropped part",      4, "%s: what is behind the last 16 of axis %d left out", tail_dropped, true, -16 },
    { "dropped part",      4, "%s: what is behind the last 32 of axis %d left out", tail_dropped, true, -32 },
    { "dropped part",      4, "%s: what is behind the last 64 of axis %d left out", tail_dropped, true, -64 },
    { "dropped part",      4, "%s: what is behind the last 128 of axis %d left out",tail_dropped, true, -128 },
    { "dropped part",      5, "%s: the first index of axis %d left out",            head_dropped, true, 1 },
    { "dropped part",      5, "%s: the last index of axis %d not seen",             tail_least, true, 1 },
    { "dropped part",      5, "%s: what is behind the last 4 of axis %d not seen",  tail_least, true, -4 },
    { "dropped part",      5, "%s: what is behind the last 8 of axis %d not seen",  tail_least, true, -8 },
    { "dropped part",      5, "%s: what is behind the last 16 of axis %d not seen", tail_least, true, -16 },
    { "dropped part",      5, "%s: what is behind the last 32 of axis %d not seen", tail_least, true, -32 },
    { "repeated slice",    5, "%s: the first half of axis %d read for both",        first_part_repeated, true, 2 },
    { "repeated slice",    5, "%s: the first third of axis %d read for all",        first_part_repeated, true, 3 },
    { "repeated slice",    5, "%s: the first quarter of axis %d read for all",      first_part_repeated, true, 4 },
    { "repeated slice",    5, "%s: the first eighth of axis %d read for all",       first_part_repeated, true, 8 },
    { "transposed",        3, "%s read in the memory order of its transpose",       transposed, false, 0 },
    { "wrong dtype",       4, "%s read as another dtype of two bytes",              reinterpreted, false, 0 },
    { .words = NULL },
};
/* clang-format on */

void misreading_text(char *out, size_t bytes, const struct misreading *row, const char *name,
                     int axis)
{
    const char *tensor = strstr(row->words, "%s"), *number = strstr(row->words, "%d");
    if (!number)
        (void)snprintf(out, bytes, "%.*s%s%s", (int)(tensor - row->words), row->words, name,
                       tensor + 2);
    else
        (void)snprintf(out, bytes, "%.*s%s%.*s%d%s", (int)(tensor - row->words), row->words, name,
                       (int)(number - tensor - 2), tensor + 2, axis, number + 2);
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
