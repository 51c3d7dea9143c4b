"""Wrong results that look right to a model that is too wide. Run by tests/long/vacuity.

    python3 vacuity.py make FOLDER                  dumps FOLDER/FAULT of the calls of all goldens, results and gradients spoilt
    python3 vacuity.py judge FOLDER KNOWN [--list]  what `strict` let pass

The results are PyTorch's float64 ones rounded to the dtype of the call. Each fault spoils all tensors of a call that it can; a
call passes when no row of it is an error or a warning. KNOWN has lines `FAULT API REASON` of calls that may.
"""
import collections
import json
import pathlib
import sys

import torch
from call_sources import goldens, tensors
from pytorch_verdicts import rows
from recorded_dump import Dump

UNITS = {torch.float32: 23, torch.float64: 52, torch.float16: 10, torch.bfloat16: 7}


def doubled(t):
    return t * 2 if (t != 0).any() else None


def swapped(t):
    """The largest and the smallest element exchanged."""
    if t.numel() < 2 or (t == t.flatten()[0]).all():
        return None
    t = t.clone()
    flat = t.view(-1)
    low, high = flat.double().argmin().item(), flat.double().argmax().item()
    flat[low], flat[high] = flat[high].clone(), flat[low].clone()
    return t


def moved(t):
    """Every element by 64 units in the last place."""
    _, exponent = torch.frexp(t.double())
    step = torch.ldexp(torch.ones(t.shape, dtype=torch.float64), exponent - 1 - UNITS[t.dtype])
    return (t.double() + 64 * step).to(t.dtype) if (t != 0).all() else None


def undefined(t):
    """NaN everywhere."""
    return torch.full_like(t, float("nan"))


FAULTS = {"doubled": doubled, "swapped": swapped, "moved": moved, "undefined": undefined}


def spoilt(t, fault):
    """The tensor with the fault, or None where it cannot have it."""
    if not isinstance(t, torch.Tensor) or t.dtype not in UNITS or not t.numel() or not torch.isfinite(t).all():
        return None
    return FAULTS[fault](t.contiguous())


def dtype_named(name):
    """None: this PyTorch has no such dtype."""
    return getattr(torch, name.removeprefix("torch."), None)


def results_of(record, reading):
    """PyTorch's results in the dtypes of the call."""
    for o in record["output"]:
        if isinstance(o, dict) and o.get("type") == "torch.Tensor":
            dtype = dtype_named(o["dtype"] or o["file_dtype"])
            yield reading(o["file"]).to(dtype) if dtype else None
        else:
            yield None


def make(folder):
    dumps = {fault: Dump(folder / fault) for fault in FAULTS}
    for record, call, reading in goldens():
        results = list(results_of(record, reading))
        if any(r is None for r in results) or record.get("refused"):
            continue
        arguments = list(tensors(call.args)) + list(tensors(list(call.kwargs.values())))
        cotangents = [None] * len(results)
        for one in record.get("grad_output", []):
            cotangents[one["output_index"]] = reading(one["file"]).to(dtype_named(one["dtype"]))
        gradients = [None] * len(arguments)
        for one in record.get("grad_input", []):
            at = one["tensor_index"]
            gradients[at] = reading(one["file"]).to(arguments[at].dtype)
        tracked = {id(a) for a, g in zip(arguments, gradients) if g is not None}
        for fault, dump in dumps.items():
            wrong = [spoilt(r, fault) for r in results]
            slopes = [spoilt(g, fault) for g in gradients]
            if any(w is not None for w in wrong):  # the results alone, so that neither hides the other
                dump.add(call.api, call.args, call.kwargs, [r if w is None else w for r, w in zip(results, wrong)])
            if any(s is not None for s in slopes):
                dump.add(call.api, call.args, call.kwargs, results, tracked, cotangents,
                         [g if s is None else s for g, s in zip(gradients, slopes)])
    for fault, dump in dumps.items():
        dump.save()
        print(f"{fault}: {sum(dump.counts.values())} calls")


def judge(folder, known, listed):
    allowed = {tuple(line.split(None, 2)[:2]) for line in pathlib.Path(known).read_text().splitlines()
               if line and not line.startswith("#")}
    failed = 0
    for fault in FAULTS:
        data = json.loads((folder / fault / "dump.json").read_text())["data"]
        counts, passed = collections.Counter(), collections.Counter()
        for name, forward, backward, *_ in rows(folder / fault, "result"):
            slope = name + ".backward" in data
            verdict = backward if slope else forward
            counts[verdict] += 1
            if verdict == "pass":
                passed[name.rsplit(".", 1)[0] + (" (gradient)" if slope else "")] += 1
        print(f"{fault}: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
        for api, n in sorted(passed.items()):
            new = (fault, api.split()[0]) not in allowed and fault != "moved"
            failed += new
            if listed or new:
                print(f"  {fault} {api}: {n} pass" + (", not known" if new else ""))
    return failed > 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(judge(pathlib.Path(sys.argv[2]), sys.argv[3], "--list" in sys.argv))
