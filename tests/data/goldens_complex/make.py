"""Goldens of functions of complex numbers: within their domains, on the sides of their cuts, at 0, and their gradients.

Usage: python3 make.py
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "goldens"))
from make import Goldens  # noqa: E402

FUNCTIONS = """log log2 log10 sqrt asin acos atan acosh asinh atanh angle rsqrt exp sin cos tan sinh cosh tanh sigmoid reciprocal
sgn abs square""".split()
# On each side of the real and the imaginary axis, beyond and between the branch points.
SIDES = [(-2, 0.0), (-2, -0.0), (2, 0.0), (2, -0.0), (0.0, 2), (-0.0, 2), (0.5, 0.0), (0.5, -0.0), (-0.0, 0.5), (0.0, -2)]

g = Goldens(__file__)
for dtype in (torch.float32, torch.float64):
    for name in FUNCTIONS:
        z = torch.complex(g.normal(6, scale=2).to(dtype), g.normal(6, scale=2).to(dtype))
        g.add(f"Torch.{name}", z)
        # PyTorch's atan returns -pi / 2 on the right of its upper cut, where C (7.3.5.3, G.6.2) and numpy return pi / 2.
        sides = [p for p in SIDES if name != "atan" or p[1] != 2]
        re, im = (torch.tensor([p[k] for p in sides], dtype=dtype) for k in (0, 1))
        # PyTorch forms 1 - z^2, which forgets the side: asin(2 + 0i) grows to i, its gradient there says -i.
        g.add(f"Torch.{name}", torch.complex(re, im), grad=name not in ("asin", "acos", "asinh", "acosh"))
    for exponent in (0.5, -1.5, 2, -1, 0):
        g.add("Torch.pow", torch.complex(re, im), exponent, grad=False)
    # Results next to 1 and i, where the slope is formed from them.
    far = torch.complex(torch.tensor([9, 0.3, -6], dtype=dtype), torch.tensor([1, 7.5, -5], dtype=dtype))
    for name in ("sigmoid", "tan", "tanh"):
        g.add(f"Torch.{name}", far)
    g.add("Torch.sgn", torch.complex(torch.tensor([0.0, 3, 0], dtype=dtype), torch.tensor([0.0, 0, -2], dtype=dtype)))
    zeros = torch.tensor([0.0, -0.0, 0.0, -0.0], dtype=dtype)
    g.add("Torch.atan2", zeros, torch.tensor([0.0, 0.0, -0.0, -0.0], dtype=dtype), grad=False)
# A power's slope toward an exponent of 0 is the logarithm; sinc, its zeros among the arguments; silu, whose gradient PyTorch does not conjugate.
g.add("Torch.float_power", torch.tensor([9, 5, 6]), torch.tensor(0j, dtype=torch.complex128))
g.add("Torch.pow", g.normal(4, dtype=torch.complex64), torch.tensor([0j, 0j, 2, 1j], dtype=torch.complex64))
g.add("Torch.sinc", torch.complex(g.normal(6, scale=2), g.normal(6, scale=2)))
g.add("Torch.sinc", torch.tensor([0j, 1 + 0j, -2 + 1e-3j], dtype=torch.complex128))
g.add("Aten.silu", g.normal(5, dtype=torch.complex64), grad=False)
g.add("VF.gru_cell", g.normal(2, 4, dtype=torch.complex64), g.normal(2, 3, dtype=torch.complex64), g.normal(9, 4, dtype=torch.complex64),
      g.normal(9, 3, dtype=torch.complex64), g.normal(9, dtype=torch.complex64), g.normal(9, dtype=torch.complex64))
g.add("VF.rnn_tanh_cell", g.normal(2, 4), g.normal(2, 3), g.normal(3, 4), g.normal(3, 3), g.normal(1), g.normal(3))
# Both sides of a spectrum that is none of a real signal.
g.add("Torch.istft", g.normal(8, 3, dtype=torch.complex64), 8)
g.add("Torch.istft", g.normal(8, 3, dtype=torch.complex64), 8, return_complex=True)
g.add("Torch.istft", g.normal(2, 8, 6, dtype=torch.complex64), 8, 2, 8, g.normal(8, dtype=torch.complex64) + 2, onesided=False, return_complex=True)
g.save()
