/* What calls were estimated to cost against what they cost, and what that does to shards.
 *
 *   bench_cost [--built-in] [--calls] DUMPS [...]
 *
 * Every call of every dump below the directories is checked on one thread, seven times over, of which the
 * least counts, in seconds of the processor. Printed are, for each family of the catalogue, measured and estimated seconds (--calls: for
 * each call); then, for several numbers of shards, the time of the slowest shard over the mean and over
 * the best that any cut into contiguous ranges has (the same cut, made with the measured times). What a
 * process takes to start is in none of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/registry.h"
#include "cluster/calibration.h"
#include "cluster/shards.h"
#include "core/clock.h"
#include "formats/dump_tree.h"
#include "runner/cost.h"
#include "runner/one_call.h"

enum { ROUNDS = 7, FAMILIES_MAX = 100, CALLS_MAX = 1000000, DUMPS_MAX = 10000 };

static float estimated[CALLS_MAX], measured[CALLS_MAX];
static size_t n_calls;
static struct shard_dump by_estimate[DUMPS_MAX], by_measure[DUMPS_MAX];
static size_t n_dumps;

static struct family {
    const char *name;
    double estimated, measured;
    size_t calls;
} families[FAMILIES_MAX];

static void stop(struct status status)
{
    if (!status.code) return;
    fprintf(stderr, "bench_cost: %s\n", status.text);
    exit(1);
}

static struct family *family_of(const struct api_case *c)
{
    struct op_match match;
    const char *name = op_find(&match, c->type, c->api, NULL) ? op_family(match.op) : "(none)";
    struct family *family = families;
    while (family->name && strcmp(family->name, name)) family++;
    family->name = name;
    return family;
}

static double least_seconds(struct one_call *call, size_t position)
{
    static struct case_outcome outcome;
    double least = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double begin_s = clock_thread_seconds();
        if (!case_check(&outcome, one_call_checker(call), position)) exit(1);
        stop(outcome.fatal);
        double seconds = clock_thread_seconds() - begin_s;
        if (seconds < least) least = seconds;
    }
    return least;
}

static void measure_dump(const char *path, struct cost_estimator *estimator, bool tell_calls)
{
    struct run_options options = RUN_OPTIONS_DEFAULTS;
    struct one_call call;
    struct arena arena = { 0 };
    struct dump *dump;
    options.api_info = path;
    options.no_diagnose = true;
    options.file_policy = FILES_TRUSTED;
    if (dump_open(&dump, path, FILES_TRUSTED).code) return; /* of modules alone */
    char name[2048];
    snprintf(name, sizeof name, "%s", dump_name(dump, 0));
    dump_close(dump);
    stop(one_call_open(&call, &options, name));
    size_t first = n_calls;
    for (size_t i = 0; i < call.inputs.order.count && n_calls < CALLS_MAX; i++) {
        size_t position = call.inputs.order.positions[i];
        struct api_case c;
        struct status status = dump_read_case(&c, &arena, call.inputs.dump, position);
        c.framework = call.inputs.framework;
        double guess = status.code ? cost_skipped_seconds(&estimator->model)
                                   : cost_call_seconds(estimator, &c);
        double truth = least_seconds(&call, position);
        struct family *family = family_of(&c);
        family->calls++;
        family->estimated += guess;
        family->measured += truth;
        if (tell_calls)
            printf("%12.6f %12.6f %8.2f  %s  %s\n", truth, guess, guess / truth, c.full_name,
                   family->name);
        estimated[n_calls] = (float)guess;
        measured[n_calls++] = (float)truth;
        arena_reset(&arena);
    }
    by_estimate[n_dumps] = (struct shard_dump){ estimated + first, n_calls - first };
    by_measure[n_dumps++] = (struct shard_dump){ measured + first, n_calls - first };
    one_call_close(&call);
    arena_release(&arena);
}

/* ---- shards ----------------------------------------------------------------------------- */

static size_t number_of(struct shard_place place)
{
    size_t number = place.call;
    for (size_t i = 0; i < place.dump; i++) number += by_measure[i].count;
    return number;
}

static void tell_shards(size_t wanted)
{
    struct shards shards, best;
    double slowest = 0, least = 0, total = 0;
    size_t longest_call = 0;
    stop(shards_cut_count(&shards, by_estimate, n_dumps, wanted));
    stop(shards_cut_count(&best, by_measure, n_dumps, wanted));
    for (size_t i = 0; i < shards.count; i++) {
        double seconds = 0;
        for (size_t call = number_of(shards.starts[i]); call < number_of(shards.starts[i + 1]);
             call++)
            seconds += measured[call];
        if (seconds > slowest) slowest = seconds;
        if (best.seconds[i] > least) least = best.seconds[i];
        total += seconds;
    }
    for (size_t i = 0; i < n_calls; i++)
        if (measured[i] > measured[longest_call]) longest_call = i;
    printf("%8zu %12.4f %12.4f %14.2f %14.2f %14.4f\n", shards.count, total / (double)shards.count,
           slowest, slowest * (double)shards.count / total, slowest / least,
           measured[longest_call]);
    shards_release(&shards);
    shards_release(&best);
}

int main(int argc, char **argv)
{
    static const size_t wanted[] = { 2, 4, 6, 8, 16, 32 };
    struct run_options options = RUN_OPTIONS_DEFAULTS;
    struct cost_model model = cost_model_built_in();
    struct cost_estimator estimator;
    struct arena arena = { 0 };
    bool built_in = false, tell_calls = false;
    for (int i = 1; i < argc; i++) {
        built_in |= !strcmp(argv[i], "--built-in");
        tell_calls |= !strcmp(argv[i], "--calls");
    }
    if (!built_in) stop(cost_calibrate(&model, &options));
    for (int i = 0; i < COST_FACTORS; i++)
        printf("%s %.3f  ", cost_factor_name((enum cost_factor)i), model.factors[i]);
    printf("\n");
    stop(cost_estimator_open(&estimator, &model));
    for (int i = 1; i < argc; i++) {
        struct dump_tree tree;
        if (argv[i][0] == '-') continue;
        stop(
            dump_tree_find(&tree, &arena, argv[i], &(struct dump_tree_filter){ 0 }, FILES_TRUSTED));
        for (size_t dump = 0; dump < tree.count && n_dumps < DUMPS_MAX; dump++)
            measure_dump(tree.items[dump].path, &estimator, tell_calls);
    }
    printf("%-14s %8s %12s %12s %9s\n", "family", "calls", "measured s", "estimated s", "quotient");
    for (const struct family *family = families; family->name; family++)
        printf("%-14s %8zu %12.6f %12.6f %9.2f\n", family->name, family->calls, family->measured,
               family->estimated, family->estimated / family->measured);
    printf("%8s %12s %12s %14s %14s %14s\n", "shards", "mean s", "slowest s", "slowest / mean",
           "slowest / best", "longest call s");
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) tell_shards(wanted[i]);
    cost_estimator_close(&estimator);
    arena_release(&arena);
    return 0;
}
