#!/usr/bin/env python3
"""MindSpore as a device of probe-ut: Ascend, GPU or CPU.

    probe-ut -api_info dump.json --backend "worker:python3 mindspore_worker.py [--device ascend|gpu|cpu]"

Needs MindSpore 2.3 or later (mindspore.mint) and numpy. Speaks the worker protocol (docs/worker-
protocol.md) through worker_protocol.py, which lies beside it.

What a call is, where the dump leaves it open:
  - Mint.x is mindspore.mint.x, MintFunctional.x mindspore.mint.nn.functional.x, Functional.x
    mindspore.ops.x, Tensor.x the method. Lists become tuples, as MindSpore's own pre-check makes them.
  - Calls run in PyNative mode. Gradients are those of GradOperation with the cotangents as its sens, all
    of them together; an output without one gets zeros.
  - bfloat16 passes through float32, which is exact both ways; numpy has none.
An exception in MindSpore means that the device cannot run this call: the row is skipped with the
exception's text.
"""

import contextlib
import os
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import numpy  # noqa: E402

from worker_protocol import Refusal, elements, flatten, serve  # noqa: E402

import mindspore  # noqa: E402

TARGETS = {"ascend": "Ascend", "gpu": "GPU", "cpu": "CPU"}

# What the texts of lost contexts have in common. After one of these every call would fail.
LOST_CONTEXT = ("ACL stream synchronize failed", "AICORE", "aicore exception", "CUDA error",
                "Launch kernel failed", "device-side assert", "EZ9999")

# The dtypes that numpy and MindSpore both have under one name.
SHARED = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "complex64",
          "complex128")


def dtype_of(name):
    name = name.split(".")[-1]
    dtype = getattr(mindspore, "bool_" if name == "bool" else name, None)
    if dtype is None:
        raise Refusal(f"MindSpore {mindspore.__version__} has no dtype {name}")
    return dtype


def name_of(dtype):
    """The name in the protocol: "Float32", "mindspore.float32" and "float32" are one."""
    name = str(dtype).split(".")[-1].lower()
    return "torch." + ("bool" if name in ("bool", "bool_") else name)


# --- bfloat16 ------------------------------------------------------------------------------------------


def widened(halves):
    """The upper halves of float32 values."""
    flat = halves.astype(numpy.uint32).reshape(-1)
    return (flat << 16).view(numpy.float32).reshape(halves.shape)


def narrowed(floats):
    """The other way, of values that are bfloat16 already."""
    return (floats.reshape(-1).view(numpy.uint32) >> 16).astype(numpy.uint16)


class MindSpore:
    """MindSpore on one device, as worker_protocol wants it."""

    def __init__(self, kind, index, jit_compile):
        self.kind = kind or self.best_kind()
        target = TARGETS[self.kind]
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
        if hasattr(mindspore, "set_device"):  # 2.5 and later
            mindspore.set_device(target, index if self.kind != "cpu" else 0)
        elif self.kind == "cpu":
            mindspore.set_context(device_target=target)
        else:
            mindspore.set_context(device_target=target, device_id=index)
        if jit_compile and self.kind == "ascend":
            mindspore.set_context(jit_config={"jit_level": "O0"})

    @staticmethod
    def best_kind():
        target = str(mindspore.get_context("device_target")).lower()
        return target if target in TARGETS else "cpu"

    def name_of_device(self):
        return f"MindSpore {mindspore.__version__} {self.kind}"

    def seed(self, api):
        mindspore.set_seed(zlib.crc32(api.encode()) % 2**31)

    def synchronize(self):
        runtime = getattr(mindspore, "runtime", None)
        if runtime is not None and hasattr(runtime, "synchronize") and self.kind != "cpu":
            runtime.synchronize()

    def running(self, request):
        return contextlib.nullcontext()

    def is_lost(self, error):
        text = str(error)
        return isinstance(error, RuntimeError) and any(words in text for words in LOST_CONTEXT)

    # --- values ---

    def read(self, memory, record, wanted):
        shape, name = record["shape"], record["dtype"].split(".")[-1]
        stored = {"bfloat16": "uint16", "bool": "bool"}.get(name, name if name in SHARED else None)
        if stored is None:
            raise Refusal(f"this worker does not pass tensors of {name}")
        count = elements(shape)
        if count:
            memory.at_least(record["offset"] + count * numpy.dtype(stored).itemsize)
            array = numpy.frombuffer(memory.map, stored, count, record["offset"]).copy().reshape(shape)
        else:
            array = numpy.empty(shape, stored)
        if name == "bfloat16":
            leaf = mindspore.Tensor(widened(array)).astype(dtype_of(name))
        else:
            leaf = mindspore.Tensor(array)
        return leaf, leaf, wanted and name in ("bfloat16", "float16", "float32", "float64")

    def write(self, memory, tensor):
        name = name_of(tensor.dtype)
        if name == "torch.bfloat16":
            array = numpy.ascontiguousarray(tensor.astype(dtype_of("float32")).asnumpy(), numpy.float32)
            stored = narrowed(array)
        else:
            array = stored = numpy.ascontiguousarray(tensor.asnumpy())
        offset = memory.reserve(stored.nbytes)
        if stored.nbytes:
            memory.map[offset:offset + stored.nbytes] = stored.tobytes()
        return {"dtype": name, "shape": list(tensor.shape), "offset": offset}

    def is_tensor(self, value):
        return isinstance(value, mindspore.Tensor)

    def value(self, kind, content):
        if kind == "size":
            return tuple(content)
        if kind == "dtype":
            return dtype_of(content)
        raise Refusal(f"this worker does not know the value {kind}")

    def plain(self, value):
        return {"dtype": name_of(value)} if type(value) is type(mindspore.float32) else None

    # --- calls ---

    def call(self, request, args, kwargs):
        function = function_of(request["type"], request["name"])
        args = [as_tuple(a) for a in args]
        kwargs = {key: as_tuple(value) for key, value in kwargs.items()}
        self.made = (function, args, kwargs)
        # An in-place API changes what it is given, and the gradient is that of what it was.
        return function(*copied(args), **copied(kwargs))

    def backward(self, outputs, cotangents, leaves):
        """The call again as a function of its leaves, under GradOperation."""
        function, args, kwargs = self.made
        asked = [leaf for leaf, wanted in leaves if wanted]
        seeds = []
        for index, output in enumerate(outputs):
            if not self.is_tensor(output) or not is_floating(output):
                continue
            seed = cotangents[index] if index < len(cotangents) else None
            if seed is None:
                seed = mindspore.ops.zeros_like(output)
            if tuple(seed.shape) != tuple(output.shape):
                raise Refusal(f"the cotangent of output {index} has shape {list(seed.shape)}, the output "
                              f"{list(output.shape)}")
            seeds.append(seed.astype(output.dtype))
        if not asked or not seeds:
            raise Refusal("no output depends on an argument that requires a gradient")

        def of_leaves(*values):
            passed = iter(values)
            places = {id(leaf): next(passed) * 1 for leaf in asked}
            results = flatten(function(*substituted(args, places), **substituted(kwargs, places)))
            results = [r for r in results if self.is_tensor(r) and is_floating(r)]
            return results[0] if len(results) == 1 else tuple(results)

        gradient = mindspore.ops.GradOperation(get_all=True, sens_param=True)(of_leaves)
        found = gradient(*asked, seeds[0] if len(seeds) == 1 else tuple(seeds))
        found = iter(found if isinstance(found, (list, tuple)) else (found,))
        return [next(found) if wanted else None for _, wanted in leaves]


def is_floating(tensor):
    return name_of(tensor.dtype) in ("torch.bfloat16", "torch.float16", "torch.float32", "torch.float64")


def as_tuple(value):
    if isinstance(value, list):
        return tuple(as_tuple(item) for item in value)
    return value


def copied(value):
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value.copy() if isinstance(value, mindspore.Tensor) else value


def substituted(value, places):
    """`value` with the leaves at `places` (by identity) exchanged."""
    if isinstance(value, (list, tuple)):
        return type(value)(substituted(item, places) for item in value)
    if isinstance(value, dict):
        return {key: substituted(item, places) for key, item in value.items()}
    return places.get(id(value), value)


def namespace(kind):
    if kind == "Mint":
        return mindspore.mint
    if kind == "MintFunctional":
        return mindspore.mint.nn.functional
    if kind == "Functional":
        return mindspore.ops
    if kind == "Tensor":
        return mindspore.Tensor
    raise Refusal(f"this worker does not run {kind} APIs")


def function_of(kind, name):
    function = namespace(kind)
    for part in name.split("."):
        function = getattr(function, part, None)
    if callable(function):
        return function
    if function is not None and kind == "Tensor":  # a property such as T
        return lambda self: getattr(self, name)
    raise Refusal(f"MindSpore {mindspore.__version__} has no {kind}.{name}")


if __name__ == "__main__":
    serve(__doc__, tuple(TARGETS), MindSpore)
