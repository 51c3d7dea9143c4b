"""Pack a folder of op goldens (index.json, t/*.npy) into index.jsonl and tensors.bin.

usage: pack.py SOURCE TARGET. Each "file" becomes [offset, bytes] into tensors.bin, where the
.npy files lie one after another, 64-aligned. Files in the repository were packed with this.
"""
import json
import pathlib
import sys

source, target = map(pathlib.Path, sys.argv[1:3])
blob, places = bytearray(), {}


def place(name):
    if name not in places:
        blob.extend(b"\0" * (-len(blob) % 64))
        data = (source / name).read_bytes()
        places[name] = [len(blob), len(data)]
        blob.extend(data)
    return places[name]


def walk(x):
    if isinstance(x, dict):
        return {k: place(v) if k in ("file", "input_file") and v else walk(v) for k, v in x.items()}
    return [walk(v) for v in x] if isinstance(x, list) else x


lines = []
for line in (source / "index.json").read_text().splitlines():
    line = line.strip().rstrip(",")
    if line.startswith("{"):
        lines.append(json.dumps(walk(json.loads(line)), separators=(",", ":")))
(target / "index.jsonl").write_text("\n".join(lines) + "\n")
(target / "tensors.bin").write_bytes(blob)
