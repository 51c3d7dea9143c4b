"""Goldens of int64 beyond 2^53, where a double no longer holds every integer: neighbours that differ by 1 stay apart.

Run with python3 (PyTorch 1.13). Every result is an exact integer, wrapped to 64 bits where it overflows.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens

g = Goldens(__file__)
i64 = torch.int64
BIG = 2**53
x = torch.tensor([BIG + 1, BIG, BIG + 2, -BIG - 1, BIG + 1, -BIG, 7, -(2**62) - 1])
y = torch.tensor([BIG, BIG + 1, BIG + 2, -BIG, -BIG - 1, -BIG - 1, 3, 2**62 + 1])
m = torch.tensor([[BIG + 1, BIG, BIG + 3], [-BIG - 1, BIG + 1, BIG], [BIG, BIG + 2, BIG + 1]])
s = torch.tensor([[1, 2, -3], [5, -7, 11], [0, 1, 2]])
index = torch.tensor([[0, 1, 0], [2, 2, 1]])


def add(api, *args, **kwargs):
    g.add(api, *args, native=True, grad=False, **kwargs)


# ---- order ---------------------------------------------------------------------------------------------
for name in ("sort", "argsort"):
    for descending in (False, True):
        add(f"Torch.{name}", x, descending=descending)
        add(f"Torch.{name}", m, 0, descending=descending)
add("Torch.msort", m)
add("Torch.topk", x, 2, largest=False)
add("Torch.topk", x[:3], 2)
add("Torch.topk", m, 2, 1, largest=False)
for k in (1, 3, 4, 5):
    add("Torch.kthvalue", x, k)
for name in ("median", "nanmedian", "max", "min", "amax", "amin", "aminmax", "argmax", "argmin"):
    for v in (x, m, y, x[:3], x[:2], y[:2]):
        add(f"Torch.{name}", v)
for name in ("median", "nanmedian", "mode", "max", "min", "argmax", "argmin", "cummax", "cummin"):
    add(f"Torch.{name}", x, 0)
    add(f"Torch.{name}", y, 0)
    add(f"Torch.{name}", m, 1)
    add(f"Torch.{name}", m, 0)
for name in ("amax", "amin"):
    add(f"Torch.{name}", m, 1)
add("Torch.aminmax", m, dim=0)
add("Torch.unique", x, return_inverse=True, return_counts=True)
add("Torch.unique", m, dim=0)
add("Torch.unique_consecutive", x)
add("Torch.searchsorted", torch.sort(y).values, x)
add("Torch.searchsorted", torch.sort(y).values, x, right=True)
add("Torch.searchsorted", torch.sort(y).values, BIG + 1)
add("Torch.bucketize", x, torch.sort(y).values)
add("Torch.bucketize", x, torch.sort(y).values, right=True)
add("Torch.isin", x, y)
add("Torch.isin", x, BIG + 1)
add("Torch.isin", y, x[3:5], invert=True)
# ---- comparison ----------------------------------------------------------------------------------------
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    add(f"Torch.{name}", x, y)
    add(f"Torch.{name}", x, BIG + 1)
    add(f"Torch.{name}", x, BIG)
    add(f"Tensor.{name}_", x, y)
    # in float32: integers are rounded to it once
    add(f"Torch.{name}", torch.tensor([2**60 + 2**36 + 1, 2**60 + 2**36, 2**24 + 1]), 2.0**60)
    add(f"Torch.{name}", torch.tensor([2**60 + 2**36 + 1, 2**60 + 2**36, 2**24 + 1]), torch.tensor([2.0**60, 2.0**60, 2.0**24]))
    add(f"Torch.{name}", x, torch.full((8,), float(BIG), dtype=torch.float64))
add("Torch.equal", x, y)
add("Torch.equal", x[:1], y[:1])
add("Torch.isclose", x, y, rtol=0, atol=0)
add("Torch.isclose", x, y, rtol=0, atol=1)
add("Torch.allclose", x[:1], y[:1], rtol=0, atol=0)
for name in ("logical_and", "bitwise_and", "bitwise_or", "bitwise_xor"):
    add(f"Torch.{name}", x, y)
    add(f"Torch.{name}", x, BIG + 1) if name != "logical_and" else None
add("Torch.bitwise_not", x)
add("Torch.bitwise_left_shift", x, 1)
add("Torch.bitwise_right_shift", x, 1)
add("Tensor.__lshift__", x, 3)
add("Tensor.__rshift__", x, 3)
# ---- arithmetic ----------------------------------------------------------------------------------------
for name in ("add", "sub", "mul", "floor_divide", "remainder", "fmod", "gcd", "lcm", "maximum", "minimum", "fmax", "fmin",
             "heaviside", "rsub"):
    add(f"Torch.{name}", x, y)
for name in ("add", "sub", "mul", "floor_divide", "remainder", "fmod", "rsub"):
    add(f"Torch.{name}", x, BIG + 1)
    add(f"Torch.{name}", x, 3)
add("Torch.add", x, y, alpha=BIG + 1)
add("Torch.sub", x, y, alpha=3)
add("Tensor.__rsub__", x, BIG + 1)
add("Tensor.__radd__", x, BIG + 1)
add("Tensor.__rfloordiv__", x, BIG + 1)
add("Tensor.__rmod__", x, BIG + 1)
add("Tensor.__rpow__", s.abs(), 3)
add("Tensor.__iadd__", x, y)
add("Torch.add", x, torch.tensor(BIG + 1))
add("Torch.eq", x, torch.tensor(BIG + 1))
add("Tensor.__rmul__", x, BIG + 1)
add("Torch.div", x, y, rounding_mode="floor")
add("Torch.div", x, y, rounding_mode="trunc")
add("Torch.pow", x, 2)
add("Torch.pow", s, 30)
add("Torch.pow", 3, torch.tensor([33, 34, 39, 40]))
add("Torch.pow", torch.tensor([3, 5, -3]), torch.tensor([35, 25, 39]))
for name in ("abs", "neg", "sign", "sgn", "square", "positive", "floor", "ceil", "round", "trunc", "nan_to_num", "signbit", "isfinite",
             "isnan", "isposinf", "logical_not", "relu"):
    add(f"Torch.{name}", x)
add("Functional.relu", x)
add("Functional.hardtanh", x, -BIG - 1, BIG + 1)
add("Functional.relu6", x)
add("Functional.threshold", x, BIG, 5)
add("Functional.l1_loss", x, y, reduction="none")
add("Functional.l1_loss", x, y, reduction="sum")
add("Functional.linear", m, s)
add("Functional.pad", m, (1, 1), "constant", 3)
add("Functional.embedding", torch.tensor([0, 2]), m)
for name in ("clamp", "clip"):
    add(f"Torch.{name}", x, min=BIG + 1)
    add(f"Torch.{name}", x, max=BIG)
    add(f"Torch.{name}", x, -BIG, BIG + 1)
    add(f"Torch.{name}", x, y)
add("Torch.clamp_min", x, BIG + 1)
add("Torch.clamp_max", x, -BIG - 1)
add("Torch.addcmul", x, y, y)
add("Torch.addcmul", x, y, y, value=BIG + 1)
add("Torch.where", x > 0, x, y)
add("Torch.where", x > 0, x, BIG + 1)
add("Tensor.masked_fill", x, x > 0, BIG + 1)
add("Tensor.masked_scatter", x, x > 0, y)
add("Torch.masked_select", x, x > 0)
# ---- sums ----------------------------------------------------------------------------------------------
for name in ("sum", "prod", "nansum", "all", "any", "count_nonzero"):
    add(f"Torch.{name}", x)
    add(f"Torch.{name}", m, 0)
    add(f"Torch.{name}", m, 1)
add("Torch.sum", m, (0, 1))
add("Torch.sum", x.to(torch.int32))
for name in ("cumsum", "cumprod"):
    add(f"Torch.{name}", x, 0)
    add(f"Torch.{name}", m, 0)
    add(f"Torch.{name}", m, 1)
add("Torch.diff", x)
add("Torch.diff", x, 2)
add("Torch.trace", m)
add("Torch.dot", x, y)
add("Torch.vdot", x, y)
add("Torch.inner", m, s)
add("Torch.outer", x, y)
add("Torch.kron", m, s)
add("Torch.ger", x, y)
for name in ("matmul", "mm"):
    add(f"Torch.{name}", m, s)
    add(f"Torch.{name}", m, m)
add("Torch.matmul", x, y)
add("Torch.matmul", torch.stack((m, s)), s)
add("Torch.matmul", torch.stack((m, s)), torch.stack((s, m)))
add("Torch.matmul", torch.stack((m, s)), torch.tensor([1, 2, BIG + 1]))
add("Torch.bmm", torch.stack((m, s)), torch.stack((s, m)))
add("Torch.mv", m, torch.tensor([1, 2, BIG + 1]))
add("Torch.addmm", m, m, s)
add("Torch.addmm", m, m, s, beta=BIG + 1, alpha=3)
add("Torch.addmv", m[0], m, s[0])
add("Torch.addmv", m[0], m, s[0], beta=3, alpha=BIG + 1)
add("Torch.addr", m, m[0], s[0])
add("Torch.addr", m, m[0], s[0], beta=3, alpha=BIG + 1)
add("Torch.baddbmm", torch.stack((m, s)), torch.stack((m, s)), torch.stack((s, m)))
add("Torch.addbmm", m, torch.stack((m, s)), torch.stack((s, m)))
add("Torch.chain_matmul", m, s, s)
add("Torch.linalg.multi_dot", [m, s, s])
add("Torch.matrix_power", m, 2)
add("Torch.linalg.matrix_power", s, 20)
add("Torch.tensordot", m, s, 1)
add("Torch.einsum", "ij,jk->ik", m, s)
add("Torch.einsum", "ij,ij->", m, s)
add("Torch.cross", m, s, dim=1)
add("Torch.linalg.cross", m, s)
add("Torch.vander", torch.tensor([3, BIG + 1]), 4)
add("Torch.cartesian_prod", x[:2], y[:2])
add("Torch.combinations", x[:3])
add("Torch.bincount", torch.tensor([0, 1, 1, 3]), minlength=6)
add("Torch.block_diag", m, s)
# ---- places --------------------------------------------------------------------------------------------
for name in ("scatter", "scatter_add"):
    add(f"Torch.{name}", m, 1, index, s[:2] + BIG)
add("Torch.scatter", m, 1, index, BIG + 1)
add("Tensor.unfold", x, 0, 3, 2)
add("Torch.scatter", m, 0, torch.tensor([[0, 1, 1]]), BIG + 1, reduce="add")
add("Torch.scatter", m, 0, torch.tensor([[0, 1, 1]]), BIG + 1, reduce="multiply")
for name in ("sum", "prod", "mean", "amax", "amin"):
    for include in (True, False):
        add("Torch.scatter_reduce", m, 1, index, m[:2] + s[:2], name, include_self=include)
        if name != "sum":
            add("Torch.index_reduce", m, 0, torch.tensor([0, 2, 0]), m + s, name, include_self=include)
add("Torch.index_add", m, 0, torch.tensor([0, 2, 0]), m)
add("Torch.index_add", m, 0, torch.tensor([0, 2, 0]), m, alpha=3)
add("Torch.index_add", m, 0, torch.tensor([0, 2, 0]), m, alpha=BIG + 1)
add("Torch.index_copy", m, 0, torch.tensor([0, 2]), m[:2] + 1)
add("Torch.index_fill", m, 0, torch.tensor([0, 2]), BIG + 1)
add("Torch.index_put", m, [torch.tensor([0, 0]), torch.tensor([1, 1])], torch.tensor([BIG + 1, BIG + 1]), accumulate=True)
add("Tensor.put", m, torch.tensor([0, 0, 4]), torch.tensor([BIG + 1, BIG + 1, 5]), accumulate=True)
add("Tensor.__setitem__", m, 0, BIG + 1)
add("Tensor.__setitem__", m, [torch.tensor([0, 0]), torch.tensor([1, 1])], torch.tensor([BIG, BIG + 1]))
add("Torch.gather", m, 1, index)
add("Torch.take", m, torch.tensor([0, 8]))
add("Torch.index_select", m, 0, torch.tensor([0, 2]))
add("Torch.roll", x, 2)
add("Torch.tril", m)
add("Torch.diag_embed", x[:2])
add("Torch.cat", [x, y])
add("Torch.repeat_interleave", x, 2)
# ---- creation, conversion ------------------------------------------------------------------------------
add("Torch.full", (2,), BIG + 1)
add("Torch.full_like", x, BIG + 1)
add("Tensor.new_full", x, (2,), BIG + 1)
add("Tensor.fill_", x, BIG + 1)
add("Tensor.fill_", x, torch.tensor(BIG + 1))
add("Torch.arange", BIG + 1, BIG + 6)
add("Torch.arange", BIG + 1, BIG + 12, 3)
add("Torch.arange", -BIG - 1, -BIG - 7, -2)
add("Torch.arange", 2**62 + 1, 2**62 + 4)
add("Torch.arange", BIG + 1, BIG + 6, dtype=torch.float64)
add("Torch.linspace", BIG + 2, BIG + 10, 5, dtype=i64)
add("Torch.tensor", [BIG + 1, BIG])
add("Torch.scalar_tensor", BIG + 1, dtype=i64)
add("Tensor.new_tensor", x, [BIG + 1])
add("Tensor.to", x, torch.int32)
add("Tensor.to", torch.tensor([2.0**53 + 2, -2.0**60]), i64)
add("Tensor.int", x)
add("Tensor.short", x)
add("Tensor.item", x[:1])
add("Tensor.__int__", x[:1])
add("Tensor.tolist", x)
g.save()
