"""Calls with results of real and simulated kernels, for tests/zoo/faults.

    python3 make_calls.py FOLDER [--seed N] [--thin N]

Writes FOLDER/dump.json with its tensors: float APIs of the catalogue on random, constant, repeated, cancelling, extreme
and smooth data, in three dtypes, recorded as PyTorch's CPU kernels answer them, gradients included. Legitimate
kernels that PyTorch does not have (other orders of summation, staged and reduced arithmetic) follow under the same API
names. FOLDER/labels.txt says of each call what made it:

    NAME KERNEL DATA DTYPE      KERNEL: torch, order:..., staged:..., mode:...

Cases were chosen before any limit of the profile was set: every API of the table below with every kind of data.
"""
import argparse
import json
import math
import pathlib
import random
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
torch.set_num_threads(1)

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
KINDS = ["normal", "positive", "constant", "two_values", "mask", "cancelling", "extreme", "smooth", "offset", "tiny"]


def data(kind, shape, g):
    """float64 elements of one kind."""
    n = math.prod(shape)
    z = torch.randn(n, generator=g, dtype=torch.float64)
    u = torch.rand(n, generator=g, dtype=torch.float64)
    ramp = torch.arange(n, dtype=torch.float64)
    scale = float(torch.rand(1, generator=g)) * 2 + 0.1
    x = {
        "normal": z, "positive": u, "constant": torch.full((n,), scale, dtype=torch.float64),
        "two_values": torch.where(u < 0.3, scale, -0.7 * scale), "mask": (u < 0.2).double() * scale,
        "cancelling": torch.where(ramp % 2 == 0, 1.0, -1.0) * (3 + 1e-3 * z),
        "extreme": z * torch.exp(5 * torch.randn(n, generator=g, dtype=torch.float64)),
        "smooth": torch.sin(ramp * (6.283185307179586 * (1 + scale) / max(n, 1))) * scale,
        "offset": 10 + z, "tiny": z * 1e-3,
    }[kind]
    return x.reshape(shape)


class Maker:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.kind, self.dtype = "normal", torch.float32

    def __call__(self, *shape, low=None, high=None, kind=None):
        x = data(kind or self.kind, shape, self.g)
        if low is not None or high is not None:  # squeeze into the domain, smoothly
            a, b = -8.0 if low is None else low, 8.0 if high is None else high
            x = a + (b - a) * (0.5 + torch.atan(x) / math.pi)
        return x.clamp(-6e4, 6e4).to(self.dtype)

    def ints(self, *shape, high):
        return torch.randint(0, high, shape, generator=self.g)

    def bools(self, *shape):
        return torch.rand(shape, generator=self.g) < 0.3


UNARY = """abs acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 i0 lgamma log log10 log1p
log2 logit neg rad2deg reciprocal rsqrt sigmoid sin sinc sinh sqrt square tan tanh frac trunc floor sgn""".split()
DOMAIN = {"acos": (-1, 1), "acosh": (1, 20), "asin": (-1, 1), "atanh": (-1, 1), "digamma": (0.2, 20), "erfinv": (-1, 1),
          "lgamma": (0.2, 20), "log": (0, 50), "log10": (0, 50), "log1p": (-1, 20), "log2": (0, 50), "logit": (0, 1),
          "rsqrt": (0, 50), "sqrt": (0, 50), "exp": (-8, 8), "exp2": (-8, 8), "expm1": (-8, 8), "cosh": (-8, 8), "sinh": (-8, 8),
          "i0": (-8, 8), "tan": (-1.4, 1.4), "reciprocal": (0.01, 20)}
ACTIVATIONS = """celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu softplus softshrink softsign
tanhshrink""".split()
BINARY = "add sub mul div atan2 hypot maximum minimum fmax pow logaddexp logaddexp2 xlogy copysign remainder fmod".split()


def table(m):
    """(api, positional, keywords) of every call."""
    big = (40, 75)
    for name in UNARY:
        low, high = DOMAIN.get(name, (None, None))
        yield "Torch." + name, [m(*big, low=low, high=high)], {}
    for name in ACTIVATIONS:
        yield "Functional." + name, [m(*big)], {}
    yield "Functional.gelu", [m(*big)], {"approximate": "tanh"}
    for name in BINARY:
        positive = name in ("pow", "xlogy")
        a = m(*big, low=0, high=6) if positive else m(*big)
        b = m(*big, low=0.1, high=4) if name in ("div", "remainder", "fmod", "pow", "xlogy") else m(*big)
        yield "Torch." + name, [a, b], {}
    yield "Torch.mul", [m(*big), m(75)], {}
    yield "Torch.div", [m(*big), 5.66], {}
    yield "Torch.add", [m(*big), m(75)], {"alpha": 0.3}
    yield "Torch.lerp", [m(*big), m(*big), m(*big, low=0, high=1)], {}
    yield "Torch.lerp", [m(*big), m(*big), 0.3], {}
    yield "Torch.addcmul", [m(*big), m(*big), m(*big)], {"value": 0.5}
    yield "Torch.addcdiv", [m(*big), m(*big), m(*big, low=0.2, high=4)], {"value": 0.5}
    yield "Torch.clamp", [m(*big)], {"min": -0.5, "max": 0.7}
    yield "Torch.where", [m.bools(*big), m(*big), m(*big)], {}
    for shape in ((30, 300), (6, 4096), (200, 17)):
        for name in ("sum", "mean"):
            yield "Torch." + name, [m(*shape), -1], {}
            yield "Torch." + name, [m(*shape), 0], {}
        yield "Torch.sum", [m(*shape)], {}
        yield "Torch.mean", [m(*shape)], {}
        yield "Torch.logsumexp", [m(*shape), -1], {}
        yield "Functional.softmax", [m(*shape), -1], {}
        yield "Functional.log_softmax", [m(*shape), -1], {}
        yield "Functional.layer_norm", [m(*shape), [shape[1]], m(shape[1]), m(shape[1])], {}
        yield "Torch.var", [m(*shape), -1], {}
        yield "Torch.std", [m(*shape), -1], {}
        yield "Torch.norm", [m(*shape)], {"dim": -1}
        yield "Torch.cumsum", [m(*shape), -1], {}
        yield "Torch.logcumsumexp", [m(*shape), -1], {}
    yield "Torch.prod", [m(30, 20, low=0.5, high=2), -1], {}
    yield "Torch.cumprod", [m(30, 20, low=0.5, high=2), -1], {}
    yield "Torch.amax", [m(30, 300), -1], {}
    yield "Torch.median", [m(30, 31), -1], {}
    yield "Torch.nansum", [m(30, 300), -1], {}
    yield "Functional.normalize", [m(30, 64)], {"dim": -1}
    yield "Torch.cdist", [m(20, 12), m(15, 12)], {}
    yield "Functional.pairwise_distance", [m(30, 64), m(30, 64)], {}
    yield "Functional.cosine_similarity", [m(30, 64), m(30, 64)], {}
    yield "Functional.batch_norm", [m(6, 8, 10, 10), m(8, low=-1, high=1), m(8, low=0.2, high=2), m(8), m(8)], {"training": False}
    yield "Functional.batch_norm", [m(6, 8, 10, 10), None, None, m(8), m(8)], {"training": True}
    yield "Functional.group_norm", [m(6, 8, 10, 10), 4, m(8), m(8)], {}
    yield "Functional.instance_norm", [m(6, 8, 10, 10)], {}
    yield "Functional.local_response_norm", [m(3, 8, 6, 6), 3], {}
    for k in (16, 300, 2000):
        yield "Torch.matmul", [m(20, k), m(k, 24)], {}
    yield "Torch.bmm", [m(4, 12, 70), m(4, 70, 15)], {}
    yield "Functional.linear", [m(9, 5, 256), m(30, 256), m(30)], {}
    yield "Torch.addmm", [m(20, 30), m(20, 130), m(130, 30)], {"beta": 0.5, "alpha": 2}
    yield "Torch.einsum", ["bij,bjk->bik", m(3, 10, 64), m(3, 64, 11)], {}
    yield "Torch.mv", [m(40, 500), m(500)], {}
    yield "Torch.outer", [m(40), m(50)], {}
    yield "Functional.conv2d", [m(2, 6, 14, 14), m(8, 6, 3, 3), m(8)], {"padding": 1}
    yield "Functional.conv2d", [m(2, 32, 9, 9), m(16, 32, 5, 5)], {}
    yield "Functional.conv1d", [m(3, 8, 60), m(12, 8, 5), m(12)], {"stride": 2}
    yield "Functional.conv3d", [m(1, 3, 8, 8, 8), m(4, 3, 3, 3, 3)], {}
    yield "Functional.conv_transpose2d", [m(2, 6, 8, 8), m(6, 5, 3, 3), m(5)], {"stride": 2}
    yield "Functional.bilinear", [m(20, 9), m(20, 8), m(6, 9, 8), m(6)], {}
    yield "Functional.avg_pool2d", [m(2, 4, 15, 15), 3], {"padding": 1}
    yield "Functional.avg_pool2d", [m(2, 4, 16, 16), 5], {"stride": 1}
    yield "Functional.avg_pool1d", [m(2, 4, 60), 7], {}
    yield "Functional.adaptive_avg_pool2d", [m(2, 4, 15, 13), [4, 5]], {}
    yield "Functional.lp_pool2d", [m(2, 4, 12, 12, low=0.1, high=3), 2.0, 3], {}
    yield "Functional.max_pool2d", [m(2, 4, 15, 15), 3], {}
    for mode in ("bilinear", "bicubic", "nearest"):
        extra = {} if mode == "nearest" else {"align_corners": False}
        yield "Functional.interpolate", [m(2, 3, 9, 11)], dict(scale_factor=1.7, mode=mode, **extra)
    for mode in ("bilinear", "bicubic"):
        for pad in ("zeros", "border", "reflection"):
            yield "Functional.grid_sample", [m(2, 3, 9, 11), m(2, 6, 7, 2, low=-1.2, high=1.2, kind="normal")], {
                "mode": mode, "padding_mode": pad, "align_corners": False}
    yield "Functional.affine_grid", [m(2, 2, 3), [2, 3, 8, 9]], {"align_corners": False}
    yield "Functional.unfold", [m(2, 3, 9, 9), 3], {}
    yield "Functional.fold", [m(2, 27, 49), [9, 9], 3], {}
    classes = m.ints(40, high=30)
    yield "Functional.cross_entropy", [m(40, 30), classes], {}
    yield "Functional.nll_loss", [m(40, 30), classes], {"reduction": "mean"}
    for reduction in ("mean", "sum", "none"):
        yield "Functional.mse_loss", [m(30, 50), m(30, 50)], {"reduction": reduction}
        yield "Functional.binary_cross_entropy_with_logits", [m(30, 50), m(30, 50, low=0, high=1)], {"reduction": reduction}
    yield "Functional.l1_loss", [m(30, 50), m(30, 50)], {}
    yield "Functional.smooth_l1_loss", [m(30, 50), m(30, 50)], {}
    yield "Functional.huber_loss", [m(30, 50), m(30, 50)], {}
    yield "Functional.binary_cross_entropy", [m(30, 50, low=0.01, high=0.99), m(30, 50, low=0, high=1)], {}
    yield "Functional.kl_div", [m(30, 50, low=-6, high=0), m(30, 50, low=0, high=1)], {"reduction": "batchmean"}
    yield "Functional.poisson_nll_loss", [m(30, 50, low=-3, high=3), m(30, 50, low=0, high=4)], {}
    yield "Functional.gaussian_nll_loss", [m(30, 50), m(30, 50), m(30, 50, low=0.1, high=3)], {}
    yield "Functional.soft_margin_loss", [m(30, 50), torch.sign(m(30, 50, kind="normal"))], {}
    yield "Functional.cosine_embedding_loss", [m(30, 16), m(30, 16), torch.sign(torch.randn(30, generator=m.g))], {}
    yield "Functional.triplet_margin_loss", [m(30, 16), m(30, 16), m(30, 16)], {}
    rows = m.ints(600, high=20)
    yield "Functional.embedding", [m.ints(12, 40, high=20), m(20, 16)], {}
    yield "Torch.index_add", [m(20, 8), 0, rows, m(600, 8)], {}
    yield "Torch.scatter_add", [m(20, 8), 0, m.ints(400, 8, high=20), m(400, 8)], {}
    yield "Torch.index_select", [m(20, 8), 0, rows], {}
    yield "Torch.gather", [m(20, 8), 0, m.ints(400, 8, high=20)], {}
    yield "Torch.take", [m(20, 8), m.ints(900, high=160)], {}
    yield "Functional.glu", [m(30, 64)], {}
    yield "Functional.softmin", [m(30, 64), -1], {}
    yield "Torch.trapezoid", [m(20, 60)], {}
    yield "Torch.diff", [m(20, 60)], {}
    yield "Torch.cov", [m(6, 60)], {}
    yield "Torch.linalg.vector_norm", [m(30, 64), 3], {"dim": -1}
    yield "Torch.linalg.vander", [m(6, 5, low=-2, high=2)], {}
    yield "Torch.renorm", [m(20, 30), 2, 0, 1.0], {}
    yield "Torch.cross", [m(40, 3), m(40, 3)], {"dim": 1}
    yield "Torch.kron", [m(6, 7), m(5, 4)], {}
    yield "Torch.dist", [m(30, 40), m(30, 40)], {}
    if m.dtype == torch.float32:
        square = m(12, 12, kind="normal") + 4 * torch.eye(12)
        yield "Torch.linalg.inv", [square], {}
        yield "Torch.linalg.solve", [square, m(12, 5)], {}
        yield "Torch.linalg.det", [square], {}
        yield "Torch.linalg.cholesky", [square @ square.t()], {}
        yield "Torch.igamma", [m(*big, low=0.1, high=10), m(*big, low=0.1, high=10)], {}
        yield "Torch.igammac", [m(*big, low=0.1, high=10), m(*big, low=0.1, high=10)], {}
        yield "Torch.polygamma", [1, m(*big, low=0.5, high=10)], {}
        yield "Torch.quantile", [m(30, 21), 0.3], {"dim": -1}


# ---- kernels that PyTorch does not have -----------------------------------------------------------


def in_order(x, dim, kind):
    """A float32 sum along a dimension in a legitimate order."""
    x = x.float().movedim(dim, 0)
    n = x.shape[0]
    if kind == "natural" or kind == "reverse":
        total = torch.zeros_like(x[0])
        for k in (range(n) if kind == "natural" else range(n - 1, -1, -1)):
            total = total + x[k]
        return total
    step = {"lanes8": 8, "split4": 4}.get(kind)
    if step:  # partial sums, strided or contiguous
        parts = [in_order(x[k::step] if kind == "lanes8" else x[k * n // step:(k + 1) * n // step], 0, "natural")
                 for k in range(step) if n > k]
        return in_order(torch.stack(parts), 0, "natural")
    blocks = [in_order(x[k:k + 64], 0, "natural") for k in range(0, n, 64)]
    return in_order(torch.stack(blocks), 0, "natural")


ORDERS = ["natural", "reverse", "lanes8", "block64", "split4"]


def orders(m):
    """(api, args, kwargs, kernel name, function of the float32 arguments)."""
    for order in ORDERS:
        for shape in ((12, 300), (8, 4096), (6, 16384)):
            x = m(*shape)
            yield "Torch.sum", [x, -1], {}, order, lambda x=x: in_order(x, 1, order)
            yield "Torch.mean", [x, -1], {}, order, lambda x=x: in_order(x, 1, order) / x.shape[1]

            def var(x=x):
                f = x.float()
                mean = in_order(f, 1, order) / f.shape[1]
                return in_order((f - mean[:, None]) ** 2, 1, order) / (f.shape[1] - 1)
            yield "Torch.var", [x, -1], {}, order, var

            def norm(x=x):
                f = x.float()
                mean = (in_order(f, 1, order) / f.shape[1])[:, None]
                square = (in_order((f - mean) ** 2, 1, order) / f.shape[1])[:, None]
                return (f - mean) * torch.rsqrt(square + 1e-5)
            yield "Functional.layer_norm", [x, [shape[1]]], {}, order, norm

            def soft(x=x):
                e = torch.exp(x.float() - x.float().amax(1, True))
                return e / in_order(e, 1, order)[:, None]
            yield "Functional.softmax", [x, -1], {}, order, soft
        for k in (64, 300, 4000):
            a, b = m(10, k), m(k, 12)
            yield "Torch.matmul", [a, b], {}, order, (
                lambda a=a, b=b: in_order(a.float()[:, :, None] * b.float()[None], 1, order))


def rounded(x, bits):
    """float32 with `bits` significant bits, to nearest."""
    m, e = torch.frexp(x.double())
    return torch.ldexp(torch.round(m * 2 ** bits) / 2 ** bits, e)


def modes(m):
    """Reduced arithmetic: faults unless a user allows it."""
    for k in (64, 1000, 4000):
        a, b = m(10, k), m(k, 12)
        for name, bits in (("tf32", 11), ("hf32", 12), ("bf16", 8), ("bf16x2", 16)):
            yield "Torch.matmul", [a, b], {}, name, lambda a=a, b=b, bits=bits: rounded(a, bits) @ rounded(b, bits)

        def half_sum(a=a, b=b):
            total = torch.zeros(10, 12, dtype=torch.float16)
            for i in range(k):
                total = (total.float() + a[:, i:i + 1].float() * b[i:i + 1].float()).half()
            return total
        if k < 4000:
            yield "Torch.matmul", [a, b], {}, "f16_sum", half_sum
    x = m(20, 300)
    yield "Functional.layer_norm", [x, [300]], {}, "eps", lambda: F.layer_norm(x.double(), [300], eps=1e-4)

    def one_row():
        y = torch.softmax(x.double(), -1)
        y[3] *= 1 + 2.0 ** -16
        return y
    yield "Functional.softmax", [x, -1], {}, "one_row", one_row
    yield "Functional.softmax", [x, -1], {}, "exp16", lambda: (lambda e: e / e.sum(-1, True))(
        torch.exp(x.double() - x.double().amax(-1, True)).bfloat16().double())
    yield "Torch.var", [x, -1], {}, "biased", lambda: x.double().var(-1, unbiased=False)


# ---- the dump ---------------------------------------------------------------------------------------


def resolve(api):
    kind, name = api.split(".", 1)
    target = torch if kind == "Torch" else F
    for part in name.split("."):
        target = getattr(target, part)
    return target


class Dump:
    def __init__(self, folder):
        self.folder, self.tensors = folder, folder / "dump_tensor_data"
        self.tensors.mkdir(parents=True, exist_ok=True)
        self.data, self.counts, self.labels = {}, {}, []

    def tensor(self, t, file, grad=False):
        t = torch.zeros(t.shape, dtype=t.dtype) if t._is_zerotensor() else t.detach().contiguous()
        torch.save(t, self.tensors / file)
        finite = t.double().reshape(-1)
        finite = finite[torch.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 0.0)
        return {"type": "torch.Tensor", "dtype": str(t.dtype), "shape": list(t.shape), "Max": high, "Min": low,
                "Mean": (low + high) / 2, "Norm": 1.0, "requires_grad": grad, "data_name": file}

    def value(self, v, file, grads):
        if isinstance(v, torch.Tensor):
            return self.tensor(v, file, id(v) in grads)
        if isinstance(v, (list, tuple)):
            return [self.value(i, file, grads) for i in v]
        return None if v is None else {"type": type(v).__name__, "value": v}

    def add(self, api, args, kwargs, outputs, seeds, grads, label):
        """outputs, seeds: lists; grads: {id of an argument: its gradient}."""
        index = self.counts[api] = self.counts.get(api, -1) + 1
        name = f"{api}.{index}"
        self.data[name + ".forward"] = {
            "input_args": [self.value(a, f"{name}.forward.input.{i}.pt", grads) for i, a in enumerate(args)],
            "input_kwargs": {k: self.value(v, f"{name}.forward.input.{k}.pt", grads) for k, v in kwargs.items()},
            "output": [self.tensor(o, f"{name}.forward.output.{i}.pt", bool(grads)) for i, o in enumerate(outputs)]}
        if grads:
            leaves = [a for a in args if isinstance(a, torch.Tensor) and id(a) in grads]
            self.data[name + ".backward"] = {
                "input": [self.tensor(s, f"{name}.backward.input.{i}.pt") for i, s in enumerate(seeds)],
                "output": [self.tensor(grads[id(a)], f"{name}.backward.output.{i}.pt") for i, a in enumerate(leaves)]}
        self.labels.append(f"{name} {label}")

    def save(self):
        text = {"task": "tensor", "level": "L1", "framework": "pytorch", "gradients": "arguments",
                "dump_data_dir": str(self.tensors), "data": self.data}
        (self.folder / "dump.json").write_text(json.dumps(text))
        (self.folder / "labels.txt").write_text("\n".join(self.labels) + "\n")


def run_torch(dump, m, api, args, kwargs, label):
    leaves = {id(a): a.detach().clone().requires_grad_() for a in args
              if isinstance(a, torch.Tensor) and a.is_floating_point()}
    try:
        out = resolve(api)(*[leaves.get(id(a), a) for a in args], **kwargs)
    except (RuntimeError, NotImplementedError):
        return
    outputs = [o for o in (out if isinstance(out, (tuple, list)) else [out])]
    first = outputs[0]
    seeds, grads = [], {}
    if first.requires_grad and first.is_floating_point():
        seeds = [m(*first.shape)]
        try:
            got = torch.autograd.grad([first], list(leaves.values()), [seeds[0]], allow_unused=True)
            if all(g is not None for g in got):
                grads = dict(zip(leaves, got))
        except (RuntimeError, NotImplementedError):
            seeds = []
    dump.add(api, args, kwargs, outputs, seeds, grads, label)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--thin", type=int, default=1, help="keep one call in N")
    o = options.parse_args()
    dump, pick = Dump(o.folder), random.Random(o.seed)
    m = Maker(o.seed)
    for kind in KINDS:
        for dtype in DTYPES:
            m.kind, m.dtype = kind, dtype
            short = str(dtype)[6:]
            for api, args, kwargs in table(m):
                if pick.randrange(o.thin) == 0:
                    run_torch(dump, m, api, args, kwargs, f"torch {kind} {short}")
            for family, calls in (("order", orders), ("mode", modes)):
                for api, args, kwargs, name, kernel in calls(m):
                    if pick.randrange(2 * o.thin) or (family == "mode" and dtype != torch.float32 and
                                                      name in ("tf32", "hf32", "bf16", "bf16x2")):
                        continue
                    dump.add(api, args, kwargs, [kernel().to(dtype)], [], {}, f"{family}:{name} {kind} {short}")
    dump.save()


if __name__ == "__main__":
    main()
