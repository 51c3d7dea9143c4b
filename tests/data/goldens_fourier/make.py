"""Goldens of Fourier transforms. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__)
c64 = torch.complex64

# ---- one dimension: powers of two, products, primes, the trivial ------------------------------------------------
for n in (1, 2, 3, 4, 5, 8, 12, 16, 17, 30, 32, 37, 49, 64, 96, 100):
    x, z = g.normal(n), g.normal(n, dtype=c64)
    g.add("Torch.fft.fft", z)
    g.add("Torch.fft.ifft", z)
    g.add("Torch.fft.rfft", x)
    g.add("Torch.fft.ihfft", x)
    g.add("Torch.fft.irfft", g.normal(n // 2 + 1, dtype=c64), n)
    g.add("Torch.fft.hfft", g.normal(n // 2 + 1, dtype=c64), n)
g.add("Torch.fft.fft", g.normal(2, 400))
for norm in ("forward", "backward", "ortho"):
    for name in ("fft", "ifft", "irfft", "hfft"):
        g.add(f"Torch.fft.{name}", g.normal(3, 6, dtype=c64), norm=norm)
    for name in ("rfft", "ihfft", "fft", "ifft", "irfft"):
        g.add(f"Torch.fft.{name}", g.normal(3, 6), norm=norm)
for name in ("fft", "rfft", "irfft"):
    x = g.normal(4, 6, 2)
    g.add(f"Torch.fft.{name}", x, 5, 1)
    g.add(f"Torch.fft.{name}", x, n=9, dim=0)
    g.add(f"Torch.fft.{name}", g.integers(2, 6))
g.add("Torch.fft.fft", g.normal(2, 6).to(torch.float64))

# ---- several dimensions -----------------------------------------------------------------------------------------------
for norm in (None, "ortho", "forward"):
    x, z = g.normal(2, 4, 6), g.normal(2, 4, 6, dtype=c64)
    for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn", "hfft2", "hfftn"):
        g.add(f"Torch.fft.{name}", z, norm=norm)
    for name in ("fft2", "rfft2", "rfftn", "ihfft2", "ihfftn"):
        g.add(f"Torch.fft.{name}", x, norm=norm)
g.add("Torch.fft.fft2", z, [3, 8], [0, 2])
g.add("Torch.fft.fftn", z, [3, 8])
g.add("Torch.fft.rfftn", x, [3, 7], [0, 1])
g.add("Torch.fft.irfftn", z, [5, 7], [2, 0])
g.add("Torch.fft.fftn", z, dim=[2, 0])

# ---- orders and frequencies ---------------------------------------------------------------------------------------------
for name in ("fftshift", "ifftshift"):
    g.add(f"Torch.fft.{name}", g.normal(5, 4))
    g.add(f"Torch.fft.{name}", g.normal(5, 4), [0])
    g.add(f"Torch.fft.{name}", g.normal(5, 4, dtype=c64), 1)
for n in (1, 2, 5, 8):
    g.add("Torch.fft.fftfreq", n, 0.5)
    g.add("Torch.fft.rfftfreq", n)

# ---- operators ----------------------------------------------------------------------------------------------------------------
for scale in (0, 1, 2):
    g.add("Aten._fft_c2c", g.normal(3, 4, dtype=c64), [1], scale, True)
    g.add("Aten._fft_c2c", g.normal(3, 4, dtype=c64), [0, 1], scale, False)
    g.add("Aten._fft_r2c", g.normal(3, 6), [1], scale, True)
    g.add("Aten._fft_r2c", g.normal(3, 6), [0, 1], scale, False)
    g.add("Aten._fft_c2r", g.normal(3, 4, dtype=c64), [1], scale, 6)
    g.add("Aten._fft_c2r", g.normal(3, 4, dtype=c64), [0, 1], scale, 7)

# ---- frames --------------------------------------------------------------------------------------------------------------------
w = torch.hann_window(8)
g.add("Torch.stft", g.normal(2, 40), 8, 3, 8, fixed(w), return_complex=True)
g.add("Torch.stft", g.normal(40), 8, window=w, return_complex=True)
g.add("Torch.stft", g.normal(2, 40), 8, 2, 6, g.uniform(6), False, return_complex=True)
g.add("Torch.stft", g.normal(2, 40), 8, 4, normalized=True, onesided=False, return_complex=True)
g.add("Torch.stft", g.normal(2, 40), 12, 5, pad_mode="constant", return_complex=False)
g.add("Tensor.stft", g.normal(30), 7, 3, return_complex=True)
g.add("Torch.stft", g.normal(30, dtype=c64), 8, 3)
w = fixed(torch.hann_window(8))
g.add("Torch.istft", g.normal(2, 5, 9, dtype=c64), 8, 2, 8, w)
g.add("Torch.istft", g.normal(5, 9, dtype=c64), 8, window=w, length=12)
g.add("Torch.istft", g.normal(2, 5, 9, dtype=c64), 8, 3, 8, fixed(torch.hamming_window(8)), center=True, normalized=True, length=40)
g.add("Torch.istft", g.normal(2, 8, 6, dtype=c64), 8, 2, 8, fixed(torch.hamming_window(8)), onesided=False, return_complex=True)
g.add("Tensor.istft", g.normal(2, 5, 6, dtype=c64), 9, 3, window=fixed(torch.hamming_window(9)))

g.save()
