#!/usr/bin/env bash
# Builds the packages: a .deb, a tarball, the debug files of both, and SHA256SUMS, in TARGET/dist.
#   scripts/dist.sh TARGET      TARGET is cargo's target folder; SOURCE_DATE_EPOCH is the time of all files, else the commit's
#
# The program is linked against the C library of Debian 11, so that it runs on every system with glibc 2.31 or newer, with libelf
# and zlib inside. Two builds of the same commit by the same compilers have the same bytes, wherever they lie.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 TARGET" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
target=$(realpath "$1")
build=$target/packages
out=$target/dist
# As the compiler names it.
sysroot=$(realpath -m "$target/roots/sysroot-bullseye")
libraries=$sysroot/usr/lib/x86_64-linux-gnu
cargo_home=${CARGO_HOME:-$HOME/.cargo}
cd "$root"

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export LC_ALL=C TZ=UTC
umask 022
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

# Compiles and links for the older system. The flags are in a file, not in RUSTFLAGS, from which cargo makes symbols' hashes. By
# --sysroot alone gcc would look in its own folders first, where this machine's C library lies. What was compiled by another compiler is
# compiled again: makefiles of libraries do not know.
write_compiler() {
  mkdir -p "$build"
  cat > "$build/cc.new" <<SCRIPT
#!/bin/sh
exec gcc --sysroot='$sysroot' -B'$libraries/' -L'$libraries' -L'$sysroot/lib/x86_64-linux-gnu' -ffile-prefix-map='$cargo_home'=/cargo -ffile-prefix-map='$build'=/build \
  -ffile-prefix-map='$root'=/dwell -ffile-prefix-map='$sysroot'=/sysroot -fno-canonical-system-headers -Wl,--build-id=sha1 "\$@"
SCRIPT
  cmp -s "$build/cc.new" "$build/cc" || rm -rf "$build/dist"
  mv "$build/cc.new" "$build/cc"
  chmod +x "$build/cc"
}

compile() {
  CC=$build/cc CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=$build/cc LIBBPF_SYS_LIBRARY_PATH=$libraries \
    RUSTFLAGS="--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$build=/build --remap-path-prefix=$root=/dwell" \
    cargo build --locked --profile dist --package dwell --features static --target-dir "$build"
}

# The program, and the libraries for other programs that lie in it.
check() {
  local libraries
  mapfile -t libraries < <(find "$build/dist/build" -path '*/out/*/release/libdwell_*.so')
  [ ${#libraries[@]} -ge 2 ] || { echo "error: libdwell_itt.so and libdwell_qemu.so are not in $build" >&2; exit 1; }
  scripts/check-portable.sh "$1" "${libraries[@]}"
}

# The files as they are installed, below usr, and the debug file below debug.
stage() {
  local usr=$build/stage/usr program=$build/stage/usr/bin/dwell id debug
  rm -rf "$build/stage" "$build/debug"
  mkdir -p "$usr"/{bin,share/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,doc/dwell/examples,lintian/overrides}}
  cp "$build/dist/dwell" "$program"
  id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
  debug=$build/debug/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
  mkdir -p "$(dirname "$debug")"
  objcopy --only-keep-debug --compress-debug-sections=zlib "$program" "$debug"
  strip --strip-all --remove-section=.comment "$program"
  "$program" man | gzip -9n > "$usr/share/man/man1/dwell.1.gz"
  "$program" completions bash > "$usr/share/bash-completion/completions/dwell"
  "$program" completions zsh > "$usr/share/zsh/vendor-completions/_dwell"
  "$program" completions fish > "$usr/share/fish/vendor_completions.d/dwell.fish"
  cp packaging/debian/copyright README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$usr/share/doc/dwell/"
  cp packaging/agent/dwell-agent.service packaging/agent/agent.toml "$usr/share/doc/dwell/examples/"
  cp -r docs "$usr/share/doc/dwell/docs"
  # The site too, where `make docs` has built it: then builds have the same bytes only if both have it.
  if [ -e "$target/docs/index.html" ]; then
    cp -r "$target/docs" "$usr/share/doc/dwell/html"
  else
    echo 'the documentation is packed as it is, without the site: make docs builds it'
  fi
  printf '%s\n' "dwell ($version) unstable; urgency=medium" '' '  * CHANGELOG.md says what is new.' '' \
    " -- $(sed -n 's/^Maintainer: //p' packaging/debian/dwell.control)  $(date -R --date="@$SOURCE_DATE_EPOCH")" |
    gzip -9n > "$usr/share/doc/dwell/changelog.gz"
  cp packaging/debian/dwell.lintian-overrides "$usr/share/lintian/overrides/dwell"
  chmod -R u=rwX,go=rX "$build/stage" "$build/debug"
  find "$build/stage" "$build/debug" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# deb FOLDER NAME: FOLDER as a package; its control file and scripts come from packaging/debian.
deb() {
  local folder=$1 name=$2 size script
  size=$(find "$folder/usr" -type f -printf '%s\n' | awk '{bytes += $1} END {print int(bytes / 1024)}')
  mkdir -p "$folder/DEBIAN"
  # The packages share dwell's documentation: changelog and licences.
  if [ ! -e "$folder/usr/share/doc/$name" ]; then
    mkdir -p "$folder/usr/share/doc"
    ln -s dwell "$folder/usr/share/doc/$name"
    find "$folder/usr" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  fi
  sed "s/@VERSION@/$version/; s/@SIZE@/$size/" "packaging/debian/$name.control" > "$folder/DEBIAN/control"
  for script in config postinst postrm; do
    [ ! -e "packaging/debian/$name.$script" ] || install -m 755 "packaging/debian/$name.$script" "$folder/DEBIAN/$script"
  done
  [ ! -e "packaging/debian/$name.templates" ] || install -m 644 "packaging/debian/$name.templates" "$folder/DEBIAN/templates"
  (cd "$folder" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$folder/DEBIAN/md5sums"
  chmod -R u=rwX,go=rX "$folder/DEBIAN"
  find "$folder/DEBIAN" -exec touch --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$folder" "$out/${name}_${version}_amd64.deb" > /dev/null
}

# tarball FOLDER NAME: what lies in FOLDER, in a folder NAME.
tarball() {
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
    --transform "s,^\.,$2," --exclude=./DEBIAN --directory "$1" . | xz -6 -T1 > "$out/$2.tar.xz"
}

"$root/scripts/debian-root.sh" sysroot bullseye "$sysroot"
write_compiler
compile
stage
check "$build/stage/usr/bin/dwell"
rm -rf "$out"
mkdir -p "$out"
tarball "$build/stage/usr" "dwell-$version-x86_64-linux"
tarball "$build/debug/usr" "dwell-$version-x86_64-linux-debug"
deb "$build/stage" dwell
deb "$build/debug" dwell-dbgsym
(cd "$out" && sha256sum -- *.deb *.tar.xz > SHA256SUMS)
echo "made $out:"
(cd "$out" && ls -l --time-style=+ | awk 'NR > 1 {printf "  %9.1f MB  %s\n", $5 / 1e6, $6}')
