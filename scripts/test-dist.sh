#!/usr/bin/env bash
# Installs the package of `make dist` in fresh systems of Debian 11, 12 and 13 and lets it record there; needs root.
#   scripts/test-dist.sh TARGET      TARGET is cargo's target folder; the systems are kept in TARGET/roots
# A system that cannot be fetched is skipped, and counted.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 TARGET" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
target=$(realpath "$1")
cd "$root"
package=$(echo "$target"/dist/dwell_*.deb)
[ -e "$package" ] || { echo "error: no package in $target/dist" >&2; echo "hint: make dist" >&2; exit 1; }
(cd "$target/dist" && sha256sum --quiet --check SHA256SUMS)

# Everything of a test lies in a folder in memory over the system, in a mount namespace of its own: nothing stays.
in_system() {
  local system=$1 sample=$2
  mount -t tmpfs -o mode=755 tmpfs /mnt
  mkdir /mnt/upper /mnt/work /mnt/root
  mount -t overlay overlay -o "lowerdir=$system,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
  for folder in proc sys dev; do mount --rbind "/$folder" "/mnt/root/$folder"; done
  cp "$package" /mnt/root/tmp/dwell.deb
  cp "$sample" /mnt/root/tmp/convoy
  chroot /mnt/root /bin/sh -c "$inside"
}

inside='set -eu
export DEBIAN_FRONTEND=noninteractive
dpkg --install /tmp/dwell.deb > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
dwell --version
dwell doctor > /tmp/doctor || [ $? -le 1 ] || { cat /tmp/doctor; exit 1; }
grep -q "^" /tmp/doctor
cd /tmp
dwell collect threading --quiet --result-dir /tmp/result -- /tmp/convoy > /dev/null
dwell report waits /tmp/result > /tmp/waits
grep "queue_lock.*mutex" /tmp/waits || { cat /tmp/waits; exit 1; }
dwell report blame queue_lock /tmp/result > /tmp/blame
grep -q "push_item" /tmp/blame || { cat /tmp/blame; exit 1; }
test -s /usr/share/bash-completion/completions/dwell
dpkg --purge dwell > /dev/null 2>&1
if test -e /usr/bin/dwell; then exit 1; fi'

export package inside
export -f in_system
passed=0 failed=0 skipped=0
mkdir -p "$target/roots"
for suite in bullseye bookworm trixie; do
  system=$target/roots/$suite
  if ! scripts/debian-root.sh minbase $suite "$system" 2> "$target/roots/$suite.log"; then
    echo "SKIP $suite: $(tail -1 "$target/roots/$suite.log")"
    skipped=$((skipped + 1))
  # The program to record is made for the oldest of them.
  elif "$target/packages/cc" -O1 -g -pthread -o "$target/packages/convoy" samples/convoy.c &&
    unshare --mount --propagation private bash -euo pipefail -c 'in_system "$@"' bash "$system" "$target/packages/convoy"; then
    echo "ok   $suite"
    passed=$((passed + 1))
  else
    echo "FAIL $suite"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
