"""What tests/perf/run measures: one function a group of figures, each with the benchmark that it starts.

A figure is shown as measured, in seconds and megabytes; what is kept from run to run is its cost, a ratio of
two times (or sizes) of the same run, so that it means the same on another machine. Small costs are good.
"""
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass


@dataclass
class Figure:
    key: str          # its name in the baseline
    what: str         # the work
    value: str        # what was measured, for people
    aim: str = ""
    other: str = ""   # what the reference tool (msprobe 8.3.3, two cores of another machine) needs
    cost: float = 0   # a ratio, 0 where there is none
    unit: str = ""    # what the cost is a ratio of


class NotMeasured(Exception):
    """A benchmark is missing, failed, or prints something else than it did."""


class Bench:
    """The built programs, a folder for their files, and the speeds that costs refer to."""

    def __init__(self, root, build, folder):
        self.root, self.folder = root, folder
        self.program = os.path.join(build, "probe-ut")
        self.programs = os.path.join(build, "tests", "perf")
        # A variable that fixes OpenBLAS's kernels would measure other kernels than a user gets.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        self.yardsticks = {}

    def run(self, name, *arguments, seconds=100, to=None):
        """Start one of the benchmarks; its output, which goes to the file `to` where that is given."""
        command = [os.path.join(self.programs, name), *map(str, arguments)]
        out = open(to, "wb") if to else subprocess.PIPE
        try:
            process = subprocess.Popen(command, cwd=self.root, env=self.environment, stdout=out, stderr=subprocess.PIPE,
                                       start_new_session=True)
        except FileNotFoundError:
            raise NotMeasured(f"{name} is not built") from None
        finally:
            if to:
                out.close()
        try:
            text, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # and what it has started
            process.communicate()
            raise NotMeasured(f"{name} took more than {seconds} s: is the machine idle?") from None
        if process.returncode:
            message = errors.decode(errors="replace").strip().splitlines() or [f"exit status {process.returncode}"]
            raise NotMeasured(f"{name}: {message[-1]}")
        return "" if to else text.decode(errors="replace")

    def dump(self, *arguments):
        """A dump of make_dump; its path."""
        path = os.path.join(self.folder, "_".join(map(str, arguments)) + ".json")
        if not os.path.exists(path):
            self.run("make_dump", *arguments, to=path)
        return path

    def runs(self, dump, threads, runs, *options):
        """Whole runs of the program on a dump: the best of `runs` for each number of threads."""
        text = self.run("bench_run", "-n", ",".join(map(str, threads)), "-r", runs, self.program, dump, *(["--", *options] if options else []))
        rows = re.findall(r"^.*\.json +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)( +FAILED)?$", text, re.M)
        if len(rows) != len(threads) or any(row[5] for row in rows):
            raise NotMeasured("the run failed")
        return [Run(float(row[1]), float(row[4])) for row in rows]

    def yardstick(self, name):
        """A speed of this machine, measured once a run."""
        if name not in self.yardsticks:
            self.yardsticks[name] = YARDSTICKS[name](self)
        return self.yardsticks[name]


@dataclass
class Run:
    seconds: float
    megabytes: float


# ---- yardsticks: what costs are ratios of ----------------------------------------------------

def json_seconds(bench):
    """Python's json module on the dump of 500 small calls, 40 times, which are 19 MB: the speed of plain scalar code. In seconds of
    the processor, and of a text whose objects use memory again: those of 19 MB at once take more time to get theirs from the system,
    which on a virtual machine is one time three times as slow as another."""
    with open(bench.dump("calls", 500), encoding="utf-8") as file:
        text = file.read()
    times = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(40):
            json.loads(text)
        times.append(time.process_time() - start)
    return min(times)


def dgemm_gflops(bench):
    """One core's dgemm of 1024 cubed."""
    return 2 * 1024 ** 3 / 1e6 / min(row["dgemm"] for row in product_rows(bench, 1024, 1024))


def stream_gb(bench):
    """One core's plain read of two arrays of 67 and 134 MB, GB/s."""
    return max(figure["stream"] for figure in metrics_rows(bench))


YARDSTICKS = {"json": json_seconds, "dgemm": dgemm_gflops, "stream": stream_gb}
JSON = "Python's json.loads of 19 MB in pieces"


# ---- runs -----------------------------------------------------------------------------------

CORES = 64


def decoder(bench):
    gigaflop = 111  # in double for the references, and as much in float for the tested kernels
    largest_mb = 88  # the tensors of its largest call, the last linear
    dump = bench.dump("gpt2")
    one, two, many = bench.runs(dump, (1, 2, 32), 2)
    floor = (1 + 0.5) * gigaflop / bench.yardstick("dgemm") / 2
    yield Figure("decoder", "GPT-2-like step, 101 calls, 2 threads", f"{two.seconds:.2f} s", "≤ 2.2 s", "40.4 to 48.5 s",
                 two.seconds / floor, "its products at the speed of dgemm and sgemm")
    yield Figure("decoder memory", "its peak memory", f"{two.megabytes:.0f} MB", "≤ 350 MB", "1466 MB",
                 two.megabytes / largest_mb, "the tensors of its largest call")
    yield Figure("decoder threads", "its speed-up from 1 to 2 threads", f"{one.seconds / two.seconds:.2f}", "≥ 1.9", "",
                 2 * two.seconds / one.seconds, "a speed-up of 2")
    found = re.search(r"the longest call ([\d.]+) s$", bench.run("bench_span", dump, CORES, 2, 1), re.M)
    if not found:
        raise NotMeasured("bench_span prints no longest call")
    path = float(found.group(1))
    yield Figure("decoder path", f"its longest call on {CORES} cores, by its parts", f"{path:.3f} s", "≤ 0.2 s", "",
                 path / (2 * floor / CORES), f"its products at the speed of dgemm and sgemm on {CORES} cores")
    yield Figure("decoder 32", "the same with -n 32", f"{many.seconds:.2f} s, {many.megabytes:.0f} MB", "≤ 1.1 × time, ≤ 1.5 × memory of -n 2", "",
                 many.seconds / two.seconds, "-n 2")
    yield Figure("decoder 32 memory", "its peak memory with -n 32", f"{many.megabytes:.0f} MB", "≤ 1.5 × that of -n 2", "",
                 many.megabytes / two.megabytes, "-n 2")


def small_dumps(bench):
    data = os.path.join(bench.root, "tests/data/dumps")
    for key, what, dump, aim, other in (
            ("m1", "m1, a convolutional network of 72 calls", os.path.join(data, "m1/L1_statistics/dump.json"), 45, "20.6 to 24.9 s"),
            ("m2", "m2, a decoder of 55 calls", os.path.join(data, "m2/L1_statistics/dump.json"), 15, "15.2 to 16.4 s"),
            ("convnet", "a network with group_norm, 45 calls", bench.dump("convnet"), 45, "13.6 to 14.2 s"),
            ("one call", "one small call", bench.dump("calls", 1), 6, "")):
        (run,) = bench.runs(dump, (2,), 9)
        yield Figure(key, what, f"{1000 * run.seconds:.1f} ms", f"≤ {aim} ms", other, run.seconds / bench.yardstick("json"), JSON)


def processor_seconds(bench, dump, profile):
    """Of one whole run on one thread: other work on the machine changes them less than the time on the clock."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        process = subprocess.Popen([bench.program, "run_ut", "-api_info", dump, "-o", folder, "-n", "1", "--profile", profile],
                                   env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise NotMeasured(f"the run of {dump} failed")
    return used.ru_utime + used.ru_stime


def strict(bench):
    """What the error model costs: the profile `strict` over `doc`, in turns, the best of each."""
    data = os.path.join(bench.root, "tests/data/dumps")
    for name, dump, runs in (("m1", os.path.join(data, "m1/L1_statistics/dump.json"), 9),
                             ("m2", os.path.join(data, "m2/L1_statistics/dump.json"), 9),
                             ("m2_bf16", os.path.join(data, "m2_bf16/L1_statistics/dump.json"), 9),
                             ("m3", os.path.join(data, "m3/L1_statistics/dump.json"), 9),
                             ("m5a", os.path.join(data, "m5a/L1_statistics/dump.json"), 9),
                             ("a GPT-2-like step", bench.dump("gpt2"), 2)):
        if not os.path.exists(dump):
            continue
        turns = [[processor_seconds(bench, dump, profile) for profile in ("doc", "strict")] for _ in range(runs)]
        doc, model = (min(turn[k] for turn in turns) for k in range(2))
        yield Figure(f"strict {name}", f"--profile strict, {name}, 1 thread",
                     f"{model:.3g} s of a core; doc {doc:.3g} s",
                     "≤ 1.5 × --profile doc", "", model / doc, "--profile doc")


def many_calls(bench):
    calls = 200000
    (run,) = bench.runs(bench.dump("calls", calls), (2,), 2)
    yield Figure("calls", "200,000 small calls, 2 threads", f"{calls / run.seconds:,.0f} a second, {run.megabytes:.0f} MB",
                 "≥ 50,000 a second", "4.5 a second", run.seconds / (10 * bench.yardstick("json")), JSON + ", ten times")


def committer(bench):
    """The rows of all calls go through one thread: what it takes for a call, whatever the others are doing."""
    calls = 200000
    text = bench.run("bench_commit", bench.dump("calls", calls), bench.folder)
    found = re.search(r"of (\d+) bytes.*: ([\d.]+) us a call; the same bytes written: ([\d.]+) us", text)
    if not found:
        raise NotMeasured("bench_commit: " + text.strip())
    call, plain = float(found.group(2)), float(found.group(3))
    yield Figure("committer", "rows of small calls through the one thread that writes them",
                 f"{1e6 / call:,.0f} calls a second of {found.group(1)} bytes", "≥ 1,000,000 a second", "–",
                 call / plain, "a plain write of the same bytes")


def recorded(bench):
    folder = os.path.join(bench.folder, "recorded")
    os.mkdir(folder)
    dump = os.path.join(folder, "dump.json")
    bench.run("make_dump", "tensors", 1500, folder, to=dump)
    data = os.path.join(folder, "dump_tensor_data")
    gigabytes = sum(entry.stat().st_size for entry in os.scandir(data)) / 1e9
    try:
        (run,) = bench.runs(dump, (2,), 3, "--backend", "recorded")
    finally:
        shutil.rmtree(folder)
    speed = gigabytes / run.seconds
    yield Figure("recorded", "recorded tensors, float32, .pt, 2 threads", f"{speed:.2f} GB/s, {run.megabytes:.0f} MB", "≥ 2.5 GB/s", "",
                 bench.yardstick("stream") / speed, "one core's stream read")


def torch_worker(bench):
    """Of two runs the difference, of each the best of three: to start PyTorch takes three seconds, give or take a tenth."""
    options = ("--backend", "torch")
    few_calls, many_calls = 1000, 9000
    try:
        bench.runs(bench.dump("calls", few_calls), (1,), 1, *options)  # reads PyTorch from the disk
        (few,) = bench.runs(bench.dump("calls", few_calls), (1,), 3, *options)
        (many,) = bench.runs(bench.dump("calls", many_calls), (1,), 3, *options)
    except NotMeasured:
        raise NotMeasured("PyTorch is not installed") from None
    call = (many.seconds - few.seconds) / (many_calls - few_calls)
    yield Figure("torch worker", "a small call in the PyTorch worker", f"{1e6 * call:.0f} µs", "≤ 100 µs", "250 ms",
                 20000 * call / bench.yardstick("json"), JSON + ", 20,000 calls")


def tensor(*shape):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(shape), "Max": 2.0, "Min": -2.0, "Mean": 0.0,
            "Norm": 1.0, "requires_grad": True}


def pair(number):
    return [{"type": "int", "value": number}] * 2


LARGE_CALLS = {
    "linear": ("Functional.linear", [tensor(2048, 2048), tensor(2048, 2048)], tensor(2048, 2048)),
    "conv2d": ("Functional.conv2d", [tensor(16, 64, 56, 56), tensor(64, 64, 3, 3), None, pair(1), pair(1), pair(1), {"type": "int", "value": 1}],
               tensor(16, 64, 56, 56)),
    "add": ("Tensor.__add__", [tensor(4096, 2048), tensor(4096, 2048)], tensor(4096, 2048)),
    "gelu": ("Functional.gelu", [tensor(4096, 2048)], tensor(4096, 2048)),
    "softmax": ("Functional.softmax", [tensor(4096, 2048), {"type": "int", "value": -1}], tensor(4096, 2048)),
    "layer_norm": ("Functional.layer_norm", [tensor(4096, 2048), [{"type": "int", "value": 2048}], tensor(2048), tensor(2048)], tensor(4096, 2048)),
}


def tensors_mb(arguments):
    elements = 0
    for value in arguments:
        if isinstance(value, dict) and "shape" in value:
            count = 1
            for extent in value["shape"]:
                count *= extent
            elements += count
    return 4 * elements / 2 ** 20


def large_call(bench, name):
    """A dump of one large call with its backward; its path, and the elements of its tensors in MB."""
    api, arguments, output = LARGE_CALLS[name]
    inputs = [value for value in arguments if isinstance(value, dict) and "shape" in value]
    data = {f"{api}.0.forward": {"input_args": arguments, "input_kwargs": {}, "output": [output]},
            f"{api}.0.backward": {"input": [output], "output": inputs}}
    path = os.path.join(bench.folder, f"one_{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}, file)
    return path, 2 * (tensors_mb(inputs) + tensors_mb([output]))


def one_call(bench):
    """Peak memory of single large calls with their backward, over that of a small one, in units of their tensors:
    inputs, outputs, and the gradients of both."""
    (small,) = bench.runs(bench.dump("calls", 1), (1,), 1)
    shares = {}
    for name in LARGE_CALLS:
        path, megabytes = large_call(bench, name)
        (run,) = bench.runs(path, (1,), 1)
        shares[name] = (run.megabytes - small.megabytes) / megabytes
    worst = max(shares.values())
    yield Figure("call memory", "peak memory of one call", ", ".join(f"{name} {share:.1f}" for name, share in shares.items()) + " × its tensors",
                 "≤ 5 ×", "", worst, "its tensors")
    faster, spans = {}, {}
    for name in LARGE_CALLS:
        path, _ = large_call(bench, name)
        one, two = bench.runs(path, (1, 2), 3)
        faster[name] = one.seconds / two.seconds
        found = re.search(r"^\S+ +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)$", bench.run("bench_span", path, CORES, 3, 1), re.M)
        if found:
            spans[name] = float(found.group(1)) / float(found.group(2))
    worst = min(faster.values())
    yield Figure("call threads", "speed-up of one large call from 1 to 2 threads", ", ".join(f"{name} {ratio:.2f}" for name, ratio in faster.items()),
                 "≥ 1.8", "", 2 / worst, "a speed-up of 2, the least")
    if spans:
        worst = min(spans.values())
        yield Figure("call cores", f"the same on {CORES} cores, by its parts", ", ".join(f"{name} {ratio:.0f}" for name, ratio in spans.items()),
                     "", "", CORES / worst, f"a speed-up of {CORES}, the least")


# ---- files ----------------------------------------------------------------------------------

def three_way(bench):
    large = 5000000
    free = shutil.disk_usage("/tmp").free
    counts = [1000000] + ([large] if free > 8e9 else [])
    text = bench.run("bench_compare", bench.program, *counts)
    rows = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$", text, re.M)
    if len(rows) != len(counts):
        raise NotMeasured("bench_compare prints no row for each size")
    aims = {1000000: "≤ 0.6 s, ≤ 40 MB", large: "≤ 3.5 s, ≤ 60 MB"}
    for row in rows:
        count, side_mb, seconds, peak = int(row[0]), float(row[1]), float(row[2]), float(row[4])
        millions = count // 1000000
        yield Figure(f"three-way {millions} M", f"three-way, {millions} M rows a side", f"{seconds:.2f} s, {peak:.0f} MB", aims[count],
                     "153 s for 50,000" if count < large else "", seconds / (bench.yardstick("json") * millions), JSON + " for each million")
        yield Figure(f"three-way {millions} M memory", "its peak memory", f"{peak:.0f} MB", "", "", peak / side_mb, "one side's file")


# ---- kernels --------------------------------------------------------------------------------

@functools.cache
def product_rows(bench, side, terms):
    text = bench.run("bench_gemm", side, 5, terms)
    rows = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+) +([\d.]+) +\S+ (\w+)$", text, re.M)
    if len(rows) < 4:
        raise NotMeasured("bench_gemm prints no four rows")
    return [{"data": row[0], "dgemm": float(row[1]), "ratio": float(row[3])} for row in rows]


def products(bench):
    aims = {"normal": 1.2, "uniform": 1.15}
    for kind, name in (("normal", "normal data"), ("uniform", "uniform data"), ("+x -x", "cancelling data")):
        for terms in (1024, 3072, 8192):
            rows = [row["ratio"] for row in product_rows(bench, 1024 if terms == 1024 else 512, terms) if row["data"].startswith(kind)]
            yield Figure(f"gemm {kind} {terms}", f"certified matrix product, {name}, k = {terms:,}", f"{max(rows):.2f} × dgemm",
                         f"≤ {aims.get(kind, 6)} ×", "", max(rows), "dgemm")


def reductions(bench):
    text = bench.run("bench_reduce", 1 << 24, 5)
    aims = {"sum": 1.3, "dot": 1.2, "norm": 2, "var": 2.5}
    for name, aim in aims.items():
        found = re.search(rf"^torch\.{name} +[\d.]+ +([\d.]+) of plain", text, re.M)
        if not found:
            raise NotMeasured(f"bench_reduce prints no torch.{name}")
        ratio = float(found.group(1))
        yield Figure(f"reduce {name}", f"certified {name} of 16.8 M float32", f"{ratio:.2f} × plain", f"≤ {aim} ×", "", ratio, "the plain loop")


@functools.cache
def metrics_rows(bench):
    rows, data, stream = [], "", 0.0
    for line in bench.run("bench_metrics").splitlines():
        read = re.match(r"  stream read +[\d.]+ ms +([\d.]+) GB/s", line)
        found = re.match(r"  (\S+) +[\d.]+ ms +([\d.]+) GB/s +(\d+) % of stream read", line)
        if read:
            stream = float(read.group(1))
        elif found:
            rows.append({"data": data, "variant": found.group(1), "stream": stream, "share": float(found.group(3))})
        elif not line.startswith(" "):
            data = line
    if not rows:
        raise NotMeasured("bench_metrics prints no shares")
    return rows


def metrics(bench):
    aims = {"avx512": 80, "avx2": 60}
    for variant in sorted({row["variant"] for row in metrics_rows(bench)} - {"scalar"}, reverse=True):
        rows = [row for row in metrics_rows(bench) if row["variant"] == variant]
        shares = [row["share"] for row in rows]
        listed = ", ".join(f"{row['data'].split(',')[0]} {row['share']:.0f}" for row in rows)
        aim = aims.get(re.sub(r"\W", "", variant.lower()))
        yield Figure(f"metrics {variant}", f"metrics pass, {variant}", f"{listed} % of a stream read", f"≥ {aim} %" if aim else "", "",
                     100 / min(shares), "a stream read of both arrays, the slowest")


# ---- neighbours -----------------------------------------------------------------------------

@contextlib.contextmanager
def runs_over_and_over(bench, dump, *options):
    """The program on all cores, started anew whenever it ends."""
    over = threading.Event()
    running = []

    def run():
        while not over.is_set():
            with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
                running[:] = [subprocess.Popen([bench.program, "run_ut", "-api_info", dump, "-o", folder, *options],
                                               env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
                running[0].wait()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        time.sleep(0.3)  # the first calls of the dump are small
        yield
    finally:
        over.set()
        for process in running:
            process.kill()
        thread.join()


def neighbour_gb(bench):
    """What a stream read on every core gets, GB/s of all together."""
    found = re.match(r"([\d.]+) GB/s", bench.run("bench_neighbour", 2))
    if not found:
        raise NotMeasured("bench_neighbour prints no speed")
    return float(found.group(1))


def neighbours(bench):
    """How much of its bandwidth another program on all cores keeps beside a run, with and without --nice: best of two."""
    dump = bench.dump("gpt2")
    alone = max(neighbour_gb(bench) for _ in range(2))
    kept = {}
    for options in ((), ("--nice",)):
        shares = []
        for _ in range(2):
            with runs_over_and_over(bench, dump, *options):
                shares.append(neighbour_gb(bench) / alone)
        kept[options] = max(shares)
    yield Figure("neighbour", "bandwidth that a stream on every core keeps beside a run with --nice",
                 f"{100 * kept['--nice',]:.0f} %; without it {100 * kept[()]:.0f} %", "", "", 1 / kept["--nice",], "the same alone")


GROUPS = {
    "decoder": decoder,
    "small": small_dumps,
    "strict": strict,
    "calls": many_calls,
    "committer": committer,
    "three-way": three_way,
    "recorded": recorded,
    "products": products,
    "reductions": reductions,
    "metrics": metrics,
    "one-call": one_call,
    "torch": torch_worker,
    "neighbours": neighbours,
}
