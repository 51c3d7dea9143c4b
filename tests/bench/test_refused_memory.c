/* Memory that is refused in the middle of a bench function: every sample is evaluated forward,
 * settled, backward, by the error model and by the native arithmetic, with the n-th request for
 * memory refused. The answer is an error that says so, or no error where the memory was not
 * needed after all; never a crash (the address sanitizer looks), and the same call gives the same
 * bits afterwards.
 *
 * Of a call's requests the first FIRST are refused one at a time, later ones in strides that grow
 * from call to call, so that every place is met by some call. `bench-refused_memory NAME` takes the
 * calls of one name.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/samples.h"
#include "support/suite.h"

enum {
    MOST_COMPLAINTS = 20,
    FIRST = 12,
    MOST_POINTS = 100,
    GOLDEN_STRIDE = 2,
    MOST_REQUESTS = 4000
};

static const char *filter;

static size_t requests, refused_at; /* 1 is the first */

static bool refuse(size_t bytes)
{
    (void)bytes;
    return ++requests == refused_at;
}

struct tally {
    size_t visited, calls, points, errors, wrong;
};

/* The stages of one call; stops at the first that fails. */
static struct status evaluate(double *checksum, const struct sample *sample, struct arena *arena)
{
    struct bench *bench, *native;
    struct bench_output *gradients = NULL;
    struct value outputs, cotangents, native_gradients;
    struct numbers numbers = { 3 };
    size_t count = 0;
    struct status st;

    *checksum = 0;
    if ((st = bench_open(&bench, &sample->c, arena, BENCH_REFERENCE)).code) return st;
    if ((st = bench_open(&native, &sample->c, arena, BENCH_NATIVE)).code) return st;
    if ((st = bench_native_outputs(&outputs, native)).code) return st;
    if ((st = bench_settle(bench, &outputs)).code) return st;
    if ((st = bench_model(bench)).code) return st;
    for (size_t i = 0; i < bench_output_count(bench); i++) {
        const struct bench_output *output = bench_output(bench, i);
        if (output->kind != BENCH_OUTPUT_TENSOR || output->reference.integer) continue;
        for (size_t k = 0; k < output->reference.n; k++) *checksum += output->reference.hi[k];
    }
    /* The cotangents are the test's own: nothing is refused while they are made. */
    bool (*hook)(size_t) = arena_fault;
    arena_fault = NULL;
    sample_cotangents(&cotangents, bench, arena, &numbers);
    arena_fault = hook;
    if ((st = bench_backward(&gradients, &count, bench, &cotangents)).code) return st;
    for (size_t i = 0; i < count; i++)
        if (gradients[i].kind == BENCH_OUTPUT_TENSOR)
            for (size_t k = 0; k < gradients[i].reference.n; k++)
                *checksum += gradients[i].reference.hi[k];
    return bench_native_gradients(&native_gradients, native, &cotangents);
}

static void refuse_in(void *context, struct sample *sample, struct arena *unused)
{
    struct tally *tally = context;
    struct arena arena = { 0 };
    double want, got;
    (void)unused;
    tally->visited++;
    if (sample->golden && tally->visited % GOLDEN_STRIDE && !filter) return;

    requests = refused_at = 0;
    arena_fault = refuse;
    struct status plain = evaluate(&want, sample, &arena);
    size_t total = requests;
    arena_reset(&arena);
    if (!total ||
        total >
            MOST_REQUESTS) { /* many requests are many elements to refine: slow, and no other places */
        arena_fault = NULL;
        arena_release(&arena);
        return;
    }
    size_t points = thinned_inputs(MOST_POINTS), stride = total / points + 1;
    for (size_t at = 1; at <= total; at += at < FIRST ? 1 : stride) {
        requests = 0;
        refused_at = at + (at >= FIRST ? tally->calls % stride : 0);
        struct status st = evaluate(&got, sample, &arena);
        if (st.code && st.code != STATUS_NO_MEMORY && st.code != plain.code &&
            tally->wrong++ < MOST_COMPLAINTS)
            fprintf(stderr, "%s: request %zu of %zu: %s\n", sample->place, refused_at, total,
                    st.text);
        tally->errors += st.code == STATUS_NO_MEMORY;
        tally->points++;
        arena_reset(&arena);
    }
    arena_fault = NULL;
    struct status again = evaluate(&got, sample, &arena);
    if ((again.code != plain.code || memcmp(&want, &got, sizeof want)) &&
        tally->wrong++ < MOST_COMPLAINTS)
        fprintf(stderr, "%s: %.17g before memory was refused, %.17g afterwards (%s)\n",
                sample->place, want, got, again.text);
    arena_release(&arena);
    tally->calls++;
}

START_TEST(refused_requests_are_reported)
{
    struct tally tally = { 0 };
    samples_each(filter, refuse_in, &tally);
    printf("%zu calls, %zu requests refused, %zu of them reported as such\n", tally.calls,
           tally.points, tally.errors);
    ck_assert_uint_eq(tally.wrong, 0);
    ck_assert_uint_gt(tally.calls, 0);
    /* Most requests cannot be done without. */
    ck_assert_uint_gt(tally.errors, tally.points / 2);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("refused_memory");
    TCase *tests = tcase_create("refused_memory");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, refused_requests_are_reported);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
