"""Goldens of eigenvalues and eigenvectors of general matrices, of reflections and of factors of indefinite ones. Run with python3
(PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import PhaseFree, fixed

c64 = torch.complex64
g = PhaseFree(__file__, seed=41)


def both(*shape):
    return g.normal(*shape), g.normal(*shape, dtype=c64)


# ---- eigenvectors -----------------------------------------------------------------------------------------------
for shape in ((3, 3), (2, 4, 4), (1, 1), (9, 9)):
    for a in both(*shape):
        g.add_vectors((1,), "Torch.linalg.eig", a)
        g.add("Torch.linalg.eigvals", a)
        g.add("Aten.linalg_eig", a, grad=False)
        g.add("Aten.linalg_eigvals", a, grad=False)
g.add("Torch.linalg.eig", torch.tensor([[0.0, -1.0], [1.0, 0.0]]), grad=False)
g.add("Torch.linalg.eig", torch.diag(torch.tensor([3.0, -1.0, 0.5])), grad=False)
g.add("Torch.linalg.eigvals", torch.eye(3), grad=False)
g.add("Torch.linalg.eigvals", torch.triu(torch.ones(3, 3)), grad=False)  # one eigenvector for three values
g.add("Torch.linalg.eigvals", torch.zeros(2, 2), grad=False)
g.add("Torch.linalg.eigvals", g.normal(0, 0), grad=False)

# ---- reflections, L D L^H ----------------------------------------------------------------------------------------
for shape in ((3, 3), (5, 3), (3, 5), (2, 4, 2), (1, 1), (4, 1), (1, 4), (9, 6)):
    for a in both(*shape):
        g.add("Torch.geqrf", a, grad=False)
        g.add("Tensor.geqrf", a, grad=False)
g.add("Torch.geqrf", torch.triu(g.normal(4, 4)), grad=False)  # nothing to reflect
g.add("Torch.geqrf", torch.triu(g.normal(5, 3)), grad=False)
g.add("Torch.geqrf", torch.eye(3), grad=False)
g.add("Torch.geqrf", torch.eye(4).to(c64)[:, :2].contiguous(), grad=False)
for shape in ((3, 3), (5, 5), (2, 4, 4), (1, 1), (9, 9)):
    for a in both(*shape):
        for hermitian in (False, True):
            g.add("Torch.linalg.ldl_factor", a, hermitian=hermitian, grad=False)
            g.add("Torch.linalg.ldl_factor_ex", a, hermitian=hermitian, grad=False)
            g.add("Aten.linalg_ldl_factor_ex", a, hermitian=hermitian, grad=False)
            ld, pivots = torch.linalg.ldl_factor(a, hermitian=hermitian)
            b = g.normal(*shape[:-1], 2, dtype=a.dtype)
            g.add("Torch.linalg.ldl_solve", ld, pivots, b, hermitian=hermitian, grad=False)
            g.add("Aten.linalg_ldl_solve", ld, pivots, b, hermitian=hermitian, grad=False)
g.add("Torch.linalg.ldl_factor", torch.tensor([[0.0, 1.0], [1.0, 0.0]]), grad=False)
g.add("Torch.linalg.ldl_factor", torch.eye(3), grad=False)


# ---- torch.solve, torch.lstsq and torch.eig, which PyTorch 1.13 no longer runs, by what their documentation says of LAPACK ------------
def solve(b, a):
    return torch.linalg.solve(a, b), torch.linalg.lu_factor(a.detach())[0]


def lstsq(b, a):
    m, n = a.shape
    packed, tau = torch.geqrf(a if m >= n else a.mH)
    if m < n:
        return torch.linalg.lstsq(a, b, driver="gelsd").solution, packed.mH.contiguous()
    q = torch.linalg.householder_product(torch.cat((packed, torch.zeros(m, m - n, dtype=a.dtype)), 1), tau)
    return torch.cat((torch.linalg.lstsq(a, b, driver="gelsd").solution, q[:, n:].mH @ b)), packed


def eig(a, eigenvectors=False):
    values, vectors = torch.linalg.eig(a)
    packed = torch.where(values.imag < 0, -vectors.imag, vectors.real)
    return torch.view_as_real(values), packed if eigenvectors else torch.empty(0, dtype=a.dtype)


older = {"solve": solve, "lstsq": lstsq, "eig": eig}
g.resolve = lambda api: older[api.split(".")[1]]
for group in ("Torch", "Tensor"):
    for shape in ((3, 3), (5, 5), (2, 4, 4)):
        for a in both(*shape):
            g.add(f"{group}.solve", g.normal(*shape[:-1], 2, dtype=a.dtype), a)
    for shape in ((5, 3), (3, 3), (3, 5), (4, 1)):
        g.add(f"{group}.lstsq", g.normal(shape[0], 2), g.normal(*shape), grad=False)
    for n in (1, 2, 3, 5, 8):
        g.add(f"{group}.eig", g.normal(n, n), grad=False)
        g.add(f"{group}.eig", g.normal(n, n), True, grad=False)
        a = g.normal(n, n)
        g.add(f"{group}.eig", a @ torch.diag(torch.arange(1.0, n + 1)) @ torch.linalg.inv(a), eigenvectors=True)

# msprobe records torch.linalg's under the same names.
g.resolve = lambda api: getattr(torch.linalg, api.split(".")[1])
for group in ("Torch", "Tensor"):
    for a in both(3, 3):
        g.add(f"{group}.solve", a, g.normal(3, 2, dtype=a.dtype))
    g.add(f"{group}.solve", g.normal(3, 3), g.normal(2, 3), left=False)
    g.add(f"{group}.lstsq", g.normal(5, 3), g.normal(5, 2))
    g.add(f"{group}.lstsq", g.normal(3, 3), g.normal(3, 1))
    g.add(f"{group}.eig", g.normal(4, 4), grad=False)

g.save()
