#!/usr/bin/env python3
"""The columns of the details file by numpy, for comparison with bench_metrics.

    tests/perf/bench_metrics_numpy.py [ELEMENTS [ROUNDS]]

float32 results against a float64 reference: cosine, largest error, double ratios, binary rate,
benchmark, absolute-threshold and ULP columns, as plainly as numpy states them.
"""
import sys
import time

import numpy as np


def metrics(want, got):
    x = got.astype(np.float64)
    magnitude = np.abs(want)
    error = x - want
    ae = np.abs(error)
    relative = ae / (magnitude + 2.0 ** -52)
    finite = np.isfinite(x) & np.isfinite(want.astype(np.float32))
    small = finite & (magnitude <= 1e-6)
    normal = finite & ~small
    top_w, top_x = magnitude.max(), np.abs(x).max()
    w, g = want / top_w, x / top_x
    exponent = np.maximum(np.floor(np.log2(np.where(want == 0, 1, magnitude))), -126)
    ulp = np.abs(error * np.exp2(23 - exponent))
    masked = np.where(normal, relative, -1)
    sign = x - want.astype(np.float32)
    n = want.size
    return (
        (w * g).sum() / np.sqrt((w * w).sum() * (g * g).sum()), ae.max(),
        (relative < 0.01).sum() / n, (relative < 0.001).sum() / n, (relative < 0.0001).sum() / n,
        (want != x).sum() / n,
        (ae[small] > 1e-9).sum(), np.sqrt(np.where(normal, ae ** 2, 0).mean()),
        masked.max(), masked[masked >= 0].mean(), abs((sign > 0).sum() - (sign < 0).sum()) / n,
        (relative[normal] > 1e-6).sum(), (~finite).sum(),
        ulp.max(), ulp.mean(), (ulp > 32).sum() / n)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    rng = np.random.default_rng(1)
    want = rng.standard_normal(n)
    got = want.astype(np.float32)
    best = min(timed(want, got) for _ in range(rounds))
    print("numpy %s, %d elements: %.1f ms, %.2f GB/s" %
          (np.__version__, n, best * 1e3, (want.nbytes + got.nbytes) / best * 1e-9))


def timed(want, got):
    start = time.perf_counter()
    metrics(want, got)
    return time.perf_counter() - start


main()
