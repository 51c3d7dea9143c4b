"""What the workers of probe-ut share: the worker protocol (docs/worker-protocol.md), whatever the framework.

A worker hands `serve` a framework, an object with

    name_of_device()            what it calls itself in the greeting
    seed(api)                   before each call
    read(memory, record, wants_gradient)   the tensor of a record; `record` as in the request
    write(memory, tensor)       {"dtype", "shape", "offset"} of a result put into shared memory
    is_tensor(value)
    value(kind, content)        values that only the framework has: dtype, size, device, memory_format
    plain(value)                the same the other way, None when it has no such value
    call(request, args, kwargs)            the outputs, not yet flat
    synchronize()               errors of asynchronous kernels show now
    backward(outputs, cotangents, leaves)  gradients of all leaves, None where there is none
    is_lost(error)              is the context of the accelerator gone?
    running(request)            a context manager around call
"""

import argparse
import json
import math
import mmap
import os
import signal
import sys
import warnings

PROTOCOL = 1
ALIGNMENT = 64


class Refusal(Exception):
    """The call cannot be made; the text is for the user."""


class Memory:
    """The file that both sides map. It only ever grows."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR)
        self.map = None
        self.size = 0
        self.next = 0

    def at_least(self, size):
        """Map the first `size` bytes, and what else there is."""
        if size <= self.size:
            return
        length = os.fstat(self.file).st_size
        if length < size:
            os.ftruncate(self.file, size)
            length = size
        if length != self.size:
            self.map = mmap.mmap(self.file, length)
            self.size = length

    def reserve(self, size):
        """Room for `size` bytes in the free part: where it begins. The map reaches over it."""
        offset = self.next
        self.next = (offset + size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        if size:
            self.at_least(self.next)
        return offset


def elements(shape):
    return math.prod(shape)


class Arguments:
    """The values of one call. `leaves` are its tensors, depth-first; an entry is (leaf, asked for a
    gradient)."""

    def __init__(self, memory, framework, gradients):
        self.memory = memory
        self.framework = framework
        self.gradients = gradients
        self.leaves = []

    def tensor(self, record):
        wanted = self.gradients and record.get("requires_grad", False)
        passed, leaf, wanted = self.framework.read(self.memory, record, wanted)
        self.leaves.append((leaf, wanted))
        return passed

    def value(self, v):
        if isinstance(v, list):
            return [self.value(item) for item in v]
        if not isinstance(v, dict):
            return v
        ((kind, content),) = v.items()
        if kind == "tensor":
            return self.tensor(content)
        if kind == "dict":
            return {key: self.value(item) for key, item in content.items()}
        if kind == "int":
            return int(content)
        if kind == "float":
            return float(content)
        if kind == "slice":
            return slice(*content)
        if kind == "ellipsis":
            return Ellipsis
        return self.framework.value(kind, content)


def plain(framework, memory, value):
    """An output as JSON."""
    if framework.is_tensor(value):
        return {"tensor": framework.write(memory, value)}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    named = framework.plain(value)
    return str(value) if named is None else named


def flatten(value):
    """Outputs, nested ones depth-first."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in flatten(item)]
    return [value]


def describe(error):
    if isinstance(error, Refusal):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def refusal(framework, error):
    """What a failure becomes in the reply."""
    if framework.is_lost(error):
        return {"error": "device: " + describe(error), "restart": True}
    return {"skip": describe(error)}


def run(request, memory, framework):
    reply = {"run": request["run"]}
    gradients = request["gradients"]
    memory.next = request["free"]
    framework.seed(request["api"])
    try:
        arguments = Arguments(memory, framework, gradients)
        args = [arguments.value(v) for v in request["args"]]
        kwargs = {key: arguments.value(v) for key, v in request["kwargs"].items()}
        with framework.running(request):
            outputs = flatten(framework.call(request, args, kwargs))
        framework.synchronize()
        reply["outputs"] = [plain(framework, memory, output) for output in outputs]
    except Exception as error:  # whatever the framework raises is this call's matter
        return {**refusal(framework, error), "run": request["run"]}
    if not gradients:
        return reply
    try:
        seeds = Arguments(memory, framework, False)
        cotangents = [seeds.value(v) for v in request["cotangents"]]
        found = framework.backward(outputs, cotangents, arguments.leaves)
        framework.synchronize()
        reply["gradients"] = [plain(framework, memory, gradient) for gradient in found]
    except Exception as error:
        if framework.is_lost(error):
            return {**refusal(framework, error), "run": request["run"]}
        reply["backward"] = {"skip": describe(error)}
    return reply


def serve(about, devices, open_framework):
    """Answer requests until there are no more. `open_framework(device, number, jit_compile)` is called
    with the greeting; `device` is one of `devices` or None."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--device", choices=devices,
                        help="what to run on; by default the best that the framework has")
    options = parser.parse_args()

    # What a library prints must not get between the lines of the protocol.
    answers = os.fdopen(os.dup(1), "w", buffering=1 << 16)
    os.dup2(2, 1)
    # The program decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")

    encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode

    def answer(message):
        answers.write(encode(message) + "\n")
        answers.flush()

    memory = framework = None
    for line in sys.stdin:
        request = json.loads(line)
        if "hello" in request:
            try:
                framework = open_framework(options.device, request["device"], request["jit_compile"])
                memory = Memory(request["memory"])
                answer({"protocol": PROTOCOL, "name": framework.name_of_device(),
                        "capabilities": ["backward", "ahead"]})
            except Exception as error:
                answer({"protocol": PROTOCOL, "error": describe(error)})
        else:
            answer(run(request, memory, framework))
