"""Goldens of fake quantization behind an observer, by PyTorch in float32, its only dtype. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import make
import torch

NAME = "Aten._fused_moving_avg_obs_fq_helper"
g = make.Goldens(__file__)


def observed(x, low, high, axis=-1, channels=1, seen=None, observer=1, fake=1, average=0.01, by_channel=False, symmetric=False, name=NAME):
    """`seen`: the ends that were observed before, or none."""
    ends = [torch.full((channels,), float(v)) for v in seen or (float("inf"), -float("inf"))]
    g.add(name, x, torch.tensor([observer]), torch.tensor([fake]), *[make.fixed(t) for t in ends], make.fixed(torch.full((channels,), 0.05)),
          torch.full((channels,), 7 if low >= 0 else 0, dtype=torch.int32), average, low, high, axis, by_channel, symmetric, native=True)


observed(g.normal(6, 7), 0, 255)
observed(g.normal(6, 7), -128, 127)
observed(g.normal(4, 5, 3), 0, 255, seen=(-1.5, 2.0))
observed(g.normal(4, 5, 3), -128, 127, seen=(-0.25, 0.5), average=0.5)
observed(g.uniform(30, low=1, high=3), 0, 255)
observed(g.uniform(30, low=-3, high=-1), 0, 127)
observed(g.normal(6, 7), -128, 127, symmetric=True)
observed(g.normal(6, 7), -127, 127, symmetric=True, seen=(-0.1, 3))
observed(g.normal(4, 3, 5), -128, 127, axis=0, channels=4, by_channel=True)
observed(g.normal(5, 6), -128, 127, axis=0, channels=5, by_channel=True, symmetric=True)
observed(g.normal(6, 7), 0, 255, seen=(-1.0, 1.5), observer=0)
observed(g.normal(6, 7), 0, 255, fake=0)
observed(g.normal(6, 7), 0, 15, name="Torch.fused_moving_avg_obs_fake_quant")
g.save()
