#!/usr/bin/env bash
# Says what would keep a program or library from running on other machines: a newer C library than Debian 11's, other libraries, its size.
#   scripts/check-portable.sh FILE…
set -euo pipefail

[ $# -ge 1 ] || { echo "usage: $0 FILE…" >&2; exit 2; }
newest_glibc=2.31
most_bytes=$((32 << 20))
# What each system with glibc has.
everywhere='^(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux-x86-64)\.so'

failed=0
fail() {
  echo "error: $1" >&2
  failed=1
}

for file; do
  headers=$(objdump -p "$file") || { fail "$file cannot be read"; continue; }
  glibc=$( (grep -o 'GLIBC_[0-9.]*' <<< "$headers" | sed 's/GLIBC_//'; echo $newest_glibc) | sort -uV | tail -1)
  [ "$glibc" = $newest_glibc ] || fail "$file needs glibc $glibc, not only $newest_glibc"
  foreign=$(awk '/NEEDED/ {print $2}' <<< "$headers" | grep -vE "$everywhere" | paste -sd ' ' || true)
  [ -z "$foreign" ] || fail "$file needs $foreign"
  bytes=$(stat -c %s "$file")
  [ "$bytes" -le $most_bytes ] || fail "$file has $bytes bytes, more than $most_bytes"
done
exit $failed
