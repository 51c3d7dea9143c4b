/* Mistakes of dispatch: another function of the same arguments. Functions that stand beside each other in a kernel library
 * are listed together. */
#include <string.h>

#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"

enum { SIBLINGS = 6 };

static const char *const families[][SIBLINGS] = {
    { "floor", "ceil", "trunc", "round" },
    { "maximum", "minimum", "fmax", "fmin" },
    { "amax", "amin" },
    { "argmax", "argmin" },
    { "cummax", "cummin" },
    { "sin", "cos", "tan" },
    { "sinh", "cosh", "tanh" },
    { "asin", "acos", "atan" },
    { "exp", "exp2", "expm1" },
    { "log", "log2", "log10", "log1p" },
    { "sqrt", "rsqrt", "square", "reciprocal" },
    { "erf", "erfc", "erfinv" },
    { "add", "sub", "mul", "div" },
    { "fmod", "remainder" },
    { "sum", "mean", "prod" },
    { "var", "std" },
    { "cumsum", "cumprod" },
    { "eq", "ne" },
    { "lt", "le", "gt", "ge" },
    { "logical_and", "logical_or", "logical_xor" },
    { "bitwise_and", "bitwise_or", "bitwise_xor" },
    { "softmax", "log_softmax", "softmin" },
    { "relu", "relu6", "leaky_relu", "elu", "silu", "gelu" },
    { "sigmoid", "hardsigmoid", "logsigmoid", "tanh" },
    { "silu", "hardswish", "mish" },
    { "softplus", "softsign", "softshrink", "hardshrink" },
    { "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss" },
    { "triu", "tril" },
    { "bitwise_left_shift", "bitwise_right_shift" },
    { "max_pool2d", "avg_pool2d" },
    { "mul", "pow" },
};

/* The name without what marks it as in place or reflected, which the row of the catalogue has, too. */
static struct status offer_siblings(struct subject *s, const struct hypothesis *h,
                                    const char *const *family, const char *name)
{
    for (int i = 0; i < SIBLINGS && family[i]; i++) {
        if (!strcmp(family[i], name)) continue;
        const struct what_if change = { .api = family[i] };
        struct claim claim =
            claim_make(h->class, h->bits, CLAIM_ANY, "%s instead of %s", family[i], name);
        TRY(subject_offer_change(s, &claim, &change, 1));
    }
    return status_ok();
}

static struct status other_function(struct subject *s, const struct hypothesis *h)
{
    const char *name = bench_api(s->request->bench);
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int i = 0; i < SIBLINGS && families[f][i]; i++)
            if (!strcmp(families[f][i], name)) TRY(offer_siblings(s, h, families[f], name));
    return status_ok();
}

/* clang-format off */
const struct hypothesis function_hypotheses[] = {
    { "other function", 3, other_function },
    { .class = NULL },
};
/* clang-format on */
