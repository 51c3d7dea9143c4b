#!/usr/bin/python3
"""torch_stream_cases.py PROBE_UT [NAME ...]

Our own client, in PyTorch, against `probe-ut serve`: what is recorded and judged, and that training continues
whatever happens to the server, the network and the disk.
"""
import contextlib
import csv
import enum
import glob
import io
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from contextlib import redirect_stderr

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../runner/devices"))

import functorch  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import torch_stream  # noqa: E402
from torch_stream import ProbeStop, probe_stream  # noqa: E402

PROGRAM = sys.argv[1]
TOKEN = "a-token"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """`probe-ut serve` in a directory; started, killed and started again."""

    def __init__(self, *words):
        self.place = tempfile.mkdtemp(prefix="probe-stream-")
        self.out = os.path.join(self.place, "out")
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.words = words
        self.process = None
        with open(os.path.join(self.place, "token"), "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        self.log = open(os.path.join(self.place, "log"), "a+", encoding="utf-8")

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "-o", self.out, "--port", str(self.port), "--listen", "127.0.0.1", "-n", "2", "--no-progress",
             "--token-file", os.path.join(self.place, "token"), *self.words], stdout=self.log, stderr=self.log)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise AssertionError(self.said())

    def wait_until_said(self, words):
        for _ in range(600):
            if words in self.said():
                return
            time.sleep(0.05)
        raise AssertionError(self.said())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        status = self.process.wait(120)
        assert status == 0, f"{status}: {self.said()}"

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if self.process and self.process.poll() is None:
            self.kill()
        self.log.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def rows(self, what="result"):
        rows = []
        for path in sorted(glob.glob(f"{self.out}/accuracy_checking_{what}_*.csv")):
            with open(path, encoding="utf-8-sig", newline="") as file:
                rows += list(csv.reader(file))[1:]
        return rows

    def verdicts(self):
        return {row[0]: row[1] for row in self.rows()}


class Quiet:
    """Keeps what the client says on standard error."""

    def __enter__(self):
        self.text = io.StringIO()
        self.redirected = redirect_stderr(self.text)
        self.redirected.__enter__()
        return self

    def __exit__(self, *details):
        self.redirected.__exit__(*details)

    def __str__(self):
        return self.text.getvalue()


def stream(server, **options):
    return probe_stream(server.address, **{"token": TOKEN, "rank": 0, "close_s": 60, **options})


def a_step(size=8):
    """Ten calls that are recorded."""
    x = torch.randn(size, size, requires_grad=True)
    weight = torch.randn(size, size)
    y = F.linear(x, weight)  # 1
    z = F.gelu(y) + 1  # 3
    z.mul_(2)  # 4
    z[0] = 0.5  # 5
    first = z[:2, ...]  # 6
    values, _ = torch.max(first, dim=1)  # 7
    loss = F.mse_loss(values, torch.zeros(2))  # 8
    total = loss + torch.softmax(y, -1).sum()  # softmax, sum, add: 11
    total.backward()
    return total.item()


class Wrapper(torch.Tensor):
    """A tensor that computes by itself and has no elements."""

    @staticmethod
    def __new__(cls, inner):
        outer = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        outer.inner = inner
        return outer

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return cls(func(*[value.inner if isinstance(value, cls) else value for value in args], **(kwargs or {})))


class Watched(torch.Tensor):
    """A tensor whose class sees what is done with it."""

    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


class Dimension(enum.IntEnum):
    LAST = -1


class Opaque:
    """Says nothing of itself, loudly."""

    def __float__(self):
        raise AssertionError("nobody asked")

    item = __float__


def flat(values):
    """The tensors of an entry."""
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        elif isinstance(value, dict):
            yield value


def outcome(call):
    """What a call comes to, and what classes of the user have seen of it."""
    Watched.seen.clear()
    try:
        result = call()
    except Exception as error:
        return type(error).__name__
    return type(result).__name__, getattr(result, "shape", None) if not getattr(result, "is_nested", False) else None, tuple(Watched.seen)


def values_of_all_kinds():
    """(call, None or a part of the reason why it is not judged)."""
    generator = torch.Generator().manual_seed(3)
    x, c, wide = torch.ones(5, 4), torch.full((40000,), 1 + 2j, dtype=torch.complex64), torch.ones(300, 300)
    scales, zeros = torch.full((4,), 0.1), torch.zeros(4)
    quantized = [torch.quantize_per_tensor(torch.ones(4, 4), 0.1, 10, torch.quint8),
                 torch.quantize_per_tensor(torch.ones(4, 4), 0.1, 0, torch.qint8),
                 torch.quantize_per_tensor(torch.ones(4, 4), 0.1, 0, torch.qint32),
                 torch.quantize_per_channel(torch.ones(4, 4), scales, zeros, 0, torch.qint8)]
    sparse, csr, blocked, nested = torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.eye(3).to_mkldnn(), torch.nested.nested_tensor([torch.ones(2, 3)])
    with FakeTensorMode():
        fake = torch.ones(3, 3)
        fake_wide = torch.ones(300, 300)
    conjugated, square, watched = c.conj(), torch.ones(4, 4), x.as_subclass(Watched)
    recursive = [torch.ones(2)]
    recursive.append(recursive)
    return [
        *((lambda tensor=tensor: torch.clone(tensor), "a quantized tensor of") for tensor in quantized[:3]),
        (lambda: torch.dequantize(quantized[3]), "no bench function"),
        (lambda: F.relu(quantized[0]), "'input' is not of the type the API takes: it is recorded as a quantized tensor of torch.quint8"),
        (lambda: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8), "no bench function"),
        (lambda: torch.quantize_per_channel(square, scales, zeros, 0, torch.qint8), "no bench function"),
        (lambda: torch.add(sparse, sparse), "torch.sparse_coo"),
        (lambda: torch.matmul(csr, torch.ones(3, 2)), "torch.sparse_csr"),
        (lambda: F.relu(blocked), "torch._mkldnn"),
        (lambda: torch.relu(nested), "a nested tensor"),
        (lambda: torch.add(torch.empty(2, device="meta"), 1), "a meta tensor"),
        (lambda: torch.exp(fake), "FakeTensor"),
        (lambda: torch.mm(fake_wide, fake_wide), "FakeTensor"),
        (lambda: torch.exp(torch._to_functional_tensor(x)), "without elements"),
        (lambda: torch.exp(torch._to_functional_tensor(wide)), "without elements"),
        (lambda: functorch.vmap(torch.exp)(x), "without elements"),
        (lambda: functorch.grad(torch.sum)(x), "without elements"),
        (lambda: torch.exp(Wrapper(x)), "Wrapper"),
        (lambda: torch.exp(Wrapper(wide)), "Wrapper"),
        (lambda: torch.exp(watched), None),
        (lambda: torch.add(torch.ones(3, dtype=torch.complex32), 1), "torch.complex32"),
        (lambda: torch.mul(x, 1 + 2j), "a complex number"),
        (lambda: torch.mul(x, numpy.complex64(1j)), "a complex number"),
        (lambda: torch.add(c, c, alpha=2j), "'alpha' is not of the type the API takes: it is recorded as a complex number"),
        (lambda: F.pad(x, (1, 1), value=float("nan")), None),
        (lambda: torch.mul(x, float("-inf")), None),
        (lambda: torch.mul(x, 1 << 62), None),
        (lambda: F.softmax(x, 0, 1 << 80), "an integer beyond 64 bits"),
        (lambda: F.softmax(x, 0, Opaque()), "Opaque"),
        (lambda: F.softmax(x, 0, {"a": {1}}), "not of the type the API takes"),
        (lambda: F.softmax(x, 0, recursive), "not of the type the API takes"),
        (lambda: torch.mul(x, numpy.float16(1.5)), None),
        (lambda: torch.add(x, numpy.int64(3)), None),
        (lambda: torch.sum(x, dim=Dimension.LAST), None),
        (lambda: torch.sum(x, dtype=torch.float64), None),
        (lambda: torch.reshape(x, torch.Size([4, 5])), None),
        (lambda: torch.clone(x, memory_format=torch.preserve_format), None),
        (lambda: torch.bernoulli(x, generator=generator), None),
        (lambda: torch.div(x, 2, rounding_mode="floor"), None),
        (lambda: F.linear(x, torch.nn.Parameter(torch.ones(3, 4)), None), None),
        (lambda: torch.exp(x.T), None),
        (lambda: torch.exp(c), None),
        (lambda: torch.exp(conjugated), None),
        (lambda: torch.exp(conjugated.imag), None),
        (lambda: torch.exp(torch.ones(0, 5)), None),
        (lambda: torch.exp(torch.tensor(2.0)), None),
        (lambda: torch.no_grad()(torch.exp)(torch.ones(3, requires_grad=True)), None),
        (lambda: torch.inference_mode()(torch.exp)(wide), None),
        (lambda: F.triplet_margin_with_distance_loss(x, x, x, distance_function=torch.nn.PairwiseDistance()), "distance function"),
    ]


CALLS = ["Functional.linear.0", "Functional.gelu.0", "Tensor.add.0", "Tensor.mul_.0", "Tensor.__setitem__.0", "Tensor.__getitem__.0",
         "Torch.max.0", "Functional.mse_loss.0", "Torch.softmax.0", "Tensor.sum.0", "Tensor.add.1"]


class Recording(unittest.TestCase):
    def test_calls_are_judged(self):
        with Server() as server:
            torch.manual_seed(7)
            with stream(server) as probe:
                for _ in range(3):
                    a_step()
                    probe.step()
            server.end()
            self.assertEqual([row[0] for row in server.rows()], 3 * CALLS)
            self.assertEqual({row[1] for row in server.rows()}, {"pass"}, server.verdicts())
            self.assertEqual(probe.dropped, 0)
            self.assertEqual(probe.records, 33)
            self.assertFalse(os.path.exists(f"{server.out}/online_spool"))

    def test_results_are_those_without_the_stream(self):
        """Recording changes no bit, in training or in the generator."""
        torch.manual_seed(3)
        bare = [a_step() for _ in range(2)]
        with Server() as server:
            torch.manual_seed(3)
            with stream(server) as probe:
                recorded = []
                for _ in range(2):
                    recorded.append(a_step())
                    probe.step()
            server.end()
        self.assertEqual(bare, recorded)

    def test_samples(self):
        with Server() as server:
            with stream(server, names=["Functional.*", "Tensor.add"], steps=range(1, 3)) as probe:
                for _ in range(4):
                    a_step()
                    probe.step()
            with stream(server, rate=0.25, names="Torch.exp") as probe:
                for _ in range(12):
                    torch.exp(torch.ones(3))
            with stream(server, ranks={5}) as probe:
                a_step()
            self.assertEqual(probe.records, 0)
            server.end()
            wanted = [name for name in CALLS if name.startswith("Functional.") or name.startswith("Tensor.add.")]
            self.assertEqual([row[0] for row in server.rows()],
                             2 * wanted + ["Torch.exp.0", "Torch.exp.4", "Torch.exp.8"])

    def test_values_of_all_kinds(self):
        with Server() as server:
            with stream(server) as probe:
                x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
                x.sum(dim=(0, 1), keepdim=True, dtype=torch.float64)
                torch.cat([x, x.transpose(0, 1).reshape(2, 3, 4)], dim=-1)
                torch.clamp(x, min=float("-inf"), max=5)
                x.t() if x.dim() == 2 else None
                torch.split(x, [1, 2], dim=1)
                x.view(torch.Size([6, 4]))
                x[None, 1, ..., ::2]
                torch.where(x > 3, x, torch.full_like(x, float("nan")))
                x.to(torch.bfloat16).float()
                torch.empty(0, 5).sum()
                torch.tensor(3.0).exp()
                x.expand(5, 2, 3, 4)[4].sqrt()
                big = torch.randn(200, 300)
                big.t().contiguous()
                torch.mm(big, big.t())
            server.end()
            self.assertEqual(probe.dropped, 0)
            bad = {name: verdict for name, verdict in server.verdicts().items() if verdict not in ("pass",)}
            self.assertEqual(bad, {})
            self.assertGreaterEqual(probe.records, 16)

    def test_complex_tensors(self):
        """They are judged like real ones: right results pass, a wrong one does not."""
        for dtype in (torch.complex64, torch.complex128):
            with Server() as server:
                torch.manual_seed(5)
                a, b = torch.randn(6, 6, dtype=dtype), torch.randn(6, 6, dtype=dtype)
                wrong = torch.mul(a, b) * torch.tensor(1.5, dtype=dtype)
                tensors = [torch_stream.taken(value) for value in (a, b, wrong)]
                texts = [torch_stream.tensor_text(a, number) for number in range(3)]
                entry = f'{{"input_args":[{texts[0]},{texts[1]}],"input_kwargs":{{}},"output":[{texts[2]}]}}'
                with stream(server) as probe:
                    torch.add(a, b, alpha=2)
                    torch.matmul(a, b)
                    torch.abs(a)
                    torch.fft.fft(a)
                    torch.view_as_real(a)
                    torch.where(a.real > 0, a, b).sum()
                    F.linear(a, b.conj())
                    torch.randn(300, 300, dtype=dtype).t().exp()
                    a.add_(b)
                    probe.sender.put(torch_stream.Item("Torch.mul.7", entry, tensors, 0, 0), 60)
                server.end()
                verdicts = server.verdicts()
                self.assertEqual(verdicts.pop("Torch.mul.7"), "error")
                self.assertGreaterEqual(len(verdicts), 10)
                self.assertEqual(set(verdicts.values()), {"pass"}, verdicts)

    def test_autocast(self):
        """Arguments are those that it computes with, where it does so; a wrong result is found all the same."""
        generator = torch.Generator().manual_seed(2)
        x, square, wide = (torch.randn(*shape, generator=generator) for shape in ((16, 64), (64, 64), (600, 64)))
        calls = [lambda: F.linear(x, square, square[0]), lambda: torch.matmul(x, square), lambda: F.linear(wide, wide),
                 lambda: torch.einsum("ij,jk->ik", x, square), lambda: torch.einsum("ij->i", x), lambda: torch.addmm(x[:, :64], x, square),
                 lambda: F.conv2d(x.view(1, 4, 16, 16), square.view(64, 4, 4, 4)), lambda: torch.exp(x), lambda: torch.bmm(x[None], square[None]),
                 lambda: torch.mm(x.double(), square.double())]
        put = torch_stream.Sender.put
        self.addCleanup(setattr, torch_stream.Sender, "put", put)
        for enabled in (True, False):
            items = []
            torch_stream.Sender.put = lambda sender, item, wait_s: items.append(item) or put(sender, item, wait_s)
            with Server() as server:
                with stream(server, names=["Functional.*", "Torch.*"]) as probe, torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                    for call in calls:
                        call()
                    lowered = torch.bfloat16 if enabled else torch.float32
                    self.assertEqual(items[0].tensors[0][1], torch_stream.taken(x.to(lowered))[1])
                server.end()
                self.assertEqual((probe.records, probe.dropped), (len(calls), 0))
                for row in server.rows() if not enabled else ():
                    self.assertEqual(row[1], "pass", row)
            arguments = [[tensor["dtype"] for tensor in flat(json.loads(item.entry)["input_args"])] for item in items]
            expected = [str(lowered)] * 4 + ["torch.float32"] + [str(lowered)] * 2 + ["torch.float32", str(lowered), "torch.float64"]
            self.assertEqual([set(dtypes) for dtypes in arguments], [{dtype} for dtype in expected])
        with Server() as server:
            with stream(server) as probe, torch.autocast("cpu", dtype=torch.bfloat16):
                torch.nn.LSTM(8, 8)(torch.ones(3, 2, 8))  # products in bfloat16, and what is between them in float32
                torch.exp(x)
            server.end()
            row, _ = server.rows()
            self.assertEqual(row[1], "SKIP")
            self.assertIn("autocast", row[-1])
        original = probe_stream.record
        probe_stream.record = lambda probe, plan, number, start, tensors, result, args: original(
            probe, plan, number, start, tensors, result * 1.1, args)
        self.addCleanup(setattr, probe_stream, "record", original)
        with Server("--profile", "strict") as server:
            with stream(server) as probe, torch.autocast("cpu", dtype=torch.bfloat16):
                F.linear(x, square)
            server.end()
            self.assertEqual(server.verdicts(), {"Functional.linear.0": "error"})

    def test_calls_inside_calls_are_not_recorded(self):
        with Server() as server:
            layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
            with stream(server) as probe:
                layer(torch.randn(3, 2, 16))
            server.end()
            names = [row[0] for row in server.rows()]
            self.assertIn("Functional.multi_head_attention_forward.0", names)
            self.assertNotIn("Torch.bmm.0", names)
            self.assertEqual(len(names), probe.records)

    def test_every_kind_of_value(self):
        """Each call has one row: a pass, or SKIP with a reason that says what it was. Training has what it has without."""
        calls = values_of_all_kinds()
        bare = [outcome(call) for call, _ in calls]
        with Server() as server:
            with Quiet() as said, stream(server) as probe:
                recorded = [outcome(call) for call, _ in calls]
            server.end()
            self.assertEqual((probe.records, probe.dropped), (len(calls), 0))
            self.assertNotIn("probe_stream: ", str(said))  # PyTorch has warnings of its own
            rows = server.rows()
        self.assertEqual(recorded, bare)
        self.assertEqual(len(rows), len(calls))
        for row, (_, reason) in zip(rows, calls):
            self.assertEqual(row[1], "SKIP" if reason else "pass", row)
            self.assertIn(reason or "", row[-1], row)

    def test_every_index_is_seen(self):
        """Also those that the modes of PyTorch 1.13 do not see; and torch.Tensor is as before in the end."""
        before = torch.Tensor.__getitem__
        x, mask = torch.randn(5, 5), torch.ones(5, 5) > 0
        indices = [0, None, True, slice(1, 3), slice(torch.tensor(1), numpy.int64(3)), mask, torch.tensor([1]), [0, 1], (0, 1), (..., 0),
                   (slice(None), None, 2), range(3), numpy.array([0, 1])]
        with Server() as server:
            with stream(server) as probe:
                with stream(server, ranks=()):
                    x[0]
                for index in indices:
                    x[index]
                torch.stack([x, x])  # does not index within what is recorded
            server.end()
            self.assertEqual(probe.records, len(indices) + 2)
            self.assertEqual({row[1] for row in server.rows()}, {"pass"}, server.verdicts())
            self.assertEqual(server.verdicts().keys(), {f"Tensor.__getitem__.{i}" for i in range(len(indices) + 1)} | {"Torch.stack.0"})
        self.assertIs(torch.Tensor.__getitem__, before)

    def test_memory_is_used_again_in_any_mode(self):
        """Buffers for large tensors fit the next one, whatever modes they were made in."""
        x = torch.randn(200, 200)
        with Server() as server:
            with Quiet() as said, stream(server, wait_s=60) as probe:
                for mode in (torch.inference_mode, FakeTensorMode, contextlib.nullcontext, torch.inference_mode, contextlib.nullcontext):
                    with mode():
                        y = torch.ones(200, 200) if mode is FakeTensorMode else x
                        for _ in range(3):
                            torch.exp(y)
                    while probe.sender.flying or probe.sender.waiting:
                        time.sleep(0.01)
            server.end()
            self.assertEqual(str(said), "")
            verdicts = [row[1] for row in server.rows()]
            self.assertEqual(verdicts, 3 * ["pass"] + 3 * ["SKIP"] + 9 * ["pass"])

    def test_a_result_without_elements_is_no_error(self):
        x = torch.ones(3)
        entry = f'{{"input_args":[{torch_stream.tensor_text(x, 0)}],"input_kwargs":{{}},"output":[{{"type":"a nested tensor"}}]}}'
        item = torch_stream.Item("Torch.abs.0", entry, [torch_stream.taken(x)], 0, 0)
        with Server() as server:
            with stream(server) as probe:
                probe.sender.put(item, 60)
                torch.exp(x)
            server.end()
            row, _ = server.rows()
            self.assertEqual(row[1], "SKIP")
            self.assertIn("a nested tensor", row[-1])

    def test_what_raises_is_not_recorded(self):
        with Server() as server:
            with stream(server) as probe:
                with self.assertRaises(RuntimeError):
                    torch.mm(torch.ones(2, 3), torch.ones(2, 3))
                torch.exp(torch.ones(2))
            server.end()
            self.assertEqual(server.verdicts(), {"Torch.exp.0": "pass"})


def certificates(place):
    """An authority, and folders `server`, `client` and `stranger`, whose certificate is its own."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=place, check=True, capture_output=True)

    for side in ("server", "client", "stranger"):
        os.mkdir(os.path.join(place, side))
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt")
    for side in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={side}", "-keyout", f"{side}/{side}.key", "-out", "request")
        openssl("x509", "-req", "-in", "request", "-days", "2", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{side}/{side}.crt")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=stranger", "-keyout", "stranger/client.key",
            "-out", "stranger/client.crt")
    for side in ("server", "client", "stranger"):
        shutil.copy(os.path.join(place, "ca.crt"), os.path.join(place, side))


class Encryption(unittest.TestCase):
    def test_mutual(self):
        server = Server()
        certificates(server.place)
        server.words = ("--tls", os.path.join(server.place, "server"))
        with server:
            with Quiet() as said:
                with stream(server, tls=os.path.join(server.place, "stranger"), close_s=3) as stranger:
                    a_step()
                with stream(server, close_s=3) as plain:
                    a_step()
            self.assertEqual((stranger.dropped, plain.dropped), (len(CALLS), len(CALLS)))
            self.assertIn("trying again", str(said))
            with stream(server, tls=os.path.join(server.place, "client")) as probe:
                a_step()
                torch.exp(torch.zeros(1 << 20))
            server.end()
            self.assertEqual(probe.dropped, 0)
            self.assertEqual([row[0] for row in server.rows()], [*CALLS, "Torch.exp.0"])


class Stopping(unittest.TestCase):
    def wrong_gelu(self):
        """The client reports a wrong result of gelu."""
        original = probe_stream.record

        def record(probe, plan, number, start, tensors, result, args):
            if plan.name == "Functional.gelu" and probe.step_number == 2:
                result = result * 1.5
            return original(probe, plan, number, start, tensors, result, args)

        probe_stream.record = record
        self.addCleanup(setattr, probe_stream, "record", original)

    def test_training_stops_when_it_wants_to(self):
        self.wrong_gelu()
        with Server("--stop-on", "error") as server, Quiet():
            steps = 0
            with self.assertRaises(ProbeStop) as stopped:
                with stream(server, stop_on_error=True) as probe:
                    for steps in range(2000):
                        a_step()
                        probe.step()
                        time.sleep(0.005)
            self.assertIn("Functional.gelu.0", str(stopped.exception))
            self.assertIn("step 2", str(stopped.exception))
            self.assertLess(steps, 1999)
            server.end()
            self.assertEqual(len(server.rows()), probe.records)

    def test_training_goes_on_when_it_does_not(self):
        self.wrong_gelu()
        with Server("--stop-on", "error") as server:
            with stream(server) as probe:
                for _ in range(6):
                    a_step()
                    probe.step()
                    time.sleep(0.1)
            server.end()
            self.assertEqual(len(server.rows()), 6 * len(CALLS))
            self.assertEqual([row[1] for row in server.rows()].count("error"), 1)


class Trouble(unittest.TestCase):
    def test_nobody_is_there(self):
        """Training takes what it may wait, and no longer."""
        with Quiet() as said:
            start = time.monotonic()
            with probe_stream(f"127.0.0.1:{free_port()}", rank=0, queue_bytes=20000, wait_s=0.2, close_s=0.5) as probe:
                for _ in range(3):
                    for _ in range(20):
                        a_step()
                    probe.step()
            seconds = time.monotonic() - start
        self.assertLess(seconds, 20)
        self.assertEqual(probe.dropped, probe.records + probe.sender.dropped - len(probe.sender.waiting) - len(probe.sender.flying))
        self.assertGreater(probe.dropped, 600)
        self.assertIn("refused", str(said))
        self.assertIn("dropped", str(said))
        self.assertLess(len(str(said).splitlines()), 10)

    def test_a_wrong_token(self):
        with Server() as server, Quiet() as said:
            with stream(server, token="wrong", close_s=5) as probe:
                a_step()
            self.assertIn("the token is wrong", str(said))
            self.assertEqual(probe.dropped, len(CALLS))
            self.assertIn("127.0.0.1:", server.said())

    def test_an_address_that_is_none(self):
        for address in ("nowhere", "host:port", "127.0.0.1:70000", "no.such.host.invalid:7"):
            with Quiet() as said:
                with probe_stream(address, rank=0, close_s=0.3):
                    a_step()
            self.assertIn("probe_stream: ", str(said))

    def test_who_answers_is_somebody_else(self):
        """Bytes of all kinds, and connections that close, from what is no server of ours."""
        listener = socket.create_server(("127.0.0.1", 0))
        stop = threading.Event()

        def talk():
            rng = random.Random(5)
            listener.settimeout(0.2)
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    continue
                with connection:
                    kind = rng.randrange(4)
                    try:
                        if kind == 1:
                            connection.sendall(rng.randbytes(500))
                        elif kind == 2:
                            connection.sendall(torch_stream.frame(torch_stream.WELCOME, 10**6, b""))
                        elif kind == 3:
                            connection.sendall(torch_stream.frame(torch_stream.WELCOME, 0, b"") + b"UTS1" + rng.randbytes(40))
                        connection.recv(100)
                    except OSError:
                        pass

        thread = threading.Thread(target=talk)
        thread.start()
        with Quiet():
            with probe_stream(f"127.0.0.1:{listener.getsockname()[1]}", rank=0, close_s=1) as probe:
                for _ in range(30):
                    a_step()
                    time.sleep(0.05)
        stop.set()
        thread.join()
        listener.close()
        self.assertEqual(probe.dropped, 30 * len(CALLS))

    def test_the_server_comes_late(self):
        """What finds no place in memory waits on the disk, in order."""
        with Server() as server:
            server.kill()
            spill = os.path.join(server.place, "spill")
            os.mkdir(spill)
            with Quiet():
                with stream(server, queue_bytes=30000, spill=spill) as probe:
                    for step in range(12):
                        a_step()
                        probe.step()
                        if step == 9:
                            self.assertGreater(probe.sender.spilled_bytes, 0)
                            server.start()
            server.end()
            self.assertEqual(probe.dropped, 0)
            self.assertEqual([row[0] for row in server.rows()], 12 * CALLS)

    def test_the_budget_of_a_step(self):
        with Server() as server, Quiet():
            with stream(server, budget_s=0.0) as probe:
                for _ in range(3):
                    a_step()
                    probe.step()
            self.assertEqual(probe.records, 0)
            self.assertEqual(probe.dropped, 3 * len(CALLS))

    def test_kill_storm(self):
        """The server is killed again and again; every record has one row, in order."""
        with Server() as server, Quiet():
            rng = random.Random(11)
            done = threading.Event()

            def storm():
                while not done.is_set():
                    time.sleep(rng.uniform(0.05, 0.6))
                    server.kill()
                    server.start()

            thread = threading.Thread(target=storm)
            with stream(server, wait_s=60) as probe:
                thread.start()
                for step in range(150):
                    a_step()
                    probe.step()
                    time.sleep(0.02)
                done.set()
                thread.join()
            server.end()
            self.assertEqual(probe.dropped, 0)
            names = [row[0] for row in server.rows()]
            self.assertEqual(len(names), 150 * len(CALLS))
            self.assertEqual(names, 150 * CALLS)
            self.assertEqual({row[1] for row in server.rows()}, {"pass"})
            evidence = []
            for path in glob.glob(f"{server.out}/accuracy_checking_evidence_*.jsonl"):
                with open(path, encoding="utf-8") as file:
                    evidence += [json.loads(line) for line in file]
            self.assertGreaterEqual(len(evidence), len(names))
            self.assertFalse(os.path.exists(f"{server.out}/online_spool"))


class LiveView(unittest.TestCase):
    def test_a_thousand_idle_connections_hide_nothing(self):
        """Of those who ask for nothing, or for half of something."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        allowed = max(soft, min(hard, 2048))
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        place = f"127.0.0.1:{free_port()}"
        with Server("--http", place, "--nice") as server, contextlib.ExitStack() as idle:
            server.wait_until_said("live view on")  # clients may connect before
            for number in range(min(1000, allowed - 100)):
                connection = idle.enter_context(socket.create_connection(tuple(place.split(":")), timeout=20))
                if number % 2:
                    connection.sendall(b"GET /live.json HTTP/1.1\r\nHo")
            with stream(server) as probe:
                a_step()
                with urllib.request.urlopen(f"http://{place}/live.json", timeout=60) as answer:
                    self.assertIn("ranks", json.load(answer))
            self.assertEqual(probe.dropped, 0)
            idle.close()
            server.end()


class SecondDevice(unittest.TestCase):
    def files(self, server, kind):
        with open(glob.glob(f"{server.out}/{kind}_result_*_rank0.csv")[0], encoding="utf-8-sig", newline="") as file:
            return {row[0]: row[1:] for row in list(csv.reader(file))[1:]}

    def test_msprobes_two_ways_of_comparing(self):
        """A worker with the PyTorch of the client returns the same bits; a result that is wrong differs from them."""
        worker = os.path.join(HERE, "../../runner/devices/worker/torch_worker.py")
        held_to_thresholds = {"Tensor.add", "Tensor.sum", "Tensor.mul_", "Torch.abs"}
        with open(os.path.join(HERE, "../../config/api_precision_standard.json"), encoding="utf-8") as file:
            lists = json.load(file)["standards"]
        listed = {name for key in ("AbsoluteThreshStandard", "BinaryCompareStandard", "ThousandthStandard") for name in lists[key]}
        x = torch.tensor([-1.0, 2.0, -3.0])
        tensors = [torch_stream.taken(value) for value in (x, torch.tensor([1.0, 2.0, 4.0]))]
        texts = [torch_stream.tensor_text(x, number) for number in range(2)]
        with Server("--backend", f"worker:{sys.executable} '{worker}' --device cpu") as server:
            with stream(server) as probe:
                a_step()
                entry = f'{{"input_args":[{texts[0]}],"input_kwargs":{{}},"output":[{texts[1]}]}}'
                probe.sender.put(torch_stream.Item("Torch.abs.0", entry, tensors, 0, 0), 60)
            server.end()
            judged = {name for name, verdict in server.verdicts().items() if verdict != "SKIP"}
            two_way, three_way = self.files(server, "accuracy_checking_two_way"), self.files(server, "api_precision_compare")
            self.assertEqual(set(two_way) | set(three_way), judged)
            self.assertEqual(judged, set(CALLS) | {"Torch.abs.0"})
            self.assertEqual(set(two_way), {name for name in judged if name.rsplit(".", 1)[0].split(".", 1)[1] in listed})
            self.assertTrue(held_to_thresholds & {name.rsplit(".", 1)[0] for name in two_way})
            self.assertIn("Functional.linear.0", three_way)
            self.assertEqual(two_way.pop("Torch.abs.0")[0], "error")
            self.assertEqual({row[0] for row in two_way.values()} - {"SKIP"}, {"pass"})
            self.assertEqual({row[0] for row in three_way.values()} - {"SKIP"}, {"pass"})
            said = server.said()
            for name in ("accuracy_checking_two_way_result", "api_precision_compare_result"):
                self.assertIn(name, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
