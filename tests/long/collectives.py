"""collectives.py PROBE_UT DIRECTORY RANKS ELEMENTS: see tests/long/collectives."""
import csv
import glob
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

REDUCTIONS = ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
REDUCED = [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8]


class Recorder:
    """Records calls as the dumper does: arguments before the call, and all of them once more behind it."""

    def __init__(self, folder):
        self.folder, self.data, self.counts = folder, {}, {}
        os.makedirs(os.path.join(folder, "dump_tensor_data"))

    def encode(self, value, name):
        if isinstance(value, torch.Tensor):
            torch.save(value.detach().clone(), os.path.join(self.folder, "dump_tensor_data", name + ".pt"))
            return {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), "Max": None, "Min": None,
                    "Mean": None, "Norm": None, "requires_grad": False, "data_name": name + ".pt"}
        if isinstance(value, (list, tuple)):
            return [self.encode(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, dist.ProcessGroup):
            return {"type": "torch.ProcessGroup", "group_ranks": self.ranks, "group_id": "group_" + "_".join(map(str, self.ranks))}
        if isinstance(value, dist.ReduceOp):
            name = next(name for name in REDUCTIONS if value == getattr(dist.ReduceOp, name))
            return {"type": "torch.distributed.ReduceOp", "value": "RedOpType." + name}  # as PyTorch 2 prints it
        return {"type": type(value).__name__, "value": value}

    def call(self, api, *args, ranks=None, **kwargs):
        self.ranks = ranks
        number = self.counts[api] = self.counts.get(api, -1) + 1
        name = f"Distributed.{api}.{number}.forward"
        entry = {"input_args": [self.encode(a, f"{name}.input.{i}") for i, a in enumerate(args)],
                 "input_kwargs": {k: self.encode(v, f"{name}.input.{k}") for k, v in kwargs.items()}}
        work = getattr(dist, api)(*args, **kwargs)
        if api in ("isend", "irecv"):
            work.wait()
        behind = list(args) + list(kwargs.values())
        entry["output"] = [self.encode(a, f"{name}.output.{i}") for i, a in enumerate(behind)]
        self.data[name] = entry

    def write(self):
        with open(os.path.join(self.folder, "dump.json"), "w", encoding="utf-8") as file:
            json.dump({"task": "tensor", "level": "L1", "framework": "pytorch",
                       "dump_data_dir": os.path.join(self.folder, "dump_tensor_data"), "data": self.data}, file)


def draw(dtype, elements, rank, seed):
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    if dtype.is_floating_point:
        return (torch.randn(elements, generator=generator, dtype=torch.float64)).to(dtype)
    return torch.randint(0, 100, (elements,), generator=generator).to(dtype)


def work(rank, ranks, directory, elements):
    dist.init_process_group("gloo", init_method=f"file://{directory}/meeting", rank=rank, world_size=ranks)
    recorder = Recorder(f"{directory}/dumps/step0/rank{rank}")
    some = list(range(0, ranks, 2))
    half = dist.new_group(some)
    operations = [dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX]
    for i, dtype in enumerate(REDUCED):
        for operation in operations:
            recorder.call("all_reduce", draw(dtype, elements, rank, i), op=operation)
    recorder.call("all_reduce", draw(torch.float32, elements, rank, 20))
    recorder.call("all_reduce", draw(torch.int64, elements, rank, 21), op=dist.ReduceOp.BXOR)
    if rank in some:
        recorder.call("all_reduce", draw(torch.float32, elements, rank, 22), group=half, ranks=some)
    for root in range(ranks):
        recorder.call("reduce", draw(torch.float32, elements, rank, 30 + root), root)
        recorder.call("broadcast", draw(torch.float16, elements, rank, 40 + root), src=root)
        given = [draw(torch.float32, elements, rank, 50 + r) for r in range(ranks)]
        recorder.call("scatter", torch.zeros(elements), given if rank == root else None, src=root)
        left = [torch.zeros(elements) for r in range(ranks)]
        recorder.call("gather", draw(torch.float32, elements, rank, 60), left if rank == root else None, dst=root)
    recorder.call("all_gather", [torch.zeros(elements, dtype=torch.float16) for r in range(ranks)],
                  draw(torch.float16, elements, rank, 70))
    recorder.call("all_gather", tensor_list=[torch.zeros(elements) for r in range(ranks)],
                  tensor=draw(torch.float32, elements, rank, 71))
    for k, (send, receive) in enumerate((("send", "recv"), ("isend", "irecv"), ("send", "recv"))):
        after, before = (rank + 1) % ranks, (rank - 1) % ranks
        steps = [(send, draw(torch.float32, elements, rank, 80 + k), after), (receive, torch.zeros(elements), before)]
        for api, tensor, peer in steps if rank % 2 == 0 else reversed(steps):
            recorder.call(api, tensor, peer)
    recorder.write()
    dist.barrier()
    dist.destroy_process_group()


def check(probe_ut, dumps, output):
    done = subprocess.run([probe_ut, "collectives", "-i", dumps, "-o", output, "--fail-on", "warning"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    path = sorted(glob.glob(output + "/collectives_result_*.csv"))[-1]
    with open(path, encoding="utf-8-sig", newline="") as file:
        return done.returncode, list(csv.DictReader(file)), done.stdout


def rewrite(dumps, rank, name, change):
    """Put another result into a file of a rank's dump; the file as it was is returned."""
    path = f"{dumps}/step0/rank{rank}/dump_tensor_data/{name}.forward.output.0.pt"
    with open(path, "rb") as file:
        before = file.read()
    torch.save(change(torch.load(path)), path)
    return path, before


def given(dumps, ranks, name):
    return [torch.load(f"{dumps}/step0/rank{r}/dump_tensor_data/{name}.forward.input.0.pt") for r in range(ranks)]


def main():
    probe_ut, directory, ranks, elements = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    multiprocessing.spawn(work, (ranks, directory, elements), nprocs=ranks)
    dumps = directory + "/dumps"
    code, rows, said = check(probe_ut, dumps, directory + "/out")
    print(said, end="")
    bad = [row for row in rows if row["Status"] != "pass"]
    for row in bad:
        print("not passed:", row["Rank"], row["API Name"], row["Reduction"], row["Dtype"], row["Message"])
    failures = len(bad) + (code != 0) + (not rows)

    name, x = "Distributed.all_reduce.0", given(dumps, ranks, "Distributed.all_reduce.0")
    right = sum(t.double() for t in x)
    mistakes = [
        ("left out", lambda t: (right - x[ranks - 1].double()).float()),
        ("counted twice", lambda t: (right + x[0].double()).float()),
        ("nothing was reduced", lambda t: x[1].clone()),
        ("it is the average, not the sum", lambda t: (right / ranks).float()),
        ("it is the maximum, not the sum", lambda t: torch.stack(x).max(0).values),
        ("errors as of a reduction in bfloat16", lambda t: t.bfloat16().float()),
        ("errors as of a reduction in float16", lambda t: t.half().float()),
        ("1 of", lambda t: torch.cat([t[:-1], t[-1:] + 1])),
        ("should be", lambda t: torch.cat([t[:-1], t[-1:] * float("nan")])),
        ("replicas drift apart", lambda t: torch.cat([t[:-1], t[-1:] * (1 + 2 ** -23)])),
    ]
    for words, change in mistakes:
        path, before = rewrite(dumps, 1, name, change)
        code, rows, _ = check(probe_ut, dumps, directory + "/out")
        with open(path, "wb") as file:
            file.write(before)
        bad = [row for row in rows if row["Status"] != "pass"]
        accused = [row["Rank"] for row in bad if row["API Name"] == name]
        fine = code == 1 and accused and (accused == ["1"] or "drift" in words) and any(words in r["Message"] for r in bad)
        print("found " if fine else "MISSED", words, "-", bad[0]["Message"] if bad else "nothing")
        failures += not fine
    print("failures:", failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
