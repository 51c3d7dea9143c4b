"""tests/data/autocast/make.py: one call each of what autocast computes in bfloat16, run by PyTorch on the CPU under
torch.autocast and recorded as msprobe does, with tensors. Gradients are those of the arguments, which the dump says; autograd has
widened them to the dtype of the arguments."""
import json
import os
import shutil

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
TENSORS = os.path.join(HERE, "dump_tensor_data")
calls, backwards = {}, {}


def encode(value, name):
    if isinstance(value, torch.Tensor):
        torch.save(value.detach().clone(), os.path.join(TENSORS, name + ".pt"))
        wide = value.detach().float()
        return {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), "Max": wide.max().item(),
                "Min": wide.min().item(), "Mean": wide.mean().item(), "Norm": wide.norm().item(),
                "requires_grad": value.requires_grad, "data_name": name + ".pt"}
    return None if value is None else {"type": type(value).__name__, "value": value}


def record(name, function, *args):
    args = [a.requires_grad_() for a in args]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = function(*args)
    cotangent = torch.randn(result.shape).to(result.dtype)
    gradients = torch.autograd.grad(result, args, cotangent)
    calls[name + ".forward"] = {
        "input_args": [encode(a, f"{name}.forward.input.{i}") for i, a in enumerate(args)],
        "input_kwargs": {}, "output": [encode(result, f"{name}.forward.output.0")]}
    backwards[name + ".backward"] = {
        "input": [encode(cotangent, f"{name}.backward.input.0")],
        "output": [encode(g, f"{name}.backward.output.{i}") for i, g in enumerate(gradients)]}


def main():
    shutil.rmtree(TENSORS, ignore_errors=True)
    os.makedirs(TENSORS)
    torch.manual_seed(20)
    r = torch.randn
    record("Functional.linear.0", F.linear, r(4, 8, 16), r(12, 16), r(12))
    record("Functional.linear.1", F.linear, r(4, 8, 16).bfloat16(), r(12, 16), r(12))
    # Large enough for oneDNN: smaller products PyTorch sums in bfloat16, which is an error and found as one.
    record("Torch.matmul.0", torch.matmul, r(2, 32, 40), r(2, 40, 32))
    record("Functional.conv2d.0", F.conv2d, r(2, 3, 8, 8), r(4, 3, 3, 3), r(4))
    with open(os.path.join(HERE, "dump.json"), "w", encoding="utf-8") as file:
        json.dump({"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data",
                   "gradients": "arguments", "data": {**calls, **backwards}}, file, indent=1)


if __name__ == "__main__":
    main()
