"""The verdicts of `strict` on what PyTorch returned, as a table. Run by tests/long/against_torch.

    python3 pytorch_verdicts.py FOLDER KNOWN

FOLDER has native/ and float64/, each with dump.json and out/. KNOWN says which results are accused with reason: lines of
`NAMES PRECISION[:PLACE][,CASE] PROOF REASON`. NAMES are names of APIs joined by |, with their kind (Aten.bitwise_or) or without it; PLACE (backward.output.1, say) is a
pattern of the shell, PRECISION that of the accused result, float32 (and what is no float64), float64 or both, half in a call with 16-bit tensors, or float16, and CASE one of CASES, what
the call has to have. PROOF is one of pytorch_proofs.py. A call is known when every result of it that is accused is. A name that the catalogue (FOLDER's neighbour ops.json) lacks is
an error. Calls with 16-bit tensors are counted by
themselves, because some of PyTorch's kernels round between their steps, and so are calls of several floating dtypes, where they
round what is short first, and calls with an infinity, a NaN or a number next to the largest, where frameworks have conventions
of their own. Exits 1 when a call of the others is accused that is not known.
"""
import collections
import csv
import fnmatch
import json
import math
import pathlib
import sys

VERDICTS = ["pass", "warning", "error", "known", "SKIP"]


def rows(folder, what):
    """Rows of the CSV files of a run, without their titles."""
    for file in sorted((folder / "out").glob(f"accuracy_checking_{what}_*.csv")):
        with open(file, encoding="utf-8-sig", newline="") as text:
            yield from list(csv.reader(text))[1:]


def dtypes(value):
    if isinstance(value, dict):
        if value.get("type") == "torch.Tensor":
            yield value["dtype"]
        elif value.get("type") == "torch.dtype":
            yield value["value"]
        else:
            for item in value.values():
                yield from dtypes(item)
    elif isinstance(value, list):
        for item in value:
            yield from dtypes(item)


def has_halves(call):
    return any(d in ("torch.float16", "torch.bfloat16") for d in dtypes(call))


def is_extreme(value):
    """Is there a tensor that holds an infinity, a NaN or what overflows when it is squared? Ends are those of real tensors."""
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        ends = [value["Max"], value["Min"]]
        largest = 1e154 if value["dtype"] in ("torch.float64", "torch.complex128") else 1e19
        return value.get("extreme", False) or any(e is not None and not abs(e) < largest for e in ends)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return any(is_extreme(item) for item in items)


def verdict_of(forward, backward):
    states = [forward, backward]
    return next((v for v in ("error", "warning", "pass") if v in states), "SKIP")


def tensors(value):
    """The records of the tensors of an argument."""
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors(item)


def inputs(call):
    return list(tensors([call["input_args"], call["input_kwargs"]]))


CASES = {
    "empty": lambda call: any(0 in t["shape"] for t in inputs(call)),
    "complex": lambda call: any("complex" in t["dtype"] for t in inputs(call)),
    "integers": lambda call: any("int" in t["dtype"] or "bool" in t["dtype"] for t in inputs(call)),
    "broadcast": lambda call: len({tuple(t["shape"]) for t in inputs(call)}) > 1,
    "batch": lambda call: len(inputs(call)[0]["shape"]) > 2,
    "small": lambda call: all(abs(e) < 0.6 for t in inputs(call) for e in (t["Max"], t["Min"]) if e is not None),
    "endless": lambda call: any(e is not None and not math.isfinite(e) for t in inputs(call) for e in (t["Max"], t["Min"])),
    "axes": lambda call: any(isinstance(v, list) and len(v) > 1 for v in [*call["input_args"], *call["input_kwargs"].values()]),
    "positional": lambda call: len(call["input_args"]) > 1,
    "strided": lambda call: any(t.get("strided") for t in inputs(call)),
    "extreme": lambda call: is_extreme([call["input_args"], call["input_kwargs"]]),
}


def read_known(path):
    """(names, precision, place, case) of each line."""
    known = []
    for line in pathlib.Path(path).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        names, of, _ = line.split(None, 2)
        of, _, case = of.partition(",")
        precision, _, place = of.partition(":")
        known.append((names.split("|"), precision, place or "*", case))
    return known


def without_kind(api):
    return api.split(".", 1)[1]


def unknown_names(known, catalogue):
    """Names of KNOWN that no API has."""
    apis = {row["api"] for row in json.loads(catalogue.read_text())}
    apis |= {without_kind(api) for api in apis}
    return [name for names, *_ in known for name in names if name not in apis]


def is_known(known, api, call, accused):
    """`accused`: pairs of the place and the dtype of each result that is."""
    def explains(entry, place, dtype):
        names, precision, places, case = entry
        of = "float64" if dtype in ("torch.float64", "torch.complex128") else "float32"
        applies = has_halves(call) if precision == "half" else precision in (of, "both") or dtype == "torch." + precision
        return (applies and (api in names or without_kind(api) in names) and fnmatch.fnmatchcase(place, places) and
                (not case or CASES[case](call)))
    return bool(accused) and all(any(explains(entry, *row) for entry in known) for row in accused)


def column_of(call, precision):
    """Which column of the table a call belongs to."""
    of = {d for d in dtypes(call) if "float" in d or "complex" in d}
    if has_halves(call):
        return "16 bits"
    if is_extreme(call):
        return "extreme"
    widths = {"64" in d if "float" in d else "128" in d for d in of}
    return "mixed" if len(widths) > 1 else precision


def judge(folder, precision, known, table, kinds):
    """Count the calls of a run, by group and by kind of data; how many are accused that are not known."""
    data = json.loads((folder / "dump.json").read_text())["data"]
    messages, accusations = {}, {}
    for row in rows(folder, "details"):
        if row[-2] == "error":
            name, place = row[0].split(".forward.")[0].split(".backward.")[0], ".".join(row[0].split(".")[-3:])
            messages.setdefault(name, []).append(f"{place} {row[2]} {row[3]}: " + " ".join(row[-1].split()))
            accusations.setdefault(name, []).append((place, row[2]))
    accused = 0
    for name, forward, backward, *_ in rows(folder, "result"):
        call, api = data[name + ".forward"], name.rsplit(".", 1)[0]
        column, verdict = column_of(call, precision), verdict_of(forward, backward)
        if verdict == "error" and is_known(known, api, call, accusations.get(name, [])):
            verdict = "known"
        table[api.split(".")[0], column][verdict] += 1
        if column == precision:
            kinds[call.get("kind", "by chance"), column][verdict] += 1
        if verdict == "error" and column == precision:
            accused += 1
            print(f"{precision} {name}: {' | '.join(messages.get(name, []))[:400]}")
    return accused


def show(table):
    print(f"{'':24}" + "".join(f"{v:>9}" for v in VERDICTS))
    for (row, column), counts in sorted(table.items()):
        print(f"{row + ' ' + column:24}" + "".join(f"{counts[v]:9}" for v in VERDICTS))


def main():
    folder, known = pathlib.Path(sys.argv[1]), read_known(sys.argv[2])
    strangers = unknown_names(known, folder.parent / "ops.json")
    if strangers:
        print("of no API:", *strangers)
    table, kinds = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    accused = sum(judge(folder / run, precision, known, table, kinds)
                  for run, precision in (("native", "float32"), ("float64", "float64")))
    show(table)
    show(kinds)
    print(f"{accused} calls accused that are not known")
    return accused > 0 or bool(strangers)


if __name__ == "__main__":
    sys.exit(main())
