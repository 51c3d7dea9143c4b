/* What the catalogue claims is run: every name that claims a forward, and every name that claims a
 * backward, in every spelling of the surface, is called at least once here.
 *
 * The calls are the goldens and tests/data/calls. A call of one name serves the other names of the
 * same row (add, add_, __iadd__, __radd__ with its operands exchanged). A backward counts when it
 * gave some argument a gradient.
 *
 * `bench-catalogue NAME` follows one name.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/evaluation.h"
#include "bench/registry.h"
#include "bench/samples.h"
#include "cli/api_surface.h"
#include "support/core_families.h"
#include "support/suite.h"

static const char *filter;

/* Rows of one name, one for each signature of it. */
enum { MOST_ROWS = 8 };

struct name {
    const char *group, *name;
    bool forward, backward;         /* claimed */
    bool ran_forward, ran_backward; /* shown */
    struct op_match rows[MOST_ROWS];
    size_t n_rows;
};

struct list {
    struct name *names;
    size_t count;
};

static bool is_listed(const struct list *list, const char *group, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->names[i].group, group) && !strcmp(list->names[i].name, name)) return true;
    return false;
}

/* A search goes through the whole registry, and every call asks every name. */
static void find_rows(struct name *name)
{
    struct op_match match;
    const struct op *after = NULL;
    while (op_find(&match, name->group, name->name, after)) {
        ck_assert_msg(name->n_rows < MOST_ROWS, "%s.%s", name->group, name->name);
        name->rows[name->n_rows++] = match;
        after = match.op;
    }
}

/* The surface's names that have a bench function, and the catalogue's own. */
static void collect(struct list *list, struct arena *arena)
{
    const struct bench_entry *entries;
    struct surface_name *surface;
    struct bench_entry entry;
    size_t n_entries, n_surface;

    ck_assert_int_eq(bench_catalogue(&entries, &n_entries, arena).code, 0);
    ck_assert_int_eq(api_surface_read(&surface, &n_surface, arena).code, 0);
    list->names = arena_allocate_zeroed(arena, n_entries + n_surface, sizeof *list->names);
    list->count = 0;
    for (size_t i = 0; i < n_surface; i++)
        if (bench_find_entry(&entry, surface[i].group, surface[i].name))
            list->names[list->count++] = (struct name){ .group = surface[i].group,
                                                        .name = surface[i].name,
                                                        .forward = entry.forward,
                                                        .backward = entry.backward };
    for (size_t i = 0; i < n_entries; i++)
        if (!is_listed(list, entries[i].group, entries[i].name))
            list->names[list->count++] = (struct name){ .group = entries[i].group,
                                                        .name = entries[i].name,
                                                        .forward = entries[i].forward,
                                                        .backward = entries[i].backward };
    for (size_t i = 0; i < list->count; i++) find_rows(&list->names[i]);
}

/* Does one of the rows of this name serve the call? */
static bool shares_row(const struct name *name, const struct op *row, bool *reflected)
{
    for (size_t i = 0; i < name->n_rows; i++) {
        *reflected = name->rows[i].reflected;
        if (name->rows[i].op == row) return true;
    }
    return false;
}

static struct value exchanged(const struct value *args, struct arena *arena)
{
    struct value out = *args;
    if (args->list.count < 2) return out;
    out.list.items = arena_allocate_array(arena, args->list.count, sizeof *out.list.items);
    memcpy(out.list.items, args->list.items, args->list.count * sizeof *out.list.items);
    out.list.items[0] = args->list.items[1];
    out.list.items[1] = args->list.items[0];
    return out;
}

/* The gradient of a random call follows the draws of a device: those of the native arithmetic. */
static bool adopt_draws(struct bench *bench, const struct api_case *c, struct arena *arena)
{
    struct bench *native;
    struct value *drawn =
        arena_allocate_zeroed(arena, 1, sizeof *drawn); /* the backward reads it */
    return drawn && !bench_open(&native, c, arena, BENCH_NATIVE).code &&
           !bench_native_outputs(drawn, native).code && !bench_settle(bench, drawn).code;
}

/* Run forward and, where claimed, backward; set what it shows. */
static void run_call(struct name *name, const struct api_case *c, struct arena *arena)
{
    struct bench *bench;
    struct bench_output *gradients;
    struct value cotangents;
    size_t count;
    struct numbers numbers = { 2 };

    struct status st = bench_open(&bench, c, arena, BENCH_REFERENCE);
    if (filter) fprintf(stderr, "%s.%s: %s\n", name->group, name->name, st.code ? st.text : "runs");
    if (st.code) return;
    name->ran_forward = true;
    if (!name->backward || name->ran_backward) return;
    if (bench_output_count(bench) && bench_output(bench, 0)->kind == BENCH_OUTPUT_RANDOM &&
        !adopt_draws(bench, c, arena))
        return;
    sample_cotangents(&cotangents, bench, arena, &numbers);
    st = bench_backward(&gradients, &count, bench, &cotangents);
    if (filter)
        fprintf(stderr, "%s.%s backward: %s\n", name->group, name->name,
                st.code ? st.text : "runs");
    for (size_t i = 0; !st.code && i < count; i++)
        if (gradients[i].kind == BENCH_OUTPUT_TENSOR || gradients[i].kind == BENCH_OUTPUT_RANDOM)
            name->ran_backward = true;
}

/* A result called exact has no bound. */
static void check_certificate(const struct sample *sample, struct bench *bench)
{
    struct bench_entry entry;
    if (!bench_find_entry(&entry, sample->c.type, sample->c.api) ||
        strcmp(entry.certificate, "exact") != 0)
        return;
    for (size_t i = 0; i < bench_output_count(bench); i++) {
        const struct bench_output *output = bench_output(bench, i);
        if (output->kind == BENCH_OUTPUT_TENSOR)
            ck_assert_msg(output->reference.state == REFERENCE_EXACT,
                          "%s: output %zu of %s is not exact", sample->place, i, sample->c.api);
    }
}

static void serve_names(void *context, struct sample *sample, struct arena *arena)
{
    struct list *list = context;
    struct bench *bench;
    struct status st = bench_open(&bench, &sample->c, arena, BENCH_REFERENCE);
    /* Goldens that do not run are test_goldens.c's; the written calls are this test's. */
    if (st.code && !sample->golden)
        ck_abort_msg("%s: %s.%s: %s", sample->place, sample->c.type, sample->c.api, st.text);
    if (st.code) return;
    check_certificate(sample, bench);
    const struct op *row = bench_call(bench)->op;
    bool was_reflected = bench_call(bench)->reflected;
    for (size_t i = 0; i < list->count; i++) {
        struct name *name = &list->names[i];
        bool reflected;
        if (name->ran_forward && (name->ran_backward || !name->backward)) continue;
        if (filter && strcmp(filter, name->name) != 0) continue;
        if (!shares_row(name, row, &reflected)) continue;
        struct api_case c = sample->c;
        c.type = name->group;
        c.api = name->name;
        c.full_name = arena_format(arena, "%s.%s.0", name->group, name->name);
        if (reflected != was_reflected) c.args = exchanged(&sample->c.args, arena);
        run_call(name, &c, arena);
    }
}

START_TEST(every_claim_is_run)
{
    struct arena arena = { 0 };
    struct list list;
    size_t forward = 0, backward = 0, missing = 0;

    collect(&list, &arena);
    samples_each(NULL, serve_names, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct name *name = &list.names[i];
        if (filter && strcmp(filter, name->name) != 0) continue;
        forward += name->ran_forward;
        backward += name->ran_backward;
        if (name->forward && !name->ran_forward)
            fprintf(stderr, "%s.%s: no call runs it\n", name->group, name->name);
        else if (name->backward && !name->ran_backward)
            fprintf(stderr, "%s.%s: no call gives a gradient\n", name->group, name->name);
        else continue;
        missing++;
    }
    printf("%zu names: %zu run forward, %zu backward; %zu claims without a call\n", list.count,
           forward, backward, missing);
    arena_release(&arena);
    ck_assert_uint_eq(missing, 0);
}
END_TEST

/* Share of the names of a family that do something. */
struct share {
    const char *family;
    size_t names, forward, differentiable, backward;
};

static struct share *share_of(struct share *shares, size_t *count, const char *family)
{
    size_t i = 0;
    while (i < *count && strcmp(shares[i].family, family) != 0) i++;
    if (i == *count) shares[(*count)++] = (struct share){ .family = family };
    return &shares[i];
}

/* In every core family at least 95 % of the names run forward, and 95 % of those that PyTorch 1.13 can
 * differentiate (tests/data/differentiable.txt, written by tests/long/against_torch) run backward. */
START_TEST(families_are_covered)
{
    enum { MOST_FAMILIES = 100, MOST_NAMES = 4000 };
    static struct share shares[MOST_FAMILIES];
    static char names[MOST_NAMES][80];
    struct arena arena = { 0 };
    struct surface_name *surface;
    struct bench_entry entry;
    size_t count, families = 0, n_names = 0, differentiable = 0, backward = 0;

    FILE *list = fopen(PROBE_TEST_DATA "/differentiable.txt", "r");
    ck_assert_ptr_nonnull(list);
    while (n_names < MOST_NAMES && fscanf(list, "%79s", names[n_names]) == 1) n_names++;
    fclose(list);
    ck_assert_uint_gt(n_names, 800);
    ck_assert_int_eq(api_surface_read(&surface, &count, &arena).code, 0);
    for (size_t i = 0; i < count; i++) {
        char full[160];
        struct share *share = share_of(shares, &families, surface[i].family);
        bool runs = bench_find_entry(&entry, surface[i].group, surface[i].name);
        const char *reason = surface[i].reason ? surface[i].reason : "";
        ck_assert_uint_lt(families, MOST_FAMILIES);
        if (!strcmp(surface[i].group, "NPU") || !strcmp(surface[i].group, "MindSpeed")) continue;
        if (!runs && (strstr(reason, "sparse") || strstr(reason, "named dimensions") ||
                      strstr(reason, "uninitialised") || strstr(reason, "Python function")))
            continue;
        share->names++;
        share->forward += runs;
        snprintf(full, sizeof full, "%s.%s", surface[i].group, surface[i].name);
        for (size_t k = 0; k < n_names; k++)
            if (!strcmp(names[k], full)) {
                share->differentiable++;
                share->backward += runs && entry.backward;
                if (!runs || !entry.backward)
                    fprintf(stderr, "%s: PyTorch differentiates it\n", full);
            }
    }
    for (size_t i = 0; i < families; i++) {
        const struct share *s = &shares[i];
        if (!s->names) continue;
        printf("%-22s %4zu of %4zu forward, %4zu of %4zu backward\n", s->family, s->forward,
               s->names, s->backward, s->differentiable);
        differentiable += s->differentiable;
        backward += s->backward;
        if (!is_core_family(s->family)) continue;
        ck_assert_msg(s->forward * 100 >= s->names * 95,
                      "%s: fewer than 95 %% of the names run forward", s->family);
        ck_assert_msg(s->backward * 100 >= s->differentiable * 95,
                      "%s: fewer than 95 %% run backward", s->family);
    }
    printf("backward: %zu of %zu names that PyTorch differentiates\n", backward, differentiable);
    ck_assert_uint_ge(backward * 100, differentiable * 95);
    arena_release(&arena);
}
END_TEST

/* Does a name compute (docs/writing-a-bench-function.md)? One that runs does; one that does not, unless its reason says
 * that a dump holds no numbers of it. */
static bool computes(const struct surface_name *name, bool runs)
{
    static const char *const none[] = { "communicates between devices",
                                        "computes no values",
                                        "uninitialised memory",
                                        "a dump holds no result",
                                        "no operator",
                                        "Python function",
                                        "named dimensions",
                                        "sparse tensors" };
    if (runs) return true;
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        if (name->reason && strstr(name->reason, none[k])) return false;
    return true;
}

/* The promised shares of the names that compute. */
START_TEST(groups_are_covered)
{
    static const struct {
        const char *group;
        size_t percent;
    } groups[] = {
        { "Torch", 99 }, { "Tensor", 99 }, { "Functional", 99 }, { "VF", 99 },
        { "Aten", 95 },  { "NPU", 95 },    { "MindSpeed", 95 },
    };
    struct arena arena = { 0 };
    struct surface_name *surface;
    struct bench_entry entry;
    size_t count;

    ck_assert_int_eq(api_surface_read(&surface, &count, &arena).code, 0);
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
        size_t names = 0, forward = 0;
        for (size_t i = 0; i < count; i++) {
            bool runs = bench_find_entry(&entry, surface[i].group, surface[i].name);
            if (strcmp(surface[i].group, groups[k].group) != 0 || !computes(&surface[i], runs))
                continue;
            names++;
            forward += runs;
        }
        printf("%s: %zu of %zu computing names run forward\n", groups[k].group, forward, names);
        ck_assert_uint_gt(names, 0);
        ck_assert_msg(forward * 100 >= names * groups[k].percent,
                      "%s: %zu of %zu names run, fewer than %zu %%", groups[k].group, forward,
                      names, groups[k].percent);
    }
    arena_release(&arena);
}
END_TEST

/* A name that nobody checks says why. */
START_TEST(every_gap_has_a_reason)
{
    struct arena arena = { 0 };
    struct surface_name *surface;
    struct bench_entry entry;
    size_t count, gaps = 0;

    ck_assert_int_eq(api_surface_read(&surface, &count, &arena).code, 0);
    ck_assert_uint_gt(count, 1300);
    for (size_t i = 0; i < count; i++) {
        if (bench_find_entry(&entry, surface[i].group, surface[i].name)) continue;
        gaps++;
        ck_assert_msg(surface[i].reason != NULL,
                      "%s.%s: not in the catalogue, and config/api_surface.json gives no reason",
                      surface[i].group, surface[i].name);
    }
    printf("%zu of %zu names of the surface are not checked, each for a reason\n", gaps, count);
    arena_release(&arena);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("catalogue");
    TCase *tests = tcase_create("catalogue");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, every_claim_is_run);
    tcase_add_test(tests, every_gap_has_a_reason);
    tcase_add_test(tests, families_are_covered);
    tcase_add_test(tests, groups_are_covered);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
