/* The table of devices by the word before the colon of --backend. */
#include "runner/devices/device.h"

#include <string.h>

#include "runner/devices/device_classes.h"

/* Backends by name. A name that ends in ':' takes the rest of what the user typed. */
static const struct {
    const char *name;
    const struct device_class *class;
} devices[] = {
    { "cpu", &device_cpu },
    { "recorded", &device_recorded },
    { "plugin:", &device_plugin },
    { "torch", &device_framework },
    { "torch:", &device_framework },
    { "mindspore", &device_framework },
    { "mindspore:", &device_framework },
    { "worker:", &device_worker },
};

const struct device_class *device_find(const char *backend)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        size_t length = strlen(devices[i].name);
        bool prefix = devices[i].name[length - 1] == ':';
        if (prefix ? !strncmp(backend, devices[i].name, length) && backend[length]
                   : !strcmp(backend, devices[i].name))
            return devices[i].class;
    }
    return NULL;
}

const char *const *device_names(void)
{
    static const char *const names[] = { "cpu",       "recorded",   "plugin:", "torch", "torch:",
                                         "mindspore", "mindspore:", "worker:", NULL };
    return names;
}
