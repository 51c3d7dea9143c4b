/* Mistakes in reading: the right call upon wrong inputs. Every misreading of the table is tried with every tensor
 * argument and, for gradients, every cotangent. */
#include <string.h>

#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"
#include "diagnosis/readings.h"

/* Tensors of one call that are looked at. */
enum { MOST_TENSORS = 8 };

/* A tensor of the call: argument or cotangent `at` of `count`. */
struct place {
    bool cotangent;
    size_t at, count;
};

/* The call with the tensor as `reading` has it. */
static struct status offer_reading(struct subject *s, const struct claim *claim,
                                   const struct place *place, const struct reading *reading)
{
    struct tensor changed;
    const struct tensor **tensors = arena_allocate_zeroed(s->arena, place->count, sizeof *tensors);
    if (!tensors) return status_no_memory(0);
    TRY(reading_close(&changed, s->arena, reading));
    tensors[place->at] = &changed;
    struct what_if change = { .argument_count = 0 };
    if (place->cotangent) change.cotangents = tensors;
    else change.inputs = tensors;
    return subject_offer_change(s, claim, &change, 1);
}

static bool is_about_amount(const struct misreading *row)
{
    static const char *const classes[] = { "missing operand", "doubled operand", "dropped part",
                                           "wrong sign" };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(row->class, classes[i])) return true;
    return false;
}

static struct status try_misreading(struct subject *s, const struct misreading *row,
                                    const struct place *place, struct reading *reading,
                                    const char *name)
{
    if (row->no_products && bench_steps(s->request->bench).products) return status_ok();
    for (reading->axis = 0; reading->axis < (row->each_axis ? reading->rank : 1); reading->axis++) {
        reading->count = row->count;
        if (!subject_spend(s, 2 * (double)reading->n) || !row->apply(reading)) continue;
        struct arena_mark mark = arena_mark(s->arena);
        struct claim claim = { .class = row->class, .bits = row->bits + 2, .scope = CLAIM_ANY };
        /* What is missing of a bias, or too much, is a mistake with the bias. */
        if (!strcmp(name, "bias") && is_about_amount(row)) claim.class = "bias";
        misreading_text(claim.sentence, sizeof claim.sentence, row, name, reading);
        struct status status = offer_reading(s, &claim, place, reading);
        arena_rewind(s->arena, mark);
        TRY(status);
    }
    return status_ok();
}

static struct status misread_tensor(struct subject *s, const struct place *place,
                                    const struct tensor *tensor, const char *name)
{
    struct reading reading;
    bool readable;
    struct arena_mark mark = arena_mark(s->arena);
    struct status status = reading_open(&reading, &readable, s->arena, tensor);
    for (const struct misreading *row = misreadings; readable && row->words && !status.code; row++)
        status = try_misreading(s, row, place, &reading, name);
    arena_rewind(s->arena, mark);
    return status;
}

static struct status misread_inputs(struct subject *s, const struct hypothesis *h)
{
    const struct bench *bench = s->request->bench;
    size_t count = bench_tensor_count(bench);
    (void)h;
    for (size_t i = 0; i < count && i < MOST_TENSORS; i++) {
        char name[TENSOR_NAME_BYTES];
        const struct place place = { false, i, count };
        tensor_name(name, s, i);
        TRY(misread_tensor(s, &place, bench_tensor(bench, i)->tensor.tensor, name));
    }
    return status_ok();
}

struct collecting {
    const struct tensor *tensors[MOST_TENSORS];
    size_t count;
};

static bool collect(struct value *value, void *context)
{
    struct collecting *all = context;
    if (all->count < MOST_TENSORS) all->tensors[all->count++] = value->tensor.tensor;
    return true;
}

static struct status misread_cotangents(struct subject *s, const struct hypothesis *h)
{
    struct collecting all = { .count = 0 };
    (void)h;
    if (!s->result.backward) return status_ok();
    struct value cotangents = *bench_cotangents(s->request->bench);
    (void)value_each_tensor(&cotangents, collect, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct place place = { true, i, value_count_tensors(&cotangents) };
        TRY(misread_tensor(s, &place, all.tensors[i], "cotangent"));
    }
    return status_ok();
}

/* ---- one index ------------------------------------------------------------------------------------------------ */

/* Extents within which each index is tried. */
enum { MOST_INDICES = 256 };

static struct status one_index(struct subject *s, const struct hypothesis *h)
{
    const struct bench *bench = s->request->bench;
    const struct place place = { false, 0, bench_tensor_count(bench) };
    struct reading r;
    bool readable;
    char name[TENSOR_NAME_BYTES];
    if (!place.count || !bench_steps(bench).sums) return status_ok();
    TRY(reading_open(&r, &readable, s->arena, bench_tensor(bench, 0)->tensor.tensor));
    if (!readable || !dtype_is_float(r.dtype)) return status_ok();
    tensor_name(name, s, 0);
    for (r.axis = 0; r.axis < r.rank; r.axis++)
        for (int64_t k = 0; r.shape[r.axis] <= MOST_INDICES && k < r.shape[r.axis]; k++) {
            if (!subject_spend(s, (double)r.n)) return status_ok();
            reading_drop(&r, k);
            struct arena_mark mark = arena_mark(s->arena);
            struct claim claim = claim_make(h->class, h->bits + bits_of((double)r.shape[r.axis]),
                                            CLAIM_WHOLE, "%s: index %lld of axis %d left out", name,
                                            (long long)k, r.axis);
            struct status status = offer_reading(s, &claim, &place, &r);
            arena_rewind(s->arena, mark);
            TRY(status);
        }
    return status_ok();
}

/* ---- repeated indices -------------------------------------------------------------------------------------- */

/* Of indices that occur more than once only the last one's cotangents arrive: a gradient that is stored where it should
 * be added. The cotangent has the shape of the indices and that of a row. */
static bool keep_last(struct reading *cotangent, const struct reading *indices)
{
    size_t row = indices->n ? cotangent->n / indices->n : 0;
    bool any = false;
    if (!row || cotangent->n % indices->n || !dtype_is_integral(indices->dtype)) return false;
    for (size_t i = 0; i < indices->n; i++) {
        bool again = false;
        for (size_t j = i + 1; j < indices->n && !again; j++)
            again = indices->x[j] == indices->x[i];
        for (size_t k = i * row; k < (i + 1) * row; k++)
            cotangent->y[k] = again ? 0 : cotangent->x[k];
        any |= again;
    }
    return any;
}

static struct status overwritten(struct subject *s, const struct hypothesis *h)
{
    const struct bench *bench = s->request->bench;
    struct collecting all = { .count = 0 };
    struct reading cotangent, indices;
    bool readable, integral;
    if (!s->result.backward) return status_ok();
    struct value cotangents = *bench_cotangents(bench);
    (void)value_each_tensor(&cotangents, collect, &all);
    const struct place place = { true, 0, value_count_tensors(&cotangents) };
    if (!all.count) return status_ok();
    TRY(reading_open(&cotangent, &readable, s->arena, all.tensors[0]));
    for (size_t i = 0; readable && i < bench_tensor_count(bench) && i < MOST_TENSORS; i++) {
        TRY(reading_open(&indices, &integral, s->arena, bench_tensor(bench, i)->tensor.tensor));
        if (!integral || !subject_spend(s, (double)indices.n * (double)indices.n / 2)) continue;
        if (!keep_last(&cotangent, &indices)) continue;
        struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY,
                                        "repeated indices overwrite instead of adding up");
        TRY(offer_reading(s, &claim, &place, &cotangent));
    }
    return status_ok();
}

/* ---- rounded inputs ---------------------------------------------------------------------------------------- */

/* tensors[i] for argument i rounded, NULL where nothing changes. */
static struct status round_input(const struct tensor **tensors, struct subject *s, size_t i,
                                 const struct input_format *format)
{
    struct reading reading;
    bool readable;
    TRY(reading_open(&reading, &readable, s->arena,
                     bench_tensor(s->request->bench, i)->tensor.tensor));
    if (!readable || !reading_round(&reading, &format->rounding)) return status_ok();
    struct tensor *changed = arena_allocate(s->arena, sizeof *changed);
    if (!changed) return status_no_memory(sizeof *changed);
    TRY(reading_close(changed, s->arena, &reading));
    tensors[i] = changed;
    return status_ok();
}

/* All inputs (only < 0), or one of them. */
static struct status offer_rounded(struct subject *s, const struct hypothesis *h,
                                   const struct input_format *format, int only)
{
    size_t count = bench_tensor_count(s->request->bench);
    char name[TENSOR_NAME_BYTES] = "inputs";
    bool any = false;
    const struct tensor **tensors = arena_allocate_zeroed(s->arena, count, sizeof *tensors);
    if (!tensors) return status_no_memory(0);
    for (size_t i = 0; i < count; i++) {
        if (only >= 0 && i != (size_t)only) continue;
        TRY(round_input(tensors, s, i, format));
        any |= tensors[i] != NULL;
    }
    if (!any) return status_ok();
    if (only >= 0) tensor_name(name, s, (size_t)only);
    double bits = h->bits + (only >= 0 ? 2 : 0) + format->bits;
    const struct what_if change = { .inputs = tensors };
    const struct claim claim = claim_make(h->class, bits, CLAIM_ANY, "%s %s", name, format->words);
    return subject_offer_change(s, &claim, &change, 1);
}

static struct status rounded_inputs(struct subject *s, const struct hypothesis *h)
{
    int count = (int)bench_tensor_count(s->request->bench);
    for (const struct input_format *format = input_formats; format->words; format++)
        for (int only = -1; only < (count > 1 ? count : 0) && only < MOST_TENSORS; only++) {
            struct arena_mark mark = arena_mark(s->arena);
            struct status status = offer_rounded(s, h, format, only);
            arena_rewind(s->arena, mark);
            TRY(status);
        }
    return status_ok();
}

/* clang-format off */
const struct hypothesis index_hypotheses[] = {
    { "dropped part", 5, one_index },
    { .class = NULL },
};
const struct hypothesis input_hypotheses[] = {
    { "misread inputs", 3, misread_inputs },
    { "misread inputs", 3, misread_cotangents },
    { "rounded inputs", 3, rounded_inputs },
    { "overwritten",    2, overwritten },
    { .class = NULL },
};
/* clang-format on */
