#!/usr/bin/python3
"""Writes awkward_calls.json: the dump of calls whose arguments a uniform draw would make illegal.

Run with PyTorch 1.13. Each call is executed with legal arguments, as a training step would, and
recorded the way a statistics dump records it.
"""
import json
import os

import torch
import torch.nn.functional as F

torch.manual_seed(0)
data = {}
calls = {}
LINALG = ("solve", "solve_triangular", "tensorinv", "cholesky_ex", "inv", "lu_factor", "ldl_factor")


def statistics(t):
    record = {"type": "torch.Tensor", "dtype": str(t.dtype), "shape": list(t.shape)}
    x = t.detach()
    if t.numel() == 0:
        numbers = [None] * 4
    elif t.dtype == torch.bool:
        numbers = [bool(x.any()), bool(x.all()), None, None]
    elif t.is_complex():
        numbers = [float(x.abs().max()), float(x.abs().min()), float(x.abs().mean()), None]
    else:
        x = x.float()
        numbers = [float(v) for v in (x.max(), x.min(), x.mean(), x.norm())]
    record.update(zip(("Max", "Min", "Mean", "Norm"), numbers))
    record["requires_grad"] = bool(t.requires_grad)
    return record


def encode(a):
    if a is None:
        return None
    if isinstance(a, torch.Tensor):
        return statistics(a)
    if isinstance(a, (list, tuple)):
        return [encode(x) for x in a]
    if isinstance(a, slice):
        return {"type": "slice", "value": [a.start, a.stop, a.step]}
    if a is Ellipsis:
        return {"type": "ellipsis", "value": "..."}
    return {"type": type(a).__name__, "value": a}


def copied(a):
    if isinstance(a, torch.Tensor):
        return a * 1 if a.requires_grad else a.clone()
    if isinstance(a, (list, tuple)):
        return type(a)(copied(x) for x in a)
    return a


def call(name, *args, **kwargs):
    group, api = name.split(".")
    spaces = {"Functional": F, "Tensor": torch.Tensor, "Torch": torch}
    space = torch.linalg if group == "Torch" and api in LINALG else spaces[group]
    full = f"{name}.{calls.setdefault(name, 0)}"
    calls[name] += 1
    entry = {"input_args": encode(args), "input_kwargs": {k: encode(v) for k, v in kwargs.items()}}
    args = [copied(a) for a in args]
    out = getattr(space, api)(*args, **kwargs)
    if api == "__setitem__":
        out = args[0]
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    entry["output"] = encode(outs)
    data[full + ".forward"] = entry
    if any(isinstance(o, torch.Tensor) and o.requires_grad for o in outs):
        cotangents = [torch.randn_like(o) if o.requires_grad else None for o in outs]
        data[full + ".backward"] = {"input": encode(cotangents), "output": []}


def real(*shape):
    return torch.randn(*shape).requires_grad_()


def index(high, *shape):
    return torch.randint(0, high, shape)


def some_true(n):
    mask = torch.rand(n) > 0.4
    mask[0] = True
    return mask


# Losses.
target = index(7, 12)
target[torch.rand(12) < 0.3] = -100
call("Functional.nll_loss", real(12, 7), target)
call("Functional.cross_entropy", real(12, 7), target)
target = index(7, 2, 5, 3)
target[torch.rand(2, 5, 3) < 0.3] = 255
call("Functional.cross_entropy", real(2, 7, 5, 3), target, torch.rand(7), ignore_index=255)
call("Functional.cross_entropy", real(7), torch.tensor(3))
call("Functional.cross_entropy", real(12, 7), torch.rand(12, 7))
call("Functional.multilabel_margin_loss", real(2, 5), torch.tensor([[1, 2, -1, 0, 0], [0, 3, 4, -1, 1]]))
call("Functional.multi_margin_loss", real(3, 5), index(5, 3))
lengths, frames = torch.tensor([2, 5, 3, 4]), torch.tensor([20, 12, 15, 18])
scores = real(20, 4, 6)
call("Functional.ctc_loss", scores, torch.randint(1, 6, (14,)), frames, lengths)
call("Functional.ctc_loss", scores, torch.randint(0, 5, (4, 7)), frames, lengths, blank=5)
call("Functional.ctc_loss", scores, torch.randint(1, 6, (14,)), [20] * 4, lengths.tolist())
call("Functional.cosine_embedding_loss", real(4, 5), real(4, 5), torch.tensor([1, -1, 1, -1]))
call("Functional.binary_cross_entropy", torch.rand(4, 5).requires_grad_(), torch.rand(4, 5))
call("Functional.kl_div", real(4, 5), torch.rand(4, 5).requires_grad_())
call("Functional.gaussian_nll_loss", real(4, 5), torch.randn(4, 5), torch.rand(4, 5))

# Indices.
call("Functional.embedding", index(9, 3, 4), real(9, 5))
call("Functional.embedding_bag", index(9, 14), real(9, 5), torch.tensor([0, 3, 3, 9]))
call("Functional.embedding_bag", index(9, 14), real(9, 5), offsets=torch.tensor([0, 5, 14]),
     include_last_offset=True)
call("Torch.gather", real(4, 5), 1, index(5, 4, 3))
call("Torch.take_along_dim", real(4, 5), index(20, 6))
call("Torch.take", real(4, 5), torch.randint(-20, 20, (3, 3)))
call("Tensor.put_", real(4, 5), torch.randperm(20)[:6], real(6))
call("Tensor.index_copy_", real(6, 3), -2, torch.randperm(6)[:4], real(4, 3))
call("Tensor.index_fill_", real(6, 3), 0, torch.tensor([-1, 2]), 2.0)
call("Torch.scatter", real(6, 3), 0, torch.stack([torch.randperm(6)[:4] for _ in range(3)], 1), real(4, 3))
call("Torch.scatter_reduce", real(3, 6), 1, index(6, 3, 4), real(3, 4), "amax")
call("Torch.index_put", real(6, 3), [torch.randperm(6)[:3], index(3, 3)], real(3))
call("Tensor.index_put_", real(9, 3), [some_true(9)], torch.tensor(1.5))
mask = some_true(6)
call("Tensor.index_put_", real(6, 3), [mask], real(int(mask.sum()), 3))
call("Tensor.__setitem__", real(6, 3, 2), (slice(None), torch.tensor([0, 2])), real(6, 2, 2))
call("Tensor.__setitem__", real(6, 3, 2), (Ellipsis, torch.tensor([1, 0])), real(6, 3, 2))
call("Tensor.__setitem__", real(6, 3), (torch.tensor([[0], [4]]), torch.tensor([2, 1])), real(2, 2))
call("Tensor.__getitem__", real(6, 3), some_true(6))
call("Tensor.__getitem__", real(6, 3, 4), (None, torch.tensor([5, -1]), Ellipsis, torch.tensor([3, -4])))
mask = some_true(4)
call("Tensor.__getitem__", real(6, 4), (slice(None), mask))
call("Torch.masked_select", real(6, 4), mask)
call("Torch.masked_scatter", real(6, 4), mask, real(6 * int(mask.sum())))
call("Functional.one_hot", index(7, 5), 7)
call("Torch.bincount", index(7, 9), torch.rand(9))
where = F.max_pool2d(torch.randn(2, 3, 7, 7), 2, return_indices=True)[1]
call("Functional.max_unpool2d", real(2, 3, 3, 3), where, 2, None, 0, [2, 3, 7, 7])
where = F.max_pool1d(torch.randn(2, 3, 6), 2, return_indices=True)[1]
call("Functional.max_unpool1d", real(2, 3, 3), where, [2], stride=[2])

# Lengths and order.
call("Torch.repeat_interleave", real(3, 4), torch.tensor([2, 0, 3]), 0)
call("Torch.repeat_interleave", real(3), torch.tensor([2, 0, 3]))
call("Torch.tensor_split", real(9, 2), torch.tensor([2, 5, 8]))
call("Torch.bucketize", real(5), torch.randn(6).sort()[0])
sequence = torch.randn(3, 6)
call("Torch.searchsorted", sequence, torch.randn(3, 2), sorter=sequence.argsort(-1))
call("Torch.histogram", torch.randn(9), torch.randn(5).sort()[0])
call("Torch.segment_reduce", real(9, 2), "sum", lengths=torch.tensor([2, 3, 4]))
call("Torch.gru", real(9, 5), torch.tensor([4, 3, 2]), real(1, 4, 6),
     [real(18, 5), real(18, 6), real(18), real(18)], True, 1, 0.0, True, False)

# Random draws and integer arithmetic.
call("Tensor.bernoulli_", torch.randn(5), torch.rand(5))
call("Torch.multinomial", torch.rand(3, 6), 3)
call("Torch.normal", torch.randn(5), torch.rand(5))
divisor = torch.tensor([[2, -3, 1, 4], [-1, 5, -2, 3]])
call("Tensor.__floordiv__", torch.randint(-9, 9, (2, 4)), divisor)
call("Torch.div", torch.randint(-9, 9, (2, 4)), divisor, rounding_mode="floor")
call("Tensor.__lshift__", index(9, 4), index(5, 4))

# Matrices.
a = torch.randn(2, 4, 4)
positive = a @ a.transpose(-1, -2) + 4 * torch.eye(4)
call("Torch.cholesky", positive.clone().requires_grad_())
call("Torch.inverse", positive.clone().requires_grad_())
call("Torch.inverse", -torch.rand(3, 3) - torch.eye(3))
call("Torch.cholesky_inverse", torch.linalg.cholesky(positive[0]).requires_grad_())
call("Torch.cholesky_solve", real(2, 4, 3), torch.linalg.cholesky(positive).requires_grad_())
call("Torch.logdet", positive.clone().requires_grad_())
call("Torch.solve", a.clone().requires_grad_(), real(2, 4, 3))
call("Torch.triangular_solve", real(2, 4, 3), a.triu().requires_grad_())
factors, pivots = torch.linalg.lu_factor(a)
call("Torch.lu_solve", real(2, 4, 3), factors, pivots)
call("Torch.tensorinv", (torch.eye(6).reshape(2, 3, 6) + 0.1 * torch.randn(2, 3, 6)).requires_grad_())
call("Torch.matrix_power", a.clone().requires_grad_(), -2)
call("Torch.cholesky_ex", 3 * torch.eye(3, dtype=torch.complex64))

# Special values.
call("Torch.abs", torch.randn(4, 3, dtype=torch.complex128))
call("Torch.exp", torch.tensor([0.5, float("inf"), -1]))
call("Torch.relu", torch.tensor([1, float("nan"), -2, float("inf")]))

header = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "awkward_calls.json")
with open(path, "w") as file:
    json.dump({**header, "data": data}, file, indent=1)
    file.write("\n")
