"""Makes the .pt files beside it with PyTorch (1.13), for tests/formats/test_pt.c.

The element with logical index i has the value that `element` gives, so that the test can compute
it again. Run in this directory.
"""
import os
import torch

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "bool", "complex128", "complex64"]


def element(dtype, i):
    n = (i * 7) % 11
    if dtype == "bool":
        return n % 2 == 1
    if dtype == "uint8":
        return n
    if dtype.startswith("int"):
        return n - 3
    if dtype.startswith("complex"):
        return complex((n - 3) / 8, i - 5)
    return (n - 3) / 8


def filled(dtype, view):
    """Give the elements of a view their values, through the view."""
    values = [element(dtype, i) for i in range(view.numel())]
    with torch.no_grad():
        view.copy_(torch.tensor(values, dtype=getattr(torch, dtype)).reshape(view.shape))
    return view


def zeros(dtype, *shape):
    return torch.zeros(shape, dtype=getattr(torch, dtype))


def save(name, tensor):
    torch.save(tensor, name + ".zip.pt")
    torch.save(tensor, name + ".legacy.pt", _use_new_zipfile_serialization=False)


def main():
    for dtype in DTYPES:
        save(f"{dtype}.dense", filled(dtype, zeros(dtype, 2, 3, 4)))
        save(f"{dtype}.view", filled(dtype, zeros(dtype, 5, 4, 3).transpose(0, 2)[1:, ::2]))
    save("float32.scalar", filled("float32", zeros("float32")))
    save("float32.empty", zeros("float32", 0, 3))
    expanded = filled("float32", zeros("float32", 3, 1)).expand(3, 4)
    save("float32.expanded", expanded)
    save("float32.parameter", torch.nn.Parameter(filled("float32", zeros("float32", 2, 3))))
    required = filled("float64", zeros("float64", 4)).requires_grad_()
    save("float64.requires_grad", required)
    save("other.list", [torch.zeros(2)])
    save("other.dict", {"weight": torch.zeros(2)})
    save("other.number", 3)
    save("other.sparse", torch.eye(3).to_sparse())


if __name__ == "__main__":
    os.umask(0o022)
    main()
