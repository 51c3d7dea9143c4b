#!/usr/bin/python3
"""large_graph.py NODES DIR

Writes dumps of two models with about NODES nodes each into DIR/npu and DIR/bench: blocks of a transformer, each with
modules of calls, forward and backward. One in a thousand outputs differs; some calls have another name on one side.
"""
import json
import os
import sys

CALLS = ["linear", "split", "transpose", "transpose", "matmul", "mul", "masked_fill", "softmax", "dropout", "matmul", "linear", "add"]
MODULES = [("ln_1.LayerNorm", ["layer_norm"]), ("attn.Attention", CALLS), ("ln_2.LayerNorm", ["layer_norm"]), ("mlp.MLP", ["linear", "gelu", "linear", "dropout", "add"])]


def row(value, name):
    return (f'{{"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [4, 1024, 4096], "Max": {value}, "Min": {-value}, "Mean": {value / 64:.6f}, '
            f'"Norm": {value * 512:.3f}, "requires_grad": true, "data_name": "{name}.pt"}}')


def write_side(folder, n_nodes, is_npu):
    os.makedirs(folder, exist_ok=True)
    counters, nodes, number = {}, 0, 0
    paths = [os.path.join(folder, name) for name in ("dump.json", "construct.json", "stack.json")]
    with open(paths[0], "w", encoding="utf-8") as dump, open(paths[1], "w", encoding="utf-8") as construct, open(paths[2], "w", encoding="utf-8") as stack:
        dump.write('{"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": null, "data": {\n')
        construct.write("{\n")
        stack.write("{\n")

        def put(name, parent):
            nonlocal nodes
            nodes += 1
            value = 1.0 + nodes % 97 / 7 + (3.0 if is_npu and nodes % 1009 == 0 else 0.0)
            comma = "" if nodes == 1 else ",\n"
            inputs = f"{row(value, name + '.input.0')}, {row(2.0, name + '.input.1')}"
            dump.write(f'{comma}"{name}": {{"input_args": [{inputs}], "input_kwargs": {{}}, "output": [{row(value, name + ".output.0")}]}}')
            construct.write(f'{comma}"{name}": {json.dumps(parent)}')
            stack.write(f'{comma}"{name}": ["File /model/block.py, line {100 + nodes % 50}, in forward, \\n return self.inner(x)", "File /model/train.py, line 7, in step, \\n loss = model(x)"]')

        for way in ("forward", "backward"):
            number = 0
            while nodes < n_nodes * (0.5 if way == "forward" else 1):
                block = f"Module.layers.{number}.Block.{way}.0"
                put(block, None)
                for module, calls in MODULES:
                    name = f"Module.layers.{number}.{module}.{way}.0"
                    put(name, block)
                    for call in calls:
                        count = counters[call, way] = counters.get((call, way), -1) + 1
                        other = "fast_gelu" if call == "gelu" and not is_npu and number % 50 == 0 else call
                        put(f"Functional.{other}.{count}.{way}", name)
                number += 1
        dump.write("}}\n")
        construct.write("}\n")
        stack.write("}\n")
    for path in paths:
        os.chmod(path, 0o640)


if __name__ == "__main__":
    for side in ("npu", "bench"):
        write_side(os.path.join(sys.argv[2], side), int(sys.argv[1]), side == "npu")
