"""What pytorch_known.txt says of PyTorch 1.13, shown without this program: python3 pytorch_proofs.py

Each proof compares PyTorch with itself (values with gradients, one call with the sum that it stands for) or with mpmath. A
proof that fails is printed: that version has no such defect. Exits 1 then.
"""
import math
import sys

import mpmath
import torch

f64, c128 = torch.float64, torch.complex128


def slope(f, x, h):
    """The derivative of the values, by central differences."""
    return ((f(x + h) - f(x - h)) / (2 * h)).item()


def gradient(f, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x).sum(), x)[0]


def dot():
    a, b = torch.tensor([1 + 2j, 3j], dtype=c128), torch.tensor([2 - 1j, 1 + 1j], dtype=c128)
    return torch.dot(a, b).item() != (a * b).sum().item()


def ne_():
    a = torch.tensor([1 + 2j, 1 + 3j] * 8, dtype=c128)  # vectors of it: a few elements are compared one by one
    return a.ne_(torch.tensor([1 + 3j, 2 + 4j] * 8, dtype=c128)).tolist()[:2] == [1j, 1 + 1j]


def huber_loss():
    x, t = torch.tensor([[0.25]], dtype=f64), torch.zeros(3, 1, dtype=f64)

    def loss(x):
        return torch.ops.aten.huber_loss(x, t, 1, 1.0)
    return abs(gradient(loss, x).item() - slope(loss, x, 1e-6)) > 0.1


def side_of_the_cut():
    wrong = 0
    for f, z, h in ((torch.asin, 2 + 0j, 1e-5), (torch.acos, 2 + 0j, 1e-5), (torch.asinh, -2j, 1e-5j)):
        z = torch.tensor(z, dtype=c128)
        values = slope(f, z, h)
        leaf = z.clone().requires_grad_()
        y = f(leaf)
        y.backward(torch.ones_like(y))
        wrong += abs(leaf.grad.conj().item() - values) > 1
    return wrong == 3


def bessel():
    x = torch.linspace(6, 60, 500, dtype=f64)
    worst = {}
    for name, order, of in (("j0", 0, mpmath.besselj), ("j1", 1, mpmath.besselj), ("y0", 0, mpmath.bessely), ("y1", 1, mpmath.bessely)):
        got = getattr(torch.special, f"bessel_{name}")(x).tolist()
        worst[name] = max(abs(g - float(of(order, v))) for g, v in zip(got, x.tolist()))
    print("   largest errors of bessel functions:", {k: f"{v:.1e}" for k, v in worst.items()})
    return all(v > 1e-12 for v in worst.values())


def polar():
    def f(r):
        return torch.view_as_real(torch.polar(r, torch.tensor([0.5], dtype=f64))).sum()
    r = torch.tensor([-0.75], dtype=f64)
    return abs(gradient(f, r).item() - slope(f, r, 1e-6)) > 1


def embedding_dense_backward():
    def f(g):
        return torch.ops.aten.embedding_dense_backward(g, torch.tensor([1, 1]), 2, -1, True).sum()
    g = torch.tensor([[0.5], [2.0]], dtype=f64)
    return abs(gradient(f, g)[0].item() - slope(f, g, 1e-6) / 2) > 0.1


def embedding_bag():
    indices, offsets, weights = torch.tensor([7, 1, 9, 4, 4]), torch.tensor([0, 3]), torch.ones(5, dtype=f64)
    table = torch.zeros(10, 1, dtype=f64)
    got = gradient(lambda t: torch._embedding_bag(t, indices, offsets, True, 0, False, weights)[0], table)
    return got.flatten().tolist() != [0, 1, 0, 0, 1, 0, 0, 1, 0, 1]  # that of row 4 is 2, divided by 2


bf16 = torch.bfloat16


def sums_of_ones():
    """More than 256 ones add up to 256 in bfloat16, whose next number is 258."""
    a, b, zero = torch.ones(1, 600, dtype=bf16), torch.ones(600, 1, dtype=bf16), torch.zeros(1, dtype=bf16)
    ones, index, F = torch.ones(1000, dtype=bf16), torch.zeros(1000, dtype=torch.long), torch.nn.functional
    falling = torch.full((1000,), -1.0, dtype=bf16)
    falling[0] = 1
    sums = {"mm": a @ b, "bmm": torch.bmm(a[None], b[None]), "mv": torch.mv(a, b[:, 0]), "addmv": torch.addmv(zero, a, b[:, 0]),
            "conv_tbc": torch.conv_tbc(a[None], b[None], zero), "scatter_add": zero.scatter_add(0, index, ones), "norm": ones.norm(1),
            "embedding": gradient(lambda w: F.embedding(index, w), zero[:, None]),
            "interpolate": gradient(lambda x: F.interpolate(x, size=(32, 32)), zero.view(1, 1, 1, 1)),
            "adaptive_avg_pool2d": gradient(lambda x: F.adaptive_avg_pool2d(x, (40, 40)), zero.view(1, 1, 1, 1)),
            "cummax": gradient(lambda x: torch.cummax(x, 0)[0], falling)[:1]}
    print("   sums of ones:", {k: v.item() for k, v in sums.items()})
    return all(v.item() == 256 for v in sums.values())


def small_products():
    """Every product and every partial sum is rounded."""
    a, b = torch.randn(8, 16).to(bf16), torch.randn(16, 8).to(bf16)
    total = torch.zeros(8, 8, dtype=bf16)
    for k in range(16):
        total = total + a[:, k:k + 1] * b[k:k + 1]
    return torch.equal(a @ b, total) and not torch.equal(a @ b, (a.double() @ b.double()).to(bf16))


def native_layer_norm():
    x = (torch.randn(64, 64) + 3).to(bf16)
    _, mean, rstd = torch.native_layer_norm(x, [64], None, None, 0.0)
    right = x.double().mean(1), 1 / x.double().std(1, unbiased=False)
    wrong = [(got.flatten() != want.to(bf16)).double().mean().item() for got, want in zip((mean, rstd), right)]
    print("   means and reciprocal deviations that are not the rounded ones:", wrong)
    return min(wrong) > 0.25


def matrix_exp():
    ordinary, nan = torch.full((3, 3), 2.0), torch.full((3, 3), float("nan"))
    return not torch.matrix_exp(ordinary.to(bf16)).isfinite().all() and not torch.matrix_exp(nan).isnan().any()


def special_values():
    inf, nan = torch.full((9,), float("inf")), torch.tensor([float("nan")])
    return (torch.i0(inf).isnan().all() and torch.nn.functional.softshrink(nan).item() == 0 and
            torch._add_relu(inf, inf).isfinite().all() and gradient(torch.special.i1e, nan).item() == 0.5 and
            torch.full((8,), 1e20 + 0j, dtype=torch.complex64).abs().isinf().all())


def pow_of_integers():
    base, exponent = torch.tensor([3]), torch.tensor([2.5], dtype=f64)
    wanted = 3.0 ** 2.5 * float(mpmath.log(3))
    return abs(gradient(lambda e: torch.pow(base, e), exponent).item() - wanted) > 1e-9


def pixel_unshuffle():
    return tuple(torch.pixel_unshuffle(torch.empty(1, 1, 0, 6), 3).shape) != (1, 9, 0, 2)


def max_pool3d_backward():
    c, x = torch.ones(2, 1, 1, 2, dtype=f64), torch.zeros(2, 1, 1, 2, dtype=f64)
    indices = torch.tensor([0, 1]).reshape(1, 1, 1, 2).expand(2, 1, 1, 2).transpose(0, -1).contiguous().transpose(0, -1)

    def adaptive(i):
        return torch.ops.aten.adaptive_max_pool3d_backward(c, x, i)

    def windows(i):
        return torch.ops.aten.max_pool3d_with_indices_backward(c, x, [1] * 3, [1] * 3, [0] * 3, [1] * 3, False, i)
    return all(not torch.equal(of(indices), of(indices.contiguous())) for of in (adaptive, windows))


def softmax_backward_data():
    c, y = torch.tensor([[1, 2], [4, 8]], dtype=f64), torch.tensor([[0.25, 0.75], [0.5, 0.5]], dtype=f64)
    of = torch.ops.aten._softmax_backward_data
    return not torch.equal(of(c, y.t().contiguous().t(), 1, f64), of(c, y, 1, f64))


def unique_consecutive():
    x = torch.tensor([1, 1, 2])
    return torch.unique_consecutive(x, True, False)[1].tolist() != torch.unique_consecutive(x, return_inverse=True)[1].tolist()


def native_dropout():
    return torch.ops.aten.native_dropout(torch.empty(0), 0.5, True)[1].dtype != torch.bool


def trigamma():
    x = torch.tensor([0.3, 1.7, -0.4], dtype=f64)
    wanted = [float(mpmath.psi(1, v)) for v in x.tolist()]
    return max(abs(g / w - 1) for g, w in zip(gradient(torch.digamma, x).tolist(), wanted)) > 1e-14


def rounded_constants():
    """Constants of these formulas are float32 numbers, of float64 tensors too."""
    x = torch.tensor([-0.5], dtype=f64)
    celu = gradient(lambda x: torch.celu(x, 0.3), x).item() / float(mpmath.exp(mpmath.mpf(-0.5) / mpmath.mpf(0.3)))
    hardsigmoid = gradient(torch.nn.functional.hardsigmoid, x).item() * 6
    norm = torch.linalg.vector_norm(torch.tensor([1.0, 2.0], dtype=f64), 2.3).item() / float((1 + mpmath.mpf(2) ** 2.3) ** (1 / mpmath.mpf(2.3)))
    return all(abs(v - 1) > 1e-10 for v in (celu, hardsigmoid, norm))


def frobenius_norm():
    return bool(gradient(lambda x: torch.frobenius_norm(x, [0, 1]), torch.zeros(2, 2, dtype=f64)).isnan().all())


def aminmax():
    return torch.tensor(1.0).aminmax(dim=0, keepdim=True)[0].dim() != 0


def linspace():
    """Trunc(4 - 3/49 k) does not fall to 2 before k = 17."""
    return 2 in torch.linspace(4, 1, 50, dtype=torch.int64).tolist()[:17]


def renorm():
    x = (torch.randn(5, 5, 5, dtype=torch.complex64, generator=torch.Generator().manual_seed(1)) * 5).requires_grad_()
    y = torch.renorm(x, float("inf"), 2, 0.5)
    return bool(torch.autograd.grad(y, x, torch.ones_like(y))[0].isnan().any())


def addcmul():
    a = torch.tensor([1.0], dtype=f64)
    got = gradient(lambda a: torch.addcmul(torch.zeros(1, dtype=f64), a, torch.tensor([100], dtype=torch.int8), value=2), a)
    return got.item() != 200


def addcdiv():
    b = torch.tensor([3.0], dtype=f64)
    got = gradient(lambda b: torch.addcdiv(torch.zeros(1, dtype=f64), torch.tensor([True]), b, value=3.14), b)
    return abs(got.item() / (-3.14 / 9) - 1) > 1e-9


def group_norm():
    x = torch.zeros(2, 3, 0)
    return bool(gradient(lambda w: torch.nn.functional.group_norm(x, 3, w), torch.ones(3)).isnan().any())


def slice_copy():
    return torch.slice_copy(torch.arange(5), 0, None, 4).tolist() != [0, 1, 2, 3]


def matrix_exp_of_degree_8():
    a = 0.01 * torch.tensor([[1, 2], [-2, 1]], dtype=f64)  # exp(0.01) times a rotation by 0.02
    want = math.exp(0.01) * torch.tensor([[math.cos(0.02), math.sin(0.02)], [-math.sin(0.02), math.cos(0.02)]], dtype=f64)
    return (torch.linalg.matrix_exp(a) - want).abs().max().item() > 1e-13


def lstsq():
    a = torch.tensor([[1.0, 1, 2], [1, 1, 1], [0, 0, 1]], dtype=f64)  # of rank 2
    ranks = [torch.linalg.lstsq(x, x[..., :1], driver="gelsy").rank for x in (a, a.clone(), torch.stack([a, a]))]
    return torch.cat([r.flatten() for r in ranks]).tolist() != [2, 2, 2, 2]


def igamma():
    got = torch.igamma(torch.tensor([501.0], dtype=f64), torch.tensor([501.0], dtype=f64)).item()
    return abs(got / float(mpmath.gammainc(501, 0, 501, regularized=True)) - 1) > 1e-11


def airy_ai():
    return abs(torch.special.airy_ai(torch.tensor([-2.5], dtype=f64)).item() - float(mpmath.airyai(-2.5))) > 1e-10


def digamma():
    x = -2.999932050704956
    want = float(mpmath.digamma(x))
    return abs(torch.digamma(torch.tensor(x, dtype=f64)).item() / want - 1) > 1e-12


def masked_select():
    x, weights = torch.arange(6, dtype=f64).reshape(2, 3).t(), torch.arange(6, dtype=f64)

    def f(x):
        return (torch.masked_select(x, torch.tensor(True)) * weights).sum()
    leaf = x.clone(memory_format=torch.preserve_format).requires_grad_()
    f(leaf).backward()
    return not torch.equal(leaf.grad.flatten(), weights)


def silu():
    z = torch.tensor([1.2 + 0.7j], dtype=c128)
    return not torch.allclose(gradient(lambda x: torch.ops.aten.silu_(x * 1).abs(), z), gradient(lambda x: (x * torch.sigmoid(x)).abs(), z))





def trace():
    return gradient(torch.trace, torch.ones(5, 1, dtype=f64)).flatten().tolist() != [1, 0, 0, 0, 0]


def native_group_norm_backward():
    x, dy = torch.randn(2, 6, 4, dtype=f64), torch.randn(2, 6, 4, dtype=f64)
    _, mean, rstd = torch.native_group_norm(x, None, None, 2, 6, 4, 3, 1e-5)

    def gradients(dy):
        return torch.ops.aten.native_group_norm_backward(dy, x, mean, rstd, None, 2, 6, 4, 3, [True, False, False])[0]
    return not torch.allclose(gradients(dy), gradients(dy.transpose(0, 2).contiguous().transpose(0, 2)))


PROOFS = [dot, ne_, huber_loss, side_of_the_cut, bessel, polar, embedding_dense_backward, embedding_bag, pow_of_integers,
          pixel_unshuffle, max_pool3d_backward, unique_consecutive, native_dropout, softmax_backward_data,
          trigamma, rounded_constants, frobenius_norm, aminmax, linspace, renorm, addcmul, addcdiv, group_norm, slice_copy, sums_of_ones, small_products,
          native_layer_norm, matrix_exp, special_values, matrix_exp_of_degree_8, lstsq, igamma, airy_ai, digamma, masked_select, silu,
          trace, native_group_norm_backward]
failed = [proof.__name__ for proof in PROOFS if not proof()]
print(f"{len(PROOFS) - len(failed)} of {len(PROOFS)} defects shown", *failed)
sys.exit(bool(failed))
