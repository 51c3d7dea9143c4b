"""Goldens of pooling, interpolation, sampling, folds and shuffles. Usage: python3 make.py"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "goldens"))
from make import Goldens, fixed  # noqa: E402

book = Goldens(__file__, seed=5)
x = book.normal
bf16, half, f64 = torch.bfloat16, torch.float16, torch.float64


def call(api, *args, **kwargs):
    try:
        book.add(api, *args, **kwargs)
    except RuntimeError as error:  # what PyTorch 1.13 cannot do is left out, and said
        print("left out:", api, repr(error.__cause__))


F = "Functional."
# Maxima.
call(F + "max_pool1d", x(2, 7), 3)
call(F + "max_pool1d", x(1, 2, 9), 3, 2, 1, 2)
call(F + "max_pool1d", x(1, 2, 7), kernel_size=2, ceil_mode=True, return_indices=True)
call(F + "max_pool1d", x(1, 2, 7, dtype=f64), (3,), (1,), (1,))
call(F + "max_pool2d", x(2, 5, 6), 2)
call(F + "max_pool2d", x(1, 2, 7, 6), (3, 2), (2, 1), (1, 1), (1, 2), return_indices=True)
call(F + "max_pool2d", x(1, 1, 5, 5), 2, stride=2, padding=1, ceil_mode=True)
call(F + "max_pool2d", x(1, 1, 4, 4, dtype=bf16), 3, 1, padding=1)
call(F + "max_pool2d", x(0, 2, 4, 4), 2)
call(F + "max_pool2d", torch.full((1, 1, 3, 3), float("-inf")), 2)
nan = x(1, 1, 4, 4)
nan[0, 0, 1, 1] = float("nan")
call(F + "max_pool2d", nan, 2, 1)
call(F + "max_pool3d", x(1, 2, 4, 4, 4), 2, return_indices=True)
call(F + "max_pool3d", x(2, 3, 4, 5), (2, 2, 3), 1, (1, 0, 1))
call("Torch.max_pool1d", x(1, 2, 6), 2)
call("Torch.max_pool3d", x(1, 1, 3, 3, 3), 3)
call("Torch.max_pool1d_with_indices", x(1, 2, 6), 2)
for d in (1, 2, 3):
    call(F + f"max_pool{d}d_with_indices", x(1, 2, *[5] * d), 3, 2, 1)
    call(F + f"adaptive_max_pool{d}d", x(1, 2, *[5] * d), 3)
    call(F + f"adaptive_max_pool{d}d", x(2, *[4] * d), 2, True)
    call(F + f"adaptive_max_pool{d}d_with_indices", x(1, 2, *[5] * d), 2)
call("Torch.adaptive_max_pool1d", x(1, 2, 5), 3)
call(F + "adaptive_max_pool2d", x(1, 1, 5, 4), (None, 3))

# Averages.
call(F + "avg_pool1d", x(2, 7), 3)
call(F + "avg_pool1d", x(1, 2, 8), 3, 2, 1, True, False)
call(F + "avg_pool1d", x(1, 2, 7), kernel_size=2, ceil_mode=True)
call(F + "avg_pool2d", x(2, 5, 6), 2)
call(F + "avg_pool2d", x(1, 2, 7, 6), (3, 2), (2, 1), (1, 0), count_include_pad=False)
call(F + "avg_pool2d", x(1, 1, 5, 5), 3, 2, 1, True, True, 5)
call(F + "avg_pool2d", x(1, 1, 4, 4, dtype=bf16), 2, divisor_override=-3)
call(F + "avg_pool2d", x(1, 1, 5, 5), 3, 2, 1, ceil_mode=True)
call(F + "avg_pool3d", x(1, 2, 4, 4, 4), 2)
call(F + "avg_pool3d", x(1, 3, 4, 5), (2, 3, 2), 2, (1, 1, 0), True, False)
call(F + "avg_pool3d", x(1, 1, 3, 3, 3), 2, 1, 1, divisor_override=3)
for d in (1, 2, 3):
    call(F + f"adaptive_avg_pool{d}d", x(1, 2, *[5] * d), 3)
    call(F + f"adaptive_avg_pool{d}d", x(2, *[3] * d), 4)
call(F + "adaptive_avg_pool2d", x(1, 2, 5, 4), (None, 2))
call(F + "adaptive_avg_pool2d", x(0, 2, 5, 4), 2)
call("Torch.adaptive_avg_pool1d", x(1, 2, 5), 2)
call("Torch._adaptive_avg_pool2d", x(1, 2, 5, 4), (3, 2))
call(F + "lp_pool1d", x(1, 2, 7), 2, 3)
call(F + "lp_pool1d", book.uniform(2, 7, low=0.5, high=2), 3.5, 2, 1, True)
call(F + "lp_pool2d", book.uniform(1, 2, 5, 6, low=0.5, high=2), 1, (2, 3), stride=2)
call(F + "lp_pool2d", x(1, 2, 5, 6), 4, 2, ceil_mode=True)  # PyTorch 1.13 has no lp_pool3d

# Unpooling.
positions = torch.nn.functional.max_pool2d(x(1, 2, 4, 6), 2, return_indices=True)[1]
call(F + "max_unpool1d", x(1, 2, 3), torch.tensor([[[0, 3, 5], [1, 2, 4]]]), 2)
call(F + "max_unpool1d", x(2, 3), torch.tensor([[0, 3, 6], [1, 2, 4]]), 2, output_size=(7,))
call(F + "max_unpool2d", x(1, 2, 2, 3), positions, 2)
call(F + "max_unpool2d", x(1, 2, 2, 3), positions, 2, 2, 0, (1, 2, 5, 6))
call(F + "max_unpool3d", x(1, 1, 2, 2, 2), torch.tensor([0, 3, 9, 15, 33, 40, 50, 63]).view(1, 1, 2, 2, 2), 2)

# Fractional windows, with given samples.
for ratio in ({"output_size": (3, 2)}, {"output_ratio": (0.5, 0.7)}, {"output_size": 1}):
    call(F + "fractional_max_pool2d", x(1, 2, 6, 7), 2, _random_samples=fixed(book.uniform(1, 2, 2)), **ratio)
call(F + "fractional_max_pool2d_with_indices", x(1, 1, 9, 8), (2, 3), 4, _random_samples=fixed(book.uniform(1, 1, 2)))
call(F + "fractional_max_pool3d", x(1, 2, 5, 6, 7), 2, (2, 3, 4), _random_samples=fixed(book.uniform(1, 2, 3)))
call(F + "fractional_max_pool3d_with_indices", x(2, 4, 4, 5), (1, 2, 3), 2,
     _random_samples=fixed(book.uniform(1, 2, 3)))

# Interpolation.
sizes = {3: ([3], [11], [5]), 4: ([3, 8], [10, 4], [5, 7]), 5: ([2, 7, 3], [6, 3, 8], [4, 5, 3])}
inputs = {3: (1, 2, 5), 4: (1, 2, 5, 7), 5: (1, 1, 4, 5, 3)}
names = {3: "linear", 4: "bilinear", 5: "trilinear"}
for rank in (3, 4, 5):
    for size in sizes[rank]:
        for mode in ("nearest", "nearest-exact", "area"):
            call(F + "interpolate", x(*inputs[rank]), size, mode=mode)
        for corners in (False, True):
            call(F + "interpolate", x(*inputs[rank]), size=size, mode=names[rank], align_corners=corners)
    for factor in (2, 0.6, 1.7):
        for mode in ("nearest", "nearest-exact", "area", names[rank]):
            call(F + "interpolate", x(*inputs[rank]), scale_factor=factor, mode=mode)
    call(F + "interpolate", x(*inputs[rank]), scale_factor=[1.3] * (rank - 2), mode=names[rank],
         recompute_scale_factor=True)
    call(F + "interpolate", x(*inputs[rank]), scale_factor=1.1, mode=names[rank], align_corners=True)
for size in ((3, 8), (10, 4), (1, 1), (5, 7)):
    for corners in (False, True):
        call(F + "interpolate", x(1, 2, 5, 7), size, mode="bicubic", align_corners=corners)
        for mode in ("bilinear", "bicubic"):
            call(F + "interpolate", x(1, 1, 5, 7), size, mode=mode, align_corners=corners, antialias=True)
call(F + "interpolate", x(1, 2, 5, 7), None, 1.7, "bicubic")
call(F + "interpolate", x(1, 2, 5, 7), scale_factor=(0.5, 0.4), mode="bicubic")
call(F + "interpolate", x(1, 1, 9, 8), scale_factor=0.37, mode="bilinear", antialias=True)
call(F + "interpolate", x(1, 2, 4, dtype=bf16), 7)
call(F + "upsample", x(1, 1, 3, 3), 5)
call(F + "upsample_nearest", x(1, 1, 3, 3), scale_factor=2)
call(F + "upsample_bilinear", x(1, 1, 3, 3), 5)

# Sampling.
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            call(F + "grid_sample", x(1, 2, 4, 5), x(1, 3, 4, 2), mode, padding, corners)
            if mode != "bicubic":
                call(F + "grid_sample", x(1, 1, 3, 4, 2), x(1, 2, 3, 2, 3), mode=mode, padding_mode=padding,
                     align_corners=corners)
call(F + "grid_sample", x(2, 1, 3, 1), x(2, 2, 2, 2), padding_mode="reflection", align_corners=True)
call("Torch.grid_sampler", x(1, 1, 3, 3), x(1, 2, 2, 2), 0, 1, False)
call("Torch.grid_sampler_2d", x(1, 1, 3, 3), x(1, 2, 2, 2), 1, 0, True)
call("Torch.grid_sampler_3d", x(1, 1, 3, 3, 2), x(1, 2, 2, 2, 3), 0, 2, True)
for corners in (False, True):
    call(F + "affine_grid", x(2, 2, 3), (2, 1, 3, 4), corners)
    call(F + "affine_grid", x(1, 3, 4), (1, 2, 2, 3, 1), align_corners=corners)
call("Torch.affine_grid_generator", x(1, 2, 3), (1, 1, 1, 4), False)

# Folds and shuffles.
call(F + "unfold", x(1, 2, 5, 6), 3)
call(F + "unfold", x(2, 1, 4, 5), (2, 3), (1, 2), (1, 0), (2, 1))
call(F + "unfold", x(2, 4, 5), 2, stride=2)
call(F + "fold", x(1, 8, 12), (4, 5), 2)
call(F + "fold", x(4, 9), (4, 4), 2)
call(F + "fold", x(1, 9, 6), output_size=(5, 7), kernel_size=3, stride=2)
call(F + "pixel_shuffle", x(8, 2, 3), 2)
call(F + "pixel_shuffle", x(2, 1, 9, 1, 2), 3)
call(F + "pixel_unshuffle", x(1, 2, 4, 6), 2)
call("Torch.pixel_shuffle", x(4, 1, 2), upscale_factor=2)
call("Torch.pixel_unshuffle", x(2, 3, 3), downscale_factor=3)
call("Torch.channel_shuffle", x(1, 6, 2, 3), 3)
call(F + "channel_shuffle", x(2, 4, 3, 2), 2)
book.save()
