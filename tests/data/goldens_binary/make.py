"""Goldens of functions of two and three tensors. Run with python3 (PyTorch 1.13)."""
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


# ---- two tensors ---------------------------------------------------------------------------------
both = {
    "add": (-3, 3), "sub": (-3, 3), "mul": (-3, 3), "div": (0.2, 3), "true_divide": (0.2, 3),
    "maximum": (-3, 3), "minimum": (-3, 3), "fmax": (-3, 3), "fmin": (-3, 3), "fmod": (0.3, 5),
    "remainder": (0.3, 5), "atan2": (-3, 3), "hypot": (-3, 3), "logaddexp": (-5, 5),
    "logaddexp2": (-5, 5), "copysign": (-3, 3), "pow": (0.1, 3), "float_power": (0.1, 3),
    "xlogy": (0.1, 3), "ldexp": (-3, 3), "floor_divide": (0.3, 5), "igamma": (0.2, 4),
    "igammac": (0.2, 4), "heaviside": (-2, 2),
}
for name, (low, high) in both.items():
    grad = name not in {"igamma", "igammac", "floor_divide", "heaviside"}
    for a, b in (((2, 3), (2, 3)), ((3, 1), (4,)), ((), (3,)), ((2, 2), ())):
        g.add(f"Torch.{name}", g.uniform(*a, low=low, high=high), g.uniform(*b, low=low, high=high), grad=grad)
    g.add(f"Tensor.{name}", g.uniform(3, low=low, high=high, dtype=f64), g.uniform(3, low=low, high=high), grad=grad)
    if name not in {"heaviside"}:
        g.add(f"Torch.{name}", g.uniform(0, 2, low=low, high=high), g.uniform(2, low=low, high=high), grad=grad)
    if hasattr(torch.Tensor, name + "_") and name != "float_power":
        g.add(f"Tensor.{name}_", g.uniform(2, 2, low=low, high=high), g.uniform(2, low=low, high=high),
              grad=grad and name != "ldexp")
g.add("Tensor.float_power_", g.uniform(3, dtype=f64), g.uniform(3, dtype=f64), grad=False)
for name in ("igamma", "igammac"):
    g.add(f"Torch.{name}", fixed(column(0.5, 1, 2, 9)), g.uniform(4, low=0.1, high=5))
    g.add(f"Torch.{name}", column(0, 1, 2, inf, 2), column(1, 0, inf, 2, -1), grad=False)
# PyTorch 1.13's trigamma is good to 1e-9 only; the higher orders are right.
g.add("Torch.polygamma", 2, g.uniform(4, low=1, high=5))
g.add("Torch.polygamma", 3, column(0.5, 2, 9))
g.add("Tensor.polygamma", g.uniform(4, low=1, high=5), 0, grad=False)
g.add("Torch.xlogy", column(0, 0, 2, 1), column(0, nan, 0, 3))
g.add("Torch.xlogy", 2.5, g.uniform(3, low=0.5, high=2))
g.add("Torch.xlogy", g.uniform(3, low=0.5, high=2), 3)
g.add("Torch.maximum", column(1, 2, nan, 1, inf), column(1, 3, 1, nan, -inf))
g.add("Torch.minimum", column(1, 2, nan, 1, inf), column(1, 3, 1, nan, -inf))
g.add("Torch.fmax", column(1, 2, nan, 1, nan), column(1, 3, 1, nan, nan))
g.add("Torch.fmin", column(1, 2, nan, 1, nan), column(1, 3, 1, nan, nan))
g.add("Torch.copysign", column(1, -2, 0, 3), column(-0.0, 1, -1, 0.0))
g.add("Torch.copysign", g.normal(3), -1.0)
g.add("Torch.logaddexp", column(inf, -inf, 700, -700), column(inf, 1, -700, -700))
g.add("Torch.hypot", column(0, 3, inf), column(0, 4, nan))
g.add("Torch.atan2", column(0, 1, -1, 0, -0.0), column(1, 0, -1, -1, -1))
g.add("Torch.heaviside", column(-1, 0, 1, nan), column(5, 6, 7, 8), grad=False)
g.add("Torch.heaviside", column(-1, 0, 1, dtype=i64), column(5, 6, 7, dtype=i64))
for name in ("fmod", "remainder"):
    g.add(f"Torch.{name}", column(-5, -3.5, 3.5, 5, -1, inf), column(3, -2, -2, inf, inf, 2))
    g.add(f"Torch.{name}", column(7, -7, 7, -7, dtype=i64), column(3, 3, -3, -3, dtype=i64))
    g.add(f"Torch.{name}", g.normal(4, scale=5), 1.5)
    g.add(f"Tensor.{name}", column(7, -7, dtype=i32), 4)
g.add("Torch.remainder", 7, column(3, -4, dtype=i64))
for mode in (None, "floor", "trunc"):
    g.add("Torch.div", g.normal(4, scale=5), g.uniform(4, low=0.5, high=2), rounding_mode=mode)
    g.add("Torch.div", column(7, -7, 7, -7, dtype=i32), column(2, 2, -2, -2, dtype=i32), rounding_mode=mode)
    g.add("Torch.div", column(6, -6, 1, 0), column(2, 4, inf, 0), rounding_mode=mode)
    g.add("Tensor.div_", g.normal(3), 0.3, rounding_mode=mode)
g.add("Torch.floor_divide", column(7, -7, 7, dtype=i64), 2)
g.add("Torch.floor_divide", g.normal(4, scale=5), 0.7, grad=False)
g.add("Torch.div", column(1, 2, 3, dtype=i64), column(2, 2, 2, dtype=i64))
g.add("Torch.div", flags(True, False), column(1, 2, dtype=i64))
for name in ("add", "sub"):
    g.add(f"Torch.{name}", g.normal(3), g.normal(3), alpha=2.5)
    g.add(f"Torch.{name}", column(1, 2, dtype=i64), column(3, 4, dtype=i64), alpha=3)
    g.add(f"Torch.{name}", g.normal(3), 2)
    g.add(f"Torch.{name}", column(250, 3, dtype=u8), column(10, 2, dtype=u8))
    g.add(f"Torch.{name}", column(100, 3, dtype=i8), column(100, 2, dtype=u8))
    g.add(f"Torch.{name}", g.normal(3, dtype=c64), g.normal(3))
    g.add(f"Torch.{name}", g.normal(3, dtype=bf16), g.normal(3, dtype=f16))
    g.add(f"Torch.{name}", column(1, 2, dtype=i16), g.normal(2, dtype=f16))
    g.add(f"Torch.{name}", column(1, 2, dtype=i32), 1.5)
    g.add(f"Torch.{name}", g.normal(3, dtype=f16), g.normal(dtype=f64))
g.add("Torch.add", flags(True, False), flags(True, True))
g.add("Torch.add", flags(True, False), 1)
g.add("Torch.add", flags(True, False), True)
g.add("Torch.mul", flags(True, False), column(2, 3, dtype=i8))
g.add("Torch.mul", g.normal(3, dtype=c64), g.normal(3, dtype=c64))
g.add("Torch.mul", g.normal(3, dtype=c64), 2.5)
g.add("Torch.div", g.normal(3, dtype=c64), g.normal(3, dtype=c64))
g.add("Torch.div", g.normal(3), g.normal(3, dtype=c64))
g.add("Torch.add", g.normal(3), g.normal(dtype=c128))
g.add("Torch.add", g.normal(3, dtype=f64), g.normal(dtype=c64))
g.add("Torch.rsub", g.normal(3), g.normal(3), alpha=2)
g.add("Torch.rsub", column(1, 2, dtype=i64), 5)
g.add("Torch.subtract", g.normal(3), g.normal(3))
g.add("Torch.multiply", g.normal(3), 3)
g.add("Torch.divide", g.normal(3), 3)
g.add("Torch.pow", g.uniform(4, low=-2, high=2), 3)
g.add("Torch.pow", g.uniform(4, low=0.1, high=2), -0.5)
g.add("Torch.pow", column(0, 1, 2, -1), 0)
g.add("Torch.pow", column(0, 0, 2, -2), column(0, 2, 0, 3))
g.add("Torch.pow", 2, g.normal(3))
g.add("Torch.pow", 0.0, column(0, 1, 2))
g.add("Torch.pow", column(2, -3, 5, dtype=i64), 3)
g.add("Torch.pow", column(2, -1, 1, 3, dtype=i64), column(-1, -3, -2, 2, dtype=i64))
g.add("Torch.pow", column(2, 3, dtype=i64), 0.5)
g.add("Torch.pow", g.normal(3, dtype=c64), 2)
g.add("Torch.pow", g.normal(3, dtype=c64), g.normal(3, dtype=c64))
g.add("Torch.pow", g.normal(3, dtype=c64), 1.5)
g.add("Tensor.pow_", g.uniform(3, low=0.1, high=2), 2.5)
g.add("Torch.float_power", column(2, 3, dtype=i64), 2)
g.add("Torch.float_power", g.normal(3, dtype=c64), 2)
g.add("Torch.ldexp", g.normal(3), column(1, -2, 3, dtype=i32))
g.add("Torch.gcd", column(12, -18, 0, 7, dtype=i64), column(18, 12, 5, 0, dtype=i64))
g.add("Torch.lcm", column(12, -18, 0, 7, dtype=i64), column(18, 12, 5, 3, dtype=i64))
g.add("Torch.nextafter", column(1, 0, -1, 5, 0), column(2, 1, 0, 5, -1), native=True, grad=False)
g.add("Torch.nextafter", column(1, 0, -1, inf, nan, dtype=f64), column(2, 1, -inf, 5, 1, dtype=f64), grad=False)
g.add("Torch.polar", g.uniform(3, low=0.5, high=2), g.uniform(3, low=-3, high=3))
g.add("Torch.complex", g.normal(3), g.normal(3))
g.add("Torch.view_as_real", g.normal(2, dtype=c64))
g.add("Torch.view_as_complex", g.normal(3, 2))
for name, value in (("__radd__", 2), ("__rsub__", 2.5), ("__rmul__", 3), ("__rdiv__", 2), ("__rtruediv__", 2.0),
                    ("__rpow__", 2.0), ("__rfloordiv__", 7), ("__rmod__", 5)):
    if hasattr(torch.Tensor, name):
        g.add(f"Tensor.{name}", g.uniform(3, low=0.5, high=3), value, grad=name not in ("__rfloordiv__",))
for name in ("__add__", "__sub__", "__mul__", "__truediv__", "__mod__", "__pow__", "__iadd__", "__isub__", "__imul__",
             "__idiv__", "__itruediv__", "__div__", "__ipow__", "__imod__", "__ifloordiv__", "__floordiv__"):
    if hasattr(torch.Tensor, name):
        g.add(f"Tensor.{name}", g.uniform(3, low=0.5, high=3), g.uniform(3, low=0.5, high=3), grad="floor" not in name)
        g.add(f"Tensor.{name}", g.uniform(3, low=0.5, high=3), 2, grad="floor" not in name)
g.add("Tensor.__rpow__", column(1, 2, dtype=i64), 3)
g.add("Tensor.__rsub__", column(1, 2, dtype=i64), 3)
g.add("Tensor.__neg__", g.normal(3))
g.add("Tensor.__abs__", g.normal(3))
g.add("Tensor.__pos__", g.normal(3))
g.add("Tensor.__floordiv__", column(7, -7, dtype=i64), column(2, 2, dtype=i64))

for name in ("gcd", "lcm"):
    for kind in (f"Tensor.{name}", f"Tensor.{name}_", f"Torch.{name}_"):
        g.add(kind, g.integers(4, low=1, high=30), g.integers(4, low=1, high=30))
g.add("Tensor.arctan2_", g.normal(3), g.normal(3))
g.add("Tensor.subtract", g.normal(3), 2)
g.add("Torch.ldexp_", g.normal(3), column(1, 2, 3, dtype=i32), grad=False)
g.add("Torch.xlogy_", g.uniform(3), g.uniform(3, low=0.5, high=2))

# ---- three tensors, clamping, selection -------------------------------------------------------------
for name in ("addcmul", "addcdiv"):
    g.add(f"Torch.{name}", g.normal(2, 3), g.normal(3), g.uniform(2, 1, low=0.5, high=2))
    g.add(f"Torch.{name}", g.normal(3), g.normal(3), g.uniform(3, low=0.5, high=2), value=-1.5)
    g.add(f"Tensor.{name}_", g.normal(3), g.normal(3), g.uniform(3, low=0.5, high=2), value=2)
    g.add(f"Torch.{name}", g.normal(2, dtype=bf16), g.normal(2), g.uniform(2, low=0.5, high=2))
g.add("Torch.addcmul", column(1, 2, dtype=i64), column(3, 4, dtype=i64), column(5, 6, dtype=i64), value=2)
g.add("Torch.addcmul", g.normal(2, dtype=c64), g.normal(2, dtype=c64), g.normal(2, dtype=c64))
g.add("Torch.lerp", g.normal(2, 3), g.normal(3), 0.3)
g.add("Torch.lerp", g.normal(2, 3), g.normal(2, 3), g.uniform(3))
g.add("Tensor.lerp_", g.normal(3), g.normal(3), 0.75)
for name in ("clamp", "clip"):
    g.add(f"Torch.{name}", g.normal(6), -0.5, 0.5)
    g.add(f"Torch.{name}", column(-0.5, 0.5, 0, nan, 3), min=-0.5, max=0.5)
    g.add(f"Tensor.{name}", g.normal(6), min=0.1)
    g.add(f"Tensor.{name}_", g.normal(6), max=0.1)
    g.add(f"Torch.{name}", g.normal(4), 1.0, -1.0)
    g.add(f"Torch.{name}", g.normal(2, 3), g.normal(3), g.normal(2, 1))
    g.add(f"Torch.{name}", column(1, 5, 9, dtype=i64), 2, 7)
    g.add(f"Torch.{name}", column(1, 5, 9, dtype=i64), 2.5, 7)
    g.add(f"Torch.{name}", column(1, 5, 9, dtype=i64), min=column(2, 2, 10, dtype=i32))
g.add("Torch.clamp", column(1, 2, 3), column(1, 3, nan), column(1, 2, 4))
for name in ("clamp_min", "clamp_max"):
    g.add(f"Torch.{name}", g.normal(6), 0.25)
    g.add(f"Torch.{name}", column(1, 2, 3), column(1, 3, 2))
    g.add(f"Tensor.{name}_", g.normal(4), -0.25)
for name in ("addcdiv", "addcmul"):
    g.add(f"Tensor.{name}", g.normal(3), g.normal(3), g.uniform(3, low=0.5, high=2))
g.add("Tensor.lerp", g.normal(3), g.normal(3), g.uniform(3))
g.add("Tensor.clamp_max", g.normal(3), 0.1)
g.add("Tensor.clamp_min", g.normal(3), g.normal(3))
for name in ("clamp_", "clip_"):
    g.add(f"Torch.{name}", g.normal(3), -0.5, 0.5)
for name in ("clamp_max_", "clamp_min_"):
    g.add(f"Torch.{name}", g.normal(3), 0.1)
condition = torch.tensor([[True, False, True], [False, False, True]])
g.add("Torch.where", condition, g.normal(2, 3), g.normal(3))
g.add("Torch.where", condition, g.normal(2, 3), 1.5)
g.add("Torch.where", condition, 2, g.normal(2, 3))
g.add("Torch.where", condition, column(1, 2, 3, dtype=i64), column(4, 5, 6, dtype=i32))
g.add("Torch.where", condition, column(1, 2, 3, dtype=i64), g.normal(3))
g.add("Torch.where", condition, g.normal(3, dtype=c64), g.normal(3))
g.add("Torch.where", condition)
g.add("Tensor.where", g.normal(2, 3), condition, g.normal(2, 3))
g.save()
