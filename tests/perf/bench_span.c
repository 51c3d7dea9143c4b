/* How long the calls of a dump take however many cores there are.
 *
 *   bench_span DUMP [CORES [ROUNDS [SHOWN]]]
 *
 * Every call is checked on one thread, ROUNDS times, of which the least counts, in seconds of the processor. A part of
 * that, the parts, could have been done by others (core/parallel.h). On CORES cores a call takes no longer than what is in no
 * part, the longest part of each work, and the parts divided by the cores (Graham's bound); the longest call
 * is the critical path of the dump. Printed are the SHOWN longest ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "formats/dump.h"
#include "runner/environment.h"
#include "runner/one_call.h"

enum { CORES = 64, ROUNDS = 3, SHOWN = 12 };

struct span {
    char name[80];
    double total_s, parts_s, longest_s, span_s;
};

static void stop(struct status status)
{
    if (!status.code) return;
    fprintf(stderr, "bench_span: %s\n", status.text);
    exit(1);
}

static struct span measure(struct one_call *call, size_t position, double cores, int rounds)
{
    static struct case_outcome outcome;
    struct span span = { .total_s = 1e300 };
    for (int round = 0; round < rounds; round++) {
        double begin_s = clock_thread_seconds();
        if (!case_check(&outcome, one_call_checker(call), position)) exit(1);
        double seconds = clock_thread_seconds() - begin_s;
        stop(outcome.fatal);
        if (seconds >= span.total_s) continue;
        span.total_s = seconds;
        span.parts_s = outcome.times.parts_s;
        span.longest_s = outcome.times.longest_parts_s;
    }
    span.span_s = span.total_s - span.parts_s + span.longest_s + span.parts_s / cores;
    snprintf(span.name, sizeof span.name, "%s", dump_name(call->inputs.dump, position));
    return span;
}

static int longer_first(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->span_s < y->span_s) - (x->span_s > y->span_s);
}

int main(int argc, char **argv)
{
    struct run_options options = RUN_OPTIONS_DEFAULTS;
    struct one_call call;
    if (argc < 2) return 2;
    double cores = argc > 2 ? atof(argv[2]) : CORES, total_s = 0, parts_s = 0;
    int rounds = argc > 3 ? atoi(argv[3]) : ROUNDS;
    size_t shown = argc > 4 ? strtoull(argv[4], NULL, 10) : SHOWN;
    options.api_info = argv[1];
    options.no_diagnose = true;
    options.file_policy = FILES_TRUSTED;
    stop(environment_prepare(argv));
    struct dump *dump;
    char name[2048];
    stop(dump_open(&dump, argv[1], FILES_TRUSTED));
    snprintf(name, sizeof name, "%s", dump_name(dump, 0));
    dump_close(dump);
    stop(one_call_open(&call, &options, name));
    size_t count = call.inputs.order.count;
    struct span *spans = memory_allocate_zeroed(count, sizeof *spans);
    for (size_t i = 0; i < count; i++) {
        spans[i] = measure(&call, call.inputs.order.positions[i], cores, rounds);
        total_s += spans[i].total_s;
        parts_s += spans[i].parts_s;
    }
    qsort(spans, count, sizeof *spans, longer_first);
    printf("%-40s %9s %9s %9s %9s\n", "call", "total s", "serial s", "longest s", "span s");
    for (size_t i = 0; i < count && i < shown; i++)
        printf("%-40s %9.4f %9.4f %9.4f %9.4f\n", spans[i].name, spans[i].total_s,
               spans[i].total_s - spans[i].parts_s, spans[i].longest_s, spans[i].span_s);
    printf(
        "%zu calls %.3f s, %.3f s in parts; on %.0f cores %.4f s each, the longest call %.4f s\n",
        count, total_s, parts_s, cores, total_s / cores, count ? spans[0].span_s : 0);
    memory_release(spans);
    one_call_close(&call);
    return 0;
}
