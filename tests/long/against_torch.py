"""Random calls of every name of the catalogue, in PyTorch and here. Run by tests/long/against_torch.

    python3 against_torch.py OPS.json FOLDER [--seed N] [--calls N] [--halves] [--name PART] [--part K/N]

Calls (call_sources.py), each under every spelling the catalogue has, are changed at random: dtypes, keyword and positional
spelling, Python numbers and 0-d tensors for tensors, broadcast, empty and negative dimensions, options left
out, None, infinities and NaN, constant, repeated, cancelling, extreme and smooth data. PyTorch decides whether the changed
call is one. FOLDER/goldens gets the calls as goldens (float64 results and gradients, dtype of the native call), one folder
per name, for `bench-goldens "" FOLDER/goldens`, a call that PyTorch refuses as refused; FOLDER/strict/native and
FOLDER/strict/float64 get dumps of what PyTorch returned. A name that FOLDER has is not drawn again, so a run can be cut off.
"""
import argparse
import inspect
import json
import math
import os
import pathlib
import random
import resource
import signal
import sys
import warnings

import torch
from call_sources import ABSENT, DTYPES, FLOATS, INTS, MOST_ELEMENTS, Call, clean, map_tensors, plain, sources, tensors
from torch_answers import Answers, is_inexact, join

MOST_BYTES = 4 << 30  # of a process that draws the calls of one name: sizes are among what is drawn
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "data" / "goldens"))
sys.path.insert(0, str(HERE.parent / "zoo"))
from make import Goldens, resolve  # noqa: E402
from make_calls import KINDS, data  # noqa: E402

warnings.simplefilter("ignore")


# ---- changes ---------------------------------------------------------------------------------


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


def other_data(call, r, kind=None):
    """Data of another kind in one tensor or, where the kind is given, in all, within the range of what was there."""
    every, chosen = kind is not None or r.random() < 0.5, r.random()
    kind = kind or r.choice(KINDS)
    places = [t for t in list(tensors(call.args)) + list(tensors(call.kwargs)) if t.is_floating_point()]
    one = places[int(chosen * len(places))] if places else None

    def change(t):
        if not t.is_floating_point() or not t.numel() or not (every or t is one):
            return t
        x = data(kind, tuple(t.shape), torch.Generator().manual_seed(r.randrange(1 << 30)))
        low, high = t.double().min().item(), t.double().max().item()
        if not (low < 0 < high):  # a domain, perhaps
            x = low + (high - low) * (0.5 + torch.atan(x) / math.pi)
        return x.to(t.dtype)
    map_tensors(call, change)


def other_strides(call, r):
    """The same elements in another order of memory, or one element for all of a dimension."""
    kind = r.randrange(3)

    def change(t):
        if t.dim() < 2 or not t.numel():
            return t
        if kind == 0:
            return t.transpose(0, -1).contiguous().transpose(0, -1)
        if kind == 1:
            return t[:1].expand(t.shape)
        return torch.stack([t, t], -1)[..., 0]
    map_tensors(call, change)


def out_of_range(call, r):
    """A dimension or an index that is not there."""
    places = [i for i, a in enumerate(call.args) if type(a) is int] + [k for k, v in call.kwargs.items() if type(v) is int]
    if places:
        at = r.choice(places)
        (call.kwargs if isinstance(at, str) else call.args)[at] = r.choice([-1, -2, 7, -9, 99])


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
           specials, round_values, other_data, other_data, other_strides, out_of_range, to_keywords, to_keywords, to_positional, drop_option, change_option,
           change_option, add_option]
KINDS_OF_TORCH = ("Functional", "Tensor", "Torch", "Aten", "VF")
# What is tried of every name, in this order, before chance decides: each kind of data in float32, then each dtype.
LEADS = KINDS + [torch.complex64, torch.complex128] + INTS + [torch.float16, torch.bfloat16]
LEADS_OF_HALVES = [(kind, of) for kind in KINDS for of in (torch.bfloat16, torch.float16)]
CONVERSIONS = {"copy", "to", "_to_copy", "type", "type_as", "int", "long", "short", "char", "byte", "fill", "masked_fill", "masked_scatter",
               "index_put", "index_fill", "index_copy", "scatter", "slice_scatter", "select_scatter", "diagonal_scatter"}
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal"}
CASTS = {"byte", "char", "int", "long", "short", "to", "_to_copy", "type", "type_as"}  # to integers
OF_KEYWORDS = [to_keywords, to_positional, drop_option, add_option]  # operators have none


# ---- calls that are none -------------------------------------------------------------------------


def inexact(call):
    return [is_inexact(t) for t in list(tensors(call.args)) + list(tensors(call.kwargs))]


def named(call):
    """Arguments by the names of the first schema that fits, as operators of aten have them."""
    for names in schema_names(call.api):
        if len(names) >= len(call.args):
            return {**dict(zip(names, call.args)), **call.kwargs}
    return call.kwargs


def is_other(values, others):
    """Are the tensors of one list not those of the other?"""
    return len(values) != len(others) or any(a.shape != b.shape or not torch.equal(a.double() if not a.is_complex() else a,
                                                                                    b.double() if not b.is_complex() else b)
                                             for a, b in zip(values, others))


def options_of(call):
    """What is no tensor among the positional arguments."""
    return [a for a in call.args if not isinstance(a, (torch.Tensor, list))] + [
        a for a in call.args if isinstance(a, list) and not list(tensors(a))]


def has_other_types(call):
    """Is there a number where a flag is declared, or a list for a number? Python takes them without a look."""
    declared = {}
    try:
        declared = {n: str(p.annotation) for n, p in inspect.signature(function_of(call.api)).parameters.items()}
    except (ValueError, TypeError, AttributeError):
        pass
    if call.api.startswith("Aten."):
        for schema in torch._C._jit_get_schemas_for_operator("aten::" + call.api[5:]):
            declared.update((a.name, str(a.type)) for a in schema.arguments)
    names = list(declared)
    given = list(zip(names, call.args)) + list(call.kwargs.items())
    return any((type(v) not in (bool, type(None)) and "bool" in declared.get(n, "")) or
               (type(v) in (list, tuple) and "float" in declared.get(n, "") and "ist" not in declared[n]) for n, v in given)


def is_ill_posed(call, source):
    """PyTorch runs it, but nobody else could know what it should return. `source`: the call that was changed."""
    if has_other_types(call) or (call.api.startswith("Tensor.__") and call.kwargs):
        return True
    arguments, base, args = named(call), call.api.split(".", 1)[1], call.args
    first = next((t for t in list(tensors(args)) + list(tensors(call.kwargs))), None)
    for name, most in (("interpolation_mode", 2), ("padding_mode", 2)):  # enumerations, unchecked
        if type(arguments.get(name)) is int and not 0 <= arguments[name] <= most:
            return True
    if call.api.startswith("Aten."):
        if not inexact(call) or {"a", "b"} & set(call.kwargs):  # numbers alone, also of tensors, are not dispatched
            return True
        if type(arguments.get("reduction")) is int and not 0 <= arguments["reduction"] <= 2:
            return True
        flag = args[1:2] if len(args) == 2 else [call.kwargs["dim"]] if "dim" in call.kwargs else []
        if base in ("std", "var", "std_mean", "var_mean") and flag and type(flag[0]) in (bool, int, float, type(None)):  # or a dimension?
            return True
        if base.startswith("bitwise_") and any(type(a) is bool for a in args):  # becomes an int
            return True
        if base == "to" and any(type(a) is float for a in args):  # a number for a dtype becomes a tensor of it
            return True
        if base in ("smooth_l1_loss_backward", "huber_loss_backward") and arguments.get("beta", arguments.get("delta", 1)) < 0:
            return True  # the forward call refuses it
    if base == "affine_grid_generator" and not first.is_floating_point():  # Functional.affine_grid refuses it
        return True
    if base in ("_cdist_backward", "_pdist_backward") and arguments.get("p") != named(source).get("p"):  # other distances
        return True
    if base.startswith("upsample") and base.endswith("_backward") and args[1:] != source.args[1:]:  # sizes and scales of one call
        return True
    if base == "native_group_norm" and first.shape[:1] != (arguments.get("N"),):  # sizes that are not looked at
        return True
    if "_backward" in base:  # what the forward call saved belongs to the rest, and integers have no gradient
        inside, outside = list(tensors(args)), list(tensors(source.args))
        dtypes = {t.dtype for t in inside if is_inexact(t)}
        named_dtypes = {a for a in args if isinstance(a, torch.dtype)} - {a for a in source.args if isinstance(a, torch.dtype)}
        return named_dtypes or inexact(call) != inexact(source) or len(dtypes) > 1 or is_other(inside[1:], outside[1:]) or (
            inside[:1] and inside[0].shape != outside[0].shape) or options_of(call) != options_of(source) or (
            len(dtypes - {torch.float64}) > 0 and "_softmax_backward_data" in base and torch.float64 not in options_of(call))
    if base in ("cholesky_inverse", "cholesky_solve", "_cholesky_solve_helper"):  # the diagonal of a factor is real
        return any(t.is_complex() and t.dim() > 1 and bool(t.diagonal(0, -2, -1).imag.any()) for t in tensors(args))
    if base == "linalg_ldl_solve" or base == "linalg.ldl_solve":  # factors of the other kind
        hermitian = arguments.get("hermitian") or False
        return bool(hermitian) != bool(named(source).get("hermitian")) or (
            hermitian and args[0].is_complex() and bool(args[0].diagonal(0, -2, -1).imag.any()))
    if base.endswith("solve_triangular"):  # a complex number in a real place
        return len({t.is_complex() for t in list(tensors(args)) + list(tensors(call.kwargs))}) > 1
    if base.startswith("upsample_"):  # scales that are not those of the sizes
        return options_of(call) != options_of(source) or any(v != source.kwargs.get(k) for k, v in call.kwargs.items()
                                                             if not isinstance(v, torch.Tensor))
    if base == "logit" and type(arguments.get("eps")) in (int, float):  # the limits have changed places
        return arguments["eps"] > 0.5
    if base in ("zeta", "special.zeta", "special_zeta"):  # as many terms
        return any(t.numel() and not bool((t >= -200).all()) for t in tensors(args[1:]))
    if base in ("tile", "rfftfreq", "fft.rfftfreq", "fft.fftfreq", "fft_fftfreq", "fft_rfftfreq"):  # fewer than none
        return any(i < 0 for a in args if not isinstance(a, torch.Tensor) for i in (a if isinstance(a, (list, tuple)) else [a]) if type(i) is int)
    if base.startswith("masked_"):  # read as bytes
        mask = arguments.get("mask")
        return isinstance(mask, torch.Tensor) and mask.dtype not in (torch.bool, torch.uint8)
    if "_polynomial_" in base:  # a recurrence of as many steps
        return any(t.numel() and not bool((t.abs() <= 200).all()) for t in tensors(args[1:])) or any(
            type(a) in (int, float) and not abs(a) <= 200 for a in args[1:])
    if base in ("cummin", "cummax") and args[0].dim() == 0:  # dimensions that are not looked at
        return any(type(a) is int and a not in (0, -1) for a in args[1:] + list(call.kwargs.values()))
    if base == "hinge_embedding_loss":  # integers beside complex numbers
        return any(t.is_complex() for t in tensors(args))
    if base.startswith("max_unpool"):
        return any(type(v) is int and v < 0 for v in args[1:] + list(call.kwargs.values()))
    if base == "binomial" and args and isinstance(args[0], torch.Tensor):  # trials are counted
        return not torch.equal(args[0], args[0].round())
    if base in ("exponential_", "exponential"):  # all of them infinite
        return arguments.get("lambd", 1) == 0
    if base.startswith("conv") or base == "_convolution":  # a bias of other filters than there are
        weight, bias = [arguments.get(n) for n in ("weight", "bias")]
        return isinstance(bias, torch.Tensor) and isinstance(weight, torch.Tensor) and not weight.numel() and bool(bias.numel())
    if base == "_fft_c2r" and arguments.get("dim"):  # reads beyond a spectrum that is too short
        return args[0].shape[arguments["dim"][-1]] != arguments["last_dim_size"] // 2 + 1
    if base in ("lu_unpack", "lu_solve") and len(args) > 1:  # pivots of another matrix
        lu, pivots = (args[0], args[1]) if base == "lu_unpack" else (args[1], args[2]) if len(args) > 2 else (None, None)
        return lu is None or lu.dim() < 2 or tuple(pivots.shape) != (*lu.shape[:-2], min(lu.shape[-2:]))
    if base in ("as_strided_scatter", "_reshape_alias"):  # a view that holds an element twice, or memory behind the tensor
        size, stride, offset = [arguments.get(n) for n in ("size", "stride", "storage_offset")]
        return not args[0].is_contiguous() or not is_view_of(args[0], size, stride, offset or 0)
    if base == "histogram" and isinstance(arguments.get("bins"), torch.Tensor):  # edges out of order
        return bool((arguments["bins"].diff() < 0).any())
    if base in ("__getitem__", "__setitem__") and len(args) > 1 and type(args[1]) is list:  # a dump has tuples as lists
        return True
    if base in ("resize_", "resize_as_") and not first.is_contiguous():  # elements in the order of memory, which a dump may not have
        return True
    if base in CASTS and any(bool((t.abs() >= 2.0 ** 31).any()) for t in tensors(args) if is_inexact(t)):  # undefined in C++
        return True
    if base in ("sym_size", "sym_stride") and len(args) > 1:  # dimensions that are not looked at
        return not 0 <= args[1] < args[0].dim()
    if base == "norm" and first is not None and not first.numel():  # of a negative order, whose identity is no number; linalg refuses it
        order = arguments.get("p", 2)
        return type(order) in (int, float) and order < 0
    if "shift" in base:  # undefined in C++
        return any(int(n.min() if isinstance(n, torch.Tensor) else n) < 0 or int(n.max() if isinstance(n, torch.Tensor) else n) > 7
                   for n in args[1:] + list(call.kwargs.values()) if not isinstance(n, torch.Tensor) or n.numel())
    return False


def is_view_of(t, size, stride, offset):
    """Does each element of the view lie in the tensor, at a place of its own?"""
    if not all(isinstance(v, (list, tuple)) and all(type(i) is int and i >= 0 for i in v) for v in (size, stride)):
        return False
    places = [offset]
    for extent, step in zip(size, stride):
        if extent * len(places) > MOST_ELEMENTS:
            return False
        places = [p + i * step for p in places for i in range(extent)]
    return len(set(places)) == len(places) and all(0 <= p < t.numel() for p in places)


def has_no_result(call, outputs):
    """PyTorch returned something, but part of it is left over from a factorization that failed, or memory that nobody wrote."""
    base = call.api.split(".", 1)[1]
    if base.endswith("_ex") and int(outputs[-1].max() if outputs[-1].numel() else 0):  # info
        return True
    if base in ("resize_", "resize_as_") and outputs[0].numel() > call.args[0].numel():
        return True
    floats = [t for t in list(tensors(call.args)) + list(tensors(call.kwargs)) if is_inexact(t) and t.numel()]
    if base.rstrip("_") in CONVERSIONS:  # floats that the integer does not hold
        return any(isinstance(o, torch.Tensor) and o.dtype in INTS[:-1] and not bool((torch.view_as_real(t) if t.is_complex() else t)
                   .double().abs().le(torch.iinfo(o.dtype).max).all()) for o in outputs for t in floats)
    if "max_pool" in base and not any(bool(t.isinf().any()) for t in floats):  # a window without an element
        return any(isinstance(o, torch.Tensor) and o.is_floating_point() and bool(o.isinf().any()) for o in outputs)
    return any(isinstance(o, torch.Tensor) and o.dtype == torch.bool and bool((o.view(torch.uint8) > 1).any()) for o in outputs)


# ---- one call in PyTorch ------------------------------------------------------------------------------


def function_of(api):
    """What PyTorch runs; dumps leave out the module of torch.linalg and its like."""
    for kind in ("Torch.", "Torch.linalg.", "Torch.special.", "Torch.fft."):
        try:
            return resolve(api.replace("Torch.", kind, 1))
        except AttributeError:
            if not api.startswith("Torch.") or kind == "Torch.fft.":
                raise
    return None


class Book(Goldens):
    """Goldens for one name, with what PyTorch refused."""

    resolve = staticmethod(function_of)

    def __init__(self, folder, name, seed):
        super().__init__(str(folder / "goldens" / name / "x"), seed=seed, limit=1 << 40)
        self.answers = Answers(folder / "strict", name)

    def save(self):
        index = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in self.records)
        (self.folder / "index.jsonl").write_text(index)
        (self.folder / "tensors.bin").write_bytes(self.blob)
        self.answers.save()

    def run(self, call, convert):
        return self.flat(self.call(call.api, [clean(a) for a in call.args],
                                   {k: clean(v) for k, v in call.kwargs.items()}, convert))

    def native(self, call):
        """The results with their dtypes, "refused: ..." or None where only a kernel is missing."""
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
            return [(o, torch.float16 if swap and isinstance(o, torch.Tensor) and o.dtype == swap else
                     getattr(o, "dtype", None)) for o in outputs]
        return None

    def differs(self, call, native):
        """Does it return other integers when it is called again?"""
        again = self.native(call)
        return any(isinstance(a, torch.Tensor) and not is_inexact(a) and not torch.equal(a, b)
                   for (a, _), (b, _) in zip(native, again))

    def add_call(self, call, is_random):
        """True when PyTorch runs it."""
        native = self.native(call)
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
        if any(isinstance(o, torch.Tensor) and (o.layout != torch.strided or o.dtype not in DTYPES)
               for o in outputs):
            return None
        if has_no_result(call, outputs):
            return None
        if any(o is NotImplemented or isinstance(o, complex) for o in outputs) or all(o is None for o in outputs):  # left to the other operand; nothing
            return None
        refused = isinstance(native, str)
        alone = not any(isinstance(o, torch.Tensor) and is_inexact(o) for o in outputs)  # integers beside floats belong to those
        alone = alone and (refused or native is None or not self.differs(call, native))
        if refused:
            record["native_refused"] = native
        record["output"] = []
        for i, o in enumerate(outputs):
            itself, dtype = native[i] if isinstance(native, list) and i < len(native) else (None, None)
            if isinstance(o, torch.Tensor) and isinstance(itself, torch.Tensor) and o.shape == itself.shape and (
                    (alone and not is_inexact(o)) or call.api.split(".", 1)[1].rstrip("_") in COMPARISONS):
                o = itself  # comparisons are exact in the dtype of the call
            one = self.describe_output(o, None, i) if isinstance(o, torch.Tensor) or plain(o) else None
            if isinstance(o, torch.Tensor) and dtype is not None:
                one["dtype"] = str(dtype)
            record["output"].append(one)
        record["precision"] = "native" if is_random else "float64"
        record["output_is_sequence"] = isinstance(result, (list, tuple))
        record["grad_output"], record["grad_input"] = ([], []) if is_random else self.gradients(outputs, leaves)
        self.records.append(record)
        self.answers.add(call, self.resolve(call.api), self.tracks, in_place, lambda shape: self.normal(*shape))
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ops")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=12, help="calls per name that PyTorch runs")
    parser.add_argument("--halves", action="store_true", help="first of all each kind of data in each 16-bit dtype")
    parser.add_argument("--name", default="", help="only names that contain this")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every N-th name, from the K-th on")
    parser.add_argument("--differentiable", type=pathlib.Path, help="write the names that gave a gradient there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = json.loads(pathlib.Path(options.ops).read_text())
    catalogue = {o["api"] for o in rows if o["forward"] and o["api"].split(".")[0] in KINDS_OF_TORCH}
    # Gradients as operators are not differentiated again here, though PyTorch could.
    options.plain = {o["api"] for o in rows if o["api"].startswith("Aten.") and not o["backward"]}
    random_names = {o["api"] for o in rows if "statistical" in o["certificate"] or "property" in o["certificate"]}
    lacking = sorted(n for n in catalogue if options.name in n and not exists(n))
    part, parts = (int(n) for n in options.part.split("/"))
    calls = sources(catalogue - set(lacking), options.name)
    totals, crashes = [0, 0], []
    bare = [n for n in sorted(catalogue - set(lacking)) if options.name in n and n not in calls]
    for name in sorted(calls)[part - 1::parts]:
        for attempt in range(8):  # PyTorch 1.13 divides by zero for some strides: one process a name
            counts = counts_of(name, options) or one_process(name, calls[name], name in random_names, options, options.seed + attempt)
            if counts:
                totals = [a + b for a, b in zip(totals, counts)]
                break
            crashes.append(name)
        if not counts or not counts[0]:
            bare.append(name)
    join(options.folder / "strict")
    differentiable = sorted(p.parent.name for p in options.folder.glob("goldens/*/index.jsonl")
                            if any(json.loads(line).get("grad_input") for line in p.read_text().splitlines()))
    if options.differentiable:
        options.differentiable.write_text("".join(name + "\n" for name in differentiable))
    others = [o["api"] for o in rows if o["api"].split(".")[0] not in KINDS_OF_TORCH]
    print(f"{len(rows)} names: {len(others)} of other frameworks, {len(lacking)} that this PyTorch lacks, {len(bare)} without a call that "
          f"it runs, {len(catalogue) - len(lacking) - len(bare)} with calls")
    print(f"{totals[0]} calls run, {totals[1]} refused by PyTorch")
    print("lacking:", *lacking)
    print("without a call:", *bare)
    print(f"PyTorch crashed or hung {len(crashes)} times:", *sorted(set(crashes)))


def exists(name):
    if name == "Tensor.__setitem__":
        return True
    if name.startswith("Tensor."):
        return hasattr(torch.Tensor, name[len("Tensor."):])
    try:
        return bool(function_of(name))
    except (AttributeError, RuntimeError):
        return False


def one_process(name, calls, is_random, options, seed):
    """Draw calls of one name in a process of its own; how many ran and were refused, or None."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        counts = draw(name, calls, is_random, options, seed)
        os.write(writing, f"{counts[0]} {counts[1]}".encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    text = os.read(reading, 64).decode()
    os.close(reading)
    return [int(n) for n in text.split()] if not status else None


def counts_of(name, options):
    """What a name that was drawn before counted; None for another."""
    try:
        return [int(n) for n in (options.folder / "goldens" / name / "counts").read_text().split()]
    except OSError:
        return None


def draw(name, calls, is_random, options, seed):
    r = random.Random(f"{seed} {name}")
    torch.manual_seed(r.randrange(1 << 30))
    book = Book(options.folder, name, r.randrange(1 << 30))
    book.tracks = not is_random and name not in options.plain
    good, bad = draw_calls(book, name, calls, is_random, options, r)
    book.folder.mkdir(parents=True, exist_ok=True)
    if book.records:
        book.save()
    (book.folder / "counts").write_text(f"{good} {bad}")
    return good, bad


def lead(call, of, r):
    """Apply one of LEADS or LEADS_OF_HALVES to a call."""
    of, narrow = of if isinstance(of, tuple) else (of, torch.float32)

    def converted(t):
        inexact = t.is_floating_point() or t.is_complex()
        if isinstance(of, str):
            return cast(t, narrow) if t.is_floating_point() else t
        if of.is_complex and inexact:
            t = t.to(of)
            return torch.complex(t.real, torch.where(t.imag == 0, torch.rand_like(t.real) - 0.5, t.imag)) if r.random() < 0.8 else t
        return cast(t, of) if inexact else t

    map_tensors(call, converted)
    if isinstance(of, str):
        other_data(call, r, of)
    call.kind = of if isinstance(of, str) else str(of)[6:]


def draw_calls(book, name, calls, is_random, options, r):
    """Add `options.calls` calls of one name that PyTorch runs; how many it ran and refused."""
    good = bad = tries = 0
    wanted, leads = options.calls, LEADS[:]
    if options.halves:
        leads = LEADS_OF_HALVES[:]
        r.shuffle(leads)
    while good < wanted and tries < 4 * wanted:
        tries += 1
        source = r.choice(calls).copy(name)
        call = source.copy()
        if leads and (tries % 3 or bad > wanted):
            lead(call, leads.pop(0), r)
        if name.startswith("Tensor.__r") and name != "Tensor.__rshift__" and len(call.args) > 1:
            call.args[0], call.args[1] = call.args[1], call.args[0]
        changes = [c for c in CHANGES if not name.startswith("Tensor.__") or c not in OF_KEYWORDS]
        for _ in range(r.choice([0, 0, 0, 0, 1, 2] if call.kind else [0, 1, 1, 1, 2, 2, 3]) if bad <= wanted else 0):
            before = call.copy()
            try:
                r.choice(changes)(call, r)
            except (RuntimeError, IndexError, TypeError):
                call = before
        has_self = call.args and isinstance(call.args[0], torch.Tensor)
        if not call.is_plain() or (name.startswith("Tensor.") and not has_self):
            continue
        try:
            if is_ill_posed(call, source):
                continue
            done = book.add_call(call, is_random)
        except (TypeError, ValueError, AttributeError, RuntimeError, IndexError) as error:
            print("not written:", name, repr(error)[:150], file=sys.stderr)
            continue
        good += done is True
        bad += done is False
    return good, bad


if __name__ == "__main__":
    main()
