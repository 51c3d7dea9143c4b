/* Carrying out a program of calls: libraries, symbols, libffi. Runs in the kernel process (or,
 * with --isolate none, in this one).
 */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_CALL_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_CALL_H

#include "runner/devices/process/isolation.h"

/* The isolation_handler of a plugin. The start request is a struct program_start: libraries are
 * loaded, the session's handles opened. Every other request is a struct program. A request
 * that begins with PLUGIN_PROBE asks for the address of one symbol instead (plugin check). */
isolation_handler plugin_call;

/* Call the session's closing functions and unload; for isolation_options.finish. */
void plugin_call_finish(void *state);

/* A request to look up a symbol: this word, the library's index, then the name. */
#define PLUGIN_PROBE UINT64_MAX

struct plugin_probe {
    uint64_t word; /* PLUGIN_PROBE, where a program has its size */
    uint64_t library;
    char symbol[240];
};

#endif
