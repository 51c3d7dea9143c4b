"""What pytorch_known.txt says of PyTorch 1.13, shown without this program: python3 pytorch_proofs.py

Each proof compares PyTorch with itself (values with gradients, one call with the steps that it stands for) or with mpmath. A
proof that fails is printed: that version has no such defect. So is a line of
pytorch_known.txt without a proof. Exits 1 then.
"""
import math
import pathlib
import sys

import mpmath
import torch

f64, c128, bf16, F = torch.float64, torch.complex128, torch.bfloat16, torch.nn.functional


def slope(f, x, h):
    """The derivative of the values, by central differences."""
    return ((f(x + h) - f(x - h)) / (2 * h)).item()


def gradient(f, x, c=None):
    """That of the sum of f(x), or of c f(x)."""
    x = x.clone().requires_grad_()
    y = f(x)
    return torch.autograd.grad(y, x, torch.ones_like(y) if c is None else c)[0]


def dot():
    a, b = torch.tensor([1 + 2j, 3j], dtype=c128), torch.tensor([2 - 1j, 1 + 1j], dtype=c128)
    return torch.dot(a, b).item() != (a * b).sum().item()


def ne_():
    a = torch.tensor([1 + 2j, 1 + 3j] * 8, dtype=c128)  # vectors of it: a few elements are compared one by one
    return a.ne_(torch.tensor([1 + 3j, 2 + 4j] * 8, dtype=c128)).tolist()[:2] == [1j, 1 + 1j]


def huber_loss():
    x, t, aten = torch.tensor([[0.25]], dtype=f64), torch.zeros(3, 1, dtype=f64), torch.ops.aten
    return all(abs(gradient(f, x).item() - slope(f, x, 1e-6)) > 0.1 for f in (
        lambda x: aten.huber_loss(x, t, 1, 1.0), lambda x: aten.mse_loss(x, t, 1), lambda x: aten.smooth_l1_loss(x, t, 1, 1.0)))


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


def ones(*shape):
    return torch.ones(*shape, dtype=bf16)


def zeros(*shape):
    return torch.zeros(*shape, dtype=bf16)


def are_256(kind, sums):
    """Sums of more than 256 ones are 256 in bfloat16, whose next number is 258."""
    sums = {k: v.max().item() for k, v in sums.items()}
    print(f"   {kind} of ones:", sums)
    return all(v == 256 for v in sums.values())


def sums_of_products():
    a, b, zero, one = ones(1, 600), ones(600, 1), zeros(1), ones(1, 1)
    return are_256("products", {
        "mm": a @ b, "bmm": torch.bmm(a[None], b[None]), "mv": torch.mv(a, b[:, 0]), "dot": torch.dot(a[0], b[:, 0]),
        "vdot": torch.vdot(a[0], b[:, 0]), "addmm": torch.addmm(zero, a, b), "addmv": torch.addmv(zero, a, b[:, 0]),
        "addbmm": torch.addbmm(zero[None], a[None], b[None]), "baddbmm": torch.baddbmm(zero.view(1, 1, 1), a[None], b[None]),
        "_addmm_activation": torch._addmm_activation(zero, a, b), "einsum": torch.einsum("ij,jk->ik", a, b),
        "chain_matmul": torch.chain_matmul(a, b, one), "multi_dot": torch.linalg.multi_dot([a, b, one]),
        "tensordot": torch.tensordot(a, b, 1), "bilinear": F.bilinear(a, one, ones(1, 600, 1)),
        "conv_tbc": torch.conv_tbc(a[None], b[None], zero)})


def sums_of_ones():
    zero, index, falling = zeros(1), torch.zeros(1000, dtype=torch.long), torch.cat([ones(1), -ones(999)])
    single = zeros(1199)
    single[599] = 1
    return are_256("sums", {
        "scatter_add": zero.scatter_add(0, index, ones(1000)), "index_add": zero.index_add(0, index, ones(1000)),
        "gather": gradient(lambda x: x.gather(0, index), zero), "take": gradient(lambda x: x.take(index), zero),
        "index_select": gradient(lambda x: x.index_select(0, index), zero), "scatter_reduce": zero.scatter_reduce(0, index, ones(1000), "sum"),
        "take_along_dim": gradient(lambda x: torch.take_along_dim(x, index, 0), zero),
        "cummax": gradient(lambda x: torch.cummax(x, 0)[0], falling), "cummin": gradient(lambda x: torch.cummin(x, 0)[0], -falling),
        "embedding": gradient(lambda w: F.embedding(index, w), zero[:, None]),
        "unfold": gradient(lambda x: x.unfold(0, 600, 1), zeros(1199)),
        "im2col": gradient(lambda x: F.unfold(x, (1, 600)), zeros(1, 1, 1, 1199)),
        "as_strided": gradient(lambda x: x.as_strided((600, 600), (1, 1)), zeros(1199)),
        "fold": F.fold(ones(1, 600, 600), (1, 1199), (1, 600)),
        "avg_pool1d": gradient(lambda x: F.avg_pool1d(x, 512, 1), zeros(1, 1, 1023)) * 512,
        "avg_pool2d": gradient(lambda x: F.avg_pool2d(x, (1, 512), 1), zeros(1, 1, 1, 1023)) * 512,
        "lp_pool1d": gradient(lambda x: F.lp_pool1d(x, 1.0, 600, 1), ones(1, 1, 1199)).max(),
        "lp_pool2d": gradient(lambda x: F.lp_pool2d(x, 1.0, (1, 600), 1), ones(1, 1, 1, 1199)).max(),
        "max_pool1d": gradient(lambda x: F.max_pool1d(x, 600, 1), single.view(1, 1, 1199)),
        "max_pool2d": gradient(lambda x: F.max_pool2d(x, (1, 600), 1), single.view(1, 1, 1, 1199)),
        "adaptive_avg_pool1d": gradient(lambda x: F.adaptive_avg_pool1d(x, 600), zeros(1, 1, 1)),
        "adaptive_avg_pool2d": gradient(lambda x: F.adaptive_avg_pool2d(x, (1, 600)), zeros(1, 1, 1, 1))})


def sums_over_two_axes():
    many, factor = ones(1000, 2, 3), zeros(2, 2)
    sums = [many.sum((0, 2)), many.nansum((0, 2)), many.mean((0, 2)) * 3000, many.nanmean((0, 2)) * 3000,
            gradient(lambda x: torch.kron(ones(1000, 3), x), factor),
            gradient(lambda x: torch.cartesian_prod(ones(1000), x, ones(3)), zeros(2)),
            gradient(lambda x: x.tile(1000, 3), zeros(2, 2)), gradient(lambda x: x.repeat(1000, 3), zeros(2, 2)),
            gradient(lambda x: torch.broadcast_tensors(x, ones(1000, 2, 3))[0], zeros(1, 2, 1)),
            gradient(lambda x: x.expand(1000, 2, 3), zeros(1, 2, 1)),
            gradient(lambda w: F.prelu(-many, w), zeros(2)).abs()]
    return all(set(s.flatten().tolist()) == {1024} for s in sums) and ones(3000).sum().item() == 3008


def adaptive_avg_pool3d():
    half = torch.float16
    cells = F.adaptive_avg_pool3d(torch.ones(1, 1, 60, 20, 20, dtype=half), (2, 1, 1))
    spread = gradient(lambda x: F.adaptive_avg_pool3d(x, (20, 20, 20)), torch.zeros(1, 1, 1, 1, dtype=half))
    return set(cells.flatten().tolist()) == {torch.tensor(2048 / 12000, dtype=half).item()} and spread.item() == 2048  # of 8000


def affine_grid():
    theta, rows, columns = drawn(1, 2, 3), 3, 4
    base = ones(1, rows, columns, 3)
    base[..., 0] = torch.linspace(-1, 1, columns, dtype=bf16) * (columns - 1) / columns
    base[..., 1] = (torch.linspace(-1, 1, rows, dtype=bf16) * (rows - 1) / rows)[:, None]
    steps = rounded_product(base.view(-1, 3), theta[0].t().contiguous()).view(1, rows, columns, 2)
    got = F.affine_grid(theta, [1, 1, rows, columns], align_corners=False)
    return torch.equal(got, steps) and not torch.equal(got, F.affine_grid(theta.double(), [1, 1, rows, columns], align_corners=False).to(bf16))


def adaptive_max_pool():
    """Cotangents of 256, 1, 1 and 1 meet in the middle of 3 x 3."""
    x, c = zeros(1, 1, 3, 3), torch.tensor([[[[256.0, 1], [1, 1]]]]).to(bf16)
    x[0, 0, 1, 1] = 1
    pools = [F.adaptive_max_pool2d, lambda x, size: F.adaptive_max_pool2d_with_indices(x, size)[0]]
    return all(gradient(lambda x: pool(x, 2), x, c)[0, 0, 1, 1].item() == 256 for pool in pools)


def istft():
    """A constant signal comes out too large: overlapping squares of the window add up to 256, or 2048."""
    ratios = []
    for dtype, n in ((bf16, 600), (torch.float16, 2400)):
        spectrum = torch.zeros(n // 2 + 1, n + 1, dtype=torch.complex64)
        spectrum[0] = n
        ratios.append(torch.istft(spectrum, n, 1, window=torch.ones(n, dtype=dtype))[n // 2].item())
    return ratios == [600 / 256, 2400 / 2048]


def nearest_exact():
    """600 cotangents of 1 meet in one element."""
    aten = torch.ops.aten
    got = [aten._upsample_nearest_exact1d_backward(ones(1, 1, 600), [600], [1, 1, 1]),
           aten._upsample_nearest_exact2d_backward(ones(1, 1, 1, 600), [1, 600], [1, 1, 1, 1]),
           aten._upsample_nearest_exact3d_backward(ones(1, 1, 1, 1, 600), [1, 1, 600], [1, 1, 1, 1, 1])]
    return all(g.item() == 256 for g in got)


def resampling():
    kinds = {"nearest": 1, "linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
    kinds = list(kinds.items()) + [("nearest", 2), ("nearest", 3)]
    return are_256("resampled sums", {
        f"{mode} of {n}": gradient(lambda x: F.interpolate(x, size=[1] * (n - 1) + [600], mode=mode), zeros(1, 1, *[1] * n))
        for mode, n in kinds})


def resampling_weights():
    """More than a quarter of the elements are not the rounded ones, to nearest or by a unit."""
    shares = {}
    for mode, n in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)):
        x = drawn(2, 3, *[7] * n)
        got, want = F.interpolate(x, size=[10] * n, mode=mode), F.interpolate(x.double(), size=[10] * n, mode=mode)
        shares[mode] = ((got.double() - want).abs() > want.abs() * 2.0 ** -8).double().mean().item()
    print("   resampled elements that are off by more than a rounding:", shares)
    return min(shares.values()) > 0.25


def norms():
    return are_256("norms", {
        "norm": ones(1000).norm(1), "vector_norm": torch.linalg.vector_norm(ones(1000), 1), "dist": torch.dist(ones(1000), zeros(1000), 1),
        "norm_except_dim": torch.norm_except_dim(ones(1, 1000), 1, 0), "matrix_norm": torch.linalg.matrix_norm(ones(1000, 1), 1)})


def norms_of_columns():
    """Of bfloat16, and not over the last dimension, the squares are summed in the dtype, too; the first norm anywhere."""
    return are_256("norms", {"columns": F.normalize(ones(1000, 2), dim=0)[0, :1].reciprocal().pow(2),
                             "rows": F.normalize(ones(1, 1000), p=1.0)[0, :1].reciprocal()})


def half_norms():
    a, zero = torch.ones(1, 3000, dtype=torch.float16), torch.zeros(1, 3000, dtype=torch.float16)
    got = [a.norm(), torch.linalg.vector_norm(a), torch.dist(a, zero), F.pairwise_distance(a, zero, eps=0)]
    got += [torch.embedding_renorm_(a.clone(), torch.tensor([0]), 1.0, 2.0)[0, 0].reciprocal()]
    print("   norms of 3000 ones:", [round(g.item(), 2) for g in got])
    return all(abs(g.item() - 2048 ** 0.5) < 0.1 for g in got)


def nll_loss():
    """More than a quarter of 40 sums of 200 are off by more than a unit."""
    wrong, wrong_pixels, of_entropy, aten = 0, 0, 0, torch.ops.aten
    for _ in range(40):
        x, t = drawn(200, 40), torch.randint(0, 40, (200,))
        want = F.nll_loss(x.double(), t, reduction="sum")
        wrong += (F.nll_loss(x, t, reduction="sum").double() - want).abs().item() > want.abs().item() * 2 ** -7
        sums = F.nll_loss(F.log_softmax(x, 1), t, reduction="sum")
        of_entropy += torch.equal(F.cross_entropy(x, t, reduction="sum"), sums) and torch.equal(aten.cross_entropy_loss(x, t, None, 2), sums)
        pixels = aten.nll_loss2d_forward(x[:, :, None, None], t[:, None, None], None, 2, -100)[0]
        wrong_pixels += (pixels.double() - want).abs().item() > want.abs().item() * 2 ** -7
    return wrong > 10 and wrong_pixels > 10 and of_entropy == 40


def reflection_pad3d():
    """27 cotangents of 1 + 2^-7 meet in a corner."""
    got = gradient(lambda x: F.pad(x, [4] * 6, mode="reflect"), zeros(1, 1, 5, 5, 5), torch.full((1, 1, 13, 13, 13), 1 + 2.0 ** -7, dtype=bf16))
    return got.max().item() < 27 * (1 + 2.0 ** -7) - 0.05


def circular_pad():
    """Nine cotangents of 1 + 2^-7 meet in each element."""
    got = gradient(lambda x: F.pad(x, [4] * 4, mode="circular"), zeros(1, 1, 4, 4), torch.full((1, 1, 12, 12), 1 + 2.0 ** -7, dtype=bf16))
    return abs(got.max().item() - 9 * (1 + 2.0 ** -7)) > 2.0 ** -5


def transposed_convolution():
    x, w = drawn(1, 3, 4, 4, 4), drawn(3, 3, 3, 3, 3)
    shapes = [(torch.convolution(t, u, None, [2] * 3, [2] * 3, [1] * 3, True, [1] * 3, 1).shape, F.conv_transpose3d(t, u, None, 2, 2).shape,
               F.conv_transpose2d(t[:, :, 0], u[:, :, 0], None, 2, 2).shape) for t, u in ((x, w), (x.float(), w.float()))]
    return all(a != b for a, b in zip(*shapes))


def products_of_terms():
    got = ones(1).index_reduce(0, torch.zeros(1000, dtype=torch.long), torch.full((1000,), 1 + 2.0 ** -7, dtype=bf16), "prod").item()
    many = torch.full((1000,), 1 + 2.0 ** -7, dtype=bf16)
    scattered = ones(1).scatter(0, torch.zeros(1000, dtype=torch.long), many, reduce="multiply").item()
    return max(got, scattered) < 0.6 * (1 + 2.0 ** -7) ** 1000


def rounded_product(a, b):
    """Every product and every partial sum is rounded."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=bf16)
    for k in range(a.shape[1]):
        total = total + a[:, k:k + 1] * b[k:k + 1]
    return total


def drawn(*shape):
    return torch.randn(*shape).to(bf16)


def small_products():
    a, b, w, c, squares = drawn(8, 16), drawn(16, 8), drawn(8, 16), drawn(8, 8), drawn(2, 8, 8)
    one, gradients = a @ b, [gradient(lambda x: f(x, w), a, c) for f in (F.linear, torch.inner)]
    return torch.equal(one, rounded_product(a, b)) and not torch.equal(one, (a.double() @ b.double()).to(bf16)) and all(
        torch.equal(g, rounded_product(c, w)) for g in gradients) and torch.equal(
        torch.linalg.matrix_power(squares, 2)[1], rounded_product(squares[1], squares[1]))


def addr():
    a, b = drawn(8), drawn(8)
    got = torch.addr(ones(8), a, b, beta=0.5, alpha=0.3)
    return torch.equal(got, ones(8) * 0.5 + (a[:, None] * 0.3) * b) and not torch.equal(
        got, (0.5 + 0.3 * a.double()[:, None] * b.double()).to(bf16))


def covariances():
    a = drawn(8, 16)
    d = a - a.mean(1, keepdim=True)
    c = torch.cov(a)
    root = c.diag().sqrt()
    return torch.equal(c, d @ d.t() / 15) and not torch.equal(c, torch.cov(a.double()).to(bf16)) and torch.equal(
        torch.corrcoef(a), (c / root[:, None] / root).clamp(-1, 1))


def euclidean_dist():
    a, b = drawn(8, 16), drawn(8, 16)
    squares = a.pow(2).sum(1, True), b.pow(2).sum(1, True)
    left = torch.cat([a * -2, squares[0], ones(8, 1)], 1)
    right = torch.cat([b, ones(8, 1), squares[1]], 1)
    got = torch.ops.aten._euclidean_dist(a, b)
    return torch.equal(got, torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist")) and torch.equal(
        got, (left @ right.t()).clamp_min(0).sqrt()) and not torch.equal(got, torch.cdist(a.double(), b.double()).to(bf16))


def cells():
    """Each cell is the composition of its steps, each layer that of its cells."""
    x, h, c, w, u = drawn(5, 2, 4), drawn(2, 3), drawn(2, 3), drawn(12, 4), drawn(12, 3)
    same, L, S = [], F.linear, torch.sigmoid
    i, f, z, o = (L(x[0], w) + L(h, u)).chunk(4, 1)
    cell = S(f) * c + S(i) * torch.tanh(z)
    same += zip(torch.lstm_cell(x[0], (h, c), w, u), (S(o) * torch.tanh(cell), cell))
    a, b = L(x[0], w[:9]).chunk(3, 1), L(h, u[:9]).chunk(3, 1)
    new = torch.tanh(a[2] + S(a[0] + b[0]) * b[2])
    same.append((torch.gru_cell(x[0], h, w[:9], u[:9]), (h - new) * S(a[1] + b[1]) + new))
    for f in (torch.tanh, torch.relu):
        same.append((getattr(torch, f"rnn_{f.__name__}_cell")(x[0], h, w[:3], u[:3]), f(L(h, u[:3]) + L(x[0], w[:3]))))

    def steps(cell, state):
        for at in x:
            state = cell(at, state)
            yield state[0] if isinstance(state, tuple) else state
    rest = (False, 1, 0.0, False, False, False)
    same.append((torch.lstm(x, (h[None], c[None]), [w, u], *rest)[0], torch.stack(list(steps(lambda at, s: torch.lstm_cell(at, s, w, u), (h, c))))))
    for name, n in (("gru", 9), ("rnn_tanh", 3), ("rnn_relu", 3)):
        one = getattr(torch, name + "_cell")
        same.append((getattr(torch, name)(x, h[None], [w[:n], u[:n]], *rest)[0], torch.stack(list(steps(lambda at, s: one(at, s, w[:n], u[:n]), h)))))
    return all(torch.equal(*pair) for pair in same)


def attention():
    q, k, v = [drawn(2, 5, 8) for _ in range(3)]
    y, weights = F._scaled_dot_product_attention(q, k, v, None, 0.0, True)
    wide = torch.softmax(q.double() @ k.double().transpose(1, 2) / math.sqrt(8), -1) @ v.double()
    return torch.equal(weights, torch.softmax(torch.bmm(q * 8 ** -0.5, k.transpose(1, 2)), -1)) and torch.equal(
        y, torch.bmm(weights, v)) and not torch.equal(y, wide.to(bf16))


def native_layer_norm():
    x = (torch.randn(64, 64) + 3).to(bf16)
    _, mean, rstd = torch.native_layer_norm(x, [64], None, None, 0.0)
    right = x.double().mean(1), 1 / x.double().std(1, unbiased=False)
    wrong = [(got.flatten() != want.to(bf16)).double().mean().item() for got, want in zip((mean, rstd), right)]
    print("   means and reciprocal deviations that are not the rounded ones:", wrong)
    return min(wrong) > 0.25


def group_statistics():
    """Means and reciprocal deviations are bfloat16, and results made of them."""
    x = (torch.randn(8, 64) + 3).to(bf16)
    _, mean, rstd = torch.native_group_norm(x.view(2, 4, 64), None, None, 2, 4, 64, 4, 0.0)
    wide = x.double() - x.double().mean(1, keepdim=True)
    wide = (wide / x.double().std(1, unbiased=False, keepdim=True)).to(bf16)
    results = F.group_norm(x.view(2, 4, 64), 4), F.instance_norm(x.view(2, 4, 64))
    return mean.dtype == rstd.dtype == bf16 and all((y.view(8, 64) != wide).double().mean().item() > 0.25 for y in results)


def native_batch_norm():
    x, c = drawn(8, 3), drawn(8, 3)
    _, mean, rstd = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)

    def gradient_of(mean, rstd):
        return torch.ops.aten.native_batch_norm_backward(c, x, None, None, None, mean, rstd, True, 1e-5, [True, False, False])[0]
    got = gradient(lambda x: torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0], x, c)
    return rstd.dtype == bf16 and torch.equal(got, gradient_of(mean, rstd))


def logcumsumexp():
    x, c = drawn(40), drawn(40)
    y, low = torch.logcumsumexp(x, 0), torch.tensor(torch.finfo(bf16).min, dtype=bf16)

    def behind(c):
        return ((torch.where(c > 0, c.log(), low) - y).flip(0).logcumsumexp(0).flip(0) + x).exp()
    return torch.equal(gradient(lambda x: torch.logcumsumexp(x, 0), x, c), behind(c) - behind(-c))


def i0e():
    """Elements behind full vectors: the polynomial of these is evaluated in bfloat16."""
    x = drawn(60) * 4
    wrong = torch.special.i0e(x) != torch.special.i0e(x.double()).to(bf16)
    return not wrong[:32].any() and wrong[32:].double().mean().item() > 0.25


def matrix_exp():
    ordinary, nan = torch.full((3, 3), 2.0), torch.full((3, 3), float("nan"))
    return not torch.matrix_exp(ordinary.to(bf16)).isfinite().all() and not torch.matrix_exp(nan).isnan().any()


def special_values():
    inf, nan = torch.full((9,), float("inf")), torch.tensor([float("nan")])
    return (torch.i0(inf).isnan().all() and torch.polygamma(2, inf).isnan().all() and torch.special.zeta(3, inf).isnan().all() and
            torch.special.modified_bessel_i1(inf).isnan().all() and torch.nn.functional.softshrink(nan).item() == 0 and
            torch._add_relu(inf, inf).isfinite().all() and torch.log1p(torch.full((9,), 3e38)).isinf().all() and
            torch.igamma(nan, torch.zeros(1)).item() == 0 and torch.igammac(nan, torch.zeros(1)).item() == 1 and gradient(torch.special.i1e, nan).item() == 0.5 and
            gradient(torch.special.i1, nan).item() == 0.5 and
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


def householder_product():
    v, tau = torch.tensor([[1.0, 0], [1.0, 1.0], [0.5, 0.3]], dtype=f64), torch.tensor([(1 + 1e-9) / 2.25, 0.7], dtype=f64)
    c = torch.tensor([[0.3, -0.2], [1.1, 0.4], [-0.7, 0.9]], dtype=f64)

    def explicit(v):
        q = torch.eye(3, dtype=f64)
        for k in range(2):
            u = torch.cat([torch.zeros(k, 1, dtype=f64), torch.ones(1, 1, dtype=f64), v[k + 1:, k:k + 1]])
            q = q @ (torch.eye(3, dtype=f64) - tau[k] * u @ u.t())
        return q[:, :2]
    return (gradient(lambda v: torch.linalg.householder_product(v, tau), v, c) - gradient(explicit, v, c)).abs().max().item() > 1e-9


def is_unwritten(call):
    """Is the result ever what was in memory, neither 0 nor NaN?"""
    for _ in range(20):
        junk = [torch.full((k,), 7.0, dtype=f64) for k in (1, 3, 1, 3)]
        del junk
        result = call()
        if bool((result.ne(0) & ~result.isnan()).any()):
            return True
    return False


def unwritten():
    target, x = torch.empty(0, dtype=torch.long), torch.empty(4, 3, 0, dtype=f64)
    none, classes = torch.empty(0, 3, dtype=f64), torch.empty(0, 3, dtype=torch.long)
    return is_unwritten(lambda: F.multi_margin_loss(none, target)) and is_unwritten(
        lambda: torch.ops.aten.multilabel_margin_loss_forward(none, classes, 2)[0]) and is_unwritten(
        lambda: torch._batch_norm_impl_index(x, None, None, None, None, True, 0.1, 1e-5, False)[1])


def as_strided_scatter():
    """The gradient is that of the elements that stay: 0 for the three that are written."""
    def one():
        junk = torch.full((100,), 7.0, dtype=f64)
        del junk
        return gradient(lambda x: torch.as_strided_scatter(x, torch.ones(3, dtype=f64), (3,), (1,)), torch.zeros(100, dtype=f64))
    return any(g[:3].abs().sum() or not g[3:].eq(1).all() for g in (one() for _ in range(20)))


def bitwise_or():
    return torch.ops.aten.bitwise_or(True, torch.tensor([True])).dtype != torch.bool


def rtruediv():
    return abs(torch.tensor([3]).__rtruediv__(torch.tensor([1.0], dtype=f64)).item() - 1 / 3) > 1e-10


def triplet_margin_loss():
    a, n, p = torch.tensor([[1, 2]]), torch.tensor([[4, -3]]), torch.tensor([[0.5, 1.5]], dtype=f64)
    return (F.triplet_margin_loss(a, p, n, margin=9) - F.triplet_margin_loss(a.double(), p, n.double(), margin=9)).abs().item() > 1e-9


def cosine_embedding_loss():
    one = torch.ones(1, 2)
    unsigned, signed = [F.cosine_embedding_loss(one, one, torch.tensor([255], dtype=t), margin=-0.5) for t in (torch.uint8, torch.int16)]
    return unsigned.item() != signed.item()


def igammac():
    got = gradient(lambda x: torch.special.gammaincc(torch.tensor([8]), x), torch.tensor([2.5], dtype=f64)).item()
    return abs(got / -float(mpmath.exp(-2.5) * mpmath.mpf(2.5) ** 7 / mpmath.factorial(7)) - 1) > 1e-9


def conv():
    return tuple(torch.conv1d(torch.empty(2, 0, 5), torch.empty(3, 0, 2), torch.ones(3)).shape) != (2, 3, 4)


def bmm():
    a = torch.empty(0, 2, 3)
    return torch.bmm(a, torch.empty(0, 3, 2, dtype=f64)).dtype == f64 and torch.mm(a[:, 0], torch.empty(3, 0, dtype=f64)).dtype == torch.float32


def conv_tbc():
    one = torch.ones(1, 1, 1, dtype=f64)
    return not torch.conv_tbc(one, one, torch.tensor([1j], dtype=c128)).is_complex()


def atan2():
    got = gradient(lambda x: torch.atan2(x, torch.tensor([100], dtype=torch.int8)), torch.tensor([0.5], dtype=f64)).item()
    return abs(got / (100 / (100 ** 2 + 0.25)) - 1) > 1


def poisson_nll_loss():
    x = torch.full((2,), 0.5, dtype=f64)
    return gradient(lambda t: F.poisson_nll_loss(x, t, full=True), torch.tensor([0.0, 3.0], dtype=f64)).isnan().tolist() == [True, False]


def addbmm_():
    x, a, b = torch.randn(5, 1, dtype=f64), torch.randn(5, 5, 5, dtype=f64), torch.randn(5, 5, 10, dtype=f64)
    return not torch.allclose(torch.ops.aten.addbmm_(x.clone(), a, b, beta=0.6), torch.addbmm(x, a, b, beta=0.6))


def addmv():
    one = torch.ones(2, 2, dtype=f64)
    return not torch.addmv(torch.full((2,), 1j, dtype=c128), one, one[0]).is_complex()


def cumprod_of_complex():
    z, c = torch.randn(3, 4, dtype=c128), torch.randn(3, 4, dtype=f64)
    of_complex = gradient(lambda x: torch.cumprod(x, 1, dtype=f64), z, c)
    return not torch.allclose(of_complex.real, gradient(lambda x: torch.cumprod(x, 1), z.real.clone(), c))


def trace():
    return gradient(torch.trace, torch.ones(5, 1, dtype=f64)).flatten().tolist() != [1, 0, 0, 0, 0]


def native_group_norm_backward():
    x, dy = torch.randn(2, 6, 4, dtype=f64), torch.randn(2, 6, 4, dtype=f64)
    _, mean, rstd = torch.native_group_norm(x, None, None, 2, 6, 4, 3, 1e-5)

    def gradients(dy):
        return torch.ops.aten.native_group_norm_backward(dy, x, mean, rstd, None, 2, 6, 4, 3, [True, False, False])[0]
    return not torch.allclose(gradients(dy), gradients(dy.transpose(0, 2).contiguous().transpose(0, 2)))


# In the order of their lines, each once.
LINES = [line.split(None, 3) for line in pathlib.Path(__file__).with_name("pytorch_known.txt").read_text().splitlines()
         if line and not line.startswith("#")]
NAMES = list(dict.fromkeys(line[2] for line in LINES))
torch.manual_seed(5)
without = [name for name in NAMES if name not in globals()]
failed = [name for name in NAMES if name not in without and not globals()[name]()]
print(f"{len(NAMES) - len(without) - len(failed)} of {len(NAMES)} defects shown", *failed)
if without:
    print("without a proof:", *without)
sys.exit(bool(failed or without))
