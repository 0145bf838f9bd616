#!/usr/bin/env bash
# Fuzzes the readers of what others wrote, with libFuzzer, and writes the table of docs/fuzzing.md; needs a nightly Rust and cargo-fuzz.
#   scripts/fuzz.sh SECONDS [READER…]     each of the readers, or these, for so long; they are listed by `dwell-fuzz list`
# What the table says of earlier runs is added to.
#
# Two run side by side (FUZZ_SIDE sets another number), each on CPU time that nobody else wants. What they found so far is kept in the
# target folder and gone on from; the inputs that reach all code are put into fuzz/corpus. Exits with 1 when there is a finding.
set -euo pipefail

[ $# -ge 1 ] || { echo "usage: $0 SECONDS [READER…]" >&2; exit 2; }
cd "$(dirname "$0")/.."
seconds=$1; shift
side=${FUZZ_SIDE:-2}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
programs=$target/x86_64-unknown-linux-gnu/release
runs=$target/fuzz-runs
# Largest input that is kept, and most bytes of all of a reader's.
most_bytes=8192 most_kept=32768

cargo +nightly fuzz --version > /dev/null 2>&1 || {
  echo "error: fuzzing needs a nightly Rust and cargo-fuzz" >&2
  echo "hint: rustup toolchain install --profile minimal nightly && cargo install --locked cargo-fuzz" >&2
  exit 1
}
[ -n "${FUZZ_BUILT:-}" ] || cargo +nightly fuzz build
cargo build -q -p dwell-fuzz
tool=$target/debug/dwell-fuzz
[ $# -gt 0 ] || mapfile -t readers < <("$tool" list)
[ $# -eq 0 ] || readers=("$@")

# In memory: readers of paths write a file for each input.
scratch=$(mktemp -d /dev/shm/fuzzing.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

libfuzzer() {
  local name=$1; shift
  TMPDIR=$scratch chrt --idle 0 "$programs/$name" -timeout=120 -rss_limit_mb=2048 -detect_leaks=0 "$@"
}

# One reader: fuzzes it, then keeps what reaches all code that was reached.
fuzz() {
  local name=$1 work=$runs/$1 begin=$SECONDS status=0
  mkdir -p "$work/inputs" "$work/seeds" "fuzz/corpus/$name"
  "$tool" seeds "$name" "$work/seeds"
  libfuzzer "$name" -max_total_time="$seconds" -max_len=65536 -print_final_stats=1 -artifact_prefix="$work/" \
    "$work/inputs" "fuzz/corpus/$name" "$work/seeds" > "$work/log" 2>&1 || status=$?
  echo "seconds: $((SECONDS - begin))" >> "$work/log"
  [ $status -eq 0 ] || echo "$name: a finding; $work/log says what, the input is beside it"
  keep "$name" "$work"
}

# The smallest set of small inputs that reaches the same code, the smallest ones first.
keep() {
  local name=$1 work=$2 kept=0 bytes file
  rm -rf "$work/least"
  mkdir "$work/least"
  libfuzzer "$name" -set_cover_merge=1 -use_counters=0 -max_len=$most_bytes "$work/least" "$work/inputs" "fuzz/corpus/$name" "$work/seeds" \
    > "$work/keep.log" 2>&1 || { echo "$name: its inputs could not be minimised; see $work/keep.log"; return; }
  find "fuzz/corpus/$name" -type f -delete
  while read -r bytes file; do
    kept=$((kept + bytes))
    [ $kept -gt $most_kept ] || cp "$file" "fuzz/corpus/$name/"
  done < <(find "$work/least" -type f -printf '%s %p\n' | sort -n)
}

for name in "${readers[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$side" ]; do wait -n || true; done
  echo "$name"
  fuzz "$name" &
done
wait
"$tool" table "$runs" docs/fuzzing.md > "$scratch/table"
sed -i -e "/^<!-- table -->$/,/^<!-- end -->$/{/^<!-- table -->$/r $scratch/table
/^<!--/!d}" docs/fuzzing.md
found=0
for log in "$runs"/*/log; do
  ! grep -HE '^(SUMMARY|==[0-9]+==ERROR)|libFuzzer: (timeout|out-of-memory|deadly signal)' "$log" || found=1
  mv "$log" "$log.counted"
done
exit $found
