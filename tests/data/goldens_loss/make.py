"""Goldens of losses and distances. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__)
f16, bf16, f64 = torch.float16, torch.bfloat16, torch.float64
i8, u8, i16, i32, i64, boolean = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
c64, c128 = torch.complex64, torch.complex128
inf, nan = float("inf"), float("nan")


def column(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def flags(*values):
    return torch.tensor(values)


def every(api, *args, **kwargs):
    for reduction in ("none", "mean", "sum"):
        g.add(api, *args, reduction=reduction, **kwargs)


# ---- element by element -----------------------------------------------------------------------------------
for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
    every(f"Functional.{name}", g.normal(3, 4), g.normal(3, 4))
    g.add(f"Functional.{name}", column(1, 2, 3), column(1, 3, 1))
    g.add(f"Functional.{name}", g.normal(), g.normal())
    g.add(f"Functional.{name}", g.normal(2, dtype=bf16), g.normal(2, dtype=bf16))
g.add("Functional.mse_loss", g.normal(3, 4), g.normal(4))
g.add("Functional.mse_loss", g.normal(3), g.normal(3), size_average=False)
g.add("Functional.mse_loss", g.normal(3), g.normal(3), reduce=False)
g.add("Functional.smooth_l1_loss", g.normal(6, scale=2), g.normal(6), beta=0.5)
g.add("Functional.smooth_l1_loss", g.normal(6), g.normal(6), beta=0.0)
g.add("Functional.huber_loss", g.normal(6, scale=2), g.normal(6), delta=0.5)
every("Functional.binary_cross_entropy", g.uniform(2, 3, low=0.05, high=0.95), g.uniform(2, 3))
every("Functional.binary_cross_entropy", g.uniform(2, 3, low=0.05, high=0.95), fixed(g.uniform(2, 3)), weight=fixed(g.uniform(3)))
g.add("Functional.binary_cross_entropy", column(0, 1, 0, 1), fixed(column(0, 1, 1, 0)), reduction="none")
every("Functional.binary_cross_entropy_with_logits", g.normal(2, 3, scale=4), g.uniform(2, 3))
every("Functional.binary_cross_entropy_with_logits", g.normal(2, 3, scale=4), g.uniform(2, 3), weight=fixed(g.uniform(3)))
every("Functional.binary_cross_entropy_with_logits", g.normal(2, 3, scale=4), fixed(g.uniform(2, 3)),
      pos_weight=fixed(g.uniform(3, low=0.5, high=3)))
g.add("Torch.binary_cross_entropy_with_logits", g.normal(3), fixed(g.uniform(3)), None, None, 2)
g.add("Functional.binary_cross_entropy_with_logits", column(50, -50, 100, -100), fixed(column(1, 0, 0, 1)), reduction="none")
log_p = torch.log_softmax(g.normal(3, 4), 1)
for reduction in ("none", "mean", "sum", "batchmean"):
    g.add("Functional.kl_div", log_p, g.uniform(3, 4, low=0.01), reduction=reduction)
    g.add("Functional.kl_div", log_p, torch.log_softmax(g.normal(3, 4), 1), reduction=reduction, log_target=True)
g.add("Functional.kl_div", log_p, fixed(torch.tensor([[0, 0.5, 0.5, 0]] * 3)), reduction="sum")
g.add("Torch.kl_div", log_p, fixed(g.uniform(3, 4)), 2)
every("Functional.poisson_nll_loss", g.normal(5), g.uniform(5, high=4))
g.add("Functional.poisson_nll_loss", g.uniform(5), g.uniform(5, high=4), log_input=False, full=True)
g.add("Functional.poisson_nll_loss", g.normal(5), fixed(column(0, 1, 2, 3.5, 0.5)), full=True, reduction="none")
g.add("Torch.poisson_nll_loss", g.normal(5), g.uniform(5), True, False, 1e-8, 1)
every("Functional.gaussian_nll_loss", g.normal(3, 4), g.normal(3, 4), g.uniform(3, 4))
g.add("Functional.gaussian_nll_loss", g.normal(3, 4), g.normal(3, 4), g.uniform(3, 1), full=True)
g.add("Functional.gaussian_nll_loss", g.normal(3, 4), g.normal(3, 4), g.uniform(3))
g.add("Functional.gaussian_nll_loss", g.normal(3), g.normal(3), column(0.5, 1e-9, 0), eps=0.01)
sign = fixed(column(1, -1, -1, 1))
every("Functional.hinge_embedding_loss", column(0.5, 0.5, 1, 2), sign)
g.add("Functional.hinge_embedding_loss", g.normal(4), sign, margin=2.0)
g.add("Torch.hinge_embedding_loss", g.normal(4), sign, 0.5, 2)
every("Functional.margin_ranking_loss", g.normal(4), g.normal(4), sign)
g.add("Functional.margin_ranking_loss", column(1, 2, 3, 4), column(1, 1, 5, 4), sign, margin=0.5)
g.add("Torch.margin_ranking_loss", g.normal(4), g.normal(4), sign, 0.5, 0)
every("Functional.soft_margin_loss", g.normal(4, scale=3), sign)
every("Functional.multilabel_soft_margin_loss", g.normal(2, 3), fixed(column(1, 0, 1)))
g.add("Functional.multilabel_soft_margin_loss", g.normal(2, 3), fixed(g.uniform(2, 3)), weight=fixed(g.uniform(3)))

# ---- classes ------------------------------------------------------------------------------------------------
target = torch.tensor([0, 2, 1, 2])
ignoring = torch.tensor([0, -100, 1, 2])
weight = fixed(g.uniform(3, low=0.2))
for name in ("nll_loss", "cross_entropy"):
    every(f"Functional.{name}", torch.log_softmax(g.normal(4, 3), 1), target)
    every(f"Functional.{name}", torch.log_softmax(g.normal(4, 3), 1), ignoring, weight=weight)
    g.add(f"Functional.{name}", g.normal(4, 3), target, ignore_index=2)
    g.add(f"Functional.{name}", g.normal(4, 3), target, weight, None, 1)
    g.add(f"Functional.{name}", g.normal(3), torch.tensor(1))
    every(f"Functional.{name}", g.normal(2, 3, 4), g.integers(2, 4, low=0, high=3))
    every(f"Functional.{name}", g.normal(2, 3, 2, 2), g.integers(2, 2, 2, low=0, high=3), weight=weight)
    g.add(f"Functional.{name}", g.normal(2, 3), torch.tensor([-100, -100]), grad=False)
    g.add(f"Functional.{name}", g.normal(2, 3), torch.tensor([-100, -100]), reduction="sum")
    g.add(f"Functional.{name}", g.normal(4, 3), target, reduce=False)
    g.add(f"Functional.{name}", g.normal(4, 3, dtype=bf16), target)
every("Functional.cross_entropy", g.normal(4, 3), target, label_smoothing=0.1)
every("Functional.cross_entropy", g.normal(4, 3), ignoring, weight=weight, label_smoothing=0.2)
every("Functional.cross_entropy", g.normal(2, 3, 4), g.integers(2, 4, low=0, high=3), label_smoothing=0.3)
probability = torch.softmax(g.normal(4, 3), 1)
every("Functional.cross_entropy", g.normal(4, 3), probability)
every("Functional.cross_entropy", g.normal(4, 3), fixed(probability), weight=weight, label_smoothing=0.1)
g.add("Functional.cross_entropy", g.normal(3), fixed(probability[0]))
g.add("Functional.cross_entropy", g.normal(2, 3, 2), fixed(torch.softmax(g.normal(2, 3, 2), 1)))
g.add("Functional.cross_entropy", column(100, 0, -100).reshape(1, 3), torch.tensor([2]))
every("Functional.multi_margin_loss", g.normal(4, 3), target)
g.add("Functional.multi_margin_loss", g.normal(4, 3), target, p=2, margin=0.5)
g.add("Functional.multi_margin_loss", g.normal(4, 3), target, weight=weight)
g.add("Functional.multi_margin_loss", g.normal(3), torch.tensor(1))
labels = torch.tensor([[2, 0, -1], [1, -1, 0], [-1, 0, 1], [0, 1, 2]])
every("Functional.multilabel_margin_loss", g.normal(4, 3), labels)
g.add("Functional.multilabel_margin_loss", g.normal(3), labels[0])

# ---- distances ---------------------------------------------------------------------------------------------
for p in (2.0, 1.0, 3.0, inf):
    g.add("Functional.pairwise_distance", g.normal(3, 4), g.normal(3, 4), p)
    g.add("Torch.cdist", g.normal(3, 4), g.normal(2, 4), p)
    g.add("Functional.pdist", g.normal(4, 3), p)
    g.add("Functional.triplet_margin_loss", g.normal(3, 4), g.normal(3, 4), g.normal(3, 4), p=p)
g.add("Torch.cdist", g.normal(2, 3, 4), g.normal(2, 5, 4), 1.5)
g.add("Torch.cdist", column(0, 1, 1, 0).reshape(2, 2), column(0, 1, 2, 2).reshape(2, 2), 2.0)
g.add("Torch.cdist", column(0, 1, 1, 0).reshape(2, 2), column(0, 1, 2, 2).reshape(2, 2), inf)
g.add("Torch.cdist", g.normal(3, 4), g.normal(2, 4), 0.0)
g.add("Torch.cdist", g.normal(2, 1, 3, 4), g.normal(2, 2, 4))
g.add("Torch.pdist", torch.tensor([[0.0, 1], [0, 1], [2, 3]]), 2.0)
g.add("Torch.pairwise_distance", g.normal(4), g.normal(4), keepdim=True)
g.add("Functional.pairwise_distance", g.normal(3, 4), g.normal(4), eps=0.1)
every("Functional.triplet_margin_loss", g.normal(3, 4), g.normal(3, 4), g.normal(3, 4), swap=True)
g.add("Torch.triplet_margin_loss", g.normal(3, 4), g.normal(3, 4), g.normal(3, 4), 2.0, 1.0, 1e-6, False, 2)
g.add("Functional.triplet_margin_with_distance_loss", g.normal(3, 4), g.normal(3, 4), g.normal(3, 4), margin=2.0, swap=True)
g.add("Functional.cosine_similarity", g.normal(3, 4), g.normal(3, 4))
g.add("Functional.cosine_similarity", g.normal(3, 4), g.normal(4), dim=-1)
g.add("Torch.cosine_similarity", g.normal(2, 3, 4), g.normal(2, 3, 4), 0, 0.5)
g.add("Functional.cosine_similarity", column(0, 0, 0).reshape(1, 3), column(1, 2, 3).reshape(1, 3), grad=False)
every("Functional.cosine_embedding_loss", g.normal(4, 3), g.normal(4, 3), sign)
g.add("Functional.cosine_embedding_loss", g.normal(4, 3), g.normal(4, 3), sign, margin=-0.5)
g.add("Functional.cosine_embedding_loss", g.normal(3), g.normal(3), fixed(torch.tensor(1.0)))
g.add("Torch.cosine_embedding_loss", g.normal(4, 3), g.normal(4, 3), sign, 0.2, 2)
for kwargs in ({}, {"p": 1.0, "dim": 0}, {"p": 3.0, "dim": -1}, {"dim": (0, 1)}, {"eps": 10.0}):
    g.add("Functional.normalize", g.normal(3, 4), **kwargs)
g.add("Functional.normalize", torch.tensor([[0.0, 0], [3, 4]]))

g.add("Functional.pairwise_distance", g.normal(), g.normal())
g.add("Functional.cosine_similarity", g.normal(), g.normal(), dim=0, grad=False)
g.add("Functional.triplet_margin_loss", g.normal(), g.normal(), g.normal())
g.add("Functional.normalize", torch.zeros(2, 0), p=inf)

# ---- CTC -----------------------------------------------------------------------------------------------------
log_p = torch.log_softmax(g.normal(7, 3, 5), 2)
targets = torch.tensor([[1, 2, 2, 4], [3, 1, 0, 0], [1, 1, 1, 1]])
for zero in (False, True):
    every("Functional.ctc_loss", log_p, targets, torch.tensor([7, 6, 7]), torch.tensor([4, 2, 4]), zero_infinity=zero)
every("Functional.ctc_loss", log_p, torch.tensor([1, 2, 2, 4, 3, 1]), (7, 6, 5), (3, 1, 2))
g.add("Functional.ctc_loss", log_p, targets, (7, 7, 6), (4, 2, 4), reduction="none", zero_infinity=True)
g.add("Functional.ctc_loss", log_p, targets, (7, 7, 6), (4, 2, 4), reduction="none", grad=False)
g.add("Functional.ctc_loss", log_p, torch.tensor([0, 2, 0, 3]), (7, 7, 7), (2, 0, 2), blank=4)
g.add("Functional.ctc_loss", log_p[:, 0], torch.tensor([1, 2]), torch.tensor(7), torch.tensor(2))
g.add("Torch.ctc_loss", log_p, targets, (7, 7, 6), (4, 2, 3), 0, 2, False)
g.add("Functional.multilabel_soft_margin_loss", g.normal(3, 5), g.uniform(3, 1, 5))  # classes of the input, in the middle of what is broadcast
g.add("Functional.multilabel_soft_margin_loss", g.normal(3, 1), g.uniform(3, 5))
g.save()
