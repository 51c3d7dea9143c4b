#!/bin/sh
# Install the packages of the distribution that are missing: Debian, Ubuntu (apt), openEuler, Fedora
# (dnf).
#
#   scripts/install-deps.sh          what the program needs to be built
#   scripts/install-deps.sh --tests  what its tests need in addition (Debian and Ubuntu)
#   scripts/install-deps.sh --list   only print the names, one on a line
#
# Does nothing, and needs no rights, when everything is there.
set -eu

list=
tests=
for option; do
    case $option in
        --tests) tests=1 ;;
        --list) list=1 ;;
        *) echo "usage: scripts/install-deps.sh [--tests] [--list]" >&2; exit 2 ;;
    esac
done

if command -v apt-get >/dev/null; then
    manager=apt
    packages="gcc libc6-dev cmake ninja-build pkg-config
              libffi-dev libopenblas-dev libmpfr-dev libflint-dev libsleef-dev
              libcjson-dev zlib1g-dev libdeflate-dev libyaml-dev libexpat1-dev libsqlite3-dev libmicrohttpd-dev
              libssl-dev libjs-chart.js"
    # Arb is a library of its own up to FLINT 2 (Debian 12, Ubuntu 22.04), later a part of FLINT.
    # Without package lists nobody knows yet; see below.
    can_be_had() { apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'; }
    if can_be_had libflint-arb-dev || ! can_be_had libflint-dev; then
        packages="$packages libflint-arb-dev"
    fi
    # Oracles and tools of the tests: known-answer generator, other implementations of the same
    # operators, memory checker, analysers, shells, a browser.
    [ -z "$tests" ] || packages="$packages
              check libcsv-dev librandom123-dev libdnnl-dev python3-torch python3-numpy
              python3-openpyxl valgrind clang lld libclang-rt-dev clang-tidy clang-format cppcheck
              zsh fish nodejs chromium chromium-driver python3-selenium fonts-noto-cjk"
    is_installed()
    {
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
    }
elif command -v dnf >/dev/null; then
    manager=dnf
    packages="gcc glibc-devel cmake ninja-build pkgconf-pkg-config
              libffi-devel openblas-devel mpfr-devel flint-devel sleef-devel
              cjson-devel zlib-devel libdeflate-devel libyaml-devel expat-devel sqlite-devel libmicrohttpd-devel openssl-devel"
    # Not in every release: Arb of FLINT 2.
    for optional in arb-devel; do
        if dnf -q list "$optional" >/dev/null 2>&1; then packages="$packages $optional"; fi
    done
    if [ -n "$tests" ]; then
        echo "install-deps.sh: the tests are run on Debian; their packages have other names here" >&2
        exit 1
    fi
    is_installed() { rpm -q --quiet --whatprovides "$1"; }
else
    echo "install-deps.sh: neither apt-get nor dnf is here; docs/dependencies.md lists the libraries" >&2
    exit 1
fi

if [ -n "$list" ]; then
    printf '%s\n' $packages
    exit 0
fi

missing=""
for package in $packages; do
    is_installed "$package" || missing="$missing $package"
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
if [ $manager = dnf ]; then
    # shellcheck disable=SC2086
    exec $sudo dnf install -y -q $missing
fi
# A fresh machine has no package lists; one that has them may have old ones. The lists also say
# whether Arb is a package here, so the question is asked again.
$sudo apt-get update -qq
case $missing in
    *libflint-arb-dev*)
        can_be_had libflint-arb-dev ||
            missing=$(echo "$missing" | sed 's/libflint-arb-dev//') ;;
esac
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing
