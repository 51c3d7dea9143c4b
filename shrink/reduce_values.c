/* From the plainest to the least plain; what stays is the first that still fails. */
#include <math.h>
#include <string.h>

#include "shrink/reductions.h"
#include "variation/leaves.h"

/* Tries of one tensor at dropping elements, so that a large one does not take all calls. */
enum { DROPS_MOST = 96 };

/* ---- elements --------------------------------------------------------------------------- */

/* The tensor of a leaf of the best call, or NULL. */
static const struct tensor *tensor_of(const struct search *search, size_t leaf)
{
    const struct value *value = leaf_find(&search->best, LEAF_TENSOR, leaf);
    return value ? value->tensor.tensor : NULL;
}

/* A tensor as components: two per complex element. */
struct components {
    unsigned char *data;
    enum dtype dtype;
    size_t n, width;
};

static struct components components_of(const struct tensor *tensor)
{
    enum dtype dtype = dtype_component(tensor->dtype);
    size_t parts = dtype_is_complex(tensor->dtype) ? 2 : 1;
    return (struct components){ tensor->data, dtype, parts * tensor_elements(tensor),
                                dtype_info(dtype)->bytes };
}

static double get(const struct components *c, size_t i)
{
    double x;
    dtype_to_double(&x, c->data + i * c->width, c->dtype, 1);
    return x;
}

static void set(const struct components *c, size_t i, double x)
{
    dtype_from_double(c->data + i * c->width, c->dtype, &x, 1);
}

/* ---- whole tensors ---------------------------------------------------------------------- */

/* What a transformation makes of an element; `extreme` is the one of the largest magnitude. */
typedef double transformation(double x, double extreme);

static double to_zero(double x, double extreme) { return (void)x, (void)extreme, 0; }
static double to_one(double x, double extreme) { return (void)x, (void)extreme, 1; }
static double to_extreme(double x, double extreme) { return (void)x, extreme; }
static double to_sign(double x, double extreme)
{
    (void)extreme;
    return x == 0 || isnan(x) ? x : copysign(1, x);
}
static double to_power(double x, double extreme)
{
    (void)extreme;
    return x == 0 || !isfinite(x) ? x : copysign(ldexp(1, ilogb(x)), x);
}
static double to_integer(double x, double extreme) { return (void)extreme, rint(x); }

/* Three significant bits: numbers like 0.625 and -1.75. */
static double to_few_bits(double x, double extreme)
{
    (void)extreme;
    if (x == 0 || !isfinite(x)) return x;
    int exponent = ilogb(x) - 2;
    return ldexp(rint(ldexp(x, -exponent)), exponent);
}

/* clang-format off */
static const struct {
    transformation *of;
    bool floats_only; /* an index or a truth value has no sign and no digits to lose */
} transformations[] = {
    { to_zero,     false },
    { to_one,      false },
    { to_extreme,  false },
    { to_sign,     true },
    { to_power,    true },
    { to_integer,  true },
    { to_few_bits, true },
};
/* clang-format on */
enum { N_TRANSFORMATIONS = sizeof transformations / sizeof *transformations };

static double extreme_of(const struct components *c)
{
    double extreme = 0;
    for (size_t i = 0; i < c->n; i++)
        if (fabs(get(c, i)) > fabs(extreme)) extreme = get(c, i);
    return extreme;
}

static bool transform(bool *changes, const struct components *c, size_t t)
{
    double extreme = extreme_of(c);
    *changes = false;
    if (transformations[t].floats_only && !dtype_is_float(c->dtype)) return false;
    for (size_t i = 0; i < c->n; i++) {
        double before = get(c, i), after = transformations[t].of(before, extreme);
        if (before == after || (isnan(before) && isnan(after))) continue;
        set(c, i, after);
        *changes = true;
    }
    return true;
}

/* The first transformation under which the call still fails. *plain: the tensor is all zero, or all one
 * where zeros do not fail, and so as plain as can be. */
static struct status transform_tensor(bool *changed, bool *plain, struct search *search,
                                      size_t leaf)
{
    *plain = false;
    for (size_t t = 0; t < N_TRANSFORMATIONS && !search_is_over(search); t++) {
        bool is_constant = transformations[t].of == to_zero || transformations[t].of == to_one;
        struct api_case c;
        bool changes, accepted = false;
        TRY(search_copy(&c, search));
        const struct components parts =
            components_of(leaf_find(&c, LEAF_TENSOR, leaf)->tensor.tensor);
        bool applies = transform(&changes, &parts, t);
        if (applies && changes) TRY(search_try(&accepted, search, &c));
        *changed |= accepted;
        *plain = is_constant && (accepted || !changes);
        if (accepted || *plain) return status_ok();
    }
    return status_ok();
}

/* ---- single elements -------------------------------------------------------------------- */

static size_t count_other(const struct components *c, double base)
{
    size_t count = 0;
    for (size_t i = 0; i < c->n; i++) count += get(c, i) != base;
    return count;
}

/* Of the elements that are not `base`, those numbered first..first + count become it. */
static void drop(const struct components *c, double base, size_t first, size_t count)
{
    for (size_t i = 0, other = 0; i < c->n; i++) {
        if (get(c, i) == base) continue;
        if (other >= first && other - first < count) set(c, i, base);
        other++;
    }
}

static struct status try_drop(bool *accepted, struct search *search, size_t leaf, double base,
                              size_t first, size_t count)
{
    struct api_case c;
    TRY(search_copy(&c, search));
    const struct components parts = components_of(leaf_find(&c, LEAF_TENSOR, leaf)->tensor.tensor);
    drop(&parts, base, first, count);
    return search_try(accepted, search, &c);
}

/* Halves, quarters and so on of the elements that are left, down to single ones. */
static struct status drop_elements(bool *changed, struct search *search, size_t leaf, double base)
{
    const struct components parts = components_of(tensor_of(search, leaf));
    size_t left = count_other(&parts, base), tries = 0;
    for (size_t chunk = left / 2; chunk; chunk /= 2) {
        for (size_t first = 0; first < left && tries < DROPS_MOST; tries++) {
            bool accepted;
            size_t count = left - first < chunk ? left - first : chunk;
            if (search_is_over(search)) return status_ok();
            TRY(try_drop(&accepted, search, leaf, base, first, count));
            *changed |= accepted;
            if (accepted) left -= count;
            else first += count;
        }
    }
    return status_ok();
}

static struct status reduce_tensor(bool *changed, struct search *search, size_t leaf)
{
    bool transformed = false, dropped = false, plain;
    TRY(transform_tensor(&transformed, &plain, search, leaf));
    if (!plain) TRY(drop_elements(&dropped, search, leaf, 0));
    if (!plain && !dropped) TRY(drop_elements(&dropped, search, leaf, 1));
    if (dropped) TRY(transform_tensor(&transformed, &plain, search, leaf));
    *changed |= transformed | dropped;
    return status_ok();
}

struct status reduce_values(bool *changed, struct search *search)
{
    for (size_t leaf = 0; leaf_find(&search->best, LEAF_TENSOR, leaf); leaf++)
        if (tensor_of(search, leaf)) TRY(reduce_tensor(changed, search, leaf));
    return status_ok();
}
