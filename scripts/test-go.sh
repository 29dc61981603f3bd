#!/usr/bin/env bash
# Runs the Go tests of the modules in the folders given: with the race detector
# where a package starts goroutines or shares memory between them, without it
# elsewhere. ARENA_TEST_REQUIRE names what must not be skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

# SQLite, translated from C, allocates outside Go's heap, where the race detector
# does not look; goja runs in one goroutine. Watching them finds nothing and is
# most of what tests with a database cost.
unwatched=(-gcflags=modernc.org/...=-race=false -gcflags=github.com/dop251/goja/...=-race=false)
# scoring/sandbox tests what the interpreter does; arena/script/worker, which is
# raced, runs it as a node does.
unraced='/scoring/sandbox$'
concurrent='^[[:space:]]*go [a-z(]|\.Go\(|\bchan\b|"sync(/atomic)?"'
common=(-tags nomsgpack -vet=off -timeout 10m)

for module in "$@"; do
  raced=() plain=()
  while IFS=: read -r path dir files; do
    read -ra names <<<"$files"
    if [[ ! $path =~ $unraced ]] && [ ${#names[@]} -gt 0 ] && (cd "$dir" && grep -qE "$concurrent" "${names[@]}"); then
      raced+=("$path")
    else
      plain+=("$path")
    fi
  done < <(cd "$module" && go list -tags nomsgpack -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}:{{.Dir}}:{{join .GoFiles " "}}{{end}}' ./... | grep .)
  # Side by side: the end-to-end tests, which are among the plain ones, mostly wait.
  (
    cd "$module"
    code=0 pid=
    if [ ${#plain[@]} -gt 0 ]; then
      CGO_ENABLED=0 go test -trimpath "${common[@]}" "${plain[@]}" &
      pid=$!
    fi
    if [ ${#raced[@]} -gt 0 ]; then CGO_ENABLED=1 go test -race "${unwatched[@]}" "${common[@]}" "${raced[@]}" || code=$?; fi
    if [ -n "$pid" ]; then wait "$pid" || code=$?; fi
    exit "$code"
  )
done
