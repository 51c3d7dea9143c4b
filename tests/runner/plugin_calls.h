/* Calls of a plugin's kernels, on a device opened with the manifests of tests/data. */
#ifndef PROBE_TESTS_RUNNER_PLUGIN_CALLS_H
#define PROBE_TESTS_RUNNER_PLUGIN_CALLS_H

#include <check.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>

#include "runner/devices/device.h"
#include "runner/devices/plugin/plugin.h"
#include "support/cases.h"
#include "support/diagnosis.h"
#include "support/sanitized.h"
#include "support/suite.h"

static struct device *device;
static struct arena arena;

__attribute__((unused)) static void manifest_path(char *text, size_t bytes, const char *prefix)
{
    char program[] = PROBE_UT;
    snprintf(text, bytes, "%s%s/tests/plugin/plugin_test.json", prefix, dirname(program));
}

__attribute__((unused)) static void open_device(void)
{
    char backend[1000];
    manifest_path(backend, sizeof backend, "plugin:");
    struct device_options options = { .backend = backend,
                                      .case_timeout_s = emulated() ? 20 : 1,
                                      .memory_limit_bytes = 64 << 20 };
    const struct device_class *class = device_find(backend);
    ck_assert_ptr_nonnull(class);
    struct status st = class->open(&device, &options);
    ck_assert_msg(!st.code, "%s", st.text);
}

__attribute__((unused)) static void close_device(void)
{
    device->class->close(device);
    arena_release(&arena);
}

__attribute__((unused)) static struct device_result run(const struct api_case *c)
{
    struct device_result result;
    struct status st = device->class->run(device, &result, &arena, c, true);
    ck_assert_msg(!st.code, "%s: %s", c->full_name, st.text);
    return result;
}

__attribute__((unused)) static struct value f32(bool requires_grad, int rank, const int64_t *shape)
{
    return ramp_value(&arena, DT_F32, requires_grad, rank, shape);
}

#define SHAPE(...) \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

__attribute__((unused)) static void check_doubles(const struct value *got, const double *want,
                                                  size_t n, double tolerance)
{
    ck_assert_uint_eq(tensor_elements(got->tensor.tensor), n);
    const double *x = doubles_of(&arena, got);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs(x[i] - want[i]) <= tolerance, "element %zu: %.17g, not %.17g", i, x[i],
                      want[i]);
}

#endif
