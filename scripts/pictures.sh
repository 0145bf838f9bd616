#!/usr/bin/env bash
# Makes the pictures of docs/images from recordings made for them: the screens, and the terminal at the head of README.
#   scripts/pictures.sh DWELL [NAME…]      NAME is a picture, such as tcp-waits or terminal; without, all
# Needs root, the samples (make samples), node with web/node_modules (make web), and Chromium. The numbers are those of this machine.
set -euo pipefail

[ $# -ge 1 ] || { echo "usage: $0 DWELL [NAME...]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
dwell=$(realpath "$1")
shift
images=$root/docs/images
# A folder with a plain name, since it is seen in the pictures.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/results" "$folder/bin"
ln -s "$dwell" "$folder/bin/dwell"
export PATH=$folder/bin:$PATH

# The samples, whose places are short: ./convoy.c:20.
build() {
  cp -r "$root/samples" "$folder/samples"
  rm -rf "$folder/samples/bin"
  CFLAGS="-fdebug-prefix-map=$folder/samples=." CXXFLAGS="-fdebug-prefix-map=$folder/samples=." \
    make --no-print-directory -C "$folder/samples" "${@/#/bin/}" > /dev/null
}

record() {
  local name=$1
  shift
  (cd "$folder" && dwell collect threading --quiet --result-dir "results/$name" "$@" > /dev/null)
}

screens() {
  build output_module_tbb tcp_commands
  record module -- samples/bin/output_module_tbb
  record tcp --analyze threading,sockets -- samples/bin/tcp_commands
  record fixed --analyze threading,sockets -- samples/bin/tcp_commands --fixed
  (cd "$root/web" && node scripts/pictures.mjs "$dwell" "$folder/results" "$images" "$@")
}

terminal() {
  rm -rf "$folder/samples"
  build convoy
  (cd "$folder" && python3 "$root/scripts/terminal.py" "$images/terminal.svg" \
    'sudo dwell collect threading -- samples/bin/convoy' 'dwell report blame queue_lock --limit 3')
}

others=()
for name in "$@"; do
  [ "$name" = terminal ] || others+=("$name")
done
if [ $# -eq 0 ] || [ ${#others[@]} -gt 0 ]; then screens "${others[@]}"; fi
if [ $# -eq 0 ] || [ ${#others[@]} -lt $# ]; then terminal; fi
