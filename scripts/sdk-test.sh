#!/usr/bin/env bash
# Builds and tests the SDKs that are not in Go: all, or those named. a2a is the
# example on the A2A SDK, which the end-to-end tests start.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/scripts/python.sh

typescript() {
  make --silent sdk/typescript/node_modules/.package-lock.json
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
  make --silent examples/a2a/node_modules/.package-lock.json
}

if [ $# -eq 0 ]; then set -- typescript python rust a2a; fi
for sdk in "$@"; do
  start=$SECONDS
  ("$sdk")
  echo "sdk/$sdk: $((SECONDS - start)) s"
done
