# Shared by ./run, ./test and bench/run; source it from the top of the repository. Needs bash and nothing else.
#
#   setup_packages g++ cmake ...   installs what dpkg does not list as installed; no network when nothing is missing
#   build_preset PRESET TARGET...  configures on first use and builds

BUILD_PACKAGES=(g++ cmake ninja-build libcli11-dev libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libpugixml-dev
                zlib1g-dev)
TEST_PACKAGES=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3)

say() { printf '%s\n' "== $*"; }
complain() { printf '%s\n' "$*" >&2; }

# Names from the arguments that are not installed.
missing_packages() {
  local installed name
  installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    case "$installed" in *" installed=$name "*) ;; *) printf '%s ' "$name" ;; esac
  done
}

# Runs apt-get as whoever may do so; its words go to the log. Status 2 where nobody may.
setup_packages() {
  local missing log=build/apt.log
  local -a names as_root=()
  if ! command -v dpkg-query >/dev/null 2>&1; then
    complain "This is not Debian: please provide the equivalents of: $*"
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  read -ra names <<<"$missing"
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo_works; then
      complain "Some packages are missing, and this user can neither install them nor use sudo. As root, run:"
      complain "  apt-get update && apt-get install -y --no-install-recommends ${names[*]}"
      return 2
    fi
    as_root=(sudo)
  fi
  mkdir -p build
  say "installing with apt: ${names[*]} (log: $log)"
  # A package list that is partly stale still installs most things, so only the second command decides.
  if ! { "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update || true
         "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
           -o Dpkg::Use-Pty=0 install --no-install-recommends "${names[@]}"
       } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    complain "apt could not install the packages; the whole log is in $log"
    return 2
  fi
}

# Without a password, or with one where somebody is there to type it.
sudo_works() {
  command -v sudo >/dev/null 2>&1 || return 1
  sudo -n true >/dev/null 2>&1 && return 0
  [ -t 0 ] && [ -t 2 ] && sudo -v
}

build_preset() {
  local preset=$1 log=build/$1.log
  local -a launcher=()
  shift
  mkdir -p build
  # ccache is used where it happens to be there and can write its folder.
  if command -v ccache >/dev/null 2>&1 && ccache -s >/dev/null 2>&1; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  say "building $preset (log: $log)"
  if [ ! -f "build/$preset/build.ninja" ] || [ CMakePresets.json -nt "build/$preset/build.ninja" ]; then
    if ! LC_ALL=C CXX=${CXX:-g++} cmake --preset "$preset" "${launcher[@]}" >"$log" 2>&1 </dev/null; then
      tail -n 40 "$log" >&2
      complain "configuring failed; the whole log is in $log. After a change of compiler, remove build/$preset."
      return 2
    fi
    sed -n '/^-- busbar /,$ s/^--   / /p' "$log" | grep -v -E ' (Configuring|Generating) done' || true
  fi
  if ! LC_ALL=C cmake --build "build/$preset" --target "$@" >>"$log" 2>&1 </dev/null; then
    grep -nE 'error|FAILED|undefined reference' "$log" | head -n 20 >&2 || true
    tail -n 40 "$log" >&2
    complain "building failed; the whole log is in $log"
    return 2
  fi
}
