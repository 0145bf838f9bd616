#!/usr/bin/env bash
# Licences, sources, duplicates and known vulnerabilities of the crates that Dwell is made of (deny.toml), where cargo-deny is installed.
# What cannot be checked here is said and counted, and no failure: cargo-deny may be missing, and vulnerabilities need the network.
set -euo pipefail
cd "$(dirname "$0")/.."

skipped() {
  echo "make lint: $1 skipped: $2"
  exit 0
}

command -v cargo-deny > /dev/null || skipped '2 checks of crates' 'cargo-deny is not installed (cargo install --locked cargo-deny)'
cargo deny --locked check bans licenses sources
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
timeout 120 cargo deny --locked check advisories > "$log" 2>&1 || status=$?
[ $status -ne 0 ] || exit 0
cat "$log" >&2
# A list that could not be fetched is no finding; a finding names the crate's advisory.
if ! grep -qE '(RUSTSEC|GHSA)-|yanked' "$log"; then
  skipped '1 check of crates' 'the list of known vulnerabilities could not be fetched'
fi
exit $status
