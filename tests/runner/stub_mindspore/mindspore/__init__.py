"""As much of MindSpore as the tests of mindspore_worker.py need, in numpy: tensors with MindSpore's
dtypes (bfloat16 kept as the float32 values it can hold), a few functions, and GradOperation by a tape. It
stands in for the names and types that the worker uses, and says nothing about MindSpore's numbers."""

import numpy

__version__ = "2.6.0-stub"
PYNATIVE_MODE = 1


class DType:
    def __init__(self, name, array):
        self.name, self.array = name, array

    def __str__(self):
        return self.name


float64, float32 = DType("Float64", numpy.float64), DType("Float32", numpy.float32)
float16, bfloat16 = DType("Float16", numpy.float16), DType("BFloat16", numpy.float32)
int64, int32 = DType("Int64", numpy.int64), DType("Int32", numpy.int32)
int16, int8 = DType("Int16", numpy.int16), DType("Int8", numpy.int8)
uint8, bool_ = DType("UInt8", numpy.uint8), DType("Bool", numpy.bool_)
BY_ARRAY = {numpy.dtype(d.array): d
            for d in (float64, float32, float16, int64, int32, int16, int8, uint8, bool_)}
settings = {"device_target": "CPU"}
calls = []


def set_context(**values):
    settings.update(values)


def get_context(name):
    return settings[name]


def set_device(target, index):
    if index > 7:
        raise RuntimeError(f"no device {index}")
    settings.update(device_target=target, device_id=index)


def set_seed(seed):
    numpy.random.seed(seed)


def rounded(array, dtype):
    """Values in a dtype; for bfloat16 float32 ones rounded to it, ties to even. NaN stays."""
    if dtype is not bfloat16:
        return numpy.asarray(array).astype(dtype.array)
    bits = numpy.asarray(array, numpy.float32).reshape(-1).view(numpy.uint32)
    nan = numpy.isnan(numpy.asarray(array, numpy.float32)).reshape(-1)
    even = (bits + 0x7FFF + ((bits >> 16) & 1)) & numpy.uint32(0xFFFF0000)
    bits = numpy.where(nan, bits, even)
    return bits.view(numpy.float32).reshape(numpy.shape(array))


class Tensor:
    def __init__(self, array, dtype=None, parents=()):
        array = numpy.asarray(array)
        self.dtype = dtype or BY_ARRAY[array.dtype]
        self.array = rounded(array, self.dtype)
        self.parents = parents  # (tensor, function of the cotangent)

    shape = property(lambda self: self.array.shape)

    def asnumpy(self):
        if self.dtype is bfloat16:
            raise TypeError("numpy has no bfloat16")
        return self.array

    def astype(self, dtype):
        back = self.dtype
        return Tensor(self.array, dtype, ((self, lambda g: rounded(g, back)),))

    def copy(self):
        return Tensor(self.array.copy(), self.dtype)

    def __mul__(self, other):
        return mint.mul(self, other)

    def mul(self, other):
        return mint.mul(self, other)

    def add_(self, other):
        self.array = rounded(self.array + other.array, self.dtype)
        return self


def summed(gradient, shape):
    while gradient.ndim > len(shape):
        gradient = gradient.sum(0)
    for axis, extent in enumerate(shape):
        if extent == 1 and gradient.shape[axis] != 1:
            gradient = gradient.sum(axis, keepdims=True)
    return gradient


from . import mint, ops  # noqa: E402,F401
