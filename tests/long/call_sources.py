"""Calls of every name of the catalogue to start from: PyTorch's own samples of its operators (op_db), what those
dispatch forward and backward, the goldens and the written calls of the repository, and arguments drawn from
PyTorch's schemas. A call of one spelling is one of all spellings of the same name.
"""
import io
import json
import math
import pathlib
import random
import re
import sys
import types
import unittest

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.uint8, torch.int16, torch.int8, torch.bool]
DTYPES = FLOATS + INTS + [torch.complex64, torch.complex128]
MOST_ELEMENTS = 400
MOST_OF_A_SOURCE = 300  # calls of one name from one source
DUNDER = {  # base name -> what stands between the underscores
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "true_divide": "div", "floor_divide": "floordiv",
    "remainder": "mod", "pow": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift", "eq": "eq", "ne": "ne",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "neg": "neg", "abs": "abs", "bitwise_not": "invert",
}
ABSENT = {"device", "layout", "pin_memory", "memory_format", "requires_grad", "out", "generator", "names"}

# ---- values ----------------------------------------------------------------------------------------

def tensors(v):
    if isinstance(v, torch.Tensor):
        yield v
    elif isinstance(v, (list, tuple)):
        for item in v:
            yield from tensors(item)
    elif isinstance(v, dict):
        for item in v.values():
            yield from tensors(item)


def plain(v):
    """Can it be written down?"""
    if isinstance(v, torch.Tensor):
        return v.layout == torch.strided and not v.is_quantized and v.dtype in DTYPES and v.numel() <= MOST_ELEMENTS
    if isinstance(v, (list, tuple)):
        return all(plain(i) for i in v)
    if isinstance(v, slice):
        return all(i is None or isinstance(i, int) for i in (v.start, v.stop, v.step))
    return v is None or v is Ellipsis or type(v) in (bool, int, float, str, torch.dtype)


def clean(v):
    if isinstance(v, torch.Tensor):
        return v.detach().resolve_conj().resolve_neg().clone()
    if isinstance(v, (list, tuple)):
        return tuple(clean(i) for i in v) if isinstance(v, tuple) else [clean(i) for i in v]
    return v


class Call:
    def __init__(self, api, args, kwargs, kind=""):
        """`kind`: of which data or dtype it is made, "" when that is left to chance."""
        self.api, self.args, self.kwargs, self.kind = api, list(args), dict(kwargs), kind

    def copy(self, api=None):
        return Call(api or self.api, clean(list(self.args)), {k: clean(v) for k, v in self.kwargs.items()}, self.kind)

    def is_plain(self):
        return all(plain(a) for a in self.args) and all(plain(v) for v in self.kwargs.values())


def map_tensors(call, f):
    def walk(v):
        if isinstance(v, torch.Tensor):
            return f(v)
        return type(v)(walk(i) for i in v) if type(v) in (list, tuple) else v
    call.args = [walk(a) for a in call.args]
    call.kwargs = {k: walk(v) for k, v in call.kwargs.items()}


# ---- where they come from ------------------------------------------------------------------------


def op_db():
    """PyTorch's table of operators; its test helper wants a module that Debian does not have."""
    if "expecttest" not in sys.modules:
        stub = types.ModuleType("expecttest")
        stub.TestCase, stub.ACCEPT = unittest.TestCase, False
        sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db as table
    return table


def spellings(base, catalogue):
    """Names of the catalogue for one operator; a leading "r": operands exchanged."""
    if base.startswith("nn.functional."):
        short = base[len("nn.functional."):]
        names = [f"Functional.{short}", f"Functional.{short}_", f"Torch.{short}", f"Tensor.{short}", f"Torch.{short}_"]
    elif base.startswith("_refs."):
        return []
    else:
        names = [f"Torch.{base}", f"Torch.{base}_", f"Tensor.{base}", f"Tensor.{base}_", f"Functional.{base}",
                 f"Functional.{base}_"]
        short = base.split(".")[-1]
        if "." in base:
            names += [f"Torch.{base.replace('.', '_')}", f"Tensor.{short}", f"Torch.{short}"]
        names.append(f"Aten.{base.replace('.', '_')}")
        if base in DUNDER:
            names += [f"Tensor.__{kind}{DUNDER[base]}__" for kind in ("", "i", "r")]
    return [n for n in names if n in catalogue]


def goldens():
    """(record, call, reading) of every golden that PyTorch has; reading(place) is the tensor of a place of the record."""
    for index in sorted(DATA.glob("goldens*/index.jsonl")):
        blob = (index.parent / "tensors.bin").read_bytes()

        def tensor(place):
            at, n = place
            return torch.from_numpy(numpy.load(io.BytesIO(blob[at:at + n])).copy())

        def value(v):
            if isinstance(v, list):
                return [value(i) for i in v]
            if not isinstance(v, dict):
                return v
            kind = v.get("type")
            if kind == "torch.Tensor":
                return tensor(v["file"]).to(getattr(torch, v["dtype"][6:]))
            if kind == "torch.dtype":
                return getattr(torch, v["value"][6:])
            if kind == "slice":
                return slice(*v["value"])
            if kind == "ellipsis":
                return Ellipsis
            if kind is None:
                raise KeyError
            return float(v["value"]) if kind == "float" else v["value"]

        for line in index.read_text().splitlines():
            record = json.loads(line)
            if record.get("framework", "pytorch") != "pytorch":
                continue
            try:
                call = Call(record["api"].rsplit(".", 1)[0], [value(a) for a in record["input_args"]],
                            {k: value(v) for k, v in record["input_kwargs"].items()})
            except (KeyError, AttributeError):  # of a newer PyTorch
                continue
            yield record, call, tensor


SHORT = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
         "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
         "c64": torch.complex64, "c128": torch.complex128}


def written_tensor(dtype, shape, elements):
    """A tensor of the notation of tests/bench/samples.h."""
    dtype, shape = SHORT[dtype], [int(n) for n in shape.split(",") if n.strip()]
    count = math.prod(shape)
    text = (elements or "").strip("[]")
    integral = dtype in INTS
    if ".." in text:
        low, high = (float(x) for x in text.split(".."))
        x = torch.rand(count, dtype=torch.float64) * (high - low + integral) + low
        x = x.floor() if integral else x
    elif text:
        x = torch.tensor([float(t) for t in text.split()], dtype=torch.float64)
    elif dtype == torch.bool:
        x = torch.randint(0, 2, (count,)).double()
    elif integral:
        x = torch.randint(0 if dtype == torch.uint8 else -5, 6, (count,)).double()
    else:
        x = torch.randn(count, dtype=torch.float64)
    return x.to(dtype).reshape(shape)


def written_calls():
    """The calls of tests/data/calls."""
    names = {"inf": math.inf, "nan": math.nan, "slice": slice, "torch": torch, "T": written_tensor,
             "call": lambda *args, **kwargs: (args, kwargs)}
    pattern = re.compile(r"\b(" + "|".join(SHORT) + r")\(([\d, ]*)\)(\[[^\]]*\])?'?")
    for file in sorted((DATA / "calls").glob("*.txt")):
        for line in file.read_text().splitlines():
            line = line.split("  #")[0].strip()
            if not line or line.startswith("#"):
                continue
            api, arguments = line.split("(", 1)
            arguments = pattern.sub(lambda m: f"T({m[1]!r}, {m[2]!r}, {m[3]!r})", "(" + arguments)
            try:
                args, kwargs = eval("call" + arguments, {"__builtins__": {}}, names)
            except Exception:  # dtypes that PyTorch 1.13 does not have
                continue
            yield Call(api, args, kwargs)


def op_db_calls(of):
    """(operator, its calls)."""
    for info in op_db():
        if not of(info):
            continue
        supported = info.dtypesIf["cpu"] if hasattr(info, "dtypesIf") else info.dtypes
        samples = []
        for dtype in [d for d in (torch.float32, torch.int64, torch.bfloat16, torch.bool, torch.complex64,
                                  torch.float64, torch.uint8) if d in supported]:
            for make in ("sample_inputs", "reference_inputs"):
                try:
                    for k, s in enumerate(getattr(info, make)("cpu", dtype, requires_grad=False)):
                        if k >= MOST_OF_A_SOURCE:
                            break
                        kwargs = {n: clean(v) for n, v in s.kwargs.items() if n not in ABSENT}
                        call = Call(info.name, [clean(s.input)] + [clean(a) for a in s.args], kwargs)
                        if call.is_plain():
                            samples.append(call)
                except Exception:  # some of PyTorch's sample makers need more than Debian has
                    pass
        yield info, samples


class Recorder(TorchDispatchMode):
    """Keeps the calls of operators, gradients among them."""

    def __init__(self):
        super().__init__()
        self.calls, self.seen = [], {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = "Aten." + str(func.overloadpacket).split(".")[-1]
        call = Call(name, args, {k: v for k, v in (kwargs or {}).items() if k not in ABSENT})
        if self.seen.get(name, 0) < MOST_OF_A_SOURCE and call.is_plain():
            self.seen[name] = self.seen.get(name, 0) + 1
            self.calls.append(call.copy())
        return func(*args, **(kwargs or {}))


def dispatched_calls(samples):
    """Operators of aten that samples of op_db call, and that their gradients call."""
    recorder = Recorder()
    for info, calls in samples:
        for call in calls[:4]:
            leaves = call.copy()
            map_tensors(leaves, lambda t: t.requires_grad_() if t.is_floating_point() else t)
            try:
                with recorder:
                    out = info.op(*leaves.args, **leaves.kwargs)
                    roots = [o for o in tensors(out if isinstance(out, (list, tuple)) else [out]) if o.requires_grad]
                    if roots:
                        torch.autograd.backward(roots, [torch.randn_like(o) for o in roots])
            except Exception:  # PyTorch refuses some of its own samples
                pass
    return recorder.calls


def schema_calls(name, count=40):
    """Arguments drawn from the schemas of an operator."""
    r = random.Random(name)
    base = name.split(".", 1)[1].replace(".", "_")
    shapes = [(3, 4), (4,), (2, 3, 4), (4, 4), (2, 3, 4, 4), (), (0, 3)]

    def drawn(type_, shape):
        type_ = type_.rstrip("?")
        if type_ == "Tensor":
            x = torch.randn(shape) if r.random() < 0.8 else torch.randint(0, 3, shape)
            return x
        if type_.startswith("Tensor"):
            return [drawn("Tensor", shape) for _ in range(2)]
        if type_.startswith("List[Tensor") or type_ == "Tensor[]":
            return [drawn("Tensor", shape) for _ in range(2)]
        return {"int": r.randrange(3), "float": r.choice([0.5, 1.0, 2.0]), "bool": r.random() < 0.5, "str": "mean",
                "Scalar": r.choice([0.5, 2, 1.0]), "number": r.choice([0.5, 2, 1.0]), "ScalarType": 6,
                "List[int]": [r.randrange(1, 4) for _ in range(r.randrange(1, 4))],
                "List[float]": [0.5, 1.0]}.get(type_)

    for schema in torch._C._jit_get_schemas_for_operator("aten::" + base):
        for _ in range(count):
            shape = r.choice(shapes)
            args, kwargs = [], {}
            for a in schema.arguments:
                if a.name in ABSENT or a.is_out:
                    continue
                value = drawn(str(a.type).replace("Optional[", "").rstrip("]") if str(a.type).startswith("Optional")
                              else str(a.type), shape)
                if a.kwarg_only:
                    kwargs[a.name] = value
                else:
                    args.append(value)
            yield Call(name, args, {k: v for k, v in kwargs.items() if v is not None})


# ---- all of them -----------------------------------------------------------------------------------


def bare(name):
    """What the spellings of one function have in common."""
    short = name.split(".", 1)[1].replace(".", "_")
    for prefix in ("linalg_", "special_"):
        short = short[len(prefix):] if short.startswith(prefix) else short
    return short if short.endswith("__") else short.rstrip("_")


def sources(catalogue, wanted):
    """Calls by name, of all names that have one."""
    names = [n for n in sorted(catalogue) if wanted in n]
    needed = {bare(n) for n in names}
    exact, others = {}, {}

    def keep(of, key, call):
        if call.is_plain() and len(of.setdefault(key, [])) < MOST_OF_A_SOURCE:
            of[key].append(call)

    def spelled(info):
        return [n for base in [info.name] + [a.name for a in info.aliases] for n in spellings(base, catalogue)]

    samples = list(op_db_calls(lambda info: any(wanted in n for n in spelled(info)) or
                               info.name.split(".")[-1] in needed or wanted.startswith("Aten.")))
    for info, calls in samples:
        for name in [n for n in spelled(info) if wanted in n]:
            exact.setdefault(name, []).extend(calls)
    for call in [g[1] for g in goldens()] + list(written_calls()) + dispatched_calls(samples):
        keep(exact, call.api, call)
        keep(others, bare(call.api), call)
    found = {}
    for name in names:
        calls = exact.get(name, []) + ([] if name.split(".")[1].startswith("__") else others.get(bare(name), []))
        found[name] = calls or [c for c in schema_calls(name) if c.is_plain()]
    return {n: c for n, c in found.items() if c}
