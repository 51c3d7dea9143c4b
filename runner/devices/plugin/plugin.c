/* One call on a plugin: bind it, run its program in the kernel process, collect what it wrote. */
#include "runner/devices/plugin/plugin.h"

#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "runner/devices/device_classes.h"
#include "runner/devices/plugin/plugin_bind.h"
#include "runner/devices/plugin/plugin_call.h"

/* Shared memory kept from call to call; more is given back. */
#define KEEP_BYTES ((uint64_t)256 << 20)

struct plugin {
    struct device device;
    struct manifest manifest;
    struct zygote *zygote;
    struct isolation *isolation;
    struct binding binding; /* large, so it is kept */
};

/* A kernel that allocates without end should fail before the machine does, so without a limit of
 * the user's or the manifest's it is half of the machine's memory. */
static uint64_t memory_limit(const struct manifest *manifest, const struct device_options *options)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (options->memory_limit_bytes) return options->memory_limit_bytes;
    if (manifest->memory_limit > 0) return (uint64_t)manifest->memory_limit;
    return pages > 0 && page > 0 ? (uint64_t)pages / 2 * (uint64_t)page : 0;
}

static struct status start(struct plugin *plugin, const struct device_options *options)
{
    struct program_writer request = { 0 };
    struct isolation_options isolation = {
        .in_process = options->in_process,
        .timeout_s = options->case_timeout_s,
        .memory_limit = memory_limit(&plugin->manifest, options),
        .handler = plugin_call,
        .finish = plugin_call_finish,
    };
    if (!options->in_process) TRY(zygote_start(&plugin->zygote));
    isolation.zygote = plugin->zygote;
    TRY(binding_build_start(&request, &plugin->manifest));
    struct status st = isolation_open(&plugin->isolation, &isolation, request.bytes, request.used);
    program_writer_release(&request);
    if (st.code) return st;
    st = isolation_start(plugin->isolation);
    return st.code ? status_within(st, "%s", plugin->manifest.file.name) : st;
}

struct status plugin_open(struct plugin **out, const char *path,
                          const struct device_options *options)
{
    struct plugin *plugin = memory_allocate_zeroed(1, sizeof *plugin);
    if (!plugin) return status_no_memory(sizeof *plugin);
    struct status st = manifest_open(&plugin->manifest, path, options->file_policy);
    if (!st.code && options->is_api) st = manifest_check_apis(&plugin->manifest, options->is_api);
    if (!st.code) st = start(plugin, options);
    if (st.code) {
        plugin_close(plugin);
        return st;
    }
    *out = plugin;
    return status_ok();
}

void plugin_close(struct plugin *plugin)
{
    binding_close(&plugin->binding);
    isolation_close(plugin->isolation);
    zygote_stop(plugin->zygote);
    manifest_close(&plugin->manifest);
    memory_release(plugin);
}

const struct manifest *plugin_manifest(const struct plugin *plugin) { return &plugin->manifest; }

struct status plugin_probe_symbol(struct plugin *plugin, size_t library, const char *symbol)
{
    struct space *space = isolation_space(plugin->isolation);
    struct plugin_probe probe = { .word = PLUGIN_PROBE, .library = library };
    uint64_t offset;
    size_t length = strlen(symbol);
    if (length >= sizeof probe.symbol)
        return status_error(STATUS_BAD_INPUT, "the name of the function is too long");
    memcpy(probe.symbol, symbol, length);
    space_begin(space, KEEP_BYTES);
    TRY(space_request(space, &offset, sizeof probe));
    memcpy(space_at(space, offset), &probe, sizeof probe);
    return isolation_call(plugin->isolation, offset, sizeof probe);
}

static struct status run_backward(struct plugin *plugin, struct device_result *out)
{
    uint64_t offset, bytes;
    struct space *space = isolation_space(plugin->isolation);
    space_begin(space, KEEP_BYTES);
    TRY(binding_build_backward(&plugin->binding, space, &out->outputs, &offset, &bytes));
    TRY(isolation_call(plugin->isolation, offset, bytes));
    return binding_collect_gradients(&out->gradients, &plugin->binding);
}

struct status plugin_run(struct plugin *plugin, struct device_result *out, struct arena *arena,
                         const struct api_case *c, bool want_gradients)
{
    uint64_t offset, bytes;
    struct space *space = isolation_space(plugin->isolation);
    struct binding *binding = &plugin->binding;

    *out = (struct device_result){ .gradients = { .kind = VALUE_NONE } };
    space_begin(space, KEEP_BYTES);
    TRY(binding_open(binding, arena, &plugin->manifest, c));
    TRY(binding_build_forward(binding, space, &offset, &bytes));
    TRY(isolation_call(plugin->isolation, offset, bytes));
    TRY(binding_collect_outputs(&out->outputs, binding));
    if (!want_gradients) return status_ok();
    out->backward = run_backward(plugin, out);
    if (out->backward.code) out->gradients = (struct value){ .kind = VALUE_NONE };
    /* Short memory says nothing about the kernel: the call is tried again with more. */
    return out->backward.code == STATUS_NO_MEMORY ? out->backward : status_ok();
}

/* --- the device class --------------------------------------------------------------------------- */

static struct status device_open(struct device **out, const struct device_options *options)
{
    struct plugin *plugin = NULL;
    TRY(plugin_open(&plugin, options->backend + strlen("plugin:"), options));
    plugin->device.class = &device_plugin;
    *out = &plugin->device;
    return status_ok();
}

/* What the manifest gets wrong for this call is this call's matter: a SKIP row says what. */
static struct status as_skip(struct status st)
{
    if (st.code == STATUS_BAD_INPUT) st.code = STATUS_SKIP;
    return st;
}

static struct status device_run(struct device *device, struct device_result *out,
                                struct arena *arena, const struct api_case *c, bool want_gradients)
{
    /* `device` is the first member. */
    struct status status =
        plugin_run((struct plugin *)(void *)device, out, arena, c, want_gradients);
    out->backward = as_skip(out->backward);
    return as_skip(status);
}

static void device_close(struct device *device) { plugin_close((struct plugin *)(void *)device); }

const struct device_class device_plugin = {
    .name = "plugin",
    .alter_inputs = true,
    .open = device_open,
    .run = device_run,
    .close = device_close,
};
