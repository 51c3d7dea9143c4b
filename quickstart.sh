#!/bin/sh
# From a fresh clone to the first verdicts: install what is missing, build, and check every API
# call of the bundled dump of a real model.
set -eu
cd "$(dirname "$0")"

scripts/install-deps.sh
cmake -S . -B build/release -G Ninja -DCMAKE_MESSAGE_LOG_LEVEL=WARNING >/dev/null
cmake --build build/release --target probe-ut

dump=tests/data/dumps/m2/L1_statistics/dump.json
echo
echo "build/release/probe-ut run_ut -api_info $dump -o quickstart-output --report quickstart-output/report.html"
build/release/probe-ut run_ut -api_info "$dump" -o quickstart-output --report quickstart-output/report.html
echo
echo "To look at it, open quickstart-output/report.html in a browser. Your own dump:"
echo "    build/release/probe-ut -api_info /path/to/step0/rank0/dump.json -o check"
