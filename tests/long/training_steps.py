"""Operators of aten as training steps of PyTorch call them, written as a dump. Run by tests/long/training_steps.

    python3 training_steps.py FOLDER DTYPE

Small models run forward and backward; every operator that is dispatched is recorded with its arguments as they
are before the call and with its results, which are those of a correct device.
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from recorded_dump import Dump
from torch.utils._python_dispatch import TorchDispatchMode

NEVER = {"empty", "empty_like", "empty_strided", "new_empty_strided", "detach"}  # nothing to compare


def copied(v):
    if isinstance(v, torch.Tensor):
        return v.detach().clone()
    return type(v)(copied(i) for i in v) if isinstance(v, (list, tuple)) else v


class Recorder(TorchDispatchMode):
    def __init__(self, dump):
        super().__init__()
        self.dump = dump

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        op, kwargs = str(func.overloadpacket).split(".")[-1], kwargs or {}
        before = [copied(a) for a in args], {k: copied(v) for k, v in kwargs.items()}
        result = func(*args, **kwargs)
        if not op.endswith("_") and op not in NEVER:
            self.dump.add(f"Aten.{op}", *before, result if isinstance(result, (tuple, list)) else [result])
        return result


def pull_back(y):
    (y * torch.randn(y.shape).to(y.dtype)).sum().backward()


# ---- steps ------------------------------------------------------------------------------------------------


def convolutional(dtype):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=2, stride=2),
        nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool2d(2, 1), nn.ConvTranspose2d(8, 6, 2, 2), nn.InstanceNorm2d(6, affine=True),
        nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.Upsample(scale_factor=1.5, mode="bilinear"),
        nn.Upsample(size=(9, 9), mode="nearest"), nn.Upsample(size=(7, 8), mode="bicubic"), nn.AdaptiveAvgPool2d((3, 3)),
        nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(24, 5)).to(dtype)
    F.cross_entropy(model(torch.randn(4, 3, 20, 20).to(dtype)), torch.tensor([0, 1, 2, 4])).backward()


def decoder(dtype):
    embedding, first, second = nn.Embedding(50, 32), nn.LayerNorm(32), nn.LayerNorm(32)
    joint, out, up, down, head = (nn.Linear(*s) for s in ((32, 96), (32, 32), (32, 128), (128, 32), (32, 50)))
    for module in (embedding, first, second, joint, out, up, down, head):
        module.to(dtype)
    tokens = torch.randint(0, 50, (2, 12))
    x = embedding(tokens)
    q, k, v = (z.view(2, 12, 4, 8).transpose(1, 2) for z in joint(first(x)).split(32, -1))
    future = torch.triu(torch.ones(12, 12, dtype=torch.bool), 1)
    weights = F.softmax((q @ k.transpose(-2, -1) / 8**0.5).masked_fill(future, float("-inf")), -1)
    x = x + out((weights @ v).transpose(1, 2).reshape(2, 12, 32))
    x = x + down(F.gelu(up(second(x))))
    F.cross_entropy(head(x).view(-1, 50).float(), tokens.view(-1)).backward()


def losses(dtype):
    def leaf(*shape):
        return torch.randn(*shape).to(dtype).requires_grad_()

    target, sign = torch.tensor([0, 3, 1, 2, 2]), torch.sign(torch.randn(5, 4)).to(dtype)
    share = torch.rand(5, 4).to(dtype)
    for reduction in ("mean", "sum", "none"):
        a, b, how = leaf(5, 4), torch.randn(5, 4).to(dtype), {"reduction": reduction}
        for loss in (F.mse_loss(a, b, **how), F.l1_loss(a, b, **how), F.smooth_l1_loss(a, b, beta=0.5, **how),
                     F.huber_loss(a, b, **how), F.cross_entropy(a, target, label_smoothing=0.1, **how),
                     F.nll_loss(F.log_softmax(a, 1), target, weight=share[0, :4], **how),
                     F.binary_cross_entropy(torch.sigmoid(a), share, **how),
                     F.binary_cross_entropy_with_logits(a, share, **how), F.soft_margin_loss(a, sign, **how),
                     F.multi_margin_loss(a, target, **how), F.hinge_embedding_loss(a, sign, **how),
                     F.cross_entropy(leaf(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4)), ignore_index=1, **how)):
            pull_back(loss)


def activations(dtype):
    for module in (nn.ReLU(), nn.ReLU6(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.ELU(), nn.CELU(), nn.SELU(),
                   nn.Hardswish(), nn.Hardtanh(), nn.LeakyReLU(), nn.Softplus(), nn.LogSigmoid(), nn.Tanh(), nn.Sigmoid(),
                   nn.Softsign(), nn.GLU(), nn.Softmax(-1), nn.LogSoftmax(-1)):
        pull_back(module(torch.randn(3, 8, 16).to(dtype).requires_grad_()))


def tensors(dtype):
    x = torch.randn(4, 5, 6).to(dtype).requires_grad_()
    y = torch.rand(4, 5, 6).to(dtype).requires_grad_()
    for z in (x[1:3, ::2], x.select(1, 2), x.diagonal(0, 1, 2), x.unfold(2, 3, 2), x[:, torch.tensor([0, 2, 2])],
              x.gather(2, torch.randint(0, 6, (4, 5, 3))), torch.where(x > 0, x, y), x.clamp(-0.5, 0.5), x.std(1),
              x.logsumexp(1), x.cumsum(1), x.max(1)[0], x.sort(1)[0], x.topk(3)[0], x.tril(), torch.cat([x, y], 1),
              torch.einsum("abc,dbc->ad", x, y), x.exp() + y.log() + x.sin() * y.sqrt(), y.pow(x) + x.atan2(y),
              x.scatter_add(1, torch.zeros(4, 3, 6, dtype=torch.long), y[:, :3]), F.pad(x, (1, 2)), F.unfold(x[None], 2),
              F.normalize(x), torch.lerp(x, y, 0.3), torch.addcdiv(x, y, y + 1)):
        pull_back(z)


def main():
    folder, dtype = sys.argv[1], getattr(torch, sys.argv[2])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dump = Dump(folder)
    steps = (decoder, losses, activations, tensors) + ((convolutional,) if torch.finfo(dtype).bits > 16 else ())
    with Recorder(dump):
        for step in steps:
            step(dtype)
    dump.save()
    print(f"{len(dump.data)} calls of {len(dump.counts)} operators in {sys.argv[2]}")


if __name__ == "__main__":
    main()
