#!/usr/bin/env bash
# Builds the packages of the SDKs into the folder OUT, laid out as an arena
# serves them below /sdk/. From the same sources and tools come the same bytes.
# Without npm or Cargo their package is left out, unless ARENA_TEST_REQUIRE
# contains sdk; those for Python and Go need no tools.
#
#   scripts/build-sdks.sh OUT [typescript|python|rust|go]…
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
  echo "usage: scripts/build-sdks.sh OUT [typescript|python|rust|go]…" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
export SOURCE_DATE_EPOCH=1735689600 TZ=UTC PYTHONDONTWRITEBYTECODE=1

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' sdk/rust/Cargo.toml)

# Copies what a package consists of, out of the repository.
sources() {
  local from=$1 to=$work/$1 path
  shift
  mkdir -p "$to"
  for path in "$@"; do cp -R "sdk/$from/$path" "$to/"; done
  cp LICENSE "$to/"
  chmod -R u=rwX,go=rX "$to"
  find "$to" -name __pycache__ -prune -exec rm -rf {} +
  find "$to" -exec touch -t 202501010000 {} +
}

typescript() {
  make --silent sdk/typescript/node_modules/.package-lock.json
  sources typescript package.json README.md examples
  sdk/typescript/node_modules/.bin/tsc -p sdk/typescript/tsconfig.build.json --outDir "$work/typescript/dist"
  (cd "$work/typescript" && npm pack --silent --ignore-scripts --pack-destination "$out" >/dev/null)
}

python() {
  sources python pyproject.toml README.md agora_arena
  "$work/pack" python "$work/python" "$out"
}

rust() {
  sources rust Cargo.toml README.md examples src
  (
    cd "$work/rust"
    flags=(--offline --no-verify --quiet) config=() crates=/usr/share/cargo/registry
    if cargo package --help | grep -q exclude-lockfile; then
      flags+=(--exclude-lockfile)
    elif compgen -G "$crates/ring-*" >/dev/null; then
      config=(--config "source.crates-io.replace-with='debian'" --config "source.debian.directory='$crates'")
    fi
    export CARGO_TARGET_DIR=$work/target
    cargo "${config[@]}" package "${flags[@]}"
    cp "$work"/target/package/*.crate "$out/"
    cargo "${config[@]}" metadata --offline --no-deps --format-version 1 |
      "$work/pack" index "$work"/target/package/*.crate "$out/cargo"
  )
}

go_module() { "$work/pack" module sdk/go "v$version" "$out/go"; }

# Prints what is missing for a language.
missing() {
  case $1 in
  typescript) command -v npm >/dev/null || echo npm ;;
  rust) command -v cargo >/dev/null || echo cargo ;;
  esac
}

CGO_ENABLED=0 go build -trimpath -o "$work/pack" ./sdk/pack
if [ $# -eq 0 ]; then set -- typescript python rust go; fi
for sdk in "$@"; do
  lacks=$(missing "$sdk")
  if [ -z "$lacks" ]; then
    if [ "$sdk" = go ]; then go_module; else "$sdk"; fi
  elif [[ ${ARENA_TEST_REQUIRE:-} == *sdk* ]]; then
    echo "the package of sdk/$sdk needs $lacks" >&2
    exit 1
  else
    echo "no package of sdk/$sdk: it needs $lacks" >&2
  fi
done
