"""Make goldens with PyTorch: API calls, their float64 results and gradients.

    from make import Goldens
    g = Goldens(__file__)                  # writes index.jsonl and tensors.bin beside the caller
    g.add("Torch.atan2", g.normal(3, 4), g.normal(4))
    g.add("Tensor.clamp_", g.normal(5), min=0.5)
    g.save()

Floating tensors are raised to float64 (complex ones to complex128) before the call; the native
call gives the dtype of the result. Gradients are taken for random cotangents toward every floating
tensor argument that is not wrapped in fixed(). The format is that of pack.py, one blob per
distinct tensor.
"""
import io
import json
import pathlib

import numpy
import torch

torch.set_num_threads(1)


class fixed:
    """A tensor argument that takes no gradient."""

    def __init__(self, tensor):
        self.tensor = tensor


def resolve(api):
    kind, name = api.split(".", 1)
    if name == "__setitem__":  # as a function: the new self
        return lambda x, index, value: (x.__setitem__(index, value), x)[1]
    if kind == "Tensor":
        return lambda *a, **k: getattr(a[0], name)(*a[1:], **k)
    targets = {"Torch": torch, "Aten": torch.ops.aten, "VF": torch._VF}
    target = targets.get(kind, torch.nn.functional)
    for part in name.split("."):
        target = getattr(target, part)
    return target


class Goldens:
    resolve = staticmethod(resolve)

    def __init__(self, script, seed=1, limit=600_000):
        self.folder = pathlib.Path(script).parent
        self.blob, self.places, self.records, self.counts = bytearray(), {}, [], {}
        self.random = torch.Generator().manual_seed(seed)
        self.limit = limit

    # ---- inputs -------------------------------------------------------------------------

    def normal(self, *shape, dtype=torch.float32, scale=1.0, shift=0.0):
        if dtype.is_complex:
            return torch.complex(self.normal(*shape, scale=scale), self.normal(*shape, scale=scale)).to(dtype)
        return (torch.randn(shape, generator=self.random) * scale + shift).to(dtype)

    def uniform(self, *shape, low=0.0, high=1.0, dtype=torch.float32):
        return (torch.rand(shape, generator=self.random) * (high - low) + low).to(dtype)

    def integers(self, *shape, low=-5, high=6, dtype=torch.int64):
        return torch.randint(low, high, shape, generator=self.random).to(dtype)

    # ---- one call -----------------------------------------------------------------------

    def add(self, api, *args, grad=True, native=False, family=None, **kwargs):
        """One record. `native`: the result in the arithmetic of the arguments' dtype (for
        results that depend on it). `grad`: False for no gradient."""
        kept = [self.copy(a) for a in args], {k: self.copy(v) for k, v in kwargs.items()}
        try:
            native_outputs = self.flat(self.call(api, *kept, lambda t: t.detach().clone()))
        except (RuntimeError, NotImplementedError, IndexError, TypeError):
            native_outputs = None
        if native and native_outputs is None:
            raise RuntimeError(f"{api} does not run natively")
        leaves = []
        in_place = api.endswith("_") and not api.endswith("__") or api.startswith("Tensor.__i") or api.endswith("__setitem__") or "inplace" in kwargs

        def raised(t, frozen=False):
            wide = t.detach().clone()
            if not native and (t.is_floating_point() or t.is_complex()):
                wide = wide.to(torch.complex128 if t.is_complex() else torch.float64)
            tracked = grad and not frozen and (t.is_floating_point() or t.is_complex())
            if tracked:
                wide.requires_grad_()
            leaves.append(wide)
            return wide.clone() if tracked and in_place else wide

        try:
            result = self.call(api, *kept, raised)
        except Exception as error:
            raise RuntimeError(f"{api} with {kept}") from error
        outputs = self.flat(result)
        record = {"api": self.numbered(api), "family": family or self.folder.name.removeprefix("goldens_")}
        record["input_args"] = [self.describe(a, grad) for a in kept[0]]
        record["input_kwargs"] = {k: self.describe(v, grad) for k, v in kept[1].items()}
        record["output"] = [self.describe_output(o, native_outputs, i) for i, o in enumerate(outputs)]
        record["precision"] = "native" if native else "float64"
        record["output_is_sequence"] = isinstance(result, (list, tuple))
        record["grad_output"], record["grad_input"] = self.gradients(outputs, leaves)
        self.records.append(record)

    def call(self, api, args, kwargs, convert):
        def walk(v):
            if isinstance(v, fixed):
                return convert(v.tensor, True) if convert.__name__ == "raised" else convert(v.tensor)
            if isinstance(v, torch.Tensor):
                return convert(v)
            return type(v)(walk(i) for i in v) if isinstance(v, (list, tuple)) else v

        return self.resolve(api)(*[walk(a) for a in args], **{k: walk(v) for k, v in kwargs.items()})

    def cotangent(self, outputs, i):
        o = outputs[i]
        seed = self.normal(*o.shape)
        if o.is_complex():
            seed = torch.complex(seed, self.normal(*o.shape))
        return seed if o.dtype in (torch.float64, torch.complex128) else seed.to(o.dtype)

    def gradients(self, outputs, leaves):
        roots, seeds, grad_output, grad_input = [], [], [], []
        for i, o in enumerate(outputs):
            if isinstance(o, torch.Tensor) and o.requires_grad:
                seed = self.cotangent(outputs, i)
                roots.append(o)
                seeds.append(seed.to(o.dtype))
                grad_output.append({"output_index": i, "file": self.place(seed), "dtype": str(seed.dtype)})
        if not roots:
            return [], []
        try:
            torch.autograd.backward(roots, seeds)
        except (RuntimeError, NotImplementedError):
            return [], []
        for i, leaf in enumerate(leaves):
            if leaf.grad is not None:
                gradient = leaf.grad if not leaf.grad._is_zerotensor() else torch.zeros_like(leaf)
                grad_input.append({"tensor_index": i, "file": self.place(gradient)})
        return (grad_output, grad_input) if grad_input else ([], [])

    # ---- description -----------------------------------------------------------------------

    def copy(self, v):
        if isinstance(v, torch.Tensor):
            return v.detach().clone()
        return type(v)(self.copy(i) for i in v) if isinstance(v, (list, tuple)) else v

    def flat(self, v):
        if isinstance(v, (list, tuple)):
            return [i for item in v for i in self.flat(item)]
        return [v]

    def numbered(self, api):
        number = self.counts.get(api, 0)
        self.counts[api] = number + 1
        return f"{api}.{number}"

    def place(self, t):
        t = t.detach()
        t = (t.float() if t.dtype == torch.bfloat16 else t).resolve_conj().resolve_neg().contiguous()
        buffer = io.BytesIO()
        numpy.save(buffer, t.numpy())
        data = buffer.getvalue()
        if data not in self.places:
            self.blob.extend(b"\0" * (-len(self.blob) % 64))
            self.places[data] = [len(self.blob), len(data)]
            self.blob.extend(data)
        return self.places[data]

    def describe(self, v, grad):
        if isinstance(v, fixed):
            return self.describe(v.tensor, False)
        if isinstance(v, torch.Tensor):
            tracked = grad and (v.is_floating_point() or v.is_complex())
            return {"type": "torch.Tensor", "dtype": str(v.dtype), "shape": list(v.shape),
                    "requires_grad": tracked, "file": self.place(v)}
        if isinstance(v, (list, tuple)):
            return [self.describe(i, grad) for i in v]
        if v is None:
            return None
        if isinstance(v, torch.dtype):
            return {"type": "torch.dtype", "value": str(v)}
        if isinstance(v, slice):
            return {"type": "slice", "value": [v.start, v.stop, v.step]}
        if v is Ellipsis:
            return {"type": "ellipsis", "value": "..."}
        if type(v) is int and abs(v) > 2**53:  # beyond what a reader of doubles keeps
            return {"type": "int", "value": str(v)}
        return {"type": type(v).__name__, "value": v}

    def describe_output(self, v, native, i):
        if not isinstance(v, torch.Tensor):
            return self.describe(v, False)
        out = {"type": "torch.Tensor", "shape": list(v.shape), "file": self.place(v),
               "file_dtype": str(v.dtype).removeprefix("torch."), "dtype": None}
        if native is not None and isinstance(native[i], torch.Tensor):
            out["dtype"] = str(native[i].dtype)
        return out

    def save(self):
        index = "\n".join(json.dumps(r, separators=(",", ":")) for r in self.records) + "\n"
        (self.folder / "index.jsonl").write_text(index)
        (self.folder / "tensors.bin").write_bytes(self.blob)
        total = len(index) + len(self.blob)
        print(f"{len(self.records)} records, {total} bytes")
        if total > self.limit:
            raise SystemExit(f"more than {self.limit} bytes")


class PhaseFree(Goldens):
    """Cotangents of eigenvectors and singular vectors, which PyTorch takes only where the result does not depend on phases:
    the imaginary part of the diagonal of V^H G, or of U^H G_U + V^H G_V, is 0."""

    def __init__(self, script, seed):
        super().__init__(script, seed)
        self.vectors = ()  # outputs whose columns share a phase
        self.rows = ()     # those of them that hold V^H

    def gradients(self, outputs, leaves):
        self.seeds = [Goldens.cotangent(self, outputs, i) if isinstance(o, torch.Tensor) and o.requires_grad else None
                      for i, o in enumerate(outputs)]
        vectors = [i for i in self.vectors if self.seeds[i] is not None and outputs[i].is_complex()]
        turned = {i: outputs[i].detach().mH if i in self.rows else outputs[i].detach() for i in vectors}
        given = {i: self.seeds[i].mH if i in self.rows else self.seeds[i] for i in vectors}
        phase = sum(((turned[i].conj() * given[i]).sum(-2).imag for i in vectors), 0)
        for i in vectors:
            g = given[i] - turned[i] * (1j * phase / len(vectors)).unsqueeze(-2)
            self.seeds[i] = (g.mH if i in self.rows else g).resolve_conj().contiguous()
        return super().gradients(outputs, leaves)

    def cotangent(self, outputs, i):
        return self.seeds[i]

    def add_vectors(self, vectors, api, *args, rows=(), **options):
        self.vectors, self.rows = vectors, rows
        self.add(api, *args, **options)
        self.vectors = self.rows = ()
