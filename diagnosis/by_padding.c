/* Mistakes at the edge: windows of convolutions and poolings that see something else than they should beyond the input. The
 * input is padded with that, and the call made without padding. */
#include <string.h>

#include "core/checked.h"
#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"
#include "diagnosis/readings.h"

enum filling { FILL_ZERO, FILL_EDGE, FILL_REFLECTION, FILL_ROUND, FILLINGS };

static const char *const words[FILLINGS] = { "padding counts as 0", "padding repeats the edge",
                                             "padding mirrors the input",
                                             "padding continues at the other end" };

/* Padding of the last `axes` dimensions. */
struct padding {
    int parameter, axes;
    int64_t widths[3];
};

static bool find_padding(struct padding *out, const struct bench *bench, int rank)
{
    const struct schema *schema = bench_schema(bench);
    out->parameter = -1;
    for (int p = 0; p < schema->count; p++)
        if (!strcmp(schema->parameters[p].name, "padding")) out->parameter = p;
    if (out->parameter < 0 || rank < 3 || rank > 5) return false;
    const struct value *value = bench_bound(bench, out->parameter);
    out->axes = rank - 2;
    for (int d = 0; d < out->axes; d++) {
        const struct value *item = value;
        if (value_is_sequence(value)) {
            if (value->list.count != 1 && value->list.count != (size_t)out->axes) return false;
            item = &value->list.items[value->list.count == 1 ? 0 : d];
        }
        if (item->kind != VALUE_INT || item->integer < 0 || item->integer > 64) return false;
        out->widths[d] = item->integer;
    }
    return true;
}

static int64_t source_of(int64_t at, int64_t extent, enum filling filling)
{
    if (at >= 0 && at < extent) return at;
    switch (filling) {
    case FILL_EDGE: return at < 0 ? 0 : extent - 1;
    case FILL_ROUND: return (at % extent + extent) % extent;
    case FILL_REFLECTION: {
        int64_t mirrored = at < 0 ? -at : 2 * (extent - 1) - at;
        return mirrored >= 0 && mirrored < extent ? mirrored : -1;
    }
    default: return -1;
    }
}

/* The input with its padding around it, as a tensor. */
static struct status pad(struct tensor *out, struct arena *arena, const struct reading *r,
                         const struct padding *padding, enum filling filling)
{
    struct reading padded = *r;
    int64_t shape[TENSOR_MAX_RANK];
    int first = r->rank - padding->axes;
    for (int d = 0; d < r->rank; d++)
        shape[d] = r->shape[d] + (d < first ? 0 : 2 * padding->widths[d - first]);
    if (!shape_elements(&padded.n, r->rank, shape)) return status_no_memory(0);
    padded.shape = shape;
    padded.y = arena_allocate_array(arena, padded.n, sizeof *padded.y);
    if (!padded.y) return status_no_memory(padded.n * sizeof *padded.y);
    for (size_t i = 0; i < padded.n; i++) {
        size_t rest = i, at = 0, stride = 1;
        bool inside = true;
        for (int d = r->rank - 1; d >= 0; d--) {
            int64_t k = (int64_t)(rest % (size_t)shape[d]) -
                        (d < first ? 0 : padding->widths[d - first]);
            rest /= (size_t)shape[d];
            k = source_of(k, r->shape[d], filling);
            inside &= k >= 0;
            at += inside ? (size_t)k * stride : 0;
            stride *= (size_t)r->shape[d];
        }
        padded.y[i] = inside ? r->x[at] : 0;
    }
    return reading_close(out, arena, &padded);
}

static struct status offer_padded(struct subject *s, const struct hypothesis *h,
                                  const struct reading *reading, const struct padding *padding,
                                  enum filling filling)
{
    struct tensor padded;
    const struct tensor **tensors =
        arena_allocate_zeroed(s->arena, bench_tensor_count(s->request->bench), sizeof *tensors);
    if (!tensors) return status_no_memory(0);
    TRY(pad(&padded, s->arena, reading, padding, filling));
    tensors[0] = &padded;
    struct what_if change = { .inputs = tensors, .argument_count = 1 };
    change.arguments[0].parameter = padding->parameter;
    change.arguments[0].value = (struct value){ .kind = VALUE_INT, .integer = 0 };
    struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY, "%s", words[filling]);
    return subject_offer_change(s, &claim, &change, 2);
}

/* The input is the first tensor of such calls. */
static struct status other_padding(struct subject *s, const struct hypothesis *h)
{
    const struct bench *bench = s->request->bench;
    struct reading reading;
    struct padding padding;
    bool readable;
    if (s->result.backward || !bench_tensor_count(bench)) return status_ok();
    TRY(reading_open(&reading, &readable, s->arena, bench_tensor(bench, 0)->tensor.tensor));
    if (!readable || !find_padding(&padding, bench, reading.rank)) return status_ok();
    for (int filling = 0; filling < FILLINGS; filling++) {
        struct arena_mark mark = arena_mark(s->arena);
        struct status status = offer_padded(s, h, &reading, &padding, (enum filling)filling);
        arena_rewind(s->arena, mark);
        TRY(status);
    }
    return status_ok();
}

/* clang-format off */
const struct hypothesis padding_hypotheses[] = {
    { "padding", 5, other_padding },
    { .class = NULL },
};
/* clang-format on */
