/* What the registry says of APIs: the entries of `probe-ut ops`. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/registry.h"

bool bench_is_one_autograd_node(const struct api_case *c)
{
    struct op_match match;
    return op_find(&match, c->type, c->api, NULL) && (match.op->flags & OP_ONE_NODE);
}

static const struct {
    unsigned group;
    const char *name;
} group_names[] = {
    { FUNCTIONAL, "Functional" }, { NPU, "NPU" },   { TENSOR, "Tensor" },
    { TORCH, "Torch" },           { ATEN, "Aten" }, { TORCH_VF, "VF" },
    { MINDSPEED, "MindSpeed" },
};

/* How the bounds of a family's results are proven, in a few words. "exact": every output is a copy, a
 * comparison or an integer, and has no error (tests/bench/test_catalogue.c). */
static const struct {
    const char *family, *certificate;
    /* clang-format off */
} certificates[] = {
    { "cast", "exact" },      { "compare", "exact" },   { "diagonal", "exact" }, { "extremum", "exact" },
    { "join", "exact" },      { "mask", "exact" },      { "pad", "exact" },      { "parts", "exact" },
    { "predicate", "exact" }, { "query", "exact" },     { "shape", "exact" },    { "sort", "exact" },
    { "unique", "exact" },    { "npu_layout", "exact" },
    { "matmul", "norms, compensated, balls" },     { "conv", "norms, compensated, balls" },
    { "contraction", "norms, compensated, balls" }, { "fourier", "norms, compensated, balls" },
    { "frames", "norms, compensated, balls" },
    { "npu_products", "norms, compensated, balls" }, { "npu_attention", "norms, compensated, balls" }, { "npu_fusion_attention", "norms, compensated, balls" }, { "npu_attention_grad", "norms, compensated, balls" }, { "npu_attention_parts", "norms, compensated, balls" }, { "recurrent", "norms, compensated, balls" },
    { "attention", "norms, compensated, balls" },  { "reduction", "compensated sums, balls" },
    { "norm", "compensated sums, balls" },         { "vector_norm", "compensated sums, balls" },
    { "loss", "compensated sums, balls" },         { "loss_class", "compensated sums, balls" },
    { "scan", "compensated sums, balls" },         { "linalg", "residuals, balls" },
    { "lu", "residuals, balls" },                  { "determinant", "residuals, balls" },
    { "factorization", "residuals, balls" },       { "packed_factors", "residuals, balls" },
    { "scaled_products", "norms, compensated, balls" }, { "packed_weights", "norms, compensated, balls" },
};
/* clang-format on */

static const char *certificate_word(const struct op *op)
{
    if (op->flags & OP_RANDOM) return "property";
    const char *family = op->flags & OP_ADDS ? "" : op_family(op);
    for (size_t i = 0; i < sizeof certificates / sizeof *certificates; i++)
        if (!strcmp(certificates[i].family, family)) return certificates[i].certificate;
    return "running bound, balls";
}

static struct bench_entry entry_of(const struct op *op, const char *group, const char *name,
                                   bool in_place)
{
    bool random = op->flags & OP_RANDOM;
    return (struct bench_entry){
        .group = group,
        .name = name,
        .schema = op->schema,
        .forward = true,
        .backward = op_has_gradient(op, in_place),
        .random = random,
        .certificate = certificate_word(op),
    };
}

bool bench_find_entry(struct bench_entry *entry, const char *group, const char *name)
{
    struct op_match match;
    if (!op_find(&match, group, name, NULL)) return false;
    *entry = entry_of(match.op, group, name, match.in_place);
    /* Of overloads one that can be differentiated is enough. */
    while (!entry->backward && op_find(&match, group, name, match.op))
        if (op_has_gradient(match.op, match.in_place)) entry->backward = true;
    return true;
}

/* By group and name; overloads stay in the order of the tables. */
static int by_name(const void *a, const void *b)
{
    const struct bench_entry *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->name, y->name);
}

/* Entries of all names of a row in all its groups. */
static struct status add_row(struct bench_entry *list, size_t *used, const struct op *op,
                             struct arena *arena)
{
    for (const char *at = op->name; at;) {
        const char *end = strchr(at, '|');
        char *name = arena_copy_bytes(arena, at, end ? (size_t)(end - at) : strlen(at));
        if (!name) return status_no_memory(0);
        for (size_t k = 0; k < sizeof group_names / sizeof *group_names; k++)
            if (op->groups & group_names[k].group)
                list[(*used)++] = entry_of(op, group_names[k].name, name, false);
        at = end ? end + 1 : NULL;
    }
    return status_ok();
}

struct status bench_catalogue(const struct bench_entry **entries, size_t *count,
                              struct arena *arena)
{
    size_t capacity = 0, used = 0, kept = 0;
    for (size_t i = 0; op_row(i); i++) {
        const struct op *op = op_row(i);
        size_t names = 1;
        for (const char *p = op->name; *p; p++) names += *p == '|';
        capacity += names * (size_t)__builtin_popcount(op->groups);
    }
    struct bench_entry *list = arena_allocate_zeroed(arena, capacity, sizeof *list);
    if (!list) return status_no_memory(0);
    for (size_t i = 0; op_row(i); i++) TRY(add_row(list, &used, op_row(i), arena));
    qsort(list, used, sizeof *list, by_name);
    for (size_t i = 0; i < used; i++) { /* overloads share a name: one entry */
        if (!kept || by_name(&list[kept - 1], &list[i])) list[kept++] = list[i];
        else list[kept - 1].backward = list[kept - 1].backward || list[i].backward;
    }
    *entries = list;
    *count = kept;
    return status_ok();
}
