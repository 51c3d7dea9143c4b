#!/usr/bin/python3
"""stream_latency.py PROBE_UT WORK [CALLS]

How long a small record takes from its first byte on the socket to its row in the result file, at 100
calls a second and at 700. Records are made beforehand and sent by a socket of our own with nothing else to do, rows are
seen by the size of the file, so that neither PyTorch nor another Python thread is part of what is measured.
Spool and result files lie in WORK. Also says what a record takes from a call of PyTorch to its row.
"""
import glob
import os
import select
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runner/devices"))

import torch  # noqa: E402

import torch_stream  # noqa: E402
from torch_stream import BYE, HEADER, HELLO, Item, frame, tensor_text  # noqa: E402

PROGRAM, WORK = sys.argv[1:3]
CALLS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000


class Server:
    def __init__(self, name):
        self.out = os.path.join(WORK, name)

    def __enter__(self):
        subprocess.run(["rm", "-rf", self.out], check=True)
        self.process = subprocess.Popen([PROGRAM, "serve", "-o", self.out, "--port", "0", "--listen", "127.0.0.1", "--no-progress", "--no-diagnose"],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if "listening on" in line:
                self.port = int(line.split("listening on ")[1].split()[0].rsplit(":", 1)[1])
                return self
        raise SystemExit("no server")

    def __exit__(self, *_):
        self.process.stderr.close()
        self.process.wait(60)


def records(count):
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    tensors = [torch_stream.taken(value) for value in (a, b, a + b)]
    texts = [tensor_text(a, number) for number in range(3)]
    entry = f'{{"input_args":[{texts[0]},{texts[1]}],"input_kwargs":{{}},"output":[{texts[2]}]}}'
    return [b"".join(Item(f"Torch.add.{number}", entry, tensors, 0, 0).parts(number)) for number in range(count)]


class Rows:
    """Counts the rows of a growing file."""

    def __init__(self, out):
        self.out, self.file, self.count = out, None, -1

    def poll(self):
        if self.file is None:
            found = glob.glob(f"{self.out}/accuracy_checking_result_*_rank0.csv")
            if found:
                self.file = open(found[0], "rb")
        if self.file:
            self.count += self.file.read().count(b"\n")
        return self.count


def say_hello(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(frame(HELLO, 0, struct.pack("<16siIIHH", os.urandom(16), 0, os.getpid(), 0, 0, 1) + b"x"))
    connection.recv(HEADER.size)
    connection.setblocking(False)
    return connection


def drain(connection):
    while select.select([connection], [], [], 0)[0] and connection.recv(65536):
        continue


def measure(name, pause, count):
    with Server(name) as server:
        connection, rows, sent, seen = say_hello(server.port), Rows(server.out), [], []
        bodies, due, end = records(count), time.perf_counter(), time.perf_counter() + 60 + count * pause
        while len(seen) < count and time.perf_counter() < end:
            now = time.perf_counter()
            if len(sent) < count and now >= due:
                sent.append(time.perf_counter())
                connection.sendall(bodies[len(sent) - 1])
                due += pause
            drain(connection)
            there, now = rows.poll(), time.perf_counter()
            seen += [now] * (there - len(seen))
        connection.setblocking(True)
        connection.sendall(frame(BYE, count, b""))
        while connection.recv(65536):
            continue
    waits = sorted((row - byte) * 1e3 for row, byte in zip(seen, sent))
    print(f"{name:14} {1 / pause:5.0f} a second: median {waits[len(waits) // 2]:.2f} ms, 99 % {waits[int(len(waits) * 0.99)]:.2f} ms, "
          f"worst {waits[-1]:.2f} ms ({len(waits)} records)", flush=True)


def main():
    os.makedirs(WORK, exist_ok=True)
    measure("idle", 0.01, CALLS)
    measure("half load", 1 / 700, 5 * CALLS)


if __name__ == "__main__":
    main()
