/* Somebody else's work on the same machine: a stream read of an array of its own on every core, for some seconds.
 * What it keeps beside a run of the program shows what the run takes from its neighbours.
 *
 *   bench_neighbour SECONDS     prints GB/s of all cores together
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "runner/environment.h"

enum { ARRAY_BYTES = 64 << 20, CORES_MAX = 1024 }; /* beyond the caches of a core */

struct stream {
    pthread_t thread;
    double until_s;
    size_t passes;
    double sum; /* so that the reads are needed */
};

static double read_once(const double *array, size_t count)
{
    double sums[8] = { 0 };
    for (size_t i = 0; i < count; i += 8)
        for (size_t k = 0; k < 8; k++) sums[k] += array[i + k];
    double sum = 0;
    for (size_t k = 0; k < 8; k++) sum += sums[k];
    return sum;
}

static void *read_on(void *context)
{
    struct stream *stream = context;
    size_t count = ARRAY_BYTES / sizeof(double);
    double *array = memory_allocate(ARRAY_BYTES);
    if (!array) return NULL;
    for (size_t i = 0; i < count; i++) array[i] = 1;
    while (clock_seconds() < stream->until_s) {
        stream->sum += read_once(array, count);
        stream->passes++;
    }
    memory_release(array);
    return NULL;
}

int main(int count, char **arguments)
{
    static struct stream streams[CORES_MAX];
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 0;
    int cores = environment_cores();
    size_t passes = 0;
    if (!(seconds > 0) || cores > CORES_MAX) {
        fprintf(stderr, "usage: bench_neighbour SECONDS\n");
        return 1;
    }
    double start_s = clock_seconds();
    for (int i = 0; i < cores; i++) {
        streams[i].until_s = start_s + seconds;
        if (pthread_create(&streams[i].thread, NULL, read_on, &streams[i])) return 1;
    }
    for (int i = 0; i < cores; i++) {
        pthread_join(streams[i].thread, NULL);
        passes += streams[i].passes;
    }
    double elapsed_s = clock_seconds() - start_s;
    printf("%.3f GB/s on %d cores\n", (double)passes * ARRAY_BYTES / 1e9 / elapsed_s, cores);
    return 0;
}
