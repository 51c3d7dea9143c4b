"""Goldens of activations and the softmax family. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__)
f16, bf16, f64 = torch.float16, torch.bfloat16, torch.float64
i8, u8, i16, i32, i64, boolean = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
c64, c128 = torch.complex64, torch.complex128
inf, nan = float("inf"), float("nan")


def column(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def flags(*values):
    return torch.tensor(values)


# ---- activations --------------------------------------------------------------------------------
plain = ["relu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu", "hardshrink", "softshrink",
         "tanhshrink", "softsign", "elu", "celu", "selu", "softplus", "gelu", "silu", "mish", "logsigmoid", "sigmoid",
         "tanh", "rrelu"]
kinks = column(0, -0.0, 0.5, -0.5, 1, -1, 3, -3, 6, -6, 20, 21, -30, 60)
for name in plain:
    # hardsigmoid's kernel multiplies by float32's 1/6 in its gradient, also in float64.
    grad = name != "hardsigmoid"
    g.add(f"Functional.{name}", g.normal(2, 5, scale=3), grad=grad)
    # At 3 the vector and the scalar form of hardswish's gradient differ.
    g.add(f"Functional.{name}", kinks[kinks != 3] if name == "hardswish" else kinks, grad=grad)
    g.add(f"Functional.{name}", g.normal(3, scale=3, dtype=bf16), grad=grad)
    g.add(f"Functional.{name}", g.normal(dtype=f64), grad=grad)
    g.add(f"Functional.{name}", g.normal(0, 2), grad=grad)
for name in ("relu", "relu6", "leaky_relu", "hardtanh", "elu", "selu", "silu", "celu", "hardswish", "mish"):
    g.add(f"Functional.{name}", g.normal(4, scale=3), inplace=True)
for name in ("relu", "hardtanh", "leaky_relu", "elu", "selu", "celu", "rrelu"):
    g.add(f"Functional.{name}_", g.normal(4, scale=3))
for name in ("relu", "hardshrink"):
    g.add(f"Tensor.{name}", g.normal(4))
    g.add(f"Torch.{name}", g.normal(4))
for name in ("relu_", "selu_", "celu_", "rrelu_"):
    g.add(f"Torch.{name}", g.normal(4))
for name in ("selu", "celu", "rrelu"):
    g.add(f"Torch.{name}", g.normal(4))
g.add("Tensor.relu_", g.normal(4))
special = column(nan, inf, -inf)
for name in ("relu", "relu6", "hardtanh", "leaky_relu", "elu", "gelu", "softplus", "sigmoid", "hardswish", "mish",
             "logsigmoid", "softshrink", "hardshrink"):
    g.add(f"Functional.{name}", special[1:] if name == "softshrink" else special, grad=False)
g.add("Functional.relu", column(-1, 0, 2, dtype=i64))
g.add("Functional.relu", column(nan, 1))
g.add("Functional.hardtanh", g.normal(6), -0.3, 0.7)
g.add("Functional.leaky_relu", g.normal(6), 0.2)
g.add("Functional.leaky_relu", g.normal(6), negative_slope=-0.5)
g.add("Functional.hardshrink", g.normal(6), 0.4)
g.add("Functional.softshrink", g.normal(6), lambd=0.3)
g.add("Functional.elu", g.normal(6), 0.5)
# The gradient of celu divides by float32's alpha.
g.add("Functional.celu", g.normal(6), alpha=0.5)
g.add("Functional.celu", g.normal(6), alpha=1.7, grad=False)
g.add("Functional.softplus", g.normal(6, scale=5), 2, 5)
g.add("Functional.softplus", g.normal(6, scale=5), beta=0.5, threshold=2)
g.add("Functional.gelu", g.normal(6, scale=3), approximate="tanh")
g.add("Functional.gelu", kinks, approximate="tanh")
g.add("Functional.rrelu", g.normal(6), 0.2, 0.4)
g.add("Functional.threshold", g.normal(6), 0.1, -2.0)
g.add("Functional.threshold", column(1, 5, 9, dtype=i64), 5, 20)
g.add("Functional.threshold_", g.normal(6), 0.1, -2.0)
g.add("Torch.threshold", g.normal(6), 0.1, 20)
g.add("Torch.threshold_", g.normal(6), 0.1, 20)
for weight, shape in (((1,), (3, 4)), ((3,), (2, 3)), ((3,), (2, 3, 2)), ((1,), ())):
    g.add("Functional.prelu", g.normal(*shape), g.uniform(*weight))
g.add("Torch.prelu", g.normal(2, 3, 2, 2), g.uniform(3))
g.add("Tensor.prelu", g.normal(2, 3), g.uniform(1))
g.add("Functional.glu", g.normal(3, 4))
g.add("Functional.glu", g.normal(4, 3), 0)
g.add("Functional.glu", g.normal(2, 6, 2), dim=1)
g.add("Torch._add_relu", g.normal(3), g.normal(3), alpha=0.5, grad=False)
g.add("Torch._add_relu_", g.normal(3), g.normal(3), grad=False)

# ---- softmax ----------------------------------------------------------------------------------------
for name in ("softmax", "log_softmax", "softmin"):
    for shape, dim in (((5,), 0), ((2, 5), -1), ((3, 4), 0), ((2, 3, 4), 1), ((2, 3, 2, 2), -3), ((), 0), ((1, 1), 1)):
        g.add(f"Functional.{name}", g.normal(*shape, scale=3), dim=dim)
    g.add(f"Functional.{name}", g.normal(2, 4, dtype=f16), dim=1, dtype=torch.float64)
    g.add(f"Functional.{name}", column(1, 2, 3, dtype=i64), dim=0, dtype=torch.float64)
    g.add(f"Functional.{name}", g.normal(0, 3), dim=1)
    g.add(f"Functional.{name}", g.normal(3, 0), dim=1)
    g.add(f"Functional.{name}", column(1000, -1000, 0, 999), dim=0)
    g.add(f"Functional.{name}", column(-inf, 1, 2), dim=0)
    g.add(f"Functional.{name}", column(-inf, -inf), dim=0, grad=False)
    g.add(f"Functional.{name}", column(inf, 1), dim=0, grad=False)
    g.add(f"Functional.{name}", column(nan, 1), dim=0, grad=False)
    g.add(f"Functional.{name}", column(1, 1, 1, dtype=bf16), dim=0)
for name in ("softmax", "log_softmax"):
    g.add(f"Torch.{name}", g.normal(2, 3), 1)
    g.add(f"Tensor.{name}", g.normal(2, 3), 0)
    g.add(f"Tensor.{name}", g.normal(2, 3), -1, torch.float64)
y = torch.softmax(g.normal(2, 4), 1)
g.add("Torch._softmax_backward_data", g.normal(2, 4), y, 1, torch.float64, grad=False)
g.add("Torch._log_softmax_backward_data", g.normal(2, 4), y.log(), 1, torch.float64, grad=False)
# In place it is aten's own, with its scales.
g.add("Functional.elu_", g.normal(7), 1.5, 1.25, 0.75)
g.add("Functional.elu_", g.normal(7), 0.5)
g.save()
