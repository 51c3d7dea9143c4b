"""Goldens of reductions, order statistics, norms and scans. Run with python3 (PyTorch 1.13)."""
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


# ---- sums and means ---------------------------------------------------------------------------------
for name in ("sum", "mean", "nansum", "nanmean", "amax", "amin", "prod", "var", "std", "logsumexp", "all", "any"):
    several = name not in ("prod", "all", "any")
    grad = name not in ("all", "any")
    if name != "logsumexp":
        g.add(f"Torch.{name}", g.normal(2, 3), grad=grad)
        g.add(f"Tensor.{name}", g.normal(5, dtype=f64), grad=grad)
        if name not in ("var", "std"):
            g.add(f"Torch.{name}", g.normal(), grad=grad)
    g.add(f"Torch.{name}", g.normal(2, 3, 4), 1, grad=grad)
    g.add(f"Torch.{name}", g.normal(2, 3, 4), dim=-1, keepdim=True, grad=grad)
    g.add(f"Tensor.{name}", g.normal(2, 3, dtype=bf16), 0, grad=grad)
    if several:
        g.add(f"Torch.{name}", g.normal(2, 3, 4), dim=(0, 2), grad=grad)
        g.add(f"Torch.{name}", g.normal(2, 3, 4), dim=(0, 1), keepdim=True, grad=grad)
    if name not in ("amax", "amin", "var", "std"):
        g.add(f"Torch.{name}", g.normal(2, 0), 1, grad=grad)
for name in ("sum", "prod", "nansum"):
    g.add(f"Torch.{name}", column(1, 2, 3, dtype=i32))
    g.add(f"Torch.{name}", column(1, 2, 3, dtype=u8), 0)
    g.add(f"Torch.{name}", flags(True, False, True))
    g.add(f"Torch.{name}", column(1, 2, 3, dtype=i32), dtype=torch.float32)
    g.add(f"Torch.{name}", g.normal(3), dtype=torch.float64)
g.add("Torch.sum", g.normal(2, 3, dtype=c64), 1)
g.add("Torch.mean", g.normal(2, 3, dtype=c64), 1)
g.add("Torch.mean", column(1, 2, 4, dtype=i64), dtype=torch.float32)
g.add("Torch.nansum", column(1, nan, 3))
g.add("Torch.nanmean", torch.tensor([[1, nan, 3], [nan, nan, 2]]), 1)
g.add("Torch.prod", column(2, 0, 3))
g.add("Torch.prod", torch.tensor([[2, 0, 3, 0], [1, 2, 0, 5], [1, 2, 3, 4]]), 1)
g.add("Torch.prod", g.uniform(3, 40, low=0.5, high=2), 1)
g.add("Torch.logsumexp", column(inf, 1, 2), 0, grad=False)
g.add("Torch.logsumexp", column(-inf, -inf), 0, grad=False)
g.add("Torch.logsumexp", column(1000, -1000, 1000), 0)
g.add("Torch.logsumexp", g.normal(), 0)
g.add("Tensor.count_nonzero", g.integers(2, 3, low=0, high=2), 0)
g.add("Tensor.diff", g.normal(4))
g.add("Tensor.renorm", g.normal(3, 4), 2, 0, 1.0)
g.add("Tensor.sum_to_size", g.normal(2, 3, 4), 3, 1)
g.add("Tensor.sum_to_size", g.normal(2, 3), (1, 1))
g.add("Torch.trace", g.normal(3, 4))
g.add("Tensor.trace", g.integers(3, 3))
for name in ("var", "std", "var_mean", "std_mean"):
    g.add(f"Torch.{name}", g.normal(2, 5), False)
    g.add(f"Torch.{name}", g.normal(2, 5), 1, False, True)
    g.add(f"Torch.{name}", g.normal(2, 5), dim=0, unbiased=False)
    g.add(f"Torch.{name}", g.normal(2, 3, 4), (0, 2), correction=2)
    g.add(f"Torch.{name}", g.normal(2, 5), dim=None, correction=0, keepdim=True)
    g.add(f"Torch.{name}", g.normal(6, scale=0.01, shift=100), grad=False)
    g.add(f"Torch.{name}", column(2, 2, 2))
    g.add(f"Torch.{name}", column(2), grad=False)
    g.add(f"Torch.{name}", g.normal(4, dtype=c64), grad=False)
for name in ("count_nonzero",):
    g.add(f"Torch.{name}", column(0, 1, nan, -2), grad=False)
    g.add(f"Torch.{name}", g.integers(2, 3, low=0, high=2), 1)
    g.add(f"Torch.{name}", g.integers(2, 3, 2, low=0, high=2), dim=(0, 2))
for name in ("all", "any"):
    g.add(f"Torch.{name}", flags(True, True, False))
    g.add(f"Torch.{name}", column(0, 1, 2, dtype=u8))
    g.add(f"Torch.{name}", g.integers(2, 3, low=0, high=2) != 0, 1, True)
    g.add(f"Tensor.{name}", torch.zeros(0, dtype=torch.bool))

# ---- nothing to reduce, or nothing left ----------------------------------------------------------
for name in ("sum", "mean", "nansum", "var", "std", "logsumexp"):
    g.add(f"Torch.{name}", torch.zeros(0, 0, 3), 0)
    g.add(f"Torch.{name}", torch.zeros(2, 0, 3), 2)
for name in ("var", "std", "var_mean"):
    g.add(f"Torch.{name}", column(1.5))
    g.add(f"Torch.{name}", g.normal(3, 1), 1)
    g.add(f"Torch.{name}", g.normal(dtype=c64))
g.add("Torch.prod", torch.zeros(2, 0, 3), 1)
for p in (1, 2, inf, -inf):
    g.add("Torch.norm", torch.zeros(0, 2), p)
    g.add("Torch.norm", torch.zeros(2, 0), p, 1)
g.add("Torch.median", torch.zeros(0))
g.add("Torch.trapezoid", torch.zeros(2, 0))
g.add("Torch.cumulative_trapezoid", torch.zeros(2, 0))
g.add("Torch.prod", g.normal(2, 5, dtype=c64), 1)
g.add("Torch.prod", g.normal(2, 3, dtype=c64))
g.add("Torch.prod", torch.zeros(0, dtype=c64))
g.add("Torch.cumprod", g.normal(2, 5, dtype=c64), 1)

# ---- extrema -------------------------------------------------------------------------------------------
ties = torch.tensor([[1.0, 3, 3, 2], [2, 2, 2, 2], [-1, -1, 0, -5]])
hole = torch.tensor([[1.0, nan, 3, 2], [2, 5, 7, 1]])
for name in ("max", "min"):
    g.add(f"Torch.{name}", g.normal(2, 3))
    g.add(f"Torch.{name}", ties)
    g.add(f"Torch.{name}", ties, 1)
    g.add(f"Torch.{name}", ties, dim=0, keepdim=True)
    g.add(f"Tensor.{name}", g.normal(2, 3, 4), -2)
    g.add(f"Torch.{name}", hole, 1)
    g.add(f"Torch.{name}", hole, grad=False)
    g.add(f"Torch.{name}", column(5, 2, 9, dtype=i64))
    g.add(f"Torch.{name}", column(5, 2, 9, dtype=u8), 0)
    g.add(f"Torch.{name}", flags(True, False), 0)
    g.add(f"Torch.{name}", g.normal(2, 3), g.normal(3))
    g.add(f"Torch.{name}", g.normal(3), other=g.normal(1))
    g.add(f"Torch.{name}", g.normal(3), g.normal(1))
    g.add(f"Torch.{name}", g.normal(), 0)
    g.add(f"Torch.arg{name}", ties, grad=False)
    g.add(f"Torch.arg{name}", ties, 1, grad=False)
    g.add(f"Torch.arg{name}", g.normal(2, 3, 4), dim=1, keepdim=True, grad=False)
    g.add(f"Tensor.arg{name}", column(4, 1, 7, dtype=i32))
    g.add(f"Torch.arg{name}", hole, 1, grad=False)
    g.add(f"Torch.arg{name}", g.normal(), grad=False)
    g.add(f"Torch.a{name}", ties, 1)
    g.add(f"Torch.a{name}", ties, (0, 1))
    g.add(f"Torch.a{name}", hole, 1, grad=False)
    g.add(f"Torch.a{name}", column(4, 1, 7, dtype=i32), 0)
    g.add(f"Torch.cum{name}", ties, 1)
    g.add(f"Torch.cum{name}", g.normal(3, 4), 0)
    g.add(f"Torch.cum{name}", hole, 1, grad=False)
    g.add(f"Torch.cum{name}", column(4, 1, 7, dtype=i32), 0)
    g.add(f"Torch.cum{name}", g.normal(), 0)
g.add("Torch.aminmax", ties)
g.add("Torch.aminmax", ties, dim=1)
g.add("Tensor.aminmax", g.normal(2, 3), dim=0, keepdim=True)
g.add("Torch._aminmax", g.normal(2, 3), grad=False)
g.add("Torch._aminmax", g.normal(2, 3), 1, True, grad=False)

# ---- order statistics -----------------------------------------------------------------------------------
for name in ("median", "nanmedian"):
    g.add(f"Torch.{name}", g.normal(2, 3))
    g.add(f"Torch.{name}", ties)
    g.add(f"Torch.{name}", ties, 1)
    g.add(f"Torch.{name}", g.normal(3, 4), dim=0, keepdim=True)
    g.add(f"Tensor.{name}", hole, 1)
    g.add(f"Tensor.{name}", hole)
    g.add(f"Torch.{name}", column(5, 2, 9, 4, dtype=i64))
    g.add(f"Torch.{name}", column(5, 2, 9, 4, dtype=i64), 0)
    g.add(f"Torch.{name}", g.normal(), 0)
g.add("Torch.mode", torch.tensor([[1.0, 3, 3, 2, 1], [2, 2, 2, 2, 1], [5, 4, 3, 2, 1]]))
g.add("Torch.mode", g.integers(6, 3, low=0, high=3), 0, True)
g.add("Tensor.mode", g.normal())
for name in ("quantile", "nanquantile"):
    g.add(f"Torch.{name}", g.normal(7), 0.3)
    g.add(f"Torch.{name}", g.normal(3, 4), 0.5, dim=1, keepdim=True)
    g.add(f"Torch.{name}", g.normal(3, 4), fixed(column(0, 0.25, 1, dtype=f64)).tensor.float(), dim=0, grad=False)
    g.add(f"Torch.{name}", g.normal(3, 5), fixed(column(0.25, 0.5)), dim=1)
    g.add(f"Torch.{name}", hole, 0.5, 1)
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        g.add(f"Torch.{name}", g.normal(6), 0.3, interpolation=how)
    g.add(f"Tensor.{name}", g.normal(2, 3, 2), 0.7)

# ---- norms -------------------------------------------------------------------------------------------------
for p in (2, 1, inf, -inf, 3, 0.5, 0, 1.5):
    g.add("Torch.norm", g.normal(2, 3), p)
    g.add("Torch.norm", g.normal(2, 3), p, 1)
    g.add("Torch.linalg.vector_norm", g.normal(2, 3), ord=p, dim=0, keepdim=True)
    if p in (2, 1, inf, 3, 1.5):
        g.add("Torch.norm", column(0, 0, 0), p)
        g.add("Torch.norm", column(0, 2, -2), p)
        g.add("Torch.dist", g.normal(2, 3), g.normal(3), p)
    g.add("Tensor.dist", g.normal(4), g.normal(4), p, grad=p != 0)
g.add("Torch.norm", g.normal(2, 3))
g.add("Torch.norm", g.normal(2, 3), "fro", (0, 1))
g.add("Torch.norm", g.normal(2, 3), dim=1)
g.add("Torch.norm", g.normal(3, 3), "nuc")
g.add("Torch.norm", g.normal(3, 3), p=2, dim=1, dtype=torch.float64)
g.add("Tensor.norm", g.normal(2, 3), p=1, dim=(0, 1), keepdim=True)
g.add("Torch.norm", g.normal(3, dtype=c64), 2)
g.add("Torch.norm", g.normal(3, dtype=c64), 1)
g.add("Torch.norm", g.normal(3, dtype=c64), 3)
g.add("Torch.frobenius_norm", g.normal(2, 3), 1)
g.add("Torch.frobenius_norm", g.normal(2, 3), (0, 1), True)
g.add("Torch.norm_except_dim", g.normal(2, 3, 2), 2, 1)
g.add("Torch.norm_except_dim", g.normal(2, 3), 2, -1)
g.add("Torch._foreach_norm", [g.normal(2, 3), g.normal(2)], grad=False)
for order in ("fro", "nuc", 1, -1, inf, -inf, 2, -2):
    g.add("Torch.linalg.matrix_norm", g.normal(3, 4), order)
    g.add("Torch.linalg.norm", g.normal(3, 3), order)
g.add("Torch.linalg.matrix_norm", g.normal(2, 3, 4), "fro", (0, 2))
g.add("Torch.linalg.matrix_norm", g.normal(2, 3, 4), 1, (0, 2), True)
g.add("Torch.linalg.norm", g.normal(2, 3))
g.add("Torch.linalg.norm", g.normal(2, 3, 4), dim=(0, 1))
g.add("Torch.linalg.norm", g.normal(5), 3)
g.add("Torch.linalg.norm", g.normal(2, 5), inf, 1)
g.add("Torch.renorm", g.normal(3, 4), 2, 0, 1.0)
g.add("Torch.renorm", g.normal(3, 4), 1, 1, 2.0)
g.add("Tensor.renorm_", g.normal(3, 4), 3, 0, 1.5)

# ---- scans ---------------------------------------------------------------------------------------------------
for name in ("cumsum", "cumprod", "logcumsumexp"):
    g.add(f"Torch.{name}", g.normal(5), 0)
    g.add(f"Torch.{name}", g.normal(3, 4), 1)
    g.add(f"Torch.{name}", g.normal(2, 3, 2), -2)
    g.add(f"Tensor.{name}", g.normal(2, 3, dtype=f64), 0)
    g.add(f"Torch.{name}", g.normal(), 0)
    g.add(f"Torch.{name}", g.normal(0, 2), 0)
    if name != "logcumsumexp":
        g.add(f"Torch.{name}", column(1, 2, 3, dtype=i32), 0)
        g.add(f"Torch.{name}", flags(True, True, False), 0)
        g.add(f"Torch.{name}", g.normal(3), 0, dtype=torch.float64)
        g.add(f"Tensor.{name}_", g.normal(3, 2), 0)
g.add("Torch.cumprod", column(2, 0, 3, 4), 0)
g.add("Torch.cumprod", torch.tensor([[2.0, 0, 3, 0, 5], [0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]), 1)
g.add("Torch.logcumsumexp", column(-1000, 0, 1000, 999), 0, grad=False)
g.add("Torch.logcumsumexp", column(-inf, 0, 1), 0, grad=False)
g.add("Torch.logcumsumexp", g.normal(40, scale=5), 0)
g.add("Torch.cumsum", g.normal(3, dtype=c64), 0)
g.add("Torch.diff", g.normal(5))
g.add("Torch.diff", g.normal(3, 4), 2, 0)
g.add("Torch.diff", g.normal(3, 4), dim=1, prepend=g.normal(3, 1), append=g.normal(3, 2))
g.add("Torch.diff", column(5, 2, 9, dtype=i64))
g.add("Torch.diff", flags(True, False, False))
g.add("Torch.trapz", g.normal(3, 4))
g.add("Torch.trapz", g.normal(3, 4), dx=0.5, dim=0)
g.add("Torch.trapz", g.normal(3, 4), g.normal(3, 4))
g.add("Torch.trapezoid", g.normal(3, 4), g.normal(4))
g.add("Torch.trapezoid", g.normal(3, 4), g.normal(3), dim=0)
g.add("Torch.cumulative_trapezoid", g.normal(3, 4))
g.add("Torch.cumulative_trapezoid", g.normal(3, 4), g.normal(3), dim=0)
g.save()
