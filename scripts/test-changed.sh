#!/usr/bin/env bash
# Runs the unit tests of each crate with changes that are not committed; without any, of those of the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

changed() {
  git diff --name-only "$1" -- 'crates/*/src/*' 'crates/*/Cargo.toml'
  git ls-files --others --exclude-standard -- 'crates/*/src/*'
}

files=$(changed HEAD)
[ -n "$files" ] || files=$(changed HEAD~1)
libraries=() programs=()
for folder in $(cut -d/ -f2 <<< "$files" | sort -u); do
  manifest=crates/$folder/Cargo.toml
  [ -e "$manifest" ] || continue
  name=$(sed -n '0,/^name = /s/^name = "\(.*\)"/\1/p' "$manifest")
  if [ -e "crates/$folder/src/lib.rs" ]; then libraries+=(-p "$name"); else programs+=(-p "$name"); fi
done
[ ${#libraries[@]} -eq 0 ] || cargo test --quiet --lib "${libraries[@]}"
[ ${#programs[@]} -eq 0 ] || cargo test --quiet --bins "${programs[@]}"
