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
for target in "${targets[@]}"; do
  read -r room name <<<"$target"
  echo "== $room $name"
  go test -tags nomsgpack -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" -parallel "${FUZZPARALLEL:-2}" "$room"
done
