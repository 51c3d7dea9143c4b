#!/usr/bin/env python3
"""PyTorch as a device of probe-ut: CPU, CUDA, or Ascend NPU through torch_npu.

    probe-ut -api_info dump.json --backend "worker:python3 torch_worker.py [--device cpu|cuda|npu]"

Needs stock PyTorch 1.11 or later and nothing else. Speaks the worker protocol (docs/worker-
protocol.md): reads one request per line, rebuilds the call from JSON and shared memory, runs it
and its backward with the given cotangents, writes the results to shared memory.

What a call is, where the dump leaves it open:
  - Functional.x is torch.nn.functional.x, Tensor.x the method, Torch.x torch.x. The dump drops
    the module of torch.linalg, so what torch does not have, or does not take these arguments, is
    looked up there.
  - An in-place API is a function: the tensor it returns (or, like __setitem__, alters) is output
    0, and gradients are those with respect to the tensor as it was before.
  - Tuples became lists. An index that is a list is taken as the tuple it most likely was; where
    the recorded output shape says otherwise, as a list.
An exception in PyTorch means that the device cannot run this call: the row is skipped with the
exception's text. An accelerator whose context is lost says so and asks to be restarted.
"""

import contextlib
import functools
import math
import os
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import torch  # noqa: E402

from worker_protocol import Refusal, serve  # noqa: E402

# What the texts of lost contexts have in common. After one of these every call would fail.
LOST_CONTEXT = ("CUDA error", "device-side assert", "CUBLAS_STATUS_EXECUTION_FAILED",
                "ACL stream synchronize failed", "NPU error", "NPU function error", "AICORE")


# --- the accelerator ----------------------------------------------------------------------------


class Torch:
    """PyTorch on one device, as worker_protocol wants it."""

    def __init__(self, kind, index, jit_compile):
        if kind is None:
            kind = self.best_kind()
        self.kind = kind
        if kind == "npu":
            import torch_npu  # noqa: F401  registers torch.npu

            torch.npu.set_device(index)
            torch.npu.set_compile_mode(jit_compile=jit_compile)
        elif kind == "cuda":
            if not torch.cuda.is_available():
                raise Refusal(f"PyTorch {torch.__version__} finds no CUDA device on this host")
            torch.cuda.set_device(index)
        else:
            # Several workers share the cores, and one thread sums in one order.
            torch.set_num_threads(1)
        self.torch = torch.device("cpu") if kind == "cpu" else torch.device(kind, index)

    @staticmethod
    def best_kind():
        try:
            import torch_npu  # noqa: F401

            if torch.npu.is_available():
                return "npu"
        except ImportError:
            pass
        return "cuda" if torch.cuda.is_available() else "cpu"

    def synchronize(self):
        """Errors of asynchronous kernels show now, in the call that caused them."""
        if self.kind == "cuda":
            torch.cuda.synchronize()
        elif self.kind == "npu":
            torch.npu.synchronize()

    def seed(self, name):
        seed = zlib.crc32(name.encode())
        if self.kind == "cpu":
            # torch.manual_seed leaves a note, with the stack, for every accelerator that is not there.
            torch.default_generator.manual_seed(seed)
            return
        torch.manual_seed(seed)
        if self.kind == "npu":
            torch.npu.manual_seed(seed)

    def running(self, request):
        gradients = torch.set_grad_enabled(request["gradients"])
        if not request["autocast"]:
            return gradients
        stack = contextlib.ExitStack()
        stack.enter_context(gradients)
        with contextlib.suppress(RuntimeError):  # the CPU of older versions autocasts to bfloat16 only
            stack.enter_context(self.autocast(dtype_of(request["autocast"])))
        return stack

    def autocast(self, dtype):
        return torch.npu.amp.autocast(dtype=dtype) if self.kind == "npu" else torch.autocast(self.kind, dtype=dtype)

    def name_of_device(self):
        name = {"cuda": lambda: " " + torch.cuda.get_device_name(),
                "npu": lambda: " " + torch.npu.get_device_name()}.get(self.kind, lambda: "")()
        return f"PyTorch {torch.__version__} {self.kind}{name}"

    # --- values ---

    def read(self, memory, record, wanted):
        """The tensor that is passed, and the leaf that gets its gradient if it has one."""
        dtype, shape = dtype_of(record["dtype"]), record["shape"]
        count = math.prod(shape)
        if count == 0:
            data = torch.empty(shape, dtype=dtype)
        else:
            memory.at_least(record["offset"] + count * bytes_of(dtype))
            data = torch.frombuffer(memory.map, dtype=dtype, count=count, offset=record["offset"])
            data = data.clone().view(shape)
        leaf = data if self.kind == "cpu" else data.to(self.torch)
        wanted = wanted and (leaf.is_floating_point() or leaf.is_complex())
        if not wanted:
            return leaf, leaf, False
        leaf.requires_grad_(True)
        # In-place APIs are not legal on leaves that require grad; a copy of one is no leaf.
        return leaf.clone(), leaf, True

    def write(self, memory, value):
        tensor = value.detach()
        if tensor.is_sparse:
            tensor = tensor.to_dense()
        if tensor.is_quantized:
            raise Refusal("quantized outputs cannot be compared")
        dtype, shape, count = tensor.dtype, list(tensor.shape), tensor.numel()
        offset = memory.reserve(count * bytes_of(dtype))
        if count:
            place = torch.frombuffer(memory.map, dtype=dtype, count=count, offset=offset)
            place.view(shape).copy_(tensor)
        return {"dtype": name_of(dtype), "shape": shape, "offset": offset}

    def is_tensor(self, value):
        return isinstance(value, torch.Tensor)

    def value(self, kind, content):
        if kind == "size":
            return torch.Size(content)
        if kind == "dtype":
            return dtype_of(content)
        if kind == "device":
            return self.torch
        if kind == "memory_format":
            return getattr(torch, content, None)
        raise Refusal(f"this worker does not know the value {kind}")

    def plain(self, value):
        return {"dtype": str(value)} if isinstance(value, torch.dtype) else None

    # --- calls ---

    def call(self, request, args, kwargs):
        return call(request, args, kwargs)

    def backward(self, outputs, cotangents, leaves):
        return backward(outputs, cotangents, leaves)

    def is_lost(self, error):
        text = str(error)
        return isinstance(error, RuntimeError) and any(words in text for words in LOST_CONTEXT)


@functools.lru_cache(maxsize=None)
def bytes_of(dtype):
    return torch.empty(0, dtype=dtype).element_size()


@functools.lru_cache(maxsize=None)
def name_of(dtype):
    return str(dtype)


@functools.lru_cache(maxsize=None)
def dtype_of(name):
    dtype = getattr(torch, name.split(".")[-1], None)
    if not isinstance(dtype, torch.dtype):
        raise Refusal(f"PyTorch {torch.__version__} has no dtype {name}")
    return dtype


# --- functions -----------------------------------------------------------------------------------------


def namespaces(kind):
    if kind == "Functional":
        return [torch.nn.functional]
    if kind == "Tensor":
        return [torch.Tensor]
    if kind == "Torch":
        return [torch, torch.linalg, torch.special, torch.fft]
    if kind == "VF":
        return [torch._VF]
    if kind == "Aten":
        return [torch.ops.aten]
    if kind == "NPU":
        import torch_npu

        return [torch_npu]
    raise Refusal(f"this worker does not run {kind} APIs")


@functools.lru_cache(maxsize=4096)
def functions(kind, name):
    """Candidates in the order in which they are tried."""
    found = []
    for space in namespaces(kind):
        function = space
        for part in name.split("."):
            function = getattr(function, part, None)
        if callable(function):
            found.append(function)
        elif function is not None and kind == "Tensor":
            found.append(lambda self, name=name: getattr(self, name))  # an attribute like T
    if not found:
        raise Refusal(f"PyTorch {torch.__version__} has no {kind}.{name}")
    return found


def indices(index, recorded):
    """What a recorded index may have been: tuples and lists look alike in a dump."""
    if not isinstance(index, list):
        return [index]
    special = (slice, type(None), type(Ellipsis), list, torch.Tensor)
    if any(isinstance(item, special) for item in index):
        return [tuple(index), index]
    return [index, tuple(index)] if recorded is None else [tuple(index), index]


def subscript(self, index, value, recorded, assign):
    """self[index], or with `assign` self[index] = value. Which reading of the index is right shows
    in the shape: of the recorded output, or of the value that has to fit."""
    failure = None
    for candidate in indices(index, recorded):
        try:
            probe = self.detach()[candidate]
        except (IndexError, TypeError, ValueError) as error:
            failure = error
            continue
        if assign:
            try:
                if isinstance(value, torch.Tensor):
                    torch.broadcast_shapes(probe.shape, value.shape)
                self[candidate] = value
                return self
            except RuntimeError as error:
                failure = error
                continue
        if recorded is None or list(probe.shape) == recorded["shape"]:
            return self[candidate]
        failure = failure or Refusal(f"the index gives shape {list(probe.shape)}, recorded was "
                                     f"{recorded['shape']}")
    raise failure


def call(request, args, kwargs):
    kind, name = request["type"], request["name"]
    if kind == "Tensor" and name in ("__getitem__", "__setitem__") and len(args) >= 2:
        recorded = next(iter(request.get("recorded") or []), None)
        assign = name == "__setitem__"
        return subscript(args[0], args[1], args[2] if assign else None, recorded, assign)
    failure = None
    for function in functions(kind, name):
        try:
            result = function(*args, **kwargs)
        except (TypeError, AttributeError) as error:  # not its arguments: perhaps torch.linalg's
            failure = failure or error
            continue
        except RuntimeError as error:
            if "deprecated" not in str(error) and "was removed" not in str(error):
                raise
            failure = failure or error
            continue
        # A method that alters its tensor and returns nothing.
        if result is None and name.endswith("_") and args and isinstance(args[0], torch.Tensor):
            return args[0]
        return result
    raise failure


def backward(outputs, cotangents, leaves):
    """Gradients of all leaves, None where there is none."""
    roots, seeds = [], []
    for index, output in enumerate(outputs):
        if not isinstance(output, torch.Tensor) or not output.requires_grad:
            continue
        seed = cotangents[index] if index < len(cotangents) else None
        if seed is None:
            seed = torch.zeros_like(output)
        if seed.shape != output.shape:
            raise Refusal(f"the cotangent of output {index} has shape {list(seed.shape)}, the output "
                          f"{list(output.shape)}")
        roots.append(output)
        seeds.append(seed.detach().to(output.dtype))
    wanted = [leaf for leaf, is_wanted in leaves if is_wanted]
    if not roots or not wanted:
        raise Refusal("no output depends on an argument that requires a gradient")
    found = iter(torch.autograd.grad(roots, wanted, seeds, allow_unused=True))
    return [next(found) if is_wanted else None for _, is_wanted in leaves]


if __name__ == "__main__":
    serve(__doc__, ("cpu", "cuda", "npu"), Torch)
