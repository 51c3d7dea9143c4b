/* One communication call of one rank: which ranks meet in it, what this one gave to it, and what it
 * left here. A message is a meeting of two, whose root is the sender.
 *
 * torch.distributed writes results into arguments, so the dumper records all arguments once more
 * behind the call: the output of such a call is the list of its positional arguments and then of its
 * keyword arguments, in their order. Calls of MindSpore's communication.comm_func return their results.
 */
#ifndef PROBE_COMPARE_COLLECTIVES_COLLECTIVE_H
#define PROBE_COMPARE_COLLECTIVES_COLLECTIVE_H

#include "compare/collectives/reduction.h"
#include "core/case.h"
#include "core/status.h"
#include "formats/dump.h"

/* An argument by position and by name. */
struct parameter {
    int position;
    const char *name; /* NULL: the call has none such */
};

enum origin {
    ORIGIN_ALL, /* the elements of all ranks, reduced */
    ORIGIN_ROOT,
    ORIGIN_EACH /* a piece of every rank, in the order of ranks */
};

/* What a call does, by its name. */
struct collective_rule {
    const char *name;
    const char *meets; /* what the calls that it meets are numbered as, with it */
    enum origin origin;
    bool
        scatters; /* what is given is one piece for each rank; otherwise every rank gets all of it */
    bool at_root; /* only the root gets it */
    bool returns; /* what is left is the first thing that the call returns; `left` is not used */
    struct parameter given, left, reduction, group, root;
    struct parameter peer;                      /* of a message between two ranks: the other one */
    struct parameter left_splits, given_splits; /* numbers of rows for each rank */
};

/* The rule of a call in a dump of `framework` (as the dump spells it, or NULL), or NULL: it is not one that moves or combines
 * tensors in a known way. "Distributed" is comm_func in a dump of MindSpore, torch.distributed in others. */
const struct collective_rule *collective_rule_of(const struct api_case *name,
                                                 const char *framework);

struct collective {
    const struct collective_rule *rule;
    enum reduction reduction;
    const char *group;      /* its identifier, or its members as a text; "" of the default group */
    const int64_t *members; /* numbers of ranks; NULL of the default group */
    size_t n_members;
    int64_t root;                                   /* number of a rank; -1: the call has none */
    const struct value *given, *left;               /* as recorded */
    const struct value *left_splits, *given_splits; /* or NULL */
};

/* Read call `position` of a dump.
 *
 *   out     its texts and values live in `arena`
 *   rank    number of the rank whose dump it is
 *   rule    of this call
 *   errors  STATUS_SKIP when the record does not say what went in or came out
 */
struct status collective_read(struct collective *out, struct arena *arena, const struct dump *dump,
                              int64_t rank, size_t position, const struct collective_rule *rule);

#endif
