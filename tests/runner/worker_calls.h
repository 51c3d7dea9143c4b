/* Calls of a worker, by default the peer that echoes (worker_peer.c), on a device of this program's build. */
#ifndef PROBE_TESTS_RUNNER_WORKER_CALLS_H
#define PROBE_TESTS_RUNNER_WORKER_CALLS_H

#include <check.h>
#include <libgen.h>

#include "runner/devices/device.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;
static struct device *device;

#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

__attribute__((unused)) static struct device *open_with(const char *program, const char *arguments,
                                                        struct device_options options)
{
    char ut[] = PROBE_UT, backend[2000];
    snprintf(backend, sizeof backend, "worker:'%s/%s' %s", dirname(ut), program, arguments);
    options.backend = backend;
    options.device_id = 7;
    const struct device_class *class = device_find(backend);
    struct device *out = NULL;
    struct status st = class->open(&out, &options);
    ck_assert_msg(!st.code, "%s", st.text);
    return out;
}

__attribute__((unused)) static struct device *open_worker(const char *program,
                                                          const char *arguments)
{
    return open_with(program, arguments, (struct device_options){ .case_timeout_s = 3 });
}

__attribute__((unused)) static void open_peer(void)
{
    device = open_worker("tests/plugin/worker-peer", "well");
    ck_assert(!device->class->ready(device).code);
}

__attribute__((unused)) static void close_peer(void)
{
    device->class->close(device);
    arena_release(&arena);
}

__attribute__((unused)) static struct status run(struct device_result *out,
                                                 const struct api_case *c, bool gradients)
{
    return device->class->run(device, out, &arena, c, gradients);
}

#endif
