/* Mistakes with an argument: ignored, or given another value. The schema says what each parameter is, so that
 * every API is covered: switches are turned, numbers set to what kernels commonly have there, names replaced by
 * their alternatives, optional tensors left out, axes exchanged for others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"

static struct status offer(struct subject *s, const struct claim *claim, int parameter,
                           struct value value)
{
    struct what_if change = { .argument_count = 1 };
    change.arguments[0].parameter = parameter;
    change.arguments[0].value = value;
    return subject_offer_change(s, claim, &change, 1);
}

static const char *name_of(const struct subject *s, int parameter)
{
    return bench_schema(s->request->bench)->parameters[parameter].name;
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

static struct status offer_number(struct subject *s, const struct hypothesis *h, int parameter,
                                  double number, bool integer, double bits)
{
    const char *name = name_of(s, parameter);
    struct value value = integer ? (struct value){ .kind = VALUE_INT, .integer = (int64_t)number }
                                 : (struct value){ .kind = VALUE_FLOAT, .real = number };
    struct claim claim = claim_make(argument_class(name, h->class), h->bits + bits, CLAIM_ANY,
                                    "%s taken for %.9g", name, number);
    return offer(s, &claim, parameter, value);
}

static bool number_of(double *out, const struct value *value)
{
    if (value->kind == VALUE_INT) *out = (double)value->integer;
    else if (value->kind == VALUE_FLOAT) *out = value->real;
    else return false;
    return true;
}

static struct status changed_number(struct subject *s, const struct hypothesis *h, int parameter)
{
    static const double usual[] = { 0,    1,    -1,    1e-2,  1e-3, 1e-4, 1e-5, 1e-6,
                                    1e-7, 1e-8, 1e-10, 1e-12, 0.1,  0.5,  2,    -100 };
    const struct schema *schema = bench_schema(s->request->bench);
    double now, fallback;
    const struct value *value = bench_bound(s->request->bench, parameter);
    if (!number_of(&now, value)) return status_ok();
    bool integer = value->kind == VALUE_INT;
    if (schema->parameters[parameter].has_default &&
        number_of(&fallback, &schema->parameters[parameter].fallback) && fallback != now)
        TRY(offer_number(s, h, parameter, fallback, integer, 0));
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) {
        if (usual[k] == now || (integer && usual[k] != floor(usual[k]))) continue;
        TRY(offer_number(s, h, parameter, usual[k], integer, k < 2 ? 2 : 4));
    }
    for (int step = -1; integer && step <= 1; step += 2)
        TRY(offer_number(s, h, parameter, now + step, true, 3));
    for (int k = 0; !integer && k < 4; k++) {
        double other[] = { 2 * now, now / 2, 10 * now, now / 10 };
        TRY(offer_number(s, h, parameter, other[k], false, 5));
    }
    return status_ok();
}

/* ---- switches, names, tensors, lists ---------------------------------------------------------------------------- */

static struct status turned_switch(struct subject *s, const struct hypothesis *h, int parameter)
{
    const struct value *value = bench_bound(s->request->bench, parameter);
    if (value->kind != VALUE_BOOL) return status_ok();
    const char *name = name_of(s, parameter);
    struct claim claim = claim_make(argument_class(name, h->class), h->bits, CLAIM_ANY,
                                    "%s taken for %s", name, value->boolean ? "False" : "True");
    return offer(s, &claim, parameter,
                 (struct value){ .kind = VALUE_BOOL, .boolean = !value->boolean });
}

/* Names that stand for one another. */
static const char *const names[] = { "none",       "tanh",     "mean",    "sum",       "batchmean",
                                     "nearest",    "bilinear", "bicubic", "zeros",     "border",
                                     "reflection", "constant", "reflect", "replicate", "circular",
                                     "trunc",      "floor" };

static struct status changed_name(struct subject *s, const struct hypothesis *h, int parameter)
{
    const struct value *value = bench_bound(s->request->bench, parameter);
    const char *name = name_of(s, parameter);
    if (value->kind != VALUE_STRING) return status_ok();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!strcmp(value->string, names[k])) continue;
        struct claim claim = claim_make(argument_class(name, h->class), h->bits, CLAIM_ANY,
                                        "%s '%s' instead of '%s'", name, names[k], value->string);
        TRY(offer(s, &claim, parameter,
                  (struct value){ .kind = VALUE_STRING, .string = names[k] }));
    }
    return status_ok();
}

static struct status missing_tensor(struct subject *s, const struct hypothesis *h, int parameter)
{
    const struct schema *schema = bench_schema(s->request->bench);
    const struct value *value = bench_bound(s->request->bench, parameter);
    if (value->kind != VALUE_TENSOR || !schema->parameters[parameter].optional) return status_ok();
    const char *name = name_of(s, parameter);
    struct claim claim = claim_make(argument_class(name, "missing operand"), h->bits - 1, CLAIM_ANY,
                                    "%s missing", name);
    return offer(s, &claim, parameter, (struct value){ .kind = VALUE_NONE });
}

/* Every item of a list of integers the same: stride, padding and dilation ignored; or one item. */
static struct status changed_list(struct subject *s, const struct hypothesis *h, int parameter)
{
    const struct value *value = bench_bound(s->request->bench, parameter);
    const char *name = name_of(s, parameter);
    if ((value->kind != VALUE_LIST && value->kind != VALUE_SIZE) || !value->list.count ||
        value->list.count > 6)
        return status_ok();
    for (int number = 0; number < 2; number++)
        for (size_t only = 0; only <= value->list.count; only++) {
            struct value list = *value, items[6];
            for (size_t i = 0; i < value->list.count; i++) {
                items[i] = value->list.items[i];
                if (items[i].kind != VALUE_INT) return status_ok();
                if (!only || i == only - 1) items[i].integer = number;
            }
            list.list.items = items;
            struct claim claim = only ? claim_make(argument_class(name, h->class), h->bits + 2,
                                                   CLAIM_ANY, "%s[%zu] taken for %d", name,
                                                   only - 1, number)
                                      : claim_make(argument_class(name, h->class), h->bits,
                                                   CLAIM_ANY, "%s taken for %d", name, number);
            TRY(offer(s, &claim, parameter, list));
        }
    return status_ok();
}

/* A number that was given for a list. */
static struct status changed_item(struct subject *s, const struct hypothesis *h, int parameter)
{
    const struct schema *schema = bench_schema(s->request->bench);
    const struct value *value = bench_bound(s->request->bench, parameter);
    const char *name = name_of(s, parameter);
    if (value->kind != VALUE_INT || !schema->parameters[parameter].list) return status_ok();
    for (int64_t number = 0; number < 2; number++)
        for (size_t only = 0; only < 2; only++) {
            struct value pair[2] = { { .kind = VALUE_INT, .integer = value->integer },
                                     { .kind = VALUE_INT, .integer = value->integer } };
            pair[only].integer = number;
            struct value list = { .kind = VALUE_LIST };
            list.list.items = pair;
            list.list.keys = NULL;
            list.list.count = 2;
            if (number == value->integer) continue;
            struct claim claim = claim_make(argument_class(name, h->class), h->bits + 2, CLAIM_ANY,
                                            "%s[%zu] taken for %lld", name, only,
                                            (long long)number);
            TRY(offer(s, &claim, parameter, list));
        }
    return status_ok();
}

/* Another axis, when the result has the same shape with it. */
static struct status other_axis(struct subject *s, const struct hypothesis *h, int parameter)
{
    const char *name = name_of(s, parameter);
    const struct value *value = bench_bound(s->request->bench, parameter);
    bool axis = !strncmp(name, "dim", 3) || !strcmp(name, "axis");
    if (!axis || (value->kind != VALUE_INT && value->kind != VALUE_LIST)) return status_ok();
    for (int64_t d = 0; d < 5; d++) {
        struct claim claim = claim_make("wrong axis", h->bits - 1, CLAIM_ANY,
                                        "axis %lld instead of that of %s", (long long)d, name);
        TRY(offer(s, &claim, parameter, (struct value){ .kind = VALUE_INT, .integer = d }));
    }
    return status_ok();
}

typedef struct status parameter_change(struct subject *, const struct hypothesis *, int);

static struct status changed_argument(struct subject *s, const struct hypothesis *h)
{
    static parameter_change *const kinds[] = { other_axis,     turned_switch, changed_name,
                                               missing_tensor, changed_list,  changed_item,
                                               changed_number };
    int count = bench_schema(s->request->bench)->count;
    for (int p = 0; p < count; p++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) TRY(kinds[k](s, h, p));
    return status_ok();
}

/* clang-format off */
const struct hypothesis argument_hypotheses[] = {
    { "argument ignored", 3, changed_argument },
    { .class = NULL },
};
/* clang-format on */
