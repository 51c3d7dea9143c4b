#!/usr/bin/python3
"""stream_client.py STREAM_SINK WORK

What our own client and the receiving half of the server carry over the loopback: records a second for small records
(made, and made by calls of PyTorch), bytes a second for large ones. Beside these, of the same bytes in the same run,
a plain socket copy, and one that is written to a file in WORK, where the spool is, and synced: what acknowledged means.
"""
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runner/devices"))

import torch  # noqa: E402

import torch_stream  # noqa: E402

SINK, WORK = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 3


class Sink:
    def __enter__(self):
        spool = os.path.join(WORK, "spool")
        shutil.rmtree(spool, ignore_errors=True)
        self.process = subprocess.Popen([SINK, spool, "0"], stdout=subprocess.PIPE, text=True)
        return f"127.0.0.1:{int(self.process.stdout.readline())}"

    def __exit__(self, *_):
        self.process.wait(60)


def forget(connection):
    buffer = bytearray(1 << 20)
    while connection.recv_into(buffer):
        pass


def store(connection, size):
    """Write what comes to a file, in pieces of `size` bytes, each of them synced, at two places in turn."""
    path = os.path.join(WORK, "plain")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    buffer = memoryview(bytearray(size))
    used = parts = 0
    while (got := connection.recv_into(buffer[used:])):
        used += got
        if used == size:
            os.pwrite(file, buffer, parts % 2 * size)
            os.fdatasync(file)
            used, parts = 0, parts + 1
    os.close(file)
    os.unlink(path)


def plain_copy(part, count, is_stored=False):
    """Bytes a second of `count` writes of `part` to another process, which forgets or stores them."""
    listener = socket.create_server(("127.0.0.1", 0))
    child = os.fork()
    if not child:
        connection, _ = listener.accept()
        if is_stored:
            store(connection, len(part))
        else:
            forget(connection)
        os._exit(0)
    connection = socket.create_connection(listener.getsockname())
    start = time.perf_counter()
    for _ in range(count):
        connection.sendall(part)
    connection.close()
    os.waitpid(child, 0)
    return count * len(part) / (time.perf_counter() - start)


def prepared(items, address):
    """Seconds until the server has acknowledged all items, which are given to the sender as they are."""
    sender = torch_stream.Sender(address, "secret", None, 0, False, 1 << 30, None, 0, print)
    start = time.perf_counter()
    for item in items:
        sender.put(item, 60)
    assert sender.close(120)
    return time.perf_counter() - start


def small_items(count):
    data = bytes(256)
    tensors = [(256, data)] * 3
    entry = ('{"input_args":[' + ",".join(torch_stream.tensor_text(torch.zeros(8, 8), i) for i in (0, 1)) +
             '],"input_kwargs":{},"output":[' + torch_stream.tensor_text(torch.zeros(8, 8), 2) + "]}")
    return [torch_stream.Item(f"Torch.add.{i}", entry, tensors, 0, 0) for i in range(count)]


def calls(address, count):
    a, b = torch.zeros(8, 8), torch.ones(8, 8)
    start = time.perf_counter()
    for _ in range(count):
        torch.add(a, b)
    bare = time.perf_counter() - start
    start = time.perf_counter()
    with torch_stream.probe_stream(address, token="secret", rank=0, wait_s=60) as probe:
        for _ in range(count):
            torch.add(a, b)
    assert probe.dropped == 0
    return time.perf_counter() - start, bare


def main():
    os.makedirs(WORK, exist_ok=True)
    for _ in range(ROUNDS):
        with Sink() as address:
            seconds = prepared(small_items(60000), address)
        print(f"small records, prepared: {60000 / seconds:8.0f} a second")
        with Sink() as address:
            seconds, bare = calls(address, 40000)
        print(f"small records, calls:    {40000 / seconds:8.0f} a second ({bare * 25:.1f} us a call without the stream)")
        size, count = 64 << 20, 24
        tensor = torch.rand(size // 4)
        text = torch_stream.tensor_text(tensor, 0)
        items = [torch_stream.Item(f"Torch.exp.{i}", f'{{"input_args":[{text}],"output":[]}}', [(size, tensor)], 0, 0)
                 for i in range(count)]
        part = memoryview(tensor.numpy()).cast("B")
        plain = [plain_copy(part, count), plain_copy(part, count, is_stored=True)]
        with Sink() as address:
            seconds = prepared(items, address)
        plain = [(plain[0] + plain_copy(part, count)) / 2, (plain[1] + plain_copy(part, count, is_stored=True)) / 2]
        ours = count * size / seconds
        print(f"records of 64 MiB:       {ours / 1e9:8.2f} GB/s; plain socket copy {plain[0] / 1e9:.2f} GB/s: "
              f"{ours / plain[0]:.0%}; the same, written and synced, {plain[1] / 1e9:.2f} GB/s: {ours / plain[1]:.0%}")


if __name__ == "__main__":
    main()
