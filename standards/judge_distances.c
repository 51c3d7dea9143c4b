/* One pass over both sides in blocks, so that no copy of a large tensor is made. */
#include "standards/judge_distances.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

struct distances {
    double dot, want_square, got_square, largest, largest_relative;
};

/* The larger of both, NaN when either is. */
static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

static void add_pair(struct distances *d, double want, double got)
{
    double difference = fabs(want - got);
    d->dot += want * got;
    d->want_square += want * want;
    d->got_square += got * got;
    d->largest = larger(d->largest, difference);
    d->largest_relative = larger(d->largest_relative, difference / (want == 0 ? 1e-8 : fabs(want)));
}

/* Components of the reference as its dtype holds them. */
static void stored_values(double *out, const struct reference *want, size_t start, size_t count)
{
    double elements[BLOCK]; /* room for any real dtype */
    enum dtype dtype = dtype_component(want->dtype);
    if (want->integer) {
        for (size_t i = 0; i < count; i++) out[i] = (double)want->integer[start + i];
        return;
    }
    dtype_from_double(elements, dtype, want->hi + start, count);
    dtype_to_double(out, elements, dtype, count);
}

/* Elements of the tested tensor; the parts of complex ones lie side by side. */
static void tested_values(double *out, const struct tensor *got, size_t start, size_t count)
{
    enum dtype dtype = dtype_component(got->dtype);
    const char *data = got->data;
    dtype_to_double(out, data + start * dtype_info(dtype)->bytes, dtype, count);
}

static struct distances measure(const struct reference *want, const struct tensor *got)
{
    struct distances d = { .dot = 0 };
    double expected[BLOCK], tested[BLOCK];
    for (size_t start = 0; start < want->n; start += BLOCK) {
        size_t count = want->n - start < BLOCK ? want->n - start : BLOCK;
        stored_values(expected, want, start, count);
        tested_values(tested, got, start, count);
        for (size_t i = 0; i < count; i++) add_pair(&d, expected[i], tested[i]);
    }
    return d;
}

static void put_reference(struct row *row, const struct reference *want)
{
    char shape[TENSOR_MAX_RANK * 24];
    shape_format(shape, sizeof shape, want->rank, want->shape);
    row_put(row, COLUMN_SHAPE, shape);
    row_put(row, COLUMN_BENCH_DTYPE, row_dtype_name(row, want->dtype));
}

static struct status not_comparable(struct row *row, const char *what)
{
    row_note(row, what, 1, 0, false);
    row_say(row, "two inputs are not valid for computing cosine similarity, skip comparing ");
    row_say(row, "two inputs are not valid for computing max absolute difference, skip comparing ");
    return row_close(row, VERDICT_ERROR);
}

static bool comparable(const struct reference *want, const struct tensor *got)
{
    return want->rank == got->rank &&
           !memcmp(want->shape, got->shape, (size_t)want->rank * sizeof *want->shape) &&
           dtype_is_complex(want->dtype) == dtype_is_complex(got->dtype);
}

static struct status decide(struct row *row, const struct distances *d)
{
    double cosine = (1e-8 + d->dot) / (1e-8 + sqrt(d->want_square) * sqrt(d->got_square));
    double least = row_limit(row, LIMIT_COSINE), most = row_limit(row, LIMIT_MAX_ABS_ERROR);
    bool similar = cosine > least, near = d->largest < most;

    row_put_double(row, COLUMN_COSINE, cosine);
    row_put_double(row, COLUMN_MAX_ABS_ERROR, d->largest);
    row_put_double(row, COLUMN_MAX_RELATIVE_ERROR, d->largest_relative);
    row_note(row, "cosine", cosine, least, similar);
    row_note(row, "max_abs_error", d->largest, most, near);
    if (!similar) row_say(row, "cosine similarity is less than threshold: %g ", least);
    if (!near) row_say(row, "max absolute difference is greater than threshold: %g ", most);
    return row_close(row, similar && near ? VERDICT_PASS : VERDICT_ERROR);
}

struct status judge_distances(struct row *row, const struct reference *want,
                              const struct value *got)
{
    struct tensor tested;

    put_reference(row, want);
    row->out->standard = "distances";
    if (got->kind != VALUE_TENSOR) return not_comparable(row, "type");
    TRY(tensor_densify(&tested, row->arena, got->tensor.tensor));
    row->device = dtype_component(tested.dtype);
    row_put(row, COLUMN_DEVICE_DTYPE, row_dtype_name(row, tested.dtype));
    if (!comparable(want, &tested)) return not_comparable(row, "shape");
    if (!want->n)
        return row_close_with(row, VERDICT_SKIP,
                              "Both outputs are empty, there is nothing to compare.");
    struct distances d = measure(want, &tested);
    return decide(row, &d);
}

struct status judge_distances_value(struct row *row, bool equal)
{
    row->out->standard = "distances";
    row_note(row, "equal", equal ? 0 : 1, 0, equal);
    return equal ? row_close(row, VERDICT_PASS) : not_comparable(row, "value");
}
