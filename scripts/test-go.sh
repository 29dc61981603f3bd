#!/usr/bin/env bash
# Runs the Go tests of the modules in the folders given: with the race detector
# where a package starts goroutines or shares memory between them, without it
# elsewhere. ARENA_TEST_REQUIRE names what must not be skipped. With --sdk it runs
# the tests of the other SDKs too, before the end-to-end tests that need them.
#
#   scripts/test-go.sh [--sdk] MODULE…
set -euo pipefail
cd "$(dirname "$0")/.."

# SQLite, translated from C, allocates outside Go's heap, where the race detector
# does not look; goja runs in one goroutine. Watching them finds nothing and is
# most of what tests with a database cost.
unwatched=(-gcflags=modernc.org/...=-race=false -gcflags=github.com/dop251/goja/...=-race=false)
# scoring/sandbox tests what the interpreter does; arena/script/worker, which is
# raced, runs it as a node does. The tests of arena/api send one request at a
# time; TestServer_concurrentRequests in arena/server, which is raced, sends many.
unraced='/(scoring/sandbox|arena/api)$'
# The longest come first, so that no core is idle while the last one runs.
longest='/(e2e|store|stream|arena/match/engine|protocol/agentprotocol|protocol/envelope/relay|arena/api)$'
concurrent='^[[:space:]]*go [a-z(]|\.Go\(|\bchan\b|"sync(/atomic)?"'
# Four tests of a package at a time, on two cores too: many wait for a deadline.
common=(-tags nomsgpack -vet=off -timeout 10m -parallel 4)

# Databases of tests need no disk: each commit would wait for it. The folder's
# name is always the same, since go test caches results by TMPDIR.
memory=/dev/shm
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "$(df --output=avail -k "$memory" | tail -n 1)" -gt 4000000 ]; then
  export TMPDIR=$memory/arena-test-$UID
  mkdir -p "$TMPDIR"
  chmod 755 "$TMPDIR" # PostgreSQL may run as a user of its own
  find "$TMPDIR" -mindepth 1 -maxdepth 1 -mmin +60 -exec rm -rf {} + # of tests that were killed
fi

sdk=
if [ "${1:-}" = --sdk ]; then
  sdk=scripts/sdk-test.sh
  shift
fi

# Runs the packages of a module without race detector, after what they need.
test_plain() {
  if [ -n "$sdk" ]; then "$sdk" || return; fi
  if [ ${#plain[@]} -eq 0 ]; then return; fi
  cd "$module"
  CGO_ENABLED=0 go test -trimpath "${common[@]}" "${plain[@]}"
}

for module in "$@"; do
  raced=() plain=()
  while IFS=: read -r path dir files; do
    read -ra names <<<"$files"
    if [[ ! $path =~ $unraced ]] && [ ${#names[@]} -gt 0 ] && (cd "$dir" && grep -qE "$concurrent" "${names[@]}"); then
      raced+=("$path")
    else
      plain+=("$path")
    fi
  done < <(cd "$module" && go list -tags nomsgpack -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}:{{.Dir}}:{{join .GoFiles " "}}{{end}}' ./... | grep . | awk -F: -v longest="$longest" '$1 ~ longest { print; next } { rest[n++] = $0 } END { for (i = 0; i < n; i++) print rest[i] }')
  # Side by side: the end-to-end tests, which are among the plain ones, mostly
  # wait, and the tests of the SDKs use one core. No raced package walks the
  # folders that the SDK tests install into; the list above is made before.
  (
    code=0
    test_plain &
    cd "$module"
    if [ ${#raced[@]} -gt 0 ]; then CGO_ENABLED=1 go test -race "${unwatched[@]}" "${common[@]}" "${raced[@]}" || code=$?; fi
    wait $! || code=$?
    exit "$code"
  )
  sdk= # once, with the first module
done
