#!/bin/sh
# A step of scripts/test-dist.sh in a fresh system: the package as it comes (plain), or with yes to debconf's question (group).
# The capabilities of the installed program are in /tmp/capabilities.
set -eu
export DEBIAN_FRONTEND=noninteractive
cd /tmp

fail() {
  echo "error: $1" >&2
  exit 1
}

quietly() {
  "$@" > /tmp/log 2>&1 || { cat /tmp/log; fail "$*"; }
}

# Every file but logs and copies of older states, and all groups.
state() {
  find / -xdev \( -path /tmp -o -path /home -o -path /var/log -o -path /var/cache -o -name '*-old' \) -prune -o -print | sort
  cat /etc/group
}

# records USER: its recording has the lock and the line that waits for it.
records() {
  user=$1
  rm -rf /tmp/result
  quietly su "$user" -c "cd /tmp && dwell collect threading --source bpf --quiet --result-dir /tmp/result -- /tmp/convoy"
  quietly su "$user" -c "dwell report waits /tmp/result"
  grep -q "queue_lock.*mutex" /tmp/log || { cat /tmp/log; fail "no queue_lock"; }
  quietly su "$user" -c "dwell report blame queue_lock /tmp/result"
  grep -q "push_item" /tmp/log || { cat /tmp/log; fail "no push_item"; }
}

is_gone() {
  quietly dpkg --purge dwell
  state > /tmp/after
  diff /tmp/before /tmp/after || fail "the purged package left this"
  if grep -q dwell /var/cache/debconf/*.dat; then fail "debconf still knows dwell"; fi
}

case $1 in
  plain-install)
    state > /tmp/before
    quietly dpkg --install /tmp/dwell.deb
    ;;
  plain-use)
    if test -s /tmp/capabilities; then fail "it has capabilities that nobody has agreed to"; fi
    test "$(stat -c '%a %U %G' /usr/bin/dwell)" = "755 root root" || fail "not everybody may run it"
    dwell --version
    dwell doctor > /tmp/doctor || [ $? -le 1 ] || { cat /tmp/doctor; fail "dwell doctor"; }
    records root
    for file in man/man1/dwell.1.gz bash-completion/completions/dwell zsh/vendor-completions/_dwell fish/vendor_completions.d/dwell.fish doc/dwell/changelog.gz; do
      test -s "/usr/share/$file" || fail "/usr/share/$file is missing"
    done
    ;;
  group-install)
    useradd --create-home member
    useradd --create-home stranger
    state > /tmp/before
    echo "dwell dwell/capabilities boolean true
dwell dwell/group string profilers" | debconf-set-selections
    quietly dpkg --install /tmp/dwell.deb
    # The same version again stands for an upgrade.
    quietly dpkg --install /tmp/dwell.deb
    ;;
  group-use)
    for capability in bpf perfmon sys_ptrace syslog dac_read_search; do
      grep -q "cap_$capability" /tmp/capabilities || fail "without cap_$capability: $(cat /tmp/capabilities)"
    done
    test "$(stat -c '%a %U %G' /usr/bin/dwell)" = "750 root profilers" || fail "$(stat -c '%a %U %G' /usr/bin/dwell)"
    usermod -aG profilers member
    records member
    if su stranger -c "dwell --version" > /tmp/log 2>&1; then fail "a stranger may run it"; fi
    # The answer changes, and again.
    echo "dwell dwell/capabilities boolean false" | debconf-set-selections
    quietly dpkg-reconfigure dwell
    test "$(stat -c '%a %U %G' /usr/bin/dwell)" = "755 root root" || fail "no to the question has no effect"
    quietly su stranger -c "dwell --version"
    echo "dwell dwell/capabilities boolean true" | debconf-set-selections
    quietly dpkg-reconfigure dwell
    ;;
  plain-end | group-end) is_gone ;;
  *) fail "unknown step $1" ;;
esac
