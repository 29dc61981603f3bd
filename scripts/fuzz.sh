#!/usr/bin/env bash
# Runs every fuzz target. FUZZTIME is the time (60s, 30m) or the number of inputs
# (1000x) of each. Where a failure must mean a finding, use a number: up to Go 1.26
# a target may fail with "context deadline exceeded" when its time is over
# (go.dev/issue/75804). An input that reaches new code is shrunk for one second, not
# for the minute that is Go's default and takes most of a run. FUZZONLY is a pattern
# over "package name". A failing input is kept under testdata/fuzz of its package
# and is a test from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t targets < <(grep -rHoE --include='*_test.go' --exclude-dir=node_modules '^func Fuzz[A-Za-z0-9_]+' . |
  sed -E 's|^(.*)/[^/]*:func (.*)$|\1 \2|' | sort | grep -E "${FUZZONLY:-.}")
each=${FUZZTIME:-60s}
echo "fuzz: ${#targets[@]} targets, $each each"

# A package is built once, with what guides the fuzzer, and all its targets run
# that program as go test would: in its folder, with the corpus that
# earlier runs found. Vet is for make lint.
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
found=$(go env GOCACHE)/fuzz
built=
for target in "${targets[@]}"; do
  read -r folder name <<<"$target"
  if [[ $folder != "$built" ]]; then
    CGO_ENABLED=0 go -C "$folder" test -tags nomsgpack -trimpath -vet=off -ldflags=-w -fuzz . -c -o "$programs/fuzz.test"
    path=$(go -C "$folder" list)
    built=$folder
  fi
  echo "== $folder $name"
  (cd "$folder" && "$programs/fuzz.test" -test.paniconexit0 -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$each" \
    -test.fuzzminimizetime 1s -test.fuzzcachedir "$found/$path" -test.parallel "${FUZZPARALLEL:-2}")
done
