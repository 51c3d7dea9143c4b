/* The tensors of all members are mapped, cut into the pieces that travel, and each member's pieces are judged against those that
 * should have reached it. */
#include "compare/collectives/meeting_check.h"

#include <stdio.h>
#include <string.h>

#include "compare/collectives/suspicion.h"

enum { MEMBERS_MOST = 16384 };

/* A member of the group. */
struct member {
    int64_t rank;
    const struct attendance *call; /* NULL: none in this meeting */
    struct collective collective;
    struct piece *given, *left; /* pieces; NULL: none */
    size_t n_given, n_left;
    struct status why_not; /* STATUS_SKIP: the call cannot be read */
};

struct meeting {
    struct arena *arena;
    const struct rank_dump *ranks;
    size_t n_ranks;
    struct member *members;
    size_t n_members;
    const struct collective_rule *rule;
    enum reduction reduction;
    enum dtype dtype; /* DT_NONE until a tensor is met */
};

/* ---- pieces --------------------------------------------------------------------------------- */

static struct status load(struct tensor *out, struct meeting *m, const struct dump *dump,
                          const struct value *value, const char *what)
{
    struct tensor tensor;
    if (value->kind != VALUE_TENSOR) return status_error(STATUS_SKIP, "what %s is no tensor", what);
    if (value->tensor.record->dtype == DT_NONE)
        return status_error(STATUS_SKIP, "the dtype %s is not known",
                            value->tensor.record->dtype_name);
    TRY(dump_load_tensor(&tensor, m->arena, dump, value->tensor.record));
    TRY(tensor_densify(out, m->arena, &tensor));
    if (m->dtype == DT_NONE) m->dtype = out->dtype;
    if (out->dtype != m->dtype)
        return status_error(STATUS_BAD_INPUT, "what %s is %s, elsewhere in the group it is %s",
                            what, dtype_short_name(out->dtype), dtype_short_name(m->dtype));
    return status_ok();
}

/* Rows along the first dimension for each piece; NULL: all have the same number of elements. */
static struct status cut(struct piece *pieces, size_t n, const struct tensor *tensor,
                         const struct value *splits, const char *what)
{
    size_t elements = tensor_elements(tensor), bytes = dtype_info(tensor->dtype)->bytes;
    size_t rows = tensor->rank ? (size_t)tensor->shape[0] : 1, at = 0;
    bool given = splits && splits->kind == VALUE_LIST && splits->list.count;

    if (given && splits->list.count != n)
        return status_error(STATUS_BAD_INPUT, "what %s is split for %zu ranks, not for %zu", what,
                            splits->list.count, n);
    if (!given && elements % n)
        return status_error(STATUS_BAD_INPUT, "what %s has %zu elements, no multiple of %zu ranks",
                            what, elements, n);
    for (size_t i = 0; i < n; i++) {
        size_t count = elements / n;
        if (given) {
            int64_t part = splits->list.items[i].kind == VALUE_INT ? splits->list.items[i].integer
                                                                   : -1;
            if (part < 0 || (size_t)part > rows)
                return status_error(STATUS_BAD_INPUT, "what %s is split beyond its rows", what);
            count = rows ? elements / rows * (size_t)part : 0;
        }
        if (count > elements - at)
            return status_error(STATUS_BAD_INPUT, "what %s is split beyond its rows", what);
        pieces[i] = (struct piece){ (const unsigned char *)tensor->data + at * bytes, count };
        at += count;
    }
    return status_ok();
}

/* `n` pieces of a value: a list of as many tensors, or one tensor cut. */
static struct status read_pieces(struct piece **out, struct meeting *m, const struct dump *dump,
                                 const struct value *value, const struct value *splits, size_t n,
                                 const char *what)
{
    struct tensor tensor;
    struct piece *pieces = arena_allocate_array(m->arena, n, sizeof *pieces);
    if (!pieces) return status_no_memory(0);
    if (value->kind == VALUE_LIST) {
        if (value->list.count != n)
            return status_error(STATUS_BAD_INPUT, "what %s is a list of %zu tensors, not of %zu",
                                what, value->list.count, n);
        for (size_t i = 0; i < n; i++) {
            TRY(load(&tensor, m, dump, &value->list.items[i], what));
            pieces[i] = (struct piece){ tensor.data, tensor_elements(&tensor) };
        }
    } else {
        TRY(load(&tensor, m, dump, value, what));
        if (n == 1) *pieces = (struct piece){ tensor.data, tensor_elements(&tensor) };
        else TRY(cut(pieces, n, &tensor, splits, what));
    }
    *out = pieces;
    return status_ok();
}

/* ---- members -------------------------------------------------------------------------------- */

/* Of a call that has been read. */
static bool gives(const struct member *member)
{
    const struct collective_rule *rule = member->call->rule;
    return rule->given.name &&
           (rule->origin != ORIGIN_ROOT || member->collective.root == member->rank);
}

static bool receives(const struct member *member)
{
    const struct collective_rule *rule = member->call->rule;
    return (rule->left.name || rule->returns) &&
           (!rule->at_root || member->collective.root == member->rank);
}

static struct status read_member(struct meeting *m, struct member *member)
{
    const struct dump *dump = m->ranks[member->call->rank].dump;
    struct collective *c = &member->collective;
    TRY(collective_read(c, m->arena, dump, member->rank, member->call->position,
                        member->call->rule));
    TRY(dump_data_missing(dump));
    if (c->reduction != m->reduction)
        return status_error(STATUS_BAD_INPUT, "it reduces by %s, others of the group by %s",
                            reduction_name(c->reduction), reduction_name(m->reduction));
    if (gives(member)) {
        if (!c->given) return status_error(STATUS_SKIP, "the dump does not say what it gave");
        member->n_given = m->rule->scatters ? m->n_members : 1;
        TRY(read_pieces(&member->given, m, dump, c->given, c->given_splits, member->n_given,
                        "it gave"));
    }
    if (receives(member)) {
        if (!c->left)
            return status_error(STATUS_SKIP,
                                "the dump does not say what the call left in its arguments");
        member->n_left = m->rule->origin == ORIGIN_EACH ? m->n_members : 1;
        TRY(read_pieces(&member->left, m, dump, c->left, c->left_splits, member->n_left,
                        "it left"));
    }
    return status_ok();
}

static bool is_among(const struct meeting *m, size_t count, int64_t rank)
{
    for (size_t i = 0; i < count; i++)
        if (m->members[i].rank == rank) return true;
    return false;
}

/* Members of the group as the first call names them; without names all ranks of the step. */
static struct status list_members(struct meeting *m, const struct collective *first,
                                  const struct attendance *calls, size_t n_calls)
{
    m->n_members = first->members ? first->n_members : m->n_ranks;
    if (m->n_members > MEMBERS_MOST)
        return status_error(STATUS_SKIP, "a group of more than %d ranks", MEMBERS_MOST);
    m->members = arena_allocate_zeroed(m->arena, m->n_members, sizeof *m->members);
    if (!m->members) return status_no_memory(0);
    for (size_t i = 0; i < m->n_members; i++) {
        struct member *member = &m->members[i];
        member->rank = first->members ? first->members[i] : m->ranks[i].rank;
        if (is_among(m, i, member->rank))
            return status_error(STATUS_SKIP, "the group names rank %lld twice",
                                (long long)member->rank);
        for (size_t k = 0; k < n_calls; k++)
            if (m->ranks[calls[k].rank].rank == member->rank) member->call = &calls[k];
    }
    return status_ok();
}

static struct status read_members(struct meeting *m)
{
    for (size_t i = 0; i < m->n_members; i++) {
        struct member *member = &m->members[i];
        if (!member->call)
            member->why_not =
                status_error(STATUS_SKIP, "rank %lld has no such call", (long long)member->rank);
        else member->why_not = read_member(m, member);
        enum status_code code = member->why_not.code;
        if (code && code != STATUS_SKIP && code != STATUS_BAD_INPUT) return member->why_not;
    }
    return status_ok();
}

/* ---- one member's result ------------------------------------------------------------------------ */

static void set_message(struct meeting_row *row, enum verdict verdict, const char *text)
{
    row->verdict = verdict;
    (void)snprintf(row->message, sizeof row->message, "%s", text);
}

/* What a piece of this member is made of; a gap is said in the row. */
static bool list_origins(struct piece *origins, size_t *count, struct meeting_row *row,
                         const struct meeting *m, size_t self, size_t piece)
{
    *count = 0;
    for (size_t r = 0; r < m->n_members; r++) {
        const struct member *from = &m->members[r];
        bool wanted = m->rule->origin == ORIGIN_ALL ||
                      (m->rule->origin == ORIGIN_EACH
                           ? r == piece
                           : from->rank == m->members[self].collective.root);
        if (!wanted) continue;
        if (from->why_not.code || !from->given) {
            if (!from->call) set_message(row, VERDICT_SKIP, from->why_not.text);
            else if (from->why_not.code)
                (void)snprintf(row->message, sizeof row->message, "rank %lld: %s",
                               (long long)from->rank, from->why_not.text);
            else
                (void)snprintf(row->message, sizeof row->message, "rank %lld gave nothing",
                               (long long)from->rank);
            row->verdict = VERDICT_SKIP;
            return false;
        }
        origins[(*count)++] = from->given[m->rule->scatters ? self : 0];
    }
    if (*count) return true;
    set_message(row, VERDICT_SKIP, "its root is no member of the group");
    return false;
}

static bool sizes_agree(struct meeting_row *row, const struct piece *got,
                        const struct piece *origins, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (origins[i].elements == got->elements) continue;
        (void)snprintf(row->message, sizeof row->message,
                       "it got %zu elements of a member that gave %zu", got->elements,
                       origins[i].elements);
        row->verdict = VERDICT_ERROR;
        return false;
    }
    return true;
}

static void describe(struct meeting_row *row, const struct meeting *m, size_t self, size_t piece,
                     const struct piece *got, const struct piece *origins, size_t count)
{
    const struct reduction_error *e = &row->error;
    char suspicion[SUSPICION_BYTES] = "";
    int64_t *numbers = arena_allocate_array(m->arena, m->n_members, sizeof *numbers);
    const struct suspect suspect = {
        m->reduction, m->dtype, origins, numbers, count, self, got, e
    };

    for (size_t r = 0; numbers && r < m->n_members; r++) numbers[r] = m->members[r].rank;
    bool found = numbers && suspicion_find(suspicion, &suspect);
    int length = snprintf(row->message, sizeof row->message,
                          "%zu of %zu elements are wrong; element %zu is %.9g, should be %.9g%s%s",
                          e->wrong, got->elements, e->worst, e->got, e->want, found ? "; " : "",
                          suspicion);
    if (m->rule->origin == ORIGIN_EACH && length > 0 && (size_t)length < sizeof row->message)
        (void)snprintf(row->message + length, sizeof row->message - (size_t)length,
                       "; in the piece of rank %lld", (long long)m->members[piece].rank);
    row->verdict = VERDICT_ERROR;
}

/* The worst piece stands for the call. */
static struct status judge_member(struct meeting_row *row, struct meeting *m, size_t self)
{
    const struct member *member = &m->members[self];
    struct piece *origins = arena_allocate_array(m->arena, m->n_members, sizeof *origins);
    size_t count;

    if (!origins) return status_no_memory(0);
    row->dtype = m->dtype;
    row->verdict = VERDICT_PASS;
    for (size_t k = 0; k < member->n_left; k++) {
        const struct piece *got = &member->left[k];
        struct reduction_error error = { 0 };
        if (!list_origins(origins, &count, row, m, self, k) ||
            !sizes_agree(row, got, origins, count)) {
            row->error = error;
            return status_ok();
        }
        row->elements += got->elements;
        reduction_judge(&error, m->reduction, m->dtype, origins, count, got, NULL, 0,
                        got->elements);
        bool worse = error.quotient > row->error.quotient;
        error.unjudged += row->error.unjudged;
        if (worse) row->error = error;
        row->error.unjudged = error.unjudged;
        if (worse && error.wrong) describe(row, m, self, k, got, origins, count);
    }
    return status_ok();
}

/* ---- the same on all ranks -------------------------------------------------------------------------- */

/* Every rank gets the same in these. Then replicas that take their results as the same drift apart when a
 * bit differs, although each result is right. */
static bool is_shared(const struct collective_rule *rule)
{
    return !rule->scatters && !rule->at_root;
}

static bool same_bytes(const struct meeting *m, const struct member *a, const struct member *b)
{
    size_t bytes = dtype_info(m->dtype)->bytes;
    for (size_t k = 0; k < a->n_left; k++)
        if (a->left[k].elements != b->left[k].elements ||
            memcmp(a->left[k].data, b->left[k].data, a->left[k].elements * bytes))
            return false;
    return true;
}

/* Judge a member, or take over what was said of the first that passed, where the bytes are the same: mostly they
 * are, so that a reduction is computed once for all ranks. */
static struct status judge_shared(struct meeting_row *row, struct meeting *m, size_t self,
                                  const struct meeting_row *first, size_t first_member)
{
    if (first && same_bytes(m, &m->members[first_member], &m->members[self])) {
        row->dtype = first->dtype;
        row->elements = first->elements;
        row->error = first->error;
        row->verdict = VERDICT_PASS;
        return status_ok();
    }
    TRY(judge_member(row, m, self));
    if (!first || row->verdict != VERDICT_PASS) return status_ok();
    row->verdict = VERDICT_WARNING;
    (void)snprintf(row->message, sizeof row->message,
                   "right, but not bit for bit what rank %lld has: replicas drift apart",
                   (long long)first->rank);
    return status_ok();
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static struct meeting_row new_row(const struct meeting *m, const struct attendance *call,
                                  const struct collective *first)
{
    const struct rank_dump *rank = &m->ranks[call->rank];
    return (struct meeting_row){ .rank = rank->rank,
                                 .name = dump_name(rank->dump, call->position),
                                 .group = first->group,
                                 .members = m->n_members,
                                 .reduction = m->reduction };
}

/* The member that has something to receive and no call in this meeting; NULL when it is there. Calls that receive something say so
 * themselves. */
static const struct member *lost_receiver(const struct meeting *m, int64_t root)
{
    for (size_t i = 0; i < m->n_members; i++) {
        const struct member *member = &m->members[i];
        bool receives_it = m->rule->at_root ? member->rank == root : member->rank != root;
        if (receives_it && !member->call) return member;
    }
    return NULL;
}

static struct status judge_members(struct meeting_row *rows, size_t *n_rows, struct meeting *m,
                                   const struct collective *first)
{
    const char *obstacle = m->dtype == DT_NONE ? NULL : reduction_obstacle(m->reduction, m->dtype);
    const struct meeting_row *first_pass = NULL;
    size_t first_member = 0;
    for (size_t i = 0; i < m->n_members; i++) {
        const struct member *member = &m->members[i];
        if (!member->call) continue;
        struct meeting_row *row = &rows[*n_rows];
        *row = new_row(m, member->call, first);
        if (member->why_not.code)
            set_message(row, member->why_not.code == STATUS_SKIP ? VERDICT_SKIP : VERDICT_ERROR,
                        member->why_not.text);
        else if (!receives(member)) {
            const struct member *lost = lost_receiver(m, member->collective.root);
            if (!lost) continue;
            set_message(row, VERDICT_SKIP, lost->why_not.text);
        } else if (obstacle) set_message(row, VERDICT_SKIP, obstacle);
        else if (is_shared(m->rule)) TRY(judge_shared(row, m, i, first_pass, first_member));
        else TRY(judge_member(row, m, i));
        if (!first_pass && row->verdict == VERDICT_PASS) {
            first_pass = row;
            first_member = i;
        }
        ++*n_rows;
    }
    return status_ok();
}

/* Calls of ranks that their group does not name. */
static void add_strangers(struct meeting_row *rows, size_t *n_rows, const struct meeting *m,
                          const struct collective *first, const struct attendance *calls,
                          size_t n_calls)
{
    for (size_t i = 0; i < n_calls; i++) {
        if (is_among(m, m->n_members, m->ranks[calls[i].rank].rank)) continue;
        rows[*n_rows] = new_row(m, &calls[i], first);
        set_message(&rows[(*n_rows)++], VERDICT_SKIP, "this rank is no member of the group");
    }
}

static struct status skip_all(struct meeting_row *rows, size_t *n_rows, const struct meeting *m,
                              const struct collective *first, const struct attendance *calls,
                              size_t n_calls, const char *why)
{
    for (size_t i = 0; i < n_calls; i++) {
        rows[i] = new_row(m, &calls[i], first);
        set_message(&rows[i], VERDICT_SKIP, why);
    }
    *n_rows = n_calls;
    return status_ok();
}

struct status meeting_check(struct meeting_row **rows, size_t *n_rows, struct arena *arena,
                            const struct rank_dump *ranks, size_t n_ranks,
                            const struct attendance *calls, size_t n_calls)
{
    struct meeting m = { .arena = arena, .ranks = ranks, .n_ranks = n_ranks, .rule = calls->rule };
    struct collective first;

    *n_rows = 0;
    *rows = arena_allocate_zeroed(arena, n_calls, sizeof **rows);
    if (!*rows) return status_no_memory(0);
    struct status status = collective_read(&first, arena, ranks[calls->rank].dump,
                                           ranks[calls->rank].rank, calls->position, m.rule);
    m.reduction = first.reduction;
    if (!status.code) status = list_members(&m, &first, calls, n_calls);
    if (status.code == STATUS_SKIP)
        return skip_all(*rows, n_rows, &m, &first, calls, n_calls, status.text);
    if (status.code) return status;
    TRY(read_members(&m));
    TRY(judge_members(*rows, n_rows, &m, &first));
    add_strangers(*rows, n_rows, &m, &first, calls, n_calls);
    return status_ok();
}
