"""Goldens of comparison, logic and bits. Run with python3 (PyTorch 1.13)."""
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


# ---- comparison, logic, bits ---------------------------------------------------------------------------
for name in ("eq", "ne", "lt", "le", "gt", "ge", "less", "greater", "less_equal", "greater_equal", "not_equal"):
    g.add(f"Torch.{name}", column(1, 2, nan, inf), column(1, 3, nan, inf), native=True, grad=False)
    g.add(f"Torch.{name}", column(0.1, 0.2), 0.1, native=True, grad=False)
    g.add(f"Tensor.{name}", column(1, 2, dtype=i64), column(1.5, 2.0), native=True, grad=False)
    g.add(f"Tensor.{name}_", column(1, 2, 3), 2, native=True, grad=False)
g.add("Tensor.__eq__", g.integers(2, 3), 1)
g.add("Tensor.__lt__", column(200, 3, dtype=u8), column(-1, 5, dtype=i8))
g.add("Torch.eq", torch.tensor([1j, 1 + 1j], dtype=c64), torch.tensor([1j, 2 + 1j], dtype=c64), grad=False)
g.add("Torch.ne", torch.tensor([1j, 1 + 0j], dtype=c64), column(1, 1), grad=False)
for name in ("logical_and", "logical_or", "logical_xor"):
    g.add(f"Torch.{name}", column(0, 1, nan, -2), column(1, 0, 0, 5), grad=False)
    g.add(f"Tensor.{name}_", column(0, 1, 2, dtype=i64), column(1, 0, 5, dtype=i64))
    g.add(f"Torch.{name}", flags(True, False), column(0, 2, dtype=i8))
g.add("Torch.logical_not", column(0, 1, nan, -2), grad=False)
g.add("Tensor.logical_not_", column(0, 1, 3, dtype=i32))
for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
    g.add(f"Torch.{name}", column(5, -6, 7, dtype=i64), column(1, 2, 3, dtype=i64))
    g.add(f"Tensor.{name}_", column(100, 3, dtype=u8), column(1, 2, dtype=u8))
    g.add(f"Torch.{name}", column(5, 6, dtype=i32), 2)
for name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__iand__", "__ior__", "__ixor__", "__ilshift__",
             "__irshift__", "__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__"):
    if hasattr(torch.Tensor, name):
        g.add(f"Tensor.{name}", column(5, 6, dtype=i64), 2)
g.add("Tensor.__and__", flags(True, False), flags(True, True))
g.add("Torch.bitwise_not", column(0, 5, -7, dtype=i64))
g.add("Torch.bitwise_not", flags(True, False))
g.add("Tensor.__invert__", column(0, 200, dtype=u8))
for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "logical_and"):
    g.add(f"Tensor.{name}", column(5, 6, dtype=i64), column(1, 2, dtype=i64))
g.add("Tensor.bitwise_not_", column(0, 5, -7, dtype=i64))
g.add("Tensor.logical_not", column(0, 5, -7, dtype=i64))
g.add("Tensor.__ge__", g.normal(3), 0.1, native=True, grad=False)
g.add("Tensor.isclose", g.normal(2), g.normal(2), grad=False)
g.add("Torch.isclose", column(1, 1.00001, nan, inf), column(1.000001, 1.1, nan, inf), grad=False)
g.add("Torch.isclose", column(1, 1.00001, nan, inf), column(1.000001, 1.1, nan, -inf), equal_nan=True, grad=False)
g.add("Torch.isclose", column(1, 2, dtype=i64), column(1, 3, dtype=i64), rtol=0.5)
g.add("Torch.equal", column(1, 2), column(1, 2), grad=False)
g.add("Torch.equal", column(1, 2), column(1, 2, 3), grad=False)
g.add("Torch.allclose", column(1, 2), column(1, 2.1), atol=0.2, grad=False)
g.save()
