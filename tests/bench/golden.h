/* Goldens: API calls with PyTorch's float64 results and gradients (tests/data/goldens). */
#ifndef PROBE_TESTS_BENCH_GOLDEN_H
#define PROBE_TESTS_BENCH_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/case.h"

enum { GOLDEN_MOST = 256 };

struct golden_tensor {
    bool present;
    bool is_float64; /* computed in float64; otherwise in the dtype of the call */
    bool
        open; /* of arguments with infinities or NaN: only what is finite on both sides is compared */
    enum dtype dtype;
    struct tensor tensor;
};

struct golden {
    char api[128];
    char family[32];
    bool is_public;      /* set by the caller: of the folder tests/data/goldens */
    bool refused;        /* PyTorch refuses the call */
    bool native_refused; /* it runs in float64, but not in the dtypes of the call */
    struct api_case c;
    size_t output_count;
    struct golden_tensor outputs[GOLDEN_MOST];
    size_t gradient_count; /* by tensor argument, args then kwargs, depth-first */
    struct golden_tensor gradients[GOLDEN_MOST];
};

struct golden_file;

/* Open a folder with index.jsonl and tensors.bin; NULL on failure. */
struct golden_file *golden_open(const char *folder);
void golden_close(struct golden_file *file);

/* What PyTorch returned, outputs or gradients, as a list of tensors and NONE. */
void golden_list(struct value *out, struct golden_tensor *tensors, size_t count,
                 struct arena *arena);

/* The next record, or false at the end. It lives in `arena`. */
bool golden_next(struct golden_file *file, struct golden *out, struct arena *arena);

#endif
