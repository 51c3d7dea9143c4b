/* The registry: the spellings that share a row.
 *
 * PyTorch spells one function in many ways: x.add(y), torch.add, x + y (__add__), y + x
 * (__radd__), x += y (__iadd__), x.add_(y). The row has the plain name; this file maps the rest.
 */
#include "bench/registry.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *dunder, *name;
    bool reflected;
    /* clang-format off */
} dunders[] = {
    { "__add__", "add", false },           { "__radd__", "add", true },
    { "__sub__", "sub", false },           { "__rsub__", "sub", true },
    { "__mul__", "mul", false },           { "__rmul__", "mul", true },
    { "__div__", "div", false },           { "__truediv__", "div", false },
    { "__rdiv__", "div", true },           { "__rtruediv__", "div", true },
    { "__floordiv__", "floor_divide", false }, { "__rfloordiv__", "floor_divide", true },
    { "__mod__", "remainder", false },     { "__rmod__", "remainder", true },
    { "__pow__", "pow", false },           { "__rpow__", "pow", true },
    { "__matmul__", "matmul", false },     { "__rmatmul__", "matmul", true },
    { "__and__", "bitwise_and", false },   { "__rand__", "bitwise_and", true },
    { "__or__", "bitwise_or", false },     { "__ror__", "bitwise_or", true },
    { "__xor__", "bitwise_xor", false },   { "__rxor__", "bitwise_xor", true },
    { "__lshift__", "bitwise_left_shift", false }, { "__rlshift__", "bitwise_left_shift", true },
    { "__rshift__", "bitwise_right_shift", false }, { "__rrshift__", "bitwise_right_shift", true },
    { "__lt__", "lt", false },             { "__le__", "le", false },
    { "__gt__", "gt", false },             { "__ge__", "ge", false },
    { "__eq__", "eq", false },             { "__ne__", "ne", false },
    { "__neg__", "neg", false },           { "__abs__", "abs", false },
    { "__pos__", "positive", false },      { "__invert__", "bitwise_not", false },
};
/* clang-format on */

static const struct {
    const char *type;
    unsigned group;
} groups[] = {
    { "Functional", FUNCTIONAL },
    { "Tensor", TENSOR },
    { "Torch", TORCH },
    { "NPU", NPU },
    { "Aten", ATEN },
    { "MindSpore", MINDSPORE },
    { "VF", TORCH_VF },
    { "MindSpeed", MINDSPEED },
};

unsigned op_group(const char *type)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].type, type)) return groups[i].group;
    return 0;
}

/* linalg_f, fft_f and special_f are torch.linalg.f, ... (native_functions.yaml, "python_module"). */
static const struct op *next_row_of_module(const char *name, size_t length, const struct op *after)
{
    static const char *const modules[] = { "linalg_", "fft_", "special_" };
    char dotted[64];
    if (length >= sizeof dotted) return NULL;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t module = strlen(modules[i]);
        if (length <= module || strncmp(name, modules[i], module) != 0) continue;
        memcpy(dotted, name, length);
        dotted[module - 1] = '.';
        return op_index_next(TORCH, dotted, length, after);
    }
    return NULL;
}

/* PyTorch makes torch.f and Tensor.f of its aten operators, schema and all (native_functions.yaml,
 * "variants"), so their rows serve the operator, unless it has rows of its own; the function's first, whose
 * arguments are in the operator's order, but of what writes into self the method's (normal_ is no function). */
static const struct op *find_row(unsigned group, const char *name, size_t length, bool in_place,
                                 const struct op *after)
{
    if (group != ATEN || op_index_next(ATEN, name, length, NULL))
        return op_index_next(group, name, length, after);
    const unsigned variants[] = { in_place ? TENSOR : TORCH, in_place ? TORCH : TENSOR };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (op_index_next(variants[i], name, length, NULL))
            return op_index_next(variants[i], name, length, after);
    return next_row_of_module(name, length, after);
}

/* Without the overload of an operator: "add.Tensor" is "add". An overload is a word: "add.3" is the number of a call. */
static size_t name_length(unsigned group, const char *api)
{
    size_t length = strcspn(api, ".");
    bool has_overload = group == ATEN && api[length] && isalpha((unsigned char)api[length + 1]);
    return has_overload ? length : strlen(api);
}

bool op_find(struct op_match *match, const char *type, const char *api, const struct op *after)
{
    unsigned group = op_group(type);
    size_t length = name_length(group, api);

    *match = (struct op_match){ NULL, false, false };
    if (!group) return false;
    if ((match->op = find_row(group, api, length, false, after))) return true;
    if (length > 4 && !strncmp(api, "__", 2) && !strncmp(api + length - 2, "__", 2)) {
        char plain[64];
        if (length >= sizeof plain) return false;
        memcpy(plain, api, length);
        plain[length] = '\0';
        if (api[2] == 'i' && strcmp(api, "__invert__") != 0) { /* __iadd__ -> __add__ */
            memmove(plain + 2, plain + 3, length - 2);
            match->in_place = true;
        }
        for (size_t i = 0; i < sizeof dunders / sizeof *dunders; i++) {
            if (strcmp(dunders[i].dunder, plain) != 0) continue;
            match->reflected = dunders[i].reflected;
            match->op =
                find_row(group, dunders[i].name, strlen(dunders[i].name), match->in_place, after);
            return match->op != NULL;
        }
        return false;
    }
    if (length > 1 && api[length - 1] == '_') {
        match->in_place = true;
        match->op = find_row(group, api, length - 1, true, after);
        /* In-place forms of Tensor methods may exist only as functions elsewhere. */
        if (!match->op) match->op = find_row(ANYWHERE, api, length - 1, true, after);
    }
    return match->op != NULL;
}
