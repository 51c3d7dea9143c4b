"""Goldens of calls drawn at random: names that tests/long/against_torch found wrong once, a few calls of each.

Usage: python3 make.py OPS.json (of `probe-ut ops --json`)
"""
import json
import pathlib
import random
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "long"))
import against_torch  # noqa: E402

NAMES = """
Functional.conv1d Functional.conv2d Functional.conv_transpose1d Functional.elu_ Functional.huber_loss Functional.l1_loss
Functional.prelu Functional.softsign Functional.tanhshrink
Tensor.addbmm Tensor.addmm_ Tensor.addmv Tensor.cov Tensor.dsplit Tensor.eq_ Tensor.ge_ 
Tensor.inverse Tensor.logical_and_ Tensor.logical_not_ Tensor.logical_xor_ Tensor.matrix_exp Tensor.mm Tensor.mv
Tensor.ne_ Tensor.quantile Tensor.triangular_solve Torch.adjoint Torch.baddbmm Torch.binary_cross_entropy_with_logits
Torch.bmm Torch.cosine_embedding_loss Torch.ctc_loss Torch.dist Torch.hinge_embedding_loss Torch.hsplit
Torch.kl_div Torch.linalg.inv Torch.nanquantile
Torch.triplet_margin_loss Torch.vander
""".split()

# PyTorch's own: a convolution of no filters whose bias has three, 0.1 compared in float64 with a float32 tensor,
# NaN times a beta of 0; a gradient of ctc_loss that takes unnormalised log probabilities for normalised ones, as
# PyTorch does: no derivative.
SKIPPED = {"Functional.conv1d.1", "Tensor.ne_.4", "Torch.baddbmm.4", "Torch.ctc_loss.4"}

torch.set_num_threads(1)
against_torch.MOST_ELEMENTS = 100
catalogue = {o["api"] for o in json.loads(pathlib.Path(sys.argv[1]).read_text()) if o["forward"]}
sources = against_torch.from_op_db(catalogue, "")
for name, calls in against_torch.from_goldens(catalogue, "").items():
    sources.setdefault(name, []).extend(calls)
book = against_torch.Book(pathlib.Path(__file__).parent, 1)
for name in (n for n in NAMES if sources.get(n)):
    r = random.Random(name)
    torch.manual_seed(r.randrange(1 << 30))
    against_torch.draw_calls(book, name, sources[name], False, 4, r)
book.records = [r for r in book.records if not {"refused", "native_refused"} & set(r) and r["api"] not in SKIPPED]
book.save()
print(len(book.records), "records")
