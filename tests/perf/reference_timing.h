/* What the benchmarks of references share: calls on made-up tensors, medians, the machine. */
#ifndef PROBE_TESTS_PERF_REFERENCE_TIMING_H
#define PROBE_TESTS_PERF_REFERENCE_TIMING_H

#include <cblas.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/arithmetic/blas.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/bench.h"
#include "bench/call/call.h"
#include "bench/evaluation.h"

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, ascending);
    return times[count / 2];
}

static inline double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

static inline double normal(uint64_t *state)
{
    return sqrt(-2 * log(1 - uniform(state))) * cos(6.283185307179586 * uniform(state));
}

/* A case of tensor arguments. `tensors` must stay. */
struct timed_case {
    struct api_case c;
    struct value items[4];
};

static inline void timed_case_open(struct timed_case *t, const char *type, const char *api,
                                   int count, struct tensor *tensors)
{
    memset(t, 0, sizeof *t);
    t->c.full_name = api;
    t->c.type = type;
    t->c.api = api;
    t->c.args.kind = t->c.outputs.kind = t->c.cotangents.kind = t->c.gradients.kind = VALUE_LIST;
    t->c.kwargs.kind = VALUE_DICT;
    t->c.args.list.items = t->items;
    t->c.args.list.count = (size_t)count;
    for (int i = 0; i < count; i++) {
        t->items[i].kind = VALUE_TENSOR;
        t->items[i].tensor.tensor = &tensors[i];
    }
}

/* Evaluate the reference once; seconds. The share of elements whose bound, before refinement, was
 * above 2^-10 ulp of the dtype goes to `fallback`, the final state to `state`. */
static inline double time_reference(const struct timed_case *t, struct arena *arena,
                                    double *fallback, enum reference_state *state)
{
    struct bench *bench;
    double start = now();
    struct status st = bench_open(&bench, &t->c, arena, BENCH_REFERENCE);
    double seconds = now() - start;
    if (st.code) {
        fprintf(stderr, "%s: %s\n", t->c.api, st.text);
        exit(1);
    }
    struct bench_output *output = bench_output(bench, 0);
    struct node *node = bench_call(bench)->results.items[0].node;
    size_t open = 0;
    if (fallback)
        (void)node_values(bench_call(bench)->tape,
                          node); /* they may be left for whoever reads them */
    for (size_t i = 0; fallback && i < node->n; i++)
        open += node_error(node, i) > 0x1p-10 * dtype_ulp(output->reference.dtype, node->value[i]);
    if (fallback) *fallback = node->n ? (double)open / (double)node->n : 0;
    if (state) *state = output->reference.state;
    arena_reset(arena);
    return seconds;
}

static inline const char *state_name(enum reference_state state)
{
    static const char *const names[] = { "exact", "certified", "bounded" };
    return names[state];
}

static inline void print_machine(void)
{
    char line[256], model[128] = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10)) {
            (void)snprintf(model, sizeof model, "%.100s", strchr(line, ':') + 2);
            model[strcspn(model, "\n")] = '\0';
            break;
        }
    if (file) fclose(file);
    double load = 0;
    file = fopen("/proc/loadavg", "r");
    if (file && fscanf(file, "%lf", &load) != 1) load = 0;
    if (file) fclose(file);
    printf("%s; BLAS core %s; vector width %d; load %.1f\n", model, blas_core(),
           vector_math_width(), load);
}

#endif
