/* The same steps as a run takes for each of its calls, for one. */
#include "runner/one_call.h"

#include "generators/generate.h"

struct status one_call_open(struct one_call *out, const struct run_options *options,
                            const char *name)
{
    *out = (struct one_call){ .options = *options };
    out->options.threads = 1;
    TRY(run_inputs_open(&out->inputs, &out->options));
    TRY(run_inputs_find(&out->position, &out->inputs, name));
    return checkers_open(&out->checkers, &out->options, &out->inputs);
}

void one_call_close(struct one_call *call)
{
    checkers_close(&call->checkers);
    run_inputs_close(&call->inputs);
}

struct checker *one_call_checker(struct one_call *call) { return &call->checkers.items[0]; }

struct status one_call_read(struct api_case *out, struct arena *arena, const struct one_call *call)
{
    const struct check_setup *setup = &call->checkers.setup;
    struct generate_notes notes;
    TRY(dump_read_case(out, arena, setup->dump, call->position));
    return generate_inputs(out, &notes, arena, setup->dump, &setup->generate);
}
