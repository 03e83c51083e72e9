# Shared by tools/check_bare and tools/check_package; source it from the top of the repository.
#
#   enter_namespace "$@"        $work is then a folder for trees and logs, removed at the end unless keep=1
#   make_tree NAME [PACKAGE]    the smallest Debian 12 in $work/NAME, whose apt finds what apt on this machine finds

# Runs the script again in a namespace, where its mounts and processes end with it, and makes the folder $work.
enter_namespace() {
  [ "$(id -u)" -eq 0 ] || { echo "$0 needs root: debootstrap and chroot do" >&2; exit 2; }
  command -v debootstrap >/dev/null || { echo "run: apt-get install debootstrap" >&2; exit 2; }
  if [ "${BUSBAR_BARE_NAMESPACE:-}" != yes ]; then
    BUSBAR_BARE_NAMESPACE=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
  fi
  mount --make-rprivate /
  work=$(mktemp -d "${TMPDIR:-/tmp}/busbar-bare.XXXXXX")
  trap cleanup EXIT
}

cleanup() {
  local tree
  for tree in "$work"/*/; do
    umount "$tree/proc" 2>/dev/null || true
  done
  if [ "${keep:-0}" = 1 ]; then echo "trees are in $work"; else rm -rf --one-file-system "$work"; fi
}

say() { printf '%s\n' "-- $*"; }
fail() { printf '%s\n' "FAILED: $*" >&2; exit 1; }

# The first address of a Debian archive that apt on this machine uses for bookworm itself.
mirror() {
  local address suite
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u |
    while read -r address suite; do
      if [ "$suite" = bookworm ] && [ "${address#*security}" = "$address" ]; then echo "$address"; break; fi
    done
}

# apt in the tree finds what apt on this machine finds.
copy_apt_settings() {
  local tree=$1 part
  rm -f "$tree/etc/apt/sources.list"
  for part in sources.list sources.list.d apt.conf apt.conf.d auth.conf auth.conf.d trusted.gpg trusted.gpg.d keyrings; do
    [ ! -e "/etc/apt/$part" ] || cp -a "/etc/apt/$part" "$tree/etc/apt/"
  done
  mkdir -p "$tree/usr/share/keyrings" "$tree/usr/local/share/ca-certificates" "$tree/etc/ssl"
  cp -a /usr/share/keyrings/. "$tree/usr/share/keyrings/"
  cp -aL /etc/resolv.conf /etc/hosts "$tree/etc/"
  [ ! -d /etc/ssl/certs ] || cp -aL /etc/ssl/certs "$tree/etc/ssl/" 2>/dev/null || true
}

make_tree() {  # NAME [EXTRA_PACKAGE]
  local tree=$work/$1 extra=${2:+--include=$2}
  say "debootstrap minbase for '$1'"
  # shellcheck disable=SC2086
  debootstrap --variant=minbase $extra bookworm "$tree" "$(mirror)" >"$work/$1.debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/$1.debootstrap.log" >&2; fail "debootstrap"; }
  copy_apt_settings "$tree"
  rm -rf "${tree:?}"/var/lib/apt/lists/*  # as on a fresh image
  mount -t proc proc "$tree/proc"
}
