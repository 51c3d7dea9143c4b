"""What PyTorch returns for a call, in the call's dtypes and in double precision, written as dumps for
`--backend recorded --profile strict`."""
import json

import torch
from call_sources import tensors
from recorded_dump import Dump, plain_copy

WIDE = {"native": lambda dtype: dtype,
        "float64": lambda dtype: torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype}


def is_inexact(t):
    return t.is_floating_point() or t.is_complex()


def converted(v, of, keep):
    """A copy of a value whose inexact tensors are of(dtype); keep(tensor) sees each."""
    if isinstance(v, torch.Tensor):
        return keep(plain_copy(v).to(of(v.dtype)))
    return type(v)(converted(i, of, keep) for i in v) if type(v) in (list, tuple) else v


class Answers:
    """The dumps of one name; `folder` has one for each precision, to which `part` belongs."""

    def __init__(self, folder, part):
        self.part = part
        self.dumps = {precision: Dump(folder / precision) for precision in WIDE}

    def add(self, call, function, tracks, copies, cotangent):
        """function(*args, **kwargs) as PyTorch answers it. `tracks`: with gradients. `copies`: the call alters its arguments, so it gets
        copies of what takes a gradient. cotangent(shape): random numbers."""
        dtypes = {t.dtype for t in list(tensors(call.args)) + list(tensors(call.kwargs))}
        for precision, of in WIDE.items():
            if precision == "native" or any(of(d) != d for d in dtypes):
                try:
                    self.add_one(self.dumps[precision], call, function, of, tracks, copies, cotangent)
                except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
                    pass  # no kernel for these dtypes; arguments that do not go together when they are wide

    @staticmethod
    def add_one(dump, call, function, of, tracks, copies, cotangent):
        kept, leaves = [], []

        def as_leaf(t):
            leaves.append(t.requires_grad_() if tracks and is_inexact(t) else t)
            return t.clone() if copies else t

        args = [converted(a, of, lambda t: kept.append(t) or t) for a in call.args]
        kwargs = {k: converted(v, of, lambda t: kept.append(t) or t) for k, v in call.kwargs.items()}
        result = function(*[converted(a, of, as_leaf) for a in args],
                          **{k: converted(v, of, as_leaf) for k, v in kwargs.items()})
        outputs = list(tensors_and_numbers(result))
        roots = [o for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad]
        cotangents, gradients, tracked = [], [], set()
        if roots:
            cotangents = [cotangent(o.shape).to(o.dtype) if any(o is root for root in roots) else None for o in outputs]
            found = gradients_of(roots, [c for c in cotangents if c is not None], leaves)
            tracked = {id(t) for t, g in zip(kept, found) if g is not None}
            gradients, cotangents = (found, cotangents) if tracked else ([], [])
        dump.add(call.api, args, kwargs, outputs, tracked, cotangents, gradients, call.kind)

    def save(self):
        for dump in self.dumps.values():
            dump.save(f"{self.part}.part")


def tensors_and_numbers(v):
    if isinstance(v, (list, tuple)):
        for item in v:
            yield from tensors_and_numbers(item)
    else:
        yield v


def gradients_of(roots, seeds, leaves):
    """One for each leaf, None where there is none."""
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        found = iter(torch.autograd.grad(roots, wanted, seeds, allow_unused=True))
    except (RuntimeError, NotImplementedError):  # PyTorch has no gradient here
        return [None] * len(leaves)
    return [next(found) if leaf.requires_grad else None for leaf in leaves]


def join(folder):
    """Make one dump of the parts in each precision."""
    for precision in WIDE:
        whole = None
        for part in sorted((folder / precision).glob("*.part")):
            one = json.loads(part.read_text())
            if whole:
                whole["data"].update(one["data"])
            whole = whole or one
        if whole:
            (folder / precision / "dump.json").write_text(json.dumps(whole))
