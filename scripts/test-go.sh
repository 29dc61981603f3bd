#!/usr/bin/env bash
# Runs the Go tests of the modules in the folders given: with the race detector
# where a package starts goroutines or shares memory between them, without it
# elsewhere. ARENA_TEST_REQUIRE names what must not be skipped.
#
#   scripts/test-go.sh [--race] MODULE…
set -euo pipefail
cd "$(dirname "$0")/.."

# SQLite, translated from C, allocates outside Go's heap, where the race detector
# does not look; goja runs in one goroutine. Watching them finds nothing and is
# most of what tests with a database cost.
unwatched=(-gcflags=modernc.org/...=-race=false -gcflags=github.com/dop251/goja/...=-race=false)
# Packages whose goroutines other raced packages run as a node does, while their own
# tests do one thing at a time and cost three times as much under the detector:
# the store's are in store/internal/writer, the interpreter's in internal/script/worker,
# the API's in TestServer_concurrentRequests of server, which the commands start.
# --race races them too.
unraced='/(store|scoring/sandbox|league/game/catalog|api|cmd/arena)$'
# The longest come first, so that no core is idle while the last one runs.
longest='/(e2e|store|stream|match/engine|protocol/agentprotocol|protocol/envelope/relay|api)$'
concurrent='^[[:space:]]*go [a-z(]|\.Go\(|\bchan\b|"sync(/atomic)?"'
# Four tests of a package at a time, on two cores too: many wait for a deadline.
common=(-tags nomsgpack -vet=off -timeout 20m -parallel 4)

. scripts/in-memory.sh

if [[ ${1:-} == --race ]]; then
  unraced='^$'
  shift
fi

# Runs the packages of a module without race detector.
test_plain() {
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
  # Side by side: the end-to-end tests, which are among the plain ones, mostly wait.
  (
    code=0
    test_plain &
    cd "$module"
    if [ ${#raced[@]} -gt 0 ]; then CGO_ENABLED=1 go test -race "${unwatched[@]}" "${common[@]}" "${raced[@]}" || code=$?; fi
    wait $! || code=$?
    exit "$code"
  )
done
