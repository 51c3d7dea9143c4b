"""Goldens of torch.special: polynomials, Bessel functions. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__, seed=23)
inf = float("inf")

for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"):
    degrees = torch.arange(-2, 12).float()
    for api in (f"Torch.special.{name}", f"Aten.special_{name}"):
        g.add(api, g.uniform(5, 14, low=-2, high=2), degrees, grad=False)
        g.add(api, g.uniform(3, 4, low=-0.99, high=0.99), 9, grad=False)
        g.add(api, g.normal(4), g.integers(4, low=0, high=5), grad=False)
    g.add(f"Torch.special.{name}", 0.25, degrees, grad=False)
    g.add(f"Torch.special.{name}", torch.tensor([1.0, -1.0, 0.0, 2.0]), torch.tensor([[3.0], [4.7], [-1.5]]), grad=False)
    g.add(f"Torch.special.{name}", g.integers(4, low=-3, high=4), g.integers(4, low=0, high=4), grad=False)
for api in ("Torch.special.spherical_bessel_j0", "Aten.special_spherical_bessel_j0"):
    g.add(api, g.normal(20, scale=5), grad=False)
    g.add(api, torch.tensor([0.0, -0.0, inf, -inf, 1e-20, 0.3, -0.49, 1000.0]), grad=False)
g.add("Torch.special.i1", g.normal(12, scale=4))
g.add("Aten.special_i1", g.normal(12))
g.add("Torch.special.modified_bessel_i1", g.normal(12, scale=4), grad=False)
g.add("Aten.special_modified_bessel_i1", g.normal(12), grad=False)
for name, low, high in (("erfcx", -5, 20), ("ndtri", 0.001, 0.999), ("log_ndtr", -12, 5), ("i0e", -20, 20), ("i1e", -20, 20)):
    for api in (f"Torch.special.{name}", f"Aten.special_{name}"):
        g.add(api, g.uniform(24, low=low, high=high))
    g.add(f"Torch.special.{name}", torch.tensor([0.0, 0.5, 0.25, 1e-4]))
    g.add(f"Torch.special.{name}", torch.tensor([-0.0, 1.0, inf, -inf, float("nan")]), grad=False)
    g.add(f"Torch.special.{name}", g.integers(6, low=0, high=3), grad=False)
# Beyond 1 PyTorch 1.13's Bessel functions are off by up to 1e-6 in float64, below -2.09 Airy's by 3e-6, as mpmath shows; there
# tests/bench/oracle.c has MPFR and series of Arb.
for name, low, high in (("bessel_j0", -1, 1), ("bessel_j1", -1, 1), ("bessel_y0", 0.1, 1), ("bessel_y1", 0.1, 1), ("modified_bessel_k0", 0.1, 20),
                        ("modified_bessel_k1", 0.1, 20), ("scaled_modified_bessel_k0", 0.1, 20), ("scaled_modified_bessel_k1", 0.1, 20), ("airy_ai", -2, 8)):
    for api in (f"Torch.special.{name}", f"Aten.special_{name}"):
        g.add(api, g.uniform(24, low=low, high=high), grad=False)
    g.add(f"Torch.special.{name}", torch.tensor([0.0, -0.0, 1.0, 0.5, inf, float("nan")]), grad=False)
    g.add(f"Torch.special.{name}", g.integers(6, low=0, high=2), grad=False)
for api in ("Torch.special.zeta", "Aten.special_zeta"):
    g.add(api, g.uniform(12, low=1.5, high=9), g.uniform(12, low=0.1, high=9), grad=False)
    g.add(api, fixed(g.uniform(12, low=1.5, high=9)), g.uniform(12, low=0.1, high=9))
    g.add(api, 3, g.uniform(12, low=0.1, high=9))
    g.add(api, torch.tensor([1.0, 0.5, 2.0, 2.0, 2.0, 3.0, 2.5]), torch.tensor([2.0, 2.0, 0.0, -1.0, -1.5, -2.5, -1.5]), grad=False)
g.add("Torch.special.zeta", g.uniform(12, low=1.5, high=9), 2, grad=False)
g.save()
