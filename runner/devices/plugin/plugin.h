/* The device "plugin:FILE.json": kernels in shared libraries, called as a manifest says, in a
 * process of their own. The parts:
 *
 *     plugin_manifest   the manifest file            
 *     plugin_expression the language of its values   (plugin_value: values and arithmetic,
 *                                                     plugin_functions: its functions)
 *     plugin_bind       call + manifest -> program   (plugin_emit: steps and arguments,
 *                                                     tensor_layout: dtype and order of tensors)
 *     plugin_program    the program's bytes
 *     plugin_call       carries it out, by libffi
 *     isolation         in another process, on fenced memory
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_H

#include "runner/devices/device.h"
#include "runner/devices/plugin/plugin_manifest.h"
#include "runner/devices/process/isolation.h"

struct plugin;

/* Open the device for a manifest file. The libraries are loaded (in the kernel process), so that
 * what is wrong with them shows here: STATUS_BAD_INPUT. */
struct status plugin_open(struct plugin **out, const char *path,
                          const struct device_options *options);
void plugin_close(struct plugin *plugin);

/* Run a call: the outputs, and the gradients when wanted; as struct device_class run. */
struct status plugin_run(struct plugin *plugin, struct device_result *out, struct arena *arena,
                         const struct api_case *c, bool want_gradients);

const struct manifest *plugin_manifest(const struct plugin *plugin);

/* Does the library export the function? STATUS_BAD_INPUT and the loader's words when not. */
struct status plugin_probe_symbol(struct plugin *plugin, size_t library, const char *symbol);

#endif
