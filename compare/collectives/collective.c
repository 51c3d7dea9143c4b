/* The rules as a table of signatures: where each call of torch.distributed has what it is given, what it leaves, its
 * reduction, its group and its root. */
#include "compare/collectives/collective.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NO_PARAMETER \
    {                \
        0, NULL      \
    }

/* As torch.distributed names them; what is not named a call does not have. */
/* clang-format off */
#define TENSOR_TO_TENSOR .given = { 0, "tensor" }, .left = { 0, "tensor" }
#define INPUT_TO_OUTPUT .given = { 1, "input_tensor" }, .left = { 0, "output_tensor" }
static const struct collective_rule rules[] = {
    { "all_reduce", "all_reduce", ORIGIN_ALL, TENSOR_TO_TENSOR,
      .reduction = { 1, "op" }, .group = { 2, "group" } },
    { "reduce", "reduce", ORIGIN_ALL, .at_root = true, TENSOR_TO_TENSOR,
      .root = { 1, "dst" }, .reduction = { 2, "op" }, .group = { 3, "group" } },
    { "broadcast", "broadcast", ORIGIN_ROOT, TENSOR_TO_TENSOR,
      .root = { 1, "src" }, .group = { 2, "group" } },
    { "scatter", "scatter", ORIGIN_ROOT, .scatters = true, .given = { 1, "scatter_list" }, .left = { 0, "tensor" },
      .root = { 2, "src" }, .group = { 3, "group" } },
    { "gather", "gather", ORIGIN_EACH, .at_root = true, .given = { 0, "tensor" }, .left = { 1, "gather_list" },
      .root = { 2, "dst" }, .group = { 3, "group" } },
    { "all_gather", "all_gather", ORIGIN_EACH, .given = { 1, "tensor" }, .left = { 0, "tensor_list" },
      .group = { 2, "group" } },
    { "all_gather_into_tensor", "all_gather_into_tensor", ORIGIN_EACH, INPUT_TO_OUTPUT, .group = { 2, "group" } },
    { "_all_gather_base", "_all_gather_base", ORIGIN_EACH, INPUT_TO_OUTPUT, .group = { 2, "group" } },
    { "reduce_scatter", "reduce_scatter", ORIGIN_ALL, .scatters = true,
      .given = { 1, "input_list" }, .left = { 0, "output" }, .reduction = { 2, "op" }, .group = { 3, "group" } },
    { "reduce_scatter_tensor", "reduce_scatter_tensor", ORIGIN_ALL, .scatters = true,
      .given = { 1, "input" }, .left = { 0, "output" }, .reduction = { 2, "op" }, .group = { 3, "group" } },
    { "_reduce_scatter_base", "_reduce_scatter_base", ORIGIN_ALL, .scatters = true,
      .given = { 1, "input" }, .left = { 0, "output" }, .reduction = { 2, "op" }, .group = { 3, "group" } },
    { "all_to_all", "all_to_all", ORIGIN_EACH, .scatters = true,
      .given = { 1, "input_tensor_list" }, .left = { 0, "output_tensor_list" }, .group = { 2, "group" } },
    { "all_to_all_single", "all_to_all_single", ORIGIN_EACH, .scatters = true,
      .given = { 1, "input" }, .left = { 0, "output" }, .group = { 4, "group" },
      .left_splits = { 2, "output_split_sizes" }, .given_splits = { 3, "input_split_sizes" } },
    { "send", "message", ORIGIN_ROOT, .given = { 0, "tensor" }, .peer = { 1, "dst" } },
    { "isend", "message", ORIGIN_ROOT, .given = { 0, "tensor" }, .peer = { 1, "dst" } },
    { "recv", "message", ORIGIN_ROOT, .left = { 0, "tensor" }, .peer = { 1, "src" } },
    { "irecv", "message", ORIGIN_ROOT, .left = { 0, "tensor" }, .peer = { 1, "src" } },
};

/* As mindspore.communication.comm_func names them. */
#define GIVEN .returns = true, .given = { 0, "tensor" }
static const struct collective_rule returning_rules[] = {
    { "all_reduce", "all_reduce", ORIGIN_ALL, GIVEN, .reduction = { 1, "op" }, .group = { 2, "group" } },
    { "reduce", "reduce", ORIGIN_ALL, .at_root = true, GIVEN,
      .root = { 1, "dst" }, .reduction = { 2, "op" }, .group = { 3, "group" } },
    { "broadcast", "broadcast", ORIGIN_ROOT, GIVEN, .root = { 1, "src" }, .group = { 2, "group" } },
    { "scatter_tensor", "scatter_tensor", ORIGIN_ROOT, .scatters = true, GIVEN,
      .root = { 1, "src" }, .group = { 2, "group" } },
    { "gather_into_tensor", "gather_into_tensor", ORIGIN_EACH, .at_root = true, GIVEN,
      .root = { 1, "dst" }, .group = { 2, "group" } },
    { "all_gather_into_tensor", "all_gather_into_tensor", ORIGIN_EACH, GIVEN, .group = { 1, "group" } },
    { "reduce_scatter_tensor", "reduce_scatter_tensor", ORIGIN_ALL, .scatters = true, GIVEN,
      .reduction = { 1, "op" }, .group = { 2, "group" } },
    { "all_to_all_with_output_shape", "all_to_all_with_output_shape", ORIGIN_EACH, .scatters = true, .returns = true,
      .given = { 1, "input_tensor_list" }, .group = { 2, "group" } },
    { "all_to_all_single_with_output_shape", "all_to_all_single_with_output_shape", ORIGIN_EACH, .scatters = true,
      .returns = true, .given = { 1, "tensor" }, .group = { 4, "group" },
      .left_splits = { 2, "output_split_sizes" }, .given_splits = { 3, "input_split_sizes" } },
    { "send", "message", ORIGIN_ROOT, .given = { 0, "tensor" }, .peer = { 1, "dst" }, .group = { 2, "group" } },
    { "isend", "message", ORIGIN_ROOT, .given = { 0, "tensor" }, .peer = { 1, "dst" }, .group = { 2, "group" } },
    { "recv", "message", ORIGIN_ROOT, .returns = true, .peer = { 1, "src" }, .group = { 2, "group" } },
    { "irecv", "message", ORIGIN_ROOT, .returns = true, .peer = { 1, "src" }, .group = { 2, "group" } },
};
/* clang-format on */

const struct collective_rule *collective_rule_of(const struct api_case *name, const char *framework)
{
    bool distributed = !strcmp(name->type, "Distributed");
    if (!distributed && strcmp(name->type, "MintDistributed")) return NULL;
    bool returning = distributed && framework && !strcasecmp(framework, "mindspore");
    const struct collective_rule *table = returning ? returning_rules : rules;
    size_t n = returning ? sizeof returning_rules / sizeof *rules : sizeof rules / sizeof *rules;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name->api, table[i].name)) return &table[i];
    return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* An argument before the call; NULL when it is not given or None. */
static const struct value *argument(const struct api_case *c, struct parameter parameter)
{
    const struct value *value = NULL;
    if (!parameter.name) return NULL;
    if ((size_t)parameter.position < c->args.list.count)
        value = &c->args.list.items[parameter.position];
    else value = value_find(&c->kwargs, parameter.name);
    return value && value->kind != VALUE_NONE ? value : NULL;
}

/* The same argument behind the call; NULL when that is not recorded. */
static const struct value *argument_behind(const struct api_case *c, struct parameter parameter)
{
    size_t positional = c->args.list.count, keywords = c->kwargs.list.count;
    const struct value *outputs = &c->outputs;

    if (!parameter.name) return NULL;
    if (outputs->list.count != positional + keywords) return NULL;
    if ((size_t)parameter.position < positional) return &outputs->list.items[parameter.position];
    for (size_t k = 0; k < keywords; k++)
        if (!strcmp(c->kwargs.list.keys[k], parameter.name))
            return &outputs->list.items[positional + k];
    return NULL;
}

/* The first thing that a call returns, a tensor or a list of them; NULL when that is not recorded. */
static const struct value *returned(const struct api_case *c)
{
    const struct value *outputs = &c->outputs;
    if (!value_is_sequence(outputs) || !outputs->list.count) return NULL;
    return &outputs->list.items[0];
}

/* "RedOpType.SUM", "ReduceOp.SUM", "<RedOpType.SUM: 0>", "SUM", "sum" (of MindSpore). */
static struct status read_reduction(enum reduction *out, const struct value *op)
{
    static const struct {
        const char *word;
        enum reduction reduction;
    } words[] = {
        { "SUM", REDUCTION_SUM },         { "AVG", REDUCTION_AVERAGE },
        { "PRODUCT", REDUCTION_PRODUCT }, { "PROD", REDUCTION_PRODUCT },
        { "MIN", REDUCTION_MINIMUM },     { "MAX", REDUCTION_MAXIMUM },
        { "BAND", REDUCTION_AND },        { "BOR", REDUCTION_OR },
        { "BXOR", REDUCTION_XOR },
    };
    *out = REDUCTION_SUM; /* what the call does when none is given */
    if (!op) return status_ok();
    const char *text = op->kind == VALUE_STRING ? op->string : "";
    const char *dot = strrchr(text, '.');
    if (dot) text = dot + 1;
    size_t length = strcspn(text, ":> ");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && !strncasecmp(text, words[i].word, length)) {
            *out = words[i].reduction;
            return status_ok();
        }
    return status_error(STATUS_SKIP, "the reduction '%s' is not known", text);
}

/* "[0, 1, 2]" */
static struct status list_members(const char **out, struct arena *arena, const int64_t *members,
                                  size_t count)
{
    enum { DIGITS = 22 };
    size_t bytes = count * DIGITS + 3, at = 1;
    char *text = arena_allocate(arena, bytes);
    if (!text) return status_no_memory(bytes);
    text[0] = '[';
    for (size_t i = 0; i < count; i++)
        at +=
            (size_t)snprintf(text + at, bytes - at, "%s%lld", i ? ", " : "", (long long)members[i]);
    (void)snprintf(text + at, bytes - at, "]");
    *out = text;
    return status_ok();
}

/* MindSpore names groups; those of all ranks have these names. */
static bool is_world(const struct value *group)
{
    static const char *const names[] = { "hccl_world_group", "nccl_world_group",
                                         "mccl_world_group" };
    for (size_t i = 0; group->kind == VALUE_STRING && i < sizeof names / sizeof *names; i++)
        if (!strcmp(group->string, names[i])) return true;
    return false;
}

static struct status read_group(struct collective *out, struct arena *arena,
                                const struct value *group)
{
    out->group = "";
    if (!group || is_world(group)) return status_ok();
    const struct value *ranks = group->kind == VALUE_DICT ? value_find(group, "group_ranks") : NULL;
    const struct value *identifier = group->kind == VALUE_DICT ? value_find(group, "group_id")
                                                               : NULL;
    if (!ranks || ranks->kind != VALUE_LIST || !ranks->list.count)
        return status_error(STATUS_SKIP, "the dump does not say who belongs to the group");
    int64_t *members = arena_allocate_array(arena, ranks->list.count, sizeof *members);
    if (!members) return status_no_memory(0);
    for (size_t i = 0; i < ranks->list.count; i++) {
        if (ranks->list.items[i].kind != VALUE_INT)
            return status_error(STATUS_SKIP, "a member of the group is no number");
        members[i] = ranks->list.items[i].integer;
    }
    out->members = members;
    out->n_members = ranks->list.count;
    TRY(list_members(&out->group, arena, members, out->n_members));
    if (identifier && identifier->kind == VALUE_STRING) out->group = identifier->string;
    return status_ok();
}

/* The sender and the receiver of a message are its group. */
static struct status read_peer(struct collective *out, struct arena *arena, int64_t rank,
                               const struct value *peer)
{
    enum { SENDER, RECEIVER, BOTH };
    if (!peer || peer->kind != VALUE_INT)
        return status_error(STATUS_SKIP, "the dump does not say who the other rank is");
    bool sends = out->rule->given.name != NULL;
    int64_t *members = arena_allocate_array(arena, BOTH, sizeof *members);
    if (!members) return status_no_memory(0);
    members[SENDER] = sends ? rank : peer->integer;
    members[RECEIVER] = sends ? peer->integer : rank;
    out->members = members;
    out->n_members = BOTH;
    out->root = members[SENDER];
    return list_members(&out->group, arena, members, BOTH);
}

struct status collective_read(struct collective *out, struct arena *arena, const struct dump *dump,
                              int64_t rank, size_t position, const struct collective_rule *rule)
{
    struct api_case c;
    *out = (struct collective){ .rule = rule, .root = -1, .group = "" };
    TRY(dump_read_case(&c, arena, dump, position));
    TRY(read_group(out, arena, argument(&c, rule->group)));
    out->reduction = REDUCTION_COPY;
    if (rule->origin == ORIGIN_ALL)
        TRY(read_reduction(&out->reduction, argument(&c, rule->reduction)));
    const struct value *root = argument(&c, rule->root);
    if (root && root->kind == VALUE_INT) out->root = root->integer;
    else if (rule->root.name) out->root = 0; /* what scatter and gather mean without it */
    if (rule->peer.name) TRY(read_peer(out, arena, rank, argument(&c, rule->peer)));
    out->given = argument(&c, rule->given);
    out->left = rule->returns ? returned(&c) : argument_behind(&c, rule->left);
    out->left_splits = argument(&c, rule->left_splits);
    out->given_splits = argument(&c, rule->given_splits);
    return status_ok();
}
