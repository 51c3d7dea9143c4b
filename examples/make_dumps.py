#!/usr/bin/env python3
"""Write the small dumps that the examples are run on: examples/<name>/dump.json.

A developer's tool; the dumps are checked in. Statistics only, so that inputs are drawn within the
recorded range. Run it from any directory.
"""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def T(dtype, shape, low=-2.0, high=2.0, grad=False):
    """A tensor argument with the range of its elements."""
    return {"type": "torch.Tensor", "dtype": "torch." + dtype, "shape": list(shape), "Max": high,
            "Min": low, "Mean": (low + high) / 2, "Norm": 1.0, "requires_grad": grad}


def V(value):
    """Any other argument."""
    if value is None or (isinstance(value, dict) and "dtype" in value):
        return value
    if isinstance(value, (list, tuple)):
        return [V(item) for item in value]
    return {"type": type(value).__name__, "value": value}


class Dump:
    def __init__(self):
        self.data, self.counts = {}, {}

    def add(self, api, args, out, kwargs=None, backward=False):
        """One call: its arguments, its outputs, and a backward with cotangents like the outputs."""
        index = self.counts[api] = self.counts.get(api, -1) + 1
        name = f"{api}.{index}"
        outs = out if isinstance(out, list) else [out]
        self.data[name + ".forward"] = {
            "input_args": [V(a) for a in args],
            "input_kwargs": {k: V(v) for k, v in (kwargs or {}).items()},
            "output": outs}
        if backward:
            leaves = [a for a in args + list((kwargs or {}).values()) if isinstance(a, dict)]
            self.data[name + ".backward"] = {
                "input": [dict(o, Min=-1.0, Max=1.0) for o in outs],
                "output": [dict(a) if a["requires_grad"] else None for a in leaves]}

    def write(self, folder):
        text = json.dumps({"task": "statistics", "level": "L1", "framework": "pytorch",
                           "dump_data_dir": None, "data": self.data}, indent=1)
        with open(os.path.join(HERE, folder, "dump.json"), "w") as f:
            f.write(text + "\n")


def openblas():
    d = Dump()
    g = dict(grad=True)
    for m, k, n in [(1, 1, 1), (7, 33, 5), (64, 128, 96), (129, 257, 65)]:
        d.add("Torch.mm", [T("float32", [m, k], **g), T("float32", [k, n], **g)],
              T("float32", [m, n]), backward=True)
    d.add("Torch.matmul", [T("float32", [31, 512], 0.0, 1.0, True), T("float32", [512, 17], 0.0, 1.0, True)],
          T("float32", [31, 17]), backward=True)
    d.add("Torch.matmul", [T("float64", [31, 512]), T("float64", [512, 17])], T("float64", [31, 17]))
    d.add("Torch.matmul", [T("float32", [40, 300], **g), T("float32", [300], **g)],
          T("float32", [40]), backward=True)
    d.add("Torch.mv", [T("float32", [300, 40]), T("float32", [40])], T("float32", [300]))
    d.add("Functional.linear", [T("float32", [4, 16, 64], **g), T("float32", [48, 64], **g)],
          T("float32", [4, 16, 48]), backward=True)
    d.add("Functional.linear", [T("float32", [32, 64]), T("float32", [48, 64]), T("float32", [48])],
          T("float32", [32, 48]))
    d.add("Torch.addmm", [T("float32", [20]), T("float32", [30, 40]), T("float32", [40, 20])],
          T("float32", [30, 20]), {"beta": 0.5, "alpha": 2})
    d.add("Torch.dot", [T("float32", [1000], **g), T("float32", [1000], **g)], T("float32", []),
          backward=True)
    d.add("Torch.dot", [T("float32", [1]), T("float32", [1])], T("float32", []))
    d.add("Torch.outer", [T("float32", [33]), T("float32", [65])], T("float32", [33, 65]))
    d.add("Torch.norm", [T("float32", [50, 60])], T("float32", []))
    d.add("Torch.norm", [T("float32", [50, 60])], T("float32", []), {"p": 1})
    d.add("Torch.norm", [T("float32", [1000], -1e30, 1e30)], T("float32", []))
    d.add("Torch.add", [T("float32", [50, 60]), T("float32", [60])], T("float32", [50, 60]), {"alpha": 0.3})
    d.add("Tensor.add_", [T("float32", [50, 60]), T("float32", [50, 60])], T("float32", [50, 60]))
    d.add("Tensor.mul", [T("float32", [50, 60]), 0.1], T("float32", [50, 60]))
    d.write("openblas")


# Ranges that show where a function is hard: its whole domain, and around its zeros.
RANGES = {
    "exp": [(-87.0, 88.0), (-1e-3, 1e-3)], "exp2": [(-126.0, 127.0)], "expm1": [(-17.0, 88.0), (-1e-3, 1e-3)],
    "log": [(1e-30, 1e30), (0.99, 1.01)], "log2": [(1e-30, 1e30), (0.99, 1.01)],
    "log10": [(1e-30, 1e30), (0.99, 1.01)], "log1p": [(-0.99, 1e30), (-1e-3, 1e-3)],
    "sin": [(-4.0, 4.0), (-1e5, 1e5)], "cos": [(-4.0, 4.0), (-1e5, 1e5)], "tan": [(-4.0, 4.0), (-1e5, 1e5)],
    "asin": [(-1.0, 1.0)], "acos": [(-1.0, 1.0), (0.99, 1.0)], "atan": [(-1e3, 1e3), (-1.0, 1.0)],
    "sinh": [(-80.0, 80.0), (-0.1, 0.1)], "cosh": [(-80.0, 80.0)], "tanh": [(-9.0, 9.0), (-0.1, 0.1)],
    "asinh": [(-1e3, 1e3), (-0.1, 0.1)], "acosh": [(1.0, 1e3), (1.0, 1.01)], "atanh": [(-1.0, 1.0)],
    "erf": [(-4.0, 4.0), (-0.1, 0.1)], "erfc": [(-4.0, 9.0)], "lgamma": [(0.1, 40.0), (0.99, 1.01), (-6.5, -0.1)],
    "sqrt": [(0.0, 1e30)],
}


def pointwise(names, dtypes):
    d = Dump()
    for name in names:
        for low, high in RANGES[name]:
            for dtype in dtypes:
                lo, hi = low, high
                if dtype == "float16":
                    lo, hi = max(lo, -60000.0), min(hi, 60000.0)
                    lo = 1e-4 if 0 < lo < 1e-4 else lo
                d.add("Torch." + name, [T(dtype, [4096], lo, hi)], T(dtype, [4096]))
    return d


def libm():
    d = pointwise(list(RANGES), ["float32", "float16", "bfloat16"])
    for name in ["exp", "log", "sin", "tanh", "erf"]:
        low, high = RANGES[name][0]
        d.add("Torch." + name, [T("float64", [1024], low, high)], T("float64", [1024]))
    for name in ["ceil", "floor", "trunc", "round", "abs"]:
        d.add("Torch." + name, [T("float32", [500], -20.0, 20.0)], T("float32", [500]))
    binary(d)
    for name in ["fmod", "copysign", "fmax", "fmin"]:
        d.add("Torch." + name, [T("float32", [40, 50]), T("float32", [50], 0.5, 2.0)], T("float32", [40, 50]))
    d.add("Torch.pow", [T("float32", [1000], 0.01, 30.0), 2.5], T("float32", [1000]))
    d.write("libm")


def binary(d):
    d.add("Torch.pow", [T("float32", [4096], 0.01, 30.0), T("float32", [4096], -20.0, 20.0)], T("float32", [4096]))
    d.add("Torch.atan2", [T("float32", [64, 64]), T("float32", [64], -3.0, 1.0)], T("float32", [64, 64]))
    d.add("Torch.hypot", [T("float32", [4096], -1e3, 1e3), T("float32", [4096], -1.0, 1.0)], T("float32", [4096]))


def sleef():
    d = pointwise(list(RANGES), ["float32"])
    binary(d)
    d.write("sleef")


def conv_out(size, kernel, stride, pad, dilation):
    return (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1


def onednn():
    d = Dump()
    for dtype in ["float32", "bfloat16"]:
        for n, c, h, o, k, stride, pad, dilation, groups in [
                (2, 3, 20, 8, 3, 1, 1, 1, 1), (1, 16, 14, 32, 1, 1, 0, 1, 1), (2, 8, 15, 8, 3, 2, 1, 1, 1),
                (1, 8, 16, 8, 3, 1, 2, 2, 1), (1, 8, 12, 16, 3, 1, 1, 1, 4), (1, 64, 10, 64, 3, 1, 1, 1, 1)]:
            out = conv_out(h, k, stride, pad, dilation)
            d.add("Functional.conv2d", [T(dtype, [n, c, h, h]), T(dtype, [o, c // groups, k, k]), T(dtype, [o]),
                                        [stride, stride], [pad, pad], [dilation, dilation], groups],
                  T(dtype, [n, o, out, out]))
        for m, k, n in [(7, 33, 5), (64, 256, 48)]:
            d.add("Torch.matmul", [T(dtype, [m, k]), T(dtype, [k, n])], T(dtype, [m, n]))
        d.add("Torch.bmm", [T(dtype, [4, 12, 40]), T(dtype, [4, 40, 9])], T(dtype, [4, 12, 9]))
        d.add("Functional.softmax", [T(dtype, [16, 100], -8.0, 8.0)], T(dtype, [16, 100]), {"dim": -1})
        d.add("Functional.softmax", [T(dtype, [4, 30, 7], -8.0, 8.0)], T(dtype, [4, 30, 7]), {"dim": 1})
        d.add("Functional.log_softmax", [T(dtype, [16, 100], -8.0, 8.0)], T(dtype, [16, 100]), {"dim": -1})
        for name in ["relu", "gelu", "silu", "elu", "sigmoid", "tanh", "softplus", "mish", "hardswish"]:
            api = "Torch." + name if name in ("sigmoid", "tanh") else "Functional." + name
            d.add(api, [T(dtype, [2000], -6.0, 6.0)], T(dtype, [2000]))
        for name, out in [("max_pool2d", 8), ("avg_pool2d", 8)]:
            d.add("Functional." + name, [T(dtype, [2, 6, 16, 16]), 2, 2], T(dtype, [2, 6, out, out]))
    d.add("Functional.layer_norm", [T("float32", [10, 64]), [64], T("float32", [64]), T("float32", [64])],
          T("float32", [10, 64]))
    d.add("Functional.layer_norm", [T("float32", [3, 5, 48], 100.0, 101.0), [48]], T("float32", [3, 5, 48]))
    d.add("Functional.batch_norm", [T("float32", [4, 6, 10, 10]), T("float32", [6]), T("float32", [6], 0.5, 2.0),
                                    T("float32", [6]), T("float32", [6])], T("float32", [4, 6, 10, 10]))
    d.add("Functional.batch_norm", [T("float32", [4, 6, 10, 10]), None, None, T("float32", [6]), T("float32", [6]),
                                    True], T("float32", [4, 6, 10, 10]))
    d.write("onednn")


def cuda():
    d = Dump()
    for m, k, n in [(7, 33, 5), (64, 128, 96), (129, 257, 65)]:
        d.add("Torch.mm", [T("float32", [m, k]), T("float32", [k, n])], T("float32", [m, n]))
    for name in ["exp", "tanh", "sigmoid"]:
        d.add("Torch." + name, [T("float32", [4096], -8.0, 8.0)], T("float32", [4096]))
    d.add("Functional.gelu", [T("float32", [4096], -8.0, 8.0)], T("float32", [4096]))
    d.add("Functional.softmax", [T("float32", [64, 1000], -8.0, 8.0)], T("float32", [64, 1000]), {"dim": -1})
    d.add("Functional.layer_norm", [T("float32", [64, 768]), [768], T("float32", [768]), T("float32", [768])],
          T("float32", [64, 768]))
    d.write("cuda")


if __name__ == "__main__":
    for make in (openblas, libm, sleef, onednn, cuda):
        make()
