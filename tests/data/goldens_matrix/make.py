"""Goldens of linear algebra and contractions, with the options that training code seldom sets. Run with python3
(PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__, seed=7)
bf16, f64, c64, i64, i32 = torch.bfloat16, torch.float64, torch.complex64, torch.int64, torch.int32


def regular(*shape, dtype=torch.float32):
    """Square matrices with a condition number below ten or so."""
    n = shape[-1]
    return g.normal(*shape, dtype=dtype) * 0.3 + 2 * torch.eye(n).to(dtype)


def positive(*shape):
    a = g.normal(*shape)
    return a @ a.transpose(-1, -2) + torch.eye(shape[-1])


def column(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


# ---- inverses and solutions -------------------------------------------------------------------------------
g.add("Torch.linalg.inv", regular(2, 2, 3, 3))
g.add("Torch.linalg.inv", regular(3, 3, dtype=c64))
g.add("Torch.inverse", g.normal(2, 0, 0))
g.add("Torch.linalg.inv_ex", regular(2, 3, 3))
for name in ("Torch.linalg.solve", "Torch.linalg.solve_ex"):
    g.add(name, regular(3, 3), g.normal(3))
    g.add(name, regular(3, 3), g.normal(3, 2))
    g.add(name, regular(3, 3), g.normal(2, 3), left=False)
    g.add(name, regular(2, 3, 3), g.normal(2, 3))
    g.add(name, regular(2, 3, 3), g.normal(3, 4))  # not a batch of vectors: one matrix for both
    g.add(name, regular(2, 3, 3), g.normal(2, 3, 4))
    g.add(name, regular(2, 3, 3), g.normal(3))
    g.add(name, regular(3, 3, dtype=c64), g.normal(3, dtype=c64))
g.add("Torch.linalg.solve", regular(2, 3, 3), g.normal(2, 4, 3), left=False)
g.add("Torch.linalg.solve", regular(3, 3), g.normal(3, 0))
for upper in (False, True):
    triangle = torch.tril(regular(3, 3)) if not upper else torch.triu(regular(3, 3))
    g.add("Torch.cholesky", positive(3, 3), upper)
    g.add("Torch.linalg.cholesky", positive(2, 3, 3), upper=upper)
    g.add("Torch.linalg.cholesky_ex", positive(2, 3, 3), upper=upper)
    g.add("Torch.cholesky_inverse", triangle, upper)
    g.add("Torch.cholesky_solve", g.normal(3, 2), triangle, upper)
    for transpose in (False, True):
        for unit in (False, True):
            g.add("Torch.triangular_solve", g.normal(3, 2), regular(3, 3), upper, transpose, unit)
g.add("Tensor.triangular_solve", g.normal(2, 3, 2), regular(2, 3, 3), unitriangular=True)
g.add("Torch.linalg.tensorsolve", regular(6, 6).reshape(2, 3, 6), g.normal(2, 3))
g.add("Torch.linalg.tensorsolve", regular(6, 6).reshape(6, 2, 3).permute(1, 0, 2).contiguous(), g.normal(2, 6)[0], dims=(0,))
g.add("Torch.linalg.tensorsolve", regular(6, 6).reshape(2, 3, 6), g.normal(6), dims=(0, 1))

# ---- determinants, powers, exponentials -----------------------------------------------------------------------
for shape in ((3, 3), (2, 2, 2), (0, 0), (2, 0, 0), (1, 1)):
    g.add("Torch.det", regular(*shape))
    g.add("Torch.linalg.slogdet", regular(*shape))
g.add("Torch.logdet", regular(3, 3))
for n in (0, 1, 2, 3, 5, -1, -3):
    g.add("Torch.matrix_power", regular(3, 3), n)
g.add("Torch.linalg.matrix_power", regular(2, 2, 2), 0)
g.add("Torch.linalg.matrix_power", regular(2, 2, dtype=c64), -2)
g.add("Torch.matrix_power", g.normal(0, 0), 0)
g.add("Torch.matrix_exp", g.normal(2, 3, 3))
g.add("Torch.matrix_exp", g.normal(2, 2, scale=8))
g.add("Torch.matrix_exp", g.normal(1, 1))
g.add("Torch.linalg.matrix_exp", g.normal(2, 2, dtype=c64))
g.add("Torch.linalg.matrix_exp", torch.zeros(2, 2))
g.add("Torch.linalg.lu_factor", regular(3, 3))
g.add("Torch.linalg.lu_factor_ex", regular(2, 3, 3))
g.add("Torch.lu", regular(3, 3), get_infos=True)
g.add("Tensor.lu", regular(2, 3, 3))

# ---- pseudo-inverses, singular values ---------------------------------------------------------------------------
for api in ("Torch.pinverse", "Torch.linalg.pinv"):
    g.add(api, regular(3, 3))
    g.add(api, g.normal(4, 2))
    g.add(api, g.normal(2, 2, 4))
g.add("Torch.linalg.pinv", positive(3, 3), hermitian=True, grad=False)
g.add("Torch.linalg.pinv", positive(2, 2, 2), hermitian=True, grad=False)
g.add("Torch.linalg.pinv", regular(3, 3), 1e-3)
g.add("Torch.linalg.pinv", regular(3, 3), rtol=1e-3, atol=1e-3)
g.add("Torch.linalg.pinv", g.normal(4, 2), atol=1e-4)
g.add("Torch.linalg.pinv", regular(2, 3, 3), rtol=1e-4)
g.add("Torch.linalg.pinv", regular(2, 2, dtype=c64))
g.add("Torch.linalg.svdvals", g.normal(2, 3, 4))
g.add("Torch.linalg.svdvals", g.normal(4, 2))
g.add("Torch.linalg.svdvals", g.normal(1, 3))
g.add("Torch.nuclear_norm", g.normal(3, 4))
g.add("Torch.nuclear_norm", g.normal(3, 4), keepdim=True)
low = g.normal(4, 2) @ g.normal(2, 3)
for options in ({}, {"rtol": 0.1}, {"atol": 0.5}, {"rtol": 0.01, "atol": 0.01}, {"tol": 1.5}, {"rtol": 0.0}, {"atol": 100.0}):
    g.add("Torch.linalg.matrix_rank", low, grad=False, native=True, **options)
    g.add("Torch.linalg.matrix_rank", g.normal(2, 3, 5), grad=False, **options)
for p in (None, 2, -2, 2.0):
    g.add("Torch.linalg.cond", regular(3, 3), p)
g.add("Torch.linalg.cond", regular(2, 3, 3), 2)
g.add("Torch.linalg.cond", g.normal(4, 2))

# ---- cross, covariance --------------------------------------------------------------------------------------------
g.add("Torch.cross", g.normal(3), g.normal(3))
g.add("Torch.cross", g.normal(2, 3), g.normal(2, 3))
g.add("Torch.cross", g.normal(3, 3), g.normal(3, 3))
g.add("Torch.cross", g.normal(3, 2), g.normal(3, 2), 0)
g.add("Torch.cross", g.normal(2, 3), g.normal(1, 3), dim=-1)
g.add("Torch.linalg.cross", g.normal(2, 3), g.normal(1, 3))
g.add("Torch.linalg.cross", g.normal(3, 3), g.normal(3, 3))  # the last dimension, not the first of extent 3
g.add("Torch.linalg.cross", g.normal(3, 2), g.normal(3, 2), dim=0)
g.add("Torch.cross", g.integers(2, 3), g.integers(2, 3), grad=False)
g.add("Torch.cross", g.normal(3, dtype=c64), g.normal(3, dtype=c64))
g.add("Torch.cov", g.normal(3, 5))
g.add("Torch.cov", g.normal(5))
g.add("Torch.cov", g.normal(2, 5, dtype=c64))
g.add("Torch.cov", g.normal(3, 5), correction=0)
g.add("Torch.cov", g.normal(3, 4), fweights=torch.tensor([1, 2, 3, 1]))
g.add("Torch.cov", g.normal(3, 4), aweights=g.uniform(4, low=0.2))
g.add("Torch.cov", g.normal(3, 4), correction=0, aweights=g.uniform(4, low=0.2))
g.add("Torch.cov", g.normal(3, 4), fweights=torch.tensor([1, 2, 3, 1]), aweights=g.uniform(4, low=0.2))
g.add("Torch.cov", g.normal(3, 4), correction=0, fweights=torch.tensor([1, 2, 3, 1]), aweights=fixed(g.uniform(4, low=0.2)))
g.add("Torch.corrcoef", g.normal(3, 5))
g.add("Torch.corrcoef", g.normal(5), grad=False)

# ---- products -----------------------------------------------------------------------------------------------------
g.add("Torch.vdot", g.normal(4), g.normal(4))
g.add("Torch.linalg.vecdot", g.normal(2, 3, dtype=c64), g.normal(2, 3, dtype=c64))
g.add("Torch.linalg.vecdot", g.normal(2, 3), g.normal(3))
g.add("Torch.linalg.vecdot", g.normal(2, 3), g.normal(2, 3), dim=0)
g.add("Torch.inner", g.normal(2, 3), g.normal(3))
g.add("Torch.inner", g.normal(2, 2, 3), g.normal(4, 3))
g.add("Torch.inner", g.normal(), g.normal(3))
g.add("Torch.inner", g.normal(3), g.normal(3))
g.add("Torch.outer", g.normal(2), g.normal(3))
g.add("Torch.outer", g.normal(0), g.normal(3))
for name, shapes in (("addmm", ((2, 3), (2, 4), (4, 3))), ("addmv", ((2,), (2, 4), (4,))), ("addr", ((2, 3), (2,), (3,))),
                     ("addbmm", ((2, 3), (2, 2, 4), (2, 4, 3))), ("baddbmm", ((2, 2, 3), (2, 2, 4), (2, 4, 3)))):
    g.add(f"Torch.{name}", *(g.normal(*s) for s in shapes), beta=0, alpha=2)
    g.add(f"Torch.{name}", *(g.normal(*s) for s in shapes), beta=0.5, alpha=-1)
    g.add(f"Torch.{name}", *(g.integers(*s) for s in shapes), beta=2, alpha=3, grad=False)
    g.add(f"Tensor.{name}_", *(g.normal(*s) for s in shapes))
g.add("Torch.addmm", g.normal(1), g.normal(2, 4), g.normal(4, 3))
g.add("Torch.addmm", torch.tensor([float("nan")]), g.normal(2, 4), g.normal(4, 3), beta=0, grad=False)
g.add("Torch.addmm", g.normal(2, 3), g.normal(2, 0), g.normal(0, 3))
g.add("Torch.kron", g.normal(2), g.normal(2, 3))
g.add("Torch.kron", g.normal(1, 2, 2), g.normal(3))
g.add("Torch.kron", g.normal(), g.normal(2))
g.add("Torch.kron", g.integers(2, 2), g.normal(1, 2))
g.add("Functional.bilinear", g.normal(4), g.normal(3), g.normal(2, 4, 3))
g.add("Functional.bilinear", g.normal(2, 2, 4), g.normal(2, 2, 3), g.normal(5, 4, 3), g.normal(5))
g.add("Torch.chain_matmul", g.normal(2, 3), g.normal(3, 2))
g.add("Torch.linalg.multi_dot", [g.normal(3), g.normal(3, 2), g.normal(2)])
g.add("Torch.linalg.multi_dot", [g.normal(2, 3), g.normal(3, 4), g.normal(4, 2)])
g.add("Torch.matmul", g.normal(2, 0), g.normal(0, 3))
g.add("Torch.matmul", g.normal(3, 0, 4), g.normal(4, 2))
g.add("Torch.matmul", g.normal(0, 2, 3), g.normal(3))
g.add("Torch.matmul", g.normal(2, 3, dtype=c64), g.normal(3, dtype=c64))
g.add("Functional.linear", g.normal(3), g.normal(2, 3))
g.add("Functional.linear", g.normal(3), g.normal(3))
g.add("Functional.linear", g.normal(2, 3), g.normal(3))
g.add("Functional.linear", g.normal(0, 3), g.normal(2, 3), g.normal(2))

# ---- contractions ---------------------------------------------------------------------------------------------------
for equation, *shapes in (
    ("ij", (2, 3)), ("ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ij -> ji", (2, 3)),
    ("ii", (3, 3)), ("ii->i", (3, 3)), ("iij->ji", (2, 2, 3)), ("iii->i", (2, 2, 2)), ("iji->j", (2, 3, 2)),
    ("ij,jk", (2, 3), (3, 2)), ("bi,b", (2, 3), (2,)), ("Ab,bA", (2, 3), (3, 2)), ("Ba,bA", (2, 3), (4, 5)),
    ("zB,Bz->zB", (2, 3), (3, 2)), ("i,i->", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("i,j->ji", (2,), (3,)),
    ("ij,jk,kl", (2, 3), (3, 4), (4, 2)), ("ij,jk,ik->ijk", (2, 3), (3, 2), (2, 2)), ("ij,kl,jk->il", (2, 3), (2, 4), (3, 2)),
    ("i,i,i->i", (3,), (3,), (3,)), ("...ij,...jk", (2, 2, 3), (2, 3, 2)), ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("...", (2, 3)), ("...i->i...", (2, 3, 4)), ("...i->...", (2, 3, 4)), ("i...->...", (2, 3)), ("i...j->j...", (2, 3, 4)),
    ("...,...", (2, 3), (3,)), ("a...,...b->b...a", (2, 3), (3, 4)), ("...i,...i->...", (2, 1, 3), (4, 3)),
    ("... ij, ... jk -> ... ik", (2, 2, 3), (2, 3, 2)), ("ij,ij->", (2, 3), (1, 3)), ("bhid,bhjd->bhij", (1, 2, 3, 2), (1, 2, 2, 2)),
    ("i,", (3,), ()), ("...ii->...i", (2, 3, 3)), ("i...,...->i...", (2, 3), (3,)), ("ij,jk->ik", (2, 0), (0, 3)),
):
    g.add("Torch.einsum", equation, *(g.normal(*s) for s in shapes))
g.add("Torch.einsum", "ij,jk->ik", [g.normal(2, 3), g.normal(3, 2)])
g.add("Torch.einsum", "ij,jk->ik", g.normal(2, 3, dtype=c64), g.normal(3, 2, dtype=c64))
for dims in (0, 1, 2, [[0], [1]], [[1, 0], [0, 1]], [[-1], [0]], [[], []]):
    g.add("Torch.tensordot", g.normal(2, 2), g.normal(2, 2), dims)
g.add("Torch.tensordot", g.normal(2, 3, 4), g.normal(4, 3, 2), ([1, 2], [1, 0]))
g.add("Torch.tensordot", g.normal(2, 1), g.normal(3, 2), ([1], [0]))  # an extent of 1 is summed away
g.add("Torch.tensordot", g.normal(2, 3), g.normal(2, 3), dims=0)

# ---- distances, integrals ------------------------------------------------------------------------------------------
g.add("Torch.cdist", g.normal(0, 3), g.normal(2, 3))
g.add("Torch.cdist", g.normal(2, 0), g.normal(3, 0))
g.add("Torch.trapezoid", g.normal(3, 4), g.normal(4), dim=-1)

# ---- what only the lower triangle says, other norms ---------------------------------------------------------------
upper = g.normal(3, 3).triu(1) + torch.diag(torch.tensor([2.0, 1.0, 0.5]))
for options in ({}, {"atol": 0.75}, {"rtol": 0.4}):
    g.add("Torch.linalg.matrix_rank", upper, grad=False, hermitian=True, **options)
for p in (1, -1, float("inf"), -float("inf"), "fro", "nuc"):
    g.add("Torch.linalg.cond", regular(3, 3), p)
g.add("Torch.linalg.cond", regular(2, 3, 3), 1)

# ---- a limit for each matrix, the triangle that is read, results that depend on what is given -----------------------
pair = torch.stack([torch.diag(column(2, 1, 0.5)), torch.diag(column(4, 1, 0.5))])
for options in ({"rtol": column(0.3, 0.2)}, {"atol": column(0.0, 0.75)}, {"atol": column(0.75, 1.5), "rtol": column(0.1, 0.3)}):
    g.add("Torch.linalg.matrix_rank", pair, grad=False, **options)
    g.add("Torch.linalg.pinv", pair, grad=False, **options)
g.add("Torch.linalg.matrix_rank", pair[0], column(0.6, 1.5), grad=False)
g.add("Torch.linalg.pinv", pair[0], grad=False, rtol=column(0.3, 0.6).reshape(2, 1))
for dtype in (torch.float32, c64):
    lopsided = regular(3, 3, dtype=dtype) + torch.eye(3)
    for upper in (False, True):
        g.add("Torch.linalg.cholesky", lopsided, upper=upper)
g.add("Functional._scaled_dot_product_attention", g.normal(2, 5, 4), g.normal(2, 6, 4), g.normal(2, 6, 4))
points = g.normal(4, 3), g.normal(5, 3)
given = torch.cdist(*points) * 1.25
given[1, 2] = 0
g.add("Aten._cdist_backward", g.normal(4, 5), *points, 2.0, given, grad=False)
g.add("Torch.cov", g.integers(3, 4), aweights=g.uniform(4).double())
g.add("Torch.linalg.cond", torch.zeros(2, 0, 3), grad=False)
g.add("Torch.triangular_solve", g.normal(1, 2, 5, 1), g.normal(2, 5, 5) + 4 * torch.eye(5))
for shape in ((0, 3), (2, 0, 3)):
    g.add("Torch.linalg.matrix_rank", torch.zeros(shape), grad=False, rtol=column(0.1, 0.2, 0.3))
    g.add("Torch.linalg.pinv", torch.zeros(shape), grad=False, rtol=column(0.1, 0.2, 0.3))
g.save()
