"""What training steps of PyTorch call, written as a dump with the results of a correct device. Run by tests/long/training_steps.

    python3 training_steps.py FOLDER DTYPE aten|api [STEP ...]

`aten`: every operator that is dispatched, of forward, backward and update, as dumps of that level have them. `api`: the functions
and methods that msprobe wraps, with the cotangents that reached them and the gradients of their own arguments. Arguments are recorded
as they are before the call, results behind it.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from recorded_dump import Dump, plain_copy
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from training_models import STEPS

NEVER = {"empty", "empty_like", "empty_strided", "new_empty_strided", "detach", "_record_function_enter", "_record_function_exit"}  # nothing to compare


def mapped(v, of):
    if isinstance(v, torch.Tensor):
        return of(v)
    if isinstance(v, dict):
        return {k: mapped(i, of) for k, i in v.items()}
    return type(v)(mapped(i, of) for i in v) if type(v) in (list, tuple) else v


def copied(v):
    return mapped(v, lambda t: t.detach().clone())


class Operators(TorchDispatchMode):
    def __init__(self, dump):
        super().__init__()
        self.dump = dump

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        op, kwargs = str(func.overloadpacket).split(".")[-1], kwargs or {}
        before = [copied(a) for a in args], {k: copied(v) for k, v in kwargs.items()}
        result = func(*args, **kwargs)
        if not op.endswith("_") and op not in NEVER:
            self.dump.add(f"Aten.{op}", *before, result if isinstance(result, (tuple, list)) else [result])
        return result

    def finish(self):
        self.dump.save()


# ---- calls of the API ------------------------------------------------------------------------------------------

PLACES = (("Functional", F, ""), ("Torch", torch, ""), ("VF", torch._VF, ""), ("Torch", torch.linalg, "linalg."), ("Torch", torch.fft, "fft."),
          ("Tensor", torch.Tensor, ""))
SURFACE = json.loads((pathlib.Path(__file__).resolve().parents[2] / "config" / "api_surface.json").read_text())["groups"]
WRAPPED = {group: {name for family in SURFACE[group].values() for name in family} for group, _, _ in PLACES}
NO_VALUE = {"backward", "empty", "empty_like", "new_empty", "register_hook", "detach", "detach_"}


def api_of(function):
    """How msprobe calls it; None for what it does not wrap and what has no value."""
    name = getattr(function, "__name__", "")
    for group, place, inner in PLACES:
        if getattr(place, name, None) == function and inner + name in WRAPPED[group] and name not in NO_VALUE:
            return f"{group}.{inner}{name}"
    return None


def is_float(t):
    return t.is_floating_point() or t.is_complex()


class Calls(TorchFunctionMode):
    def __init__(self, dump):
        super().__init__()
        self.dump, self.calls = dump, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        api, kwargs = api_of(function), kwargs or {}
        if not api:
            return function(*args, **kwargs)
        before, state = (copied(list(args)), copied(kwargs)), torch.get_rng_state()
        needs = []
        mapped([list(args), kwargs], lambda t: needs.append(t.requires_grad))
        result = function(*args, **kwargs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        call = {"api": api, "function": function, "before": before, "needs": needs, "state": state,
                "outputs": [copied(o) for o in outputs], "cotangents": [None] * len(outputs)}
        self.calls.append(call)
        for i, o in enumerate(outputs):
            if torch.is_grad_enabled() and isinstance(o, torch.Tensor) and o.requires_grad:
                o.register_hook(lambda g, i=i, call=call: self.take(call, i, g))
        return result

    @staticmethod
    def take(call, i, gradient):
        call["cotangents"][i] = gradient.detach().clone()

    def finish(self):
        for call in self.calls:
            self.write(call)
        self.dump.save()

    def write(self, call):
        """Gradients are those of the arguments: the call runs once more on leaves, with the numbers that it drew."""
        args, kwargs = call["before"]
        gradients, tracked, leaves, needs = [], set(), [], iter(call["needs"])

        def leaf(t):
            own = plain_copy(t)
            leaves.append(own.requires_grad_() if next(needs) and is_float(own) else own)
            return leaves[-1].clone() if call["api"].endswith("_") else leaves[-1]

        cotangents = call["cotangents"]
        if any(c is not None for c in cotangents):
            torch.set_rng_state(call["state"])
            again = [mapped(args, leaf), mapped(kwargs, leaf)]
            result = call["function"](*again[0], **again[1])
            outputs = list(result) if isinstance(result, (tuple, list)) else [result]
            roots = [(o, c) for o, c in zip(outputs, cotangents) if c is not None and o.requires_grad]
            wanted = [t for t in leaves if t.requires_grad]
            found = iter(torch.autograd.grad([o for o, _ in roots], wanted, [c for _, c in roots], allow_unused=True) if roots and wanted else [])
            gradients = [next(found, None) if t.requires_grad else None for t in leaves]
            flat = []
            mapped([args, kwargs], flat.append)
            tracked = {id(t) for t, g in zip(flat, gradients) if g is not None}
        if not tracked:
            cotangents, gradients = [], []
        self.dump.add(call["api"], args, kwargs, call["outputs"], tracked, cotangents, gradients)


def main():
    folder, dtype, recorder = sys.argv[1], getattr(torch, sys.argv[2]), {"aten": Operators, "api": Calls}[sys.argv[3]]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dump = Dump(folder)
    mode = recorder(dump)
    with mode:
        for step in STEPS:
            if step.__name__ in sys.argv[4:] or not sys.argv[4:]:
                step(dtype)
    mode.finish()
    print(f"{len(dump.data)} calls of {len(dump.counts)} names in {sys.argv[2]}")


if __name__ == "__main__":
    main()
