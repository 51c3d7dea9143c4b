/* The same call on two tapes. */
#include "bench/model_pair.h"

/* Evaluate the call as `like` says. */
static struct status evaluate(struct evaluation **out, int which, struct bench *bench,
                              const struct evaluation *like)
{
    struct evaluation *model = arena_allocate(bench->own.arena, sizeof *model);
    if (!model) return status_no_memory(sizeof *model);
    *model = *like;
    model->arena = bench->own.arena;
    model->arithmetic = which == MODEL_TYPICAL ? BENCH_MODEL_TYPICAL : BENCH_MODEL_WORST;
    model->call = bench->own.call;
    TRY(evaluation_open(model));
    TRY(evaluation_forward(model));
    *out = model;
    return status_ok();
}

struct status model_open(struct evaluation *models[2], int which, struct bench *bench,
                         enum dtype stage, const struct kernel_modes *modes)
{
    const struct evaluation like = { .stage = stage,
                                     .modes = modes,
                                     .twin = which == MODEL_TYPICAL ? models[MODEL_WORST]
                                                                    : &bench->own };
    return evaluate(&models[which], which, bench, &like);
}

struct status model_open_narrow(struct evaluation *models[2], int which, struct bench *bench)
{
    return evaluate(&models[which], which, bench,
                    &(struct evaluation){ .stage = DT_NONE, .narrow = true });
}

struct status model_pair_open(struct evaluation *models[2], struct bench *bench, enum dtype stage,
                              const struct kernel_modes *modes)
{
    TRY(model_open(models, MODEL_WORST, bench, stage, modes));
    return model_open(models, MODEL_TYPICAL, bench, stage, modes);
}
