/* The embedded device: every op in the arithmetic of its own dtype, float32 accumulation and one
 * rounding of the result, so that a first run needs nothing but a dump. The work is done by the
 * bench functions in their native arithmetic.
 */
#include "bench/bench.h"
#include "core/memory.h"
#include "runner/devices/device_classes.h"

static struct status cpu_open(struct device **out, const struct device_options *options)
{
    (void)options;
    struct device *device = memory_allocate_zeroed(1, sizeof *device);
    if (!device) return status_no_memory(sizeof *device);
    device->class = &device_cpu;
    *out = device;
    return status_ok();
}

/* `room`: where the results are put. */
static struct status evaluate(struct device_result *out, struct arena *arena,
                              const struct api_case *c, bool want_gradients, void *room,
                              size_t room_bytes)
{
    struct bench *bench;
    TRY(bench_open(&bench, c, arena, BENCH_NATIVE));
    bench_native_place(bench, room, room_bytes);
    TRY(bench_native_outputs(&out->outputs, bench));
    if (!want_gradients) return status_ok();
    struct status status = bench_native_gradients(&out->gradients, bench, &c->cotangents);
    if (status.code == STATUS_SKIP) {
        out->gradients.kind = VALUE_NONE;
        out->backward = status;
        return status_ok();
    }
    return status;
}

static struct status cpu_run(struct device *device, struct device_result *out, struct arena *arena,
                             const struct api_case *c, bool want_gradients)
{
    (void)device;
    *out = (struct device_result){ .gradients = { .kind = VALUE_NONE } };
    struct arena_mark mark = arena_mark(arena);
    size_t bytes = bench_native_room(c, want_gradients);
    void *start = arena_allocate(arena, bytes);
    if (!start) return status_no_memory(bytes);
    TRY(evaluate(out, arena, c, want_gradients, start, bytes));
    return bench_native_keep(&out->outputs, &out->gradients, arena, mark, start, c);
}

static void cpu_close(struct device *device) { memory_release(device); }

const struct device_class device_cpu = {
    .name = "cpu",
    .alter_inputs = true,
    .open = cpu_open,
    .run = cpu_run,
    .close = cpu_close,
};
