#!/usr/bin/env bash
# Runs the Python that has what the SDK stands on: the first on PATH, else
# Debian's own, where the packages of apt are.
set -euo pipefail
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import jwt, cryptography' 2>/dev/null; then exec "$python" "$@"; fi
done
exec python3 "$@"
