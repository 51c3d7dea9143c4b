/* The same call on two tapes. */
#include "bench/model_pair.h"

static const enum bench_arithmetic model_arithmetics[2] = { BENCH_MODEL_WORST,
                                                            BENCH_MODEL_TYPICAL };

struct status model_pair_open(struct evaluation *models[2], struct bench *bench, enum dtype stage,
                              const struct kernel_modes *modes)
{
    for (int k = 0; k < 2; k++) {
        struct evaluation *model = arena_allocate_zeroed(bench->own.arena, 1, sizeof *model);
        if (!model) return status_no_memory(sizeof *model);
        model->arena = bench->own.arena;
        model->arithmetic = model_arithmetics[k];
        model->stage = stage;
        model->modes = modes;
        model->twin = k ? models[k - 1] : &bench->own;
        model->call = bench->own.call;
        TRY(evaluation_open(model));
        TRY(evaluation_forward(model));
        models[k] = model;
    }
    return status_ok();
}
