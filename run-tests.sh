#!/bin/sh
# Install what is missing, build, and run every test: all of them optimised and under the address
# and undefined-behaviour sanitizers, those with threads under the thread sanitizer, and every fuzzer
# with a fixed number of inputs.
set -eu
cd "$(dirname "$0")"

scripts/install-deps.sh --tests
jobs=$((2 * $(nproc) + 2)) # a dozen of the longest tests wait most of their time
# Operations of commands and system calls are made to fail one after the other, which takes minutes under the thread sanitizer and
# has no threads of its own.
threads="-E (system|command)_faults -R ^((results|compare|graph|report|diagnosis|runner|shrink|online|cli)-|formats-(zip|table)|core-parallel|standards-variants|bench-(tiles|parts))"

# The programs of those tests, and the program that they start.
threaded_programs()
{
    cmake --build --preset tsan --target help | sed -n 's/: phony$//p' >build/tsan/targets
    # shellcheck disable=SC2086
    ctest --preset tsan -N $threads | sed -n 's/^ *Test *#[0-9]*: //p' | grep -Fx -f build/tsan/targets
    echo probe-ut reliability-split
}

for preset in release asan tsan; do
    cmake --preset "$preset" -DPROBE_BATCHES=ON -DCMAKE_MESSAGE_LOG_LEVEL=WARNING >/dev/null
    echo "== building $preset"
    # shellcheck disable=SC2046
    cmake --build --preset "$preset" $([ $preset != tsan ] || echo --target $(threaded_programs))
done
echo "== release"
ctest --preset release -j "$jobs"
echo "== thread sanitizer"
# shellcheck disable=SC2086
ctest --preset tsan $threads -j "$jobs"
echo "== address and undefined-behaviour sanitizers"
ctest --preset asan -j "$jobs"
echo "== fuzzers"
tests/fuzz/smoke
