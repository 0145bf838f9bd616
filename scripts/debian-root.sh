#!/usr/bin/env bash
# Makes a folder with a Debian system in it, once; needs mmdebstrap and a Debian mirror (DEBIAN_MIRROR names another).
#   scripts/debian-root.sh sysroot SUITE FOLDER     what a program is linked against: libc, libelf and zlib, headers and libraries
#   scripts/debian-root.sh minbase SUITE FOLDER     the smallest system that runs; needs root to be entered by chroot
# Prints nothing but errors. A folder that is complete is left as it is.
set -euo pipefail

[ $# -eq 3 ] || { echo "usage: $0 sysroot|minbase SUITE FOLDER" >&2; exit 2; }
kind=$1 suite=$2 folder=$3
[ -e "$folder/.complete" ] && exit 0
command -v mmdebstrap >/dev/null || { echo "error: mmdebstrap is missing" >&2; echo "hint: sudo apt-get install mmdebstrap" >&2; exit 1; }

case $kind in
  sysroot) options=(--variant=extract --include=libc6-dev,libelf-dev,zlib1g-dev) ;;
  minbase) options=(--variant=minbase) ;;
  *) echo "error: $kind is neither sysroot nor minbase" >&2; exit 2 ;;
esac

# Whole or not at all: an interrupted one would be taken for complete.
rm -rf "$folder.new"
mkdir -p "$(dirname "$folder")"
mmdebstrap --quiet "${options[@]}" "$suite" "$folder.new" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
# An absolute link leads out of the folder, to this machine's libraries.
if [ "$kind" = sysroot ]; then
  find "$folder.new" -type l -lname '/*' -printf '%p %l\n' | while read -r link goal; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder.new$goal")" "$link"
  done
fi
touch "$folder.new/.complete"
rm -rf "$folder"
mv "$folder.new" "$folder"
