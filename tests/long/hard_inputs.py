"""The calls of all goldens as a dump to draw inputs for. Run by tests/long/hard_inputs.

    python3 hard_inputs.py FOLDER
"""
import json
import pathlib
import sys

import torch
from call_sources import goldens, tensors
from recorded_dump import Dump


def shaped(record, dtype):
    return torch.zeros(record["shape"], dtype=dtype)


def main():
    dump = Dump(pathlib.Path(sys.argv[1]))
    for record, call, reading in goldens():
        outputs = [o for o in record["output"] if isinstance(o, dict) and o.get("type") == "torch.Tensor"]
        cotangents = [None] * len(record["output"])
        for one in record.get("grad_output", []):
            cotangents[one["output_index"]] = reading(one["file"]).to(getattr(torch, one["dtype"][6:]))
        everywhere = len(outputs) == len(record["output"])
        names = [(o["dtype"] or "torch." + o["file_dtype"])[6:] for o in outputs]
        if not all(hasattr(torch, name) for name in names):
            continue  # the 8-bit floats are newer than Debian's PyTorch
        results = [shaped(o, getattr(torch, name)) for o, name in zip(outputs, names)]
        arguments = list(tensors(call.args)) + list(tensors(list(call.kwargs.values())))
        tracked = {id(arguments[g["tensor_index"]]) for g in record.get("grad_input", [])}
        gradients = [reading(g["file"]) for g in record.get("grad_input", [])]
        backward = everywhere and any(c is not None for c in cotangents)
        dump.add(call.api, call.args, call.kwargs, results, tracked, cotangents if backward else (), gradients)
    dump.save()
    print(f"{len(dump.counts)} names, {sum(dump.counts.values())} calls")


if __name__ == "__main__":
    main()
