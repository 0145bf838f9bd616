#!/usr/bin/env bash
# Installs what building, testing and benchmarking need: Debian packages, by name. Idempotent; needs root and a Debian mirror only for what is missing.
#   scripts/install-deps.sh build | test | bench      each includes the one before it
#   scripts/install-deps.sh dist                      what making and testing packages needs
set -euo pipefail

build=(clang-19 llvm-19 clang-format-19 libelf-dev zlib1g-dev pkg-config gcc make)
samples=(g++ libtbb-dev)
test=(libomp5-19 redis-server redis-tools nginx-light wrk pigz xz-utils memcached postgresql openmpi-bin libopenmpi-dev python3 util-linux binutils curl gdb openssl openssh-client openssh-server iproute2 mount libcap2-bin libipt2 qemu-user strace libabsl-dev haproxy sysbench tmux)
# What programs of samples/cases use.
test+=(dbus-daemon fuse3 libfuse3-dev libglib2.0-dev libspdlog-dev python3-gi)
# Guests with other kernels, which scripts/fetch-kernels.sh downloads.
test+=(qemu-system-x86 busybox-static)
# Code made at run time: a Java of any making, and node from below.
command -v javac >/dev/null || test+=(default-jdk-headless)
bench=(iperf3 linux-perf valgrind bpfcc-tools)
command -v go >/dev/null || bench+=(golang-go)
dist=(binutils dpkg-dev git libcap2-bin lintian mmdebstrap mount util-linux xz-utils)

# The web UI. A Node.js from elsewhere than Debian does as well.
web=()
command -v node >/dev/null && command -v npm >/dev/null || web=(nodejs npm)
browser=(chromium fonts-dejavu-core)

case "${1:-build}" in
  build) wanted=("${build[@]}" "${samples[@]}" "${web[@]}") ;;
  test) wanted=("${build[@]}" "${samples[@]}" "${web[@]}" "${test[@]}" "${browser[@]}") ;;
  bench) wanted=("${build[@]}" "${samples[@]}" "${web[@]}" "${test[@]}" "${browser[@]}" "${bench[@]}") ;;
  dist) wanted=("${build[@]}" "${web[@]}" "${dist[@]}") ;;
  *) echo "usage: $0 build|test|bench|dist" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "error: these Debian packages are missing: ${missing[*]}" >&2
  echo "hint: sudo apt-get install -y ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# No service of these packages may start on the machine: the tests start their own, on loopback.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"; chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
