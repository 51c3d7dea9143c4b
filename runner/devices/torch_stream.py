"""Stream the calls of a PyTorch training run to probe-ut, which judges them while it trains.

    from torch_stream import probe_stream

    with probe_stream("checker:7000", token="...") as probe:
        for batch in loader:
            ...                 # forward, backward, optimizer, as always
            probe.step()

Needs PyTorch 1.13 or later and nothing else; this one file can be copied to where the training runs. The other
side is `probe-ut serve` (docs/online.md); docs/stream-protocol.md says what is sent.

Recorded is every call of torch.nn.functional, of methods of tensors and of torch, that takes and gives tensors:
the arguments as they are *before* the call, so that calls that write into them can be checked too, and what it
returns. Calls inside a recorded call are not recorded. Names and numbers are those of msprobe:
Functional.linear.0 is the first F.linear of a step.

Training comes first. Records leave from a thread of their own, through a queue of limited size. When it is full,
because the server is slow or away, a step waits `wait_s` seconds at most, in all; what finds no place then
is kept on the local disk (`spill`) or dropped and counted. No fault of the stream, the server or the network
reaches the training: it is reported once, on standard error. The one exception is ProbeStop, with
stop_on_error=True, when the server says that training shall stop (`probe-ut serve --stop-on`).
"""

import collections
import contextlib
import ctypes
import fnmatch
import json
import os
import select
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time
import zlib

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, resolve_name

__all__ = ["ProbeStop", "probe_stream"]


class ProbeStop(RuntimeError):
    """The server found what training was to stop for; the text says what."""


# --- the frames (docs/stream-protocol.md) ---------------------------------------------------------------

MAGIC = b"UTS1"
HELLO, WELCOME, RECORD, ACK, BUSY, STOP, STATE, BYE, REFUSED = range(1, 10)
HEADER = struct.Struct("<4sHHQQQII")  # magic, kind, 0, sequence, bytes, sum of the bulk, bytes of the head, CRC-32
CHECKED_HEADER = struct.Struct("<4sHHQQQI")
RECORD_START = struct.Struct("<IIIiq")  # bytes of name, bytes of entry, tensors, rank, step
TABLE_ROW = struct.Struct("<QQ")  # offset, bytes
WANTS_STOP = 1

SMALL = 1 << 16  # a tensor with fewer bytes lies in the head and is copied as bytes
HEAD_LIMIT = 16 << 20
BATCH = 1 << 18  # small frames that leave in one write
FAREWELLS = 5  # attempts to say goodbye to a server that has everything


def frame(kind, sequence, head, bulk_bytes=0, bulk_sum=0):
    """Header and head of a frame; the bulk follows."""
    start = CHECKED_HEADER.pack(MAGIC, kind, 0, sequence, len(head) + bulk_bytes, bulk_sum, len(head))
    return b"".join((start, struct.pack("<I", zlib.crc32(head, zlib.crc32(start))), head))


def bulk_sum(tensor, size):
    """The sum of a dense tensor's bytes as 64-bit words, the last one filled up with zeros."""
    flat = tensor.reshape(-1).view(torch.uint8)
    whole = size // 8 * 8
    total = int(flat[:whole].view(torch.int64).sum()) if flat.data_ptr() % 8 == 0 and whole else sum(
        struct.unpack(f"<{whole // 8}q", ctypes.string_at(flat.data_ptr(), whole)))
    rest = ctypes.string_at(flat.data_ptr() + whole, size - whole)
    return (total + int.from_bytes(rest, "little")) % (1 << 64)


class Item:
    """A record that waits: a name, an entry and its tensors, (bytes, data) each, where data is a bytes object or,
    if it is large, a tensor on the CPU. Or where it lies on disk."""

    __slots__ = ("name", "entry", "tensors", "rank", "step", "size", "place")

    def __init__(self, name, entry, tensors, rank, step):
        self.name, self.entry, self.tensors, self.rank, self.step = name, entry, tensors, rank, step
        self.size = 256 + len(entry) + sum(size for size, _ in tensors)
        self.place = None

    def parts(self, sequence):
        """The frame as a list of buffers."""
        name, entry = self.name.encode(), self.entry.encode()
        rows, inline, bulk = [], [], []
        at = RECORD_START.size + TABLE_ROW.size * len(self.tensors) + len(name) + len(entry)
        pad = -at % 16
        at += pad
        inline.append(bytes(pad))
        for size, data in self.tensors:
            if type(data) is bytes:
                rows.append((at, size))
                pad = -size % 16
                inline.append(data + bytes(pad))
                at += size + pad
            else:
                rows.append(None)
        pad = -at % 64
        inline.append(bytes(pad))
        at += pad
        head_bytes, total = at, 0
        for index, (size, data) in enumerate(self.tensors):
            if rows[index] is None:
                rows[index] = (at, size)
                total += bulk_sum(data, size)
                pad = -size % 64
                bulk.append(memoryview((ctypes.c_ubyte * size).from_address(data.data_ptr())).cast("B"))
                bulk.append(bytes(pad))
                at += size + pad
        head = b"".join([RECORD_START.pack(len(name), len(entry), len(rows), self.rank, self.step)] +
                        [TABLE_ROW.pack(*row) for row in rows] + [name, entry] + inline)
        return [frame(RECORD, sequence, head, at - head_bytes, total % (1 << 64))] + bulk


# --- values as dumps have them --------------------------------------------------------------------------

TENSOR_TEXTS = {}


def tensor_text(tensor, number):
    key = (tensor.dtype, tensor.shape, number)
    text = TENSOR_TEXTS.get(key)
    if text is None:
        if len(TENSOR_TEXTS) > 100000:
            TENSOR_TEXTS.clear()
        text = TENSOR_TEXTS[key] = (f'{{"type":"torch.Tensor","dtype":"{tensor.dtype}","shape":{list(tensor.shape)},'
                                    f'"data_name":"{number}"}}')
    return text


class Buffers:
    """Memory for copies of tensors. Steps are alike, so what one has used fits the next; memory that is asked for
    anew takes longer to come than to fill."""

    LIMIT = 1 << 30

    def __init__(self):
        self.free, self.bytes = {}, 0

    def take(self, size):
        stack = self.free.get(size)
        if not stack:
            with torch.inference_mode(False):  # or it could not be filled again outside of that
                return torch.empty(size, dtype=torch.uint8, device="cpu")
        self.bytes -= size
        return stack.pop()

    def give(self, tensors):
        for size, data in tensors or ():
            if type(data) is not bytes:
                if self.bytes + size > self.LIMIT:
                    self.free, self.bytes = {}, 0
                self.bytes += size
                self.free.setdefault(size, []).append(data)


BUFFERS = Buffers()


def typed(kind, value=None):
    return json.dumps({"type": kind, "value": value})


class Unrecordable(Exception):
    """The text says what it is; the server has it as the reason of a SKIP row."""


class Tensors(list):
    """The tensors of a record, and how many more it has, whose elements could not be taken. Floating ones become `cast`,
    where that is set."""

    __slots__ = ("lacking", "cast")

    def __init__(self, cast=None):
        super().__init__()
        self.lacking, self.cast = 0, cast

    def count(self):
        return len(self) + self.lacking

    def forget(self, kept):
        """All behind the first `kept`."""
        BUFFERS.give(self[kept:])
        del self[kept:]


# Of tensors whose class computes with them itself, and may have no elements (FakeTensor) or several places for them (DTensor).
PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__
IS_TRACING = torch._C._get_tracing_state


def check_elements(tensor):
    """Raise Unrecordable when the tensor has no elements that could be read."""
    kind = type(tensor)
    if kind is not torch.Tensor and kind.__torch_dispatch__ is not PLAIN_DISPATCH:
        raise Unrecordable(f"a tensor of the class {kind.__module__}.{kind.__qualname__}")
    if tensor.layout is not torch.strided:
        raise Unrecordable(f"a tensor of {tensor.layout}")
    if tensor.is_quantized:
        raise Unrecordable(f"a quantized tensor of {tensor.dtype}")
    if getattr(tensor, "is_nested", False):
        raise Unrecordable("a nested tensor")
    if not tensor.is_cpu:
        check_device(tensor.device.type)
    if IS_TRACING() is not None:
        raise Unrecordable("a tensor that torch.jit traces")
    try:
        has_elements = tensor.data_ptr() != 0 or not tensor.numel()
    except RuntimeError:  # inside of vmap or grad of functorch
        has_elements = False
    if not has_elements:
        raise Unrecordable("a tensor without elements of its own")


def check_device(device):
    if device == "meta":
        raise Unrecordable("a meta tensor, which has no elements")
    is_capturing = getattr(getattr(torch, device, None), "is_current_stream_capturing", None)
    if is_capturing and is_capturing():
        raise Unrecordable("a tensor of a graph that is captured")


def taken(tensor):
    """The elements as they are now: (bytes, data of Item)."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    size = tensor.numel() * tensor.element_size()
    if size >= SMALL:
        buffer = BUFFERS.take(size)
        buffer.view(tensor.dtype).view(tensor.shape).copy_(tensor)
        return size, buffer
    if not tensor.is_cpu:
        tensor = tensor.to("cpu")
    tensor = tensor.contiguous()
    return size, ctypes.string_at(tensor.data_ptr(), size) if size else b""


FUNCTION_GUARD = getattr(torch._C, "DisableTorchFunction", contextlib.nullcontext)
DISPATCH_GUARD = getattr(torch._C, "_DisableTorchDispatch", contextlib.nullcontext)


def undisturbed(function, *args):
    """Its result. No mode and no class of the user sees what it does with tensors."""
    with FUNCTION_GUARD():
        guard = DISPATCH_GUARD()
        if hasattr(guard, "__enter__"):
            with guard:
                return function(*args)
        try:  # of PyTorch 1.13: holds until it is gone
            return function(*args)
        finally:
            del guard


def encoded_tensor(tensor, tensors):
    try:
        check_elements(tensor)
        if tensors.cast and tensor.dtype in CASTS:
            tensor = tensor.detach().to(tensors.cast)
        text = tensor_text(tensor, len(tensors))
        tensors.append(taken(tensor))
        return text
    except Unrecordable as reason:
        tensors.lacking += 1
        return typed(str(reason))
    except Exception as error:
        tensors.lacking += 1
        return typed(f"a tensor that could not be read ({type(error).__name__}: {str(error)[:100]})")


def encoded_slice(value):
    try:
        return typed("slice", [None if part is None else int(part) for part in (value.start, value.stop, value.step)])
    except Exception:
        return typed("a slice whose parts are no numbers")


def encoded_of_numpy(value, tensors):
    """Arrays are tensors for what takes them: an index, say."""
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.generic) and type(value.item()) in (bool, int, float, str, complex):
        return encoded(value.item(), tensors)
    if isinstance(value, numpy.ndarray):
        try:
            return encoded_tensor(torch.from_numpy(value.copy()), tensors)
        except TypeError:
            pass
    return typed(f"an object of numpy.{type(value).__qualname__}")


SIMPLE = {
    type(None): lambda value: "null",
    bool: lambda value: "true" if value else "false",
    int: lambda value: int.__repr__(value) if -1 << 63 <= value < 1 << 63 else typed("an integer beyond 64 bits"),
    float: json.dumps,
    str: json.dumps,
    complex: lambda value: typed("a complex number"),
    bytes: lambda value: typed("bytes"),
    set: lambda value: typed("a set"),
    frozenset: lambda value: typed("a set"),
    slice: encoded_slice,
    type(Ellipsis): lambda value: typed("ellipsis"),
    torch.Size: lambda value: typed("torch.Size", [int(part) for part in value]),
    torch.dtype: lambda value: typed("torch.dtype", str(value)),
    torch.device: lambda value: typed("torch.device", str(value)),
    torch.memory_format: lambda value: json.dumps({"type": "torch.memory_format", "format": str(value)}),
}
DEEPEST = 60  # of lists inside of lists; the server reads 64
LONGEST_RANGE = 1 << 16


def encoded(value, tensors, depth=0):
    """The value in the encoding of dumps; its tensors are taken and added to the list. What has no form there is a
    "type" that says what it is."""
    if isinstance(value, torch.Tensor):
        return encoded_tensor(value, tensors)
    kind = type(value)
    simple = SIMPLE.get(kind)
    if simple:
        return simple(value)
    if depth > DEEPEST:
        return typed("a value inside of too many others")
    if isinstance(value, (tuple, list)) or (kind is range and len(value) <= LONGEST_RANGE):
        return "[" + ",".join([encoded(item, tensors, depth + 1) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([f"{json.dumps(str(key))}:{encoded(item, tensors, depth + 1)}" for key, item in value.items()]) + "}"
    if kind.__module__ == "numpy":
        return encoded_of_numpy(value, tensors)
    for base in (int, float, str):  # of a class of their own
        if isinstance(value, base):
            return SIMPLE[base](base(value))
    return typed(f"an object of {kind.__module__}.{kind.__qualname__}")


def has_tensor(value):
    """Is there a tensor among the arguments, or in a list of them?"""
    return isinstance(value, torch.Tensor) or (isinstance(value, (tuple, list)) and any(isinstance(item, torch.Tensor) for item in value))


def unreadable(error):
    return typed(f"values that could not be read ({type(error).__name__}: {str(error)[:100]})")


# --- autocast -------------------------------------------------------------------------------------------

# What these compute with under autocast is not their arguments but those in autocast's dtype; so it is recorded. The
# rest of what autocast knows computes in float32, in which the arguments are what they were.
AUTOCAST = set("""conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution linear bilinear
    matmul __matmul__ __rmatmul__ mm bmm mv inner addmm addmv addr addbmm baddbmm chain_matmul multi_dot einsum tensordot prelu
    scaled_dot_product_attention multi_head_attention_forward""".split())
RECURRENT = set("lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split())
CASTS = (torch.float32, torch.float16, torch.bfloat16)


def first_tensor(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, (tuple, list)):
            found = first_tensor(value)
            if found is not None:
                return found
    return None


def autocast_dtype(args):
    """That of autocast where these are; None outside of it."""
    tensor = first_tensor(args)
    if tensor is None:
        return None
    device = tensor.device.type
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    if device == "cpu":
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
    return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


def cast_for(plan, args):
    try:
        return autocast_dtype(args) if plan.casts else None
    except Exception:  # a device that autocast does not know
        return None


# --- names ----------------------------------------------------------------------------------------------

# What is asked of a tensor and computes nothing, moves it, or belongs to autograd.
LEFT_OUT = {
    "Tensor": set("""apply_ map_ backward cpu cuda npu xpu to type type_as data_ptr detach detach_ device dim
        dim_order element_size get_device has_names is_coalesced is_complex is_conj is_contiguous is_distributed
        is_floating_point is_inference is_leaf is_neg is_nonzero is_pinned is_same_size is_set_to is_shared is_signed item
        names ndimension nelement numel numpy pin_memory record_stream refine_names register_hook register_post_accumulate_grad_hook
        reinforce rename rename_ requires_grad_ resolve_conj resolve_neg retain_grad set_ share_memory_ size
        sparse_dim dense_dim storage storage_offset storage_type stride tolist untyped_storage unsafe_chunk zero_
        __array__ __array_wrap__ __bool__ __complex__ __contains__ __deepcopy__ __delitem__ __dir__ __float__ __format__ __hash__
        __index__ __int__ __iter__ __len__ __long__ __nonzero__ __reduce__ __reduce_ex__ __repr__ __reversed__ __setstate__
        __dlpack__ __dlpack_device__ __cuda_array_interface__""".split()),
    "Torch": set("""is_tensor is_storage is_complex is_conj is_floating_point is_nonzero is_neg is_inference is_same_size
        is_signed numel result_type can_cast promote_types get_device detach detach_ resolve_conj resolve_neg
        broadcast_shapes as_tensor tensor from_numpy asarray empty_like zeros_like ones_like rand_like randn_like randint_like
        full_like save load typename compile""".split()),
    "Functional": {"has_torch_function", "handle_torch_function", "boolean_dispatch", "assert_int_or_pair"},
}
DUNDER = "__{}__"
ARITHMETIC = {DUNDER.format(name) for name in """add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv div rdiv idiv
    floordiv rfloordiv ifloordiv mod rmod imod pow rpow ipow matmul rmatmul and rand iand or ror ior xor rxor ixor lshift ilshift
    rlshift rshift irshift rrshift eq ne lt le gt ge neg pos abs invert getitem setitem""".split()}


OWNERS = {"Torch": torch, "Tensor": torch.Tensor, "Functional": torch.nn.functional}


def name_table():
    """(prefix, name) of every function that is recorded."""
    table = {}
    for prefix, owner in OWNERS.items():  # a function of two of them is that of the later one
        names = {}
        for name in dir(owner):
            if name.startswith("_") and not (prefix == "Tensor" and name in ARITHMETIC):
                continue
            if name in LEFT_OUT[prefix]:
                continue
            try:
                function = getattr(owner, name)
                # torch has variables of its own making among its functions, under other names
                if callable(function) and (prefix != "Torch" or getattr(function, "__name__", "") == name):
                    names.setdefault(function, (prefix, name))
            except Exception:  # a module attribute that is deprecated, or cannot be hashed
                continue
        table.update(names)
    return table


def name_of(function, table):
    """"Functional.linear", or None for what is not recorded."""
    try:
        found = table.get(function)
        if found:
            # Of functions that are equal (mm, spmm), each has its own name.
            prefix, name = found
            own = getattr(function, "__name__", name)
            return f"{prefix}.{own if hasattr(OWNERS[prefix], own) and own not in LEFT_OUT[prefix] else name}"
        resolved = resolve_name(function) or ""
    except Exception:
        return None
    for start, prefix in (("torch.linalg.", "Torch.linalg."), ("torch.fft.", "Torch.fft."),
                          ("torch.special.", "Torch.special."), ("torch.nn.functional.", "Functional."),
                          ("torch._C._nn.", "Functional.")):
        rest = resolved[len(start):] if resolved.startswith(start) else ""
        if rest and "." not in rest and not rest.startswith("_"):
            return prefix + rest
    return None


# --- the sender -----------------------------------------------------------------------------------------


class Refused(Exception):
    """The server does not want this client."""


class Sender:
    """Queue, thread and connection. `put` never raises and waits only as long as it is allowed to."""

    def __init__(self, address, token, tls, rank, wants_stop, queue_bytes, spill, spill_bytes, report):
        host, _, port = address.rpartition(":")
        self.address = (host.strip("[]"), int(port))
        self.token = (token or "").encode()
        self.context = tls if isinstance(tls, ssl.SSLContext) or tls is None else tls_context(tls)
        self.rank, self.wants_stop, self.report = rank, wants_stop, report
        self.queue_bytes, self.spill_bytes = queue_bytes, spill_bytes
        self.session = os.urandom(16)
        self.lock = threading.Lock()
        self.freed = threading.Condition(self.lock)
        self.waiting = collections.deque()  # not sent over this connection
        self.flying = collections.deque()  # sent, not acknowledged
        self.acknowledged = self.sent = 0  # records of the session
        self.held_bytes = self.spilled_bytes = 0
        self.records = self.dropped = self.dropped_bytes = self.sent_bytes = 0
        self.stop_text = None
        self.closing = self.ended = False
        self.file = tempfile.TemporaryFile(dir=spill) if spill else None
        self.file_end = 0
        self.wake_out, self.wake_in = socket.socketpair()
        self.wake_out.setblocking(False)
        self.asleep = False
        self.thread = threading.Thread(target=self.run, name="probe_stream", daemon=True)
        self.thread.start()

    # on the thread that trains

    def put(self, item, wait_s):
        """Queue an item, waiting for room no longer than wait_s; the seconds that were waited."""
        waited = 0.0
        with self.lock:
            if self.held_bytes + item.size > self.queue_bytes and self.held_bytes and not self.file and wait_s > 0:
                start = time.monotonic()
                self.freed.wait_for(lambda: self.held_bytes + item.size <= self.queue_bytes or self.ended, wait_s)
                waited = time.monotonic() - start
            full = self.ended or (self.held_bytes and self.held_bytes + item.size > self.queue_bytes)
            if (full or self.spilled_bytes) and not self.spill(item):
                BUFFERS.give(item.tensors)
                self.dropped += 1
                self.dropped_bytes += item.size
                return waited
            if item.place is None:
                self.held_bytes += item.size
            self.waiting.append(item)
            self.records += 1
            asleep, self.asleep = self.asleep, False
        if asleep:
            self.wake()
        return waited

    def spill(self, item):
        """Move an item to the disk. While some are there, all that come follow, to stay in order."""
        if not self.file or self.ended or self.spilled_bytes + item.size > self.spill_bytes:
            return False
        try:
            # The sequence is known when it is sent: header and head are made again then.
            head, *bulk = item.parts(0)
            length = 0
            for part in [head, *bulk]:
                view = memoryview(part).cast("B")
                while len(view):  # a write may be short
                    written = os.pwrite(self.file.fileno(), view, self.file_end + length)
                    length += written
                    view = view[written:]
        except OSError:
            return False
        item.place = (self.file_end, length, len(head))
        BUFFERS.give(item.tensors)
        item.tensors = item.entry = None
        self.file_end += length
        self.spilled_bytes += item.size
        return True

    def wake(self):
        try:
            self.wake_out.send(b"\0")
        except OSError:
            pass

    def close(self, wait_s):
        """Send what is queued, for wait_s seconds at most; True when the server has all of it."""
        with self.lock:
            self.closing = True
            self.asleep = False
        self.wake()
        self.thread.join(wait_s)
        with self.lock:
            self.ended = True
            left = len(self.waiting) + len(self.flying)
            self.dropped += left
        self.wake()
        if not self.thread.is_alive():
            for part in (self.wake_out, self.wake_in, self.file):
                if part:
                    part.close()
        return not left

    # on the thread of its own

    def run(self):
        pause, farewells = 0.1, FAREWELLS
        while not self.ended:
            try:
                with self.connect() as connection:
                    pause = 0.1
                    self.serve(connection)
                break
            except Refused as refusal:
                self.report(f"the server refuses this client: {refusal}")
                break
            except Exception as error:
                self.report(f"{self.address[0]}:{self.address[1]}: {error or type(error).__name__}; trying again")
            with self.lock:
                # The server has everything and is to be told so, if it is there.
                farewells -= self.closing and not self.waiting and not self.flying
            if not farewells:
                break
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
        with self.lock:
            self.ended = True
            self.freed.notify_all()

    def connect(self):
        connection = socket.create_connection(self.address, timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.context:
            connection = self.context.wrap_socket(connection, server_hostname=self.address[0])
        host = socket.gethostname().encode()[:255]
        hello = struct.pack("<16siIIHH", self.session, self.rank, os.getpid(), WANTS_STOP if self.wants_stop else 0,
                            len(self.token), len(host)) + self.token + host
        connection.sendall(frame(HELLO, 0, hello))
        self.received = bytearray()
        while True:
            kind, sequence, body = self.read_frame(connection, block=True)
            if kind == WELCOME:
                break
        with self.lock:
            self.waiting.extendleft(reversed(self.flying))
            self.flying.clear()
            if not self.acknowledged <= sequence <= self.sent:
                # A server that does not know this session: what it lacks is sent as a session of its own.
                self.session, self.acknowledged, self.sent = os.urandom(16), 0, 0
                raise ConnectionError("the server has been started anew")
        self.acknowledge(sequence)
        return connection

    def read_frame(self, connection, block):
        """(kind, sequence, body) or, without blocking, None."""
        while True:
            if len(self.received) >= HEADER.size:
                magic, kind, _, sequence, size, _, _, _ = HEADER.unpack_from(self.received)
                if magic != MAGIC or size > 4096:
                    raise ConnectionError("what answers is no probe-ut serve")
                if len(self.received) >= HEADER.size + size:
                    body = bytes(self.received[HEADER.size:HEADER.size + size])
                    del self.received[:HEADER.size + size]
                    if kind == REFUSED:
                        raise Refused(body.decode(errors="replace"))
                    return kind, sequence, body
            if not block and not readable(connection):
                return None
            data = connection.recv(1 << 16)
            if not data:
                raise ConnectionError("the server has closed the connection")
            self.received += data

    def acknowledge(self, sequence):
        """The server has `sequence` records of the session."""
        with self.lock:
            while self.acknowledged < sequence:
                items = self.flying or self.waiting
                if self.acknowledged >= self.sent or not items:
                    raise ConnectionError("the server acknowledges what was not sent")
                self.release(items.popleft())
                self.acknowledged += 1
            if not self.spilled_bytes and self.file_end:
                self.file_end = 0
                self.file.truncate(0)
            self.freed.notify_all()

    def handle(self, answer):
        """True when the server says goodbye."""
        kind, sequence, body = answer
        if kind == ACK:
            self.acknowledge(sequence)
        elif kind == BUSY:
            self.report(f"the server is busy: {body.decode(errors='replace')}")
        elif kind == STOP:
            self.stop_text = body.decode(errors="replace")
        return kind == BYE

    def next_batch(self):
        """Buffers of what waits, small ones together."""
        batch, size, small = [], 0, []
        while size < BATCH:
            with self.lock:
                if not self.waiting:
                    break
                item = self.waiting.popleft()
                sequence = self.acknowledged + len(self.flying)
                self.flying.append(item)
                self.sent = max(self.sent, sequence + 1)
            try:
                parts = item.parts(sequence) if item.place is None else self.from_disk(item, sequence)
            except Exception as error:
                self.give_up(item, error)
                continue
            small.append(parts[0])
            size += item.size
            if len(parts) > 1:
                batch += [b"".join(small)] + parts[1:]
                small = []
        if small:
            batch.append(b"".join(small))
        return batch

    def give_up(self, item, error):
        """A record that cannot be sent is one that was dropped."""
        with self.lock:
            self.flying.pop()
            self.release(item)
            self.dropped += 1
            self.dropped_bytes += item.size
        self.report(f"{item.name} is not sent: {type(error).__name__}: {error}")

    def release(self, item):
        """The item has left the queue."""
        BUFFERS.give(item.tensors)
        if item.place is None:
            self.held_bytes -= item.size
        else:
            self.spilled_bytes -= item.size

    def from_disk(self, item, sequence):
        offset, length, head_length = item.place
        stored = os.pread(self.file.fileno(), length, offset)
        if len(stored) < length:
            raise OSError("the file of spilled records became shorter")
        kind, size, total = RECORD, length - HEADER.size, HEADER.unpack_from(stored)[5]
        head = stored[HEADER.size:head_length]
        return [frame(kind, sequence, head, size - len(head), total), memoryview(stored)[head_length:]]

    def serve(self, connection):
        """Send and take answers until everything is sent and acknowledged, and the server says goodbye."""
        said_bye, state_due = False, time.monotonic() + 1
        while not self.ended:
            for part in self.next_batch():
                connection.sendall(part)
                self.sent_bytes += len(part)
            now = time.monotonic()
            if now >= state_due:
                connection.sendall(self.state())
                state_due = now + 1
            while True:
                answer = self.read_frame(connection, block=False)
                if answer is None:
                    break
                if self.handle(answer):
                    return
            with self.lock:
                if self.waiting:
                    continue
                self.asleep = True
                all_sent = self.closing and not said_bye
            if all_sent:
                connection.sendall(self.state())
                connection.sendall(frame(BYE, self.acknowledged + len(self.flying), b""))
                said_bye = True
            ready, _, _ = select.select([connection, self.wake_in], [], [], max(0.0, state_due - now))
            with self.lock:
                self.asleep = False
            if self.wake_in in ready:
                self.wake_in.recv(4096)

    def state(self):
        with self.lock:
            queued = len(self.waiting) + len(self.flying)
            return frame(STATE, 0, struct.pack("<QQQQ", queued, self.held_bytes + self.spilled_bytes,
                                               self.dropped, self.dropped_bytes))


def readable(connection):
    if isinstance(connection, ssl.SSLSocket) and connection.pending():
        return True
    return bool(select.select([connection], [], [], 0)[0])


def tls_context(directory):
    """TLS that trusts ca.crt and shows client.crt, where the directory has them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # certificates of a cluster name no hosts; the CA is the user's own
    context.load_verify_locations(os.path.join(directory, "ca.crt"))
    certificate, key = os.path.join(directory, "client.crt"), os.path.join(directory, "client.key")
    if os.path.exists(certificate):
        context.load_cert_chain(certificate, key)
    return context


# --- recording ------------------------------------------------------------------------------------------


def rank_of_process():
    try:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank()
    except Exception:
        pass
    try:
        return int(os.environ.get("RANK", "-1"))
    except ValueError:
        return -1


class Plan:
    """What is done with the calls of one function."""

    __slots__ = ("name", "number", "casts")

    def __init__(self, name):
        self.name, self.number = name, 0
        self.casts = name.rsplit(".", 1)[1] in AUTOCAST | RECURRENT


class Mode(TorchFunctionMode):
    """Sees every call of PyTorch's functions on this thread, but for those inside a call that it sees."""

    def __init__(self, probe):
        super().__init__()
        self.probe = probe

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        plan = self.probe.plan_of(func)
        if plan is None:
            return func(*args, **kwargs)
        return self.probe.call(plan, func, args, kwargs)


def sees_indexing():
    """Does a mode see x[0]? That of PyTorch 1.13 sees only an index of several parts."""
    seen = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    value = torch.zeros(1, device="cpu")
    with Watch():
        value[0]
    return bool(seen)


def show_indexing():
    """Let modes see every x[...], until what is returned is called. Where there is no mode nothing changes."""
    has_mode = getattr(torch._C, "_is_torch_function_mode_enabled", None)
    if has_mode is None or "__getitem__" in vars(torch.Tensor) or sees_indexing():
        return None
    plain = torch.Tensor.__getitem__

    def __getitem__(tensor, index):
        if not has_mode():
            return plain(tensor, index)
        return handle_torch_function(__getitem__, (tensor,), tensor, index)

    def restore():
        if vars(torch.Tensor).get("__getitem__") is __getitem__:
            del torch.Tensor.__getitem__

    torch.Tensor.__getitem__ = __getitem__
    return restore


class probe_stream:
    """Record the calls inside a `with` and stream them to `address` ("host:port").

    token          what the server was given with --token-file
    tls            a directory with ca.crt and, for mutual TLS, client.crt and client.key; or an ssl.SSLContext
    ranks, steps   which of them to record: anything with `in`, range(10, 20) or {0, 8}; default: all
    names          patterns of what to record, with * and ?: ["Functional.*", "Tensor.add*"]; default: everything
    rate           the part of the calls of each function that is recorded: 0.1 is every tenth
    queue_bytes    most bytes of records that wait in memory
    wait_s         most seconds that a step waits for a full queue
    budget_s       most seconds that a step spends with recording and waiting; then the rest of its calls are left
                   out and counted. Default: no limit
    spill          a directory on a local disk for what finds no place in the queue, spill_bytes at most
    close_s        most seconds that the end of the `with` waits for the server
    stop_on_error  raise ProbeStop in the training when the server says so
    rank           default: that of torch.distributed, or of the environment
    """

    def __init__(self, address, *, token=None, tls=None, ranks=None, steps=None, names=None, rate=1.0,
                 queue_bytes=256 << 20, wait_s=1.0, budget_s=None, spill=None, spill_bytes=8 << 30, close_s=60.0,
                 stop_on_error=False, rank=None):
        self.rank = rank_of_process() if rank is None else rank
        self.ranks, self.steps, self.names = ranks, steps, [names] if isinstance(names, str) else names
        self.every = max(1, round(1 / rate)) if rate > 0 else 0
        self.wait_s, self.budget_s, self.close_s, self.stop_on_error = wait_s, budget_s, close_s, stop_on_error
        self.step_number = 0
        self.left_out = self.failed = 0
        self.spent_s = self.waited_s = 0.0
        self.total_spent_s = 0.0
        self.plans, self.made_plans = {}, []
        self.table = {}
        self.said = set()
        self.sender = self.mode = self.hide_indexing = None
        self.process = os.getpid()
        self.options = (address, token, tls, queue_bytes, spill, spill_bytes)

    # --- with ---

    def __enter__(self):
        if self.ranks is None or self.rank in self.ranks:
            try:
                address, token, tls, queue_bytes, spill, spill_bytes = self.options
                self.hide_indexing = show_indexing()
                self.table = name_table()
                self.sender = Sender(address, token, tls, self.rank, self.stop_on_error, queue_bytes, spill,
                                     spill_bytes, self.report)
                self.mode = Mode(self)
                self.mode.__enter__()
            except (OSError, ValueError) as error:  # wrong in what the user gave: said, and nothing is recorded
                self.report(f"nothing is recorded: {error}")
                self.mode = None
        self.is_active = self.wants_step()
        return self

    def __exit__(self, kind, error, trace):
        if self.mode:
            self.mode.__exit__(kind, error, trace)
        if self.hide_indexing:
            self.hide_indexing()
        if self.sender and os.getpid() == self.process:
            complete = self.sender.close(self.close_s if kind is None or kind is ProbeStop else min(self.close_s, 5.0))
            if not complete or self.dropped:
                self.report(f"{self.dropped} of {self.sender.records + self.left_out} records were dropped")
        return False

    def wants_step(self):
        return self.mode is not None and (self.steps is None or self.step_number in self.steps)

    def step(self):
        """A step is over. Numbers of calls begin anew, and what a step may wait for does, too."""
        self.step_number += 1
        for plan in self.made_plans:
            plan.number = 0
        self.total_spent_s += self.spent_s
        self.spent_s = self.waited_s = 0.0
        self.is_active = self.wants_step()
        self.check_stop()

    # --- for the user to see ---

    @property
    def dropped(self):
        """Records that the server will not get."""
        return self.left_out + self.failed + (self.sender.dropped if self.sender else 0)

    @property
    def records(self):
        return self.sender.records if self.sender else 0

    @property
    def seconds(self):
        """Time that recording and waiting have taken from the training so far."""
        return self.total_spent_s + self.spent_s

    def report(self, text):
        """Say something once."""
        if text not in self.said and len(self.said) < 20:
            self.said.add(text)
            print(f"probe_stream: {text}", file=sys.stderr, flush=True)

    def check_stop(self):
        if self.stop_on_error and self.sender and self.sender.stop_text is not None:
            raise ProbeStop(self.sender.stop_text)

    # --- calls ---

    def plan_of(self, function):
        try:
            return self.plans[function]
        except KeyError:
            pass
        except TypeError:  # not hashable
            return None
        name = name_of(function, self.table)
        wanted = name and self.every and (not self.names or any(fnmatch.fnmatchcase(name, p) for p in self.names))
        plan = Plan(name) if wanted else None
        if len(self.plans) < 100000:
            self.plans[function] = plan
        if plan:
            self.made_plans.append(plan)
        return plan

    def call(self, plan, function, args, kwargs):
        number = plan.number
        plan.number = number + 1
        if not self.is_active or number % self.every:
            return function(*args, **kwargs)
        if self.budget_s is not None and self.spent_s >= self.budget_s:
            self.left_out += any(isinstance(value, torch.Tensor) for value in args)
            return function(*args, **kwargs)
        began = time.perf_counter()
        tensors = Tensors(cast_for(plan, args))
        start = undisturbed(self.start_of, args, kwargs, tensors)
        self.spent_s += time.perf_counter() - began
        try:
            result = function(*args, **kwargs)
        except BaseException:
            tensors.forget(0)
            raise
        if not tensors.count():
            return result
        began = time.perf_counter()
        try:
            if tensors.cast:
                start = self.start_without_autocast(plan, start, (args, kwargs), result, tensors)
            self.record(plan, number, start, tensors, result, args)
        except Exception as error:
            self.fail(plan, error)
        self.spent_s += time.perf_counter() - began
        if self.sender.stop_text is not None:
            self.check_stop()
        return result

    def start_of(self, args, kwargs, tensors):
        """The entry up to the results. Who trains sees nothing of what goes wrong here."""
        try:
            return f'{{"input_args":{encoded(args, tensors)},"input_kwargs":{encoded(kwargs, tensors)},"output":'
        except Exception as error:
            tensors.forget(0)
            tensors.lacking += has_tensor(args) or has_tensor(tuple(kwargs.values()))
            return f'{{"input_args":[{unreadable(error)}],"input_kwargs":{{}},"output":'

    def start_without_autocast(self, plan, start, call, result, tensors):
        """The entry up to the results, anew where autocast has not done what it does mostly: they are in another dtype.
        These functions alter no argument."""
        cast, tensors.cast = tensors.cast, None
        first = first_tensor((result,))
        if first is None or first.dtype == cast:
            return start
        tensors.forget(0)
        tensors.lacking = 0
        if first.dtype in CASTS and plan.name.rsplit(".", 1)[1] in RECURRENT:
            tensors.lacking = 1
            reason = typed(f"arguments of which autocast makes {cast} in some places")
            return f'{{"input_args":[{reason}],"input_kwargs":{{}},"output":'
        return undisturbed(self.start_of, *call, tensors)

    def end_of(self, results, tensors):
        inputs = len(tensors)
        try:
            return encoded(results, tensors)
        except Exception as error:
            tensors.forget(inputs)
            tensors.lacking += has_tensor(results)
            return f"[{unreadable(error)}]"

    def record(self, plan, number, start, tensors, result, args):
        inputs = tensors.count()
        if result is None and plan.name.endswith("__setitem__"):
            result = args[0]  # what it has altered
        results = result if isinstance(result, tuple) and type(result) is not torch.Size else (result,)
        text = undisturbed(self.end_of, results, tensors)
        if tensors.count() == inputs or os.getpid() != self.process:
            tensors.forget(0)
            return
        item = Item(f"{plan.name}.{number}", f"{start}{text}}}", tensors, self.rank, self.step_number)
        self.waited_s += self.sender.put(item, self.wait_s - self.waited_s)

    def fail(self, plan, error):
        self.failed += 1
        self.report(f"{plan.name} is not recorded: {type(error).__name__}: {error}")
