#!/usr/bin/env bash
# Runs every fuzz target there is. FUZZTIME (whole seconds or minutes: 60s, 30m) is the
# time of each; with FUZZTOTAL set they share that time instead, and each gets a second at least. FUZZONLY
# is a pattern over "room name". What fails is kept under testdata/fuzz of its room and is a test from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds() {
  case $1 in
    *m) echo $((${1%m} * 60)) ;;
    *) echo "${1%s}" ;;
  esac
}
mapfile -t targets < <(grep -rHoE --include='*_test.go' --exclude-dir=node_modules '^func Fuzz[A-Za-z0-9_]+' . |
  sed -E 's|^(.*)/[^/]*:func (.*)$|\1 \2|' | sort | grep -E "${FUZZONLY:-.}")
if [[ -n ${FUZZTOTAL:-} ]]; then
  each=$(($(seconds "$FUZZTOTAL") / ${#targets[@]}))
  ((each > 0)) || each=1
else
  each=$(seconds "${FUZZTIME:-60s}")
fi
echo "fuzz: ${#targets[@]} targets, $each s each"

# A room is built once, with what guides the fuzzer, and all its targets run
# that program as go test would: in the room's folder, with the corpus that
# earlier runs found. Vet is for make lint.
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
found=$(go env GOCACHE)/fuzz
built=
for target in "${targets[@]}"; do
  read -r room name <<<"$target"
  if [[ $room != "$built" ]]; then
    CGO_ENABLED=0 go -C "$room" test -tags nomsgpack -trimpath -vet=off -ldflags=-w -fuzz . -c -o "$programs/fuzz.test"
    path=$(go -C "$room" list)
    built=$room
  fi
  echo "== $room $name"
  (cd "$room" && "$programs/fuzz.test" -test.paniconexit0 -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${each}s" \
    -test.fuzzcachedir "$found/$path" -test.parallel "${FUZZPARALLEL:-2}")
done
