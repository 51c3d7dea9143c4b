#!/bin/sh
# Install what is missing, build, and run every test: all of them optimised and under the address
# and undefined-behaviour sanitizers, those with threads under the thread sanitizer, and every fuzzer
# with a fixed number of inputs.
set -eu
cd "$(dirname "$0")"

scripts/install-deps.sh --tests
for preset in release asan tsan; do
    cmake --preset "$preset" -DCMAKE_MESSAGE_LOG_LEVEL=WARNING >/dev/null
    echo "== building $preset"
    cmake --build --preset "$preset"
done
jobs=$(nproc)
echo "== release"
ctest --preset release -j "$jobs"
echo "== thread sanitizer"
# System calls are made to fail one after the other, which takes minutes here and has no threads of its own.
ctest --preset tsan -E 'system_faults' -R '^((results|compare|graph|report|diagnosis|runner|shrink|online|cli)-|formats-(zip|table)|core-parallel|standards-variants|bench-(tiles|parts))' -j "$jobs"
echo "== address and undefined-behaviour sanitizers"
ctest --preset asan -j "$jobs"
echo "== fuzzers"
tests/fuzz/smoke
