"""Goldens of functions of one tensor, predicates and casts. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__)
f16, bf16, f64 = torch.float16, torch.bfloat16, torch.float64
i8, u8, i16, i32, i64, boolean = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
c64, c128 = torch.complex64, torch.complex128
inf, nan = float("inf"), float("nan")


def column(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def flags(*values):
    return torch.tensor(values)


# ---- one tensor: a domain each, its edges, 0-d, empty, narrow and integer inputs -----------------
domains = {
    "abs": (-3, 3), "acos": (-1, 1), "acosh": (1, 6), "angle": (-3, 3), "asin": (-1, 1),
    "asinh": (-6, 6), "atan": (-6, 6), "atanh": (-0.99, 0.99), "ceil": (-4, 4), "cos": (-8, 8),
    "cosh": (-5, 5), "deg2rad": (-400, 400), "digamma": (0.1, 6), "erf": (-3, 3), "erfc": (-3, 6),
    "erfinv": (-0.99, 0.99), "exp": (-10, 8), "exp2": (-10, 8), "expm1": (-3, 3), "floor": (-4, 4),
    "frac": (-4, 4), "i0": (-8, 8), "lgamma": (0.05, 9), "log": (0.01, 9), "log10": (0.01, 9),
    "log1p": (-0.9, 9), "log2": (0.01, 9), "logit": (0.02, 0.98), "neg": (-3, 3),
    "rad2deg": (-7, 7), "reciprocal": (0.1, 5), "round": (-4, 4), "rsqrt": (0.01, 9),
    "sgn": (-3, 3), "sigmoid": (-9, 9), "sign": (-3, 3), "sin": (-8, 8), "sinc": (-4, 4),
    "sinh": (-5, 5), "sqrt": (0, 9), "square": (-3, 3), "tan": (-1.4, 1.4), "tanh": (-4, 4),
    "trunc": (-4, 4), "nan_to_num": (-3, 3), "positive": (-3, 3), "conj_physical": (-3, 3),
}
edges = {
    "acos": (-1, 1, 0), "asin": (-1, 1, 0), "atanh": (-1, 1, 0), "erfinv": (-1, 1, 0, 2),
    "log": (0, 1, inf, -1), "sqrt": (0, inf, -1), "rsqrt": (0, inf), "reciprocal": (0, inf),
    "digamma": (0, -1, 1, 2, inf), "lgamma": (0, -1, 1, 2, inf), "logit": (0, 1, 0.5, 2),
    "sinc": (0, 1, -2, 0.5, 0.0625), "sigmoid": (0, -90, 90, inf, -inf),
    "nan_to_num": (nan, inf, -inf, 1), "sign": (0, -0.0, nan, inf), "sgn": (0, -0.0, nan, inf),
    "round": (0.5, 1.5, -2.5, 2.5, inf), "exp": (-104, 89, inf, -inf, nan), "i0": (0, 0.01, -5),
    "abs": (0, -0.0, nan, -inf), "frac": (1, -1, 0, -0.5), "angle": (0, -1, 1, nan, -inf, -0.0),
    "tanh": (0, 30, -30, 1e-5), "erfc": (-8, 8, 12, 0), "expm1": (1e-7, -50, 0), "cosh": (0, 80),
    "log1p": (-1, 0, 1e-7), "erf": (0, 1e-6, 6), "atan": (inf, -inf, 0),
}
no_integers = {"frac"}
# PyTorch 1.13 leaves the gradient of sgn uninitialised, and its trigamma is good to 1e-9 only.
no_gradient = {"sgn", "digamma"}
for name, (low, high) in domains.items():
    grad = name not in no_gradient
    g.add(f"Torch.{name}", g.uniform(2, 3, low=low, high=high), grad=grad)
    g.add(f"Tensor.{name}", g.uniform(4, low=low, high=high, dtype=f64), grad=grad)
    if hasattr(torch.Tensor, name + "_"):
        g.add(f"Tensor.{name}_", g.uniform(3, low=low, high=high), grad=grad)
    if name in edges:
        g.add(f"Torch.{name}", column(*edges[name]), grad=grad, native=name == "nan_to_num")
    g.add(f"Torch.{name}", g.uniform(low=low, high=high), grad=grad)
    g.add(f"Torch.{name}", g.uniform(3, low=low, high=high, dtype=bf16), grad=grad)
    if name not in no_integers:
        whole = column(1, 2, 3, dtype=i32) if low >= 0.05 else column(0, 1, dtype=i64)
        g.add(f"Torch.{name}", whole)
    if name in {"neg", "abs", "sign", "square"}:
        g.add(f"Torch.{name}", column(-128, -3, 0, 7, 127, dtype=i8))
        if name != "neg":
            g.add(f"Torch.{name}", column(0, 3, 200, dtype=u8))
g.add("Torch.exp", g.normal(0, 3))
g.add("Torch.sin", g.normal(0))
for name in ("lgamma", "digamma"):
    g.add(f"Torch.{name}", column(-0.5, -1.5, -2.75, 0.25, 10.5, 1.46, 2.9), grad=name == "lgamma")
for name in ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
             "asinh", "acosh", "atanh", "sigmoid", "reciprocal", "square", "neg", "abs", "angle", "sgn", "log2",
             "log10", "log1p", "expm1", "conj_physical", "real", "imag"):
    z = g.normal(5, dtype=c64)
    try:
        g.add(f"Torch.{name}", z, grad=name != "sgn")
    except (RuntimeError, AttributeError):
        pass
g.add("Torch.abs", torch.tensor([0j, 3 + 4j, -1 + 0j], dtype=c64))
g.add("Torch.angle", torch.tensor([-1 + 0j, 1j, -1 - 1j], dtype=c64))
g.add("Torch.real", g.normal(3))
g.add("Torch.round", g.normal(4, scale=100), decimals=1)
g.add("Torch.round", g.normal(4, scale=1000), decimals=-2)
g.add("Torch.logit", g.uniform(6, low=-0.2, high=1.2), eps=0.1)
g.add("Torch.logit", column(0.1, 0.9, 0.05), 0.1)
g.add("Torch.nan_to_num", column(nan, inf, -inf, 2), nan=1.5, posinf=7.0, neginf=-7.0)
g.add("Tensor.nan_to_num", column(nan, inf, -inf, 2, dtype=f64), 0.25)
g.add("Torch.mvlgamma", g.uniform(4, low=2, high=5), 3)
g.add("Tensor.mvlgamma_", g.uniform(4, low=2, high=5), p=2)
g.add("Torch.frexp", column(0, 1, -3.25, 100, 1e-3))
g.add("Torch.signbit", column(0, -0.0, -1, nan, inf))
g.add("Torch.signbit", column(0, -1, 5, dtype=i32))
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf"):
    g.add(f"Torch.{name}", column(nan, inf, -inf, 0, 1))
    g.add(f"Tensor.{name}", column(0, 1, dtype=i64))
g.add("Torch.isreal", torch.tensor([1 + 0j, 1j], dtype=c64))
g.add("Torch.isnan", torch.tensor([complex(nan, 0), 1j, complex(0, inf)], dtype=c64))
g.add("Torch.isfinite", torch.tensor([complex(nan, 0), 1j, complex(0, inf)], dtype=c64))
g.add("Torch.isinf", torch.tensor([complex(nan, 0), 1j, complex(0, inf)], dtype=c64))

# ---- other names of the same functions -----------------------------------------------------------
for name in ("absolute", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "fix", "negative", "resolve_neg"):
    g.add(f"Tensor.{name}", g.uniform(3, low=0.1, high=0.9))
    g.add(f"Torch.{name}", g.uniform(3, low=0.1, high=0.9))
    if hasattr(torch.Tensor, name + "_"):
        g.add(f"Tensor.{name}_", g.uniform(3, low=0.1, high=0.9))
for name in ("abs", "acos", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "atan", "atanh", "ceil", "cosh",
             "deg2rad", "erf", "erfc", "exp", "expm1", "fix", "floor", "i0", "log10", "log1p", "log2", "log", "logit",
             "neg", "negative", "rad2deg", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "square", "tanh", "trunc"):
    g.add(f"Torch.{name}_", g.uniform(3, low=0.1, high=0.9))
for name in ("acosh", "arccosh"):
    g.add(f"Torch.{name}_", g.uniform(3, low=1.1, high=5))
g.add("Tensor.polygamma_", g.uniform(3, low=1, high=5), 2)
g.add("Tensor.frexp", g.normal(3, scale=10))
g.add("Tensor.isreal", g.normal(2), grad=False)
g.add("Tensor.signbit", g.normal(3), grad=False)

# ---- dtypes -----------------------------------------------------------------------------------------
for name in ("float", "double", "half", "bfloat16"):
    g.add(f"Tensor.{name}", g.normal(3).bfloat16().float())
    g.add(f"Tensor.{name}", column(1, -2, 3, dtype=i32))
for name in ("int", "long", "short", "char", "byte", "bool"):
    g.add(f"Tensor.{name}", column(1.7, -2.7, 0, 100.5), grad=False)
    g.add(f"Tensor.{name}", column(300, -2, 0, dtype=i64))
g.add("Tensor.to", g.normal(3), torch.float64)
g.add("Tensor.to", g.normal(3), torch.int32, grad=False)
g.add("Tensor.to", g.normal(3).bfloat16().float(), dtype=torch.bfloat16)
g.add("Tensor.to", column(1, 2, dtype=i64), fixed(g.normal(2, dtype=f16)))
g.add("Tensor.type_as", g.normal(3), fixed(g.normal(2, dtype=f64)))
g.add("Tensor.type", g.normal(3), torch.float64)
g.add("Tensor.cfloat", g.normal(3))
g.save()
