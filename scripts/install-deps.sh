#!/bin/sh
# Install the Debian packages that are missing.
#
#   scripts/install-deps.sh          what the program needs to be built
#   scripts/install-deps.sh --tests  what its tests need in addition
#
# Does nothing, and needs no rights, when everything is there.
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config
       libffi-dev libopenblas-dev libmpfr-dev libflint-dev libflint-arb-dev libsleef-dev
       libcjson-dev zlib1g-dev libyaml-dev libexpat1-dev libxlsxwriter-dev libsqlite3-dev libjs-chart.js"
# Oracles and tools of the tests: known-answer generator, other implementations of the same
# operators, memory checker.
tests="check libcsv-dev librandom123-dev libdnnl-dev python3-torch python3-numpy python3-openpyxl valgrind
       clang libclang-rt-dev clang-tidy cppcheck nodejs chromium chromium-driver python3-selenium
       fonts-noto-cjk"

packages=$build
[ "${1:-}" = "--tests" ] && packages="$build $tests"

missing=""
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-deps.sh: these packages are missing; install them as root:$missing" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "installing:$missing"
# A fresh machine has no package lists; one that has them may have old ones.
$sudo apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing
