"""Goldens of recurrent layers and cells. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__)
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def parameters(kind, features, width, layers, directions, biased=True, projected=0):
    out, state = [], projected or width
    for layer in range(layers):
        for _ in range(directions):
            inputs = features if layer == 0 else state * directions
            rows = GATES[kind] * width
            out += [g.normal(rows, inputs, scale=0.5), g.normal(rows, state, scale=0.5)]
            out += [g.normal(rows, scale=0.5), g.normal(rows, scale=0.5)] if biased else []
            out += [g.normal(projected, width, scale=0.5)] if projected else []
    return out


def states(kind, count, batch, width, projected=0):
    h = g.normal(count, batch, projected or width)
    return [h, g.normal(count, batch, width)] if kind == "lstm" else h


for kind in GATES:
    for layers, directions, biased, batch_first in ((1, 1, True, False), (2, 2, True, True), (2, 1, False, False)):
        hx = states(kind, layers * directions, 2, 3)
        params = parameters(kind, 4, 3, layers, directions, biased)
        x = g.normal(2, 5, 4) if batch_first else g.normal(5, 2, 4)
        g.add(f"VF.{kind}", x, hx, params, biased, layers, 0.0, True, directions == 2, batch_first)
    for layers, directions in ((1, 1), (2, 2)):
        sizes = torch.tensor([3, 3, 2, 1])
        hx = states(kind, layers * directions, 3, 3)
        params = parameters(kind, 4, 3, layers, directions)
        g.add(f"VF.{kind}", g.normal(9, 4), sizes, hx, params, True, layers, 0.0, False, directions == 2)
    g.add(f"Torch.{kind}", g.normal(3, 2, 4), states(kind, 1, 2, 3), parameters(kind, 4, 3, 1, 1), True, 1, 0.0, False,
          False, False)
    w = parameters(kind, 4, 3, 1, 1)
    hx = [g.normal(2, 3), g.normal(2, 3)] if kind == "lstm" else g.normal(2, 3)
    g.add(f"Torch.{kind}_cell", g.normal(2, 4), hx, *w)
    g.add(f"VF.{kind}_cell", g.normal(2, 4), hx, *w[:2])
g.add("VF.lstm", g.normal(4, 2, 4), states("lstm", 2, 2, 3, 2), parameters("lstm", 4, 3, 1, 2, True, 2), True, 1, 0.0,
      False, True, False)
g.add("VF.lstm", g.normal(20, 1, 4), states("lstm", 1, 1, 6), parameters("lstm", 4, 6, 1, 1), True, 1, 0.0, False,
      False, False)

# Integers of relu's layers wrap around at each step.
for dtype, low, high in ((torch.uint8, 0, 100), (torch.int8, -90, 100), (torch.int32, -5, 6)):
    whole = lambda *shape: g.integers(*shape, low=low, high=high).to(dtype)
    weights = [whole(3, 4), whole(3, 3), whole(3), whole(3)]
    g.add("Torch.rnn_relu", whole(4, 2, 4), whole(1, 2, 3), weights, True, 1, 0.0, False, False, False, grad=False)
    g.add("VF.rnn_relu", whole(5, 4), torch.tensor([2, 2, 1]), whole(1, 2, 3), weights, True, 1, 0.0, False, False, grad=False)
    g.add("Torch.rnn_relu_cell", whole(2, 4), whole(2, 3), *weights, grad=False)

g.save()
