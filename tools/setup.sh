# Shared by ./run, ./test and bench/run; source it from the top of the repository. Needs bash and nothing else.
#
#   setup_packages g++ cmake ...   installs packages that dpkg does not list; uses no network if none is missing
#   build_preset PRESET TARGET...  configures on first use and builds

BUILD_PACKAGES=(g++ cmake ninja-build libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libpugixml-dev libsqlite3-dev libarchive-dev libevent-dev)
PORTABLE_PACKAGES=(libbz2-dev liblzma-dev libzstd-dev nettle-dev zlib1g-dev)  # archives that preset portable links too
PACKAGING_PACKAGES=(file dpkg-dev)  # without them cpack would make Debian packages without dependencies
TEST_PACKAGES=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3 python3-yaml)
# Without them the tests of mpirun, UCX and libfabric, of types and of tables of Python, and of JSON Schemas are skipped.
OPTIONAL_TEST_PACKAGES=(libopenmpi-dev openmpi-bin libucx-dev libfabric-dev mypy python3-numpy python3-pandas python3-jsonschema)

say() { printf '%s\n' "== $*"; }
complain() { printf '%s\n' "$*" >&2; }

# The arguments that are not installed.
missing_packages() {
  local installed name
  installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    case "$installed" in *" installed=$name "*) ;; *) printf '%s ' "$name" ;; esac
  done
}

# Runs apt-get as root or with sudo; its output goes to the log. Status 2 if neither is possible.
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
  # A partly stale package list still installs most packages, so only the second command decides.
  if ! { "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update || true
         "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
           -o Dpkg::Use-Pty=0 install --no-install-recommends "${names[@]}"
       } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    complain "apt could not install the packages; the whole log is in $log"
    return 2
  fi
}

# Without a password, or with one if a user can type it.
sudo_works() {
  command -v sudo >/dev/null 2>&1 || return 1
  sudo -n true >/dev/null 2>&1 && return 0
  [ -t 0 ] && [ -t 2 ] && sudo -v
}

# Runs COMMAND, whose ninja numbers its steps. Every line goes to the log. A terminal shows the last finished step, the
# progress and the time left; otherwise there is a line for every tenth.
follow_build() {  # LOG COMMAND...
  local log=$1
  shift
  LC_ALL=C NINJA_STATUS='[%f/%t] ' "$@" 2>&1 </dev/null | show_progress "$log"
  return "${PIPESTATUS[0]}"
}

show_progress() {  # LOG
  local line done total tenth=0 begin=$SECONDS terminal=no
  [ ! -t 1 ] || terminal=yes
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    [ "$total" -ge 20 ] || continue  # only a few files have changed
    if [ "$terminal" = yes ]; then
      printf '\r%-78.78s' "$(progress_text $((SECONDS - begin))): $(step_name "$line")"
    elif [ $((10 * done / total)) -gt "$tenth" ]; then
      tenth=$((10 * done / total))
      progress_text $((SECONDS - begin))
      printf '\n'
    fi
  done
  [ "$terminal" = no ] || printf '\r%-78s\r' ''
}

# Shown once, before the first long wait.
suggest_reading() {
  [ "${suggested:-no}" = no ] || return 0
  suggested=yes
  say "this takes some minutes; meanwhile, docs/concepts.md explains the terms and docs/tutorials/ the first steps"
}

# From `done` and `total` of the caller and the seconds since the start.
progress_text() {
  printf '   [%d/%d] %d %%' "$done" "$total" $((100 * done / total))
  [ "$1" -lt 5 ] || [ "$done" -eq "$total" ] || printf ', about %s left' "$(rough_time $(($1 * (total - done) / done)))"
}

rough_time() { if [ "$1" -lt 90 ]; then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi; }

# "engine" of "[7/90] Building CXX object src/busbar/engine/CMakeFiles/...".
step_name() {
  local path=${1##* }
  path=${path%%/CMakeFiles/*}
  printf '%s' "${path#src/busbar/}"
}

build_preset() {
  local preset=$1 log=build/$1.log
  local -a launcher=()
  shift
  mkdir -p build
  # ccache is used if it is installed and can write its folder.
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
    suggest_reading
  fi
  if ! follow_build "$log" cmake --build "build/$preset" --target "$@"; then
    grep -nE 'error|FAILED|undefined reference' "$log" | head -n 20 >&2 || true
    tail -n 40 "$log" >&2
    complain "building failed; the whole log is in $log"
    return 2
  fi
}
