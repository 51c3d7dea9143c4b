/* The same steps as a run takes for each of its calls, for one. */
#include "runner/one_call.h"

#include "bench/lost_dtype.h"
#include "core/memory.h"
#include "generators/generate.h"
#include "runner/repeat_command.h"
#include "variation/tile_sizes.h"

struct status one_call_open(struct one_call *out, const struct run_options *options,
                            const char *name)
{
    *out = (struct one_call){ .options = *options };
    out->options.threads = 1;
    TRY(run_inputs_open(&out->inputs, &out->options, NULL));
    TRY(run_inputs_find(&out->position, &out->inputs, name));
    TRY(checkers_open(&out->checkers, &out->options, out->inputs.backend, 1));
    TRY(checkers_accept(&out->checkers, &out->inputs));
    TRY(repeat_command_make(&out->repeat, &out->options));
    out->setup = checkers_setup(&out->checkers, &out->options, &out->inputs, out->repeat);
    TRY(reproduce_command_make(&out->reproduce, &out->options));
    out->setup.style.reproduce = out->reproduce;
    one_call_checker(out)->setup = &out->setup;
    return status_ok();
}

void one_call_close(struct one_call *call)
{
    checkers_close(&call->checkers);
    run_inputs_close(&call->inputs);
    memory_release(call->repeat);
    memory_release(call->reproduce);
}

struct checker *one_call_checker(struct one_call *call) { return &call->checkers.items[0]; }

struct status one_call_read(struct api_case *out, struct arena *arena, const struct one_call *call)
{
    const struct check_setup *setup = &call->setup;
    struct generate_notes notes;
    const char *sizes;
    TRY(dump_read_case(out, arena, setup->dump, call->position));
    if (!setup->framework || setup->framework->has_torch_names) TRY(lost_dtype_restore(out, arena));
    TRY(tile_sizes_apply(out, &sizes, arena, &setup->generate));
    return generate_inputs(out, &notes, arena, setup->dump, &setup->generate);
}
