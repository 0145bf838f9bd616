#!/usr/bin/env bash
# Downloads kernels of Debian for guests: FOLDER/NAME has the package and its image, `vmlinuz`. What is there stays: delete it
# to have the newest again. The machine's own package lists and sources are neither read nor changed, but for its mirror.
#   scripts/fetch-kernels.sh FOLDER NAME…      NAME is VERSION-FLAVOUR: 6.1-amd64, 6.12-cloud-amd64, unstable-rt-amd64
set -euo pipefail

declare -A suites=([5.10]=bullseye [6.1]=bookworm [6.12]=trixie [unstable]=unstable)
keys=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
  echo "error: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

# The mirror of Debian that this machine uses.
mirror() {
  [ -z "${DEBIAN_MIRROR:-}" ] || { echo "$DEBIAN_MIRROR"; return; }
  apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1; exit }'
}

# apt with nothing but one suite, in a folder of its own.
apt_of() {
  local suite=$1 tool=$2; shift 2
  local own=$folder/.apt/$suite
  "$tool" -qq -o Dir::Etc::SourceList="$own/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null \
    -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State::Lists="$own/lists" -o Dir::Cache="$own/cache" \
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User="$(id -un)" "$@"
}

update() {
  local suite=$1 own=$folder/.apt/$1
  [ ! -e "$own/updated" ] || return 0
  mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
  echo "deb [arch=amd64 signed-by=$keys] $archive $suite main" > "$own/sources"
  apt_of "$suite" apt-get update >&2
  touch "$own/updated"
}

# What a package depends on that begins so.
needed() {
  local suite=$1 package=$2 begin=$3
  apt_of "$suite" apt-cache depends --important "$package" | awk -v begin="$begin" '$1 == "Depends:" && index($2, begin) == 1 { print $2; exit }'
}

# The package with the image: since 7.2 the one called linux-image only depends on it.
package_of() {
  local suite=$1 flavour=$2 image binary
  image=$(needed "$suite" "linux-image-$flavour" linux-image-)
  binary=$(needed "$suite" "$image" linux-binary-)
  echo "${binary:-$image}"
}

fetch() {
  local name=$1 suite flavour package
  suite=${suites[${name%%-*}]:-} flavour=${name#*-}
  [ -n "$suite" ] || fail "no kernel is called $name" "VERSION-FLAVOUR, with one of the versions ${!suites[*]}"
  update "$suite"
  package=$(package_of "$suite" "$flavour")
  [ -n "$package" ] || fail "Debian's $suite has no linux-image-$flavour" "the flavours are amd64, cloud-amd64 and rt-amd64"
  echo "downloading $package of Debian's $suite" >&2
  rm -rf "$folder/.new"
  mkdir -p "$folder/.new"
  (
    cd "$folder/.new"
    apt_of "$suite" apt-get download "$package"
    dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards --transform='s,.*,vmlinuz,' '*/vmlinuz*'
  )
  mv -T "$folder/.new" "$folder/$name"
}

[ $# -ge 2 ] || { echo "usage: $0 FOLDER NAME…" >&2; exit 2; }
folder=$(realpath -m "$1")
shift
missing=()
for name in "$@"; do
  [ -e "$folder/$name/vmlinuz" ] || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0
command -v apt-get > /dev/null || fail "kernels for guests come from Debian's packages, and there is no apt-get here" "apt-get install apt, on a distribution that has it"
[ -e "$keys" ] || fail "there is no $keys to check Debian's packages with" "apt-get install debian-archive-keyring"
archive=$(mirror)
[ -n "$archive" ] || fail "this machine's sources of packages have no mirror of Debian" "DEBIAN_MIRROR=URL $0 $folder ${missing[*]}"
rm -f "$folder"/.apt/*/updated
for name in "${missing[@]}"; do
  fetch "$name"
done
