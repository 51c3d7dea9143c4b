#!/usr/bin/python3
"""stream_training.py PROBE_UT WORK [STEPS]

What recording costs a training run: steps of a small GPT-2 in PyTorch on the CPU without the stream, with it, and
with a tenth of the calls, in turns, so that all see the same load. Then how long a record takes from the client's
socket to its row, one call at a time on an idle server and at half load.
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runner/devices"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from torch_stream import probe_stream  # noqa: E402

PROGRAM, WORK = sys.argv[1:3]
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 6
WIDTH, LAYERS, HEADS, LENGTH, BATCH, VOCABULARY = 256, 6, 8, 128, 8, 8192


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.behind = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, mask):
        q, k, v = self.qkv(self.before(x)).view(BATCH, LENGTH, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
        weights = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.narrow(F.gelu(self.wide(self.behind(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.last = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        x = self.tokens(tokens) + self.places(torch.arange(LENGTH))
        for block in self.blocks:
            x = block(x, mask)
        return F.linear(self.last(x), self.tokens.weight)


class Server:
    def __init__(self, name, *before):
        self.before = before
        self.out = os.path.join(WORK, name)
        shutil.rmtree(self.out, ignore_errors=True)

    def __enter__(self):
        self.process = subprocess.Popen([*self.before, PROGRAM, "serve", "-o", self.out, "--port", "0", "--listen", "127.0.0.1", "--no-progress"],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if "listening on" in line:
                return line.split("listening on ")[1].split()[0]
        raise SystemExit("no server")

    def __exit__(self, *_):
        self.process.stderr.close()
        self.process.kill()
        self.process.wait()


def step_of(model, optimizer):
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH))
    start = time.perf_counter()
    loss = F.cross_entropy(model(tokens).view(-1, VOCABULARY), tokens.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return time.perf_counter() - start


def training():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    times = {"without": [], "with": [], "a tenth": []}
    for _ in range(2):
        step_of(model, optimizer)
    counts = {}
    # The judge of a real run is on another host.
    with Server("training", "nice", "-n", "19") as address:
        for _ in range(STEPS):
            times["without"].append(step_of(model, optimizer))
            for name, rate in (("with", 1), ("a tenth", 0.1)):
                with probe_stream(address, rank=0, rate=rate, queue_bytes=4 << 30, close_s=0) as probe:
                    times[name].append(step_of(model, optimizer))
                    counts[name] = (probe.records, probe.sender.held_bytes, probe.seconds)
                    while probe.sender.waiting:  # what is sent later is not this step's
                        time.sleep(0.05)
    base = statistics.median(times["without"])
    print(f"a step without the stream: {base * 1e3:.0f} ms")
    for name in ("with", "a tenth"):
        median = statistics.median(times[name])
        records, size, seconds = counts[name]
        print(f"a step {name:8}: {median * 1e3:.0f} ms, {median / base - 1:+.1%}; {records} records, {size / 1e6:.0f} MB held, "
              f"recording took {seconds * 1e3:.0f} ms of it")


def row_times(out, wanted, seconds=30):
    """When each row of the result file was there, by polling its size."""
    times, seen, end = [], 0, time.perf_counter() + seconds
    path = None
    while seen < wanted and time.perf_counter() < end:
        path = path or next(iter(glob.glob(f"{out}/accuracy_checking_result_*.csv")), None)
        if path:
            with open(path, "rb") as file:
                rows = file.read().count(b"\n") - 1
            now = time.perf_counter()
            times += [now] * (rows - seen)
            seen = max(seen, rows)
        time.sleep(0.0002)
    return times


def latency(name, pause, count):
    """Seconds from a call to its row: calls are made every `pause` seconds in a child process, rows are awaited here."""
    place = os.path.join(WORK, name)
    with Server(name) as address:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            a, b = torch.randn(8, 8), torch.randn(8, 8)
            made = []
            with probe_stream(address, rank=0, close_s=5) as probe:
                for _ in range(count):
                    made.append(time.perf_counter())
                    torch.add(a, b)
                    time.sleep(pause)
            os.write(writer, repr(made).encode())
            os._exit(0)
        rows = row_times(place, count)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            made = eval(pipe.read())  # our own child's
        os.waitpid(child, 0)
    waits = sorted(row - call for row, call in zip(rows, made))
    print(f"from call to row, {name}: median {waits[len(waits) // 2] * 1e3:.1f} ms, 99 % {waits[int(len(waits) * 0.99)] * 1e3:.1f} ms, "
          f"worst {waits[-1] * 1e3:.1f} ms ({len(waits)} calls)")


def main():
    os.makedirs(WORK, exist_ok=True)
    training()
    latency("idle", 0.02, 500)
    latency("loaded", 0.0008, 4000)


if __name__ == "__main__":
    main()
