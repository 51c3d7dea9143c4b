"""Random calls of every name of the catalogue, in PyTorch and here. Run by tests/long/against_torch.

    python3 against_torch.py OPS.json FOLDER [--seed N] [--calls N] [--name PART]

Calls come from PyTorch's own samples of its operators (op_db) and from the goldens of the repository, each
under every spelling the catalogue has, and are then changed at random: dtypes, keyword and positional
spelling, Python numbers and 0-d tensors for tensors, broadcast, empty and negative dimensions, options left
out, None, infinities and NaN. PyTorch decides whether the changed call is one. FOLDER gets the calls as
goldens (float64 results and gradients, dtype of the native call), one folder per name, for
`bench-goldens FOLDER`. A call that PyTorch refuses is written down as refused.
"""
import argparse
import inspect
import json
import os
import pathlib
import random
import signal
import sys
import types
import unittest
import warnings

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "data" / "goldens"))
from make import Goldens, resolve  # noqa: E402

warnings.simplefilter("ignore")

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.uint8, torch.int16, torch.int8, torch.bool]
DTYPES = FLOATS + INTS + [torch.complex64]
MOST_ELEMENTS = 400
DUNDER = {  # base name -> what stands between the underscores
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "true_divide": "div", "floor_divide": "floordiv",
    "remainder": "mod", "pow": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift", "eq": "eq", "ne": "ne",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "neg": "neg", "abs": "abs", "bitwise_not": "invert",
}
ABSENT = {"device", "layout", "pin_memory", "memory_format", "requires_grad", "out", "generator", "names"}


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
        return v.layout == torch.strided and v.dtype in DTYPES + [torch.complex128] and v.numel() <= MOST_ELEMENTS
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
    def __init__(self, api, args, kwargs):
        self.api, self.args, self.kwargs = api, list(args), dict(kwargs)

    def copy(self, api=None):
        return Call(api or self.api, clean(list(self.args)), {k: clean(v) for k, v in self.kwargs.items()})

    def is_plain(self):
        return all(plain(a) for a in self.args) and all(plain(v) for v in self.kwargs.values())


# ---- changes ---------------------------------------------------------------------------------


def map_tensors(call, f):
    def walk(v):
        if isinstance(v, torch.Tensor):
            return f(v)
        return type(v)(walk(i) for i in v) if type(v) in (list, tuple) else v
    call.args = [walk(a) for a in call.args]
    call.kwargs = {k: walk(v) for k, v in call.kwargs.items()}


def cast(t, dtype):
    if t.is_complex() and not dtype.is_complex:
        t = t.real
    if dtype == torch.uint8:
        t = t.abs()
    if dtype in INTS and (t.is_floating_point()):
        t = torch.nan_to_num(t.double(), 0, 5, -5).clamp(-100, 100)
    return t.to(dtype)


def change_all_dtypes(call, r):
    of = r.choice(DTYPES)
    map_tensors(call, lambda t: cast(t, of) if t.is_floating_point() or t.is_complex() else t)


def change_one_dtype(call, r):
    every = list(tensors(call.args)) + list(tensors(call.kwargs))
    if every:
        chosen, of = r.choice(every), r.choice(DTYPES)
        map_tensors(call, lambda t: cast(t, of) if t is chosen else t)


def to_number(call, r):
    """A tensor operand becomes a Python number or a 0-d tensor."""
    places = [i for i, a in enumerate(call.args) if i and isinstance(a, torch.Tensor)]
    if not places:
        return
    i = r.choice(places)
    value = r.choice([2, -3, 0, True, 0.5, -1.25, 3.0, float("inf")])
    call.args[i] = value if r.random() < 0.6 else cast(torch.tensor(float(value)), r.choice(DTYPES))


def change_shape(call, r):
    every = list(tensors(call.args))
    if not every:
        return
    chosen, kind = r.choice(every), r.randrange(5)

    def change(t):
        if t is not chosen:
            return t
        if kind == 0:
            return t.unsqueeze(r.randrange(t.dim() + 1)).clone()
        if not t.dim():
            return t
        d = r.randrange(t.dim())
        if kind == 1:
            return t.select(d, 0).clone() if t.shape[d] else t
        if kind == 2:
            return t.narrow(d, 0, 1).clone() if t.shape[d] else t
        if kind == 3:
            return t.transpose(d, 0).contiguous()
        return t.narrow(d, 0, 0).clone()
    map_tensors(call, change)


def empty_all(call, r):
    d = r.randrange(3)
    map_tensors(call, lambda t: t.narrow(d, 0, 0).clone() if t.dim() > d else t)


def specials(call, r):
    values = [float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1e-40, 1.0, -1.0, 0.5, 3e38]

    def change(t):
        if not t.is_floating_point() or not t.numel():
            return t
        t = t.clone()
        for _ in range(r.randrange(1, 4)):
            t.view(-1)[r.randrange(t.numel())] = r.choice(values)
        return t
    map_tensors(call, change)


def round_values(call, r):
    """Whole values: ties, zeros, kinks."""
    map_tensors(call, lambda t: t.round() if t.dtype in FLOATS[:2] else t)


def parameters(api):
    """Names of the parameters, or None."""
    try:
        target = getattr(torch.Tensor, api.split(".", 1)[1]) if api.startswith("Tensor.") else resolve(api)
        return [p.name for p in inspect.signature(target).parameters.values()
                if p.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
    except (ValueError, TypeError, AttributeError):
        return None


SCHEMAS = {}


def schema_names(api):
    """Parameter names by overload, from PyTorch's own schemas."""
    if not SCHEMAS:
        for s in torch._C._jit_get_all_schemas():
            if s.name.startswith("aten::"):
                SCHEMAS.setdefault(s.name[6:], []).append(
                    [("input" if a.name == "self" else a.name) for a in s.arguments if not a.kwarg_only])
    signature = parameters(api)
    base = api.split(".", 1)[1]
    found = list(SCHEMAS.get(base, SCHEMAS.get(base.replace(".", "_"), [])))
    return ([signature] if signature else []) + found


def to_keywords(call, r):
    options = [n for n in schema_names(call.api) if len(n) >= len(call.args)]
    if not options or not call.args:
        return
    names = r.choice(options)
    first = 1 if call.api.startswith("Tensor.") else r.choice([0, 1])
    start = r.randrange(first, len(call.args) + 1) if first <= len(call.args) else first
    for name, value in zip(names[start:], call.args[start:]):
        call.kwargs.setdefault(name, value)
    call.args = call.args[:start]


def to_positional(call, r):
    options = schema_names(call.api)
    if not options:
        return
    names = r.choice(options)
    while len(call.args) < len(names) and names[len(call.args)] in call.kwargs:
        call.args.append(call.kwargs.pop(names[len(call.args)]))


def drop_option(call, r):
    if call.kwargs and r.random() < 0.7:
        k = r.choice(list(call.kwargs))
        if r.random() < 0.5:
            del call.kwargs[k]
        else:
            call.kwargs[k] = None
    elif len(call.args) > 1:
        if r.random() < 0.5:
            call.args.pop()
        else:
            call.args[r.randrange(1, len(call.args))] = None


def change_option(call, r):
    """Numbers and flags among the options."""
    def change(v):
        if type(v) is bool:
            return not v
        if type(v) is int:
            return r.choice([v + 1, v - 1, -v, 0, -1, 1, 2, float(v)])
        if type(v) is float:
            return r.choice([v * 2, -v, 0.0, 1.0, 0.5, 1, 2, -1, v + 0.25])
        if type(v) in (list, tuple) and v and all(type(i) is int for i in v):
            return r.choice([list(v), tuple(v), [i + 1 for i in v], list(v)[::-1], list(v)[:1], v[0],
                             [-1 if k == len(v) - 1 else i for k, i in enumerate(v)]])
        if isinstance(v, torch.dtype):
            return r.choice(DTYPES)
        if v in ("mean", "sum", "none"):
            return r.choice(["mean", "sum", "none"])
        return v
    places = [("a", i) for i, a in enumerate(call.args) if not isinstance(a, torch.Tensor)]
    places += [("k", k) for k, v in call.kwargs.items() if not isinstance(v, torch.Tensor)]
    if places:
        kind, at = r.choice(places)
        if kind == "a":
            call.args[at] = change(call.args[at])
        else:
            call.kwargs[at] = change(call.kwargs[at])


def add_option(call, r):
    names = [n for option in schema_names(call.api) for n in option]
    for s in torch._C._jit_get_schemas_for_operator("aten::" + call.api.split(".", 1)[1]):
        names += [a.name for a in s.arguments if a.kwarg_only]
    names = [n for n in names if n not in ABSENT and n not in ("self", "input")]
    if not names:
        return
    name = r.choice(names)
    if "dtype" in name:
        call.kwargs[name] = r.choice(DTYPES)
    elif name == "reduction":
        call.kwargs[name] = r.choice(["mean", "sum", "none"])
    elif name == "rounding_mode":
        call.kwargs[name] = r.choice([None, "trunc", "floor"])
    else:
        call.kwargs[name] = r.choice([True, False, 0, 1, -1, 2, 0.5, -2.0, None, (0, 1), (-1,), [1, 1]])


CHANGES = [change_all_dtypes, change_one_dtype, change_one_dtype, to_number, change_shape, change_shape, empty_all,
           specials, round_values, to_keywords, to_keywords, to_positional, drop_option, change_option,
           change_option, add_option]
OF_KEYWORDS = [to_keywords, to_positional, drop_option, add_option]  # operators have none


# ---- where calls come from -------------------------------------------------------------------------


def from_op_db(catalogue, wanted):
    """(spelling, call) lists by name."""
    found = {}
    for info in op_db():
        names = [n for base in [info.name] + [a.name for a in info.aliases] for n in spellings(base, catalogue)]
        names = [n for n in names if wanted in n]
        if not names:
            continue
        samples = []
        supported = info.dtypesIf["cpu"] if hasattr(info, "dtypesIf") else info.dtypes
        for dtype in [d for d in (torch.float32, torch.int64, torch.bfloat16, torch.bool, torch.complex64,
                                  torch.float64, torch.uint8) if d in supported]:
            for make in ("sample_inputs", "reference_inputs"):
                try:
                    for k, s in enumerate(getattr(info, make)("cpu", dtype, requires_grad=False)):
                        if k >= 300:
                            break
                        kwargs = {n: v for n, v in s.kwargs.items() if n not in ABSENT}
                        call = Call(info.name, [clean(s.input)] + [clean(a) for a in s.args],
                                    {n: clean(v) for n, v in kwargs.items()})
                        if call.is_plain():
                            samples.append(call)
                except Exception:  # some of PyTorch's sample makers need more than Debian has
                    pass
        for name in names:
            found.setdefault(name, []).extend(samples)
    return found


def from_goldens(catalogue, wanted):
    import io
    import numpy
    found = {}
    for index in sorted((HERE.parent / "data").glob("goldens*/index.jsonl")):
        blob = (index.parent / "tensors.bin").read_bytes()

        def value(v):
            if isinstance(v, list):
                return [value(i) for i in v]
            if not isinstance(v, dict):
                return v
            kind = v.get("type")
            if kind == "torch.Tensor":
                at, n = v["file"]
                array = numpy.load(io.BytesIO(blob[at:at + n]))
                return torch.from_numpy(array.copy()).to(getattr(torch, v["dtype"][6:]))
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
            name = record["api"].rsplit(".", 1)[0]
            if name not in catalogue or wanted not in name:
                continue
            try:
                call = Call(name, [value(a) for a in record["input_args"]],
                            {k: value(v) for k, v in record["input_kwargs"].items()})
            except (KeyError, AttributeError):
                continue
            if call.is_plain():
                kind, short = name.split(".", 1)
                bare = short.rstrip("_")
                for other in {name, f"Torch.{bare}", f"Torch.{bare}_", f"Tensor.{bare}", f"Tensor.{bare}_",
                              f"Functional.{bare}", f"Functional.{bare}_"}:
                    if other in catalogue and not short.startswith("__"):
                        found.setdefault(other, []).append(call)
                found.setdefault(name, []).append(call)
    return found


# ---- one call in PyTorch ------------------------------------------------------------------------------


class Book(Goldens):
    """Goldens for one part, with what PyTorch refused."""

    def __init__(self, folder, seed):
        super().__init__(str(folder / "x"), seed=seed, limit=1 << 40)
        self.folder = folder

    def save(self):
        index = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in self.records)
        (self.folder / "index.jsonl").write_text(index)
        (self.folder / "tensors.bin").write_bytes(self.blob)

    def run(self, call, convert):
        return self.flat(self.call(call.api, [clean(a) for a in call.args],
                                   {k: clean(v) for k, v in call.kwargs.items()}, convert))

    def native_dtypes(self, call):
        """The dtypes of the results, "refused: ..." or None where only a kernel is missing."""
        missing = False
        for swap in (None, torch.bfloat16, torch.float32):  # a half without a kernel: ask its sibling
            def convert(t):
                return t.to(swap) if swap and t.dtype == torch.float16 else t.clone()
            halves = {t.dtype for t in list(tensors(call.args)) + list(tensors(call.kwargs)) if t.is_floating_point()}
            if swap and (halves != {torch.float16} or any(isinstance(v, torch.dtype) for v in
                                                         list(call.kwargs.values()) + call.args)):
                continue
            try:
                outputs = self.run(call, convert)
            except Exception as error:
                if "not implemented for" not in str(error) and "not supported for" not in str(error):
                    if not missing:
                        return "refused: " + str(error).split("\n")[0]
                missing = True
                continue
            return [torch.float16 if swap and isinstance(o, torch.Tensor) and o.dtype == swap else
                    getattr(o, "dtype", None) for o in outputs]
        return None

    def add_call(self, call, is_random):
        """True when PyTorch runs it."""
        native = self.native_dtypes(call)
        leaves = []
        in_place = (call.api.endswith("_") and not call.api.endswith("__") or call.api.startswith("Tensor.__i") and
                    call.api != "Tensor.__invert__" or call.api.endswith("__setitem__") or "inplace" in call.kwargs or
                    any(a is True for a in call.args))

        def raised(t):
            wide = t.detach().clone()
            floating = t.is_floating_point() or t.is_complex()
            if floating and not is_random:
                wide = wide.to(torch.complex128 if t.is_complex() else torch.float64)
            if floating and self.tracks:
                wide.requires_grad_()
            leaves.append(wide)
            return wide.clone() if in_place and floating else wide

        record = {"api": self.numbered(call.api), "family": "random"}
        record["input_args"] = [self.describe(a, self.tracks) for a in call.args]
        record["input_kwargs"] = {k: self.describe(v, self.tracks) for k, v in call.kwargs.items()}
        try:
            result = self.call(call.api, [clean(a) for a in call.args],
                               {k: clean(v) for k, v in call.kwargs.items()}, raised)
            outputs = self.flat(result)
        except Exception as error:
            if "not implemented for" in str(error) or "a leaf Variable" in str(error):
                return None
            record["output"], record["refused"] = [], str(error).split("\n")[0][:200]
            self.records.append(record)
            return False
        if len(outputs) > 60 or len(leaves) > 60 or sum(o.numel() for o in outputs if isinstance(o, torch.Tensor)) > 4000:
            return None
        if any(isinstance(o, torch.Tensor) and (o.layout != torch.strided or o.dtype not in DTYPES + [torch.complex128])
               for o in outputs):
            return None
        if any(o is NotImplemented for o in outputs):  # an operator that leaves it to the other operand
            return None
        refused = isinstance(native, str)
        if refused:
            record["native_refused"] = native
        record["output"] = []
        for i, o in enumerate(outputs):
            one = self.describe_output(o, None, i) if isinstance(o, torch.Tensor) or plain(o) else None
            if isinstance(o, torch.Tensor) and isinstance(native, list) and i < len(native) and native[i] is not None:
                one["dtype"] = str(native[i])
            record["output"].append(one)
        record["precision"] = "native" if is_random else "float64"
        record["output_is_sequence"] = isinstance(result, (list, tuple))
        record["grad_output"], record["grad_input"] = ([], []) if is_random else self.gradients(outputs, leaves)
        self.records.append(record)
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ops")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=12, help="calls per name that PyTorch runs")
    parser.add_argument("--name", default="", help="only names that contain this")
    parser.add_argument("--differentiable", type=pathlib.Path, help="write the names that gave a gradient there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = json.loads(pathlib.Path(options.ops).read_text())
    catalogue = {o["api"] for o in rows if o["forward"] and o["api"].split(".")[0] in ("Functional", "Tensor", "Torch", "Aten")}
    # Gradients as operators are not differentiated again here, though PyTorch could.
    options.plain = {o["api"] for o in rows if o["api"].startswith("Aten.") and not o["backward"]}
    random_names = {o["api"] for o in rows if "statistical" in o["certificate"] or "property" in o["certificate"]}
    sources = from_op_db(catalogue, options.name)
    for name, calls in from_goldens(catalogue, options.name).items():
        sources.setdefault(name, []).extend(calls)
    totals, bare, crashes = [0, 0], [n for n in sorted(catalogue) if options.name in n and not sources.get(n)], []
    for name in sorted(n for n in sources if sources[n]):
        for attempt in range(8):  # PyTorch 1.13 divides by zero for some strides: one process a name
            counts = one_process(name, sources[name], name in random_names, options, options.seed + attempt)
            if counts:
                totals = [a + b for a, b in zip(totals, counts)]
                break
            crashes.append(name)
        if not counts or not counts[0]:
            bare.append(name)
    differentiable = sorted(p.parent.name for p in options.folder.glob("*/index.jsonl")
                            if any(json.loads(line).get("grad_input") for line in p.read_text().splitlines()))
    if options.differentiable:
        options.differentiable.write_text("".join(name + "\n" for name in differentiable))
    print(f"{len(sources)} names, {totals[0]} calls run, {totals[1]} refused by PyTorch")
    print(f"no call for {len(bare)} names:", *bare)
    print(f"PyTorch crashed or hung {len(crashes)} times:", *sorted(set(crashes)))


def one_process(name, calls, is_random, options, seed):
    """Draw calls of one name in a process of its own; how many ran and were refused, or None."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(100)
        counts = draw(name, calls, is_random, options, seed)
        os.write(writing, f"{counts[0]} {counts[1]}".encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    text = os.read(reading, 64).decode()
    os.close(reading)
    return [int(n) for n in text.split()] if not status else None


def draw(name, calls, is_random, options, seed):
    r = random.Random(f"{seed} {name}")
    torch.manual_seed(r.randrange(1 << 30))
    book = Book(options.folder / name, r.randrange(1 << 30))
    book.tracks = not is_random and name not in options.plain
    good, bad = draw_calls(book, name, calls, is_random, options.calls, r)
    if book.records:
        book.folder.mkdir(parents=True, exist_ok=True)
        book.save()
    return good, bad


def draw_calls(book, name, calls, is_random, wanted, r):
    """Add `wanted` calls of one name that PyTorch runs; how many it ran and refused."""
    good = bad = tries = 0
    while good < wanted and tries < 6 * wanted:
        tries += 1
        call = r.choice(calls).copy(name)
        if name.startswith("Tensor.__r") and name != "Tensor.__rshift__" and len(call.args) > 1:
            call.args[0], call.args[1] = call.args[1], call.args[0]
        changes = [c for c in CHANGES if not name.startswith("Tensor.__") or c not in OF_KEYWORDS]
        for _ in range(r.choice([0, 1, 1, 1, 2, 2, 3]) if bad <= wanted else 0):
            before = call.copy()
            try:
                r.choice(changes)(call, r)
            except (RuntimeError, IndexError, TypeError):
                call = before
        has_self = call.args and isinstance(call.args[0], torch.Tensor)
        if not call.is_plain() or (name.startswith("Tensor.") and not has_self):
            continue
        try:
            done = book.add_call(call, is_random)
        except (TypeError, ValueError, AttributeError, RuntimeError, IndexError) as error:
            print("not written:", name, repr(error)[:150], file=sys.stderr)
            continue
        good += done is True
        bad += done is False
    return good, bad


if __name__ == "__main__":
    main()
