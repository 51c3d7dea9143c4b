"""What pytorch_known.txt says of PyTorch 1.13, shown without this program: python3 pytorch_proofs.py

Each proof compares PyTorch with itself (values with gradients, one call with the sum that it stands for) or with mpmath. A
proof that fails is printed: that version has no such defect. Exits 1 then.
"""
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


def igamma():
    got = torch.igamma(torch.tensor([501.0], dtype=f64), torch.tensor([501.0], dtype=f64)).item()
    return abs(got / float(mpmath.gammainc(501, 0, 501, regularized=True)) - 1) > 1e-11


def airy_ai():
    return abs(torch.special.airy_ai(torch.tensor([-2.5], dtype=f64)).item() - float(mpmath.airyai(-2.5))) > 1e-10


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


PROOFS = [dot, ne_, huber_loss, side_of_the_cut, bessel, polar, embedding_dense_backward, embedding_bag, igamma, airy_ai, masked_select, silu, trace,
          native_group_norm_backward]
failed = [proof.__name__ for proof in PROOFS if not proof()]
print(f"{len(PROOFS) - len(failed)} of {len(PROOFS)} defects shown", *failed)
sys.exit(bool(failed))
