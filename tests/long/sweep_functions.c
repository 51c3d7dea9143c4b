/* Every 509th float32 pattern through every function of one variable, against 80-bit balls
 * (growing to 6144 bits where they do not tell).
 *
 *     sweep_functions [--stride N] [--jobs N] [FUNCTION ...]
 *
 * prints one line per function: inputs, values outside their declared bound, the largest error
 * seen in ulps of double, how many values were not certified for float32, how many left the
 * correctly rounded float32 open and the estimate 4 k / 2^29 times 4 that section 3.2 of the
 * numerical guide allows (k = declared ulps), and seconds. Exit status 1 when anything is wrong.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/sweep.h"

enum { MOST_FUNCTIONS = 256 };

struct outcome {
    struct sweep sweep;
    double seconds;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool is_wanted(const char *name, int count, char **names)
{
    if (!count) return true;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

int main(int argc, char **argv)
{
    uint64_t stride = 509;
    int jobs = 1, at = 1;
    size_t count;
    const struct unary_function *functions = unary_functions(&count);
    struct outcome *outcomes = mmap(NULL, MOST_FUNCTIONS * sizeof *outcomes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--stride")) stride = strtoull(argv[at + 1], NULL, 10);
        else if (!strcmp(argv[at], "--jobs")) jobs = atoi(argv[at + 1]);
    }
    if (!stride || jobs < 1 || outcomes == MAP_FAILED || count > MOST_FUNCTIONS) return 2;
    for (int job = 0; job < jobs; job++) {
        if (fork()) continue;
        for (size_t i = (size_t)job; i < count; i += (size_t)jobs) {
            const struct oracle *oracle = oracle_find(functions[i].name);
            if (!oracle || !is_wanted(functions[i].name, argc - at, argv + at)) continue;
            double start = now();
            sweep_patterns(&outcomes[i].sweep, &functions[i], oracle, DT_F32, 0, stride);
            outcomes[i].seconds = now() - start;
        }
        _exit(0);
    }
    int failed = 0, status;
    while (wait(&status) > 0) failed |= status != 0;

    double seconds = 0;
    size_t inputs = 0, wrong = 0, ambiguous = 0;
    printf("%-12s %8s %10s %6s %9s %12s %10s %10s %8s\n", "function", "declared", "inputs", "wrong",
           "largest", "uncertified", "ambiguous", "allowed", "seconds");
    for (size_t i = 0; i < count; i++) {
        const struct sweep *s = &outcomes[i].sweep;
        if (!s->inputs) continue;
        double allowed = 4 * 4 * functions[i].ulps / 0x1p29 * (double)s->inputs;
        printf("%-12s %8.3g %10zu %6zu %9.4f %12zu %10zu %10.2g %8.1f\n", functions[i].name,
               functions[i].ulps, s->inputs, s->wrong, s->worst_ulps, s->uncertified, s->ambiguous,
               allowed, outcomes[i].seconds);
        seconds += outcomes[i].seconds;
        inputs += s->inputs;
        wrong += s->wrong + s->uncertified;
        ambiguous += s->ambiguous;
    }
    printf("stride %llu: %zu inputs, %zu wrong or not certified, %zu with two possible float32 "
           "results, "
           "%.0f s of processor time\n",
           (unsigned long long)stride, inputs, wrong, ambiguous, seconds);
    return wrong || failed || !inputs;
}
