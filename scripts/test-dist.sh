#!/usr/bin/env bash
# Installs the package of `make dist` in fresh systems of Debian 11, 12 and 13 and lets it record there, as root and as a member of
# a group; the program of the tarball records there as on another machine (--target ssh:). Needs root.
#   scripts/test-dist.sh TARGET      TARGET is cargo's target folder; the systems are kept in TARGET/roots
# A system that cannot be fetched is skipped, and counted.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 TARGET" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
target=$(realpath "$1")
cd "$root"
package=$(echo "$target"/dist/dwell_*.deb)
tarball=$(find "$target/dist" -name 'dwell-*-linux.tar.xz')
[ -e "$package" ] || { echo "error: no package in $target/dist" >&2; echo "hint: make dist" >&2; exit 1; }
(cd "$target/dist" && sha256sum --quiet --check SHA256SUMS)
lintian --fail-on error "$target"/dist/*.deb

# Everything of a test lies in a folder in memory over the system, in a mount namespace of its own: nothing stays.
in_system() {
  local system=$1 sample=$2 check=$3
  mount -t tmpfs -o mode=755 tmpfs /mnt
  mkdir /mnt/upper /mnt/work /mnt/root
  mount -t overlay overlay -o "lowerdir=$system,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
  for folder in proc sys dev; do mount --rbind "/$folder" "/mnt/root/$folder"; done
  cp "$package" /mnt/root/tmp/dwell.deb
  cp scripts/test-dist-inside.sh /mnt/root/tmp/inside
  install -m 755 "$sample" /mnt/root/tmp/convoy
  [ "$check" != plain ] || over_ssh
  # The small systems have no getcap: capabilities are looked at from here.
  chroot /mnt/root /bin/sh /tmp/inside "$check-install"
  getcap /mnt/root/usr/bin/dwell > /mnt/root/tmp/capabilities
  chroot /mnt/root /bin/sh /tmp/inside "$check-use"
  chroot /mnt/root /bin/sh /tmp/inside "$check-end"
}

# The program of the tarball sends itself into the system, where nothing of Dwell is. Instead of ssh, chroot goes there.
over_ssh() {
  local here=/mnt/here ssh=/mnt/here/ssh
  mkdir $here
  tar --extract --xz --file "$tarball" --directory $here --strip-components 1
  printf '%s\n' '#!/bin/sh' 'case " $* " in *" -O exit "*) exit ;; esac' 'for script; do :; done' \
    'exec chroot /mnt/root /bin/sh -c "$script"' > $ssh
  chmod +x $ssh
  DWELL_SSH=$ssh $here/bin/dwell collect threading --source bpf --quiet --target ssh:system --result-dir $here/result -- /tmp/convoy > $here/log
  $here/bin/dwell report waits $here/result | grep -q 'queue_lock.*mutex' || { echo "error: no queue_lock in the result that came back" >&2; exit 1; }
  # Nothing of it stays there.
  [ -z "$(find /mnt/root/tmp -mindepth 1 ! -name dwell.deb ! -name inside ! -name convoy)" ] || { ls -la /mnt/root/tmp >&2; exit 1; }
}

export package tarball
export -f in_system over_ssh
passed=0 failed=0 skipped=0
mkdir -p "$target/roots"
for suite in bullseye bookworm trixie; do
  system=$target/roots/$suite
  if ! scripts/debian-root.sh minbase $suite "$system" 2> "$target/roots/$suite.log"; then
    echo "SKIP $suite: $(tail -1 "$target/roots/$suite.log")"
    skipped=$((skipped + 1))
    continue
  fi
  # The program to record is made for the oldest of them.
  "$target/packages/cc" -O1 -g -pthread -o "$target/packages/convoy" samples/convoy.c
  for check in plain group; do
    if unshare --mount --propagation private bash -euo pipefail -c 'in_system "$@"' bash "$system" "$target/packages/convoy" $check; then
      echo "ok   $suite: $check"
      passed=$((passed + 1))
    else
      echo "FAIL $suite: $check"
      failed=$((failed + 1))
    fi
  done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
