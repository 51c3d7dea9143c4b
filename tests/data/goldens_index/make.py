"""Goldens of indexing, scatters, masks, lookups, sorting and counting. Usage: python3 make.py"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "goldens"))
from make import Goldens, fixed  # noqa: E402

book = Goldens(__file__, seed=3)
g = torch.Generator().manual_seed(4)


def x(*shape, dtype=torch.float32, grad=True):
    if dtype.is_complex:
        return torch.randn(shape, generator=g, dtype=dtype).requires_grad_(grad)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=g).to(dtype).requires_grad_(grad)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=g).bool()
    return torch.randint(-9 if dtype != torch.uint8 else 0, 9, shape, generator=g).to(dtype)


def i(*values, dtype=torch.int64):
    return torch.tensor(values if len(values) != 1 or not isinstance(values[0], list) else values[0], dtype=dtype)


def some(high, *shape):
    return torch.randint(0, high, shape, generator=g)



def held(v):
    """Tensors that do not require grad are fixed."""
    if isinstance(v, (list, tuple)):
        return type(v)(held(i) for i in v)
    return fixed(v) if isinstance(v, torch.Tensor) and not v.requires_grad else v


def call(api, *args, **kwargs):
    try:
        book.add(api, *[held(a) for a in args], **{k: held(v) for k, v in kwargs.items()})
    except RuntimeError as error:  # what PyTorch 1.13 cannot do is left out, and said
        print("left out:", api, repr(error.__cause__))


c64, bf16 = torch.complex64, torch.bfloat16
N, E, s = None, Ellipsis, slice
mask34 = torch.rand(3, 4, generator=g) < 0.5

# x[index]
indices = [
    0, -1, s(1, 3), s(None, None, 2), s(-3, -1), s(5, 2), E, N, True, False,
    (0, 1), (0, 1, 2), (s(None), 0), (E, 0), (E, s(0, 1)), (0, E, -1), (N, 0, E, N), (s(1, None), s(None, 2)),
    (s(None), N, 1), (s(0, 0),), i(0, 2, 2), i([[0, 1], [2, -1]]), (i(0, 2), i(1, 0)), (s(None), i(0, 0, 1)),
    (E, i(1, 0, 4)), (i(0, 2), s(None), i(1, 0)), (i(0), s(None), i([[0, 1], [2, 3]])), (i([[0], [2]]), i(1, 0)),
    (0, s(None), i(3, 1)), (i(1, 2), 0), (i(1, 2), N, i(0, 1)), (N, i(1, 2), 0), (s(1, None, 2), i(0, 3), s(1, 3)),
    mask34, (s(None), torch.rand(4, 5, generator=g) < 0.4), (torch.tensor([True, False, True]),),
    (torch.tensor([True, False, True]), s(None), i(0, 1)), torch.tensor(True), i([], dtype=torch.int64),
    torch.tensor(1), (torch.tensor(2), s(None), torch.tensor(-1)),
    (True, 0), (s(None), [0, 3]), ([0, 2],), (s(None), [[0, 1], [2, 3]]), ([True, False, True], 1),
    torch.tensor([1, 0, 1], dtype=torch.uint8), (mask34, i(2)), (N, mask34), (0, E, i(1), N),
]
for index in indices:
    call("Tensor.__getitem__", x(3, 4, 5), index)
call("Tensor.__getitem__", x(5), [0, 3])
call("Tensor.__getitem__", x(), E)
call("Tensor.__getitem__", x(), N)
call("Tensor.__getitem__", x(0, 3), s(None))
call("Tensor.__getitem__", x(3, dtype=torch.int32), s(1, None))
call("Tensor.__getitem__", x(3, 2, dtype=c64), (i(2, 0), 1))
call("Tensor.__getitem__", x(3, 2, dtype=bf16), (s(None), 1))

# x[index] = value
for index, value in [
    (0, 1.5), (s(1, 3), x(4, 5)), (s(None, None, 2), x(2, 4, 5)), (E, x()), ((E, 0), x(3, 4)), ((0, 1, 2), x(1)),
    (i(0, 2), x(2, 4, 5)), ((s(None), i(0, 3)), x(5)), ((i(0, 2), s(None), i(1, 0)), x(2, 1)), (mask34, 2),
    (mask34, x(5)), ((s(1, None), i(0, 3), s(1, 3)), x(1, 2, 2, 2)), (s(0, 0), 3.0), (True, x(4, 5)),
    ((1, E), x(1, 4, 5)), (torch.rand(3, 4, 5, generator=g) < 0.5, float("-inf")), ((N, 0), x(4, 5)),
    ((s(None), [1, 2]), x(3, 2, 5)), (i(1, 1), torch.ones(5)),
]:
    call("Tensor.__setitem__", x(3, 4, 5), index, value)
call("Tensor.__setitem__", x(4, dtype=torch.int64), s(1, 3), 7)
call("Tensor.__setitem__", x(4, dtype=torch.bool), 0, True)
call("Tensor.__setitem__", x(4, dtype=torch.int32), s(0, 2), x(2, grad=False))
call("Tensor.__setitem__", x(3, dtype=c64), 1, x(dtype=c64))

# index_put
call("Torch.index_put", x(3, 4), (i(0, 2), i(1, 1)), x(2))
call("Torch.index_put", x(3, 4), (i(0, 0, 2),), x(3, 4), True)
call("Tensor.index_put", x(3, 4), (i([[0], [2]]), i(1, 3)), x(), accumulate=True)
call("Tensor.index_put_", x(3, 4), (mask34,), x())
call("Tensor.index_put_", x(4, dtype=torch.int64), (i(0, 0, 1),), i(1, 2, 3), accumulate=True)

# Along a dimension.
call("Torch.gather", x(3, 4), -1, some(4, 3, 6))
call("Torch.gather", x(2, 3, 4), 1, some(3, 2, 5, 3))
call("Torch.gather", x(), 0, torch.tensor(0))
call("Tensor.gather", x(3, 2, dtype=c64), 0, some(3, 1, 2))
call("Tensor.gather", x(3, dtype=torch.int16), 0, some(3, 4))
call("Torch.index_select", x(3, 4), 0, i(2, 2, 0))
call("Torch.index_select", x(2, 3, 4), -1, i(1, dtype=torch.int32)[0])
call("Torch.index_select", x(3, 4), 1, i([], dtype=torch.int64))
call("Torch.index_select", x(), 0, i(0))
call("Torch.take", x(3, 4), i([[0, 11], [-1, 5]]))
call("Tensor.take", x(3, dtype=torch.bool), i(0, 2))
call("Tensor.put_", x(3, 4), i(0, -1), x(2))
call("Tensor.put_", x(3, 4), i(1, 1, 2), x(3), accumulate=True)
call("Torch.take_along_dim", x(3, 4), some(12, 5))
call("Torch.take_along_dim", x(3, 4), some(3, 2, 1), dim=0)
call("Tensor.take_along_dim", x(3, 1), some(3, 1, 4), 0)
call("Torch.index_add", x(3, 4), 1, i(0, 3, 3), x(3, 3), alpha=-1.5)
call("Tensor.index_add", x(4, dtype=torch.int32), 0, i(0, 0), i(1, 2, dtype=torch.int32))
call("Torch.index_copy", x(3, 4), 0, i(2, 0), x(2, 4))
call("Tensor.index_copy_", x(2, 3, 2), 1, i(1), x(2, 1, 2))
call("Torch.index_fill", x(3, 4), 0, i(0, 2), x())
call("Tensor.index_fill_", x(3, 4), 1, i(1), -2.0)
call("Tensor.index_fill_", x(3, 4, dtype=torch.int64), 1, i(1, 2), 5)

# scatter
for api in ("Torch.scatter", "Tensor.scatter_"):
    call(api, x(3, 4), 1, i([[0, 2], [1, 3], [3, 0]]), x(3, 3))
    call(api, x(3, 4), 0, i([[0, 2, 1, 1]]), 2.5)
call("Torch.scatter", x(3, 4), 0, i([[0, 2, 1, 1]]), value=-1)
call("Torch.scatter", x(3, grad=False), 0, i(0, 0, 1), x(3, grad=False), reduce="add")
call("Torch.scatter", x(3, grad=False), 0, i(0, 0, 1), x(3, grad=False), reduce="multiply")
call("Torch.scatter", x(), 0, torch.tensor(0), x())
call("Torch.scatter_add", x(3, 4), -1, some(4, 3, 4), x(3, 4))
call("Torch.scatter_add", x(4), 0, some(4, 9), x(9))
call("Tensor.scatter_add", x(4, dtype=torch.int64), 0, some(4, 9), x(9, dtype=torch.int64))
for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for include in (True, False):
        call("Torch.scatter_reduce", x(4), 0, i(0, 0, 2, 2, 2, 3), x(6), reduce, include_self=include)
        call("Torch.scatter_reduce", x(4, dtype=torch.int64), 0, i(0, 0, 2, 2, 2), x(5, dtype=torch.int64), reduce,
             include_self=include)
    call("Tensor.scatter_reduce_", x(3, 4), 1, some(4, 3, 3), x(3, 3), reduce=reduce)
ties = torch.tensor([1.0, 2.0, 2.0, 0.5], requires_grad=True)
call("Torch.scatter_reduce", ties, 0, i(0, 0, 1, 1, 3), torch.tensor([1.0, 1.0, 2.0, 2.0, 0.5], requires_grad=True),
     "amax")
call("Torch.scatter_reduce", ties, 0, i(0, 0, 1, 1, 3), torch.tensor([1.0, 1.0, 2.0, 2.0, 0.5], requires_grad=True),
     "amin", include_self=False)
for reduce in ("prod", "mean", "amax", "amin"):
    call("Tensor.index_reduce_", x(3, 4), 0, i(0, 2, 2), x(3, 4), reduce)
    call("Tensor.index_reduce", x(3, 4), 1, i(0, 1, 0), x(3, 3), reduce, include_self=False)

# Scatters into a view.
call("Torch.select_scatter", x(3, 4), x(4), 0, -1)
call("Torch.slice_scatter", x(5, 3), x(2, 3), start=1, end=5, step=2)
call("Tensor.slice_scatter", x(3, 5), x(3, 2), 1, start=3, end=5, step=1)
# PyTorch 1.13 leaves parts of this gradient uninitialised.
call("Torch.as_strided_scatter", x(9, grad=False), x(2, 2, grad=False), (2, 2), (1, 2), 1)

# Masks.
call("Torch.masked_fill", x(4), mask34, 0.5)
call("Tensor.masked_fill_", x(3, 4, dtype=torch.int64), mask34, 7)
call("Torch.masked_fill", x(3, 4), mask34, x())
call("Torch.masked_select", x(3, 4), mask34)
call("Tensor.masked_select", x(4), mask34)
call("Torch.masked_select", x(), torch.tensor(True))
call("Torch.masked_scatter", x(4), mask34, x(15))
call("Tensor.masked_scatter_", x(3, 4), mask34, x(3, 5))
call("Torch.nonzero", x(3, 4, dtype=torch.bool))
call("Torch.nonzero", torch.tensor(3))
call("Torch.nonzero", torch.tensor([0.0, float("nan"), -2.0]), as_tuple=True)
call("Torch.nonzero", torch.zeros(2, 2))
call("Torch.argwhere", x(2, 3, dtype=torch.int64))

# Lookups.
call("Functional.embedding", i([[1, 2], [2, 0]]), x(4, 3), padding_idx=2)
call("Functional.embedding", i([[1, 2], [2, 0]]), x(4, 3), padding_idx=-1)
call("Functional.embedding", i(1, 3, 3), x(4, 3), max_norm=1.0)
call("Functional.embedding", i(1, 3, 3), x(4, 3), max_norm=0.7, norm_type=1.0)
call("Functional.embedding", i(1, 3, 3, 0), x(4, 3), scale_grad_by_freq=True)
call("Functional.embedding", torch.tensor(2), x(4, 3))
call("Functional.embedding", i([], dtype=torch.int64), x(4, 3))
call("Torch.embedding", x(4, 3), i(1, 2, 2))
for mode in ("sum", "mean", "max"):
    call("Functional.embedding_bag", i([[1, 2], [2, 0]]), x(4, 3), mode=mode)
    call("Functional.embedding_bag", i(1, 2, 3, 3, 0), x(4, 3), i(0, 2, 2, 4), mode=mode)
    call("Functional.embedding_bag", i(1, 2, 3, 3), x(4, 3), i(0, 1, 4), mode=mode, include_last_offset=True)
    call("Functional.embedding_bag", i(1, 2, 3, 3), x(4, 3), i(0, 1), mode=mode, padding_idx=3)
call("Functional.embedding_bag", i(1, 2, 3), x(4, 3), i(0, 1), mode="sum", per_sample_weights=x(3))
call("Functional.embedding_bag", i(1, 2, 3), x(4, 3), i(0, 1), max_norm=1.0)
# Not scale_grad_by_freq: PyTorch 1.13 divides by the count of another index.
call("Functional.one_hot", i([[0, 2], [1, 0]]))
call("Functional.one_hot", i(0, 2), 4)
call("Functional.one_hot", torch.tensor(1), 3)

# Order.
tied = torch.tensor([[2.0, 1.0, 2.0, float("nan"), -0.0, 0.0], [3.0, 3.0, float("inf"), 1.0, float("-inf"), 1.0]],
                    requires_grad=True)
for kwargs in ({}, {"descending": True}, {"dim": 0}):
    call("Torch.sort", tied, **{"stable": True, **kwargs})
call("Torch.sort", x(2, 3, 4), 1, True)
call("Torch.sort", x())
call("Torch.sort", x(3, 0))
call("Tensor.sort", x(6, dtype=torch.bool), stable=True)
call("Tensor.sort", x(40, dtype=torch.int8), stable=True)
call("Torch.sort", x(100))
call("Torch.argsort", x(3, 4), 0)
call("Torch.argsort", x(7), descending=True)
call("Torch.argsort", torch.tensor([1, 0, 1, 0]), stable=True)
call("Torch.msort", tied)
for k, kwargs in ((2, {}), (3, {"largest": False}), (1, {"dim": 0}), (0, {}), (6, {})):
    call("Torch.topk", x(2, 6), k, **kwargs)
call("Tensor.topk", x(2, 5), 2, -1, True, True)
call("Torch.topk", x(), 1)
call("Torch.kthvalue", x(3, 5), 2)
call("Torch.kthvalue", x(3, 5), 3, 0, True)
call("Torch.kthvalue", x(), 1)
call("Torch.kthvalue", torch.tensor([2, 1, 2, 2]), 2)

# Search and sets.
edges = torch.tensor([-1.0, 0.0, 0.0, 1.5])
for right in (False, True):
    call("Torch.searchsorted", edges, torch.tensor([[-2.0, 0.0], [1.5, float("nan")]]), right=right)
    call("Torch.bucketize", torch.tensor([-1, 0, 2]), edges, out_int32=True, right=right)
call("Torch.searchsorted", i([[1, 3, 5], [2, 4, 6]]), i([[0, 3], [7, 4]]), side="right")
call("Torch.searchsorted", torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1.5, 2.5]), sorter=i(1, 2, 0))
call("Torch.searchsorted", edges, 0.5)
call("Torch.bucketize", 0.5, edges)
call("Torch.isin", i([[1, 2], [3, 4]]), i(2, 4))
call("Torch.isin", torch.tensor([1.0, float("nan"), -0.0]), torch.tensor([0.0, float("nan")]), invert=True)
call("Torch.isin", 3, i(1, 3))
call("Torch.isin", i(1, 3), 3)
again = i([[2, 1, 2, 3], [2, 1, 2, 3], [0, 1, 0, 3]])
for kwargs in ({}, {"return_inverse": True, "return_counts": True}, {"dim": 0, "return_inverse": True},
               {"dim": 1, "return_counts": True}):
    call("Torch.unique", again, **kwargs)
    call("Torch.unique_consecutive", again, **kwargs)
call("Tensor.unique", x(0))
call("Torch.bincount", i(1, 4, 1), minlength=7)
call("Torch.bincount", i(1, 4, 1), x(3, grad=False))
call("Torch.bincount", i([], dtype=torch.int64))
call("Torch.histc", x(50, grad=False), 7)
call("Torch.histc", x(50, grad=False), bins=5, min=-1, max=1)
call("Torch.histc", torch.tensor([1.0, 1.0]), 4)
call("Torch.histogram", x(50, grad=False), 6)
call("Torch.histogram", x(20, grad=False), bins=4, range=(-1.0, 1.5), density=True)
call("Torch.histogram", x(20, grad=False), torch.tensor([-1.0, 0.0, 0.25, 2.0]), weight=x(20, grad=False).detach())
points = x(30, 2, grad=False)
call("Torch.histogramdd", points, (3, 2))
call("Torch.histogramdd", points, bins=2, range=(-1.0, 1.0, 0.0, 2.0), density=True)
call("Torch.histogramdd", points, (torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([-2.0, 0.5, 1.0, 3.0])),
     weight=x(30, grad=False))
# Further spellings.
call("Tensor.argwhere", x(2, 2, dtype=torch.bool))
call("Tensor.index_copy", x(3, 2), 0, i(1, 2), x(2, 2))
call("Tensor.index_fill", x(3, 2), 1, i(1), 3.5)
call("Tensor.masked_scatter", x(3, 4), mask34, x(12))
call("Tensor.msort", x(4, 2))
call("Tensor.scatter", x(3, 4), 1, i([[0], [1], [2]]), x(3, 1))
call("Torch.index_put_", x(3, 4), (i(1, 2),), x(2, 4))
call("Torch.embedding_renorm_", x(4, 3, grad=False), i(1, 3), 0.5, 2.0)
call("Torch.embedding_renorm_", x(6, 4, grad=False) * (x(6, 4, grad=False) > 0), i(0, 2, 5), 1.0, 0.0)
book.save()
