"""Goldens of the operators of torch_npu and MindSpeed: their documentation written out with PyTorch, in float64. Run with
python3 (PyTorch 1.13). Each function has the operator's own arguments; none looks at how the bench computes."""
import itertools
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import make
import torch
from torch.nn import functional as F

NPU = {}


def operator(function):
    NPU[("MindSpeed." if "MINDSPEED" in (function.__doc__ or "") else "NPU.") + function.__name__.replace("__", ".")] = function
    return function


def alias(name, function):
    NPU[name] = function


# ---- layout ----------------------------------------------------------------------------------------------------


@operator
def npu_transpose(x, perm, require_contiguous=True):
    return x.permute(perm)


@operator
def npu_format_cast(x, acl_format):
    return x * 1


@operator
def npu_reshape(x, shape, can_refresh=False):
    return x.reshape(shape)


@operator
def npu_broadcast(x, size):
    return x.expand(size)


@operator
def npu_dtype_cast(x, dtype):
    return x * 1 if dtype.is_floating_point and x.dtype == torch.float64 else x.to(dtype)


@operator
def one_(x):
    return torch.ones_like(x)


@operator
def npu_pad(x, paddings):
    return F.pad(x, [p for d in reversed(range(x.dim())) for p in paddings[2 * d:2 * d + 2]])


@operator
def npu_slice(x, offsets, size):
    return x[tuple(slice(o, x.shape[d] if s == -1 else o + s) for d, (o, s) in enumerate(zip(offsets, size)))]


@operator
def npu_indexing(x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0):
    return x[tuple(begin[d] if shrink_axis_mask >> d & 1 else
                   slice(None if begin_mask >> d & 1 else begin[d], None if end_mask >> d & 1 else end[d], strides[d])
                   for d in range(len(begin)))]


@operator
def npu_gather_sparse_index(x, index):
    return x[index]


@operator
def npu_scatter(x, indices, updates, dim):
    return x.scatter(dim, indices.long().unsqueeze(dim), updates.unsqueeze(dim))


@operator
def npu_scatter_nd_update(x, indices, updates):
    y = x.clone()
    y[tuple(indices.long().unbind(-1))] = updates
    return y


@operator
def scatter_update(x, indices, updates, axis):
    y = x.clone()
    for i, at in enumerate(indices.tolist()):
        y[i].narrow(axis - 1 if axis > 0 else axis, at, updates.shape[axis]).copy_(updates[i])
    return y


alias("NPU.npu_scatter_nd_update_", npu_scatter_nd_update)
alias("NPU.scatter_update_", scatter_update)


@operator
def npu_one_hot(x, num_classes=-1, depth=1, on_value=1, off_value=0):
    places = torch.arange(depth)
    return torch.where(x.unsqueeze(-1) == places, float(on_value), float(off_value)).float()


@operator
def npu_max(x, dim, keepdim=False):
    values, places = x.max(dim, keepdim)
    return values, places.int()


@operator
def npu_min(x, dim, keepdim=False):
    values, places = x.min(dim, keepdim)
    return values, places.int()


@operator
def npu_sign_bits_pack(x, size):
    bits = [int(v >= 0) for v in x.tolist()]
    bits += [0] * (-len(bits) % 8)
    return torch.tensor([sum(b << k for k, b in enumerate(bits[i:i + 8])) for i in range(0, len(bits), 8)],
                        dtype=torch.uint8).reshape(size, -1)


@operator
def npu_sign_bits_unpack(x, size, dtype):
    return torch.tensor([1.0 if v >> k & 1 else -1.0 for v in x.tolist() for k in range(8)], dtype=dtype).reshape(size, -1)


@operator
def npu_convert_weight_to_int4pack(weight, inner_k_tiles=0):
    words = []
    for eight in weight.reshape(-1, 8).tolist():
        word = int.from_bytes(bytes((eight[k] & 15) | (eight[k + 1] & 15) << 4 for k in (0, 2, 4, 6)), "little", signed=True)
        words.append(word)
    return torch.tensor(words, dtype=torch.int32).reshape(*weight.shape[:-1], -1)


# ---- activations, rotary embeddings --------------------------------------------------------------------------------


@operator
def npu_silu(x):
    return F.silu(x)


@operator
def npu_gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate)


@operator
def npu_geglu(x, dim=-1, approximate=1, activate_left=False):
    a, b = x.chunk(2, dim)
    if activate_left:
        a, b = b, a
    gelu = F.gelu(b, approximate="tanh" if approximate else "none")
    return a * gelu, gelu


@operator
def npu_gelu_mul(x, *, approximate="none"):
    a, b = x.chunk(2, -1)
    return F.gelu(a, approximate=approximate) * b


@operator
def npu_clipped_swiglu(x, *, group_index=None, dim=-1, alpha=1.702, limit=7.0, bias=1.0, interleaved=True):
    shape = list(x.shape)
    rows = x.reshape(-1, torch.Size(shape[dim:]).numel())
    a, b = (rows[:, ::2], rows[:, 1::2]) if interleaved else rows.chunk(2, 1)
    a, b = a.clamp(max=limit), b.clamp(-limit, limit)
    y = a * torch.sigmoid(alpha * a) * (b + bias)
    if group_index is not None:
        y = torch.cat([y[:group_index.sum()], torch.zeros_like(y[group_index.sum():])])
    shape[dim] //= 2
    return y.reshape(shape)


def turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def turned_pairs(x):
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)


@operator
def npu_rotary_position_embedding__npu_rotary_position_embedding(x, cos, sin, mode=0):
    """MINDSPEED"""
    return x * cos + (turned_pairs(x) if mode else turned(x)) * sin


@operator
def npu_apply_rotary_pos_emb(query, key, cos, sin, layout="BSH", rotary_mode="half"):
    turn = turned if rotary_mode == "half" else turned_pairs
    return tuple(x * cos + turn(x) * sin for x in (query, key))


@operator
def npu_interleave_rope(x, cos, sin):
    split = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    return split * cos + turned(split) * sin


def rope(x, cos, sin, head_size, neox):
    heads = x.reshape(x.shape[0], -1, head_size)
    half = cos.shape[-1]
    y = heads.clone()
    a, b = (heads[..., :half], heads[..., half:2 * half]) if neox else (heads[..., 0:2 * half:2], heads[..., 1:2 * half:2])
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    low, high = a * cos - b * sin, b * cos + a * sin
    if neox:
        y = torch.cat([low, high, heads[..., 2 * half:]], -1)
    else:
        y = torch.cat([torch.stack([low, high], -1).flatten(-2), heads[..., 2 * half:]], -1)
    return y.reshape(x.shape)


@operator
def npu_mrope(positions, query, key, cos_sin_cache, head_size, *, mrope_section=None, rotary_mode="half"):
    cos, sin = cos_sin_cache[positions.long()].chunk(2, -1)
    if mrope_section and any(mrope_section):
        cos, sin = (torch.cat([m[i] for i, m in enumerate(t.split(mrope_section, -1))], -1) for t in (cos, sin))
    return tuple(rope(x, cos, sin, head_size, rotary_mode == "half") for x in (query, key))


@operator
def _npu_rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox_style):
    return npu_mrope(positions, query, key, cos_sin_cache, head_size, rotary_mode="half" if is_neox_style else "interleave")


# ---- normalizations -------------------------------------------------------------------------------------------------


def wide_rms(x, gamma, epsilon):
    dims = list(range(-gamma.dim(), 0))
    wide = x.double() if x.dtype == torch.float64 else x.float()
    r = 1 / torch.sqrt((wide * wide).mean(dims, keepdim=True) + epsilon)
    return (wide * r * gamma).to(x.dtype), r


@operator
def npu_rms_norm(x, gamma, epsilon=1e-5):
    return wide_rms(x, gamma, epsilon)


@operator
def npu_add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    y, r = wide_rms(x1 + x2, gamma, epsilon)
    return y, r, x1 + x2


@operator
def npu_add_rms_norm_v2(x1, x2, gamma, epsilon=1e-6):
    return wide_rms(x1 + x2, gamma, epsilon)[1]


def groups_of(x, groups):
    split = x.reshape(x.shape[0], groups, -1)
    return split.mean(2), split.var(2, unbiased=False)


@operator
def npu_group_norm_silu(x, weight, bias, group, eps=1e-5):
    mean, variance = groups_of(x, group)
    return F.silu(F.group_norm(x, group, weight, bias, eps)), mean, 1 / torch.sqrt(variance + eps)


@operator
def npu_group_norm_swish(x, num_groups, weight, bias, eps=1e-5, swish_scale=1.0):
    mean, variance = groups_of(x, num_groups)
    y = F.group_norm(x, num_groups, weight, bias, eps)
    return y * torch.sigmoid(swish_scale * y), mean, 1 / torch.sqrt(variance + eps)


def dropout_add(norm):
    def run(x0, residual, weight, bias, dropout_p, epsilon, rowscale=None, layerscale=None, prenorm=False,
            residual_in_fp32=False, return_dropout_mask=False):
        x = x0
        if rowscale is not None:
            x = x * rowscale[..., None]
        if layerscale is not None:
            x = x * layerscale
        if residual is not None:
            x = x + residual
        y = norm(x, weight, epsilon) + (bias if bias is not None else 0)
        return (y, x) if prenorm else y
    return run


alias("MindSpeed.dropout_add_layer_norm.npu_dropout_add_layer_norm",
      dropout_add(lambda x, w, eps: F.layer_norm(x, x.shape[-1:], w, None, eps)))
alias("MindSpeed.dropout_add_layer_norm.npu_dropout_add_rms_norm", dropout_add(lambda x, w, eps: wide_rms(x, w, eps)[0]))


# ---- losses, optimizers ------------------------------------------------------------------------------------------------


@operator
def npu_cross_entropy_loss(x, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0,
                           lse_square_scale_for_zloss=0.0, return_zloss=False):
    loss = F.cross_entropy(x, target, weight, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)
    return loss, F.log_softmax(x, 1).detach(), None, None


class TensorFlowCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, labels):
        ctx.save_for_backward(x, labels)
        return -(labels * F.log_softmax(x, 1)).sum(1)

    @staticmethod
    def backward(ctx, grad):
        x, labels = ctx.saved_tensors
        return grad[:, None] * (F.softmax(x, 1) - labels), None


@operator
def npu_softmax_cross_entropy_with_logits(x, labels):
    return TensorFlowCrossEntropy.apply(x, labels)


@operator
def npu_apply_fused_ema_adamw__npu_apply_fused_ema_adamw(
        grad, var, m, v, s, step, lr=1e-3, ema_decay=0.9999, beta1=0.9, beta2=0.999, eps=1e-8, mode=1,
        bias_correction=True, weight_decay=0.0):
    """MINDSPEED"""
    grad = grad + weight_decay * var * (1 - mode)
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
    m_hat, v_hat = m / (1 - beta1 ** int(step) * bias_correction), v / (1 - beta2 ** int(step) * bias_correction)
    var = var - lr * (m_hat / (v_hat.sqrt() + eps) + weight_decay * var * mode)
    return var, m, v, ema_decay * s + (1 - ema_decay) * var


# ---- convolutions --------------------------------------------------------------------------------------------------------


def convolved(x, weight, bias, stride, padding, dilation, groups):
    return (F.conv2d if x.dim() == 4 else F.conv3d)(x, weight, bias, stride, padding, dilation, groups)


def convolved_transposed(x, weight, bias, padding, output_padding, stride, dilation, groups):
    return F.conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)


for name in ("npu_conv2d", "npu_conv3d", "npu_convolution"):
    alias("NPU." + name, convolved)
for name in ("npu_conv_transpose2d", "npu_convolution_transpose"):
    alias("NPU." + name, convolved_transposed)


# ---- products --------------------------------------------------------------------------------------------------------------


@operator
def npu_bmmV2(a, b, output_sizes):
    return (a @ b).reshape(output_sizes) if output_sizes else a @ b


@operator
def npu_transpose_batchmatmul(a, b, *, bias=None, scale=None, perm_x1=None, perm_x2=None, perm_y=None, batch_split_factor=1):
    y = torch.einsum("bij,bjk->bik", a.permute(perm_x1 or [0, 1, 2]), b.permute(perm_x2 or [0, 1, 2]))
    return (y if bias is None else y + bias).permute(perm_y or [0, 1, 2])


ACTIVATIONS = {"": lambda x: x, "16cast32": lambda x: x, "add": lambda x: x, "mul": lambda x: x, "relu": F.relu, "gelu": F.gelu,
               "gelu_erf": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
               "fastgelu": lambda x: x * torch.sigmoid(1.702 * x)}
NUMBERED = ["", "relu", "gelu_tanh", "gelu_erf", "fastgelu", "silu"]


@operator
def npu_fused_matmul(x1, x2, *, bias=None, x3=None, fused_op_type=""):
    y = x1 @ x2 if bias is None else x1 @ x2 + bias
    y = y + x3 if fused_op_type == "add" else y * x3 if fused_op_type == "mul" else ACTIVATIONS[fused_op_type](y)
    return y.float() if fused_op_type == "16cast32" and y.dtype != torch.float64 else y


@operator
def npu_matmul_add__npu_matmul_add_fp32(x, weight, c):
    """MINDSPEED"""
    return c + torch.einsum("rm,rn->mn", x.reshape(-1, x.shape[-1]), weight.reshape(-1, weight.shape[-1])).to(c.dtype)


def pieces(groups, cumulative):
    ends = [int(v) for v in groups] if cumulative else torch.tensor([int(v) for v in groups]).cumsum(0).tolist()
    return list(zip([0] + ends[:-1], ends))


def grouped(x, weight, bias, ends, by):
    if by == 0:
        return torch.cat([x[a:b] @ weight[i] + (0 if bias is None else bias[i]) for i, (a, b) in enumerate(ends)]
                         + [torch.zeros(x.shape[0] - ends[-1][1], weight.shape[2], dtype=x.dtype)])
    return torch.stack([x[:, a:b] @ weight[a:b] for a, b in ends])


def gmm(cumulative):
    return lambda x, weight, *, bias=None, group_list=None, group_type=0: grouped(x, weight, bias, pieces(group_list, cumulative), group_type)


alias("MindSpeed.gmm.npu_gmm", gmm(True))
alias("MindSpeed.gmm.npu_gmm_v2", gmm(False))


@operator
def npu_groupmatmul_add__npu_groupmatmul_add_fp32(x, dy, group_list, grad):
    """MINDSPEED"""
    return grad + torch.cat([x[a:b].T @ dy[a:b] for a, b in pieces(group_list, True)]).reshape(grad.shape).to(grad.dtype)


@operator
def npu_grouped_matmul_add_(out, x, weight, group_list):
    return npu_groupmatmul_add__npu_groupmatmul_add_fp32(x, weight, group_list, out)


@operator
def npu_grouped_matmul(x, weight, *, bias=None, group_list=None, split_item=0, group_type=-1, group_list_type=0, act_type=0):
    act = ACTIVATIONS[NUMBERED[act_type]]
    if len(x) == len(weight) == 1 and group_type != -1:
        return [act(grouped(x[0], weight[0], bias[0] if bias else None, pieces(group_list, group_list_type == 0), group_type))]
    if len(x) == 1 and len(weight) > 1:
        x = [x[0][a:b] for a, b in pieces(group_list, group_list_type == 0)]
    y = [act(a @ w + (bias[i] if bias else 0)) for i, (a, w) in enumerate(zip(x, weight))]
    return y if split_item < 2 else [torch.cat(y)]


@operator
def npu_ffn(x, weight1, weight2, activation, *, expert_tokens=None, expert_tokens_index=None, bias1=None, bias2=None):
    rows = x.reshape(-1, x.shape[-1])
    if weight1.dim() == 2:
        weight1, weight2 = weight1[None], weight2[None]
        bias1, bias2 = (None if b is None else b[None] for b in (bias1, bias2))
        expert_tokens = [rows.shape[0]]
    tokens = expert_tokens if expert_tokens_index is None else expert_tokens_index
    ends = pieces(tokens, expert_tokens_index is not None)
    y = grouped(rows, weight1, bias1, ends, 0)
    if activation in ("swiglu", "geglu", "reglu"):
        a, b = y.chunk(2, 1)
        y = ACTIVATIONS[{"swiglu": "silu", "geglu": "gelu", "reglu": "relu"}[activation]](a) * b
    else:
        y = ACTIVATIONS[activation](y)
    return grouped(y, weight2, bias2, ends, 0).reshape(*x.shape[:-1], -1)


alias("MindSpeed.ffn.npu_ffn", npu_ffn)


# ---- mixtures of experts -------------------------------------------------------------------------------------------------------


def chosen(scores, ranks, k, groups, kept, n, norm, eps, scale):
    if groups > 1:
        split = ranks.reshape(ranks.shape[0], groups, -1)
        best = split.topk(n, -1).values.sum(-1).topk(kept, -1).indices
        out = torch.ones(split.shape[:2], dtype=torch.bool).scatter(1, best, False)
        ranks = split.masked_fill(out[..., None], float("-inf")).reshape(ranks.shape)
    index = ranks.topk(k, -1).indices
    y = scores.gather(1, index)
    return (y / (y.sum(-1, keepdim=True) + eps) if norm else y) * scale, index.int()


@operator
def npu_moe_gating_top_k(x, k, *, bias=None, k_group=1, group_count=1, group_select_mode=0, renorm=0, norm_type=0, out_flag=False,
                         routed_scaling_factor=1.0, eps=1e-20):
    scores = torch.sigmoid(x) if norm_type else torch.softmax(x, -1)
    y, index = chosen(scores, scores if bias is None else scores + bias, k, group_count, k_group, 2 if group_select_mode else 1,
                      norm_type == 1 or renorm == 1, eps, routed_scaling_factor)
    return y, index, scores if out_flag else None


@operator
def atb__npu_fused_add_topk_div(x, add_num, *, group_num=1, group_topk=1, n=1, k=1, activation_type=0, is_norm=True, scale=1.0):
    scores = torch.sigmoid(x)
    return chosen(scores, scores + add_num, k, group_num, group_topk, n, is_norm, 0, scale)


@operator
def npu_moe_token_permute(tokens, indices, num_out_tokens=None, padded_mode=False):
    share = 1 if indices.dim() == 1 else indices.shape[1]
    order = torch.argsort(indices.reshape(-1), stable=True)
    return tokens[order[:num_out_tokens] // share], torch.argsort(order, stable=True).int()


@operator
def npu_moe_token_unpermute(permuted_tokens, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
    rows = permuted_tokens[sorted_indices.long()]
    if probs is None:
        return rows * 1
    return (rows.reshape(*probs.shape, -1) * probs.unsqueeze(-1)).sum(1)


alias("MindSpeed.npu_moe_token_permute.npu_moe_token_permute", npu_moe_token_permute)
alias("MindSpeed.npu_moe_token_unpermute.npu_moe_token_unpermute", npu_moe_token_unpermute)


@operator
def npu_moe_init_routing(x, row_idx, expert_idx, active_num):
    k = expert_idx.shape[1]
    experts, order = expert_idx.reshape(-1).sort(stable=True)
    source = row_idx.reshape(-1)[order].long()
    places = torch.empty_like(source)
    places[source] = torch.arange(source.numel())
    return x[source[:min(active_num, x.shape[0]) * k] % x.shape[0]], places.int(), experts.int()


@operator
def npu_moe_compute_expert_tokens(sorted_experts, num_expert):
    return torch.searchsorted(sorted_experts, torch.arange(num_expert, dtype=sorted_experts.dtype), right=True).to(sorted_experts.dtype)


@operator
def npu_moe_finalize_routing(rows, skip1, skip2, bias, scales, places, experts, drop_pad_mode=0):
    n, k = scales.shape if scales is not None else (places.numel(), 1)
    rows, out = rows.reshape(-1, rows.shape[-1]), []
    for i in range(n):
        total = sum(s[i] for s in (skip1, skip2) if s is not None) + torch.zeros(rows.shape[1], dtype=rows.dtype)
        for j in range(k):
            at = int(places[j * n + i if drop_pad_mode < 2 else i * k + j])
            if at < 0:
                continue
            row = rows[at] + (bias[int(experts[i, j])] if bias is not None else 0)
            total = total + row * (scales[i, j] if scales is not None else 1)
        out.append(total)
    return torch.stack(out)


alias("NPU.npu_moe_finalize_routing_v2", npu_moe_finalize_routing)


@operator
def npu_moe_re_routing(tokens, expert_token_num_per_rank, *, per_token_scales=None, expert_token_num_type=1, idx_type=0):
    counts = expert_token_num_per_rank.tolist()
    starts = torch.tensor([0] + [c for row in counts for c in row]).cumsum(0)[:-1].reshape(len(counts), -1).tolist()
    source = torch.tensor([starts[r][e] + i for e in range(len(counts[0])) for r in range(len(counts)) for i in range(counts[r][e])])
    sums = expert_token_num_per_rank.sum(0)
    sums = (sums if expert_token_num_type else sums.cumsum(0)).to(expert_token_num_per_rank.dtype)
    return tokens[source], None if per_token_scales is None else per_token_scales[source], source.int(), sums


# ---- attention ------------------------------------------------------------------------------------------------------------------


def bnsd(x, layout, heads):
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "BSH":
        return x.unflatten(2, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return x.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)
    return x.transpose(0, 1)[None]  # TND


def unbnsd(y, layout):
    if layout == "BNSD":
        return y
    if layout == "BSND":
        return y.transpose(1, 2)
    if layout == "BSH":
        return y.transpose(1, 2).flatten(2)
    if layout == "SBH":
        return y.permute(2, 0, 1, 3).flatten(2)
    return y[0].transpose(0, 1)


def mode_mask(mask, mode, rows, columns, before, after, prefix=0, made=False):
    """True where a score is masked; None for nothing. By the table of sparse modes: query i sees key j. `made`: mode and
    window make the mask that is not given, as msprobe's reference has it."""
    i, j = torch.arange(rows)[:, None], torch.arange(columns)[None]
    shift = columns - rows
    if mask is None and made and mode == 0:
        return (j > i + after) | (j < i - before)
    if mask is None and (not made or mode in (1, 5)):
        return None
    return {0: lambda: mask.bool(), 1: lambda: mask.bool(), 2: lambda: j > i, 3: lambda: j > i + shift, 5: lambda: mask.bool(),
            4: lambda: (j > i + shift + after) | (j < i + shift - before), 6: lambda: (j > i + shift) & (j >= prefix)}[mode]()


def attended(q, k, v, scale, mask=None, before_scale=None, after_scale=None, sink=None):
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
    scores = torch.einsum("bnid,bnjd->bnij", q, k)
    if before_scale is not None:
        scores = scores + before_scale
    scores = scores * scale
    if after_scale is not None:
        scores = scores + after_scale
    if sink is not None:  # e^(s - m) / (sum of e^(s - m) + e^(sink - m))
        open_ = scores if mask is None else scores.masked_fill(mask, float("-inf"))
        own = sink.double()[:, None, None]
        top = torch.maximum(open_.amax(-1, keepdim=True), own).detach()
        weights = torch.exp(open_ - top)
        total = weights.sum(-1, keepdim=True) + torch.exp(own - top)
        return weights / total @ v, top + torch.log(total)
    if mask is None:
        p = torch.softmax(scores, -1)
        return p @ v, torch.logsumexp(scores, -1, keepdim=True)
    hidden = mask.expand(scores.shape)
    top = scores.masked_fill(hidden, float("-inf")).amax(-1, keepdim=True).detach()
    weights = torch.exp(scores - torch.where(torch.isinf(top), torch.zeros_like(top), top)).masked_fill(hidden, 0)
    total = weights.sum(-1, keepdim=True)
    dead = total == 0
    y = (weights / torch.where(dead, torch.ones_like(total), total)) @ v
    return y, top + torch.log(total)


def packed(q, k, v, scale, mask, mode, before, after, q_ends, k_ends, sink=None):
    parts, sums, a0, b0 = [], [], 0, 0
    for n, (a, b) in enumerate(zip(q_ends, k_ends)):
        own = mode
        if mode == 7:
            own = 4 if n == len(q_ends) - 1 else 3
        if mode == 8:
            own = 4 if n == 0 else 2
        block = None if mask is None else mask[:a - a0, :b - b0] if own < 2 else mask
        y, s = attended(q[:, :, a0:a], k[:, :, b0:b], v[:, :, b0:b], scale, mode_mask(block, own, a - a0, b - b0, before, after),
                        sink=sink)
        parts.append(y)
        sums.append(s)
        a0, b0 = a, b
    return torch.cat(parts, 2), torch.cat(sums, 2)


def trained(q, k, v, head_num, layout, pse=None, mask=None, scale=1.0, before=2**31 - 1, after=2**31 - 1, prefix=None, q_ends=None,
            k_ends=None, mode=0, pse_type=1, q_rope=None, k_rope=None, made=False, sink=None):
    width = q.shape[-1] // head_num if len(layout) == 3 and layout != "TND" else None
    key_heads = k.shape[-1] // width if width else None
    q, k, v = bnsd(q, layout, head_num), bnsd(k, layout, key_heads), bnsd(v, layout, key_heads)
    if q_rope is not None:
        q, k = torch.cat([q, bnsd(q_rope, layout, head_num)], -1), torch.cat([k, bnsd(k_rope, layout, key_heads)], -1)
    if layout == "TND":
        y, _ = packed(q, k, v, scale, mask, mode, before, after, q_ends, k_ends, sink)
    elif mode == 6:
        y = torch.cat([attended(q[b:b + 1], k[b:b + 1], v[b:b + 1], scale,
                                mode_mask(mask, 6, q.shape[2], k.shape[2], 0, 0, prefix[b]))[0] for b in range(q.shape[0])])
    else:
        y, _ = attended(q, k, v, scale, mode_mask(mask, mode, q.shape[2], k.shape[2], before, after, made=made),
                        pse if pse_type else None, None if pse_type else pse, sink)
    return unbnsd(y, layout)


@operator
def npu_fusion_attention(query, key, value, head_num, input_layout, *, pse=None, atten_mask=None, scale=None, keep_prob=1.0,
                         pre_tockens=2**31 - 1, next_tockens=2**31 - 1, prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None,
                         sparse_mode=0):
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1] // (head_num if len(input_layout) == 3 and input_layout != "TND" else 1))
    return trained(query, key, value, head_num, input_layout, pse, atten_mask, scale, pre_tockens, next_tockens, prefix,
                   actual_seq_qlen, actual_seq_kvlen, sparse_mode, made=True)


@operator
def npu_fusion_attention_v3(query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, scale=1.0, keep_prob=1.0,
                            pre_tockens=2**31 - 1, next_tockens=2**31 - 1, inner_precise=0, prefix=None, actual_seq_qlen=None,
                            actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False, softmax_layout="", sink=None):
    return trained(query, key, value, head_num, input_layout, pse, atten_mask, scale, pre_tockens, next_tockens, prefix,
                   actual_seq_qlen, actual_seq_kvlen, sparse_mode, sink=sink)


@operator
def npu_fusion_attention_v2(query, key, value, head_num, input_layout, *, pse=None, atten_mask=None, query_rope=None, key_rope=None,
                            scale=1.0, keep_prob=1.0, pre_tokens=2**31 - 1, next_tokens=2**31 - 1, prefix=None,
                            actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, pse_type=1, softmax_layout="", sink=None):
    return trained(query, key, value, head_num, input_layout, pse, atten_mask, scale, pre_tokens, next_tokens, prefix,
                   actual_seq_qlen, actual_seq_kvlen, sparse_mode, pse_type, query_rope, key_rope, sink=sink)


def row_statistics(q, k, scale, mask=None, pse=None):
    """Largest score and sum of exponentials about it for each query, eight times as the kernel returns them."""
    scores = torch.einsum("bnid,bnjd->bnij", q, k.repeat_interleave(q.shape[1] // k.shape[1], 1))
    scores = (scores if pse is None else scores + pse) * scale
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    top = scores.amax(-1, keepdim=True)
    return top.expand(*top.shape[:3], 8), torch.exp(scores - top).sum(-1, keepdim=True).expand(*top.shape[:3], 8)


def differentiated(q, k, v, dy, y, top, total, scale, mask, pse):
    """dQ, dK, dV and dS by one query after the other: each weight is exp(score - top) / total."""
    group = q.shape[1] // k.shape[1]
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    ds = torch.zeros(*q.shape[:3], k.shape[2], dtype=q.dtype)
    for b, n, i in itertools.product(*map(range, q.shape[:3])):
        keys, values = k[b, n // group], v[b, n // group]
        score = keys @ q[b, n, i]
        score = (score if pse is None else score + pse.expand(ds.shape)[b, n, i]) * scale
        weight = torch.exp(score - top[b, n, i]) / total[b, n, i]
        if mask is not None:
            weight = torch.where(mask.expand(ds.shape)[b, n, i], torch.zeros_like(weight), weight)
        slope = weight * ((values - y[b, n, i]) @ dy[b, n, i])
        dq[b, n, i] = scale * slope @ keys
        dk[b, n // group] += scale * slope[:, None] * q[b, n, i]
        dv[b, n // group] += weight[:, None] * dy[b, n, i]
        ds[b, n, i] = slope
    return dq, dk, dv, ds


def rows_of_statistics(x, layout, softmax_layout, heads, ends):
    """One number for each query, (B, N, S): of packed ones sequence by sequence unless softmax_layout says that they lie as shaped."""
    x = x.double()[..., 0]
    if layout != "TND":
        return x
    if softmax_layout in ("TND", "same_as_input"):
        return x.T[None]
    sizes = [(b - a) * heads for a, b in zip([0, *ends], ends)]
    return torch.cat([part.view(heads, -1) for part in x.reshape(-1).split(sizes)], 1)[None]


def gradients_of_fusion(query, key, value, dy, head_num, layout, pse, atten_mask, softmax_max, softmax_sum, attention_in, scale, before, after,
                        q_ends, k_ends, mode, softmax_layout, sink, q_rope=None, k_rope=None, pse_type=1):
    width = query.shape[-1] // head_num if layout in ("BSH", "SBH") else None
    key_heads = key.shape[-1] // width if width else None
    q, dy, y = (bnsd(x.double(), layout, head_num) for x in (query, dy, attention_in))
    k, v = (bnsd(x.double(), layout, key_heads) for x in (key, value))
    plain = q.shape[-1]
    if q_rope is not None:
        q = torch.cat([q, bnsd(q_rope.double(), layout, head_num)], -1)
        k = torch.cat([k, bnsd(k_rope.double(), layout, key_heads)], -1)
    top, total = (rows_of_statistics(x, layout, softmax_layout, head_num, q_ends) for x in (softmax_max, softmax_sum))
    of_pse = None
    if layout != "TND":
        mask = mode_mask(atten_mask, mode, q.shape[2], k.shape[2], before, after)
        pse = None if pse is None else pse.double()
        dq, dk, dv, ds = differentiated(q, k, v, dy, y, top, total, scale, mask, pse)
        of_pse = None if pse is None else (scale * ds).sum_to_size(pse.shape)
    else:
        parts, a0, b0 = [], 0, 0
        for n, (a, b) in enumerate(zip(q_ends, k_ends)):
            own = {7: 4 if n == len(q_ends) - 1 else 3, 8: 4 if n == 0 else 2}.get(mode, mode)
            mask = mode_mask(atten_mask, own, a - a0, b - b0, before, after)
            rows, columns = [x[:, :, a0:a] for x in (q, dy, y, top[..., None], total[..., None])], [x[:, :, b0:b] for x in (k, v)]
            parts.append(differentiated(rows[0], *columns, *rows[1:3], rows[3][..., 0], rows[4][..., 0], scale, mask, None)[:3])
            a0, b0 = a, b
        dq, dk, dv = (torch.cat(p, 2) for p in zip(*parts))
    results = [unbnsd(dq[..., :plain], layout), unbnsd(dk[..., :plain], layout), unbnsd(dv, layout), of_pse]
    if q_rope is not None:
        results += [unbnsd(dq[..., plain:], layout), unbnsd(dk[..., plain:], layout)]
    if sink is not None:  # a key without a value: its weight times what the others do not have of the cotangent
        weight = torch.exp(sink.double()[None, :, None] - top) / total
        results.append(-(weight * (dy * y).sum(-1)).sum((0, 2)))
    return tuple(results)


@operator
def npu_fusion_attention_grad(query, key, value, dy, head_num, input_layout, *, pse=None, atten_mask=None, softmax_max=None, softmax_sum=None,
                              attention_in=None, scale_value=1.0, keep_prob=1.0, pre_tockens=2**31 - 1, next_tockens=2**31 - 1,
                              actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, softmax_layout="", sink=None):
    return gradients_of_fusion(query, key, value, dy, head_num, input_layout, pse, atten_mask, softmax_max, softmax_sum, attention_in, scale_value,
                               pre_tockens, next_tockens, actual_seq_qlen, actual_seq_kvlen, sparse_mode, softmax_layout, sink)


@operator
def npu_fusion_attention_grad_v2(query, key, value, dy, head_num, input_layout, *, pse=None, atten_mask=None, softmax_max=None, softmax_sum=None,
                                 attention_in=None, query_rope=None, key_rope=None, scale_value=1.0, keep_prob=1.0, pre_tokens=2**31 - 1,
                                 next_tokens=2**31 - 1, actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0, softmax_layout="", sink=None):
    results = gradients_of_fusion(query, key, value, dy, head_num, input_layout, pse, atten_mask, softmax_max, softmax_sum, attention_in, scale_value,
                                  pre_tokens, next_tokens, actual_seq_qlen, actual_seq_kvlen, sparse_mode, softmax_layout, sink, query_rope, key_rope)
    return results if query_rope is not None or sink is None else (*results[:4], None, None, results[4])


alias("NPU.npu_fusion_attention_grad_v3", npu_fusion_attention_grad)
alias("NPU.npu_flash_attention", npu_fusion_attention)
alias("MindSpeed.fusion_attention_v2.npu_fusion_attention", npu_fusion_attention_v2)


@operator
def npu_fused_attention_score(q, k, v, mask, scale, keep_prob):
    y = torch.softmax(q @ k.transpose(2, 3) * scale + mask, -1) @ v
    return y.transpose(1, 2).reshape(-1, y.shape[1] * y.shape[3])


def inferred(q, k, v, heads, kv_heads, layout, scale, mask, pse, q_lens, k_lens, mode, before, after, lse):
    kv_heads = kv_heads or heads
    q, k, v = bnsd(q, layout, heads), bnsd(k, layout, kv_heads), bnsd(v, layout, kv_heads)
    if layout == "TND":
        y, s = packed(q, k, v, scale, mask, mode, before, after, q_lens, k_lens)
        return unbnsd(y, layout), s[0].transpose(0, 1) if lse else None
    hidden = mode_mask(mask, mode, q.shape[2], k.shape[2], before, after)
    if k_lens:
        late = torch.arange(k.shape[2])[None, None, None] >= torch.tensor(k_lens).expand(q.shape[0])[:, None, None, None]
        hidden = late if hidden is None else late | hidden
    y, s = attended(q, k, v, scale, hidden, after_scale=pse)
    if q_lens:
        rest = torch.arange(q.shape[2])[None, None, :, None] >= torch.tensor(q_lens).expand(q.shape[0])[:, None, None, None]
        y = y.masked_fill(rest, 0)
    return unbnsd(y, layout), s if lse else None


@operator
def npu_prompt_flash_attention(query, key, value, *, atten_mask=None, pse_shift=None, actual_seq_lengths=None, num_heads=1,
                               scale_value=1.0, pre_tokens=2147473647, next_tokens=0, input_layout="BSH", num_key_value_heads=0,
                               actual_seq_lengths_kv=None, sparse_mode=0):
    return inferred(query, key, value, num_heads, num_key_value_heads, input_layout, scale_value, atten_mask, pse_shift,
                    actual_seq_lengths, actual_seq_lengths_kv, sparse_mode, pre_tokens, next_tokens, False)[0]


@operator
def npu_incre_flash_attention(query, key, value, *, atten_mask=None, pse_shift=None, actual_seq_lengths=None, num_heads=1,
                              scale_value=1.0, input_layout="BSH", num_key_value_heads=0):
    return inferred(query, key, value, num_heads, num_key_value_heads, input_layout, scale_value, atten_mask, pse_shift, None,
                    actual_seq_lengths, 0, 0, 0, False)[0]


@operator
def npu_fused_infer_attention_score(query, key, value, *, pse_shift=None, atten_mask=None, actual_seq_lengths=None,
                                    actual_seq_lengths_kv=None, num_heads=1, scale=1.0, pre_tokens=2**31 - 1, next_tokens=2**31 - 1,
                                    input_layout="BSH", num_key_value_heads=0, sparse_mode=0, softmax_lse_flag=False):
    return inferred(query, key, value, num_heads, num_key_value_heads, input_layout, scale, atten_mask, pse_shift,
                    actual_seq_lengths, actual_seq_lengths_kv, sparse_mode, pre_tokens, next_tokens, softmax_lse_flag)


@operator
def npu_fused_infer_attention_score_v2(query, key, value, *, pse_shift=None, atten_mask=None, actual_seq_qlen=None,
                                       actual_seq_kvlen=None, num_query_heads=1, softmax_scale=1.0, pre_tokens=2**31 - 1,
                                       next_tokens=2**31 - 1, input_layout="BSH", num_key_value_heads=0, sparse_mode=0,
                                       return_softmax_lse=False):
    return inferred(query, key, value, num_query_heads, num_key_value_heads, input_layout, softmax_scale, atten_mask, pse_shift,
                    actual_seq_qlen, actual_seq_kvlen, sparse_mode, pre_tokens, next_tokens, return_softmax_lse)


@operator
def npu_ring_attention_update__npu_ring_attention_update(out1, max1, sum1, out2, max2, sum2, actual_seq_qlen=None, layout="SBH"):
    """MINDSPEED"""
    top = torch.maximum(max1, max2)
    total = sum1 * torch.exp(max1 - top) + sum2 * torch.exp(max2 - top)
    share1 = (sum1 * torch.exp(max1 - top) / total)[..., :1]
    share2 = (sum2 * torch.exp(max2 - top) / total)[..., :1]
    if layout == "TND":
        return out1 * share1 + out2 * share2, top, total
    n = max1.shape[1]
    return unbnsd(bnsd(out1, "SBH", n) * share1 + bnsd(out2, "SBH", n) * share2, "SBH"), top, total


@operator
def npu_attention_update(lse, local_out, update_type):
    logs = torch.stack(lse)
    total = torch.logsumexp(logs, 0)
    y = sum(o * torch.exp(s - total)[:, None] for s, o in zip(lse, local_out))
    return y, total if update_type else None


# ---- quantization -----------------------------------------------------------------------------------------------------------------


def stored(v, x, dtype=torch.float32):
    """A result in its dtype, unless the call is the one in float64."""
    return v if x.dtype == torch.float64 else v.to(dtype)


def whole(y, dtype=torch.int8):
    info = torch.iinfo(dtype)
    return y.double().round().clamp(info.min, info.max).to(dtype)


def by_axis(v, x, axis):
    return v.double().reshape([-1 if d == axis % x.dim() else 1 for d in range(x.dim())]) if v.numel() > 1 else v.double().reshape(())


@operator
def npu_quantize(x, scales, zero_points, dtype, axis=1, div_mode=True):
    scale, x = by_axis(scales, x, axis), x.double()
    return whole((x / scale if div_mode else x * scale) + (0 if zero_points is None else by_axis(zero_points, x, axis)), dtype)


@operator
def npu_group_quant(x, scale, group_index, *, offset=None, dst_dtype=None):
    rows = [scale[i] for i, (a, b) in enumerate(pieces(group_index, True)) for _ in range(b - a)]
    return whole(x.double() * torch.stack(rows).double() + (0 if offset is None else offset.double()))


@operator
def npu_anti_quant(x, scale, *, offset=None, dst_dtype=None, src_dtype=None):
    return stored((x.double() + (0 if offset is None else offset)) * scale, scale, dst_dtype or torch.float16)


@operator
def npu_trans_quant_param(scale, offset=None, round_mode=0):
    words = []
    for i, s in enumerate(scale.float().tolist()):
        word = int.from_bytes(struct.pack("<f", s), "little") >> 13 << 13 | 1 << 46
        if offset is not None:
            word |= (max(-256, min(255, round(float(offset[i])))) & 511) << 37
        words.append(word)
    return torch.tensor(words)


def scaled_rows(y, top=127):
    y = y.double()
    scale = y.abs().amax(-1) / top
    return whole(y / scale[..., None]), scale


def smooth_rows(x, smooth, group_index):
    if smooth is None:
        return x.double()
    if group_index is None:
        return x.double() * smooth.double()
    rows = torch.stack([smooth[i] for i, (a, b) in enumerate(pieces(group_index, True)) for _ in range(b - a)]).double()
    return x.double() * rows.reshape(x.shape)


@operator
def npu_dynamic_quant(x, *, smooth_scales=None, group_index=None):
    y, scale = scaled_rows(smooth_rows(x, smooth_scales, group_index))
    return y, stored(scale, x)


@operator
def npu_dynamic_quant_asymmetric(x, *, smooth_scales=None, group_index=None):
    y = smooth_rows(x, smooth_scales, group_index)
    top, bottom = y.amax(-1, keepdim=True), y.amin(-1, keepdim=True)
    scale = (top - bottom) / 255
    offset = 127 - top / scale
    return whole(y / scale + offset), stored(scale[..., 0], x), stored(offset[..., 0], x)


def normed(x, gamma, beta, epsilon):
    return wide_rms(x.double(), gamma.double(), epsilon)[0] + (0 if beta is None else beta.double())


@operator
def npu_add_rms_norm_quant(x1, x2, gamma, scales1, zero_points1, beta=None, scales2=None, zero_points2=None, *, epsilon=1e-6,
                           div_mode=True):
    y, out = normed(x1 + x2, gamma, beta, epsilon), []
    for scale, zero in ((scales1, zero_points1), (scales2, zero_points2)):
        if scale is None:
            out.append(None)
        else:
            out.append(whole((y / scale if div_mode else y * scale) + (0 if zero is None else zero)))
    return *out, x1 + x2


@operator
def npu_add_rms_norm_dynamic_quant(x1, x2, gamma, *, smooth_scale1=None, smooth_scale2=None, beta=None, epsilon=1e-6):
    y = normed(x1 + x2, gamma, beta, epsilon)
    y1, s1 = scaled_rows(smooth_rows(y, smooth_scale1, None))
    y2, s2 = scaled_rows(smooth_rows(y, smooth_scale2, None)) if smooth_scale2 is not None else (None, None)
    return y1, y2, x1 + x2, stored(s1, x1), None if s2 is None else stored(s2, x1)


@operator
def npu_rms_norm_dynamic_quant(x, gamma, *, smooth_scales1=None, smooth_scales2=None, beta=None, epsilon=1e-6):
    y = normed(x, gamma, beta, epsilon)
    y1, s1 = scaled_rows(smooth_rows(y, smooth_scales1, None))
    y2, s2 = scaled_rows(smooth_rows(y, smooth_scales2, None)) if smooth_scales2 is not None else (None, None)
    return y1, y2, stored(s1, x), None if s2 is None else stored(s2, x)


@operator
def npu_dequant_swiglu_quant(x, *, weight_scale=None, activation_scale=None, bias=None, quant_scale=None, quant_offset=None,
                             activate_left=False, quant_mode=0):
    y = x.double()
    for factor in (weight_scale, activation_scale):
        y = y if factor is None else y * factor.double()
    a, b = y.chunk(2, -1)
    y = F.silu(a) * b if activate_left else F.silu(b) * a
    if quant_mode == 1:
        y, scale = scaled_rows(y if quant_scale is None else y * quant_scale.double())
        return y, stored(scale, quant_scale)
    return whole(y / quant_scale.double() + (0 if quant_offset is None else quant_offset.double())), None


@operator
def npu_quant_matmul(x1, x2, scale, *, offset=None, pertoken_scale=None, bias=None, output_dtype=None):
    y = x1.double() @ x2.double()
    if bias is not None and not bias.is_floating_point():
        y = y + bias
    given = bias if scale.dtype == torch.int64 else scale
    if scale.dtype == torch.int64:
        scale = torch.tensor([struct.unpack("<f", (int(s) & 0xffffffff).to_bytes(4, "little"))[0] for s in scale], dtype=torch.float64)
    y = y * scale.double()
    if pertoken_scale is not None:
        y = y * pertoken_scale.double()[:, None]
    if bias is not None and bias.is_floating_point():
        y = y + bias.double()
    if output_dtype in (None, torch.int8):
        return whole(y + (0 if offset is None else offset.double()))
    return stored(y, given, output_dtype)


@operator
def npu_weight_quant_batchmatmul(x, weight, antiquant_scale, antiquant_offset=None, quant_scale=None, quant_offset=None, bias=None,
                                 antiquant_group_size=0, inner_precise=0):
    def wide(v):
        return v.repeat_interleave(antiquant_group_size, 0)[:weight.shape[0]] if antiquant_group_size else v
    w = weight.double() + (0 if antiquant_offset is None else wide(antiquant_offset))
    y = x.double() @ (w * wide(antiquant_scale).double()).double()
    return (y if bias is None else y + bias).to(x.dtype)


def quant_gmm(cumulative):
    def run(x, weight, scale, *, offset=None, per_token_scale=None, bias=None, group_list=None, output_dtype=None, act_type=0):
        y = torch.cat([((x[a:b].long() @ weight[i].long()) + (0 if bias is None else bias[i])).double() * scale[i].double()
                       for i, (a, b) in enumerate(pieces(group_list, cumulative))])
        y = y if per_token_scale is None else y * per_token_scale.double()[:, None]
        return stored(ACTIVATIONS[NUMBERED[act_type]](y), scale, output_dtype or torch.float16)
    return run


alias("MindSpeed.quant_gmm.npu_quant_gmm", quant_gmm(True))
alias("MindSpeed.quant_gmm.npu_quant_gmm_v2", quant_gmm(False))


@operator
def npu_rms_norm_quant(x, gamma, beta, scale, offset, epsilon=1e-6):
    return whole(normed(x, gamma, beta, epsilon) / scale.double() + offset)


@operator
def npu_rms_norm_quant_v2(x, gamma, scale, *, offset=None, beta=None, epsilon=1e-6, div_mode=True):
    x, gamma, beta = x.double(), gamma.double().flatten(), None if beta is None else beta.double().flatten()
    y = normed(x, gamma, beta, epsilon)
    y = (y / scale.double() if div_mode else y * scale.double()) + (0 if offset is None else offset.double())
    return whole(y), stored((x * x).mean(-1, keepdim=True).add(epsilon).rsqrt(), torch.zeros(()))


@operator
def npu_gelu_quant(x, *, input_scale=None, input_offset=None, approximate="none", quant_mode="dynamic"):
    y = F.gelu(x.double(), approximate=approximate) * (1 if input_scale is None else input_scale.double())
    if quant_mode == "static":
        return whole(y + (0 if input_offset is None else input_offset.double())), None
    y, scale = scaled_rows(y)
    return y, stored(scale, x)


@operator
def npu_swiglu_quant(x, *, smooth_scales=None, offsets=None, group_index=None, activate_left=False, quant_mode=0):
    a, b = x.double().chunk(2, -1)
    y = smooth_rows(F.silu(a) * b if activate_left else a * F.silu(b), smooth_scales, group_index)
    y, scale = scaled_rows(y)
    return y, stored(1 / scale, x)


@operator
def npu_moe_token_permute_with_routing_map(tokens, routing_map, *, probs=None, num_out_tokens=None, drop_and_pad=False):
    routes = routing_map.bool().T
    if drop_and_pad:
        index = routes.to(torch.int8).sort(dim=-1, descending=True, stable=True)[1][:, :num_out_tokens // routes.shape[0]]
        chosen_probs = None if probs is None else probs.T.gather(1, index).reshape(-1)
        return tokens[index.reshape(-1)], chosen_probs, index.reshape(-1).int()
    index = torch.arange(tokens.shape[0]).expand(routes.shape).masked_select(routes)
    return tokens[index], None if probs is None else probs.T.contiguous().masked_select(routes), torch.sort(index, stable=True)[1].int()


@operator
def npu_mhc_post(x, h_res, h_out, h_post):
    mixed = x if h_res is None else torch.einsum("...ij,...id->...jd", h_res, x)
    return mixed + h_post[..., None] * h_out[..., None, :]


# ---- boxes ------------------------------------------------------------------------------------------------------------------------------


def overlaps(boxes, truth, mode, above):
    low, high = torch.maximum(truth[:, None, :2], boxes[None, :, :2]), torch.minimum(truth[:, None, 2:], boxes[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    own = lambda b: (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    below = own(truth)[:, None] if mode else own(truth)[:, None] + own(boxes)[None] - shared
    return (shared + above) / (below + 0.001)


alias("NPU.npu_iou", lambda boxes, truth, mode=0: overlaps(boxes, truth, mode, 0.001))
alias("NPU.npu_ptiou", lambda boxes, truth, mode=0: overlaps(boxes, truth, mode, 0))


@operator
def npu_bounding_box_encode(anchors, truth, *numbers):
    means, stds = (torch.tensor(v, dtype=torch.float64).to(anchors.dtype) for v in (numbers[:4], numbers[4:]))
    size, wanted = anchors[:, 2:] - anchors[:, :2] + 1, truth[:, 2:] - truth[:, :2] + 1
    shift = ((truth[:, :2] + truth[:, 2:]) - (anchors[:, :2] + anchors[:, 2:])) / 2 / size
    return (torch.cat([shift, torch.log(wanted / size)], 1) - means) / stds


@operator
def npu_bounding_box_decode(rois, deltas, *numbers):
    means, stds = (torch.tensor(v, dtype=torch.float64).to(rois.dtype) for v in (numbers[:4], numbers[4:8]))
    shape, clip = numbers[8], abs(math.log(numbers[9]))
    d = deltas * stds + means
    size = rois[:, 2:] - rois[:, :2] + 1
    middle, wide = (rois[:, :2] + rois[:, 2:]) / 2 + size * d[:, :2], size * torch.exp(d[:, 2:].clamp(-clip, clip))
    most = torch.tensor([shape[1] - 1, shape[0] - 1, shape[1] - 1, shape[0] - 1])
    return torch.minimum(torch.cat([middle - wide / 2 + 0.5, middle + wide / 2 - 0.5], 1).clamp(min=0), most.to(rois.dtype))


# ---- caches, recurrences ------------------------------------------------------------------------------------------------------------------------


@operator
def npu_kv_rmsnorm_rope_cache(kv, gamma, cos, sin, index, k_cache, ckv_cache, *, epsilon=1e-5, cache_mode="Norm", is_output_kv=False):
    n = gamma.shape[0]
    y = wide_rms(kv[..., :n], gamma, epsilon)[0]
    k = npu_interleave_rope(kv[..., n:], cos, sin)
    caches = []
    for cache, rows in ((k_cache, k), (ckv_cache, y)):
        cache = cache.clone()
        for b in range(kv.shape[0]):
            for t in range(kv.shape[2]):
                if cache_mode == "Norm":
                    cache[b, 0, index[b, t]] = rows[b, 0, t]
                elif index[b * kv.shape[2] + t] >= 0:
                    cache.view(-1, cache.shape[-1])[index[b * kv.shape[2] + t]] = rows[b, 0, t]
        caches.append(cache)
    return *caches, *((k, y) if is_output_kv else (None, None))


@operator
def npu_mhc_sinkhorn(x, *, eps=1e-6, num_iters=20, out_flag=0):
    y = torch.softmax(x, -1) + eps
    y = y / (y.sum(-2, keepdim=True) + eps)
    for _ in range(num_iters - 1):
        y = y / (y.sum(-1, keepdim=True) + eps)
        y = y / (y.sum(-2, keepdim=True) + eps)
    return y, None, None


@operator
def npu_quant_matmul_reduce_sum(x1, x2, *, x1_scale=None, x2_scale=None):
    y = torch.einsum("bmk,bkn,bm,n->mn", x1.double(), x2.double(), x1_scale.double(), x2_scale.double())
    return stored(y, x1_scale, torch.bfloat16)


@operator
def npu_grouped_matmul_finalize_routing(x, w, group_list, *, scale=None, pertoken_scale=None, shared_input=None, logit=None, row_index=None,
                                        shared_input_weight=1.0, shared_input_offset=0, output_bs=0, group_list_type=1):
    y = torch.cat([(x[a:b].long() @ w[i].long()).double() * scale[i].double() for i, (a, b) in enumerate(pieces(group_list, group_list_type == 0))])
    y = y * pertoken_scale.double()[:, None] * logit.double()[:, None]
    out = torch.zeros(output_bs, w.shape[2], dtype=torch.float64).index_add(0, row_index, y)
    if shared_input is not None:
        out[shared_input_offset:shared_input_offset + shared_input.shape[0]] += shared_input.double() * shared_input_weight
    return stored(out, scale)


@operator
def npu_quant_scatter(x, indices, updates, quant_scales, quant_zero_points=None, axis=0, quant_axis=1, reduce="update"):
    new = npu_quantize(updates, quant_scales.reshape(-1), None if quant_zero_points is None else quant_zero_points.reshape(-1), torch.int8, quant_axis)
    return scatter_update(x, indices, new, axis)


alias("NPU.npu_quant_scatter_", npu_quant_scatter)


@operator
def npu_dynamic_block_quant(x, *, dst_type=1, row_block_size=1, col_block_size=128):
    y, scales = torch.zeros_like(x, dtype=torch.int8), []
    for r in range(0, x.shape[0], row_block_size):
        scales.append([])
        for c in range(0, x.shape[1], col_block_size):
            block = x[r:r + row_block_size, c:c + col_block_size].double()
            scales[-1].append(block.abs().max() / 127)
            y[r:r + row_block_size, c:c + col_block_size] = whole(block / scales[-1][-1])
    return y, stored(torch.tensor(scales), x)


@operator
def npu_moe_init_routing_v2(x, expert_idx, *, scale=None, active_num=-1, expert_capacity=-1, expert_num=-1, drop_pad_mode=0,
                            expert_tokens_num_type=0, expert_tokens_num_flag=False, quant_mode=-1, active_expert_range=(), row_idx_type=0):
    first, last = active_expert_range or (0, expert_num)
    k = expert_idx.shape[1]
    experts, order = expert_idx.reshape(-1).long().sort(stable=True)
    counts = torch.bincount(experts - first, minlength=last - first)
    counts_out = (counts.cumsum(0) if expert_tokens_num_type == 0 else counts) if expert_tokens_num_flag else None
    if drop_pad_mode == 0:
        rows = order[:active_num] if active_num > 0 else order
        places = order if row_idx_type else torch.argsort(order)
        return x[rows // k], places.int(), counts_out, None if scale is None else scale[rows // k]
    out, scales, places = torch.zeros(last, expert_capacity, x.shape[1], dtype=x.dtype), torch.zeros(last, expert_capacity), -torch.ones(order.numel())
    scales = scales.to(x.dtype)
    used = [0] * last
    for e, pair in zip(experts.tolist(), order.tolist()):
        if used[e] < expert_capacity:
            out[e, used[e]] = x[pair // k]
            if scale is not None:
                scales[e, used[e]] = scale[pair // k]
            places[pair] = e * expert_capacity + used[e]
        used[e] += 1
    return out, places.int(), counts_out, None if scale is None else scales.reshape(-1)


@operator
def npu_recurrent_gated_delta_rule(query, key, value, state, *, beta=None, scale=None, actual_seq_lengths, ssm_state_indices,
                                   num_accepted_tokens=None, g=None):
    states, out, at = [s for s in state], [], 0
    repeat = value.shape[1] // query.shape[1]
    for n, length in enumerate(actual_seq_lengths.tolist()):
        s = states[int(ssm_state_indices[at + (int(num_accepted_tokens[n]) - 1 if num_accepted_tokens is not None else 0)])]
        for t in range(at, at + length):
            q, k = query[t].repeat_interleave(repeat, 0) * scale, key[t].repeat_interleave(repeat, 0)
            s = s * (1 if g is None else torch.exp(g[t])[:, None, None])
            y = (value[t] - torch.einsum("hvk,hk->hv", s, k)) * (1 if beta is None else beta[t][:, None])
            s = s + y[:, :, None] * k[:, None, :]
            states[int(ssm_state_indices[t])] = s
            out.append(torch.einsum("hvk,hk->hv", s, q))
        at += length
    return torch.stack(out)


@operator
def npu_quant_matmul_gelu(x1, x2, x1_scale, x2_scale, *, bias=None, approximate="gelu_erf"):
    y = (x1.long() @ x2.long()).double()
    if bias is not None and not bias.is_floating_point():
        y = y + bias
    y = y * x2_scale.double() * x1_scale.double()[:, None]
    if bias is not None and bias.is_floating_point():
        y = y + bias.double()
    return stored(ACTIVATIONS[approximate](y), x1_scale, torch.bfloat16 if x2_scale.dtype == torch.bfloat16 else torch.float16)


@operator
def npu_mhc_pre(x, phi, alpha, bias, *, gamma=None, norm_eps=1e-6, hc_eps=1e-6, out_flag=0):
    n, lead = x.shape[-2], x.shape[:-2]
    flat = x.flatten(-2)
    r = torch.rsqrt(flat.square().mean(-1, keepdim=True) + norm_eps)
    h = F.linear(flat if gamma is None else flat * gamma.reshape(-1), phi)
    w = h * r
    pre = torch.sigmoid(w[..., :n] * alpha[0] + bias[:n]) + hc_eps
    post = 2 * torch.sigmoid(w[..., n:2 * n] * alpha[1] + bias[n:2 * n])
    res = (w[..., 2 * n:] * alpha[2] + bias[2 * n:]).reshape(*lead, n, n) if alpha.numel() == 3 else None
    return (pre[..., None] * x).sum(-2), post, res, *((r[..., 0], h, pre) if out_flag else (None, None, None))


@operator
def npu_moe_update_expert(expert_ids, eplb_table, *, expert_scales=None, pruning_threshold=None, active_mask=None, local_rank_id=-1,
                          world_size=-1, balance_mode=0):
    out = expert_ids.clone()
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            row = eplb_table[int(expert_ids[i, j])].tolist()
            out[i, j] = row[1 + (local_rank_id // math.ceil(world_size / row[0]) if balance_mode == 0 else i % row[0])]
    if expert_scales is None:
        return out, None
    keep = expert_scales >= pruning_threshold.reshape(1, -1) * expert_scales.sum(1, keepdim=True)
    return out, keep if active_mask is None else keep & active_mask[:, None]


@operator
def npu_dense_lightning_indexer_softmax_lse(query_index, key_index, weights, *, actual_seq_qlen=None, actual_seq_klen=None, layout="BSND",
                                            sparse_mode=3):
    def block(q, k, w):
        scores = (F.relu(torch.einsum("ind,jd->ijn", q, k[:, 0])) * w[:, None, :]).sum(-1)
        if sparse_mode == 3:
            i, j = torch.arange(q.shape[0])[:, None], torch.arange(k.shape[0])[None]
            scores = scores.masked_fill(j > i + k.shape[0] - q.shape[0], float("-inf"))
        top = scores.amax(1, keepdim=True)
        return top[:, 0], torch.exp(scores - top).sum(1)
    if layout == "BSND":
        parts = [block(query_index[b], key_index[b], weights[b]) for b in range(query_index.shape[0])]
        return tuple(torch.stack([p[s] for p in parts])[:, None] for s in range(2))
    parts = [block(query_index[a:b], key_index[c:d], weights[a:b]) for (a, b), (c, d) in zip(pieces(actual_seq_qlen, True), pieces(actual_seq_klen, True))]
    return tuple(torch.cat([p[s] for p in parts])[None] for s in range(2))


@operator
def npu_fused_causal_conv1d(x, weight, conv_states, *, query_start_loc=None, cache_indices=None, initial_state_mode=None,
                            num_accepted_tokens=None, activation_mode="None", run_mode=0, residual_connection=0, pad_slot_id=-1):
    def convolve(state, own):
        both = torch.cat([state, own])
        y = F.conv1d(both.T[None], weight.T[:, None], groups=weight.shape[1])[0].T
        return y + own if residual_connection else y
    width = weight.shape[0]
    if run_mode == 1:
        starts = [0] * x.shape[0] if num_accepted_tokens is None else [int(n) - 1 for n in num_accepted_tokens]
        return torch.stack([convolve(conv_states[int(cache_indices[b]), s:s + width - 1], x[b]) for b, s in enumerate(starts)])
    ends = query_start_loc.tolist()
    return torch.cat([convolve(conv_states[int(cache_indices[b])] * int(initial_state_mode[b]), x[ends[b]:ends[b + 1]]) for b in range(len(ends) - 1)])


@operator
def npu_mla_prolog(token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, rmsnorm_gamma_cq, rmsnorm_gamma_ckv, rope_sin, rope_cos,
                   cache_index, kv_cache, kr_cache, *, rmsnorm_epsilon_cq=1e-5, rmsnorm_epsilon_ckv=1e-5, cache_mode="PA_BSND"):
    heads, plain, latent = weight_uk.shape
    c = wide_rms(token_x @ weight_dq, rmsnorm_gamma_cq, rmsnorm_epsilon_cq)[0]
    q = (c @ weight_uq_qr).unflatten(-1, (heads, -1))
    query = torch.einsum("bsnd,ndl->bsnl", q[..., :plain], weight_uk)
    turn = lambda x, cos, sin: torch.stack([x[..., ::2] * cos[..., :cos.shape[-1] // 2] - x[..., 1::2] * sin[..., :cos.shape[-1] // 2],
                                            x[..., 1::2] * cos[..., cos.shape[-1] // 2:] + x[..., ::2] * sin[..., cos.shape[-1] // 2:]], -2).flatten(-2)
    query_rope = turn(q[..., plain:], rope_cos[:, :, None], rope_sin[:, :, None])
    kv = token_x @ weight_dkv_kr
    rows = wide_rms(kv[..., :latent], rmsnorm_gamma_ckv, rmsnorm_epsilon_ckv)[0], turn(kv[..., latent:], rope_cos, rope_sin)
    caches = []
    for cache, new in zip((kv_cache, kr_cache), rows):
        cache = cache.clone()
        cache.view(-1, cache.shape[-1])[cache_index.reshape(-1)] = new.flatten(0, 1)
        caches.append(cache)
    return query, query_rope, *caches


alias("NPU.npu_mla_prolog_v2", lambda *args, **kwargs: (*npu_mla_prolog(*args, **kwargs), None))


@operator
def npu_grouped_matmul_swiglu_quant_v2(x, weight, weight_scale, x_scale, group_list):
    y = torch.cat([(x[a:b].long() @ weight[0][i].long()).double() * weight_scale[0][i].double() for i, (a, b) in enumerate(pieces(group_list, True))])
    a, b = (y * x_scale.double()[:, None]).chunk(2, 1)
    y, scale = scaled_rows(F.silu(a) * b)
    return y, stored(scale, x_scale)


@operator
def npu_sparse_flash_attention(query, key, value, sparse_indices, scale_value, *, actual_seq_lengths_kv=None, query_rope=None, key_rope=None,
                               sparse_block_size=1, sparse_mode=3):
    q, k, out = torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1), torch.zeros_like(query)
    for b in range(q.shape[0]):
        length = key.shape[1] if actual_seq_lengths_kv is None else int(actual_seq_lengths_kv[b])
        for i in range(q.shape[1]):
            last = length - q.shape[1] + i + 1 if sparse_mode == 3 else length
            seen = [j for s in sparse_indices[b, i, 0].tolist() if s >= 0 for j in range(s * sparse_block_size, (s + 1) * sparse_block_size) if j < last]
            p = torch.softmax(q[b, i] @ k[b, seen, 0].T * scale_value, -1)
            out[b, i] = p @ value[b, seen, 0]
    return out, None, None


# ---- 8-bit floats, shared powers of two -------------------------------------------------------------------------------

FLOAT8 = {"torch.float8_e4m3fn": (448.0, 8), "torch.float8_e5m2": (57344.0, 15)}


def labelled(y, dtype):
    """A result that a device has in a dtype which this PyTorch does not have."""
    y.label = dtype
    return y


def quantized_by(x, exponents, dtype):
    top = FLOAT8[dtype][0]
    return labelled((x.double() * torch.exp2(-exponents.double())).clamp(-top, top), dtype)


def shared_exponent(block, dtype, algorithm):
    largest, (top, most) = float(block.abs().max()), FLOAT8[dtype]
    if largest == 0:
        return -127
    if algorithm == 0:
        return max(-127, math.frexp(largest)[1] - 1 - most)
    exponent = -126
    while 2.0**exponent < largest / top:
        exponent += 1
    return exponent if largest / top > 2.0**-127 else -127


def mx_along(x, axis, size, dtype, algorithm, ends=None):
    """By the definition, block by block: the numbers by their powers of two, and the bytes of those."""
    rows = x.double().movedim(axis, 0)
    exponents, groups = torch.zeros(rows.shape), [(0, rows.shape[0])] if ends is None else pieces(ends, True)
    pairs = math.ceil(rows.shape[0] / size / 2) if ends is None else rows.shape[0] // (2 * size) + len(groups)
    bytes_of = torch.zeros(pairs, *rows.shape[1:], 2, dtype=torch.uint8)
    for e, (a, b) in enumerate(groups):
        for k, i in enumerate(range(a, b, size)):
            for at in itertools.product(*[range(n) for n in rows.shape[1:]]):
                block = (slice(i, min(i + size, b)),) + at
                exponents[block] = shared_exponent(rows[block], dtype, algorithm)
                first = 0 if ends is None else a // (2 * size) + e
                bytes_of[(first + k // 2,) + at + (k % 2,)] = int(exponents[(i,) + at]) + 127
    return quantized_by(x, exponents.movedim(0, axis), dtype), bytes_of.movedim(0, axis % x.dim())


@operator
def npu_dynamic_mx_quant(x, *, axis=-1, dst_type, block_size=32, scale_alg=0):
    return mx_along(x, axis, block_size, dst_type.name, scale_alg)


@operator
def npu_dynamic_mx_quant_with_dual_axis(x, *, dst_type, scale_alg=0):
    return mx_along(x, -1, 32, dst_type.name, scale_alg) + mx_along(x, -2, 32, dst_type.name, scale_alg)


@operator
def npu_grouped_dynamic_mx_quant(x, group_index, *, dst_type, scale_alg=0):
    return mx_along(x, 0, 32, dst_type.name, scale_alg, group_index)


@operator
def npu_dynamic_block_mx_quant(x, *, dst_type):
    m, n = x.shape
    exponents, rows, columns = torch.zeros(m, n), torch.zeros(m, math.ceil(n / 64), 2, dtype=torch.uint8), torch.zeros(math.ceil(m / 64), n, 2, dtype=torch.uint8)
    for i, j in itertools.product(range(0, m, 32), range(0, n, 32)):
        e = shared_exponent(x[i:i + 32, j:j + 32], dst_type.name, 0)
        exponents[i:i + 32, j:j + 32] = e
        rows[i:i + 32, j // 64, j // 32 % 2] = e + 127
        columns[i // 64, j:j + 32, i // 32 % 2] = e + 127
    return quantized_by(x, exponents, dst_type.name), rows, columns


@operator
def npu_grouped_dynamic_block_quant(x, group_list, *, dst_type, row_block_size=1, col_block_size=128):
    batches, top = x.reshape(-1, *x.shape[-2:]), FLOAT8[dst_type.name][0]
    groups, y, scales = pieces(group_list, True), torch.zeros_like(batches, dtype=torch.float64), []
    for b, batch in enumerate(batches.double()):
        scale = torch.zeros(batch.shape[0] // row_block_size + len(groups), math.ceil(batch.shape[1] / col_block_size), dtype=torch.float64)
        for e, (first, last) in enumerate(groups):
            for i, j in itertools.product(range(first, last, row_block_size), range(0, batch.shape[1], col_block_size)):
                at = slice(i, min(i + row_block_size, last)), slice(j, j + col_block_size)
                own = batch[at].abs().max() / top
                scale[first // row_block_size + e + (i - first) // row_block_size, j // col_block_size] = own
                y[b][at] = batch[at] / own
        scales.append(scale)
    return labelled(y.reshape(x.shape), dst_type.name), stored(torch.stack(scales).reshape(*x.shape[:-2], *scales[0].shape), x)


def spread(scale, axis, extent):
    """The powers of two of bytes in pairs, one for each position along an axis."""
    rows = scale.movedim(axis, 0).movedim(-1, 1).flatten(0, 1)
    return torch.exp2(rows.double() - 127).repeat_interleave(32, 0)[:extent].movedim(0, axis)


@operator
def npu_transpose_quant_batchmatmul(x1, x2, dtype, *, x1_scale, x2_scale, perm_x1, perm_x2, perm_y):
    a, b = x1.double(), x2.double()
    if x1_scale.dim() == 4:
        a, b = a * spread(x1_scale, 2, a.shape[2]), b * spread(x2_scale, perm_x2.index(1), a.shape[2])
    y = a.permute(perm_x1) @ b.permute(perm_x2)
    if x1_scale.dim() == 1:
        y = y * x2_scale.double() * x1_scale.double()[:, None]
    return stored(y.permute(perm_y), x1, dtype)


@operator
def npu_add_quant_matmul_(y, x1, x2, x2_scale, *, x1_scale):
    return y + stored((x1.double() * spread(x1_scale, 1, x1.shape[1])) @ (x2.double() * spread(x2_scale, 0, x2.shape[0])), y)


@operator
def npu_add_quant_gmm_(y, x1, x2, x2_scale, group_list, *, x1_scale, group_list_type=0):
    added = []
    for e, (a, b) in enumerate(pieces(group_list, group_list_type == 0)):
        at = slice(a // 64 + e, a // 64 + e + math.ceil((b - a) / 64))
        added.append((x1[:, a:b].double() * spread(x1_scale[:, at], 1, b - a)) @ (x2[a:b].double() * spread(x2_scale[at], 0, b - a)))
    return y + stored(torch.stack(added), y)


# ---- floats and integers of four bits ------------------------------------------------------------------------------------

FOUR = {296: ([0, 0.5, 1, 1.5, 2, 3, 4, 6], 2), 297: ([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75], 0)}


def four_bits(v, number, mode):
    """The code of one number: of all values within the rounding's rule the nearest."""
    values, size = FOUR[number][0], abs(v)
    if size >= values[7]:
        k = 7
    else:
        k = max(i for i in range(8) if values[i] <= size)
        below, above = size - values[k], values[k + 1] - size
        if mode == "floor":
            k += v < 0 and below > 0
        elif below > above or (below == above and (mode == "round" or k % 2)):
            k += 1
    return k + 8 * (math.copysign(1, v) < 0)


def in_words(codes, each, dtype):
    codes = codes.reshape(*codes.shape[:-1], -1, each)
    word = sum((codes[..., i] & 15) << (4 * i) for i in range(each))
    return torch.where(word >= 2**31, word - 2**32, word).to(dtype) if dtype == torch.int32 else word.to(dtype)


def four_bits_along(x, axis, number, mode, size=32):
    """The definition, block by block: numbers of four bits, packed, and the bytes of the powers of two."""
    rows = x.double().movedim(axis, 0)
    codes, most = torch.zeros(rows.shape, dtype=torch.int64), FOUR[number][1]
    bytes_of = torch.zeros(math.ceil(rows.shape[0] / size / 2), *rows.shape[1:], 2, dtype=torch.uint8)
    for k, i in enumerate(range(0, rows.shape[0], size)):
        for at in itertools.product(*[range(n) for n in rows.shape[1:]]):
            block = rows[(slice(i, i + size),) + at]
            largest = float(block.abs().max())
            e = -127 if largest == 0 else max(-127, math.frexp(largest)[1] - 1 - most)
            bytes_of[(k // 2,) + at + (k % 2,)] = e + 127
            for j, v in enumerate(block.tolist()):
                codes[(i + j,) + at] = four_bits(math.ldexp(v, -e), number, mode)
    return in_words(codes.movedim(0, axis), 2, torch.uint8), bytes_of.movedim(0, axis % x.dim())


def in_blocks(x, axis, dst_type, scale_alg, round_mode="rint"):
    if dst_type in FOUR:
        return four_bits_along(x, axis, dst_type, round_mode)
    return mx_along(x, axis, 32, {291: "torch.float8_e5m2", 292: "torch.float8_e4m3fn"}[dst_type], scale_alg)


plain_mx = NPU["NPU.npu_dynamic_mx_quant"]


@operator
def npu_dynamic_mx_quant(x, *, axis=-1, dst_type, block_size=32, scale_alg=0, round_mode="rint", max_low_bound=0.0):
    if dst_type in FOUR:
        return four_bits_along(x, axis, dst_type, round_mode, block_size)
    if max_low_bound:  # a block of nothing but small numbers has the scale of that number
        return plain_mx(torch.cat([x, torch.full_like(x[:, :1], max_low_bound)], 1), axis=axis, dst_type=dst_type, scale_alg=scale_alg)[0][:, :-1], plain_mx(
            torch.cat([x, torch.full_like(x[:, :1], max_low_bound)], 1), axis=axis, dst_type=dst_type, scale_alg=scale_alg)[1]
    return plain_mx(x, axis=axis, dst_type=dst_type, block_size=block_size, scale_alg=scale_alg)


def normalized_in_blocks(x, gamma, beta, epsilon, scale_alg, round_mode, dst_type, wants_rstd):
    x, gamma = x.detach().double(), gamma.detach().double()
    r = 1 / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)
    y = x * r * gamma + (0 if beta is None else beta.detach().double())
    return in_blocks(y, -1, dst_type, scale_alg, round_mode) + ((r if wants_rstd else r[:0].reshape(-1)).float(),)


@operator
def npu_rms_norm_dynamic_mx_quant(x, gamma, *, beta=None, epsilon=1e-6, scale_alg=0, round_mode="rint", dst_type=296):
    return normalized_in_blocks(x, gamma, beta, epsilon, scale_alg, round_mode, dst_type, x.requires_grad)


@operator
def npu_add_rms_norm_dynamic_mx_quant(x1, x2, gamma, *, beta=None, epsilon=1e-6, scale_alg=0, round_mode="rint", dst_type=296):
    x = (x1 + x2).detach()
    y, scales, r = normalized_in_blocks(x, gamma, beta, epsilon, scale_alg, round_mode, dst_type, x1.requires_grad)
    return y, x, scales, r


@operator
def npu_swiglu_mx_quant(x, *, group_index=None, activate_dim=-1, activate_left=False, swiglu_mode=0, clamp_limit=7.0, glu_alpha=1.702, glu_bias=1.0,
                        group_mode=0, axis=-1, dst_type=296, round_mode="rint", scale_alg=0):
    a, b = (x[..., 0::2], x[..., 1::2]) if swiglu_mode == 1 else x.chunk(2, activate_dim)
    if swiglu_mode != 1 and not activate_left:
        a, b = b, a
    if swiglu_mode == 0:
        y = F.silu(a) * b
    elif swiglu_mode == 3:
        y = F.silu(a).clamp(max=clamp_limit) * b.clamp(-clamp_limit, clamp_limit)
    else:
        a = a.clamp(max=clamp_limit)
        y = a * torch.sigmoid(glu_alpha * a) * (b.clamp(-clamp_limit, clamp_limit) + glu_bias)
    return in_blocks(y, axis, dst_type, scale_alg, round_mode)


@operator
def npu_dynamic_dual_level_mx_quant(x, *, round_mode="rint"):
    # The dtype of x is lost in float64: bfloat16, as all calls here have.
    parts = [p for p in x.double().split(512, -1)]
    scales = [p.abs().amax(-1, keepdim=True) / 6 for p in parts]
    temp = torch.cat([(p / s).float().bfloat16().double() for p, s in zip(parts, scales)], -1)
    y, bytes_of = four_bits_along(temp, -1, 296, round_mode)
    return y, torch.cat(scales, -1).float(), bytes_of


def four_bits_numbers(x):
    codes = torch.stack([x.to(torch.int64) & 15, x.to(torch.int64) >> 4 & 15], -1).flatten(-2)
    values = torch.tensor(FOUR[296][0], dtype=torch.float64)
    return torch.where(codes >= 8, -1.0, 1.0).double() * values[codes & 7]


@operator
def npu_dual_level_quant_matmul(x1, x2, x1_level0_scale, x2_level0_scale, x1_level1_scale, x2_level1_scale, bias=None, output_dtype=torch.bfloat16):
    a, b, k = four_bits_numbers(x1), four_bits_numbers(x2), 2 * x1.shape[1]
    fine = [torch.exp2(s.flatten(1).double() - 127).repeat_interleave(32, 1)[:, :k] for s in (x1_level1_scale, x2_level1_scale)]
    a = a * fine[0] * x1_level0_scale.repeat_interleave(512, 1)[:, :k]
    b = b * fine[1] * x2_level0_scale.T.repeat_interleave(512, 1)[:, :k]
    return labelled(a @ b.T + (0 if bias is None else bias), str(output_dtype))


@operator
def npu_kronecker_quant(x, kronecker_p1, kronecker_p2, clip_ratio=None):
    y = kronecker_p1 @ (x @ kronecker_p2)
    scale = y.abs().amax((1, 2)) / 7
    return in_words(torch.round(y / scale[:, None, None]).to(torch.int64), 8, torch.int32), scale.float()


# ---- pairs of boxes, turned boxes ----------------------------------------------------------------------------------------


def pair_overlap(boxes, truth, trans, kind):
    eps = 1e-16 if kind == "general" else 1e-9
    low, high = [], []
    for b in (boxes, truth):
        low.append(b[:2] - b[2:] / 2 if trans else b[:2])
        high.append(b[:2] + b[2:] / 2 if trans else b[2:])
    size = [h - l + (0 if kind == "general" else torch.tensor([[0], [eps]], dtype=torch.float64)) for l, h in zip(low, high)]
    shared = (torch.minimum(*high) - torch.maximum(*low)).clamp(min=0).prod(0)
    union = size[0].prod(0) + size[1].prod(0) - shared + eps
    iou, outer = shared / union, torch.maximum(*high) - torch.minimum(*low)
    if kind == "general":
        return stored((iou - (outer.prod(0) - union) / outer.prod(0))[:, None], boxes)
    y = iou - ((low[1] + high[1] - low[0] - high[0]) ** 2).sum(0) / 4 / ((outer**2).sum(0) + eps)
    if kind == "complete":
        v = 4 / math.pi**2 * (torch.atan(size[1][0] / size[1][1]) - torch.atan(size[0][0] / size[0][1])) ** 2
        y = y - v * (v / (1 + eps - iou + v)).detach()
    return stored(y[None], boxes)


for name, kind in (("npu_giou", "general"), ("npu_diou", "distance"), ("npu_ciou", "complete")):
    alias("NPU." + name, lambda boxes, truth, trans=False, *rest, kind=kind: pair_overlap(boxes, truth, trans, kind))


def turned_box(b):
    return (b[:, :2] + b[:, 2:4]) / 2, b[:, 2:4] - b[:, :2], torch.tan(b[:, 4:] * math.pi / 180)


@operator
def npu_rotated_box_encode(anchors, truth, weight):
    (centre, size, slope), (to, wanted, wanted_slope) = turned_box(anchors), turned_box(truth)
    return torch.cat([(to - centre) / size, torch.log(wanted / size), wanted_slope - slope], 1)


@operator
def npu_rotated_box_decode(anchors, deltas, weight):
    centre, size, slope = turned_box(anchors)
    centre, size = centre + size * deltas[:, :2], size * torch.exp(deltas[:, 2:4])
    return torch.cat([centre - size / 2, centre + size / 2, torch.atan(slope + deltas[:, 4:]) * 180 / math.pi], 1)


@operator
def npu_anchor_response_flags(boxes, featmap_size, stride, num_base_anchors):
    flags = torch.zeros(*featmap_size, num_base_anchors, dtype=torch.uint8)
    for x1, y1, x2, y2 in boxes.tolist():
        flags[int((y1 + y2) / 2 // stride[1]), int((x1 + x2) / 2 // stride[0])] = 1
    return flags.reshape(-1)


# ---- filters, ranges, sequences -------------------------------------------------------------------------------------------


@operator
def npu_top_k_top_p(logits, p, k):
    y = torch.full_like(logits, -math.inf)
    for r, row in enumerate(logits.tolist()):
        order = sorted(range(len(row)), key=lambda i: (row[i], i))
        least = row[order[-int(k[r])]] if k is not None else -math.inf
        order, seen = [i for i in order if row[i] >= least], 0.0
        total = sum(math.exp(row[i]) for i in order)
        for i in order:
            seen += math.exp(row[i]) / total
            if p is None or seen > 1 - float(p[r]) or i == order[-1]:
                y[r, i] = logits[r, i]
    return y


@operator
def npu_masked_fill_range(x, start, end, value, axis=-1):
    y = x.clone()
    for i, j in itertools.product(range(start.shape[0]), range(start.shape[1])):
        line = y[j] if x.dim() > 1 and axis % x.dim() == x.dim() - 1 else y
        line.transpose(0, axis if line is y else -1)[start[i, j]:end[i, j]] = value[i]
    return y


@operator
def npu_normalize_batch(x, seq_len, normalize_type=0):
    y = []
    for sample, n in zip(x, seq_len.tolist()):
        seen = sample[:, :n] if normalize_type == 0 else sample[:, :n].reshape(1, -1)
        y.append((sample - seen.mean(1, keepdim=True)) / (seen.std(1, keepdim=True) + 1e-5))
    return torch.stack(y)


# ---- chosen keys, edges, recurrent layers ----------------------------------------------------------------------------------


def seen_keys(rows, columns, mode):
    return [columns - rows + r + 1 if mode == 3 else columns for r in range(rows)]


def index_scores(q, k, w):
    return (torch.relu(torch.einsum("rhd,cd->rhc", q.double(), k.double().reshape(len(k), -1))) * w.double()[..., None]).sum(1)


def in_sequences(layout, q, k, q_ends, k_ends, k_lengths):
    if layout == "TND":
        return [(slice(*a), slice(*b)) for a, b in zip(pieces(q_ends, True), pieces(k_ends, True))]
    return [(i, (i, slice(0, None if k_lengths is None else int(k_lengths[i])))) for i in range(len(q))]


@operator
def npu_lightning_indexer(query, key, weights, *, actual_seq_lengths_query=None, actual_seq_lengths_key=None, layout_query="BSND", layout_key="BSND",
                          sparse_count=2048, sparse_mode=3, return_value=False):
    places, values = [], []
    for a, b in in_sequences(layout_query, query, key, actual_seq_lengths_query, actual_seq_lengths_key, actual_seq_lengths_key):
        scores = index_scores(query[a], key[b], weights[a])
        for row, n in zip(scores, seen_keys(*scores.shape, sparse_mode)):
            best = row[:n].argsort(descending=True)[:sparse_count]
            places.append(torch.cat([best, -torch.ones(sparse_count - len(best))]))
            values.append(row[best])
    shape = (*query.shape[:-2], 1, sparse_count)
    return torch.stack(places).reshape(shape).int(), stored(torch.stack(values).reshape(shape), query, query.dtype) if return_value else None


@operator
def npu_quant_lightning_indexer(query, key, weights, query_dequant_scale, key_dequant_scale, query_quant_mode, key_quant_mode, **rest):
    return npu_lightning_indexer(query * query_dequant_scale.double()[..., None], key * key_dequant_scale.double()[..., None], weights, **rest)[0]


@operator
def npu_dense_lightning_indexer_grad_kl_loss(query, key, query_index, key_index, weights, softmax_max, softmax_sum, softmax_max_index, softmax_sum_index,
                                             scale_value, *, query_rope=None, key_rope=None, actual_seq_qlen=None, actual_seq_klen=None, layout="BSND"):
    """The gradients of the loss by autograd, through a softmax whose statistics are those given."""
    if query_rope is not None:
        query, key = torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1)
    leaves, loss = [t.double().requires_grad_() for t in (query_index, key_index, weights)], 0
    blocks = in_sequences(layout, query, key, actual_seq_qlen, actual_seq_klen, None)
    with torch.enable_grad():
        entropy = 0
        for a, b in blocks:
            rows = (lambda t: t[..., a, :]) if layout == "TND" else (lambda t: t[a])
            last = (lambda t: t[0, a]) if layout == "TND" else (lambda t: t[a, 0])
            q, k, scores = query[a].double(), key[b].double(), index_scores(leaves[0][a], leaves[1][b], leaves[2][a])
            mask = torch.tensor([[j >= n for j in range(scores.shape[1])] for n in seen_keys(*scores.shape, 3)])
            statistics = [rows(t).double().transpose(1, 2).reshape(q.shape[1], -1, 1) for t in (softmax_max, softmax_sum)]
            p = torch.exp(torch.einsum("rhd,chd->hrc", q, k) * scale_value - statistics[0]) / statistics[1]
            p = p.mean(0).masked_fill(mask, 0).detach()
            share = (torch.exp(scores.detach() - last(softmax_max_index).double()[:, None]) / last(softmax_sum_index).double()[:, None]).masked_fill(mask, 0)
            loss = loss + (p * (torch.log(p.clamp(min=1e-8)) - torch.log(share.clamp(min=1e-8)))).sum()
            entropy = entropy + ((share - p) * scores).sum()
        entropy.backward()
    return tuple(stored(t.grad, like, like.dtype) for t, like in zip(leaves, (query_index, key_index, weights))) + (stored(loss.reshape(1), query_index),)


@operator
def npu_fused_floyd_attention(query_ik, key_ij, value_ij, key_jk, value_jk, *, atten_mask=None, scale_value=1.0):
    scores = scale_value * (torch.einsum("bhnmd,bhnkd->bhnmk", query_ik, key_ij) + torch.einsum("bhnmd,bhkmd->bhnmk", query_ik, key_jk))
    if atten_mask is not None:
        scores = scores.masked_fill(atten_mask, -math.inf)
    p, largest = torch.softmax(scores, -1), scores.detach().amax(-1, keepdim=True)
    total = torch.exp(scores.detach() - largest).sum(-1, keepdim=True)
    y = torch.einsum("bhnmk,bhnkd->bhnmd", p, value_ij) + torch.einsum("bhnmk,bhkmd->bhnmd", p, value_jk)
    return stored(largest.expand(*largest.shape[:-1], 8), query_ik), stored(total.expand(*total.shape[:-1], 8), query_ik), y


@operator
def npu_block_sparse_attention(query, key, value, mask, block_shape, *, scale_value, num_key_value_heads, softmax_lse_flag=0, **layouts):
    key, value = (t.repeat_interleave(query.shape[1] // num_key_value_heads, 1) for t in (key, value))
    scores = query @ key.transpose(2, 3) * scale_value
    open_ = mask.bool().repeat_interleave(block_shape[0], 2).repeat_interleave(block_shape[1], 3)[:, :, :query.shape[2], :key.shape[2]]
    scores = scores.masked_fill(~open_, -math.inf)
    return torch.softmax(scores, -1) @ value, torch.logsumexp(scores, -1, keepdim=True) if softmax_lse_flag else None


@operator
def npu_lstm(x, weight, bias, seq_mask, h, c, has_biases, *rest):
    steps, (h, c) = [], (h[0], c[0])
    for row in x:
        i, f, g, o = (torch.cat([row, h], 1) @ weight + (bias if has_biases else 0)).chunk(4, 1)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        c = f * c + i * g
        h = o * torch.tanh(c)
        steps.append((h, h, c, i, g, f, o, torch.tanh(c)))
    return tuple(torch.stack(parts) for parts in zip(*steps))


@operator
def npu_gru(x, hx, weight_input, weight_hidden, bias_input, bias_hidden, seq_length, has_biases, *rest):
    steps, h = [], hx[0]
    for row in x:
        inputs, hidden = row @ weight_input, h @ weight_hidden
        if has_biases:
            inputs, hidden = inputs + bias_input, hidden + bias_hidden
        (xr, xz, xn), (hr, hz, hn) = inputs.chunk(3, 1), hidden.chunk(3, 1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        h = (1 - z) * n + z * h
        steps.append((h, h, z, r, n, hn))
    return tuple(torch.stack(parts) for parts in zip(*steps))


@operator
def npu_bert_apply_adam(lr, beta1, beta2, epsilon, grad, max_grad_norm, global_grad_norm, weight_decay, step_size=None, adam_mode=0, *, out):
    var, m, v = out
    g = grad / global_grad_norm if max_grad_norm > 0 and global_grad_norm > 1 else grad
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g ** 2
    update = m / (v.sqrt() + epsilon)
    if adam_mode == 0:
        return var - lr * (update + weight_decay * var), m, v
    return var - (lr if step_size is None else step_size) * update - lr * weight_decay * var, m, v


@operator
def npu_stride_add(x, other, offset1, offset2, c1_len):
    filled = [F.pad(t, (0, 0) * (t.dim() - 2) + (0, -t.shape[1] % 16)) for t in (x, other)]
    return sum(t[:, 16 * o:16 * (o + c1_len)] for t, o in zip(filled, (offset1, offset2)))


def deformed_samples(x, offset, kernel, stride, padding, dilation, groups):
    """Every input counts by a tent about it, at places (n, group, kh, kw, out h, out w)."""
    n, (kh, kw) = x.shape[0], kernel
    dx, dy, factor = offset.reshape(n, 3, groups, kh, kw, *offset.shape[2:]).unbind(1)
    y = dy + (torch.arange(dy.shape[-2]) * stride[2] - padding[0])[:, None] + (torch.arange(kh) * dilation[2])[:, None, None, None]
    x_at = dx + (torch.arange(dx.shape[-1]) * stride[3] - padding[2]) + (torch.arange(kw) * dilation[3])[:, None, None]
    rows = (1 - (y[..., None] - torch.arange(x.shape[2])).abs()).clamp(min=0)
    columns = (1 - (x_at[..., None] - torch.arange(x.shape[3])).abs()).clamp(min=0)
    split = x.reshape(n, groups, -1, *x.shape[2:])
    samples = torch.einsum("ngchw,ngijopw,ngijoph->ngcoipj", split, columns, rows) * factor.permute(0, 1, 4, 2, 5, 3)[:, :, None]
    return samples.reshape(n, x.shape[1], samples.shape[3] * kh, samples.shape[5] * kw)


@operator
def npu_deformable_conv2d(x, weight, offset, bias, kernel_size, stride, padding, dilation=(1, 1, 1, 1), groups=1, deformable_groups=1, modulated=True):
    samples = deformed_samples(x, offset, kernel_size, stride, padding, dilation, deformable_groups)
    return F.conv2d(samples, weight, bias, stride=tuple(kernel_size), groups=groups), samples


def shared_over_union(a, b):
    low, high = torch.maximum(a[:2], b[:2]), torch.minimum(a[2:4], b[2:4])
    shared = (high - low).clamp(min=0).prod()
    return float(shared / ((a[2:4] - a[:2]).prod() + (b[2:4] - b[:2]).prod() - shared))


@operator
def npu_nms_with_mask(x, iou_threshold):
    left = []
    for i in range(len(x)):
        if all(shared_over_union(x[i], x[j]) <= iou_threshold for j in left):
            left.append(i)
    return x[:, :5] * 1, torch.arange(len(x)).int(), torch.tensor([i in left for i in range(len(x))]).to(torch.uint8)


@operator
def npu_batch_nms(boxes, scores, score_threshold, iou_threshold, max_size_per_class, max_total_size, change_coordinate_frame=False, transpose_box=False):
    if transpose_box:
        boxes = boxes.permute(0, 3, 1, 2)
    rows = []
    for item, points in zip(boxes.expand(*scores.shape, 4), scores):
        found = []
        for c in range(points.shape[1]):
            left = []
            for i in sorted(range(len(points)), key=lambda i: -points[i, c]):
                box = item[i, c]
                if points[i, c] > score_threshold and (box[2:] > box[:2]).all() and len(left) < max_size_per_class \
                        and all(shared_over_union(box, item[j, c]) <= iou_threshold for j in left):
                    left.append(i)
            found += [(points[i, c], c, item[i, c]) for i in left]
        found = sorted(found, key=lambda f: -f[0])[:max_total_size]
        empty = max_total_size - len(found)
        rows.append((torch.stack([f[2] for f in found] + [torch.zeros(4).to(boxes)] * empty), torch.stack([f[0] for f in found] + [torch.zeros(()).to(scores)] * empty),
                     torch.tensor([f[1] for f in found] + [0] * empty).to(boxes), torch.tensor(len(found)).int()))
    return tuple(torch.stack(parts) for parts in zip(*rows))


def tokens_see(q, k, v, scale, added=0, hidden=None):
    """Tokens (T, heads, width) over keys (K, key heads, width); the result and the logarithm of the sums, (heads, T)."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = torch.einsum("thd,khd->htk", q, k) * scale + added
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.einsum("htk,khd->thd", torch.softmax(scores, -1), v), torch.logsumexp(scores, -1)


def in_pages(cache, table, length, heads, start=0):
    size = cache.shape[1]
    return torch.stack([cache[int(table[j // size]), j % size].reshape(heads, -1) for j in range(start, start + length)])


def listed(lengths):
    return [int(n) for n in lengths]


@operator
def atb___npu_paged_attention_v2(query, key_cache, block_table, context_lens, *, value_cache, mask=None, num_kv_heads=0, num_heads=0, scale_value=1.0, mask_type=0, out=None):
    rows = []
    for i, length in enumerate(listed(context_lens)):
        k, v = (in_pages(c, block_table[i], length, num_kv_heads or num_heads) for c in (key_cache, value_cache))
        added = 0 if mask_type == 0 else (mask[i] if mask.dim() == 4 else mask)[..., :length]
        rows.append(tokens_see(query[i:i + 1], k, v, scale_value, added)[0])
    return torch.cat(rows)


@operator
def atb__npu_multi_head_latent_attention(q_nope, q_rope, ctkv, k_rope, block_tables, context_lens, q_headnum, qk_scale, kv_headnum, **names):
    rows = []
    for i, length in enumerate(listed(context_lens)):
        v, r = (in_pages(c, block_tables[i], length, kv_headnum) for c in (ctkv, k_rope))
        rows.append(tokens_see(torch.cat([q_nope, q_rope], 2)[i:i + 1], torch.cat([v, r], 2), v, qk_scale)[0])
    return torch.cat(rows)


@operator
def atb___npu_flash_attention_v2(query, key, value, seq_len, *, mask=None, slopes=None, kernel_type=0, mask_type=2, scale_value=1, num_heads=0, num_kv_heads=0, out=None):
    rows, at = [], 0
    three = lambda t, heads: t.reshape(len(t), heads, -1)
    for b, length in enumerate(listed(seq_len)):
        q, k, v = (three(t, heads)[at:at + length] for t, heads in ((query, num_heads), (key, num_kv_heads or num_heads), (value, num_kv_heads or num_heads)))
        own = 0
        if mask_type:
            own = (mask[b] if mask.dim() == mask_type + 2 else mask)[..., :length, :length]
            own = own * (-3e38 if mask_type == 1 and own.max() > 0 else 1)
        rows.append(tokens_see(q, k, v, scale_value, own)[0])
        at += length
    return torch.cat(rows).reshape(*query.shape[:-1], -1) if query.dim() == 3 else torch.cat(rows).flatten(1)


def pages_behind(query, key, value, tables, seqlen, kv_seqlen, heads, scale, key_heads):
    rows, at = [], 0
    for b, (n, m) in enumerate(zip(listed(seqlen), listed(kv_seqlen))):
        k, v = (in_pages(c, tables[b], m, key_heads) for c in (key, value))
        hidden = torch.arange(m) > torch.arange(n)[:, None] + m - n
        rows.append(tokens_see(query.reshape(len(query), heads, -1)[at:at + n], k, v, scale, hidden=hidden)[0])
        at += n
    return torch.cat(rows).reshape(len(query), *([heads, -1] if query.dim() == 3 else [-1]))


@operator
def atb__npu_self_attention_prefix_encoder(query, key, value, block_tables, seqlen, kv_seqlen, q_headnum, qk_scale, kv_headnum, **names):
    return pages_behind(query, key, value, block_tables, seqlen, kv_seqlen, q_headnum, qk_scale, kv_headnum)


@operator
def atb___npu_flash_attention_prefix_v2(query, key_cache, value_cache, block_table, mask, seq_len, context_lens, *, num_heads, num_kv_heads, scale_value, out=None, **kinds):
    return pages_behind(query, key_cache, value_cache, block_table, seq_len, context_lens, num_heads, scale_value, num_kv_heads)


@operator
def atb__npu_ring_mla(q_nope, q_rope, k_nope, k_rope, value, mask, seqlen, head_num, kv_head_num, *, pre_out=None, prev_lse=None, qk_scale=1, mask_type=None, calc_type=None,
                      **names):
    lengths = (seqlen if seqlen.dim() == 2 else torch.stack([seqlen, seqlen])).tolist()
    rows, logs, at, key_at = [], [], 0, 0
    for n, m in zip(*lengths):
        hidden = torch.arange(m) > torch.arange(n)[:, None] if mask_type == "mask_type_triu" else None
        own = slice(key_at, key_at + m)
        y, lse = tokens_see(torch.cat([q_nope, q_rope], 2)[at:at + n], torch.cat([k_nope, k_rope], 2)[own], value[own], qk_scale, hidden=hidden)
        if calc_type == "calc_type_default":
            a, b = torch.exp(prev_lse[:, at:at + n]), torch.exp(lse)
            y = (pre_out[at:at + n] * a.T[..., None] + y * b.T[..., None]) / (a + b).T[..., None]
            lse = torch.log(a + b)
        rows.append(y)
        logs.append(lse)
        at, key_at = at + n, key_at + m
    return torch.cat(rows), stored(torch.cat(logs, 1), q_nope)


@operator
def atb__npu_paged_cache_load(key_cache, value_cache, block_table, context_lens, *, seq_starts=None, cumsum=False, key=None, value=None):
    lengths = context_lens.diff().tolist() if cumsum else context_lens.tolist()
    loaded = []
    for cache, out in ((key_cache, key), (value_cache, value)):
        size, rows = cache.shape[1], []
        for b, n in enumerate(lengths):
            if n:
                rows.append(in_pages(cache, block_table[b], n, cache.shape[2], 0 if seq_starts is None else int(seq_starts[b]) // size * size))
        y = torch.cat(rows)
        loaded.append(y if out is None else torch.cat([y, out[len(y):]]))
    return tuple(loaded)


@operator
def npu_mla_prolog_v3(token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, rmsnorm_gamma_cq, rmsnorm_gamma_ckv, rope_sin, rope_cos, kv_cache, kr_cache, *,
                      rmsnorm_epsilon_cq=1e-5, query_norm_flag=False, qc_qr_scale=1.0, **rest):
    wide = [t.reshape(1, *t.shape) if t.dim() == 2 else t for t in (token_x, rope_sin, rope_cos)]
    index = torch.arange(wide[0].shape[0] * wide[0].shape[1]).reshape(wide[0].shape[:2])
    query, rope, *_ = npu_mla_prolog(wide[0], weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, rmsnorm_gamma_cq * qc_qr_scale, rmsnorm_gamma_ckv, *wide[1:], index,
                                     kv_cache, kr_cache, rmsnorm_epsilon_cq=rmsnorm_epsilon_cq)
    if token_x.dim() == 2:
        query, rope = query[0], rope[0]
    return query, rope, None, wide_rms(token_x @ weight_dq, rmsnorm_gamma_cq, rmsnorm_epsilon_cq)[0] if query_norm_flag else None, None


def listed_keys_of(b, query, key, lengths, query_lengths, layout_query, layout_kv, table):
    """The rows of a sequence: where its queries begin and end, and its keys."""
    ends = listed(query_lengths) if query_lengths is not None else None
    start, stop = ([0] + ends)[b:b + 2] if layout_query == "TND" else (b * query.shape[1], (b + 1) * query.shape[1])
    if layout_kv == "TND":
        first, last = ([0] + listed(lengths))[b:b + 2]
        return start, stop, key[first:last, 0]
    if layout_kv == "PA_BSND":
        return start, stop, in_pages(key, table[b], int(lengths[b]), 1)[:, 0]
    return start, stop, key[b, :key.shape[1] if lengths is None else int(lengths[b]), 0]


def attention_by_list(query, split, sparse_indices, scale_value, sequences, *, block_table=None, actual_seq_lengths_query=None, actual_seq_lengths_kv=None,
                      sparse_block_size=1, layout_query="BSND", layout_kv="BSND", sparse_mode=3, keys=None, **rest):
    flat = query if layout_query == "TND" else query.flatten(0, 1)
    lists = sparse_indices if layout_query == "TND" else sparse_indices.flatten(0, 1)
    rows = []
    for b in range(sequences):
        start, stop, key = listed_keys_of(b, query, keys, actual_seq_lengths_kv, actual_seq_lengths_query, layout_query, layout_kv, block_table)
        key, value = split(key)
        for i in range(start, stop):
            last = len(key) - (stop - start) + i - start + 1 if sparse_mode == 3 else len(key)
            seen = [j for s in lists[i, 0].tolist() if s >= 0 for j in range(s * sparse_block_size, (s + 1) * sparse_block_size) if j < last]
            rows.append(torch.softmax(flat[i] @ key[seen].T * scale_value, -1) @ value[seen])
    return torch.stack(rows).reshape(*query.shape[:-1], -1)


small_sparse_flash_attention = NPU["NPU.npu_sparse_flash_attention"]


@operator
def npu_sparse_flash_attention(query, key, value, sparse_indices, scale_value, *, query_rope=None, key_rope=None, layout_query="BSND", layout_kv="BSND", **rest):
    if (layout_query, layout_kv) == ("BSND", "BSND"):
        return small_sparse_flash_attention(query, key, value, sparse_indices, scale_value, query_rope=query_rope, key_rope=key_rope, **rest)
    q, k = (query, key) if query_rope is None else (torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1))
    y = attention_by_list(q, lambda rows: (rows[:, :k.shape[-1]], rows[:, k.shape[-1]:]), sparse_indices, scale_value, len(rest["actual_seq_lengths_kv"]),
                          keys=torch.cat([k, value], -1), layout_query=layout_query, layout_kv=layout_kv, **rest)
    return y, None, None


@operator
def npu_kv_quant_sparse_flash_attention(query, key, value, sparse_indices, scale_value, key_quant_mode, value_quant_mode, *, tile_size=128, rope_head_dim=64, **rest):
    plain = query.shape[-1] - rope_head_dim

    def split(rows):
        rows = rows.contiguous()
        turned = rows[:, plain:plain + 2 * rope_head_dim].contiguous().view(f16).to(query.dtype)
        scales = rows[:, plain + 2 * rope_head_dim:].contiguous().view(torch.float32).to(query.dtype)
        numbers = rows[:, :plain].to(query.dtype) * scales.repeat_interleave(tile_size, 1)
        return torch.cat([numbers, turned], 1), numbers

    return attention_by_list(query, split, sparse_indices, scale_value, len(rest["actual_seq_lengths_kv"]), keys=key, **rest)


@operator
def npu_top_k_top_p_sample(logits, top_k, top_p, q=None, eps=1e-8, is_need_logits=False, top_k_guess=32, min_ps=None, ks_max=1024, input_is_logits=True, post_sample="qSample"):
    index, left = [], torch.full(logits.shape, -math.inf, dtype=logits.dtype)
    for b, row in enumerate(logits):
        ranks = sorted(range(len(row)), key=lambda i: (-float(row[i]), i))
        if 1 <= top_k[b] <= min(len(row), ks_max):
            ranks = ranks[:int(top_k[b])]
        p = torch.softmax(row[ranks], 0)
        if top_p[b] < 1:
            ranks = [i for i, ahead in zip(ranks, (p.cumsum(0) - p).tolist()) if ahead <= float(top_p[b])]
        p = torch.softmax(row[ranks], 0)
        if q is not None and post_sample == "qSample":
            p = p / (q[b, :len(ranks)].abs() + eps)
        index.append(ranks[int(p.argmax())])
        left[b, ranks] = row[ranks]
    return torch.tensor(index), stored(left, logits) if is_need_logits else torch.zeros(0)


# ---- the calls -------------------------------------------------------------------------------------------------------


class eight(make.fixed):
    """A tensor that a dump has in a dtype of 8-bit floats."""

    def __init__(self, tensor, dtype="torch.float8_e4m3fn"):
        digits, (top, _) = 16 if dtype.endswith("fn") else 8, FLOAT8[dtype]
        step = torch.exp2(torch.frexp(tensor)[1].clamp(min=-5 if digits == 16 else -13).double()) / digits
        super().__init__(((tensor.double() / step).round() * step).clamp(-top, top).float())
        self.dtype = dtype


class foreign:
    """A dtype which this PyTorch does not have, as an argument."""

    def __init__(self, name):
        self.name = name


E4M3, E5M2 = foreign("torch.float8_e4m3fn"), foreign("torch.float8_e5m2")


class Goldens(make.Goldens):
    resolve = staticmethod(lambda api: NPU.get(api) or make.resolve(api))

    def describe(self, v, grad):
        if isinstance(v, eight):
            return {**super().describe(v.tensor, False), "dtype": v.dtype}
        return {"type": "torch.dtype", "value": v.name} if isinstance(v, foreign) else super().describe(v, grad)

    def describe_output(self, v, native, i):
        label = getattr(v, "label", None)
        return {**super().describe_output(v, native, i), "dtype": label} if label else super().describe_output(v, native, i)


fixed = make.fixed
g = Goldens(__file__, limit=2_300_000)
f16, bf16, i32, i8 = torch.float16, torch.bfloat16, torch.int32, torch.int8


def npu(name, *args, **kwargs):
    g.add("NPU." + name, *args, **kwargs)


def speed(name, *args, **kwargs):
    g.add("MindSpeed." + name, *args, **kwargs)


def ints(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


npu("npu_transpose", g.normal(2, 3, 4), [2, 0, 1])
npu("npu_transpose", g.normal(2, 3, dtype=bf16), [-1, 0], False)
npu("npu_format_cast", g.normal(3, 4), 29)
npu("npu_reshape", g.normal(3, 4), [2, 6])
npu("npu_broadcast", g.normal(1, 4), [3, 4])
npu("npu_dtype_cast", g.normal(5), f16)
npu("npu_dtype_cast", g.normal(5, scale=4), i32, grad=False)
npu("one_", g.normal(3, 2), grad=False)
npu("npu_pad", g.normal(2, 3), [1, 0, 2, 3])
npu("npu_pad", g.normal(4, dtype=f16), [0, 2])
npu("npu_slice", g.normal(4, 5), [1, 2], [2, -1])
npu("npu_slice", g.normal(4, 5), [0, 5], [4, 0])
npu("npu_indexing", g.normal(4, 5, 6), [1, 0], [4, 5], [2, 3])
npu("npu_indexing", g.normal(4, 5, 6), [2, -4, 0], [0, -1, 0], [1, 1, 2], 0, 4, 0, 0, 1)
npu("npu_indexing", g.normal(4, 5), [9, 3], [9, 9], [1, 1], begin_mask=1, end_mask=1)
npu("npu_gather_sparse_index", g.normal(5, 3), ints(0, 4, 4, 1))
npu("npu_gather_sparse_index", g.normal(5, 2, 3), ints([1, 1], [0, 3]))
npu("npu_scatter", g.normal(3, 4), ints(2, 0, 1, 1, dtype=i32), g.normal(4), 0, grad=False)
npu("npu_scatter", g.normal(3, 4), ints(3, 0, 1, dtype=i32), g.normal(3), 1, grad=False)
for name in ("npu_scatter_nd_update", "npu_scatter_nd_update_"):
    npu(name, g.normal(5, 3), ints([4], [1]), g.normal(2, 3), grad=False)
    npu(name, g.normal(5, 3, 2), ints([4, 1], [0, 2], [1, 1]), g.normal(3, 2), grad=False)
for name in ("scatter_update", "scatter_update_"):
    npu(name, g.normal(3, 2, 6, 2), ints(1, 4), g.normal(2, 2, 2, 2), -2, grad=False)
    npu(name, g.normal(2, 4), ints(3, 0), g.normal(2, 1), 1, grad=False)
npu("npu_one_hot", ints([0, 3], [-1, 1]), -1, 3)
npu("npu_one_hot", ints(0, 2, dtype=i32), depth=4, on_value=5, off_value=-1)
for name in ("npu_max", "npu_min"):
    npu(name, g.normal(3, 5), 1)
    npu(name, g.normal(3, 5, 2), -2, True)
npu("npu_sign_bits_pack", ints(5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2).float(), 2, grad=False)
npu("npu_sign_bits_pack", g.normal(33), 1, grad=False)
npu("npu_sign_bits_unpack", ints(159, 15, dtype=torch.uint8), 2, torch.float32, grad=False)
npu("npu_sign_bits_unpack", ints(1, 2, 254, dtype=torch.uint8), 4, torch.float16, grad=False)
npu("npu_convert_weight_to_int4pack", g.integers(3, 16, low=-8, high=8, dtype=i32))

npu("npu_silu", g.normal(4, 9, scale=3))
for approximate in ("none", "tanh"):
    npu("npu_gelu", g.normal(4, 9, scale=3), approximate=approximate)
    npu("npu_gelu_mul", g.normal(4, 10, scale=2), approximate=approximate)
npu("npu_geglu", g.normal(4, 10, scale=2))
npu("npu_geglu", g.normal(6, 5), 0, 0, True)
npu("npu_clipped_swiglu", g.normal(4, 10, scale=4))
npu("npu_clipped_swiglu", g.normal(5, 8, scale=4), group_index=ints(1, 0, 2), alpha=0.7, limit=1.0, bias=1.2, interleaved=False)
for mode in (0, 1):
    speed("npu_rotary_position_embedding.npu_rotary_position_embedding", g.normal(2, 3, 2, 8), g.normal(1, 3, 1, 8),
          g.normal(1, 3, 1, 8), mode)
npu("npu_apply_rotary_pos_emb", g.normal(2, 3, 4, 8), g.normal(2, 3, 2, 8), g.normal(2, 3, 1, 8), g.normal(2, 3, 1, 8), grad=False)
npu("npu_apply_rotary_pos_emb", g.normal(2, 3, 1, 6), g.normal(2, 3, 1, 6), g.normal(2, 3, 1, 6), g.normal(2, 3, 1, 6), "BSH",
    "interleave", grad=False)
npu("npu_interleave_rope", g.normal(2, 4, 3, 8), g.normal(2, 1, 3, 8), g.normal(2, 1, 3, 8), grad=False)
for mode in ("half", "interleave"):
    npu("npu_mrope", ints(3, 0, 9), g.normal(3, 16), g.normal(3, 8), g.uniform(10, 6, low=-1), 8, rotary_mode=mode, grad=False)
    npu("npu_mrope", g.integers(3, 4, low=0, high=10), g.normal(4, 16), g.normal(4, 8), g.uniform(10, 8, low=-1), 8,
        mrope_section=[2, 1, 1], rotary_mode=mode, grad=False)
    npu("_npu_rotary_embedding", ints(3, 0, 9), g.normal(3, 16), g.normal(3, 8), 8, g.uniform(10, 8, low=-1), mode == "half", grad=False)

npu("npu_rms_norm", g.normal(4, 9), g.normal(9))
npu("npu_rms_norm", g.normal(2, 3, 4, scale=1e-3), g.normal(3, 4))
npu("npu_add_rms_norm", g.normal(4, 9), g.normal(4, 9), g.normal(9))
npu("npu_add_rms_norm", g.normal(2, 3, 4), g.normal(2, 3, 4), g.normal(3, 4), 0.25)
npu("npu_add_rms_norm_v2", g.normal(4, 9), g.normal(4, 9), g.normal(9), grad=False)
npu("npu_group_norm_silu", g.normal(2, 6, 7), g.normal(6), g.normal(6), 3)
npu("npu_group_norm_swish", g.normal(2, 6, 7), 3, g.normal(6), g.normal(6))
npu("npu_group_norm_swish", g.normal(2, 4, 3, 2), 2, g.normal(4), g.normal(4), 0.1, 1.5)
for name in ("layer", "rms"):
    for extra in ({}, {"prenorm": True}, {"rowscale": g.normal(2, 3), "layerscale": g.normal(5), "prenorm": True}):
        speed(f"dropout_add_layer_norm.npu_dropout_add_{name}_norm", g.normal(2, 3, 5), g.normal(2, 3, 5), g.normal(5), g.normal(5),
              0.0, 1e-5, **extra)
    speed(f"dropout_add_layer_norm.npu_dropout_add_{name}_norm", g.normal(2, 3, 5), None, g.normal(5), None, 0.0, 1e-3)

for reduction in ("mean", "sum", "none"):
    npu("npu_cross_entropy_loss", g.normal(5, 4), ints(0, 3, -100, 1, 2), fixed(g.uniform(4, low=0.5)), reduction)
npu("npu_cross_entropy_loss", g.normal(5, 4), ints(0, 3, 2, 1, 2), label_smoothing=0.1, ignore_index=3)
npu("npu_softmax_cross_entropy_with_logits", g.normal(5, 4), fixed(g.uniform(5, 4)))
for mode, corrected in ((0, True), (1, True), (1, False)):
    speed("npu_apply_fused_ema_adamw.npu_apply_fused_ema_adamw", g.normal(9), g.normal(9), g.normal(9), g.uniform(9), g.normal(9), 3,
          lr=0.01, ema_decay=0.99, mode=mode, bias_correction=corrected, weight_decay=0.1, grad=False)
speed("npu_apply_fused_ema_adamw.npu_apply_fused_ema_adamw", g.normal(2, 3), g.normal(2, 3), g.normal(2, 3), g.uniform(2, 3),
      g.normal(2, 3), torch.tensor(5), 0.01, 0.99, 0.8, 0.9, 1e-8, 1, True, 0.0, grad=False)

npu("npu_conv2d", g.normal(1, 4, 5, 5), g.normal(6, 2, 3, 3), g.normal(6), [1, 1], [1, 0], [1, 1], 2)
npu("npu_convolution", g.normal(1, 4, 5, 5), g.normal(6, 4, 3, 2), None, [2, 1], [1, 0], [1, 2], 1)
npu("npu_convolution", g.normal(1, 2, 3, 4, 4), g.normal(3, 2, 2, 2, 2), g.normal(3), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1)
npu("npu_conv3d", g.normal(1, 2, 3, 4, 4), g.normal(3, 2, 2, 2, 2), g.normal(3), [1, 1, 2], [0, 1, 0], [1, 1, 1], 1)
for name in ("npu_conv_transpose2d", "npu_convolution_transpose"):
    npu(name, g.normal(1, 4, 3, 3), g.normal(4, 2, 3, 3), g.normal(2), [1, 0], [0, 1], [2, 2], [1, 1], 1)

npu("npu_bmmV2", g.normal(2, 3, 4), g.normal(2, 4, 5), [])
npu("npu_bmmV2", g.normal(2, 3, 4), g.normal(2, 4, 5), [3, 10])
npu("npu_transpose_batchmatmul", g.normal(3, 2, 4), g.normal(2, 4, 5), perm_x1=[1, 0, 2], perm_y=[1, 0, 2], grad=False)
npu("npu_transpose_batchmatmul", g.normal(2, 3, 4), g.normal(2, 5, 4), perm_x2=[0, 2, 1], grad=False)
for kind in ("", "16cast32", "relu", "gelu_tanh", "gelu_erf"):
    npu("npu_fused_matmul", g.normal(3, 4), g.normal(4, 5), bias=g.normal(5) if kind in ("", "relu") else None, fused_op_type=kind, grad=False)
for kind in ("add", "mul"):
    npu("npu_fused_matmul", g.normal(3, 4), g.normal(4, 5), x3=g.normal(3, 5), fused_op_type=kind, grad=False)
speed("npu_matmul_add.npu_matmul_add_fp32", g.normal(6, 3), g.normal(6, 4), g.normal(3, 4), grad=False)
speed("npu_matmul_add.npu_matmul_add_fp32", g.normal(2, 3, 3, dtype=f16), g.normal(2, 3, 4, dtype=f16), g.normal(3, 4), grad=False)
speed("gmm.npu_gmm", g.normal(6, 3), g.normal(3, 3, 4), group_list=[2, 2, 6], group_type=0)
speed("gmm.npu_gmm", g.normal(4, 6), g.normal(6, 5), group_list=ints(1, 4, 6), group_type=2)
speed("gmm.npu_gmm_v2", g.normal(6, 3), g.normal(3, 3, 4), group_list=ints(2, 3, 1), group_type=0)
speed("npu_groupmatmul_add.npu_groupmatmul_add_fp32", g.normal(5, 3), g.normal(5, 4), ints(2, 5), g.normal(6, 4), grad=False)
npu("npu_grouped_matmul_add_", g.normal(6, 4), g.normal(5, 3), g.normal(5, 4), ints(4, 5), grad=False)
npu("npu_grouped_matmul", [g.normal(3, 4), g.normal(2, 5)], [g.normal(4, 2), g.normal(5, 3)], bias=[g.normal(2), g.normal(3)])
npu("npu_grouped_matmul", [g.normal(3, 4), g.normal(2, 4)], [g.normal(4, 2), g.normal(4, 2)], split_item=3)
npu("npu_grouped_matmul", [g.normal(5, 4)], [g.normal(4, 2), g.normal(4, 2)], group_list=[3, 5], split_item=3, group_type=0, act_type=1)
npu("npu_grouped_matmul", [g.normal(5, 4)], [g.normal(3, 4, 2)], group_list=ints(3, 0, 1), split_item=3, group_type=0, group_list_type=1, act_type=5)
npu("npu_grouped_matmul", [g.normal(4, 5)], [g.normal(5, 2)], group_list=ints(3, 5), split_item=3, group_type=2)
for activation in ("relu", "gelu", "fastgelu", "silu"):
    npu("npu_ffn", g.normal(2, 3, 4), g.normal(4, 6), g.normal(6, 5), activation, bias1=g.normal(6), bias2=g.normal(5), grad=False)
for activation in ("swiglu", "geglu", "reglu"):
    speed("ffn.npu_ffn", g.normal(3, 4), g.normal(4, 6), g.normal(3, 4), activation, grad=False)
npu("npu_ffn", g.normal(5, 4), g.normal(2, 4, 6), g.normal(2, 6, 3), "gelu", expert_tokens=[2, 3], bias1=g.normal(2, 6), grad=False)
npu("npu_ffn", g.normal(5, 4), g.normal(2, 4, 6), g.normal(2, 6, 3), "relu", expert_tokens_index=[4, 5], grad=False)

for kind in (0, 1):
    npu("npu_moe_gating_top_k", g.normal(4, 8), 3, norm_type=kind, out_flag=kind == 1, routed_scaling_factor=2.5, grad=False)
    for mode in (0, 1):
        npu("npu_moe_gating_top_k", g.normal(5, 12), 4, bias=g.normal(12), k_group=2, group_count=3, group_select_mode=mode, norm_type=kind,
            renorm=mode, grad=False)
npu("atb.npu_fused_add_topk_div", g.normal(4, 12), g.normal(12), group_num=4, group_topk=2, n=2, k=4, scale=1.5, grad=False)
npu("atb.npu_fused_add_topk_div", g.normal(4, 6), g.normal(6), k=2, is_norm=False, grad=False)
for add, prefix in ((npu, ""), (speed, "npu_moe_token_permute.")):
    add(prefix + "npu_moe_token_permute", g.normal(4, 3), ints([0, 4], [4, 3], [4, 2], [1, 1]))
    add(prefix + "npu_moe_token_permute", g.normal(4, 3), ints([0, 4], [4, 3], [4, 2], [1, 1]), 6)
    add(prefix + "npu_moe_token_permute", g.normal(4, 3), ints(2, 1, 2, 0))
for add, prefix in ((npu, ""), (speed, "npu_moe_token_unpermute.")):
    add(prefix + "npu_moe_token_unpermute", g.normal(8, 3), ints(0, 6, 7, 5, 3, 1, 2, 4, dtype=i32), g.uniform(4, 2))
    add(prefix + "npu_moe_token_unpermute", g.normal(4, 3), ints(2, 0, 3, 1, dtype=i32))
npu("npu_moe_init_routing", g.normal(3, 4), ints([0, 3], [1, 4], [2, 5], dtype=i32), ints([1, 2], [0, 3], [2, 0], dtype=i32), 3, grad=False)
npu("npu_moe_init_routing", g.normal(3, 4), ints([0, 3], [1, 4], [2, 5], dtype=i32), ints([1, 2], [0, 3], [2, 0], dtype=i32), 2, grad=False)
npu("npu_moe_compute_expert_tokens", ints(0, 0, 2, 2, 2, 4, dtype=i32), 6)
for mode in range(4):
    places = ints(0, 3, 5, 1, 2, 4, dtype=i32) if mode % 2 == 0 else ints(0, 3, -1, 1, 2, -1, dtype=i32)
    npu("npu_moe_finalize_routing", g.normal(6, 4) if mode % 2 == 0 else g.normal(2, 3, 4), g.normal(3, 4), g.normal(3, 4) if mode else None,
        g.normal(3, 4), g.uniform(3, 2), places, ints([0, 1], [2, 2], [1, 0], dtype=i32), mode, grad=False)
npu("npu_moe_finalize_routing_v2", g.normal(6, 4), None, None, None, g.uniform(3, 2), ints(0, 3, 5, 1, 2, 4, dtype=i32), None, 2, grad=False)
npu("npu_moe_re_routing", g.normal(7, 3), ints([1, 2, 0], [2, 1, 1], dtype=i32), per_token_scales=g.uniform(7), grad=False)
npu("npu_moe_re_routing", g.normal(7, 3), ints([1, 2, 0], [2, 1, 1]), expert_token_num_type=0, grad=False)

def flags(*shape):
    return g.uniform(*shape) < 0.4


triangle = torch.ones(8, 8, dtype=torch.bool).triu(1)
for layout, shape, other in (("BSH", (2, 5, 16), (2, 6, 16)), ("SBH", (5, 2, 16), (6, 2, 16)), ("BSND", (2, 5, 2, 8), (2, 6, 2, 8)),
                             ("BNSD", (2, 2, 5, 8), (2, 2, 6, 8))):
    npu("npu_fusion_attention", g.normal(*shape), g.normal(*other), g.normal(*other), 2, layout, scale=0.35)
    npu("npu_fusion_attention", g.normal(*shape), g.normal(*other), g.normal(*other), 2, layout, scale=0.35,
        atten_mask=flags(2, 1, 5, 6))
four = lambda: (g.normal(2, 4, 4, 8), g.normal(2, 2, 6, 8), g.normal(2, 2, 6, 8), 4, "BNSD")
npu("npu_fusion_attention", *four(), scale=0.3, pse=g.normal(1, 4, 4, 6))
for mode in (0, 1):
    npu("npu_fusion_attention", *four(), scale=0.3, atten_mask=flags(4, 6), sparse_mode=mode)
for mode in (2, 3):
    npu("npu_fusion_attention", *four(), scale=0.3, atten_mask=triangle, sparse_mode=mode)
    npu("npu_fusion_attention", *four(), scale=0.3, sparse_mode=mode)
npu("npu_fusion_attention", *four(), scale=0.3, atten_mask=triangle, sparse_mode=4, pre_tockens=3, next_tockens=0)
npu("npu_fusion_attention", *four(), scale=0.3, atten_mask=flags(2, 1, 4, 6), sparse_mode=5, prefix=[2, 4])
npu("npu_fusion_attention", *four(), scale=0.3, atten_mask=triangle, sparse_mode=6, prefix=[3, 5])
tnd = lambda: (g.normal(7, 2, 8), g.normal(9, 2, 8), g.normal(9, 2, 8), 2, "TND")
ends = dict(actual_seq_qlen=[3, 5, 7], actual_seq_kvlen=[3, 6, 9])
npu("npu_fusion_attention", *tnd(), scale=0.3, **ends)
for mode in (2, 3):
    npu("npu_fusion_attention", *tnd(), scale=0.3, atten_mask=triangle, sparse_mode=mode, **ends)
npu("npu_fusion_attention", *tnd(), scale=0.3, atten_mask=flags(3, 3), sparse_mode=1, **ends)
for mode in (4, 7, 8):
    npu("npu_fusion_attention", *tnd(), scale=0.3, atten_mask=triangle, sparse_mode=mode, pre_tockens=6, next_tockens=0, **ends)
npu("npu_flash_attention", *four(), scale=0.3)
for add, name in ((npu, "npu_fusion_attention_v2"), (npu, "npu_fusion_attention_v3"), (speed, "fusion_attention_v2.npu_fusion_attention")):
    third = name.endswith("v3")
    window = dict(pre_tockens=2, next_tockens=1) if third else dict(pre_tokens=2, next_tokens=1)
    add(name, *four(), scale=0.3, pse=g.normal(1, 4, 4, 6), **({} if third else {"pse_type": 0}))
    add(name, *four(), scale=0.3, pse=g.normal(2, 4, 1, 6), atten_mask=triangle, sparse_mode=4, **window)
    packed_call, ropes = tnd(), dict(query_rope=g.normal(7, 2, 4), key_rope=g.normal(9, 2, 4))
    if third:
        add(name, *packed_call, None, None, triangle, 0.3, sparse_mode=3, **ends)
    else:
        add(name, *packed_call, **ropes, scale=0.3, **ends)
npu("npu_fused_attention_score", g.normal(2, 2, 4, 8), g.normal(2, 2, 6, 8), g.normal(2, 2, 6, 8), g.normal(2, 1, 4, 6), 0.3, 1.0)
npu("npu_prompt_flash_attention", g.normal(2, 5, 16), g.normal(2, 6, 8), g.normal(2, 6, 8), num_heads=4, num_key_value_heads=2, scale_value=0.4,
    actual_seq_lengths=[3, 5], actual_seq_lengths_kv=[6, 4], grad=False)
npu("npu_prompt_flash_attention", *four()[:3], num_heads=4, num_key_value_heads=2, scale_value=0.4, input_layout="BNSD", atten_mask=triangle, sparse_mode=3,
    grad=False)
npu("npu_prompt_flash_attention", g.normal(2, 5, 2, 8), g.normal(2, 5, 2, 8), g.normal(2, 5, 2, 8), num_heads=2, scale_value=0.4, input_layout="BSND",
    pse_shift=g.normal(1, 2, 5, 5), atten_mask=flags(5, 5), grad=False)
npu("npu_incre_flash_attention", g.normal(2, 1, 16), g.normal(2, 6, 8), g.normal(2, 6, 8), num_heads=4, num_key_value_heads=2, scale_value=0.4,
    actual_seq_lengths=[5, 3], grad=False)
npu("npu_incre_flash_attention", g.normal(2, 4, 1, 8), g.normal(2, 4, 6, 8), g.normal(2, 4, 6, 8), num_heads=4, scale_value=0.4, input_layout="BNSD",
    atten_mask=flags(2, 1, 1, 6), grad=False)
npu("npu_fused_infer_attention_score", g.normal(2, 5, 16), g.normal(2, 6, 16), g.normal(2, 6, 16), num_heads=2, scale=0.4, softmax_lse_flag=True, grad=False)
npu("npu_fused_infer_attention_score", *tnd()[:3], num_heads=2, scale=0.4, input_layout="TND", actual_seq_lengths=[3, 5, 7],
    actual_seq_lengths_kv=[3, 6, 9], atten_mask=triangle, sparse_mode=3, softmax_lse_flag=True, grad=False)
npu("npu_fused_infer_attention_score_v2", *four()[:3], num_query_heads=4, num_key_value_heads=2, softmax_scale=0.4, input_layout="BNSD",
    actual_seq_kvlen=[6, 2], return_softmax_lse=True, grad=False)
statistics = lambda *shape: g.normal(*shape, 1).expand(*shape, 8).clone()
positive = lambda *shape: g.uniform(*shape, 1, low=1, high=4).expand(*shape, 8).clone()
speed("npu_ring_attention_update.npu_ring_attention_update", g.normal(5, 2, 12), statistics(2, 3, 5), positive(2, 3, 5), g.normal(5, 2, 12),
      statistics(2, 3, 5), positive(2, 3, 5), grad=False)
speed("npu_ring_attention_update.npu_ring_attention_update", g.normal(5, 3, 4), statistics(5, 3), positive(5, 3), g.normal(5, 3, 4),
      statistics(5, 3), positive(5, 3), ints(2, 5), "TND", grad=False)
for kind in (0, 1):
    npu("npu_attention_update", [g.normal(4) for _ in range(3)], [g.normal(4, 8) for _ in range(3)], kind, grad=False)


def bytes_(*shape):
    return g.integers(*shape, low=-128, high=128, dtype=i8)


q = dict(grad=False)
for divides in (True, False):
    npu("npu_quantize", g.normal(4, 9, scale=3), g.uniform(9, low=0.05, high=0.1), g.integers(9, dtype=i32), torch.int8, 1, divides, **q)
    npu("npu_quantize", g.normal(4, 9, dtype=f16), g.uniform(1, low=0.05, high=0.1), None, torch.uint8, -1, divides, **q)
npu("npu_quantize", g.normal(3, 4, 5), g.uniform(4, low=0.01, high=0.02), g.normal(4), torch.int32, 1, **q)
npu("npu_group_quant", g.normal(5, 6), g.uniform(3, 6, low=10, high=40), ints(2, 2, 5, dtype=i32), offset=g.normal(1), **q)
npu("npu_anti_quant", bytes_(4, 6), g.uniform(6), offset=g.integers(6).float(), **q)
npu("npu_anti_quant", bytes_(4, 6), g.uniform(1), dst_dtype=bf16, **q)
npu("npu_trans_quant_param", g.uniform(5), **q)
npu("npu_trans_quant_param", g.uniform(5), g.normal(5, scale=200), **q)
npu("npu_dynamic_quant", g.normal(4, 33), **q)
npu("npu_dynamic_quant", g.normal(2, 3, 16, dtype=bf16), smooth_scales=g.normal(16, dtype=bf16), **q)
npu("npu_dynamic_quant", g.normal(5, 8, dtype=f16), smooth_scales=g.normal(2, 8, dtype=f16), group_index=ints(3, 5, dtype=i32), **q)
npu("npu_dynamic_quant_asymmetric", g.normal(4, 33), **q)
npu("npu_dynamic_quant_asymmetric", g.normal(2, 3, 16, dtype=f16), smooth_scales=g.normal(16, dtype=f16), **q)
x = lambda: g.normal(4, 16)
npu("npu_add_rms_norm_quant", x(), x(), g.normal(16), g.uniform(16, low=0.02, high=0.1), g.integers(16, dtype=i32), **q)
npu("npu_add_rms_norm_quant", x(), x(), g.normal(16), g.uniform(16, low=5, high=50), None, g.normal(16), g.uniform(16, low=5, high=50), g.normal(16),
    div_mode=False, **q)
npu("npu_add_rms_norm_dynamic_quant", x(), x(), g.normal(16), **q)
npu("npu_add_rms_norm_dynamic_quant", x(), x(), g.normal(16), smooth_scale1=g.uniform(16), smooth_scale2=g.uniform(16), beta=g.normal(16), **q)
npu("npu_rms_norm_dynamic_quant", x(), g.normal(16), **q)
npu("npu_rms_norm_dynamic_quant", x(), g.normal(16), smooth_scales1=g.uniform(16), smooth_scales2=g.uniform(16), epsilon=1e-3, **q)
for left in (True, False):
    npu("npu_dequant_swiglu_quant", g.integers(4, 12, low=-9, high=10, dtype=i32), weight_scale=g.normal(12), activation_scale=g.normal(4, 1),
        quant_scale=g.normal(1, 6), activate_left=left, quant_mode=1, **q)
npu("npu_dequant_swiglu_quant", g.normal(4, 12), quant_scale=g.uniform(6, low=0.01, high=0.1), quant_offset=g.normal(6), quant_mode=0, **q)
npu("npu_quant_matmul", bytes_(4, 9), bytes_(9, 5), g.uniform(5, low=1e-3, high=2e-3), **q)
npu("npu_quant_matmul", bytes_(4, 9), bytes_(9, 5), g.uniform(1, low=1e-3, high=2e-3), offset=g.normal(5), output_dtype=torch.int8, **q)
npu("npu_quant_matmul", bytes_(4, 9), bytes_(9, 5), g.uniform(5), pertoken_scale=g.uniform(4), bias=g.integers(5, dtype=i32), output_dtype=f16, **q)
npu("npu_quant_matmul", bytes_(4, 9), bytes_(9, 5), NPU["NPU.npu_trans_quant_param"](g.uniform(5)), bias=g.normal(5), output_dtype=bf16, **q)
npu("npu_weight_quant_batchmatmul", g.normal(3, 8), bytes_(8, 5), g.uniform(5), g.normal(5), bias=g.normal(5), **q)
npu("npu_weight_quant_batchmatmul", g.normal(3, 8), bytes_(8, 5), g.uniform(3, 5), g.normal(3, 5), antiquant_group_size=3, **q)
for name, groups in (("npu_quant_gmm", ints(2, 5)), ("npu_quant_gmm_v2", ints(2, 3))):
    speed("quant_gmm." + name, bytes_(5, 6), bytes_(2, 6, 4), g.uniform(2, 4, high=1e-3), per_token_scale=g.uniform(5), group_list=groups,
          act_type=5, **q)
    speed("quant_gmm." + name, bytes_(5, 6), bytes_(2, 6, 4), g.uniform(2, 4), group_list=groups, output_dtype=bf16, bias=g.integers(2, 4, dtype=i32), **q)

npu("npu_rms_norm_quant", x(), g.normal(16), g.normal(16), g.uniform(1, low=0.02, high=0.03), g.integers(1, dtype=i8), **q)
for approximate in ("none", "tanh"):
    npu("npu_gelu_quant", g.normal(4, 9), approximate=approximate, input_scale=g.uniform(9), **q)
npu("npu_gelu_quant", g.normal(4, 9), input_scale=g.uniform(9, low=5, high=20), input_offset=g.normal(9), quant_mode="static", **q)
npu("npu_swiglu_quant", g.normal(4, 12), smooth_scales=g.normal(6), quant_mode=1, **q)
npu("npu_swiglu_quant", g.normal(4, 12), smooth_scales=g.normal(2, 6), group_index=ints(1, 4, dtype=i32), activate_left=True, quant_mode=1, **q)
npu("npu_moe_token_permute_with_routing_map", g.normal(4, 3), flags(4, 5) | torch.eye(4, 5, dtype=torch.bool), probs=g.uniform(4, 5), num_out_tokens=9)
npu("npu_moe_token_permute_with_routing_map", g.normal(4, 3), flags(4, 5), probs=g.uniform(4, 5), num_out_tokens=10, drop_and_pad=True)
npu("npu_moe_token_permute_with_routing_map", g.normal(4, 3), torch.ones(4, 2, dtype=torch.int8))
npu("npu_mhc_post", g.normal(2, 3, 4, 8), g.normal(2, 3, 4, 4), g.normal(2, 3, 8), g.normal(2, 3, 4))
npu("npu_mhc_post", g.normal(3, 4, 8), None, g.normal(3, 8), g.normal(3, 4))


def some_boxes(n):
    low = g.uniform(n, 2, high=20)
    return torch.cat([low, low + g.uniform(n, 2, low=1, high=20)], 1)


for name in ("npu_iou", "npu_ptiou"):
    for mode in (0, 1):
        npu(name, some_boxes(5), some_boxes(3), mode, **q)
npu("npu_bounding_box_encode", some_boxes(6), some_boxes(6), 0.0, 0.1, 0.0, -0.1, 0.1, 0.1, 0.2, 0.2, **q)
npu("npu_bounding_box_decode", some_boxes(6), g.normal(6, 4), 0.0, 0.1, 0.0, -0.1, 0.1, 0.1, 0.2, 0.2, [30, 25], 0.016, **q)

latent = lambda: (g.normal(2, 1, 3, 10), g.normal(6), g.normal(2, 1, 3, 4), g.normal(2, 1, 3, 4))
npu("npu_kv_rmsnorm_rope_cache", *latent(), ints([4, 0, 2], [1, 2, 3]), g.normal(2, 1, 5, 4), g.normal(2, 1, 5, 6), **q)
npu("npu_kv_rmsnorm_rope_cache", *latent(), ints(4, 0, -1, 11, 2, 3), g.normal(3, 4, 1, 4), g.normal(3, 4, 1, 6), epsilon=1e-3, cache_mode="PA_BNSD",
    is_output_kv=True, **q)
npu("npu_mhc_sinkhorn", g.normal(2, 3, 4, 4), num_iters=5)
npu("npu_mhc_sinkhorn", g.normal(3, 4, 4), eps=0.01, num_iters=1)
npu("npu_quant_matmul_reduce_sum", bytes_(3, 4, 5), bytes_(3, 5, 6), x1_scale=g.uniform(3, 4), x2_scale=g.uniform(6, dtype=bf16), **q)
npu("npu_grouped_matmul_finalize_routing", bytes_(5, 4), bytes_(2, 4, 3), ints(2, 3), scale=g.uniform(2, 3), pertoken_scale=g.uniform(5),
    logit=g.uniform(5), row_index=ints(0, 2, 2, 1, 0), output_bs=4, **q)
npu("npu_grouped_matmul_finalize_routing", bytes_(5, 4), bytes_(2, 4, 3), ints(2, 5), scale=g.uniform(2, 3), pertoken_scale=g.uniform(5),
    logit=g.uniform(5), row_index=ints(0, 2, 2, 1, 0), output_bs=4, shared_input=g.normal(2, 3, dtype=bf16), shared_input_weight=0.5,
    shared_input_offset=1, group_list_type=0, **q)
for name in ("npu_quant_scatter", "npu_quant_scatter_"):
    npu(name, bytes_(2, 4, 6), ints(1, 3, dtype=i32), g.normal(2, 1, 6), g.uniform(1, 1, 6, low=0.01, high=0.05), None, -2, -1, **q)
    npu(name, bytes_(2, 4, 6), ints(1, 0, dtype=i32), g.normal(2, 2, 6, scale=9), g.uniform(6, low=0.01, high=0.05), g.normal(6), 1, 2, **q)
npu("npu_dynamic_block_quant", g.normal(4, 150), **q)
npu("npu_dynamic_block_quant", g.normal(5, 7), row_block_size=2, col_block_size=3, **q)
routed = ints([1, 2], [0, 3], [2, 0], dtype=i32)
npu("npu_moe_init_routing_v2", g.normal(3, 4), routed, scale=g.uniform(3), expert_num=4, quant_mode=-1, expert_tokens_num_flag=True, **q)
npu("npu_moe_init_routing_v2", g.normal(3, 4), routed, active_num=4, expert_num=4, quant_mode=-1, expert_tokens_num_flag=True, expert_tokens_num_type=1,
    row_idx_type=1, active_expert_range=[0, 4], **q)
npu("npu_moe_init_routing_v2", g.normal(3, 4), routed, scale=g.uniform(3), expert_num=4, expert_capacity=1, drop_pad_mode=1, quant_mode=-1,
    expert_tokens_num_flag=True, expert_tokens_num_type=1, **q)
delta = lambda: (g.normal(5, 2, 3), g.normal(5, 2, 3), g.normal(5, 4, 6), g.normal(6, 4, 6, 3))
npu("npu_recurrent_gated_delta_rule", *delta(), beta=g.uniform(5, 4), scale=0.5, actual_seq_lengths=ints(2, 3, dtype=i32),
    ssm_state_indices=ints(0, 1, 2, 3, 4, dtype=i32), g=g.normal(5, 4), num_accepted_tokens=ints(1, 2, dtype=i32), **q)
npu("npu_recurrent_gated_delta_rule", *delta(), scale=0.25, actual_seq_lengths=ints(2, 3, dtype=i32), ssm_state_indices=ints(5, 5, 2, 3, 3, dtype=i32), **q)

npu("npu_quant_matmul_gelu", bytes_(4, 9), bytes_(9, 5), g.uniform(4, high=0.01), g.uniform(5, high=0.01), bias=g.integers(5, dtype=i32), **q)
npu("npu_quant_matmul_gelu", bytes_(4, 9), bytes_(9, 5), g.uniform(4, high=0.01), g.uniform(5, high=0.01, dtype=bf16), bias=g.normal(5),
    approximate="gelu_tanh", **q)
npu("npu_mhc_pre", g.normal(2, 3, 4, 5), g.normal(24, 20), g.normal(3), g.normal(24), gamma=g.normal(4, 5), out_flag=1, **q)
npu("npu_mhc_pre", g.normal(3, 2, 5), g.normal(4, 10), g.normal(2), g.normal(4), norm_eps=0.1, hc_eps=0.01, **q)
table = ints([1, 5, 0, 0], [3, 2, 7, 4], [2, 1, 6, 0], dtype=i32)
chosen_ids = ints([0, 1], [2, 1], [1, 1], [2, 0], dtype=i32)
for mode in (0, 1):
    npu("npu_moe_update_expert", chosen_ids, table, expert_scales=g.uniform(4, 2), pruning_threshold=g.uniform(1, 2, high=0.6),
        active_mask=torch.tensor([True, True, False, True]), local_rank_id=3, world_size=4, balance_mode=mode, **q)
npu("npu_moe_update_expert", chosen_ids, table, local_rank_id=1, world_size=4, **q)
for mode in (0, 3):
    npu("npu_dense_lightning_indexer_softmax_lse", g.normal(2, 3, 4, 8), g.normal(2, 5, 1, 8), g.normal(2, 3, 4), sparse_mode=mode, **q)
npu("npu_dense_lightning_indexer_softmax_lse", g.normal(5, 4, 8), g.normal(7, 1, 8), g.normal(5, 4), actual_seq_qlen=ints(2, 5, dtype=i32),
    actual_seq_klen=ints(3, 7, dtype=i32), layout="TND", **q)
npu("npu_fused_causal_conv1d", g.normal(9, 4), g.normal(3, 4), g.normal(5, 2, 4), query_start_loc=ints(0, 5, 6, 9, dtype=i32),
    cache_indices=ints(0, 3, 1, dtype=i32), initial_state_mode=ints(1, 0, 1, dtype=i32), residual_connection=1, **q)
npu("npu_fused_causal_conv1d", g.normal(3, 2, 4), g.normal(3, 4), g.normal(5, 4, 4), cache_indices=ints(0, 3, 1, dtype=i32),
    num_accepted_tokens=ints(1, 3, 2, dtype=i32), run_mode=1, **q)

prolog = lambda: (g.normal(2, 3, 5), g.normal(5, 6), g.normal(6, 2 * 7), g.normal(2, 3, 8), g.normal(5, 12), g.normal(6), g.normal(8), g.normal(2, 3, 4),
                  g.normal(2, 3, 4), ints([4, 0, 7], [11, 2, 3]), g.normal(3, 4, 1, 8), g.normal(3, 4, 1, 4))
npu("npu_mla_prolog", *prolog(), **q)
npu("npu_mla_prolog_v2", *prolog(), rmsnorm_epsilon_cq=0.01, rmsnorm_epsilon_ckv=0.1, **q)
npu("npu_grouped_matmul_swiglu_quant_v2", bytes_(5, 6), [bytes_(2, 6, 8)], [g.uniform(2, 8, high=1e-3)], g.uniform(5), ints(2, 5), **q)
latent_heads = lambda: (g.normal(2, 3, 4, 6), g.normal(2, 8, 1, 6), g.normal(2, 8, 1, 6))
npu("npu_sparse_flash_attention", *latent_heads(), ints([[[0, 3, -1]], [[1, 2, 5]], [[7, 0, -1]]], [[[0, 1, 2]], [[3, 2, -1]], [[1, -1, -1]]], dtype=i32), 0.3,
    query_rope=g.normal(2, 3, 4, 2), key_rope=g.normal(2, 8, 1, 2), **q)
npu("npu_sparse_flash_attention", *latent_heads(), ints([[[0, 1]], [[1, 2]], [[0, -1]]], [[[0, 2]], [[2, -1]], [[1, -1]]], dtype=i32), 0.3,
    actual_seq_lengths_kv=ints(8, 7, dtype=i32), query_rope=g.normal(2, 3, 4, 2), key_rope=g.normal(2, 8, 1, 2), sparse_block_size=3, sparse_mode=0, **q)

for dtype in (E4M3, E5M2):
    npu("npu_dynamic_mx_quant", g.normal(3, 70, dtype=bf16), dst_type=dtype, **q)
    npu("npu_dynamic_mx_quant", g.normal(70, 3, dtype=f16, scale=50), axis=0, dst_type=dtype, scale_alg=1, **q)
npu("npu_dynamic_mx_quant", torch.cat([torch.zeros(1, 64), g.normal(1, 64, scale=1e-38)]), dst_type=E4M3, block_size=64, **q)
npu("npu_dynamic_mx_quant_with_dual_axis", g.normal(2, 40, 33, dtype=bf16), dst_type=E4M3, **q)
npu("npu_dynamic_mx_quant_with_dual_axis", g.normal(5, 66, dtype=f16), dst_type=E5M2, scale_alg=1, **q)
npu("npu_grouped_dynamic_mx_quant", g.normal(100, 3, dtype=bf16), ints(40, 40, 100, dtype=i32), dst_type=E4M3, **q)
npu("npu_dynamic_block_mx_quant", g.normal(40, 70, dtype=bf16), dst_type=E4M3, **q)
npu("npu_grouped_dynamic_block_quant", g.normal(7, 9, dtype=bf16), ints(3, 7, dtype=i32), dst_type=E5M2, row_block_size=2, col_block_size=4, **q)
npu("npu_grouped_dynamic_block_quant", g.normal(2, 3, 130, dtype=f16), ints(3, dtype=i32), dst_type=E4M3, **q)


def powers(*shape):
    return g.integers(*shape, low=120, high=130, dtype=torch.uint8)


for perm, inner, sizes in (([0, 1, 2], 1, (2, 70, 4)), ([0, 2, 1], 2, (2, 4, 70))):
    npu("npu_transpose_quant_batchmatmul", eight(g.normal(3, 2, 70)), eight(g.normal(*sizes)), f16, x1_scale=g.uniform(3), x2_scale=g.uniform(4),
        perm_x1=[1, 0, 2], perm_x2=perm, perm_y=[1, 0, 2], **q)
    npu("npu_transpose_quant_batchmatmul", eight(g.normal(3, 2, 70)), eight(g.normal(*sizes)), bf16, x1_scale=powers(3, 2, 2, 2),
        x2_scale=powers(*[2 if d == inner else n for d, n in enumerate(sizes)], 2), perm_x1=[1, 0, 2], perm_x2=perm, perm_y=[1, 0, 2], **q)
npu("npu_add_quant_matmul_", g.normal(3, 4), eight(g.normal(3, 70)), eight(g.normal(70, 4), "torch.float8_e5m2"), powers(2, 4, 2), x1_scale=powers(3, 2, 2), **q)
npu("npu_add_quant_gmm_", g.normal(3, 2, 4), eight(g.normal(2, 150)), eight(g.normal(150, 4)), powers(5, 4, 2), ints(40, 40, 140), x1_scale=powers(2, 5, 2), **q)
npu("npu_quant_matmul", eight(g.normal(4, 9)), eight(g.normal(9, 5)), g.uniform(5), pertoken_scale=g.uniform(4), output_dtype=bf16, **q)


def columns(n):
    return torch.cat([g.uniform(2, n, high=20), g.uniform(2, n, low=1, high=20)])


def corners(n):
    c = columns(n)
    return torch.cat([c[:2], c[:2] + c[2:]])


for name in ("npu_giou", "npu_diou", "npu_ciou"):
    npu(name, columns(7), columns(7), True)
    npu(name, corners(5), corners(5))
plain = torch.ones(5)
turned_boxes = lambda: torch.cat([corners(6), g.uniform(1, 6, low=-80, high=80)]).reshape(1, 5, 6)
npu("npu_rotated_box_encode", turned_boxes(), turned_boxes(), plain, **q)
npu("npu_rotated_box_decode", turned_boxes(), g.normal(1, 5, 6), plain, **q)
npu("npu_rotated_box_encode", torch.tensor([[[44.2877], [9.1412], [88.7575], [25.8879], [64.8047]]]),
    torch.tensor([[[39.1763], [0.9838], [78.1028], [29.5997], [51.5907]]]), plain, **q)
npu("npu_anchor_response_flags", g.uniform(4, 4, high=20), [10, 12], [2, 2], 3, **q)

npu("npu_top_k_top_p", g.normal(3, 20), g.uniform(3), ints(4, 20, 1, dtype=i32), **q)
npu("npu_top_k_top_p", g.normal(2, 9, dtype=bf16), None, ints(3, 5, dtype=i32), **q)
npu("npu_top_k_top_p", g.normal(2, 30, scale=3), g.uniform(2), None, **q)
npu("npu_masked_fill_range", g.normal(3, 2, 8), ints([0, 2, 5], [1, 7, 6], dtype=i32), ints([2, 3, 9 - 1], [3, 8, 6], dtype=i32), g.normal(2), 2, **q)
npu("npu_masked_fill_range", g.integers(5, 4), ints([1, 4], dtype=i32), ints([2, 5], dtype=i32), ints(9), 0, **q)
npu("npu_masked_fill_range", g.normal(6), ints([1, 4], [1, 1], dtype=i32), ints([3, 5], [2, 1], dtype=i32), g.normal(2), **q)
for mode in (0, 1):
    npu("npu_normalize_batch", g.normal(3, 2, 7, scale=4, shift=2), ints(7, 3, 5, dtype=i32), mode, **q)
indexed = lambda dtype=torch.float32: (g.normal(2, 3, 4, 8, dtype=dtype), g.normal(2, 9, 1, 8, dtype=dtype), g.normal(2, 3, 4, dtype=dtype))
npu("npu_lightning_indexer", *indexed(), sparse_count=5, return_value=True, **q)
npu("npu_lightning_indexer", *indexed(bf16), sparse_count=12, sparse_mode=0, actual_seq_lengths_key=ints(9, 4, dtype=i32), **q)
npu("npu_lightning_indexer", g.normal(5, 4, 8), g.normal(12, 1, 8), g.normal(5, 4), actual_seq_lengths_query=ints(2, 5, dtype=i32),
    actual_seq_lengths_key=ints(5, 12, dtype=i32), layout_query="TND", layout_key="TND", sparse_count=3, **q)
npu("npu_quant_lightning_indexer", bytes_(2, 3, 4, 8), bytes_(2, 9, 1, 8), g.normal(2, 3, 4, dtype=f16), g.uniform(2, 3, 4, dtype=f16),
    g.uniform(2, 9, 1, dtype=f16), 0, 0, sparse_count=6, **q)
warm = lambda: (g.normal(2, 3, 4, 8), g.normal(2, 5, 4, 8), g.normal(2, 3, 6, 7), g.normal(2, 5, 1, 7), g.normal(2, 3, 6), g.uniform(2, 4, 3, 1, low=1, high=3),
                g.uniform(2, 4, 3, 1, low=1, high=3), g.uniform(2, 1, 3, low=1, high=3), g.uniform(2, 1, 3, low=1, high=3), 0.3)
npu("npu_dense_lightning_indexer_grad_kl_loss", *warm(), **q)
npu("npu_dense_lightning_indexer_grad_kl_loss", *warm(), query_rope=g.normal(2, 3, 4, 2), key_rope=g.normal(2, 5, 4, 2), **q)
npu("npu_dense_lightning_indexer_grad_kl_loss", g.normal(5, 4, 8), g.normal(7, 4, 8), g.normal(5, 6, 7), g.normal(7, 1, 7), g.normal(5, 6),
    g.uniform(4, 5, 1, low=1, high=3), g.uniform(4, 5, 1, low=1, high=3), g.uniform(1, 5, low=1, high=3), g.uniform(1, 5, low=1, high=3), 0.3,
    actual_seq_qlen=[2, 5], actual_seq_klen=[3, 7], layout="TND", **q)
edges = lambda: (g.normal(2, 2, 3, 4, 6), g.normal(2, 2, 3, 5, 6), g.normal(2, 2, 3, 5, 6), g.normal(2, 2, 5, 4, 6), g.normal(2, 2, 5, 4, 6))
npu("npu_fused_floyd_attention", *edges(), scale_value=0.4)
npu("npu_fused_floyd_attention", *edges(), atten_mask=torch.tensor([False, True, False, True, False]).expand(2, 1, 3, 1, 5).clone(), scale_value=0.4)
for lse in (0, 1):
    npu("npu_block_sparse_attention", g.normal(2, 4, 5, 8), g.normal(2, 2, 7, 8), g.normal(2, 2, 7, 8), g.integers(2, 4, 2, 3, low=0, high=2, dtype=i8) | ints(1, 0, 0, dtype=i8),
        [3, 3], q_input_layout="BNSD", kv_input_layout="BNSD", num_key_value_heads=2, scale_value=0.4, inner_precise=0, softmax_lse_flag=lse, **q)
for biased in (True, False):
    npu("npu_lstm", g.normal(3, 2, 4), g.normal(9, 20), g.normal(20), ints(3, dtype=i32), g.normal(1, 2, 5), g.normal(1, 2, 5), biased, 1, 0.0, True, False,
        False, False, False)
    npu("npu_gru", g.normal(3, 2, 4), g.normal(1, 2, 5), g.normal(4, 15), g.normal(5, 15), g.normal(15), g.normal(15), ints(3, dtype=i32), biased, 1, 0.0,
        True, False, False)

for number, mode in ((296, "rint"), (296, "round"), (296, "floor"), (297, "rint"), (297, "round"), (297, "floor")):
    npu("npu_dynamic_mx_quant", torch.cat([g.normal(3, 70, dtype=bf16), torch.arange(-35, 35).div(4).to(bf16)[None]]), dst_type=number, round_mode=mode, **q)
npu("npu_dynamic_mx_quant", g.normal(70, 4, dtype=f16, scale=50), axis=0, dst_type=296, block_size=64, **q)
npu("npu_dynamic_mx_quant", g.normal(2, 20, scale=1e-3), dst_type=E4M3, scale_alg=1, max_low_bound=0.3, **q)
for number, algorithm in ((296, 0), (297, 0), (291, 0), (292, 1)):
    npu("npu_rms_norm_dynamic_mx_quant", g.normal(2, 3, 40, dtype=bf16), g.normal(40, dtype=bf16), dst_type=number, scale_alg=algorithm, **q)
    npu("npu_add_rms_norm_dynamic_mx_quant", g.normal(3, 66, dtype=f16), g.normal(3, 66, dtype=f16), g.normal(66), beta=g.normal(66), dst_type=number,
        scale_alg=algorithm, round_mode="floor" if number == 296 else "rint")
    npu("npu_swiglu_mx_quant", g.normal(5, 140, dtype=bf16), group_index=ints(2, 3), dst_type=number, scale_alg=algorithm, **q)
for mode in (0, 1, 2, 3):
    npu("npu_swiglu_mx_quant", g.normal(3, 80, dtype=f16, scale=3), activate_left=True, swiglu_mode=mode, clamp_limit=2.5, glu_alpha=1.3, glu_bias=0.5, **q)
npu("npu_swiglu_mx_quant", g.normal(2, 80, 6, dtype=f16), activate_dim=-2, axis=-2, **q)
npu("npu_swiglu_mx_quant", g.normal(5, 64, dtype=bf16), group_index=ints(2, 5), group_mode=1, swiglu_mode=2, round_mode="round", **q)
for mode in ("rint", "round", "floor"):
    npu("npu_dynamic_dual_level_mx_quant", g.normal(2, 600, dtype=bf16, scale=4), round_mode=mode, **q)
nibbles = lambda *shape: g.integers(*shape, low=0, high=256, dtype=torch.uint8)
scales = lambda *shape: g.integers(*shape, low=124, high=130, dtype=torch.uint8)
npu("npu_dual_level_quant_matmul", nibbles(3, 300), nibbles(5, 300), g.normal(3, 2), g.normal(2, 5), scales(3, 10, 2), scales(5, 10, 2), bias=g.normal(5), **q)
npu("npu_dual_level_quant_matmul", nibbles(2, 32).to(torch.int8), nibbles(4, 32).to(torch.int8), g.normal(2, 1), g.normal(1, 4), scales(2, 1, 2), scales(4, 1, 2),
    output_dtype=f16, **q)
npu("npu_kronecker_quant", g.normal(3, 5, 8, dtype=bf16), g.normal(5, 5, dtype=bf16), g.normal(8, 8, dtype=bf16), **q)
npu("npu_kronecker_quant", g.normal(2, 4, 16, dtype=f16), g.normal(4, 4, dtype=f16), g.normal(16, 16, dtype=f16), 1.0, **q)
adam_state = lambda dtype=torch.float32: (g.normal(9, dtype=dtype), g.normal(9, dtype=dtype), g.uniform(9, dtype=dtype))
npu("npu_bert_apply_adam", 0.1, 0.9, 0.99, 1e-6, g.normal(9), -1, 0, 0, out=adam_state(), **q)
npu("npu_bert_apply_adam", 0.1, 0.9, 0.99, 1e-6, g.normal(9), 1.0, 2.5, 0.3, None, 0, out=adam_state(), **q)
npu("npu_bert_apply_adam", 0.1, 0.9, 0.99, 1e-6, g.normal(9, dtype=f16), 1.0, 0.5, 0.3, 0.2, 1, out=adam_state(f16), **q)
npu("npu_bert_apply_adam", 0.1, 0.9, 0.99, 1e-6, g.normal(9), 0, 7.0, 0.3, None, 1, out=adam_state(), **q)
npu("npu_stride_add", g.normal(1, 1, 1, 1, 1), g.normal(1, 1, 1, 1, 1), 0, 0, 1, **q)
npu("npu_stride_add", g.normal(2, 50, 3, 2), g.normal(2, 33, 3, 2), 2, 1, 2, **q)
npu("npu_stride_add", g.normal(2, 32, 3, 2, dtype=f16), g.normal(2, 48, 3, 2, dtype=f16), 0, 1, 2, **q)
moved = lambda n, groups, kernel, *out: torch.cat([g.normal(n, 2 * groups * kernel, *out, scale=1.5), g.uniform(n, groups * kernel, *out)], 1)
npu("npu_deformable_conv2d", g.normal(2, 4, 6, 7), g.normal(3, 4, 3, 2), moved(2, 1, 6, 4, 6), None, [3, 2], [1, 1, 1, 1], [0, 0, 0, 0])
npu("npu_deformable_conv2d", g.normal(2, 4, 6, 7), g.normal(6, 2, 2, 3), moved(2, 2, 6, 4, 3), g.normal(6), [2, 3], [1, 1, 2, 3], [2, 1, 1, 2], [1, 1, 2, 1],
    groups=2, deformable_groups=2)
npu("npu_deformable_conv2d", g.normal(1, 2, 5, 5, dtype=f16), g.normal(2, 2, 3, 3, dtype=f16), moved(1, 1, 9, 5, 5).half(), g.normal(2, dtype=f16), [3, 3], [1, 1, 1, 1],
    [1, 1, 1, 1])
upright = lambda *shape, dtype=torch.float32: (lambda low, size: torch.cat([low, low + size], -1).to(dtype))(g.uniform(*shape, 2, high=20), g.uniform(*shape, 2, low=4, high=12))
npu("npu_nms_with_mask", torch.cat([upright(12), g.uniform(12, 1)], 1), 0.3, **q)
npu("npu_nms_with_mask", torch.cat([upright(9, dtype=f16), g.uniform(9, 4).half()], 1), 0.5, **q)
npu("npu_batch_nms", upright(2, 9, 3), g.uniform(2, 9, 3), 0.3, 0.4, 3, 6, **q)
npu("npu_batch_nms", upright(1, 12, 1, dtype=f16), g.uniform(1, 12, 2, dtype=f16), 0.2, 0.3, 9, 25, **q)
npu("npu_batch_nms", upright(2, 9, 1).permute(0, 2, 3, 1).contiguous(), g.uniform(2, 9, 2), 0.3, 0.4, 3, 4, False, True, **q)
npu("npu_batch_nms", torch.cat([upright(1, 3, 1), upright(1, 3, 1)[..., [2, 3, 0, 1]]], 1), g.uniform(1, 6, 1), 0, 0.6, 5, 5, **q)
tables = lambda *shape: g.integers(*shape, low=0, high=6, dtype=i32)
caches = lambda heads, *widths, dtype=torch.float32: tuple(g.normal(6, 4, heads, w, dtype=dtype) for w in widths)
k_cache, v_cache = caches(2, 8, 5)
npu("atb._npu_paged_attention_v2", g.normal(3, 4, 8), k_cache, tables(3, 3), [7, 1, 12], value_cache=v_cache, num_kv_heads=2, num_heads=4, scale_value=0.4,
    out=torch.zeros(3, 4, 5), **q)
k_cache, v_cache = caches(4, 8, 8, dtype=f16)
npu("atb._npu_paged_attention_v2", g.normal(2, 4, 8, dtype=f16), k_cache, tables(2, 3), ints(9, 5, dtype=i32), value_cache=v_cache, mask=g.normal(2, 4, 1, 12, dtype=f16),
    num_heads=4, scale_value=0.4, mask_type=2, out=torch.zeros(2, 4, 8).half(), **q)
npu("atb._npu_paged_attention_v2", g.normal(2, 4, 8, dtype=f16), k_cache, tables(2, 3), [9, 5], value_cache=v_cache, mask=g.normal(4, 1, 9, dtype=f16), num_heads=4,
    num_kv_heads=4, scale_value=0.4, mask_type=2, out=torch.zeros(2, 4, 8).half(), **q)
c_cache, r_cache = caches(1, 8, 4)
npu("atb.npu_multi_head_latent_attention", g.normal(3, 4, 8), g.normal(3, 4, 4), c_cache, r_cache, tables(3, 2), [7, 1, 8], 4, 0.3, 1, **q)
packed_tokens = lambda dtype=torch.float32, heads=2: (g.normal(9, 4, 8, dtype=dtype), g.normal(9, heads, 8, dtype=dtype), g.normal(9, heads, 5, dtype=dtype))
late_keys = lambda n, far: torch.triu(torch.ones(n, n), 1) * far
npu("atb._npu_flash_attention_v2", *packed_tokens(), [4, 5], mask_type=0, scale_value=0.4, num_heads=4, num_kv_heads=2, out=torch.zeros(9, 4, 5), **q)
npu("atb._npu_flash_attention_v2", *packed_tokens(f16), [4, 5], mask=late_keys(6, -10000).half(), mask_type=1, scale_value=0.4, num_heads=4, num_kv_heads=2, **q)
npu("atb._npu_flash_attention_v2", *packed_tokens(bf16), ints(4, 5, dtype=i32), mask=torch.stack([late_keys(6, 1), late_keys(6, 1).flip(0, 1)]).to(bf16), mask_type=1,
    scale_value=0.4, num_heads=4, num_kv_heads=2, **q)
npu("atb._npu_flash_attention_v2", *(t.flatten(1) for t in packed_tokens(heads=4)), [9], mask=g.normal(4, 9, 9), scale_value=0.4, num_heads=4, **q)
npu("atb._npu_flash_attention_v2", *packed_tokens(bf16), [4, 5], mask=g.normal(2, 4, 5, 6, dtype=bf16), scale_value=0.4, num_heads=4, num_kv_heads=2, **q)
k_cache, v_cache = caches(2, 8, 5)
npu("atb.npu_self_attention_prefix_encoder", g.normal(5, 4, 8), k_cache, v_cache, tables(2, 3), [2, 3], [2, 11], 4, 0.4, 2, **q)
npu("atb._npu_flash_attention_prefix_v2", g.normal(5, 32), k_cache.flatten(2), v_cache.flatten(2), tables(2, 3), late_keys(8, -10000), ints(1, 4, dtype=i32),
    ints(9, 8, dtype=i32), num_heads=4, num_kv_heads=2, scale_value=0.4, **q)
two_parts = lambda n, m, heads: (g.normal(n, 4, 8), g.normal(n, 4, 3), g.normal(m, heads, 8), g.normal(m, heads, 3), g.normal(m, heads, 6), late_keys(8, 1))
npu("atb.npu_ring_mla", *two_parts(7, 7, 4), ints(3, 4, dtype=i32), 4, 4, qk_scale=0.4, mask_type="mask_type_triu", calc_type="calc_type_first_ring", **q)
npu("atb.npu_ring_mla", *two_parts(5, 11, 2), ints([2, 3], [4, 7], dtype=i32), 4, 2, pre_out=g.normal(5, 4, 6), prev_lse=g.normal(4, 5), qk_scale=0.4,
    mask_type="no_mask", calc_type="calc_type_default", **q)
pages = caches(2, 8, 5, dtype=f16)
npu("atb.npu_paged_cache_load", *pages, tables(3, 4), ints(5, 0, 9, dtype=i32), seq_starts=ints(0, 4, 6, dtype=i32), **q)
npu("atb.npu_paged_cache_load", *pages, tables(2, 4), ints(0, 5, 12, dtype=i32), cumsum=True, key=g.normal(14, 2, 8, dtype=f16), value=g.normal(12, 2, 5, dtype=f16), **q)
third = lambda x: (x[:9] + x[10:])
npu("npu_mla_prolog_v3", *third(prolog()), **q)
npu("npu_mla_prolog_v3", *third(prolog()), query_norm_flag=True, rmsnorm_epsilon_cq=0.01, **q)
npu("npu_mla_prolog_v3", *(t.reshape(-1, t.shape[-1]) if i in (0, 7, 8) else t for i, t in enumerate(third(prolog()))), qc_qr_scale=1.5, **q)
chosen = lambda *rows: ints(*([row] for row in rows), dtype=i32)
five = chosen([0, -1, -1], [1, 0, -1], [0, 1, -1], [3, 0, 5], [2, 6, 4])
npu("npu_sparse_flash_attention", g.normal(5, 4, 6), g.normal(6, 4, 1, 6), g.normal(6, 4, 1, 6), five, 0.3, query_rope=g.normal(5, 4, 2), key_rope=g.normal(6, 4, 1, 2),
    layout_query="TND", layout_kv="PA_BSND", block_table=tables(2, 2), actual_seq_lengths_query=ints(2, 5, dtype=i32), actual_seq_lengths_kv=ints(3, 7, dtype=i32), **q)
npu("npu_sparse_flash_attention", g.normal(5, 4, 6), g.normal(11, 1, 6), g.normal(11, 1, 6), chosen([0, -1], [1, 0], [0, 1], [2, -1], [1, 3]), 0.3, query_rope=g.normal(5, 4, 2),
    key_rope=g.normal(11, 1, 2), layout_query="TND", layout_kv="TND", actual_seq_lengths_query=ints(2, 5, dtype=i32), actual_seq_lengths_kv=ints(4, 11, dtype=i32),
    sparse_block_size=2, sparse_mode=0, **q)


def keys_in_bytes(*shape):
    parts = (bytes_(*shape, 8), g.normal(*shape, 4, dtype=f16).view(i8), g.uniform(*shape, 2, low=0.01, high=0.02).view(i8))
    return torch.cat(parts, -1)


keys = keys_in_bytes(6, 4, 1)
npu("npu_kv_quant_sparse_flash_attention", g.normal(5, 4, 12, dtype=f16), keys, keys, five, 0.3, 2, 2, layout_query="TND", layout_kv="PA_BSND", block_table=tables(2, 2),
    actual_seq_lengths_query=ints(2, 5, dtype=i32), actual_seq_lengths_kv=ints(3, 7, dtype=i32), attention_mode=2, tile_size=4, rope_head_dim=4, **q)
keys = keys_in_bytes(2, 9, 1)
npu("npu_kv_quant_sparse_flash_attention", g.normal(2, 3, 4, 12, dtype=f16), keys, keys, g.integers(2, 3, 1, 1, low=0, high=6, dtype=i32), 0.3, 2, 2,
    actual_seq_lengths_kv=ints(9, 8, dtype=i32), attention_mode=2, tile_size=4, rope_head_dim=4, **q)
npu("npu_top_k_top_p_sample", g.normal(4, 30), ints(5, 30, 31, 1, dtype=i32), g.uniform(4), g.uniform(4, 30), is_need_logits=True, **q)
npu("npu_top_k_top_p_sample", g.normal(3, 20, dtype=f16), ints(7, 21, 0, dtype=i32), torch.tensor([1.0, 0.7, 0.9]).half(), None, 1e-8, True, **q)
npu("npu_top_k_top_p_sample", g.normal(3, 20), ints(7, 9, 12, dtype=i32), torch.tensor([1.0, 1.0, 0.5]), g.uniform(3, 20), 0.1, ks_max=8, **q)
npu("npu_top_k_top_p_sample", g.normal(2, 20), ints(50, 50, dtype=i32), torch.ones(2), g.uniform(2, 20), post_sample="None", **q)


# ---- attention's gradient as an operator: of its own statistics, and of a block of a ring, whose statistics are those of the whole row ----


def of_fusion(query, key, value, dy, heads, layout, mask=None, mode=0, pse=None, scale=0.3, name="npu_fusion_attention_grad", more=None, **kwargs):
    """The call with statistics and result of the forward one, over `more` keys and values too."""
    width = query.shape[-1] // heads if layout in ("BSH", "SBH") else None
    key_heads = key.shape[-1] // width if width else None
    q, k, v = bnsd(query.double(), layout, heads), bnsd(key.double(), layout, key_heads), bnsd(value.double(), layout, key_heads)
    own = mode_mask(mask, mode, q.shape[2], k.shape[2], 2**31 - 1, 2**31 - 1)
    if more:
        k, v = (torch.cat([a, bnsd(b.double(), layout, key_heads)], 2) for a, b in zip((k, v), more))
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    y, _ = attended(*leaves, scale, own, None if pse is None else pse.double())
    top, total = row_statistics(q, k, scale, None if own is None else own.expand(*q.shape[:3], k.shape[2]), None if pse is None else pse.double())
    y.backward(bnsd(dy.double(), layout, heads))
    exact = differentiated(q, k, v, bnsd(dy.double(), layout, heads), y.detach(), top[..., 0], total[..., 0], scale, own, pse)
    assert all(torch.allclose(a, b.grad, 1e-11, 1e-13) for a, b in zip(exact, leaves))  # of all keys it is autograd's gradient
    npu(name, query, key, value, dy, heads, layout, atten_mask=mask, sparse_mode=mode, scale_value=scale, softmax_max=top.float(), softmax_sum=total.float(),
        attention_in=unbnsd(y.detach(), layout).to(query.dtype), **({} if pse is None else {"pse": pse}), **kwargs, **q_off)


q_off = dict(grad=False)
for layout, shape, other in (("BSH", (2, 5, 16), (2, 6, 16)), ("SBH", (5, 2, 16), (6, 2, 16)), ("BSND", (2, 5, 2, 8), (2, 6, 2, 8)),
                             ("BNSD", (2, 2, 5, 8), (2, 2, 6, 8))):
    of_fusion(g.normal(*shape), g.normal(*other), g.normal(*other), g.normal(*shape), 2, layout)
grouped = lambda dtype=torch.float32: (g.normal(2, 4, 4, 8, dtype=dtype), g.normal(2, 2, 6, 8, dtype=dtype), g.normal(2, 2, 6, 8, dtype=dtype),
                                       g.normal(2, 4, 4, 8, dtype=dtype), 4, "BNSD")
of_fusion(*grouped(), mask=flags(2, 1, 4, 6) & (torch.arange(6) > 0), mode=1)
of_fusion(*grouped(), mask=triangle, mode=3, name="npu_fusion_attention_grad_v2")
of_fusion(*grouped(), pse=g.normal(1, 4, 4, 6))
of_fusion(*grouped(f16))
of_fusion(*grouped(), more=(g.normal(2, 2, 5, 8), g.normal(2, 2, 5, 8)))
of_fusion(*grouped(bf16), more=(g.normal(2, 2, 5, 8), g.normal(2, 2, 5, 8)))
query, key, value, dy = g.normal(7, 2, 8), g.normal(9, 2, 8), g.normal(9, 2, 8), g.normal(7, 2, 8)
for mode in (0, 3):
    parts = [(query[a:b].double(), key[c:d].double(), value[c:d].double()) for a, b, c, d in ((0, 3, 0, 3), (3, 5, 3, 6), (5, 7, 6, 9))]
    masks = [mode_mask(triangle if mode else None, mode, a.shape[0], b.shape[0], 2**31 - 1, 2**31 - 1) for a, b, _ in parts]
    blocks = [[t.transpose(0, 1)[None] for t in part] for part in parts]
    results = torch.cat([attended(*b, 0.3, m)[0][0].transpose(0, 1) for b, m in zip(blocks, masks)])
    rows = [row_statistics(b[0], b[1], 0.3, m) for b, m in zip(blocks, masks)]
    npu("npu_fusion_attention_grad", query, key, value, dy, 2, "TND", softmax_max=torch.cat([r[0][0].transpose(0, 1) for r in rows]).float(),
        softmax_sum=torch.cat([r[1][0].transpose(0, 1) for r in rows]).float(), attention_in=results.float(), scale_value=0.3, sparse_mode=mode,
        actual_seq_qlen=[3, 5, 7], actual_seq_kvlen=[3, 6, 9], softmax_layout="same_as_input", **({"atten_mask": triangle} if mode else {}), **q_off)
npu("npu_rms_norm_quant_v2", g.normal(4, 32), g.normal(32), g.uniform(1, low=0.02, high=0.03), offset=g.normal(1), beta=g.normal(32), **q_off)
npu("npu_rms_norm_quant_v2", g.normal(2, 3, 16, dtype=f16), g.normal(1, 16, dtype=f16), g.uniform(1, low=20, high=40, dtype=f16), div_mode=False, **q_off)
npu("npu_rms_norm_quant_v2", g.normal(4, 32, dtype=bf16), g.normal(32, dtype=bf16), g.uniform(1, low=0.02, high=0.03), offset=ints(3, dtype=i32), epsilon=1e-2,
    **q_off)

# ---- attention whose rows have a sink, and gradients of packed sequences with ropes, in both layouts of the statistics ---------------------


def of_packed(name, mode=0, ropes=False, layout="", sink=None, dtype=torch.float32):
    """A gradient's call with what the forward returned; autograd of the same forward is its oracle's oracle."""
    make = lambda n, d: g.normal(n, 2, d, dtype=dtype)
    query, key, value, dy = make(7, 8), make(9, 8), make(9, 6 if ropes else 8), make(7, 6 if ropes else 8)
    more = dict(query_rope=make(7, 4), key_rope=make(9, 4)) if ropes else {}
    leaves = [t.double().requires_grad_() for t in (query, key, value)]
    turned = [t.double().requires_grad_() for t in more.values()]
    own = None if sink is None else sink.double().requires_grad_()
    q, k = (torch.cat([a, b], -1) for a, b in zip(leaves, turned)) if ropes else leaves[:2]
    parts, tops, totals, a0, b0 = [], [], [], 0, 0
    for n, (a, b) in enumerate(zip([3, 5, 7], [3, 6, 9])):
        rule = {7: 4 if n == 2 else 3, 8: 4 if n == 0 else 2}.get(mode, mode)
        mask = mode_mask(triangle if mode else None, rule, a - a0, b - b0, 4, 0)
        block = [x.transpose(0, 1)[None] for x in (q[a0:a], k[b0:b], leaves[2][b0:b])]
        y, lse = attended(*block, 0.3, mask, sink=own)
        scores = torch.einsum("bnid,bnjd->bnij", *block[:2]) * 0.3
        top = (scores if mask is None else scores.masked_fill(mask, float("-inf"))).amax(-1)
        top = top if own is None else torch.maximum(top, own[None, :, None])
        parts.append(y[0].transpose(0, 1))
        tops.append(top[0])
        totals.append(torch.exp(lse[..., 0] - top)[0])
        a0, b0 = a, b
    y = torch.cat(parts)
    y.backward(dy.double())
    shaped = lambda x: (torch.cat([p.T for p in x]) if layout else torch.cat([p.reshape(-1) for p in x]).view(7, 2))[..., None].expand(7, 2, 8)
    window = dict(pre_tockens=4, next_tockens=0) if "v2" not in name else dict(pre_tokens=4, next_tokens=0)
    kwargs = dict(atten_mask=triangle if mode else None, sparse_mode=mode, softmax_max=shaped(tops).detach().float().contiguous(), softmax_sum=shaped(totals).detach().float().contiguous(),
                  attention_in=y.detach().to(dtype), scale_value=0.3, actual_seq_qlen=[3, 5, 7], actual_seq_kvlen=[3, 6, 9], softmax_layout=layout, **window, **more,
                  **({} if sink is None else {"sink": sink}))
    if dtype == torch.float32:
        exact = {k: v.double() if isinstance(v, torch.Tensor) and v.dtype == dtype else v for k, v in kwargs.items()}
        got = NPU["NPU." + name](query.double(), key.double(), value.double(), dy.double(), 2, "TND", **exact)
        want = [*(t.grad for t in leaves), None, *(t.grad for t in turned), *([] if own is None else [own.grad])]
        got = got[:4] + tuple(t for t in got[4:] if t is not None)
        assert len(got) >= len(want) and all(b is None or torch.allclose(a, b, 1e-5, 1e-6) for a, b in zip(got, want)), name
    npu(name, query, key, value, dy, 2, "TND", **kwargs, **q_off)


for mode in (0, 3, 4, 7, 8):
    of_packed("npu_fusion_attention_grad", mode)
of_packed("npu_fusion_attention_grad_v3", 3, layout="TND", sink=g.normal(2))
of_packed("npu_fusion_attention_grad_v2", 3, ropes=True)
of_packed("npu_fusion_attention_grad_v2", 0, ropes=True, layout="TND")
of_packed("npu_fusion_attention_grad_v2", 3, ropes=True, dtype=bf16)
of_packed("npu_fusion_attention_grad_v2", 2, sink=g.normal(2))
for name in ("npu_fusion_attention_v2", "npu_fusion_attention_v3"):
    npu(name, *four(), scale=0.3, sink=g.normal(4))
    npu(name, *four(), scale=0.3, atten_mask=triangle, sparse_mode=2, sink=g.normal(4))
    npu(name, *tnd(), scale=0.3, atten_mask=triangle, sparse_mode=3, sink=g.normal(2), **ends)

g.save()
