"""A dump with the tensors of its calls, as msprobe writes one at level tensor."""
import json
import pathlib

import torch


def plain_copy(t):
    """Its elements in memory of their own; PyTorch 1.13 hands out conjugates and zeros without any."""
    if t._is_zerotensor():
        return torch.zeros(t.shape, dtype=t.dtype)
    return t.detach().resolve_conj().resolve_neg().clone()


class Dump:
    """Calls with their arguments, results and gradients, numbered by API."""

    def __init__(self, folder):
        self.folder, self.data, self.counts = pathlib.Path(folder), {}, {}
        (self.folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)

    def tensor(self, t, name, requires_grad=False):
        t = plain_copy(t)
        torch.save(t, self.folder / "dump_tensor_data" / f"{name}.pt")
        record = {"type": "torch.Tensor", "dtype": str(t.dtype), "shape": list(t.shape), "Max": None, "Min": None,
                  "Mean": None, "Norm": None, "requires_grad": requires_grad, "data_name": f"{name}.pt"}
        if not t.is_contiguous():
            record["strided"] = True
        if t.is_complex():
            record["extreme"] = not bool((t.abs() < (1e154 if t.dtype == torch.complex128 else 1e19)).all())
        elif t.numel():
            x = t.double()
            record.update(Max=x.max().item(), Min=x.min().item(), Mean=x.mean().item(), Norm=x.norm().item())
        return record

    def value(self, v, name, tracked=()):
        """`tracked`: ids of the tensors that require a gradient."""
        if isinstance(v, torch.Tensor):
            return self.tensor(v, name, id(v) in tracked)
        if isinstance(v, (list, tuple)):
            return [self.value(item, f"{name}.{i}", tracked) for i, item in enumerate(v)]
        if v is None:
            return None
        if isinstance(v, slice):
            return {"type": "slice", "value": [v.start, v.stop, v.step]}
        if v is Ellipsis:
            return {"type": "ellipsis", "value": "..."}
        kind = f"torch.{type(v).__name__}" if isinstance(v, torch.dtype) else type(v).__name__
        return {"type": kind, "value": v if isinstance(v, (bool, int, float, str)) else str(v)}

    def add(self, api, args, kwargs, outputs, tracked=(), cotangents=(), gradients=(), kind=""):
        """One call. `cotangents`: one for each output, None where there is none. `gradients`: one for each tensor
        among the arguments, positional ones first, None where there is none. `kind`: a word about its data."""
        name = f"{api}.{self.counts.setdefault(api, 0)}"
        self.counts[api] += 1
        place = f"{name}.forward"
        self.data[place] = {
            "input_args": [self.value(a, f"{place}.input.{i}", tracked) for i, a in enumerate(args)],
            "input_kwargs": {k: self.value(v, f"{place}.input.{k}", tracked) for k, v in kwargs.items()},
            "output": [self.value(o, f"{place}.output.{i}") for i, o in enumerate(outputs)]}
        if kind:
            self.data[place]["kind"] = kind
        if cotangents:
            place = f"{name}.backward"
            self.data[place] = {
                "input": [self.value(c, f"{place}.input.{i}") for i, c in enumerate(cotangents)],
                "output": [self.value(g, f"{place}.output.{i}") for i, g in enumerate(gradients)]}

    def save(self, file="dump.json"):
        whole = {"task": "tensor", "level": "L1", "framework": "pytorch", "gradients": "arguments",
                 "dump_data_dir": str(self.folder / "dump_tensor_data"), "data": self.data}
        (self.folder / file).write_text(json.dumps(whole))
