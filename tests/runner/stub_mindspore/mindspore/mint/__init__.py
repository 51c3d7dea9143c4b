import sys

import numpy

from mindspore import Tensor, summed

from . import nn  # noqa: F401


def array(x):
    return x.array if isinstance(x, Tensor) else x


def mul(input, other):
    parents = [(input, lambda g: summed(g * array(other), input.shape))]
    if isinstance(other, Tensor):
        parents.append((other, lambda g: summed(g * input.array, other.shape)))
    return Tensor(input.array * array(other), input.dtype, tuple(parents))


def exp(input):
    y = numpy.exp(input.array)
    return Tensor(y, input.dtype, ((input, lambda g: g * y),))


def cat(tensors, dim=0):
    if not isinstance(tensors, tuple):
        raise TypeError("tensors must be a tuple")
    ends = numpy.cumsum([t.shape[dim] for t in tensors])
    parents = tuple((t, lambda g, a=end - t.shape[dim], b=end: g.take(range(a, b), dim))
                    for t, end in zip(tensors, ends))
    return Tensor(numpy.concatenate([t.array for t in tensors], dim), tensors[0].dtype, parents)


def split(tensor, size, dim=0):
    count = tensor.shape[dim] // size

    def part(i):
        def back(g):
            whole = numpy.zeros(tensor.shape, g.dtype)
            index = [slice(None)] * whole.ndim
            index[dim] = slice(i * size, (i + 1) * size)
            whole[tuple(index)] = g
            return whole
        return Tensor(tensor.array.take(range(i * size, (i + 1) * size), dim), tensor.dtype,
                      ((tensor, back),))

    return tuple(part(i) for i in range(count))


def full(size, fill_value, dtype=None):
    return Tensor(numpy.full(size, fill_value), dtype)


def crash():
    sys.exit(9)


def fail():
    raise ValueError("a bad\nargument")


def lose():
    raise RuntimeError("AICORE exception, the device is gone")
