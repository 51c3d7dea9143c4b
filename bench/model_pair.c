/* The same call on two tapes. */
#include "bench/model_pair.h"

enum bench_arithmetic model_arithmetic(int which)
{
    return which == MODEL_TYPICAL ? BENCH_MODEL_TYPICAL : BENCH_MODEL_WORST;
}

struct status model_open(struct evaluation *models[2], int which, struct bench *bench,
                         enum dtype stage, const struct kernel_modes *modes)
{
    struct evaluation *model = arena_allocate_zeroed(bench->own.arena, 1, sizeof *model);
    if (!model) return status_no_memory(sizeof *model);
    model->arena = bench->own.arena;
    model->arithmetic = model_arithmetic(which);
    model->stage = stage;
    model->modes = modes;
    model->twin = which == MODEL_TYPICAL ? models[MODEL_WORST] : &bench->own;
    model->call = bench->own.call;
    TRY(evaluation_open(model));
    TRY(evaluation_forward(model));
    models[which] = model;
    return status_ok();
}

struct status model_pair_open(struct evaluation *models[2], struct bench *bench, enum dtype stage,
                              const struct kernel_modes *modes)
{
    TRY(model_open(models, MODEL_WORST, bench, stage, modes));
    return model_open(models, MODEL_TYPICAL, bench, stage, modes);
}
