"""Goldens of aten operators: gradients as operators, and forms that only aten has. Run with python3
(PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__, limit=800_000)
aten = torch.ops.aten
f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
c64 = torch.complex64
inf, nan = float("inf"), float("nan")


def column(*values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


def call(name, *args, **kwargs):
    """An operator whose results are not differentiated again."""
    g.add(f"Aten.{name}", *args, grad=False, **kwargs)


def differentiated(name, *args, **kwargs):
    g.add(f"Aten.{name}", *args, **kwargs)


# ---- activations: f and f_backward ----------------------------------------------------------------------
x = torch.cat([g.normal(9, scale=3), column(0, -0.0, 1, -1, 3, -3, 6, 20, -20, 0.5, -0.5)])
c = g.normal(20)
for name, numbers in {
    "hardtanh": [(-1, 1), (-0.5, 2.0)],
    "hardswish": [()],
    "softshrink": [(0.5,)],
    "softplus": [(1, 20), (2.5, 4)],
    "glu": [(0,)],
    "silu": [()],
    "mish": [()],
    "threshold": [(0.0, -1.0)],
}.items():
    y = x[:20] if name == "glu" else x
    for n in numbers:
        differentiated(name, y, *n)
        cotangent = c[:10] if name == "glu" else c
        call(f"{name}_backward", cotangent, y, *(n[:1] if name == "threshold" else n))
differentiated("hardsigmoid", x, native=True)  # PyTorch's 1/6 is that of float32
call("hardsigmoid_backward", c, x, native=True)
call("log_sigmoid_backward", c.to(bf16), x.to(bf16), torch.exp(-x.abs()).to(bf16))
call("hardshrink_backward", c, x, 0.5)
call("prelu_backward", g.normal(2, 3, 4), g.normal(2, 3, 4), g.normal(3))
call("prelu_backward", c, x, g.normal(1))
differentiated("leaky_relu", x, 0.2)
call("leaky_relu_backward", c, x, 0.2, False)
call("leaky_relu_backward", c, x, 0.2, True)
differentiated("elu", x, 1.5, 1.25, 0.75)
differentiated("elu", x)
call("elu_backward", c, 1.5, 1.25, 0.75, False, x)
call("elu_backward", c, 1.5, 1.25, 0.75, True, aten.elu(x, 1.5, 1.25, 0.75))
for approximate in ("none", "tanh"):
    differentiated("gelu", x, approximate=approximate)
    call("gelu_backward", c, x, approximate=approximate)
    call("gelu_backward", c.to(bf16), x.to(bf16), approximate=approximate)
call("gelu_backward", c, x)
differentiated("log_sigmoid_forward", x)
call("log_sigmoid_backward", c, x, torch.exp(-x.abs()))
differentiated("sigmoid_backward", c, torch.sigmoid(x))
differentiated("tanh_backward", c, torch.tanh(x))
differentiated("tanh_backward", g.normal(6, dtype=c64), torch.tanh(g.normal(6, dtype=c64)))
differentiated("sigmoid_backward", g.normal(6, dtype=c64), g.normal(6, dtype=c64))
call("logit_backward", g.normal(6), column(0.1, 0.9, 0.5, 0.99, 0.01, 0.3), 0.05)
call("logit_backward", g.normal(6), column(0.1, 0.9, 0.5, 0.99, 0.01, 1.5))
call("rrelu_with_noise_backward", c, x, g.uniform(20, low=0.1, high=0.4), 0.125, 1 / 3, True, False)
call("rrelu_with_noise_backward", c, x, g.uniform(20), 0.125, 1 / 3, False, False)
differentiated("rrelu_with_noise", x, fixed(g.uniform(20)), 0.125, 1 / 3, False)
differentiated("_softmax", g.normal(3, 5, 2), 1, False)
differentiated("_softmax", g.normal(3, 5, 2), -1, False)
differentiated("_log_softmax", g.normal(3, 5, 2), 1, False)
differentiated("_softmax", torch.tensor(0.5), 0, False)
for dim in (0, 1, -1):
    z = g.normal(4, 5, 3)
    call("_softmax_backward_data", g.normal(4, 5, 3), torch.softmax(z, dim), dim, f32)
    call("_log_softmax_backward_data", g.normal(4, 5, 3), torch.log_softmax(z, dim), dim, f32)

differentiated("special_entr", column(0, 0.5, 1, 2, 7, -1))
differentiated("special_ndtr", g.normal(8, scale=3))
differentiated("special_modified_bessel_i0", g.normal(8, scale=3), grad=False)
differentiated("special_xlog1py", column(0, 1, 2, -1, 0.5), column(2, 2, 3, 0.5, -0.5))

# ---- losses: the reduction is a number -------------------------------------------------------------------
for reduction in (0, 1, 2):
    grad = g.normal(3, 4) if reduction == 0 else g.normal()
    a, b, sign = g.normal(3, 4, scale=2), g.normal(3, 4), torch.sign(g.normal(3, 4))
    p, t, w = g.uniform(3, 4, low=0.05, high=0.95), g.uniform(3, 4), g.uniform(3, 4)
    differentiated("mse_loss", a, b, reduction)
    call("mse_loss_backward", grad, a, b, reduction)
    differentiated("smooth_l1_loss", a, b, reduction, 0.5)
    call("smooth_l1_loss_backward", grad, a, b, reduction, 0.5)
    call("smooth_l1_loss_backward", grad, a, b, reduction, 1.0)
    differentiated("huber_loss", a, b, reduction, 0.5)
    call("huber_loss_backward", grad, a, b, reduction, 0.5)
    differentiated("soft_margin_loss", a, fixed(sign), reduction)
    call("soft_margin_loss_backward", grad, a, sign, reduction)
    differentiated("binary_cross_entropy", p, fixed(t), None, reduction)
    differentiated("binary_cross_entropy", p, fixed(t), fixed(w), reduction)
    call("binary_cross_entropy_backward", grad, p, t, None, reduction)
    call("binary_cross_entropy_backward", grad, p, t, w, reduction)
    differentiated("binary_cross_entropy_with_logits", a, fixed(t), None, None, reduction)
    differentiated("hinge_embedding_loss", a, fixed(sign), 0.5, reduction)
    differentiated("margin_ranking_loss", a, b, fixed(sign), 0.5, reduction)
    logp, classes = torch.log_softmax(g.normal(5, 4), 1), torch.tensor([0, 3, -100, 1, 2])
    rows = g.normal(5) if reduction == 0 else g.normal()
    weight = g.uniform(4, low=0.2)
    planes, planar = torch.log_softmax(g.normal(2, 3, 2, 4), 1), g.integers(2, 2, 4, low=0, high=3)
    planar[0, 0, 0] = 1
    plane_rows = g.normal(2, 2, 4) if reduction == 0 else g.normal()
    for wt, wt3 in ((None, None), (weight, g.uniform(3, low=0.2))):
        held = fixed(wt) if wt is not None else None
        differentiated("nll_loss_forward", logp, classes, held, reduction, -100)
        total = aten.nll_loss_forward(logp, classes, wt, reduction, -100)[1]
        call("nll_loss_backward", rows, logp, classes, wt, reduction, -100, total)
        held3 = fixed(wt3) if wt3 is not None else None
        differentiated("nll_loss2d_forward", planes, planar, held3, reduction, 1)
        total = aten.nll_loss2d_forward(planes, planar, wt3, reduction, 1)[1]
        call("nll_loss2d_backward", plane_rows, planes, planar, wt3, reduction, 1, total)
    scores, labels = g.normal(4, 5), torch.tensor([0, 4, 2, 2])
    per_row = g.normal(4) if reduction == 0 else g.normal()
    differentiated("multi_margin_loss", scores, labels, 2, 0.75, None, reduction)
    call("multi_margin_loss_backward", per_row, scores, labels, 1, 1.0, None, reduction)
    call("multi_margin_loss_backward", per_row, scores, labels, 2, 0.75, g.uniform(5), reduction)
    lists = torch.tensor([[0, 2, -1, 0, 0], [1, -1, 0, 0, 0], [4, 3, 2, 1, 0], [-1, 0, 0, 0, 0]])
    differentiated("multilabel_margin_loss_forward", scores, lists, reduction)
    marked = aten.multilabel_margin_loss_forward(scores, lists, reduction)[1]
    call("multilabel_margin_loss_backward", per_row, scores, lists, reduction, marked.double())
differentiated("mse_loss", g.normal(5), g.normal(5))
differentiated("kl_div", logp, fixed(g.uniform(5, 4)), 2)
call("mse_loss_backward", g.normal(), a, b, 1)

# ---- normalizations ----------------------------------------------------------------------------------------
for shape, over in (((4, 3, 6), (6,)), ((2, 3, 4), (3, 4)), ((5, 8), (8,))):
    x, w, b = g.normal(*shape, shift=0.5), g.normal(*over), g.normal(*over)
    differentiated("native_layer_norm", x, list(over), w, b, 1e-5)
    _, mean, rstd = aten.native_layer_norm(x.double(), list(over), w.double(), b.double(), 1e-5)
    for mask in ([True, True, True], [False, True, False]):
        call("native_layer_norm_backward", g.normal(*shape), x, list(over), mean.float(), rstd.float(), w, b, mask)
    call("native_layer_norm_backward", g.normal(*shape), x, list(over), mean.float(), rstd.float(), None, None,
         [True, False, False])
for shape in ((4, 3, 2, 2), (6, 3), (2, 3, 5)):
    x, w, b = g.normal(*shape, shift=0.5), g.normal(3), g.normal(3)
    rm, rv = g.normal(3), g.uniform(3, low=0.5, high=2)
    for train in (True, False):
        differentiated("native_batch_norm", x, w, b, fixed(rm), fixed(rv), train, 0.1, 1e-5)
        _, mean, rstd = aten.native_batch_norm(x.double(), w.double(), b.double(), rm.double(), rv.double(), train, 0.1, 1e-5)
        saved = (mean.float(), rstd.float())
        for mask in ([True, True, True],):
            call("native_batch_norm_backward", g.normal(*shape), x, w, rm, rv, *saved, train, 1e-5, mask)
        call("native_batch_norm_backward", g.normal(*shape), x, None, rm, rv, *saved, train, 1e-5, [True, False, False])
for shape, groups in (((2, 6, 3), 2), ((3, 4, 2, 2), 4), ((1, 6, 4), 3)):
    x = g.normal(*shape, shift=0.5)
    n, ch, rest = shape[0], shape[1], x[0, 0].numel()
    w, b = g.normal(ch), g.normal(ch)
    differentiated("native_group_norm", x, w, b, n, ch, rest, groups, 1e-5)
    _, mean, rstd = aten.native_group_norm(x.double(), w.double(), b.double(), n, ch, rest, groups, 1e-5)
    for mask in ([True, True, True], [True, False, False]):
        call("native_group_norm_backward", g.normal(*shape), x, mean.float(), rstd.float(), w, n, ch, rest, groups, mask)

# ---- convolutions --------------------------------------------------------------------------------------------
for xs, ws, bias, stride, padding, dilation, transposed, out_padding, groups in (
    ((1, 2, 5, 6), (3, 2, 3, 3), [3], [2, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ((2, 4, 6, 5), (2, 2, 3, 2), None, [1, 1], [0, 1], [2, 1], False, [0, 0], 2),
    ((2, 4, 9), (4, 1, 3), [4], [2], [1], [1], False, [0], 4),
    ((1, 3, 4, 4), (3, 2, 3, 3), [2], [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), [2], [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1),
):
    x, w = g.normal(*xs), g.normal(*ws)
    options = (stride, padding, dilation, transposed, out_padding, groups)
    b = None if bias is None else g.normal(*bias)
    differentiated("convolution", x, w, b, *options)
    y = aten.convolution(x, w, b, *options)
    for mask in ([True, True, bias is not None], [False, True, False]):
        call("convolution_backward", g.normal(*y.shape), x, w, bias, *options, mask)

# ---- pooling ---------------------------------------------------------------------------------------------------
x4, x5 = g.normal(1, 2, 7, 6), g.normal(1, 1, 4, 5, 4)
for kernel, stride, padding, ceil, count, divisor in (
    ([3, 2], [2, 2], [1, 0], False, True, None), ([3, 3], [2, 1], [1, 1], True, False, None),
    ([2, 2], [], [0, 0], False, True, 3), ([2, 2], [2, 2], [1, 1], True, True, None),
):
    y = aten.avg_pool2d(x4, kernel, stride, padding, ceil, count, divisor)
    differentiated("avg_pool2d", x4, kernel, stride, padding, ceil, count, divisor)
    call("avg_pool2d_backward", g.normal(*y.shape), x4, kernel, stride, padding, ceil, count, divisor)
y = aten.avg_pool3d(x5, [2, 2, 2], [2, 1, 2], [1, 1, 0], False, False, None)
call("avg_pool3d_backward", g.normal(*y.shape), x5, [2, 2, 2], [2, 1, 2], [1, 1, 0], False, False, None)
differentiated("_adaptive_avg_pool2d", x4, [3, 4])
call("_adaptive_avg_pool2d_backward", g.normal(1, 2, 3, 4), x4)
call("_adaptive_avg_pool2d_backward", g.normal(2, 1, 1), x4[0])
call("_adaptive_avg_pool3d_backward", g.normal(1, 1, 2, 3, 1), x5)
for kernel, stride, padding, dilation, ceil in (([3, 2], [2, 2], [1, 0], [1, 1], False), ([2, 2], [], [0, 0], [2, 1], True)):
    y, i = aten.max_pool2d_with_indices(x4, kernel, stride, padding, dilation, ceil)
    differentiated("max_pool2d_with_indices", x4, kernel, stride, padding, dilation, ceil)
    call("max_pool2d_with_indices_backward", g.normal(*y.shape), x4, kernel, stride, padding, dilation, ceil, i)
y, i = aten.max_pool3d_with_indices(x5, [2, 2, 2], [1, 2, 1])
call("max_pool3d_with_indices_backward", g.normal(*y.shape), x5, [2, 2, 2], [1, 2, 1], [0, 0, 0], [1, 1, 1], False, i)
y, i = aten.adaptive_max_pool2d(x4, [3, 2])
differentiated("adaptive_max_pool2d", x4, [3, 2])
call("adaptive_max_pool2d_backward", g.normal(*y.shape), x4, i)
differentiated("adaptive_max_pool3d", x5, [2, 2, 3])
y, i = aten.adaptive_max_pool3d(x5, [2, 2, 3])
call("adaptive_max_pool3d_backward", g.normal(*y.shape), x5, i)
y, i = aten.max_pool2d_with_indices(x4, [2, 2], [2, 2])
differentiated("max_unpool2d", y, i, [7, 6])
y, i = aten.max_pool3d_with_indices(x5, [2, 2, 2], [2, 2, 2])
differentiated("max_unpool3d", y, i, [4, 5, 4], [2, 2, 2], [0, 0, 0])

# ---- interpolation -----------------------------------------------------------------------------------------------
x3, x4, x5 = g.normal(1, 2, 5), g.normal(1, 2, 4, 5), g.normal(1, 1, 3, 4, 3)
for name, x, size, corners in (
    ("upsample_nearest1d", x3, [8], ()), ("upsample_nearest2d", x4, [7, 9], ()), ("upsample_nearest3d", x5, [5, 6, 4], ()),
    ("_upsample_nearest_exact1d", x3, [8], ()), ("_upsample_nearest_exact2d", x4, [7, 3], ()),
    ("_upsample_nearest_exact3d", x5, [5, 6, 4], ()),
    ("upsample_linear1d", x3, [8], (False,)), ("upsample_linear1d", x3, [3], (True,)),
    ("upsample_bilinear2d", x4, [7, 9], (False,)), ("upsample_bilinear2d", x4, [2, 9], (True,)),
    ("upsample_trilinear3d", x5, [5, 6, 4], (False,)), ("upsample_bicubic2d", x4, [7, 9], (True,)),
    ("upsample_bicubic2d", x4, [3, 8], (False,)), ("_upsample_bilinear2d_aa", x4, [2, 3], (False,)),
    ("_upsample_bicubic2d_aa", x4, [3, 2], (False,)),
):
    differentiated(name, x, size, *corners)
    y = getattr(aten, name)(x, size, *corners)
    call(f"{name}_backward", g.normal(*y.shape), size, list(x.shape), *corners)
differentiated("upsample_nearest2d", x4, [8, 10], 2.0, 2.0)
differentiated("upsample_nearest2d", x4, None, [2.0, 1.5])
differentiated("upsample_bilinear2d", x4, None, False, [1.5, 2.0])
differentiated("upsample_bilinear2d", x4, [6, 10], False, 1.6, 2.0)
call("upsample_bilinear2d_backward", g.normal(1, 2, 6, 10), [6, 10], [1, 2, 4, 5], False, 1.6, 2.0)
call("upsample_nearest2d_backward", g.normal(1, 2, 8, 10), [8, 10], [1, 2, 4, 5], 2.0, 2.0)
for mode, padding, corners in ((0, 0, False), (0, 1, True), (0, 2, False), (1, 0, True), (2, 1, False)):
    grid = g.uniform(1, 3, 4, 2, low=-1.2, high=1.2)
    call("grid_sampler_2d_backward", g.normal(1, 2, 3, 4), x4, grid, mode, padding, corners, [True, True])
call("grid_sampler_3d_backward", g.normal(1, 1, 2, 2, 3), x5, g.uniform(1, 2, 2, 3, 3, low=-1.1, high=1.1), 0, 0, False, [True, True])

# ---- shapes ----------------------------------------------------------------------------------------------------------
call("select_backward", g.normal(3, 5), [3, 4, 5], 1, 2)
call("select_backward", g.normal(3, 4), [3, 4, 5], -1, -2)
call("slice_backward", g.normal(3, 2, 5), [3, 6, 5], 1, 1, 5, 2)
call("slice_backward", g.normal(3, 6, 2), [3, 6, 5], 2, -2, 9223372036854775807, 1)
call("diagonal_backward", g.normal(2, 3), [2, 3, 4], 0, 1, 2)
call("diagonal_backward", g.normal(4, 2), [3, 4, 3], -1, 0, 2)
call("unfold_backward", g.normal(3, 3, 3), [3, 7], 1, 3, 2)
call("unfold_backward", g.normal(2, 4, 3), [5, 4], 0, 3, 2)
for name, shape, padding in (("1d", (2, 3, 5), [2, 1]), ("2d", (2, 3, 4, 5), [2, 1, 0, 3]), ("3d", (1, 2, 3, 4, 3), [1, 1, 2, 0, 1, 2])):
    for kind in ("reflection_pad", "replication_pad"):
        x = g.normal(*shape)
        y = getattr(aten, kind + name)(x, padding)
        call(f"{kind}{name}_backward", g.normal(*y.shape), x, padding)
differentiated("unfold_copy", g.normal(3, 7), 1, 3, 2)
differentiated("unfold", g.normal(3, 7), 1, 3, 2)
differentiated("im2col", g.normal(1, 2, 5, 5), [2, 3], [1, 1], [1, 0], [2, 1])
differentiated("col2im", aten.im2col(g.normal(1, 2, 5, 5), [2, 3], [1, 1], [1, 0], [2, 1]), [5, 5], [2, 3], [1, 1], [1, 0], [2, 1])
call("_to_copy", g.normal(3, 2), dtype=f64)
call("_to_copy", g.integers(3), dtype=torch.int32)
call("scatter", g.normal(3, 4), 1, g.integers(3, 2, low=0, high=4), 1.5)
call("scatter", g.normal(3, 4), 1, torch.tensor([[0, 1], [2, 3], [1, 0]]), 1.5, reduce="add")

# ---- distances, embeddings ---------------------------------------------------------------------------------------------
for p in (0.0, 1.0, 2.0, 3.0, inf):
    a, b = g.normal(2, 4, 3), g.normal(2, 5, 3)
    differentiated("_cdist_forward", a, b, p, None)
    call("_cdist_backward", g.normal(2, 4, 5), a, b, p, aten._cdist_forward(a.double(), b.double(), p, None))
    m = g.normal(5, 3)
    differentiated("_pdist_forward", m, p)
    call("_pdist_backward", g.normal(10), m, p, aten._pdist_forward(m.double(), p))
call("_euclidean_dist", g.normal(4, 3), g.normal(5, 3))
call("embedding_dense_backward", g.normal(2, 4, 3), g.integers(2, 4, low=0, high=6), 6, 2, False)
call("embedding_dense_backward", g.normal(2, 4, 3), g.integers(2, 4, low=0, high=6), 6, -1, True)

# ---- products, linear algebra ----------------------------------------------------------------------------------------------
differentiated("mm", g.normal(3, 4), g.normal(4, 2))
differentiated("bmm", g.normal(2, 3, 4), g.normal(2, 4, 2))
differentiated("addmm", g.normal(2), g.normal(3, 4), g.normal(4, 2), beta=0.5, alpha=2)
call("_addmm_activation", g.normal(2), g.normal(3, 4), g.normal(4, 2))
def positive_definite(n):
    m = g.normal(n, n)
    return m @ m.t() + n * torch.eye(n)
a = g.normal(2, 3, 3) + 3 * torch.eye(3)
call("_linalg_det", a)
call("_linalg_slogdet", a)
call("_linalg_solve_ex", a, g.normal(2, 3, 2))
call("linalg_solve_triangular", torch.triu(a), g.normal(2, 3, 2), upper=True)
call("linalg_solve_triangular", torch.tril(a), g.normal(2, 4, 3), upper=False, left=False)
call("linalg_solve_triangular", torch.tril(a), g.normal(2, 3, 4), upper=False, unitriangular=True)
call("_cholesky_solve_helper", g.normal(3, 2), torch.linalg.cholesky(positive_definite(3)), False)
differentiated("linalg_vector_norm", g.normal(3, 4), 3, [1], True)
differentiated("linalg_inv_ex", a)
differentiated("linalg_cholesky_ex", positive_definite(3))

packed, pivots, _ = torch.linalg.lu_factor_ex(a)
differentiated("linalg_lu", a)
differentiated("lu_unpack", packed, pivots)
call("lu_unpack", g.normal(4, 3), torch.tensor([3, 4, 3], dtype=torch.int32))
call("lu_unpack", g.normal(2, 3), torch.tensor([2, 2], dtype=torch.int32), True, False)
differentiated("linalg_lu_solve", packed, pivots, g.normal(2, 3, 2))
differentiated("linalg_lu_solve", packed, pivots, g.normal(2, 4, 3), left=False)
differentiated("linalg_lu_solve", packed, pivots, g.normal(2, 3, 2), adjoint=True)
g.add("Torch.lu_solve", g.normal(2, 3, 2), packed, pivots)
g.add("Tensor.lu_solve", g.normal(2, 3, 2), packed, pivots)

# ---- lists --------------------------------------------------------------------------------------------------------------------
def tensors(*dtypes):
    return [g.normal(3, dtype=d) for d in dtypes or (f32, f32)] + [g.normal(2, 2)]
for name in ("add", "sub", "mul", "div"):
    differentiated(f"_foreach_{name}", tensors(), tensors())
    differentiated(f"_foreach_{name}", tensors(), 0.5)
    differentiated(f"_foreach_{name}", tensors(), [0.5, 2.0, 3.0])
differentiated("_foreach_add", tensors(), tensors(), alpha=2)
differentiated("_foreach_maximum", tensors(), tensors())
differentiated("_foreach_minimum", tensors(), tensors())
for name in ("abs", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "neg", "sigmoid", "sin", "sinh",
             "tan", "tanh", "trunc", "atan"):
    differentiated(f"_foreach_{name}", tensors())
for name in ("sqrt", "log", "log10", "log1p", "log2", "reciprocal", "lgamma"):
    differentiated(f"_foreach_{name}", [g.uniform(3, low=0.5, high=2), g.uniform(2, 2, low=0.5)])
for name in ("acos", "asin"):
    differentiated(f"_foreach_{name}", [g.uniform(3, low=-0.9, high=0.9)])
for name in ("addcmul", "addcdiv"):
    differentiated(f"_foreach_{name}", tensors(), tensors(), tensors(), 0.5)
    differentiated(f"_foreach_{name}", tensors(), tensors(), tensors(), [0.5, 2.0, 1.0])

# ---- dropout: its mask is a result ------------------------------------------------------------------------------------------
call("native_dropout", g.normal(400), 0.3, True)
call("native_dropout", g.normal(40), 0.3, False)
call("native_dropout_backward", g.normal(40), g.uniform(40) < 0.7, 1 / 0.7)

# ---- distances that are given, and are not those of the points ---------------------------------------------------------
for p in (1.0, 1.5, 2.0, 3.0):
    m = g.normal(5, 3)
    call("_pdist_backward", g.normal(10), m, p, aten._pdist_forward(m.double(), p) + 0.25)

g.save()
