#!/usr/bin/env bash
# Runs the browser tests, all files or those named, in headless Chromium. Each file
# starts what it needs: recordings, or bin/arena. With SCREENS_DIR set, the tests
# save screenshots there.
set -euo pipefail
cd "$(dirname "$0")/.."

find_chromium() {
  local name
  # The headless shell has no windows, and needs a third less time.
  for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
    if command -v "$name"; then return 0; fi
  done
  echo "browser-test: no Chromium; run scripts/install-test-deps.sh or set CHROMIUM to its path" >&2
  return 1
}

make --no-print-directory bin/arena
. scripts/in-memory.sh
CHROMIUM=${CHROMIUM:-$(find_chromium)}
export CHROMIUM
exec node web/tests/browser/kit/run.mjs "$@"
