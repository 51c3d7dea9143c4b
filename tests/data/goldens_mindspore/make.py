"""Goldens of MindSpore's own signatures (docs/mindspore.md says which were compared with its reference pages): what
each function computes, written with elementary operations of PyTorch in float64, arguments under MindSpore's names and
with its defaults. Run with python3 (PyTorch 1.13)."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

F = torch.nn.functional
i32, i64, boolean = torch.int32, torch.int64, torch.bool
inf, nan = float("inf"), float("nan")
MS = {}


def op(*names):
    def keep(function):
        for name in names:
            MS[name] = function
        return function
    return keep


def axes_of(x, axis):
    if axis is None or axis == () or axis == []:
        return list(range(x.dim()))
    return [a % x.dim() for a in (axis if isinstance(axis, (tuple, list)) else [axis])]


# ---- elementwise ------------------------------------------------------------------------------------------------
for name in ("abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 neg "
             "reciprocal rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc deg2rad rad2deg").split():
    MS["Functional." + name] = MS["Tensor." + name] = MS["Mint." + name] = getattr(torch, name)
MS["Functional.inv"] = lambda x: 1 / x
MS["Functional.invert"] = torch.bitwise_not
MS["Functional.fast_gelu"] = lambda x: x * torch.exp(0.851 * (x - x.abs())) / (1 + torch.exp(-1.702 * x.abs()))
MS["Functional.gelu"] = lambda input, approximate="none": F.gelu(input, approximate=approximate)
MS["Functional.celu"] = lambda x, alpha=1.0: x.clamp(min=0) + (alpha * torch.expm1(x / alpha)).clamp(max=0)
MS["Functional.elu"] = lambda input_x, alpha=1.0: torch.where(input_x > 0, input_x, alpha * torch.expm1(input_x))
MS["Functional.leaky_relu"] = lambda input, alpha=0.2: torch.where(input >= 0, input, alpha * input)
MS["Functional.hardshrink"] = lambda input, lambd=0.5: torch.where(input.abs() > lambd, input, 0 * input)
MS["Functional.softshrink"] = lambda input, lambd=0.5: (input.abs() - lambd).clamp(min=0) * torch.sign(input)
MS["Functional.hardsigmoid"] = lambda input: ((input + 3) / 6).clamp(0, 1)
MS["Functional.hardswish"] = lambda x: x * ((x + 3) / 6).clamp(0, 1)
MS["Functional.hardtanh"] = lambda input, min_val=-1.0, max_val=1.0: input.clamp(min_val, max_val)
MS["Functional.relu"] = lambda input: input.clamp(min=0)
MS["Functional.relu6"] = lambda x: x.clamp(0, 6)
MS["Functional.selu"] = lambda input_x: 1.0507009873554804934193349852946 * torch.where(
    input_x > 0, input_x, 1.6732632423543772848170429916717 * torch.expm1(input_x))
MS["Functional.silu"] = lambda input: input * torch.sigmoid(input)
MS["Functional.mish"] = lambda x: x * torch.tanh(torch.log1p(torch.exp(x)))
MS["Functional.softsign"] = lambda x: x / (1 + x.abs())
MS["Functional.tanhshrink"] = lambda input: input - torch.tanh(input)
MS["Functional.logsigmoid"] = lambda x: -torch.log1p(torch.exp(-x))
MS["Functional.threshold"] = lambda input, thr, value: torch.where(input > thr, input, torch.full_like(input, value))
MS["Functional.glu"] = lambda x, axis=-1: x.chunk(2, axis)[0] * torch.sigmoid(x.chunk(2, axis)[1])
MS["Functional.prelu"] = lambda input, weight: torch.where(input > 0, input, weight.reshape(1, -1, 1) * input)
MS["Functional.cast"] = lambda input, dtype: input.to(dtype)


@op("Functional.softmax")
def softmax(input, axis=-1, *, dtype=None):
    e = torch.exp(input - input.amax(axis, keepdim=True).detach())
    return e / e.sum(axis, keepdim=True)


MS["Functional.softmin"] = lambda x, axis=-1, *, dtype=None: softmax(-x, axis)
MS["Functional.log_softmax"] = lambda logits, axis=-1: torch.log(softmax(logits, axis))

# ---- two and three arguments ------------------------------------------------------------------------------------
MS["Functional.equal"] = torch.eq
MS["Functional.floor_div"] = lambda x, y: torch.floor(x / y)
MS["Functional.floor_mod"] = lambda x, y: x - torch.floor(x / y).detach() * y
MS["Functional.truncate_div"] = lambda x, y: torch.div(x, y, rounding_mode="trunc")
MS["Functional.truncate_mod"] = lambda x, y: x - torch.trunc(x / y).detach() * y
MS["Functional.xdivy"] = lambda x, y: torch.where(x == 0, 0 * x, x / y)
MS["Functional.xlogy"] = lambda input, other: torch.where(input == 0, 0 * input, input * torch.log(other))
MS["Functional.bias_add"] = lambda input_x, bias: input_x + bias.reshape([1, -1] + [1] * (input_x.dim() - 2))
MS["Functional.addn"] = MS["Functional.accumulate_n"] = lambda x: sum(x[1:], x[0])
MS["Functional.addcdiv"] = lambda input, tensor1, tensor2, value=1: input + value * tensor1 / tensor2
MS["Functional.addcmul"] = lambda input, tensor1, tensor2, value=1: input + value * tensor1 * tensor2
MS["Functional.lerp"] = lambda input, end, weight: input + weight * (end - input)
MS["Functional.clip_by_value"] = lambda x, clip_value_min=None, clip_value_max=None: torch.clamp(
    x, clip_value_min, clip_value_max)
MS["Functional.where"] = lambda condition, input, other: torch.where(condition, input, other)
MS["Functional.select"] = lambda condition, input, other: torch.where(condition, input, other)
MS["Functional.masked_fill"] = lambda input_x, mask, value: torch.where(mask, torch.as_tensor(value, dtype=input_x.dtype), input_x)
MS["Functional.subtract"] = lambda input, other, *, alpha=1: input - alpha * other
MS["Functional.maximum"], MS["Functional.minimum"] = torch.maximum, torch.minimum
MS["Functional.pow"], MS["Functional.div"] = torch.pow, torch.div
MS["Functional.add"], MS["Functional.mul"], MS["Functional.sub"] = torch.add, torch.mul, torch.sub


# ---- reductions -------------------------------------------------------------------------------------------------
@op("Functional.var", "Tensor.var")
def var(input, axis=None, ddof=0, keepdims=False):
    a = axes_of(input, axis)
    n = math.prod(input.shape[i] for i in a)
    return ((input - input.mean(a, keepdim=True)) ** 2).sum(a, keepdim=keepdims) / (n - ddof)


MS["Functional.std"] = MS["Tensor.std"] = lambda *a, **k: torch.sqrt(var(*a, **k))
MS["Functional.var_mean"] = lambda input, axis=None, ddof=0, keepdims=False: (
    var(input, axis, ddof, keepdims), input.mean(axes_of(input, axis), keepdim=keepdims))
MS["Functional.std_mean"] = lambda input, axis=None, ddof=0, keepdims=False: (
    torch.sqrt(var(input, axis, ddof, keepdims)), input.mean(axes_of(input, axis), keepdim=keepdims))
MS["Functional.mean"] = MS["Tensor.mean"] = lambda x, axis=None, keep_dims=False: x.mean(axes_of(x, axis), keepdim=keep_dims)
MS["Functional.sum"] = lambda input, dim=None, keepdim=False, *, dtype=None: input.sum(axes_of(input, dim), keepdim=keepdim)
MS["Functional.prod"] = lambda input, axis=None, keep_dims=False, dtype=None: (
    input.prod() if axis is None else input.prod(axis, keepdim=keep_dims))
MS["Functional.all"] = lambda input, axis=None, keep_dims=False: input.sum(axes_of(input, axis), keepdim=keep_dims) == (
    torch.ones_like(input, dtype=i64).sum(axes_of(input, axis), keepdim=keep_dims))
MS["Functional.any"] = lambda input, axis=None, keep_dims=False: input.sum(axes_of(input, axis), keepdim=keep_dims) > 0
MS["Functional.amax"] = lambda input, axis=None, keepdims=False: input.amax(axes_of(input, axis), keepdim=keepdims)
MS["Functional.amin"] = lambda input, axis=None, keepdims=False: input.amin(axes_of(input, axis), keepdim=keepdims)
MS["Functional.max"] = lambda input, axis=None, keepdims=False: tuple(input.max(axis, keepdim=keepdims))
MS["Functional.min"] = lambda input, axis=None, keepdims=False: tuple(input.min(axis, keepdim=keepdims))
MS["Functional.argmax"] = lambda input, dim=None, keepdim=False: input.argmax(dim, keepdim)
MS["Functional.logsumexp"] = lambda input, axis, keep_dims=False: torch.log(torch.exp(input).sum(axes_of(input, axis), keepdim=keep_dims))
MS["Functional.count_nonzero"] = lambda x, axis=(), keep_dims=False, dtype=i32: (x != 0).sum(axes_of(x, axis), keepdim=keep_dims).to(i32)
MS["Functional.cumsum"] = lambda x, axis, dtype=None: torch.stack(
    [x.narrow(axis, 0, i + 1).sum(axis) for i in range(x.shape[axis])], axis)
MS["Functional.cumprod"] = lambda input, dim, dtype=None: torch.stack(
    [input.narrow(dim, 0, i + 1).prod(dim) for i in range(input.shape[dim])], dim)
MS["Functional.topk"] = lambda input, k, dim=None, largest=True, sorted=True: tuple(
    torch.topk(input, k, -1 if dim is None else dim, largest, sorted))
MS["Functional.sort"] = lambda input_x, axis=-1, descending=False: tuple(torch.sort(input_x, axis, descending))
MS["Functional.norm"] = lambda A, ord=None, dim=None, keepdim=False: torch.sqrt((A * A).sum(axes_of(A, dim), keepdim=keepdim))
MS["Functional.median"] = lambda input, axis=-1, keepdims=False: tuple(input.median(axis, keepdim=keepdims))
MS["Functional.trapz"] = lambda y, x=None, *, dx=1.0, dim=-1: torch.trapz(y, dx=dx, dim=dim) if x is None else torch.trapz(y, x, dim=dim)
MS["Functional.diff"] = lambda x, n=1, axis=-1: torch.diff(x, n, axis)

# ---- shapes -----------------------------------------------------------------------------------------------------
MS["Functional.reshape"] = lambda input, shape: input.reshape(shape)
MS["Functional.transpose"] = lambda input, input_perm: input.permute(input_perm)
MS["Functional.permute"] = lambda input, axis: input.permute(axis)
MS["Functional.squeeze"] = lambda input, axis=None: input.squeeze() if axis is None else input.squeeze(axis)
MS["Functional.expand_dims"] = lambda input_x, axis: input_x.unsqueeze(axis)
MS["Functional.flatten"] = lambda input, order="C", *, start_dim=1, end_dim=-1: input.flatten(start_dim, end_dim)
MS["Functional.tile"] = lambda input, dims: input.tile(dims)
MS["Functional.broadcast_to"] = lambda input, shape: input.broadcast_to(shape)
MS["Functional.flip"] = lambda input, dims: input.flip(dims)
MS["Functional.roll"] = lambda input, shifts, dims=None: input.roll(shifts, dims)
MS["Functional.stack"] = lambda tensors, axis=0: torch.stack(tensors, axis)
MS["Functional.concat"] = MS["Functional.cat"] = lambda tensors, axis=0: torch.cat(tensors, axis)
MS["Functional.split"] = lambda tensor, split_size_or_sections, axis=0: torch.split(tensor, split_size_or_sections, axis)
MS["Functional.unstack"] = lambda input_x, axis=0: input_x.unbind(axis)
MS["Functional.swapaxes"] = lambda input, axis0, axis1: input.swapaxes(axis0, axis1)
MS["Functional.narrow"] = lambda input, axis, start, length: input.narrow(axis, start, length)
MS["Functional.tril"] = lambda input, diagonal=0: input.tril(diagonal)
MS["Functional.meshgrid"] = lambda *inputs, indexing="xy": torch.meshgrid(*inputs, indexing=indexing)
MS["Functional.repeat_elements"] = lambda x, rep, axis=0: x.repeat_interleave(rep, axis)
MS["Functional.pad"] = lambda input_x, padding, mode="constant", value=None: F.pad(input_x, padding, mode, value or 0)


@op("Functional.slice")
def slice_(input_x, begin, size):
    for d, (b, s) in enumerate(zip(begin, size)):
        input_x = input_x.narrow(d, b, input_x.shape[d] - b if s == -1 else s)
    return input_x


MS["Functional.strided_slice"] = lambda input_x, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0: input_x[tuple(
    b if shrink_axis_mask >> i & 1 else slice(None if begin_mask >> i & 1 else b, None if end_mask >> i & 1 else e, s)
    for i, (b, e, s) in enumerate(zip(begin, end, strides or [1] * len(begin))))]
MS["Functional.assign"] = lambda variable, value: value.to(variable.dtype)


@op("Functional.clip_by_global_norm")
def clip_by_global_norm(x, clip_norm=1.0, use_norm=None):
    norm = torch.sqrt(sum((t * t).sum() for t in x))
    return [t * clip_norm / max(norm, torch.as_tensor(clip_norm, dtype=norm.dtype)) for t in x]


# ---- indexing ---------------------------------------------------------------------------------------------------
@op("Functional.gather")
def gather(input_params, input_indices, axis, batch_dims=0):
    axis %= input_params.dim()
    parts = [input_params.select(axis, int(i)) for i in input_indices.flatten()]
    rest = list(input_params.shape[:axis]) + list(input_params.shape[axis + 1:])
    return torch.stack(parts, axis).reshape(rest[:axis] + list(input_indices.shape) + rest[axis:])


MS["Functional.gather_d"] = lambda x, dim, index: torch.gather(x, dim, index)
MS["Functional.gather_elements"] = lambda input, dim, index: torch.gather(input, dim, index)
MS["Functional.index_select"] = lambda input, axis, index: torch.stack([input.select(axis, int(i)) for i in index], axis)
MS["Functional.index_add"] = lambda x, indices, y, axis, use_lock=True, check_index_bound=True: x.index_add(axis, indices, y)


@op("Functional.gather_nd")
def gather_nd(input_x, indices):
    depth = indices.shape[-1]
    rows = [input_x[tuple(int(i) for i in t)] for t in indices.reshape(-1, depth)]
    return torch.stack(rows).reshape(list(indices.shape[:-1]) + list(input_x.shape[depth:]))


def update_rows(x, tuples, updates, how):
    """The places that the tuples name, one after the other."""
    out = {}
    for t, u in zip(tuples, updates):
        out[t] = how(out.get(t, x[t]), u)
    rows = x.clone()
    for t, value in out.items():
        rows = rows.clone()
        rows[t] = value
    return rows


HOW = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
       "max": torch.maximum, "min": torch.minimum, "update": lambda a, b: b}


def scatter_tuples(kind):
    def run(input_x, indices, updates, use_locking=False):
        depth = indices.shape[-1]
        tuples = [tuple(int(i) for i in t) for t in indices.reshape(-1, depth)]
        return update_rows(input_x, tuples, updates.reshape([-1] + list(input_x.shape[depth:])), HOW[kind])
    return run


def scatter_first(kind):
    def run(input_x, indices, updates):
        tuples = [(int(i),) for i in indices.flatten()]
        return update_rows(input_x, tuples, updates.reshape([-1] + list(input_x.shape[1:])), HOW[kind])
    return run


for kind in HOW:
    MS["Functional.tensor_scatter_" + kind] = MS["Functional.scatter_nd_" + kind] = scatter_tuples(kind)
    MS["Functional.scatter_" + kind] = scatter_first(kind)
MS["Functional.inplace_add"] = lambda x, v, indices: scatter_first("add")(x, torch.tensor(indices), v)
MS["Functional.inplace_sub"] = lambda x, v, indices: scatter_first("sub")(x, torch.tensor(indices), v)
MS["Functional.scatter_nd"] = lambda indices, updates, shape: scatter_tuples("add")(
    torch.zeros(shape, dtype=updates.dtype), indices, updates)
MS["Functional.tensor_scatter_elements"] = lambda input_x, indices, updates, axis=0, reduction="none": (
    input_x.scatter(axis, indices, updates) if reduction == "none" else input_x.scatter_add(axis, indices, updates))


def segment(neutral, how):
    def run(x, segment_ids, num_segments):
        rest = x.shape[segment_ids.dim():]
        rows, ids = x.reshape([-1] + list(rest)), segment_ids.flatten()
        out = []
        for s in range(num_segments):
            found = [rows[i] for i in range(len(ids)) if ids[i] == s]
            value = found[0] if found else torch.full(rest, neutral, dtype=x.dtype)
            for row in found[1:]:
                value = how(value, row)
            out.append(value)
        return torch.stack(out)
    return run


MS["Functional.unsorted_segment_sum"] = segment(0, lambda a, b: a + b)
MS["Functional.unsorted_segment_prod"] = segment(1, lambda a, b: a * b)
MS["Functional.unsorted_segment_max"] = segment(torch.finfo(torch.float32).min, torch.maximum)
MS["Functional.unsorted_segment_min"] = segment(torch.finfo(torch.float32).max, torch.minimum)


@op("Functional.one_hot")
def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    mask = indices.unsqueeze(-1) == torch.arange(depth)
    hot = torch.where(mask, torch.as_tensor(on_value), torch.as_tensor(off_value))
    return hot.movedim(-1, axis)


MS["Functional.sequence_mask"] = lambda lengths, maxlen=None: torch.arange(maxlen or int(lengths.max())) < lengths.unsqueeze(-1)

# ---- creation ---------------------------------------------------------------------------------------------------
MS["Functional.eye"] = lambda n, m=None, dtype=None: torch.eye(n, m or n, dtype=dtype)
MS["Functional.ones"] = lambda shape, dtype=None: torch.ones(shape, dtype=dtype)
MS["Functional.full"] = lambda size, fill_value, *, dtype=None: torch.full(size, fill_value, dtype=dtype)
MS["Functional.fill"] = lambda type, shape, value: torch.full(shape, value, dtype=type)
MS["Functional.range"] = lambda start, end, step, maxlen=1000000: torch.arange(start, end, step)

# ---- products ---------------------------------------------------------------------------------------------------
MS["Functional.matmul"] = torch.matmul
MS["Functional.bmm"] = lambda input_x, mat2: torch.einsum("bij,bjk->bik", input_x, mat2)
MS["Functional.baddbmm"] = lambda input, batch1, batch2, beta=1, alpha=1: beta * input + alpha * torch.einsum("bij,bjk->bik", batch1, batch2)
MS["Functional.addmm"] = lambda input, mat1, mat2, *, beta=1, alpha=1: beta * input + alpha * torch.einsum("ij,jk->ik", mat1, mat2)
MS["Functional.addr"] = lambda x, vec1, vec2, *, beta=1, alpha=1: beta * x + alpha * vec1.unsqueeze(1) * vec2
MS["Functional.outer"] = lambda input, vec2: input.unsqueeze(1) * vec2
MS["Functional.dot"] = lambda input, other: torch.tensordot(input, other, [[-1], [-2]])
MS["Functional.tensor_dot"] = lambda x1, x2, axes: torch.tensordot(x1, x2, axes)
MS["Functional.dense"] = lambda input, weight, bias=None: input @ weight.T + (0 if bias is None else bias)

# ---- layers -----------------------------------------------------------------------------------------------------


def convolution(spatial):
    def run(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
        run_conv = (F.conv1d, F.conv2d, F.conv3d)[spatial - 1]
        s = [stride] * spatial if isinstance(stride, int) else list(stride)
        d = [dilation] * spatial if isinstance(dilation, int) else list(dilation)
        p = [padding] * spatial if isinstance(padding, int) else list(padding)
        pads = []
        for i in range(spatial):
            n, k = input.shape[2 + i], weight.shape[2 + i]
            total = max((-(-n // s[i]) - 1) * s[i] + d[i] * (k - 1) + 1 - n, 0) if pad_mode == "same" else 0
            both = [total // 2, total - total // 2]
            pads = ([p[i], p[i]] if pad_mode == "pad" else both) + pads
        return run_conv(F.pad(input, pads), weight, bias, s, 0, d, groups)
    return run


for n in (1, 2, 3):
    MS[f"Functional.conv{n}d"] = convolution(n)
MS["Functional.avg_pool1d"] = lambda input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True: F.avg_pool1d(
    input_x, kernel_size, stride, padding, ceil_mode, count_include_pad)
MS["Functional.avg_pool2d"] = lambda input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True: F.avg_pool2d(
    input_x, kernel_size, stride, padding, ceil_mode, count_include_pad)
MS["Functional.max_pool2d"] = lambda x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False: F.max_pool2d(
    x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@op("Functional.layer_norm")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    a = list(range(-len(normalized_shape), 0))
    y = (input - input.mean(a, keepdim=True)) / torch.sqrt(var(input, a, 0, True) + eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


@op("Functional.batch_norm")
def batch_norm(input_x, running_mean, running_var, weight, bias, training=False, momentum=0.1, eps=1e-5):
    shape = [1, -1] + [1] * (input_x.dim() - 2)
    y = (input_x - running_mean.reshape(shape)) / torch.sqrt(running_var.reshape(shape) + eps)
    return y * weight.reshape(shape) + bias.reshape(shape)


@op("Functional.rms_norm")
def rms_norm(x, gamma, epsilon=1e-6):
    r = 1 / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)
    return x * r * gamma, r


@op("Functional.rotary_position_embedding")
def rotary(x, cos, sin, mode=0):
    a, b = x.chunk(2, -1) if mode == 0 else (x[..., ::2], x[..., 1::2])
    turned = torch.cat([-b, a], -1) if mode == 0 else torch.stack([-b, a], -1).reshape(x.shape)
    return x * cos + turned * sin


@op("Functional.flash_attention_score")
def flash_attention_score(query, key, value, head_num, real_shift=None, drop_mask=None, padding_mask=None,
                          attn_mask=None, prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None, keep_prob=1.0,
                          scalar_value=1.0, pre_tokens=2147483647, next_tokens=2147483647, inner_precise=0,
                          input_layout="BSH", sparse_mode=0):
    def heads(x):
        if input_layout == "BNSD":
            return x
        return x.reshape(x.shape[0], x.shape[1], head_num, -1).transpose(1, 2)

    q, k, v = heads(query), heads(key), heads(value)
    scores = q @ k.transpose(-1, -2) * scalar_value
    if attn_mask is not None:
        scores = scores - 40000.0 * attn_mask
    out = softmax(scores) @ v
    return out if input_layout == "BNSD" else out.transpose(1, 2).reshape(query.shape)


# ---- losses -----------------------------------------------------------------------------------------------------
def reduced(loss, reduction):
    return {"none": loss, "mean": loss.mean(), "sum": loss.sum()}[reduction]


@op("Functional.smooth_l1_loss")
def smooth_l1_loss(input, target, beta=1.0, reduction="none"):
    d = (input - target).abs()
    return reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


MS["Functional.l1_loss"] = MS["Mint.l1_loss"] = MS["MintFunctional.l1_loss"] = lambda input, target, reduction="mean": reduced((input - target).abs(), reduction)
MS["Functional.mse_loss"] = MS["MintFunctional.mse_loss"] = lambda input, target, reduction="mean": reduced((input - target) ** 2, reduction)


@op("Functional.binary_cross_entropy", "MintFunctional.binary_cross_entropy")
def binary_cross_entropy(logits, labels, weight=None, reduction="mean"):
    loss = -(labels * torch.log(logits) + (1 - labels) * torch.log(1 - logits))
    return reduced(loss if weight is None else loss * weight, reduction)


def bce(x, y, weight, pos_weight, reduction):
    p = 1 if pos_weight is None else pos_weight
    loss = -(p * y * torch.log(torch.sigmoid(x)) + (1 - y) * torch.log(1 - torch.sigmoid(x)))
    return reduced(loss if weight is None else loss * weight, reduction)


MS["Functional.binary_cross_entropy_with_logits"] = lambda logits, label, weight=None, pos_weight=None, reduction="mean": bce(
    logits, label, weight, pos_weight, reduction)
MS["MintFunctional.binary_cross_entropy_with_logits"] = lambda input, target, weight=None, reduction="mean", pos_weight=None: bce(
    input, target, weight, pos_weight, reduction)


@op("Functional.cross_entropy")
def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    logs = torch.log(softmax(input, 1))
    rows = [-logs[i, t] for i, t in enumerate(target.tolist()) if t != ignore_index]
    return reduced(torch.stack(rows), reduction)


MS["Functional.kl_div"] = lambda logits, labels, reduction="mean": reduced(labels * (torch.log(labels) - logits), reduction)
MS["Functional.huber_loss"] = lambda input, target, reduction="mean", delta=1.0: reduced(
    torch.where((input - target).abs() <= delta, 0.5 * (input - target) ** 2, delta * ((input - target).abs() - 0.5 * delta)), reduction)
MS["Functional.margin_ranking_loss"] = lambda input1, input2, target, margin=0.0, reduction="mean": reduced(
    (-target * (input1 - input2) + margin).clamp(min=0), reduction)


# ---- arguments that differ from one release, or one overload, to the next --------------------------------------
for name in ("max", "min"):
    along = MS["Functional." + name]
    MS["Functional." + name] = lambda input, axis=None, keepdims=False, whole=getattr(torch, name), along=along: (
        (whole(input), torch.zeros((), dtype=i32)) if axis is None else along(input, axis, keepdims))
MS["Functional.max_pool3d"] = lambda x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False: F.max_pool3d(
    x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
for n in (1, 2, 3):
    MS[f"Functional.adaptive_max_pool{n}d"] = getattr(F, f"adaptive_max_pool{n}d")
MS["Functional.unique_consecutive"] = MS["Tensor.unique_consecutive"] = (
    lambda input, return_idx=False, return_counts=False, axis=None: torch.unique_consecutive(input, return_idx, return_counts, axis))
MS["Functional.softplus"] = lambda input, beta=1, threshold=20: torch.where(
    input * beta > threshold, input, torch.log1p(torch.exp(input * beta)) / beta)
MS["Functional.soft_margin_loss"] = lambda input, target, reduction="mean": reduced(torch.log1p(torch.exp(-target * input)), reduction)
MS["Tensor.norm"] = lambda self, ord=None, dim=None, keepdim=False: (
    torch.linalg.svdvals(self)[0] if ord == 2 and dim is None and self.dim() == 2 else MS["Functional.norm"](self, ord, dim, keepdim))
MS["Tensor.amax"], MS["Tensor.amin"] = MS["Functional.amax"], MS["Functional.amin"]
MS["Tensor.nansum"] = lambda self, axis=None, keepdims=False: self.nansum(axes_of(self, axis), keepdim=keepdims)
MS["Tensor.prod"] = MS["Functional.prod"]
MS["Tensor.gather"] = lambda self, input_indices, axis, batch_dims=0: gather(self, input_indices, axis)
MS["Tensor.index_add"] = MS["Functional.index_add"]
for kind in HOW:
    MS["Tensor.scatter_" + kind] = scatter_tuples(kind)
MS["Tensor.scatter"] = lambda self, axis, index, src: self.scatter(axis, index, src)
MS["Tensor.diagonal"] = lambda self, offset=0, axis1=0, axis2=1: self.diagonal(offset, axis1, axis2)
MS["Tensor.narrow"] = MS["Functional.narrow"]
MS["Tensor.topk"] = MS["Functional.topk"]
MS["Tensor.new_ones"] = lambda self, size, dtype=None: torch.ones(size, dtype=dtype)
MS["Mint.cumsum"] = lambda input, dim, dtype=None: MS["Functional.cumsum"](input, dim)
MS["Mint.eye"] = MS["Functional.eye"]


@op("Functional.nll_loss")
def nll_loss(inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    classes = inputs.shape[1]
    rows = [(1 - label_smoothing) * -inputs[i, t] - label_smoothing / classes * inputs[i].sum()
            for i, t in enumerate(target.tolist()) if t != ignore_index]
    return reduced(torch.stack(rows), reduction)



class MindSporeGoldens(Goldens):
    resolve = staticmethod(lambda api: MS[api])

    def add(self, api, *args, **kwargs):
        super().add(api, *args, **kwargs)
        self.records[-1]["framework"] = "mindspore"


g = MindSporeGoldens(__file__, seed=17, limit=1_000_000)
pos = lambda *s: g.uniform(*s, low=0.2, high=2.0)
frac = lambda *s: g.uniform(*s, low=-0.9, high=0.9)
mask = lambda *s: g.integers(*s, low=0, high=2).to(boolean)

for name in "abs asinh atan ceil cos cosh erf erfc exp exp2 expm1 floor neg sigmoid sign sin sinh square tan tanh trunc deg2rad rad2deg".split():
    g.add("Functional." + name, g.normal(3, 4))
for name in "log log10 log1p log2 reciprocal rsqrt sqrt inv".split():
    g.add("Functional." + name, pos(3, 4))
for name in "acos asin atanh".split():
    g.add("Functional." + name, frac(7))
g.add("Functional.acosh", g.uniform(5, low=1.1, high=3.0))
for name in "cos exp sqrt abs".split():
    g.add("Tensor." + name, pos(4))
    g.add("Mint." + name, pos(4))
g.add("Functional.invert", g.integers(5, dtype=i32))
for name in "relu relu6 hardsigmoid hardswish logsigmoid mish selu silu softsign tanhshrink fast_gelu gelu celu elu leaky_relu hardshrink softshrink hardtanh".split():
    g.add("Functional." + name, g.normal(3, 5, scale=2.0))
g.add("Functional.gelu", g.normal(9), approximate="tanh")
g.add("Functional.leaky_relu", g.normal(9), 0.01)
g.add("Functional.leaky_relu", g.normal(9), alpha=0.3)
g.add("Functional.celu", g.normal(9), 2.0)
g.add("Functional.elu", input_x=g.normal(9), alpha=1.0)
g.add("Functional.hardtanh", g.normal(9), min_val=-0.5, max_val=0.25)
g.add("Functional.threshold", g.normal(9), 0.1, 20)
g.add("Functional.glu", g.normal(3, 6))
g.add("Functional.glu", g.normal(4, 3), axis=0)
g.add("Functional.prelu", g.normal(2, 3, 4), pos(3))
g.add("Functional.cast", g.normal(6, scale=9.0), i32, grad=False)
for k in ({}, {"axis": 0}, {"axis": 1}):
    g.add("Functional.softmax", g.normal(3, 4, 5), **k)
    g.add("Functional.softmin", g.normal(3, 4, 5), **k)
    g.add("Functional.log_softmax", g.normal(3, 4, 5), **k)

for name in "add mul sub maximum minimum div".split():
    g.add("Functional." + name, g.normal(3, 4), pos(4))
g.add("Functional.pow", pos(3, 4), g.normal(4))
g.add("Functional.pow", pos(5), 3)
g.add("Functional.equal", g.integers(9), g.integers(9))
for name in "floor_mod truncate_mod".split():
    g.add("Functional." + name, g.normal(12, scale=5.0), pos(12))
for name in "floor_div truncate_div".split():
    g.add("Functional." + name, g.normal(12, scale=5.0), pos(12), grad=False)
g.add("Functional.xdivy", torch.tensor([0.0, 1.5, -2.0, 0.0]), torch.tensor([0.0, 2.0, 3.0, 4.0]), grad=False)
g.add("Functional.xdivy", pos(5), pos(5))
g.add("Functional.xlogy", pos(5), pos(5))
g.add("Functional.bias_add", g.normal(2, 3, 4, 5), g.normal(3))
g.add("Functional.bias_add", g.normal(4, 3), bias=g.normal(3))
g.add("Functional.addn", [g.normal(2, 3), g.normal(2, 3), g.normal(2, 3)])
g.add("Functional.accumulate_n", [g.normal(4), g.normal(4)])
g.add("Functional.addcdiv", g.normal(4), g.normal(4), pos(4), 0.5)
g.add("Functional.addcmul", g.normal(4), g.normal(4), pos(4), value=-2)
g.add("Functional.lerp", g.normal(4), g.normal(4), pos(4))
g.add("Functional.clip_by_value", g.normal(9), -0.5, 0.5)
g.add("Functional.where", mask(3, 4), g.normal(3, 4), g.normal(4))
g.add("Functional.select", mask(3, 4), g.normal(3, 4), g.normal(3, 4))
g.add("Functional.masked_fill", g.normal(3, 4), mask(3, 4), -7.5)
g.add("Functional.subtract", g.normal(4), g.normal(4), alpha=3)

for name in ("Functional.var", "Functional.std", "Tensor.var", "Tensor.std", "Functional.var_mean", "Functional.std_mean"):
    g.add(name, g.normal(3, 4))
    g.add(name, g.normal(3, 4), 1)
    g.add(name, g.normal(3, 4), axis=0, ddof=1, keepdims=True)
    if "_" not in name:
        g.add(name, g.normal(3, 4, 2), (0, 2), 1)
for k in ({}, {"axis": 1}, {"axis": (0, 1), "keep_dims": True}, {"axis": ()}):
    g.add("Functional.mean", g.normal(3, 4, 2), **k)
    g.add("Functional.all", mask(3, 4, 2), **k)
    g.add("Functional.any", mask(3, 4, 2), **k)
    g.add("Functional.count_nonzero", g.integers(3, 4, 2, low=-1, high=2), **k)
g.add("Tensor.mean", g.normal(3, 4), axis=1, keep_dims=True)
g.add("Functional.sum", g.normal(3, 4))
g.add("Functional.sum", g.normal(3, 4), 1, True)
g.add("Functional.sum", g.normal(3, 4, 2), dim=(0, 2))
g.add("Functional.prod", g.normal(3, 4))
g.add("Functional.prod", g.normal(3, 4), 1, True)
for name in ("amax", "amin"):
    g.add("Functional." + name, g.normal(3, 4))
    g.add("Functional." + name, g.normal(3, 4), axis=1, keepdims=True)
for name in ("max", "min"):
    g.add("Functional." + name, g.normal(3, 4), axis=1)
    g.add("Functional." + name, g.normal(3, 4), 0, True)
g.add("Functional.argmax", g.normal(3, 4))
g.add("Functional.argmax", g.normal(3, 4), dim=1, keepdim=True)
g.add("Functional.logsumexp", g.normal(3, 4), 1)
g.add("Functional.logsumexp", g.normal(3, 4), axis=(0, 1), keep_dims=True)
g.add("Functional.cumsum", g.normal(3, 4), 1)
g.add("Functional.cumsum", x=g.normal(3, 4), axis=0)
g.add("Functional.cumprod", pos(3, 4), 1)
g.add("Functional.topk", g.normal(3, 7), 2)
g.add("Functional.topk", g.normal(7, 3), 2, 0, False)
g.add("Functional.sort", g.normal(3, 7))
g.add("Functional.sort", g.normal(3, 7), 0, True)
g.add("Functional.norm", g.normal(3, 4))
g.add("Functional.norm", g.normal(3, 4), dim=1)
g.add("Functional.median", g.normal(3, 5))
g.add("Functional.median", g.normal(3, 5), 0, True)
g.add("Functional.trapz", g.normal(3, 4))
g.add("Functional.trapz", g.normal(3, 4), fixed(torch.tensor([0.0, 1.0, 2.5, 4.0])), dim=1)
g.add("Functional.diff", g.normal(3, 5), 1, 1)

g.add("Functional.reshape", g.normal(3, 4), (2, -1))
g.add("Functional.transpose", g.normal(2, 3, 4), (2, 0, 1))
g.add("Functional.permute", g.normal(2, 3, 4), (1, 0, 2))
g.add("Functional.squeeze", g.normal(1, 3, 1))
g.add("Functional.squeeze", g.normal(1, 3, 1), axis=0)
g.add("Functional.expand_dims", g.normal(3, 4), -1)
g.add("Functional.flatten", g.normal(2, 3, 4))
g.add("Functional.flatten", g.normal(2, 3, 4), start_dim=0, end_dim=1)
g.add("Functional.tile", g.normal(2, 3), (2, 2))
g.add("Functional.broadcast_to", g.normal(1, 3), (4, 3))
g.add("Functional.flip", g.normal(2, 3), (0, 1))
g.add("Functional.roll", g.normal(2, 5), 2, 1)
g.add("Functional.roll", g.normal(2, 5), shifts=3)
g.add("Functional.stack", [g.normal(2, 3), g.normal(2, 3)], 1)
g.add("Functional.concat", [g.normal(2, 3), g.normal(1, 3)])
g.add("Functional.cat", (g.normal(2, 3), g.normal(2, 1)), axis=1)
g.add("Functional.split", g.normal(4, 6), 2, axis=1)
g.add("Functional.split", g.normal(4, 6), [1, 3])
g.add("Functional.unstack", g.normal(2, 3), 1)
g.add("Functional.swapaxes", g.normal(2, 3, 4), 0, 2)
g.add("Functional.narrow", g.normal(5, 3), 0, 1, 3)
g.add("Functional.tril", g.normal(4, 4), -1)
g.add("Functional.meshgrid", g.normal(2), g.normal(3))
g.add("Functional.meshgrid", g.normal(2), g.normal(3), indexing="ij")
g.add("Functional.repeat_elements", g.normal(2, 3), 2, 1)
g.add("Functional.pad", g.normal(2, 3), (1, 2))
g.add("Functional.pad", g.normal(2, 3), [1, 0, 2, 1], "constant", 1.5)
g.add("Functional.slice", g.normal(4, 5), (1, 2), (2, -1))

g.add("Functional.strided_slice", g.normal(4, 5, 6), (1, 0, 4), (3, 5, 6), (1, 2, 1))
g.add("Functional.strided_slice", g.normal(4, 5, 6), (1, 0, -3), (3, -1, 6), begin_mask=1, end_mask=2, shrink_axis_mask=4)
g.add("Functional.strided_slice", g.normal(4, 5), (2,), (9,))
g.add("Functional.assign", fixed(g.normal(3)), g.normal(3))
g.add("Functional.clip_by_global_norm", [g.normal(3), g.normal(2, 2)], 0.5)
g.add("Functional.clip_by_global_norm", [g.normal(3, scale=0.01), g.normal(2, 2, scale=0.01)])
g.add("Functional.gather", g.normal(4, 5), torch.tensor([2, 0, 2]), 0)
g.add("Functional.gather", g.normal(4, 5), torch.tensor([[1, 4], [0, 0]]), 1)
g.add("Functional.gather", g.normal(3, 4, 5), torch.tensor(1), -2)
g.add("Functional.gather_d", g.normal(3, 4), 1, g.integers(3, 2, low=0, high=4))
g.add("Functional.gather_elements", g.normal(3, 4), 0, g.integers(2, 4, low=0, high=3))
g.add("Functional.index_select", g.normal(4, 5), 1, torch.tensor([4, 0]))
g.add("Functional.index_add", g.normal(4, 3), torch.tensor([0, 2, 0]), g.normal(3, 3), 0)
g.add("Functional.gather_nd", g.normal(3, 4, 5), torch.tensor([[0, 1], [2, 3], [0, 1]]))
g.add("Functional.gather_nd", g.normal(3, 4), torch.tensor([[[0, 1], [2, 3]]]))
repeated, single = torch.tensor([[0], [2], [0]]), torch.tensor([[3], [1], [0]])
for kind in "add sub mul div max min".split():
    g.add("Functional.tensor_scatter_" + kind, pos(4, 3), repeated, pos(3, 3))
    g.add("Functional.scatter_nd_" + kind, pos(4, 3), torch.tensor([[0, 1], [3, 2]]), pos(2))
    if kind != "update":
        g.add("Functional.scatter_" + kind, pos(4, 3), torch.tensor([1, 1, 3]), pos(3, 3))
g.add("Functional.scatter_update", g.normal(4, 3), torch.tensor([1, 3]), g.normal(2, 3), grad=False)
g.add("Functional.inplace_add", g.normal(4, 3), g.normal(2, 3), (0, 2))
g.add("Functional.inplace_sub", g.normal(4, 3), g.normal(2, 3), (1, 2))
g.add("Functional.scatter_nd", repeated, g.normal(3, 3), (4, 3))
g.add("Functional.tensor_scatter_elements", g.normal(3, 4), torch.tensor([[0, 1, 2, 0]]), g.normal(1, 4), grad=False)
g.add("Functional.tensor_scatter_elements", g.normal(3, 4), torch.tensor([[0, 0], [1, 3], [2, 2]]), g.normal(3, 2), 1, "add")
for kind in "sum prod max min".split():
    g.add("Functional.unsorted_segment_" + kind, pos(5, 2), torch.tensor([0, 2, 0, 2, 1]), 3)
    g.add("Functional.unsorted_segment_" + kind, pos(2, 3, 2), torch.tensor([[0, 1, 1], [0, 0, 1]]), 2)
g.add("Functional.unsorted_segment_sum", g.normal(3, 2), torch.tensor([0, 3, 0]), 4)
g.add("Functional.one_hot", g.integers(2, 3, low=0, high=4), 4, fixed(torch.tensor(2.5)), fixed(torch.tensor(-1.0)))
g.add("Functional.one_hot", torch.tensor([0, 5, 1]), 3, fixed(torch.tensor(1.0)), fixed(torch.tensor(0.0)), 0)
g.add("Functional.sequence_mask", torch.tensor([1, 3, 0]), 4)
g.add("Functional.sequence_mask", torch.tensor([[1, 3], [2, 0]]))

g.add("Functional.eye", 3)
g.add("Functional.eye", 2, 4, torch.float16)
g.add("Functional.ones", (2, 3), torch.float32)
g.add("Functional.full", (2, 3), 1.5)
g.add("Functional.fill", torch.float32, (2, 2), 7)
g.add("Functional.range", 2, 11, 3)

g.add("Functional.matmul", g.normal(2, 3, 4), g.normal(4, 5))
g.add("Functional.bmm", g.normal(2, 3, 4), g.normal(2, 4, 5))
g.add("Functional.baddbmm", g.normal(2, 3, 5), g.normal(2, 3, 4), g.normal(2, 4, 5), 0.5, 2)
g.add("Functional.addmm", g.normal(3, 5), g.normal(3, 4), g.normal(4, 5), beta=0.5, alpha=2)
g.add("Functional.addr", g.normal(3, 4), g.normal(3), g.normal(4), beta=2)
g.add("Functional.outer", g.normal(3), g.normal(4))
g.add("Functional.dot", g.normal(3, 4), g.normal(4, 5))
g.add("Functional.dot", g.normal(2, 3, 4), g.normal(2, 4, 5))
g.add("Functional.tensor_dot", g.normal(2, 3, 4), g.normal(4, 3, 5), ((1, 2), (1, 0)))
g.add("Functional.dense", g.normal(2, 3, 4), g.normal(5, 4), g.normal(5))

for k in ({}, {"pad_mode": "same"}, {"pad_mode": "same", "stride": 2}, {"pad_mode": "pad", "padding": 1},
          {"pad_mode": "same", "stride": 3, "dilation": 2}):
    g.add("Functional.conv1d", g.normal(2, 3, 9), g.normal(4, 3, 3), **k)
    g.add("Functional.conv2d", g.normal(2, 3, 8, 7), g.normal(4, 3, 3, 2), g.normal(4), **k)
g.add("Functional.conv2d", g.normal(1, 4, 6, 6), g.normal(4, 2, 3, 3), None, 1, "pad", (1, 2), 1, 2)
g.add("Functional.conv3d", g.normal(1, 2, 4, 4, 5), g.normal(3, 2, 2, 2, 2), pad_mode="same")
g.add("Functional.avg_pool1d", g.normal(2, 3, 8), 3)
g.add("Functional.avg_pool2d", g.normal(2, 3, 6, 6), 2)
g.add("Functional.avg_pool2d", g.normal(2, 3, 6, 6), kernel_size=2, stride=2, padding=1, count_include_pad=False)
g.add("Functional.max_pool2d", g.normal(2, 3, 6, 6), 2)
g.add("Functional.max_pool2d", g.normal(2, 3, 7, 7), 3, 2, 1, 1, True)
g.add("Functional.layer_norm", g.normal(2, 3, 4), (4,), pos(4), g.normal(4))
g.add("Functional.layer_norm", g.normal(2, 3, 4), [3, 4], eps=1e-3)
g.add("Functional.batch_norm", g.normal(4, 3, 5), fixed(g.normal(3)), fixed(pos(3)), pos(3), g.normal(3))
g.add("Functional.rms_norm", g.normal(2, 3, 8), pos(8), native=False, grad=False)
g.add("Functional.rotary_position_embedding", g.normal(1, 2, 3, 8), g.normal(1, 1, 3, 8), g.normal(1, 1, 3, 8))
g.add("Functional.flash_attention_score", g.normal(2, 4, 8), g.normal(2, 6, 8), g.normal(2, 6, 8), 2, scalar_value=0.5)
g.add("Functional.flash_attention_score", g.normal(1, 2, 4, 8), g.normal(1, 2, 4, 8), g.normal(1, 2, 4, 8), head_num=2,
      input_layout="BNSD", scalar_value=0.25, attn_mask=torch.ones(4, 4).triu(1).to(boolean))

g.add("Functional.smooth_l1_loss", g.normal(3, 4), g.normal(3, 4))
g.add("Functional.smooth_l1_loss", g.normal(3, 4), g.normal(3, 4), 0.5, "mean")
for name in ("Functional.l1_loss", "Functional.mse_loss", "MintFunctional.l1_loss", "MintFunctional.mse_loss"):
    g.add(name, g.normal(3, 4), g.normal(3, 4))
    g.add(name, g.normal(3, 4), g.normal(3, 4), "none")
for name in ("Functional.binary_cross_entropy", "MintFunctional.binary_cross_entropy"):
    g.add(name, g.uniform(3, 4, low=0.1, high=0.9), fixed(g.uniform(3, 4)))
    g.add(name, g.uniform(3, 4, low=0.1, high=0.9), fixed(g.uniform(3, 4)), fixed(pos(4)), "sum")
g.add("Functional.binary_cross_entropy_with_logits", g.normal(3, 4), fixed(g.uniform(3, 4)), fixed(pos(3, 4)), fixed(pos(4)))
g.add("Functional.binary_cross_entropy_with_logits", g.normal(3, 4), label=fixed(g.uniform(3, 4)), reduction="none")
g.add("MintFunctional.binary_cross_entropy_with_logits", g.normal(3, 4), fixed(g.uniform(3, 4)), fixed(pos(3, 4)), "sum", fixed(pos(4)))
g.add("Functional.cross_entropy", g.normal(5, 4), g.integers(5, low=0, high=4))
g.add("Functional.cross_entropy", g.normal(5, 4), torch.tensor([0, 2, 1, 2, 3]), None, 2, "sum")
g.add("Functional.nll_loss", g.normal(5, 4), g.integers(5, low=0, high=4))
g.add("Functional.kl_div", g.normal(3, 4), fixed(pos(3, 4)), "sum")
g.add("Functional.huber_loss", g.normal(9), g.normal(9), "sum", 0.7)
g.add("Functional.margin_ranking_loss", g.normal(9), g.normal(9), fixed(torch.tensor([1.0, -1.0, 1.0] * 3)), 0.1)
for name in ("max", "min"):
    g.add("Functional." + name, g.normal(3, 4))
    g.add("Functional." + name, g.normal(3, 4), None, True)
g.add("Functional.max_pool3d", g.normal(1, 2, 5, 5, 5), 2, 2, 0, 1, True)
g.add("Functional.max_pool3d", g.normal(1, 2, 4, 4, 4), 2, 2, 0, 1, False, True)
g.add("Functional.adaptive_max_pool1d", g.normal(2, 3, 8), 3, True)
g.add("Functional.adaptive_max_pool3d", g.normal(1, 2, 5, 4, 6), (2, 2, 3))
for name in ("Functional.unique_consecutive", "Tensor.unique_consecutive"):
    g.add(name, torch.tensor([1, 1, 2, 2, 2, 1]), return_idx=True, return_counts=True, grad=False)
    g.add(name, torch.tensor([[1, 1, 2], [1, 1, 2], [0, 1, 2]]), axis=0, grad=False)
MS["Functional.transpose"] = lambda input, dims: input.permute(dims)
g.add("Functional.transpose", g.normal(2, 3, 4), dims=(1, 2, 0))
for name in ("relu", "relu6", "hardswish", "mish", "silu", "softsign"):
    MS["Functional." + name] = lambda x, whole=MS["Functional." + name]: whole(x)
    g.add("Functional." + name, x=g.normal(6, scale=4.0))
g.add("Functional.softplus", g.normal(6, scale=9.0))
g.add("Functional.softplus", g.normal(6, scale=9.0), 2.0, 5.0)
g.add("Functional.soft_margin_loss", g.normal(5), fixed(torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0])))
g.add("Functional.nll_loss", g.normal(5, 4), g.integers(5, low=0, high=4), label_smoothing=0.2)
g.add("Functional.nll_loss", g.normal(5, 4), torch.tensor([0, 2, 1, 2, 3]), None, 2, "mean", 0.1)
g.add("Tensor.norm", g.normal(3, 4))
g.add("Tensor.norm", g.normal(3, 4), 2)
g.add("Tensor.norm", g.normal(3, 4), ord=2, grad=False)
g.add("Tensor.norm", g.normal(3, 4), dim=1, keepdim=True)
for name in ("amax", "amin", "nansum"):
    g.add("Tensor." + name, g.normal(3, 4), axis=1, keepdims=True)
g.add("Tensor.prod", g.normal(3, 4), axis=1, keep_dims=True)
g.add("Tensor.prod", g.normal(3, 4), 0, False, torch.float32)
g.add("Tensor.gather", g.normal(4, 5), torch.tensor([[1, 4], [0, 0]]), 1)
g.add("Tensor.gather", g.normal(4, 5), input_indices=torch.tensor([3, 0]), axis=0)
g.add("Tensor.index_add", g.normal(4, 3), torch.tensor([0, 2, 0]), g.normal(3, 3), 0)
for kind in "add sub mul div max min".split():
    g.add("Tensor.scatter_" + kind, pos(4, 3), torch.tensor([[0, 1], [3, 2]]), pos(2))
g.add("Tensor.scatter", g.normal(3, 4), axis=1, index=torch.tensor([[0], [2], [1]]), src=g.normal(3, 1))
g.add("Tensor.diagonal", g.normal(3, 4, 2), axis1=0, axis2=2)
g.add("Tensor.narrow", g.normal(5, 3), axis=0, start=1, length=3)
g.add("Tensor.topk", g.normal(3, 7), 2, None)
g.add("Tensor.new_ones", g.normal(3), (2, 3), torch.int32, grad=False)
g.add("Mint.cumsum", g.normal(3, 4), 1, torch.float32)
g.add("Mint.eye", 2, 3, torch.float16)
g.add("Mint.eye", 2, None, torch.float32)
MS["MintFunctional.softmax"] = lambda input, dim=None, dtype=None: softmax(input, 1)
g.add("MintFunctional.softmax", g.normal(3, 4), None, torch.float32)
g.add("Functional.rotary_position_embedding", g.normal(1, 2, 3, 8), g.normal(1, 1, 3, 8), g.normal(1, 1, 3, 8), mode=1)
for name in ("Functional.std", "Functional.var_mean", "Tensor.var"):
    g.add(name, g.normal(3, 4), 1, True)

# ---- what PyTorch has under other names ----------------------------------------------------------------------------
SPECIAL = {"i0e": "i0e", "i1": "i1", "i1e": "i1e", "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "k0": "modified_bessel_k0",
           "k0e": "scaled_modified_bessel_k0", "k1": "modified_bessel_k1", "k1e": "scaled_modified_bessel_k1"}
for name, their in SPECIAL.items():
    MS["Functional.bessel_" + name] = getattr(torch.special, their)
    g.add("Functional.bessel_" + name, g.uniform(6, low=0.1, high=0.8 if name[0] in "jy" else 9), grad=name[0] == "i")
MS["Functional.zeta"] = lambda input, other: torch.special.zeta(input, other)
g.add("Functional.zeta", g.uniform(5, low=1.5, high=4), g.uniform(5, low=1, high=3), grad=False)
MS["Functional.orgqr"] = torch.orgqr
g.add("Functional.orgqr", g.normal(4, 3), g.uniform(3), grad=False)
MS["Functional.ormqr"] = MS["Tensor.ormqr"] = torch.ormqr
for name in ("Functional.ormqr", "Tensor.ormqr"):
    g.add(name, g.normal(4, 3), g.uniform(3), g.normal(4, 2), True, True, grad=False)
MS["Functional.lu_unpack"] = torch.lu_unpack
g.add("Functional.lu_unpack", g.normal(3, 3), torch.tensor([2, 3, 3], dtype=i32), grad=False)
MS["Functional.lu_solve"] = lambda b, LU_data, LU_pivots: torch.lu_solve(b, LU_data, LU_pivots)
g.add("Functional.lu_solve", g.normal(3, 2), g.normal(3, 3) + 4 * torch.eye(3), torch.tensor([2, 3, 3], dtype=i32), grad=False)
MS["Functional.scalar_to_tensor"] = lambda input_x, dtype=None: torch.tensor(input_x, dtype=dtype)
g.add("Functional.scalar_to_tensor", 2.5, torch.float16, grad=False)
MS["Functional.tuple_to_array"] = lambda input_x: torch.tensor(input_x)
g.add("Functional.tuple_to_array", (1, 4, 2), grad=False)


@op("Functional.fractional_max_pool3d")
def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return F.fractional_max_pool3d(input, (kernel_size,) * 3, tuple(output_size), output_ratio, return_indices, _random_samples)


g.add("Functional.fractional_max_pool3d", g.normal(1, 2, 5, 6, 7), 2, output_size=(2, 3, 3), _random_samples=g.uniform(1, 2, 3), grad=False)


def box_codes(a):
    low, high = a[:, :2], a[:, 2:]
    return (low + high) / 2, high - low + 1


@op("Functional.bounding_box_encode")
def bounding_box_encode(anchor_box, groundtruth_box, means=(0, 0, 0, 0), stds=(1, 1, 1, 1)):
    (c, size), (c2, size2) = box_codes(anchor_box), box_codes(groundtruth_box)
    return (torch.cat([(c2 - c) / size, torch.log(size2 / size)], 1) - torch.tensor(means)) / torch.tensor(stds)


corners = lambda n: (lambda low: torch.cat([low, low + g.uniform(n, 2, low=2, high=9)], 1))(g.uniform(n, 2, high=20))
g.add("Functional.bounding_box_encode", corners(5), corners(5), grad=False)
g.add("Functional.bounding_box_encode", corners(5), corners(5), (0.5, 0.25, 0.125, 0.5), (0.5, 0.25, 2.0, 1.0), grad=False)

# ---- arrays ------------------------------------------------------------------------------------------------------
MS["Functional.approximate_equal"] = lambda x, y, tolerance=1e-5: (x - y).abs() < tolerance
near = g.normal(6)
g.add("Functional.approximate_equal", near, near + torch.tensor([0, 1e-6, 1e-4, 1, -1e-6, -1e-4]), grad=False)
g.add("Functional.approximate_equal", near, g.normal(6), 1.0, grad=False)
MS["Functional.eps"] = lambda x: torch.full_like(x, torch.finfo(x.dtype).eps)
for dtype in (torch.float32, torch.float16):
    g.add("Functional.eps", g.normal(3, dtype=dtype), grad=False, native=True)
MS["Functional.population_count"] = lambda input_x: torch.tensor([bin(int(i) & 0xffff).count("1") for i in input_x], dtype=torch.uint8)
g.add("Functional.population_count", torch.tensor([0, 1, -1, 255, -32768, 1234], dtype=torch.int16), grad=False)


@op("Functional.clip_by_norm")
def clip_by_norm(x, max_norm, norm_type=2.0, error_if_nonfinite=False):
    parts = list(x) if isinstance(x, (list, tuple)) else [x]
    norm = torch.sqrt(sum((p ** 2).sum() for p in parts))
    return tuple(p * (max_norm / (norm + 1e-6)).clamp(max=1.0) for p in parts)


g.add("Functional.clip_by_norm", [g.normal(3), g.normal(2, 2)], 1.0)
g.add("Functional.clip_by_norm", [g.normal(3), g.normal(2, 2)], 100.0)


@op("Functional.lrn")
def lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
    parts = [(x[:, max(0, c - depth_radius):c + depth_radius + 1] ** 2).sum(1) for c in range(x.shape[1])]
    return x / (bias + alpha * torch.stack(parts, 1)) ** beta


g.add("Functional.lrn", g.normal(2, 7, 2, 3), 2, 1.5, 0.3, 0.7)
g.add("Functional.lrn", g.normal(1, 3, 2, 2))


@op("Functional.batch_dot")
def batch_dot(x1, x2, axes=None):
    a, b = (x1.dim() - 1, x2.dim() - 1 if x2.dim() == 2 else x2.dim() - 2) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes, axes)
    y = torch.stack([torch.tensordot(p, q, ([a % x1.dim() - 1], [b % x2.dim() - 1])) for p, q in zip(x1, x2)])
    return y.unsqueeze(1) if y.dim() == 1 else y


g.add("Functional.batch_dot", g.normal(2, 3, 4), g.normal(2, 4, 5))
g.add("Functional.batch_dot", g.normal(3, 4), g.normal(3, 4))
g.add("Functional.batch_dot", g.normal(2, 3, 4), g.normal(2, 5, 3, 2), (1, 2))


@op("Functional.intopk")
def intopk(x1, x2, k):
    return torch.tensor([int((row > row[t]).sum()) < k for row, t in zip(x1, x2)])


g.add("Functional.intopk", torch.tensor([[1.0, 3, 2, 3], [4, 1, 2, 3], [0, 0, 1, 2]]), torch.tensor([1, 1, 0], dtype=i32), 2, grad=False)
g.add("Functional.intopk", g.normal(5, 7), torch.tensor([1, 6, 0, 3, 2], dtype=i32), 3, grad=False)


def spaces(x, sizes):
    return (sizes,) * (x.dim() - 2) if isinstance(sizes, int) else tuple(sizes)


@op("Functional.space_to_batch_nd")
def space_to_batch_nd(input_x, block_size, paddings):
    blocks = spaces(input_x, block_size)
    x = F.pad(input_x, [p for pair in reversed(paddings) for p in pair])
    lead = x.dim() - len(blocks)
    # every phase of the blocks is a strided slice
    phases = [[]]
    for b in blocks:
        phases = [p + [i] for p in phases for i in range(b)]
    return torch.cat([x[(slice(None),) * lead + tuple(slice(i, None, b) for i, b in zip(p, blocks))] for p in phases])


@op("Functional.batch_to_space_nd")
def batch_to_space_nd(input_x, block_size, crops):
    blocks = spaces(input_x, block_size)
    lead = input_x.dim() - len(blocks)
    shape = [n * b for n, b in zip(input_x.shape[lead:], blocks)]
    parts = input_x.chunk(math.prod(blocks))
    y = input_x.new_zeros(*parts[0].shape[:lead], *shape)
    phases = [[]]
    for b in blocks:
        phases = [p + [i] for p in phases for i in range(b)]
    for p, part in zip(phases, parts):
        y[(slice(None),) * lead + tuple(slice(i, None, b) for i, b in zip(p, blocks))] = part
    return y[(slice(None),) * lead + tuple(slice(c[0], n - c[1]) for c, n in zip(crops, shape))]


g.add("Functional.space_to_batch_nd", g.normal(2, 3, 4, 6), [2, 3], [[1, 1], [0, 0]])
g.add("Functional.space_to_batch_nd", g.normal(1, 2, 4, 4), 2, [[0, 0], [1, 1]])
g.add("Functional.batch_to_space_nd", g.normal(12, 2, 2, 3), [2, 3], [[1, 0], [1, 2]])
g.add("Functional.batch_to_space_nd", g.normal(4, 1, 2, 2), 2, [[0, 0], [0, 0]])


@op("Functional.col2im")
def col2im(input_x, output_size, kernel_size, dilation, padding_value, stride):
    return F.fold(input_x.flatten(1, 2), tuple(output_size.tolist()) if isinstance(output_size, torch.Tensor) else output_size, kernel_size, dilation, padding_value, stride)


g.add("Functional.col2im", g.normal(2, 3, 4, 20), torch.tensor([5, 6], dtype=i32), (2, 2), 1, 0, 1)
g.add("Functional.col2im", g.normal(1, 2, 6, 6), torch.tensor([5, 6], dtype=i32), (2, 3), (2, 1), (1, 0), (2, 2))
MS["Functional.padding"] = lambda x, pad_dim_size=8: torch.cat([x, torch.zeros(*x.shape[:-1], pad_dim_size - 1, dtype=x.dtype)], -1)
g.add("Functional.padding", g.normal(2, 3, 1), 4)
g.add("Functional.padding", torch.tensor([[1], [2]]), grad=False)


@op("Functional.reverse_sequence")
def reverse_sequence(x, seq_lengths, seq_dim, batch_dim=0):
    rows = []
    for row, n in zip(x.unbind(batch_dim), seq_lengths.tolist()):
        d = seq_dim - (seq_dim > batch_dim)
        rows.append(torch.cat([row.narrow(d, 0, n).flip(d), row.narrow(d, n, row.shape[d] - n)], d))
    return torch.stack(rows, batch_dim)


g.add("Functional.reverse_sequence", g.normal(3, 4, 2), torch.tensor([0, 3, 4], dtype=i32), 1)
g.add("Functional.reverse_sequence", g.normal(4, 2, 3), torch.tensor([1, 3, 4]), 0, 2)


@op("Functional.sparse_segment_mean")
def sparse_segment_mean(x, indices, segment_ids):
    rows = []
    for s in range(int(segment_ids[-1]) + 1):
        own = indices[segment_ids == s].long()
        rows.append(x[own].mean(0) if len(own) else torch.zeros_like(x[0]))
    return torch.stack(rows)


g.add("Functional.sparse_segment_mean", g.normal(5, 3), torch.tensor([0, 3, 3, 1], dtype=i32), torch.tensor([0, 0, 2, 2], dtype=i32))


def diagonals_of(rows, columns, k, align, longest):
    """Row and column of every element on the diagonals, with its place: which diagonal, and where in it."""
    low, high = (k, k) if isinstance(k, int) else k
    above, below = align.split("_")
    for which, d in enumerate(range(high, low - 1, -1)):
        cells = [(r, r + d) for r in range(rows) if 0 <= r + d < columns]
        right = above == "RIGHT" if d > 0 else below == "RIGHT" if d < 0 else "RIGHT" in (above, below)
        for i, cell in enumerate(cells):
            yield cell, which, i + (longest - len(cells) if right else 0)


def several(k):
    return not isinstance(k, int) and k[0] != k[1]


@op("Functional.matrix_diag")
def matrix_diag(x, k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    low, high = (k, k) if isinstance(k, int) else k
    longest = x.shape[-1]
    rows, columns = longest - min(high, 0), longest + max(low, 0)
    if num_rows == num_cols == -1:
        rows = columns = max(rows, columns)
    else:
        rows, columns = (rows if num_rows == -1 else num_rows), (columns if num_cols == -1 else num_cols)
    x = x if several(k) else x.unsqueeze(-2)
    y = torch.zeros(*x.shape[:-2], rows, columns, dtype=x.dtype) + padding_value
    for (r, c), which, i in diagonals_of(rows, columns, k, align, longest):
        y[..., r, c] = x[..., which, i]
    return y


@op("Functional.matrix_diag_part")
def matrix_diag_part(x, k, padding_value, align="RIGHT_LEFT"):
    low, high = (k, k) if isinstance(k, int) else k
    rows, columns = x.shape[-2:]
    longest = min(rows + min(high, 0), columns - max(low, 0))
    y = torch.zeros(*x.shape[:-2], high - low + 1, longest, dtype=x.dtype) + padding_value
    for (r, c), which, i in diagonals_of(rows, columns, k, align, longest):
        y[..., which, i] = x[..., r, c]
    return y if several(k) else y.squeeze(-2)


@op("Functional.matrix_set_diag")
def matrix_set_diag(x, diagonal, k=0, align="RIGHT_LEFT"):
    y, parts = x.clone(), diagonal if several(k) else diagonal.unsqueeze(-2)
    for (r, c), which, i in diagonals_of(*x.shape[-2:], k, align, parts.shape[-1]):
        y[..., r, c] = parts[..., which, i]
    return y


g.add("Functional.matrix_diag", g.normal(2, 3))
g.add("Functional.matrix_diag", g.normal(2, 3), 1, 3, 5, 9.0)
for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
    g.add("Functional.matrix_diag", g.normal(2, 4, 3), (-2, 1), padding_value=2.5, align=align)
    g.add("Functional.matrix_diag_part", g.normal(2, 3, 4), (-1, 2), torch.tensor(1.5), align)
    g.add("Functional.matrix_set_diag", g.normal(2, 3, 4), g.normal(2, 4, 3), (-1, 2), align)
g.add("Functional.matrix_diag_part", g.normal(4, 3), -1, torch.tensor(0.0))
g.add("Functional.matrix_set_diag", g.normal(2, 4, 3), g.normal(2, 2), 1)
MS["Functional.matrix_band_part"] = lambda x, lower, upper: x.triu(-lower if lower >= 0 else -x.shape[-2]).tril(upper if upper >= 0 else x.shape[-1])
g.add("Functional.matrix_band_part", g.normal(2, 4, 5), 1, 2)
g.add("Functional.matrix_band_part", g.normal(4, 3), -1, 0)
MS["Functional.qr"] = lambda input, mode="reduced": torch.linalg.qr(input, mode)
MS["Tensor.qr"] = lambda self, some=True: torch.qr(self, some)


@op("Functional.deformable_conv2d")
def deformable_conv2d(x, weight, offsets, kernel_size, strides, padding, bias=None, dilations=(1, 1, 1, 1), groups=1, deformable_groups=1, modulated=True):
    (n, c, h, w), (kh, kw), (oh, ow) = x.shape, kernel_size, offsets.shape[2:]
    dx, dy, factor = offsets.reshape(n, 3, deformable_groups, kh, kw, oh, ow).unbind(1)
    y = dy + (torch.arange(oh) * strides[2] - padding[0])[:, None] + (torch.arange(kh) * dilations[2])[:, None, None, None]
    x_at = dx + (torch.arange(ow) * strides[3] - padding[2]) + (torch.arange(kw) * dilations[3])[:, None, None]
    rows = (1 - (y[..., None] - torch.arange(h)).abs()).clamp(min=0)
    columns = (1 - (x_at[..., None] - torch.arange(w)).abs()).clamp(min=0)
    samples = torch.einsum("ngchw,ngijopw,ngijoph->ngcijop", x.reshape(n, deformable_groups, -1, h, w), columns, rows) * factor[:, :, None]
    samples = samples.reshape(n, groups, c // groups, kh, kw, oh, ow)
    y = torch.einsum("ngcijop,gkcij->ngkop", samples, weight.reshape(groups, -1, *weight.shape[1:])).reshape(n, -1, oh, ow)
    return y if bias is None else y + bias[:, None, None]


g.add("Functional.deformable_conv2d", g.normal(1, 2, 5, 5), g.normal(3, 2, 2, 2), torch.cat([g.normal(1, 8, 4, 4), g.uniform(1, 4, 4, 4)], 1), (2, 2), (1, 1, 1, 1),
      (0, 0, 0, 0), g.normal(3))


@op("Functional.iou")
def iou(anchor_boxes, gt_boxes, mode="iou"):
    """By the pixels of boxes: (min of the ends - max of the starts + 1) in both directions."""
    a, b = anchor_boxes[None], gt_boxes[:, None]
    shared = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2]) + 1).clamp(min=0).prod(-1)
    area = lambda x: (x[..., 2:] - x[..., :2] + 1).prod(-1)
    return shared / ((area(b) if mode == "iof" else area(a) + area(b) - shared) + 1e-10)


@op("Functional.check_valid")
def check_valid(bboxes, img_metas):
    height, width, ratio = img_metas.tolist()
    return torch.tensor([x >= 0 and y >= 0 and u <= width * ratio - 1 and v <= height * ratio - 1 for x, y, u, v in bboxes.tolist()])


def corner_boxes(n):
    low = g.uniform(n, 2, low=-3, high=12)
    return torch.cat([low, low + g.uniform(n, 2, low=0, high=9)], 1)


g.add("Functional.iou", corner_boxes(5), corner_boxes(4), grad=False)
g.add("Functional.iou", corner_boxes(3), corner_boxes(6), "iof", grad=False)
g.add("Functional.iou", torch.tensor([[0.0, 0, 4, 4], [10, 10, 11, 11]]), torch.tensor([[5.0, 0, 9, 4], [4, 4, 6, 6]]), grad=False)
g.add("Functional.check_valid", corner_boxes(12), torch.tensor([8.0, 9.0, 2.0]), grad=False)
g.add("Functional.check_valid", torch.tensor([[0.0, 0, 17, 15], [0, 0, 17.5, 3], [1, 1, 2, 19]]), torch.tensor([8.0, 9.0, 2.0]), grad=False)
g.save()
