#!/usr/bin/env bash
# Builds and tests the SDKs that are not in Go: all, or those named. a2a is the
# example on the A2A SDK, which the end-to-end tests start. What is built already
# is left as it is, so that go test knows that those saw the same files before.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/scripts/python.sh

# Installs the packages of a folder when its lock file has changed since.
packages() {
  if [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; then return; fi
  npm --prefix "$1" ci
  touch "$1/node_modules/.package-lock.json"
}

typescript() {
  packages sdk/typescript
  npm --prefix sdk/typescript test
}

python() {
  cd sdk/python
  export PYTHONDONTWRITEBYTECODE=1
  "$python" -W error::ResourceWarning -m unittest
  if "$python" -c 'import mypy' 2>/dev/null; then "$python" -m mypy --cache-dir=/dev/null; fi
}

# On Debian the crates are those that its packages put on the machine.
rust() {
  cd sdk/rust
  local config=() crates=/usr/share/cargo/registry
  if compgen -G "$crates/ring-*" >/dev/null; then
    config=(--config "source.crates-io.replace-with='debian'" --config "source.debian.directory='$crates'" --config "net.offline=true")
  fi
  cargo "${config[@]}" test --quiet
  cargo "${config[@]}" build --quiet --examples
}

a2a() {
  packages examples/a2a
}

if [ $# -eq 0 ]; then set -- typescript python rust a2a; fi
for sdk in "$@"; do
  start=$SECONDS
  ("$sdk")
  echo "sdk/$sdk: $((SECONDS - start)) s"
done
