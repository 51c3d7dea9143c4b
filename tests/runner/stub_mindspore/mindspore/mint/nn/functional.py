import numpy

from mindspore import Tensor


def relu(input):
    return Tensor(numpy.maximum(input.array, 0), input.dtype, ((input, lambda g: g * (input.array > 0)),))
