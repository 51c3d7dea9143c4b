/* Manifests of any bytes: read, and every kernel bound to its small calls, forward and backward, up
 * to the program that a kernel process would carry out. Nothing is loaded or called. */
#include <assert.h>
#include <stdint.h>

#include "cli/plugin_smoke.h"
#include "core/memory.h"
#include "runner/devices/plugin/plugin_bind.h"

enum { MOST_KERNELS = 4 };

static void build(struct binding *binding, struct space *space, struct arena *arena,
                  const struct manifest *manifest, const struct api_case *c)
{
    uint64_t offset, bytes;
    struct value outputs, gradients;

    if (binding_open(binding, arena, manifest, c).code) return;
    space_begin(space, 1 << 20);
    struct status status = binding_build_forward(binding, space, &offset, &bytes);
    assert(!status.code || status.text[0]);
    if (status.code || binding_collect_outputs(&outputs, binding).code) return;
    space_begin(space, 1 << 20);
    status = binding_build_backward(binding, space, &outputs, &offset, &bytes);
    assert(!status.code || status.text[0]);
    if (!status.code) (void)binding_collect_gradients(&gradients, binding);
}

static void bind_kernel(struct space *space, const struct manifest *manifest,
                        const struct manifest_kernel *kernel)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct binding *binding = memory_allocate_zeroed(1, sizeof *binding);
    size_t attempts = smoke_attempts(kernel);
    if (!binding) return;
    for (size_t i = 0; i < attempts; i += 7) { /* some of all dtypes and ranks */
        struct api_case c;
        if (!smoke_case(&c, &arena, manifest, kernel, i).code)
            build(binding, space, &arena, manifest, &c);
        arena_reset(&arena);
    }
    binding_close(binding);
    memory_release(binding);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct space space; /* half a terabyte of addresses: mapped once */
    struct program_writer start = { 0 };
    struct manifest manifest;

    if (!space.base && space_open(&space).code) return 0;
    struct status status = manifest_parse(&manifest, "dir/kernels.json", (const char *)data, size);
    if (status.code) {
        assert(status.text[0]);
        return 0;
    }
    if (!binding_build_start(&start, &manifest).code)
        for (size_t i = 0; i < manifest.n_kernels && i < MOST_KERNELS; i++)
            bind_kernel(&space, &manifest, &manifest.kernels[i]);
    program_writer_release(&start);
    manifest_close(&manifest);
    return 0;
}
