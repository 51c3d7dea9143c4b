

def flatten(value):
    """Outputs, nested ones depth-first."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def find(name, *spaces):
    """The first function of this name."""
    for space in spaces:
        function = space
        for part in name.split("."):
            function = getattr(function, part, None)
        if callable(function):
            return function
    raise AttributeError(name)


def torch_npu():
    import torch_npu as module

    return module


def gradient(leaf, outputs, seeds, device):
    """Of one argument, for these cotangents; zeros where there is none."""
    roots, cotangents = [], []
    for i, output in enumerate(outputs):
        if isinstance(output, torch.Tensor) and output.requires_grad:
            seed = seeds[i] if i < len(seeds) and seeds[i] is not None else torch.zeros_like(output)
            roots.append(output)
            cotangents.append(seed.to(device).to(output.dtype))
    return torch.autograd.grad(roots, [leaf], cotangents, allow_unused=True)[0]


def place(index):
    """The coordinates of a number of the result."""
    parts = 2 if IS_COMPLEX else 1
    flat, at = index // parts, []
    for extent in reversed(SHAPE):
        at.insert(0, flat % extent)
        flat //= extent
    part = (".real", ".imag")[index % 2] if IS_COMPLEX else ""
    return "[" + ",".join(map(str, at)) + "]" + part


def units(error, want):
    """Errors in units in the last place at `want`."""
    bits, exponent_min = FORMAT
    exponent = torch.where(want == 0, torch.full_like(want, exponent_min), torch.floor(torch.log2(want.abs())))
    return error / torch.pow(2.0, exponent.clamp(min=exponent_min) - (bits - 1))


def tell(words, index, got, want, rest):
    print(f"{words} {place(index)}: want {want[index].item()!r}, got {got[index].item()!r}{rest}")


def compare(got, want, allowed):
    """0 when every number is within what is allowed of what is right, 1 otherwise."""
    if not isinstance(got, torch.Tensor) or list(got.shape) != SHAPE or str(got.dtype) != DTYPE:
        print(f"{ROW}: a tensor of shape {SHAPE} and dtype {DTYPE} is right, got "
              f"{getattr(got, 'shape', type(got).__name__)} {getattr(got, 'dtype', '')}")
        return 1
    got = got.detach().cpu()
    if IS_COMPLEX:
        got = torch.view_as_real(got.resolve_conj())
    got = got.reshape(-1)
    if want.dtype == torch.int64:
        got = got.to(torch.int64)
        error = (got != want).double()
    else:
        got = got.double()
        same = (got == want) | (got.isnan() & want.isnan())
        finite = got.isfinite() & want.isfinite()
        quotient = torch.where(allowed > 0, (got - want).abs() / allowed, torch.full_like(want, math.inf))
        error = torch.where(same, torch.zeros_like(want), torch.where(finite, quotient, torch.full_like(want, math.inf)))
    wrong = (error > 1 if want.dtype != torch.int64 else error > 0).nonzero().reshape(-1)
    if len(wrong):
        print(f"{ROW}: {len(wrong)} of {len(want)} numbers are wrong")
        tell("first wrong", int(wrong[0]), got, want, "")
    if len(wrong) and want.dtype != torch.int64 and bool((finite & ~same).any()):
        errors = torch.where(finite & ~same, units((got - want).abs(), want), torch.full_like(want, -1.0))
        worst = int(errors.argmax())
        tell("worst ulp", worst, got, want, f", error {errors[worst].item():.9g}")
    try:
        limit = 1.0 if want.dtype != torch.int64 else 0.0
        torch.testing.assert_close(error.double(), torch.zeros(len(want), dtype=torch.float64), rtol=0.0, atol=limit)
    except AssertionError:
        return 1
    print(f"{ROW}: right, all {len(want)} numbers")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default=DEVICE, help="cpu, cuda, cuda:1, npu, ...")
    device = parser.parse_args().device
    try:
        if device.startswith("npu"):
            import torch_npu  # noqa: F401  registers torch.npu

        torch.zeros(1, device=device)
    except Exception as error:
        print(f"cannot use the device {device}: {error}", file=sys.stderr)
        return 2
    try:
        got = run(device)
    except AttributeError as error:
        print(f"this PyTorch has no such call: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        print(f"{ROW}: the call failed: {type(error).__name__}: {error}")
        return 1
    return compare(got, want(), allowed())


if __name__ == "__main__":
    sys.exit(main())
