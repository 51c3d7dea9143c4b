/* The devices that there are; device.c has their names. */
#ifndef PROBE_RUNNER_DEVICES_DEVICE_CLASSES_H
#define PROBE_RUNNER_DEVICES_DEVICE_CLASSES_H

#include "runner/devices/device.h"

/* The tested dtype's own arithmetic, as an accelerator has it. */
extern const struct device_class device_cpu;

/* What the dump recorded: its stored outputs and gradients. */
extern const struct device_class device_recorded;

/* Kernels of shared libraries, called as a manifest says. */
extern const struct device_class device_plugin;

/* PyTorch or MindSpore, by the worker that comes with the program. */
extern const struct device_class device_framework;

/* A process that speaks the worker protocol. */
extern const struct device_class device_worker;

/* Names for --backend, ended by NULL; one that ends in ':' takes a text behind it. */
const char *const *device_names(void);

#endif
