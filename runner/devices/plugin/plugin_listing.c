/* The first half of a call of the device: everything up to the kernel's process. */
#include "runner/devices/plugin/plugin_listing.h"

static struct status list_call(struct plugin_listing *out, struct arena *arena,
                               const struct api_case *c, const struct value *outputs)
{
    uint64_t offset = 0, bytes = 0;
    space_begin(&out->space, 0);
    TRY(binding_open(&out->binding, arena, &out->manifest, c));
    if (outputs) TRY(binding_build_backward(&out->binding, &out->space, outputs, &offset, &bytes));
    else TRY(binding_build_forward(&out->binding, &out->space, &offset, &bytes));
    out->program = space_at(&out->space, offset);
    return status_ok();
}

struct status plugin_listing_open(struct plugin_listing *out, struct arena *arena, const char *path,
                                  struct file_policy policy, const struct api_case *c,
                                  const struct value *outputs)
{
    out->space = (struct space){ .descriptor = -1 };
    out->start = (struct program_writer){ 0 };
    TRY(manifest_open(&out->manifest, path, policy));
    TRY(binding_build_start(&out->start, &out->manifest));
    TRY(space_open(&out->space));
    return list_call(out, arena, c, outputs);
}

void plugin_listing_close(struct plugin_listing *listing)
{
    binding_close(&listing->binding);
    program_writer_release(&listing->start);
    space_close(&listing->space);
    manifest_close(&listing->manifest);
}
