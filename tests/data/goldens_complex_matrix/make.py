"""Goldens of complex matrices: inverses, factors, determinants, eigenvectors, singular vectors. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import PhaseFree

c64 = torch.complex64


g = PhaseFree(__file__, seed=31)


def normal(*shape):
    return g.normal(*shape, dtype=c64)


def regular(*shape):
    return normal(*shape) * 0.3 + (2 + 0.5j) * torch.eye(shape[-1]).to(c64)


def hermitian(*shape):
    a = normal(*shape)
    return a + a.mH


def positive(*shape):
    a = normal(*shape)
    return a @ a.mH + torch.eye(shape[-1])


def low_rank(m, n, rank):
    """Small Gaussian integers, so that the rank is exact."""
    part = lambda *shape: g.integers(*shape, low=-2, high=3).float()
    return torch.complex(part(m, rank), part(m, rank)) @ torch.complex(part(rank, n), part(rank, n))


# ---- inverses and solutions ------------------------------------------------------------------------------------
for api in ("Torch.linalg.inv", "Torch.inverse", "Torch.linalg.inv_ex", "Torch.linalg.pinv", "Torch.det", "Torch.linalg.slogdet",
            "Torch.logdet", "Torch.matrix_exp", "Torch.linalg.lu_factor", "Torch.linalg.lu_factor_ex", "Torch.linalg.lu", "Torch.lu",
            "Torch.linalg.svdvals"):
    for shape in ((3, 3), (2, 2, 2), (1, 1), (6, 6)):
        g.add(api, regular(*shape))
for api in ("Torch.linalg.solve", "Torch.linalg.solve_ex"):
    for shapes in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((2, 3, 3), (2, 3))):
        g.add(api, regular(*shapes[0]), normal(*shapes[1]))
    g.add(api, regular(3, 3), normal(2, 3), left=False)
g.add("Torch.linalg.tensorsolve", regular(4, 4).reshape(2, 2, 4), normal(2, 2))
g.add("Torch.linalg.tensorinv", regular(4, 4).reshape(2, 2, 4), ind=2)
for n in (0, 1, 3, -2):
    g.add("Torch.linalg.matrix_power", regular(3, 3), n)
for upper in (False, True):
    triangle = (torch.triu if upper else torch.tril)(regular(3, 3))
    g.add("Torch.linalg.solve_triangular", triangle, normal(3, 2), upper=upper)
    g.add("Torch.linalg.solve_triangular", triangle, normal(2, 3), upper=upper, left=False)
    for transpose in (False, True):
        g.add("Torch.triangular_solve", normal(3, 2), regular(3, 3), upper, transpose, upper)
    factor = torch.linalg.cholesky(positive(3, 3), upper=upper)
    g.add("Torch.cholesky", positive(3, 3), upper)
    g.add("Torch.linalg.cholesky", positive(2, 3, 3), upper=upper)
    g.add("Torch.linalg.cholesky_ex", positive(3, 3), upper=upper)
    g.add("Torch.cholesky_inverse", factor, upper)
    g.add("Torch.cholesky_solve", normal(3, 2), factor, upper)
lu, pivots = torch.linalg.lu_factor(regular(2, 3, 3))
g.add("Torch.lu_unpack", lu, pivots)
g.add("Torch.lu_solve", normal(2, 3, 2), lu, pivots)
for adjoint in (False, True):
    g.add("Torch.linalg.lu_solve", lu, pivots, normal(2, 3, 2), adjoint=adjoint)
    g.add("Torch.linalg.lu_solve", lu, pivots, normal(2, 2, 3), left=False, adjoint=adjoint)
g.add("Aten._linalg_det", regular(3, 3))
g.add("Aten._linalg_slogdet", regular(3, 3))
g.add("Aten._linalg_solve_ex", regular(3, 3), normal(3, 2))

# ---- QR, reflections --------------------------------------------------------------------------------------------
for shape in ((3, 3), (5, 3), (2, 4, 2), (1, 1), (12, 8)):
    g.add("Torch.linalg.qr", normal(*shape))
    g.add("Torch.qr", normal(*shape))
g.add("Torch.linalg.qr", normal(3, 5))
g.add("Torch.linalg.qr", normal(5, 3), mode="complete", grad=False)
g.add("Torch.linalg.qr", normal(4, 3), mode="r", grad=False)
for shape, reflections in (((4, 3), 3), ((4, 3), 2), ((3, 3), 3), ((2, 4, 2), 2)):
    a, tau = torch.geqrf(normal(*shape))
    tau = tau[..., :reflections].contiguous()
    g.add("Torch.linalg.householder_product", a, tau)
    g.add("Torch.orgqr", a, tau)
    for left in (True, False):
        for transpose in (True, False):
            other = normal(*shape[:-2], *((shape[-2], 2) if left else (2, shape[-2])))
            g.add("Torch.ormqr", a, tau, other, left=left, transpose=transpose, grad=False)

# ---- eigenvectors -------------------------------------------------------------------------------------------------
for shape in ((3, 3), (2, 4, 4), (1, 1), (12, 12)):
    g.add_vectors((1,), "Torch.linalg.eigh", hermitian(*shape))
    g.add("Torch.linalg.eigvalsh", hermitian(*shape))
g.add("Torch.linalg.eigh", normal(3, 3), UPLO="U", grad=False)  # one triangle is read
g.add("Torch.linalg.eigh", normal(3, 3), "L", grad=False)
g.add("Torch.linalg.eigvalsh", normal(3, 3), "U", grad=False)
g.add("Torch.linalg.eigh", torch.eye(3).to(c64), grad=False)
g.add("Torch.linalg.eigh", torch.diag(torch.tensor([2.0, -1.0, 2.0, 5.0])).to(c64), grad=False)
g.add_vectors((1,), "Torch.symeig", hermitian(3, 3), True)
g.add("Torch.symeig", hermitian(3, 3))
g.add_vectors((1,), "Aten._linalg_eigh", hermitian(3, 3))

# ---- singular vectors -----------------------------------------------------------------------------------------------
for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 4), (1, 1), (12, 9)):
    g.add_vectors((0, 2), "Torch.linalg.svd", normal(*shape), full_matrices=False, rows=(2,))
    g.add_vectors((0, 2), "Torch.svd", normal(*shape))
    g.add("Torch.linalg.svd", normal(*shape), grad=False)
    g.add("Torch.linalg.svdvals", normal(*shape))
    g.add("Torch.linalg.matrix_rank", normal(*shape), grad=False)
    g.add("Torch.linalg.cond", normal(*shape))
    g.add("Torch.nuclear_norm", normal(*shape[-2:]))
    g.add("Torch.linalg.pinv", normal(*shape))
    g.add("Torch.pinverse", normal(*shape))
for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
    g.add("Torch.linalg.matrix_norm", normal(3, 4), order)
    g.add("Torch.linalg.norm", normal(3, 4), order)
for p in ("fro", "nuc", 1, -2, float("inf")):
    g.add("Torch.linalg.cond", regular(3, 3), p)
g.add("Torch.svd", normal(3, 2), compute_uv=False, grad=False)
g.add("Torch.linalg.svd", low_rank(5, 4, 2), full_matrices=False, grad=False)
g.add("Torch.linalg.svd", torch.eye(3).to(c64), grad=False)
g.add("Torch.linalg.matrix_rank", low_rank(5, 4, 2), grad=False)
g.add("Torch.linalg.matrix_rank", low_rank(4, 4, 2) @ low_rank(4, 4, 3), grad=False)
g.add("Torch.linalg.pinv", positive(3, 3), hermitian=True, grad=False)
g.add("Torch.corrcoef", normal(3, 5))
g.add("Torch.cov", normal(3, 5))

# ---- least squares ---------------------------------------------------------------------------------------------------
for driver in (None, "gels", "gelsd", "gelss", "gelsy"):
    g.add("Torch.linalg.lstsq", normal(5, 3), normal(5, 2), driver=driver, grad=False)
    g.add("Torch.linalg.lstsq", normal(3, 3), normal(3, 1), driver=driver, grad=False)
    g.add("Torch.linalg.lstsq", normal(2, 4), normal(2, 3), driver=driver, grad=False)
g.add("Torch.linalg.lstsq", normal(4, 2), normal(4, 3))
g.save()
