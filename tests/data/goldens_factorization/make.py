"""Goldens of factorizations that are unique up to signs or a basis, and of what is made of them. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__, seed=17)


def symmetric(*shape):
    a = g.normal(*shape)
    return a + a.transpose(-1, -2)


def low_rank(m, n, rank):
    """Small integers, so that the rank is exact."""
    return (g.integers(m, rank, low=-2, high=3) @ g.integers(rank, n, low=-2, high=3)).float()


# ---- QR -----------------------------------------------------------------------------------------------
for shape in ((3, 3), (5, 3), (2, 4, 2), (1, 1), (3, 5)):
    g.add("Torch.linalg.qr", g.normal(*shape))
    g.add("Torch.qr", g.normal(*shape))
    g.add("Tensor.qr", g.normal(*shape), some=True)
g.add("Torch.linalg.qr", g.normal(5, 3), mode="complete", grad=False)
g.add("Torch.linalg.qr", g.normal(2, 4, 1), mode="complete", grad=False)
g.add("Torch.linalg.qr", g.normal(3, 3), mode="complete")
g.add("Torch.linalg.qr", g.normal(2, 4), mode="complete")
g.add("Torch.linalg.qr", g.normal(4, 3), mode="r", grad=False)
g.add("Torch.linalg.qr", g.normal(3, 4), mode="r", grad=False)
g.add("Torch.linalg.qr", g.normal(24, 16))
g.add("Torch.qr", g.normal(5, 2), some=False, grad=False)
g.add("Aten.linalg_qr", g.normal(4, 3))
g.add("Aten.linalg_qr", g.normal(4, 3), "complete", grad=False)

# ---- eigenvectors ----------------------------------------------------------------------------------------
for shape in ((3, 3), (2, 4, 4), (1, 1), (12, 12)):
    g.add("Torch.linalg.eigh", symmetric(*shape))
    g.add("Torch.linalg.eigvalsh", symmetric(*shape))
g.add("Torch.linalg.eigh", g.normal(3, 3), UPLO="U", grad=False)  # one triangle is read
g.add("Torch.linalg.eigh", g.normal(3, 3), "L", grad=False)
g.add("Torch.linalg.eigvalsh", g.normal(3, 3), "U", grad=False)
g.add("Torch.linalg.eigh", torch.eye(4), grad=False)
g.add("Torch.linalg.eigh", torch.ones(4, 4), grad=False)
g.add("Torch.linalg.eigh", torch.zeros(3, 3), grad=False)
g.add("Torch.linalg.eigh", torch.diag(torch.tensor([2.0, -1.0, 2.0, 5.0, 2.0])), grad=False)
g.add("Torch.symeig", symmetric(3, 3), True)
g.add("Torch.symeig", symmetric(3, 3), eigenvectors=True, upper=False)
g.add("Tensor.symeig", symmetric(3, 3), True)
g.add("Torch.symeig", symmetric(2, 3, 3))
g.add("Aten._linalg_eigh", symmetric(3, 3))
g.add("Aten._linalg_eigh", symmetric(3, 3), "U", False)

# ---- singular vectors -------------------------------------------------------------------------------------
for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 4), (1, 1), (16, 12)):
    g.add("Torch.linalg.svd", g.normal(*shape), full_matrices=False)
    g.add("Torch.svd", g.normal(*shape))
    g.add("Tensor.svd", g.normal(*shape))
    g.add("Torch.linalg.svd", g.normal(*shape), grad=False)
    g.add("Torch.svd", g.normal(*shape), some=False, grad=False)
    g.add("Torch.linalg.svdvals", g.normal(*shape))
g.add("Torch.svd", g.normal(3, 2), compute_uv=False, grad=False)
g.add("Torch.linalg.svd", torch.eye(3), grad=False)
g.add("Torch.linalg.svd", torch.zeros(3, 2), grad=False)
g.add("Torch.linalg.svd", torch.ones(3, 4), full_matrices=False, grad=False)
for m, n, rank in ((5, 4, 2), (4, 6, 2), (4, 4, 3)):
    for full in (False, True):
        g.add("Torch.linalg.svd", low_rank(m, n, rank), full_matrices=full, grad=False)
g.add("Torch.linalg.svdvals", low_rank(5, 4, 2), grad=False)
g.add("Aten._linalg_svd", g.normal(3, 2))
g.add("Aten._linalg_svd", g.normal(3, 2), True, grad=False)
g.add("Aten._linalg_svd", g.normal(3, 2), False, False, grad=False)

# ---- least squares, reflections ------------------------------------------------------------------------------
for driver in (None, "gels", "gelsd", "gelss", "gelsy"):
    g.add("Torch.linalg.lstsq", g.normal(5, 3), g.normal(5, 2), driver=driver, grad=False)
    g.add("Torch.linalg.lstsq", g.normal(3, 3), g.normal(3, 1), driver=driver, grad=False)
    g.add("Torch.linalg.lstsq", g.normal(2, 4, 2), g.normal(2, 4, 1), driver=driver, grad=False)
    g.add("Torch.linalg.lstsq", g.normal(2, 4), g.normal(2, 3), driver=driver, grad=False)
g.add("Torch.linalg.lstsq", g.normal(4, 2), g.normal(4, 3))
for shape, reflections in (((4, 3), 3), ((4, 3), 2), ((3, 3), 3), ((2, 4, 2), 2)):
    a, tau = torch.geqrf(g.normal(*shape))
    tau = tau[..., :reflections].contiguous()
    g.add("Torch.linalg.householder_product", a, tau)
    g.add("Torch.orgqr", a, tau)
    g.add("Tensor.orgqr", a, tau, grad=False)
    for left in (True, False):
        for transpose in (True, False):
            other = g.normal(*shape[:-2], *((shape[-2], 2) if left else (2, shape[-2])))
            g.add("Torch.ormqr", a, tau, other, left=left, transpose=transpose, grad=False)
    g.add("Tensor.ormqr", a, tau, g.normal(*shape[:-1], 3), grad=False)
    g.add("Aten.linalg_householder_product", a, tau, grad=False)
    g.add("Aten.ormqr", a, tau, g.normal(*shape[:-1], 3), grad=False)

# ---- ranks -------------------------------------------------------------------------------------------------------
for rank in (0, 1, 2):
    for m, n in ((5, 3), (3, 4), (3, 3)):
        a = low_rank(m, n, rank)
        for driver in ("gelsd", "gelss"):  # gelsy of PyTorch 1.13 finds a rank of 1 or 2 in one matrix, by chance
            g.add("Torch.linalg.lstsq", a, g.normal(m, 2), driver=driver, grad=rank > 0)
        g.add("Torch.linalg.pinv", a)
        if rank == 0:  # its tolerance is so small that what rounding leaves of a zero may count
            g.add("Torch.pinverse", a)
        g.add("Torch.linalg.pinv", a + a.mT if m == n else a, hermitian=m == n)
g.add("Torch.linalg.lstsq", torch.stack((low_rank(4, 3, 2), low_rank(4, 3, 3))), g.normal(2, 4, 1), driver="gelsd")
spread = torch.diag(torch.tensor([4.0, 1.0, 0.25]))
turned = torch.linalg.qr(g.normal(5, 3))[0] @ spread @ torch.linalg.qr(g.normal(3, 3))[0]
for options in ({"rtol": 0.5}, {"rtol": 0.1}, {"atol": 2.0}, {"atol": 0.5, "rtol": 0.5}, {"atol": 0.5, "rtol": 0.01}, {"rtol": 0.0}, {"rcond": 0.2}):
    g.add("Torch.linalg.pinv", turned, **options)
    g.add("Torch.linalg.pinv", turned.mT.contiguous(), **options)
g.add("Torch.pinverse", turned, 0.5)
g.add("Torch.linalg.lstsq", turned, g.normal(5, 2), 0.5, driver="gelsd")
g.add("Torch.linalg.lstsq", turned, g.normal(5, 2), rcond=0.1, driver="gelss")
g.add("Torch.linalg.pinv", symmetric(4, 4), hermitian=True)
g.add("Torch.linalg.pinv", symmetric(2, 3, 3), hermitian=True, atol=0.0)
g.add("Torch.linalg.pinv", torch.diag(torch.tensor([3.0, -2.0, 0.1])), rtol=0.5, hermitian=True)
g.add("Torch.linalg.pinv", g.normal(3, 3), hermitian=True)  # not symmetric
for shape in ((3, 5), (5, 3), (2, 4, 3)):  # gradients of full bases: cotangents of what completes them do not count
    g.add("Torch.linalg.svd", g.normal(*shape))
    g.add("Torch.svd", g.normal(*shape), some=False)
# Of a number as of a vector of one, and of no elements whatever their shape.
g.add("Torch.linalg.vander", g.normal(), N=3)
g.add("Torch.linalg.vander", g.normal(dtype=torch.complex64), N=2)
g.add("Torch.cholesky", g.normal(1, 0, 5))
g.add("Torch.cholesky", g.normal(5, 0), True)
# The factors are those of the matrix that lies in memory by columns, here of A itself. The file does not say how it lay.
for name in ("_linalg_det", "_linalg_slogdet"):
    g.add("Aten." + name, g.normal(2, 4, 4).mT)
g.add("Aten._linalg_solve_ex", g.normal(4, 4).mT, g.normal(4, 2))
g.save()
