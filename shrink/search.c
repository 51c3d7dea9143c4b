/* Two arenas take turns: one holds the best call, the other what is tried. */
#include "shrink/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "standards/element_limits.h"
#include "variation/specimen.h"

/* ---- what the device returned ----------------------------------------------------------- */

static struct status note_wrong(struct wrong_element *out, struct arena *arena,
                                const struct tensor *got, const struct reference *want)
{
    struct element_limits limits;
    TRY(element_limits_measure(&limits, arena, got, want));
    if (!limits.wrong) return status_ok();
    *out = (struct wrong_element){ .known = true,
                                   .first = limits.first,
                                   .n = limits.n,
                                   .wrong = limits.wrong,
                                   .want = element_wanted(want, limits.first),
                                   .got = limits.got[limits.first] };
    shape_format(out->shape, sizeof out->shape, got->rank, got->shape);
    for (size_t i = 0; i < limits.n; i++)
        out->kinds |= isfinite(limits.got[i]) != isfinite(element_wanted(want, i));
    return status_ok();
}

static struct status look(void *context, struct arena *arena, const struct call_tensors *tensors)
{
    struct search *search = context;
    const struct reference *want;
    const struct tensor *got;
    if (call_tensors_row(&want, &got, tensors, search->failure.backward, search->failure.index))
        TRY(note_wrong(&search->wrong, arena, got, want));
    if (!search->keeps) return status_ok();
    arena_reset(&search->kept_arena);
    TRY(specimen_copy_value(&search->outputs, &search->kept_arena, &tensors->got->outputs));
    return specimen_copy_value(&search->gradients, &search->kept_arena, &tensors->got->gradients);
}

/* ---- one call --------------------------------------------------------------------------- */

static void tell(struct search *search, const struct api_case *c)
{
    char text[200] = "";
    size_t used = 0;
    if (!search->news.tell) return;
    for (size_t i = 0; i < c->args.list.count && used < sizeof text - 40; i++) {
        const struct value *value = &c->args.list.items[i];
        if (value->kind != VALUE_TENSOR || !value->tensor.tensor) continue;
        if (used) text[used++] = ' ';
        shape_format(text + used, sizeof text - used, value->tensor.tensor->rank,
                     value->tensor.tensor->shape);
        used = strlen(text);
    }
    search->news.tell(search->news.context, search->calls, clock_seconds() - search->started_s,
                      text);
}

/* Ask who may end the search. */
static void look_around(struct search *search)
{
    if (search->end != SHRINK_DONE) return;
    if (stop_check(search->stop).code) search->end = SHRINK_INTERRUPTED;
    else if (search->calls >= search->limits.most_calls) search->end = SHRINK_CALLS;
    else if (clock_seconds() - search->started_s >= search->limits.time_s)
        search->end = SHRINK_TIME;
}

bool search_is_over(const struct search *search)
{
    return search->end != SHRINK_DONE || search->fatal.code;
}

static struct status check_once(struct search *search, const struct api_case *c)
{
    search->wrong = (struct wrong_element){ .known = false };
    search->calls++;
    double since_s = clock_seconds();
    if (!case_check_made(&search->outcome, one_call_checker(search->call), c))
        return status_error(STATUS_INTERNAL, "the check of %s was stopped", c->full_name);
    search->last_s = clock_seconds() - since_s;
    tell(search, c);
    return search->outcome.fatal;
}

static bool is_same_failure(const struct search *search)
{
    return failure_is_in(&search->failure, &search->outcome) &&
           search->wrong.known == search->best_wrong.known &&
           search->wrong.kinds == search->best_wrong.kinds;
}

/* Up to `repeat` times, until it fails in the same way. */
static struct status check_repeatedly(bool *fails, struct search *search, const struct api_case *c)
{
    *fails = false;
    for (size_t i = 0; i < search->limits.repeat && !*fails; i++) {
        look_around(search);
        if (search_is_over(search)) return search->fatal;
        TRY(check_once(search, c));
        *fails = is_same_failure(search);
    }
    return status_ok();
}

/* ---- candidates ------------------------------------------------------------------------- */

struct status search_copy(struct api_case *out, struct search *search)
{
    arena_reset(search->trial_arena);
    return specimen_copy(out, search->trial_arena, &search->best);
}

/* From so many seconds on a call is slow. */
static const double slow_s = 0.25;

static void take(struct search *search, const struct api_case *c)
{
    struct arena *before = search->best_arena;
    search->best_arena = search->trial_arena;
    search->trial_arena = before;
    search->best = *c;
    search->best_wrong = search->wrong;
    search->slow = search->last_s >= slow_s;
}

/* A candidate that is no valid call is no failure of the search. */
static struct status settle(bool *valid, struct search *search, struct api_case *c)
{
    struct status status = specimen_settle(c, search->trial_arena);
    *valid = !status.code;
    return status.code == STATUS_SKIP ? status_ok() : status;
}

struct status search_ask(bool *fails, bool *valid, struct search *search, struct api_case *c)
{
    *fails = *valid = false;
    if (search_is_over(search)) return status_ok();
    TRY(settle(valid, search, c));
    if (*valid) TRY(check_repeatedly(fails, search, c));
    if (search_is_over(search)) *valid = *fails;
    return status_ok();
}

struct status search_try(bool *accepted, struct search *search, struct api_case *c)
{
    bool valid;
    TRY(search_ask(accepted, &valid, search, c));
    if (*accepted) take(search, c);
    return status_ok();
}

struct status search_count(size_t *failures, struct search *search, size_t runs)
{
    *failures = 0;
    for (size_t i = 0; i < runs; i++) {
        TRY(check_once(search, &search->best));
        *failures += is_same_failure(search);
    }
    return status_ok();
}

struct status search_keep_results(struct search *search)
{
    bool fails = false;
    search->keeps = true;
    for (size_t i = 0; i < search->limits.repeat && !fails; i++) {
        TRY(check_once(search, &search->best));
        fails = is_same_failure(search);
    }
    search->keeps = false;
    return status_ok();
}

/* ---- open and close --------------------------------------------------------------------- */

/* The call as the run gives it, as a copy of its own. */
static struct status read_call(struct search *search)
{
    struct arena arena = { 0 };
    struct api_case c;
    struct status status = one_call_read(&c, &arena, search->call);
    if (status.code == STATUS_SKIP) status.code = STATUS_BAD_INPUT; /* there is no other call */
    if (!status.code) status = specimen_copy(&search->best, search->best_arena, &c);
    dump_release_tensors(search->call->inputs.dump, &arena);
    arena_release(&arena);
    return status;
}

/* The first failure, in up to `repeat` tries. Which row it is decides what the watch looks at, so the
 * call that shows it is made once more by whoever needs the element. */
static struct status find_failure(bool *fails, struct search *search, const char *name)
{
    *fails = false;
    for (size_t i = 0; i < search->limits.repeat && !*fails; i++) {
        look_around(search);
        if (search_is_over(search)) return search->fatal;
        TRY(check_once(search, &search->best));
        TRY(failure_find(&search->failure, fails, &search->call->inputs.arena, &search->outcome,
                         name));
    }
    return status_ok();
}

/* What is wrong in the row, now that it is known which one. A failure that does not come again cannot be
 * followed. */
static struct status find_element(bool *fails, struct search *search)
{
    *fails = false;
    for (size_t i = 0; i < search->limits.repeat && !*fails; i++) {
        TRY(check_once(search, &search->best));
        *fails = failure_is_in(&search->failure, &search->outcome);
    }
    search->failed_once = !*fails;
    search->best_wrong = search->wrong;
    return status_ok();
}

struct status search_open(struct search *out, bool *fails, struct one_call *call, const char *name,
                          const struct shrink_limits *limits, struct shrink_news news,
                          struct stop stop)
{
    *fails = false;
    *out = (struct search){
        .call = call, .limits = *limits, .news = news, .stop = stop, .started_s = clock_seconds()
    };
    out->best_arena = &out->arenas[0];
    out->trial_arena = &out->arenas[1];
    call->setup.watch = (struct call_watch){ look, out };
    TRY(read_call(out));
    TRY(find_failure(fails, out, name));
    return *fails ? find_element(fails, out) : status_ok();
}

void search_close(struct search *search)
{
    case_outcome_release(&search->outcome);
    arena_release(&search->arenas[0]);
    arena_release(&search->arenas[1]);
    arena_release(&search->kept_arena);
}
