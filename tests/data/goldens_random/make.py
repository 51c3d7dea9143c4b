"""Goldens of calls drawn at random: names that tests/long/against_torch found wrong once, a few calls of each.

Usage: python3 make.py OPS.json (of `probe-ut ops --json`)
"""
import json
import pathlib
import random
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "long"))
import against_torch  # noqa: E402
import call_sources  # noqa: E402

NAMES = """
Aten._cdist_backward Aten._pdist_backward Aten.copy_ Aten.linalg_lu Aten.multilabel_margin_loss_forward Aten.reflection_pad1d
Functional.batch_norm Functional.conv1d Functional.conv2d Functional.conv_transpose1d Functional.elu_ Functional.hinge_embedding_loss
Functional.huber_loss Functional.l1_loss Functional.multilabel_soft_margin_loss Functional.prelu Functional.softsign Functional.tanhshrink
Functional._scaled_dot_product_attention
Tensor.addbmm Tensor.addmm_ Tensor.addmv Tensor.cholesky Tensor.cov Tensor.dsplit Tensor.eq_ Tensor.ge_
Tensor.inverse Tensor.logical_and_ Tensor.logical_not_ Tensor.logical_xor_ Tensor.lu Tensor.matrix_exp Tensor.mm Tensor.mv
Tensor.ne_ Tensor.quantile Tensor.sum_to_size Tensor.triangular_solve Torch.adjoint Torch.baddbmm Torch.binary_cross_entropy_with_logits
Torch.bincount Torch.bmm Torch.cosine_embedding_loss Torch.ctc_loss Torch.diff Torch.dist Torch.einsum Torch.geqrf Torch.gru_cell
Torch.hinge_embedding_loss Torch.histogram Torch.hsplit Torch.inner Torch.kl_div Torch.linalg.cholesky Torch.linalg.inv Torch.linalg.lu
Torch.linalg.lu_factor Torch.linalg.lu_solve Torch.linalg.matrix_rank Torch.linalg.qr Torch.linalg.svd Torch.lu_solve Torch.nanquantile
Torch.qr Torch.sinc Torch.svd Torch.trapezoid Torch.triplet_margin_loss Torch.vander VF.gru VF.rnn_tanh_cell
""".split()

# Calls that are nobody's to decide: infinities and NaN; matrices that are singular, or as good as singular in double; cotangents of rows
# that are constant; a convolution of no filters whose bias has three; matrices of no elements that are not square; gradients behind a dropout.
SKIPPED = """
Aten.linalg_lu.4 Functional.conv1d.2 Functional.elu_.3 Functional.hinge_embedding_loss.0 Functional.hinge_embedding_loss.5
Functional._scaled_dot_product_attention.7 Tensor.cholesky.2 Tensor.cov.3 Tensor.lu.3 Tensor.triangular_solve.5 Torch.gru_cell.3
Torch.linalg.inv.7 Torch.linalg.lu.7 Torch.linalg.lu_factor.9 Torch.linalg.svd.3 Torch.nanquantile.0 Torch.qr.3 Torch.svd.3
Torch.ctc_loss.1 Torch.ctc_loss.2 VF.gru.6 VF.gru.9 VF.rnn_tanh_cell.7
""".split()

torch.set_num_threads(1)
call_sources.MOST_ELEMENTS = against_torch.MOST_ELEMENTS = 100
catalogue = {o["api"] for o in json.loads(pathlib.Path(sys.argv[1]).read_text()) if o["forward"]}
sources = call_sources.sources(catalogue & set(NAMES), "")
book = against_torch.Book(pathlib.Path(tempfile.mkdtemp()), "random", 1)
book.folder, book.tracks = pathlib.Path(__file__).parent, True
book.answers.add = lambda *arguments: None  # goldens alone, no dumps
for name in NAMES:
    r = random.Random(name)
    torch.manual_seed(r.randrange(1 << 30))
    against_torch.draw_calls(book, name, sources[name], False, 6, r)
book.records = [r for r in book.records if not {"refused", "native_refused"} & set(r) and r["api"] not in SKIPPED]
index = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in book.records)
(book.folder / "index.jsonl").write_text(index)
(book.folder / "tensors.bin").write_bytes(book.blob)
print(len(book.records), "records")
